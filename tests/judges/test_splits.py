"""Evidence averaged over splits: of rows, and of a single row of known noise."""

from dataclasses import replace
from inspect import getclosurevars

import numpy as np
import pytest
from flint import arb
from scipy.stats import binom, norm

from physupport import MisuseError
from physupport._codec import draws_seed, rows_hash
from physupport.banks import array_bank, product_grid
from physupport.io import ArrayRows, as_pairs
from physupport.judges import ByEvidence, Sealed, SealedStream, Verdict, decoded, make_judge
from physupport.judges.rotation._table import Draws
from physupport.laws import Linear

Q, LEVEL = 16, 0.1
AXIS = np.arange(Q)
LINES = np.exp(-0.5 * ((AXIS[:, None] - np.linspace(3, 13, 4)) / 1.5) ** 2)
ATOMS = LINES / np.linalg.norm(LINES, axis=0)
BACKGROUND = np.ones((Q, 1))
SUPPORTS = [(i,) for i in range(4)]
BANK = array_bank(ATOMS[None], SUPPORTS)
EVERYTHING = np.arange(BANK.size)


def opened(spec, rows, law, bank=BANK, seed=1):
    law = law.completed(bank)
    stream = SealedStream("deployment", ArrayRows(np.atleast_2d(rows)), law, law.keys(bank), lambda: None)
    return spec.open(Sealed(bank, LEVEL, (stream,), seed))


def kept(spec, rows, law, bank=BANK, seed=1):
    codes = opened(spec, rows, law, bank, seed).verdicts(np.arange(bank.size)).codes
    return np.flatnonzero(codes != Verdict.REJECTED).tolist()


def test_evidence_is_the_mean_over_splits_of_a_mixture_over_a_supremum():
    sigma, row = 0.8, 4.0 * ATOMS[:, 1] + 2.0 + 0.8 * np.random.default_rng(1).standard_normal(Q)
    judge = opened(ByEvidence("fission", 3), row, Linear(background=BACKGROUND, noises=[sigma**2]))
    found, wide = [], sigma * np.sqrt(2.0)
    seed = draws_seed(1, {"deployment": rows_hash([row], (1, Q))})
    for drawn in sigma * Draws(seed, 4).normal((3, 1, Q))[:, 0]:
        first, second = row + drawn, row - drawn

        def fit(values, e):
            columns = np.column_stack([ATOMS[:, e], BACKGROUND])
            return columns @ np.linalg.lstsq(columns, values, rcond=None)[0]

        def density(values, mean):
            return norm.logpdf(values, mean, wide).sum()  # called within the loop

        likely = np.array([density(first, fit(first, e)) for e in range(4)])
        shares = np.where(likely > likely.max() - 6.0, np.exp(likely - likely.max()), 0.0)
        terms = [density(second, fit(first, e)) for e in range(4)] + [density(second, first)]
        numerator = np.log(np.append(0.5 * shares / shares.sum(), 0.5) @ np.exp(terms))
        found.append([numerator - density(second, fit(second, e)) for e in range(4)])
    expected = np.log(np.exp(found).mean(axis=0))
    np.testing.assert_allclose(judge.log_evidence.lower, expected, rtol=1e-8)
    assert (judge.log_evidence.upper - judge.log_evidence.lower < 1e-7).all()  # far below any threshold
    for key in range(4):
        ball = judge.ball(key, 128)
        assert arb(float(judge.log_evidence.lower[key])) <= ball <= arb(float(judge.log_evidence.upper[key]))


def lost(spec, law, runs, n_rows, deviation):
    count = 0
    for run in range(runs):
        rng = np.random.default_rng([2, run])
        truth = int(rng.integers(BANK.size))
        mean = rng.uniform(1.0, 4.0) * ATOMS[:, truth] + rng.normal(0.0, 5.0)
        rows = mean + deviation * rng.standard_normal((n_rows, Q))
        count += truth not in kept(spec, rows, law, seed=run)
    return count


@pytest.mark.parametrize(
    ("spec", "noises", "n_rows", "deviation", "is_valid"),
    [
        (ByEvidence("fission", 2), [1.0], 1, 1.0, True),
        (ByEvidence("rows", 2), None, 6, 1.0, True),
        (ByEvidence("fission", 2), [1.0], 1, 3.0, False),  # the noise is larger than is said
    ],
)
def test_the_truth_is_lost_in_at_most_the_level_of_the_data_sets(spec, noises, n_rows, deviation, is_valid):
    runs = 80
    count = lost(spec, Linear(background=BACKGROUND, noises=noises), runs, n_rows, deviation)
    assert (binom.sf(count - 1, runs, LEVEL) > 1e-6) == is_valid


def test_one_row_of_known_noise_names_its_line():
    row = 14.0 * ATOMS[:, 2] + 3.0 + np.random.default_rng(3).standard_normal(Q)
    known = Linear(background=BACKGROUND, noises=[1.0])
    assert kept(ByEvidence("fission"), row, known) == [2]
    deviations = np.linspace(0.5, 2.0, Q)
    coloured = 20.0 * ATOMS[:, 2] + deviations * np.random.default_rng(4).standard_normal(Q)
    for covariance in (deviations**2, np.diag(deviations**2)):
        assert kept(ByEvidence("fission"), coloured, replace(known, covariance=covariance)) == [2]


def test_complex_rows_and_several_noise_levels():
    bank = array_bank(as_pairs(ATOMS * np.exp(0.7j * AXIS)[:, None], axis=0)[None], SUPPORTS)
    rng = np.random.default_rng(5)
    row = (12.0 - 9.0j) * ATOMS[:, 1] * np.exp(0.7j * AXIS) + (rng.standard_normal((2, Q)) * [[1], [1j]]).sum(axis=0)
    assert kept(ByEvidence("fission"), as_pairs(row[None]), Linear(is_complex=True, noises=[2.0]), bank) == [1]
    several = array_bank(ATOMS[None], SUPPORTS, deployment=product_grid(noise=[1.0, 400.0]))
    rows = 14.0 * ATOMS[:, 2] + rng.standard_normal((4, Q))
    for spec in (ByEvidence("fission"), ByEvidence("rows")):
        left = kept(spec, rows, Linear(), several)
        # Of a noise that is far too large, none is left.
        assert left == [2 * 2]


def test_a_specification_is_read_back_and_refuses_what_it_cannot_do():
    spec = ByEvidence("fission", 5)
    assert decoded(spec.encode()) == spec
    single = make_judge("evidence", {"split": "rows", "n_splits": 1, "proposal": 0.4})
    assert single.encode() == ByEvidence().encode()
    assert make_judge("evidence", {"n_splits": 4, "proposal": 0.4}) == ByEvidence("rows", 4, 0.4)
    with pytest.raises(MisuseError, match="split must be 'rows' or 'fission', not 'thin'"):
        make_judge("evidence", {"split": "thin"})
    with pytest.raises(MisuseError, match="proposal must be left out with split = 'fission'"):
        make_judge("evidence", {"split": "fission", "proposal": 0.5})
    with pytest.raises(MisuseError, match="splits must be a whole number between 1 and 1000"):
        ByEvidence("rows", 10**9)
    row = np.ones((1, Q))
    with pytest.raises(MisuseError, match="split must not be 'rows' for a single row"):
        opened(ByEvidence("rows"), row, Linear())
    with pytest.raises(MisuseError, match="split must be 'rows' where the noise is not known"):
        opened(spec, row, Linear())


@pytest.mark.parametrize("split", ["rows", "fission"])
@pytest.mark.parametrize("kind", ["free", "random"])
def test_rows_with_coefficients_of_their_own_are_split_too(kind, split):
    """Fissioned random rows share their coefficients, which are taken for free then: so neither loses the truth."""
    rng = np.random.default_rng(6)
    rows = 8.0 * rng.standard_normal((40, 1)) * ATOMS[:, 1] + rng.standard_normal((40, Q))
    assert kept(ByEvidence(split, 2), rows, Linear(rows=kind, noises=[1.0])) == [1]
    judge = opened(ByEvidence(split, 2), rows, Linear(rows=kind, noises=[1.0]))
    assert getclosurevars(judge.ball).nonlocals["trials"][0][0].stream.design.is_random == (
        kind == "random" and split == "rows"
    )
