"""Coefficients unknown: the profiled denominator keeps the level, and a profiled numerator is refused."""

import numpy as np
import pytest
from scipy import stats

from physupport import MisuseError
from physupport.banks import array_bank
from physupport.io import ArrayRows, split_rows
from physupport.judges import Verdict, bank_evidence, verdicts
from physupport.laws import Mean, ProfiledMean, point_stream

RUNS, LEVEL, N = 200, 0.1, 40
ATOMS = np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.0, 0.6, 0.8]]).T
BANK = array_bank(ATOMS[None], [(0, 1), (0, 2), (1, 2)])
TRUE, LOWER, UPPER = np.array([1.0, 1.3]), np.full(3, 0.2), np.full(3, 2.0)


def losses(upper, seed=3):
    """How often the true support, its coefficients unknown within a box, is rejected."""
    lost = 0
    for child in np.random.SeedSequence(seed).spawn(RUNS):
        rng = np.random.default_rng(child)
        rows = ATOMS[:, :2] @ TRUE + rng.standard_normal((N, 3))
        parts = split_rows(N, 0.4, 1)
        held_out = ArrayRows(rows, parts.held_out)
        numerator = point_stream(held_out, rows[parts.proposal].mean(axis=0), 1.0, [12, 24])
        stream = ProfiledMean(noises=[1.0], box=(LOWER, upper)).stream(BANK, held_out, [12, 24])
        evidence = bank_evidence(BANK, deployment=(stream, (numerator, 0)))
        lost += int(verdicts(evidence, [0], LEVEL).codes[0] == Verdict.REJECTED)
    return lost


def test_the_true_support_is_lost_in_at_most_alpha_of_the_runs():
    assert stats.binom.sf(losses(UPPER) - 1, RUNS, LEVEL) > 1e-6  # unlucky seeds: fewer than one in a million


def test_negative_control_the_same_count_exposes_a_box_without_the_true_coefficients():
    assert stats.binom.sf(losses(np.full(3, 0.6)) - 1, RUNS, LEVEL) < 1e-6


def test_a_supremum_is_refused_as_numerator():
    rows = ArrayRows(np.random.default_rng(0).standard_normal((20, 3)))
    stream = ProfiledMean(noises=[1.0], box=(LOWER, UPPER)).stream(BANK, rows, [20])
    with pytest.raises(MisuseError, match="numerator of deployment must be a density, not a supremum"):
        bank_evidence(BANK, deployment=(stream, (stream, 0)))


def test_a_stream_of_another_bank_is_refused():
    rows = ArrayRows(np.random.default_rng(0).standard_normal((20, 3)))
    other = Mean(noises=[1.0]).stream(array_bank(ATOMS[None], [(0, 1)]), rows, [20])
    with pytest.raises(MisuseError, match="deployment stream must have the 3 keys of the bank, not 1 keys"):
        bank_evidence(BANK, deployment=(other, (other, 0)))


@pytest.mark.parametrize("mean", [[0.3, -0.2, 1.1], [0.0, 0.0, 0.0]])
def test_a_point_stream_is_the_density_about_its_mean(mean):
    rows = np.random.default_rng(1).standard_normal((15, 3))
    expected = stats.norm.logpdf(rows, loc=mean, scale=np.sqrt(0.7)).sum(axis=1).cumsum()
    found = point_stream(ArrayRows(rows), mean, 0.7, [5, 15]).log_likelihood(np.array([0]))
    # The mean itself is rounded once; sums of 45 terms of order 1.
    np.testing.assert_allclose(found.values[0], expected[[4, 14]], rtol=1e-13)
