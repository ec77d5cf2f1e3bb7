"""Evidence about rows with free coefficients and unknown noise: exact suprema, a valid level, and an honest EMPTY."""

import numpy as np
import pytest
from flint import arb
from scipy.stats import binom

from physupport import MisuseError
from physupport.banks import array_bank
from physupport.io import ArrayRows
from physupport.judges import Verdict, bank_evidence, verdicts
from physupport.laws import Linear

Q, LEVEL = 24, 0.1
AXIS = np.arange(Q)
LINES = np.exp(-0.5 * ((AXIS[:, None] - np.linspace(4, 19, 6)) / 2.0) ** 2)
ATOMS = LINES / np.linalg.norm(LINES, axis=0)
BASELINE = np.stack([np.ones(Q), AXIS - AXIS.mean()], axis=1)
BANK = array_bank(ATOMS[None], [(), *((i,) for i in range(6)), (0, 3)])
EVERYTHING = np.arange(BANK.size)


def columns(e):
    return np.concatenate([ATOMS[:, list(BANK.explanation(e).positions)], BASELINE], axis=1)


@pytest.mark.parametrize("noise", [None, [1.7]], ids=["noise unknown", "noise known"])
def test_a_key_scores_the_largest_likelihood_of_its_coefficients(noise):
    rows = np.random.default_rng(1).standard_normal((7, Q)) + 3.0 * ATOMS[:, 2] + BASELINE @ [5.0, 0.3]
    law = Linear(background=BASELINE, noises=noise).completed(BANK)
    stream = law.stream(BANK, ArrayRows(rows), [3, 7])
    scores = stream.log_likelihood(EVERYTHING)
    for e in EVERYTHING.tolist():
        key = int(law.keys(BANK)(e)[0])
        for c, count in enumerate((3, 7)):
            tall, seen = np.tile(columns(e), (count, 1)), rows[:count].ravel()
            energy = float(((seen - tall @ np.linalg.lstsq(tall, seen, rcond=None)[0]) ** 2).sum())
            variance = energy / seen.size if noise is None else noise[0]
            expected = -0.5 * (seen.size * np.log(2 * np.pi * variance) + energy / variance)
            assert scores.values[key, c] == pytest.approx(expected, rel=1e-9)
            assert abs(stream.enclosure(key, 128)[c] - arb(float(scores.values[key, c]))) <= scores.errors[key, c]
    assert (scores.errors < 1e-7).all()  # far below any threshold


def test_rows_without_a_residual_prove_nothing():
    rows = np.tile(2.0 * ATOMS[:, 1], (4, 1))
    law = Linear(background=BASELINE).completed(BANK)
    scores = law.stream(BANK, ArrayRows(rows), [4]).log_likelihood(EVERYTHING)
    assert np.isinf(scores.errors[2]).all()


def kept(rows, law, *, peeks=False):
    """Half of the rows propose, half judge; peeks: those that judge propose."""
    proposal, held_out = ArrayRows(rows[1::2] if peeks else rows[::2]), ArrayRows(rows[1::2])
    proposed = law.stream(BANK, proposal, [proposal.n_rows])
    best = int(proposed.log_likelihood(EVERYTHING).values[:, -1].argmax())
    stream = law.stream(BANK, held_out, [held_out.n_rows])
    numerator = law.opponent(BANK, proposal, best).numerator(stream, held_out)
    found = verdicts(bank_evidence(BANK, deployment=(stream, numerator)), EVERYTHING, LEVEL)
    return np.flatnonzero(found.codes != Verdict.REJECTED)


def make_rows(rng, truth, n_rows=6):
    coefficients = rng.uniform(1.0, 3.0, len(BANK.explanation(truth).positions))
    signal = columns(truth) @ np.concatenate([coefficients, rng.normal(0.0, 5.0, 2)])
    return signal + rng.standard_normal((n_rows, Q))


@pytest.mark.parametrize("peeks", [False, True], ids=["valid", "proposed by the judging rows: a control"])
def test_the_truth_is_lost_in_at_most_the_level_of_the_data_sets(peeks):
    law, lost, runs = Linear(background=BASELINE).completed(BANK), 0, 40
    for run in range(runs):
        rng = np.random.default_rng([2, run])
        truth = int(rng.integers(BANK.size))
        lost += truth not in kept(make_rows(rng, truth), law, peeks=peeks)
    assert (binom.sf(lost - 1, runs, LEVEL) < 1e-6) == peeks


def test_strong_rows_name_their_line_and_a_line_outside_the_bank_leaves_nothing():
    law = Linear(background=BASELINE).completed(BANK)
    noise = np.random.default_rng(3).standard_normal((8, Q))
    assert kept(20.0 * ATOMS[:, 2] + noise, law).tolist() == [3]
    between = np.exp(-0.5 * ((AXIS - 11.5) / 0.8) ** 2)
    assert kept(20.0 * between + noise, law).size == 0


def test_rows_that_evidence_cannot_score_are_sent_to_rotations():
    law = Linear(covariance=np.full(Q, 2.0)).completed(BANK)
    with pytest.raises(MisuseError, match="judge must be 'rotation' for rows of a given covariance"):
        law.stream(BANK, ArrayRows(np.ones((4, Q))), [4])
    with pytest.raises(MisuseError, match="proposal rows must leave a residual to take the noise from"):
        Linear().completed(BANK).opponent(BANK, ArrayRows(np.tile(ATOMS[:, 1], (2, 1))), 2)
