"""Evidence about rows with free coefficients and unknown noise: exact suprema, a valid level, and an honest EMPTY."""

import numpy as np
import pytest
from flint import arb
from scipy.stats import binom

from physupport import MisuseError
from physupport.banks import array_bank
from physupport.io import ArrayRows, as_pairs
from physupport.judges import Verdict, bank_evidence, verdicts
from physupport.laws import Linear, whitening

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
    proposed = law.proposed(BANK, proposal)
    best = int(proposed.plausibility.argmax())
    stream = law.stream(BANK, held_out, [held_out.n_rows])
    numerator = law.opponent(BANK, proposed, best).numerator(stream, held_out)
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


@pytest.mark.parametrize("is_complex", [False, True])
def test_rows_of_a_known_covariance_are_scored_as_whitened_ones_are(is_complex):
    """Scores and opponents are those of rows, atoms and noise that a root of the covariance made white before."""
    rng = np.random.default_rng(4)
    root = np.eye(Q) + 0.3 * rng.standard_normal((Q, Q)) + (0.3j * rng.standard_normal((Q, Q)) if is_complex else 0.0)
    covariance, rows = root @ root.conj().T, rng.standard_normal((6, Q)) @ root.T + 4.0 * ATOMS[:, 2]

    def pairs(columns):
        return as_pairs(columns, axis=0) if is_complex else columns.real

    whitener = whitening(covariance)
    white = whitener @ ATOMS
    supports = [(i,) for i in range(6)]
    bank = array_bank(pairs(ATOMS)[None], supports)
    plain = array_bank(pairs(white / np.linalg.norm(white, axis=0))[None], supports)
    coloured = Linear(covariance=pairs(covariance), noises=[1.0], is_complex=is_complex).completed(bank)
    alike = Linear(noises=[1.0], is_complex=is_complex).completed(plain)
    given, made = ArrayRows(pairs(rows.T).T), ArrayRows(pairs(whitener @ rows.T).T)
    found, expected = coloured.stream(bank, given, [6]), alike.stream(plain, made, [6])
    keys, only = np.arange(6), np.array([0])
    np.testing.assert_allclose(found.log_likelihood(keys).values, expected.log_likelihood(keys).values, rtol=1e-10)
    one = coloured.opponent(bank, coloured.proposed(bank, given), 0).numerator(
        found, coloured.scored_rows(bank, given)
    )[0]
    other = alike.opponent(plain, alike.proposed(plain, made), 0).numerator(expected, made)[0]
    np.testing.assert_allclose(one.log_likelihood(only).values, other.log_likelihood(only).values, rtol=1e-10)


def test_a_covariance_of_too_low_a_rank_says_so():
    direction = np.random.default_rng(5).standard_normal(Q)
    for covariance, message in (
        (np.outer(direction, direction), "covariance must have a rank above 4, .* not rank 1 of 24 channels"),
        (np.zeros((Q, Q)), "covariance must have an eigenvalue above 0"),
    ):
        with pytest.raises(MisuseError, match=message):
            Linear(background=BASELINE, covariance=covariance).completed(BANK)
    average = np.eye(Q) - np.ones((Q, Q)) / Q
    assert Linear(background=BASELINE, covariance=average).completed(BANK).design(BANK).columns.shape[0] == Q - 1


def test_proposal_rows_without_a_residual_are_refused():
    law = Linear().completed(BANK)
    with pytest.raises(MisuseError, match="proposal rows must leave a residual to take the noise from"):
        law.opponent(BANK, law.proposed(BANK, ArrayRows(np.tile(ATOMS[:, 1], (2, 1)))), 2)
