"""Calibration and deployment together: e is rejected if the p-value is at most the level times the evidence."""

import os

import numpy as np
from scipy.signal import lfilter
from scipy.stats import binom

from physupport.banks import array_bank, product_grid
from physupport.io import ArrayRows
from physupport.judges import Factor, Sealed, SealedStream, Verdict
from physupport.judges.rotation import ByRotation
from physupport.laws import KnownCodes, Linear

LEVEL, Q, NOISE = 0.1, 16, 1.0
RUNS = int(os.environ.get("PHYSUPPORT_RUNS", "200"))


def make_bank():
    """Three states of eight smooth atoms, another offset in each; one atom is active, with any coefficient."""
    axis = np.arange(Q)[:, None]
    states = [np.exp(-0.5 * ((axis - np.linspace(2, 13, 8) - offset) / 1.5) ** 2) for offset in (-0.6, 0.0, 0.6)]
    unit = [state / np.linalg.norm(state, axis=0) for state in states]
    return array_bank(unit, [(i,) for i in range(8)], calibration=product_grid(noise=[NOISE]))


BANK = make_bank()
CODES, ROWS = KnownCodes().completed(BANK), Linear(background=np.ones((Q, 1))).completed(BANK)


def judge_of(run, truth, *, correlation=0.0):
    """Opened on six calibration rows, half of which propose, and one deployment row of noise that may be correlated."""
    rng = np.random.default_rng([3, run])
    drawn = CODES.sample(BANK, truth, rng, 6)
    held_out = ArrayRows(drawn[3:])
    proposed = CODES.stream(BANK, ArrayRows(drawn[:3]), [3])
    keys = np.unique(CODES.keys(BANK)(np.arange(BANK.size)))
    best = int(keys[proposed.log_likelihood(keys).values[:, -1].argmax()])
    stream = CODES.stream(BANK, held_out, [3])
    factor = Factor("calibration", stream, CODES.keys(BANK), (stream, best))
    explanation = BANK.explanation(truth)
    signal = rng.uniform(1.0, 4.0) * explanation.atoms[:, explanation.positions[0]] + rng.normal(0.0, 5.0)
    noise = lfilter([1.0], [1.0, -correlation], rng.standard_normal(Q + 50))[50:]
    row = ArrayRows((signal + noise)[None])
    streams = (
        SealedStream("calibration", held_out, CODES, CODES.keys(BANK), lambda: factor),
        SealedStream("deployment", row, ROWS, ROWS.keys(BANK), lambda: factor),
    )
    return ByRotation(draws=199, gate_draws=499).open(Sealed(BANK, LEVEL, streams, run))


def losses(**settings):
    lost = 0
    for run in range(RUNS):
        truth = int(np.random.default_rng([4, run]).integers(BANK.size))
        lost += int(judge_of(run, truth, **settings).verdicts(np.array([truth])).codes[0] == Verdict.REJECTED)
    return lost


def test_the_truth_is_lost_in_at_most_the_level_of_the_panels():
    assert binom.sf(losses() - 1, RUNS, LEVEL) > 1e-6


def test_negative_control_the_same_count_exposes_correlated_noise():
    assert binom.sf(losses(correlation=0.8) - 1, RUNS, LEVEL) < 1e-6


def test_calibration_moves_the_level_of_every_state():
    """To the level times the evidence, rounded down to whole numbers of draws."""
    judge = judge_of(7, 9)
    levels = judge._levels(np.arange(BANK.size))
    assert (levels.reshape(3, 8) == levels.reshape(3, 8)[:, :1]).all()  # the same for all atoms of a state
    assert np.unique(levels).size > 1
    np.testing.assert_allclose(levels * 200, np.round(levels * 200), rtol=1e-12)
    final = judge.evidence.along_path(np.arange(BANK.size)).lower[:, -1]
    assert (levels <= LEVEL * np.exp(final)).all()
