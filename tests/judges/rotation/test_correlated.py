"""Noise of an unknown correlation along the axis: cells of it, each with an exact test at a lower level."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from physupport import MisuseError
from physupport.banks import array_bank
from physupport.io import ArrayRows
from physupport.judges import Sealed, SealedStream, Verdict
from physupport.judges.rotation import ByRotation
from physupport.judges.rotation._correlated import _EXPONENTS, CorrelationCells
from physupport.laws import Linear

Q, LEVEL, TRUTH, RUNS = 40, 0.1, 3, 60
CHANNELS = np.arange(float(Q))[:, None]
LINES = np.exp(-0.5 * ((CHANNELS - np.linspace(4.0, 36.0, 8)) / 3.0) ** 2)
BANK = array_bank((LINES / np.linalg.norm(LINES, axis=0))[None], [(i,) for i in range(8)])
SLOPE = np.hstack([np.ones((Q, 1)), CHANNELS / Q])
SHAPE = {"kind": "ar", "order": 1, "between": [0.0, 0.5]}
LAGS = np.abs(np.subtract.outer(range(Q), range(Q)))


def judge(row, seed, shape=SHAPE, spec=None):
    law = Linear(noise_shape=shape, background=SLOPE).completed(BANK)
    stream = SealedStream("deployment", ArrayRows(row[None]), law, law.keys(BANK), lambda: None)
    return (spec or ByRotation(draws=399, gate_draws=999)).open(Sealed(BANK, LEVEL, (stream,), seed))


def drawn(rng, correlation, strength=5.0):
    return strength * LINES[:, TRUTH] + np.linalg.cholesky(correlation**LAGS) @ rng.standard_normal(Q)


def precision(correlation):
    return np.linalg.inv(correlation**LAGS / (1.0 - correlation**2))


def test_no_correlation_of_a_cell_exceeds_its_bound_and_one_nearly_reaches_it():
    cells = CorrelationCells.of((-0.3, 0.8), 2, Q, 0.05)
    assert (cells.levels(0.05) >= 0.025).all()
    sides = np.tanh(np.linspace(np.arctanh(-0.3), np.arctanh(0.8), len(cells.middles) + 1))
    for number in (0, len(sides) // 2, len(sides) - 2):
        middle = precision(cells.middles[number])
        k = 1.0 + _EXPONENTS[25]
        found = []
        for inside in np.linspace(sides[number], sides[number + 1], 21):
            own = precision(inside)
            logs = [np.linalg.slogdet(each)[1] for each in (own, middle, k * own + (1.0 - k) * middle)]
            found.append(k * logs[0] + (1.0 - k) * logs[1] - logs[2])  # of two rows
        assert 0.7 * cells.bounds[number, 25] < max(found) <= cells.bounds[number, 25]


def test_what_every_cell_rejects_is_rejected_and_nothing_else():
    row = drawn(np.random.default_rng(1), 0.4)
    opened = judge(row, 1)
    (own,) = opened.judges
    every = [own.judge_at(cell).verdicts(np.arange(8), level) for cell, level in enumerate(own.cells.levels(LEVEL))]
    codes = opened.verdicts(np.arange(8)).codes
    assert ((codes == Verdict.REJECTED) == (np.array([each.lower for each in every]) > 0.0).all(axis=0)).all()
    assert codes[TRUTH] == Verdict.ADMISSIBLE
    assert (codes == Verdict.REJECTED).sum() >= 5
    backwards = replace(own, order=own.order[::-1])
    assert (backwards.verdicts(np.arange(8), LEVEL).codes == codes).all()


def lost(correlation, shape):
    rng = np.random.default_rng(7)
    verdicts = [judge(drawn(rng, correlation), seed, shape).verdicts(np.array([TRUTH])) for seed in range(RUNS)]
    return sum(int(each.codes[0] == Verdict.REJECTED) for each in verdicts)


def test_the_truth_is_kept_at_the_end_of_the_range():
    assert binom.sf(lost(0.5, SHAPE) - 1, RUNS, LEVEL) > 1e-6


def test_negative_control_white_noise_and_a_range_that_ends_before_lose_it():
    assert binom.sf(lost(0.8, None) - 1, RUNS, LEVEL) < 1e-6
    assert binom.sf(lost(0.95, SHAPE | {"between": [-0.3, 0.0]}) - 1, RUNS, LEVEL) < 1e-6


def test_a_best_fit_that_another_correlation_keeps_withholds_nothing():
    opened = judge(drawn(np.random.default_rng(1), 0.4), 1)
    facts = opened.facts(np.arange(8))
    assert facts["best"] == TRUTH
    assert not facts["is_withheld"]


@pytest.mark.parametrize("ends", [[0.5, 0.0], [0.0, 1.0], [0.0], [-1.0, 0.5]])
def test_ends_that_are_none_are_refused(ends):
    with pytest.raises(MisuseError, match=r"noise\.between"):
        Linear(noise_shape=SHAPE | {"between": ends})


def test_an_angle_and_too_few_draws_are_refused():
    row = drawn(np.random.default_rng(1), 0.4)
    with pytest.raises(MisuseError, match="draws must be at least"):
        judge(row, 1, spec=ByRotation(draws=19))
    law = Linear(noise_shape=SHAPE).completed(BANK)
    with pytest.raises(MisuseError, match=r"judge_options\.error must be left out where the noise has a kind"):
        ByRotation(error=0.05).check_rows(law, 1)
