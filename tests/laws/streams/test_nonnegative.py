"""Mixtures of variants without negative parts: distances by another method, and the truth inside and on the edge."""

import numpy as np
import pytest
from flint import arb
from scipy.optimize import lsq_linear
from scipy.stats import binom

from physupport import MisuseError
from physupport.banks import array_bank
from physupport.io import ArrayRows
from physupport.judges import ByEvidence, Sealed, SealedStream, Verdict
from physupport.judges.rotation import ByRotation
from physupport.laws import Linear
from physupport.laws.streams._widths import Nonnegative

Q, LEVEL = 20, 0.1
AXIS = np.arange(Q)
LINES = np.exp(-0.5 * ((AXIS[:, None] - np.array([3.0, 7.0, 11.0, 15.0])) / 1.5) ** 2)
STRONG, WEAK = (LINES + ratio * np.roll(LINES, 3, axis=0) for ratio in (0.9, 0.1))  # a ratio known within bounds
BACKGROUND = np.ones((Q, 1))
BANK = array_bank((STRONG / np.linalg.norm(STRONG, axis=0))[None], [(i,) for i in range(4)] + [(0, 2)])
VARIANTS = (WEAK / np.linalg.norm(WEAK, axis=0))[None]


def law(**more):
    return Linear(background=BACKGROUND, variants=VARIANTS, is_cone=True, **more).completed(BANK)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_distance_is_that_of_bounded_least_squares(count):
    rng = np.random.default_rng(count)
    columns = np.column_stack([*[STRONG[:, 1], WEAK[:, 1], STRONG[:, 2], WEAK[:, 2]][:count], BACKGROUND])
    rows = rng.standard_normal((6, Q)) + 2.0 * STRONG[:, 1] - 1.0 * WEAK[:, 1]
    squares, errors = Nonnegative(count).energies(rows, columns)
    bounds = (np.append(np.zeros(count), -np.inf), np.inf)
    for row, square, error in zip(rows, squares, errors, strict=True):
        found = lsq_linear(columns, row, bounds, method="bvls", tol=1e-14)
        assert square == pytest.approx(2.0 * found.cost, abs=1e-9)
        assert error < 1e-10 * (row @ row)
        np.testing.assert_allclose(Nonnegative(count).nearest(row, columns), columns @ found.x, atol=1e-6)


@pytest.mark.parametrize("nearness", [0.0, 1e-12, 1e-9, 1e-7])
def test_columns_that_nearly_depend_on_each_other_are_fitted_without_a_warning(nearness):
    rng = np.random.default_rng(7)
    for _ in range(20):
        first = np.abs(rng.standard_normal((Q, 3)))
        twins = np.column_stack([first, first[:, 0] * (1.0 + nearness * rng.standard_normal(Q))])
        row = first @ rng.uniform(0.0, 2.0, 3) - 0.5 * first[:, 2] + 0.1 * rng.standard_normal(Q)
        (square,), _ = Nonnegative(3).energies(row[None], np.column_stack([first, BACKGROUND]))
        (of_twins,), (error,) = Nonnegative(4).energies(row[None], np.column_stack([twins, BACKGROUND]))
        assert of_twins - error <= square
        assert of_twins <= square + 1e-6 * (row @ row)


def test_a_solver_that_stops_early_makes_no_evidence(monkeypatch):
    """Whatever it leaves undone is in the error."""
    columns = np.column_stack([STRONG[:, 1], WEAK[:, 1], BACKGROUND])
    row = 3.0 * STRONG[:, 1] + 2.0 * WEAK[:, 1] + 0.1 * np.random.default_rng(3).standard_normal(Q)
    (best,), _ = Nonnegative(2).energies(row[None], columns)
    monkeypatch.setattr("scipy.optimize.nnls", lambda a, b, maxiter: (np.zeros(a.shape[1]), 0.0))
    (square,), (error,) = Nonnegative(2).energies(row[None], columns)
    assert square > best + 1.0
    assert square - error <= best


@pytest.mark.parametrize("noises", [[0.5], None])
def test_scores_lie_within_their_errors_of_exact_ones(noises):
    rows = np.random.default_rng(4).standard_normal((6, Q)) + STRONG[:, 1]
    stream = law(noises=noises).stream(BANK, ArrayRows(rows), [3, 6])
    scores = stream.log_likelihood(np.arange(BANK.size))
    spans = Linear(background=BACKGROUND, variants=VARIANTS, noises=noises).completed(BANK)
    free = spans.stream(BANK, ArrayRows(rows), [3, 6]).log_likelihood(np.arange(BANK.size))
    assert (scores.values <= free.values + 1e-9).all()
    for key in range(BANK.size):
        for value, error, ball in zip(scores.values[key], scores.errors[key], stream.enclosure(key, 128), strict=True):
            assert error < 1e-8
            assert abs(arb(float(value)) - ball) <= arb(float(error))


def lost(share, runs, used):
    count = 0
    for run in range(runs):
        rng = np.random.default_rng([5, run])
        truth, part = int(rng.integers(4)), share(rng)
        mean = 30.0 * ((1.0 - part) * STRONG[:, truth] + part * WEAK[:, truth]) + rng.normal(0.0, 5.0)
        row = mean + rng.standard_normal(Q)
        stream = SealedStream("deployment", ArrayRows(row[None]), used, used.keys(BANK), lambda: None)
        judge = ByEvidence("fission", 2).open(Sealed(BANK, LEVEL, (stream,), run))
        count += int(judge.verdicts(np.array([truth])).codes[0] == Verdict.REJECTED)
    return count


def test_the_truth_inside_the_cone_or_on_its_edge_is_kept_and_beyond_it_is_lost():
    runs, used = 40, law(noises=[1.0])
    for share in (lambda rng: rng.uniform(), lambda rng: float(rng.integers(2))):
        assert binom.sf(lost(share, runs, used) - 1, runs, LEVEL) > 1e-6
    assert binom.sf(lost(lambda rng: 1.8, runs, used) - 1, runs, LEVEL) < 1e-6


def test_what_does_not_go_with_a_cone_is_refused():
    for given in ({"rows": "free"}, {"is_complex": True}, {"half_steps": [1.0]}):
        with pytest.raises(MisuseError, match=r"go with real rows of the same mean, and no tangents|half_steps"):
            Linear(variants=VARIANTS, is_cone=True, **given)
    with pytest.raises(MisuseError, match="or mix without negative parts"):
        ByRotation().check_rows(law(), 1)
    assert Linear.decode(law().encode()).is_cone
