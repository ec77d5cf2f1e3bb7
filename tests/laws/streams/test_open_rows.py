"""Evidence about rows with coefficients of their own, free or random: exact suprema, a valid level, an honest EMPTY."""

import numpy as np
import pytest
from flint import arb
from scipy.optimize import minimize
from scipy.stats import binom, multivariate_normal

from physupport import MisuseError
from physupport.banks import array_bank, product_grid
from physupport.io import ArrayRows, as_pairs
from physupport.judges import Verdict, bank_evidence, verdicts
from physupport.laws import Linear
from physupport.laws.streams._open_rows import cost_ball, least_cost

Q, LEVEL = 8, 0.1
ANGLES = np.linspace(-0.6, 0.6, 5)
WAVES = np.exp(1j * np.pi * np.arange(Q)[:, None] * np.sin(ANGLES)) / np.sqrt(Q)
CURVES = np.exp(-0.5 * ((np.arange(Q)[:, None] - np.linspace(1, 6, 5)) / 1.2) ** 2)
SUPPORTS = [*((i,) for i in range(5)), (0, 2), (1, 3), (2, 4)]
PAIR = 6  # of elements 1 and 3
BANKS = {
    True: array_bank(as_pairs(WAVES, axis=0)[None], SUPPORTS),
    False: array_bank((CURVES / np.linalg.norm(CURVES, axis=0))[None], SUPPORTS),
}
KINDS = [("free", False), ("free", True), ("random", False), ("random", True)]


def atoms_of(is_complex, e):
    table = BANKS[is_complex].states.elements[:, list(SUPPORTS[e])]
    return table[0::2] + 1j * table[1::2] if is_complex else table


def make_rows(rng, is_complex, e, n_rows, strength=2.0, correlation=0.9, extra=None):
    """Correlated sources and noise of variance 1; extra: a column (Q,) off the bank."""
    columns = atoms_of(is_complex, e)
    columns = columns if extra is None else np.column_stack([columns, extra])
    r = columns.shape[1]
    root = np.linalg.cholesky(correlation * np.ones((r, r)) + (1.0 - correlation) * np.eye(r))
    draw = rng.standard_normal((2, r + Q, n_rows))
    draw = (draw[0] + 1j * draw[1]) / np.sqrt(2.0) if is_complex else draw[0]
    rows = (strength * columns @ root @ draw[:r] + draw[r:]).T
    return as_pairs(rows) if is_complex else rows


def largest_likelihood(rows, columns, is_complex, noise):
    """Over C = L L* and the noise by a search from several starts, in the real law of pairs."""
    native = rows[:, 0::2] + 1j * rows[:, 1::2] if is_complex else rows
    r, parts = columns.shape[1], 2 if is_complex else 1

    def loss(theta):
        free = theta[: r * r * parts].reshape(parts, r, r)
        factor = columns @ (free[0] + 1j * free[1] if is_complex else free[0])
        sigma = factor @ factor.conj().T + (np.exp(theta[-1]) if noise is None else noise) * np.eye(Q)
        _, volume = np.linalg.slogdet(2.0 * np.pi / parts * sigma)
        return 0.5 * parts * (len(native) * volume + np.sum(native.conj() * np.linalg.solve(sigma, native.T).T).real)

    rng = np.random.default_rng(0)
    starts = [np.append(rng.standard_normal(r * r * parts), 0.0) for _ in range(6)]
    return -min(minimize(loss, start, method="BFGS", options={"gtol": 1e-8}).fun for start in starts)


@pytest.mark.parametrize("noise", [None, 1.3])
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("strength", [3.0, 0.1], ids=["strong", "below the noise"])
def test_random_coefficients_score_the_largest_likelihood_of_any_covariance(noise, is_complex, strength):
    bank, rng = BANKS[is_complex], np.random.default_rng(1)
    law = Linear(rows="random", is_complex=is_complex, noises=None if noise is None else [noise]).completed(bank)
    rows = make_rows(rng, is_complex, PAIR, 12, strength)
    scores = law.stream(bank, ArrayRows(rows), [12]).log_likelihood(np.arange(bank.size))
    for key in (0, PAIR):
        expected = largest_likelihood(rows, atoms_of(is_complex, key), is_complex, noise)
        assert scores.values[key, 0] == pytest.approx(expected, abs=1e-5)  # what a search stops short of
    assert (scores.errors < 1e-7).all()


def test_every_hermitian_covariance_is_no_less_likely_and_as_likely_where_none_is_below_the_noise():
    r"""The closed form :math:`\log\det(P_ARP_A + sP_A^\perp) + m`, :math:`s = \operatorname{tr}P_A^\perp R/(m - r)`."""
    for strength, is_equal in ((4.0, True), (0.1, False)):
        rows, atoms = make_rows(np.random.default_rng(2), False, PAIR, 20, strength), atoms_of(False, PAIR)
        onto = atoms @ np.linalg.pinv(atoms)
        moments, off = rows.T @ rows / 20, np.eye(Q) - onto
        level = np.trace(off @ moments) / (Q - 2)
        hermitian = np.linalg.slogdet(onto @ moments @ onto + level * off)[1] + Q
        inside = np.linalg.eigvalsh(onto @ moments @ onto)[::-1][:2]
        ours = float(least_cost(inside, np.trace(off @ moments), Q - 2, None))
        assert ours >= hermitian - 1e-12
        assert (ours == pytest.approx(hermitian, abs=1e-12)) == is_equal


def test_balls_around_the_cost_leave_open_what_they_do_not_show():
    assert cost_ball([arb(1, 0.5)], arb(6), 5, None).is_finite() is False  # above or below the noise of 1.2
    exact = cost_ball([arb(3), arb(0.5)], arb(6), 5, None)
    assert float(exact) == pytest.approx(float(least_cost(np.array([3.0, 0.5]), np.array(6.0), 5, None)), rel=1e-14)
    assert not cost_ball([arb(3)], arb(0), 0, None).is_finite()


def test_free_coefficients_score_the_residual_of_every_row():
    rows, noise = make_rows(np.random.default_rng(3), False, PAIR, 9), 0.8
    for given in (None, [noise]):
        law = Linear(rows="free", noises=given).completed(BANKS[False])
        scores = law.stream(BANKS[False], ArrayRows(rows), [4, 9]).log_likelihood(np.arange(len(SUPPORTS)))
        for key, atoms in enumerate(atoms_of(False, e) for e in range(len(SUPPORTS))):
            left = rows.T - atoms @ np.linalg.lstsq(atoms, rows.T, rcond=None)[0]
            energy = float((left**2).sum())
            variance = energy / rows.size if given is None else noise
            expected = -0.5 * (rows.size * np.log(2.0 * np.pi * variance) + energy / variance)
            assert scores.values[key, 1] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("kind", "is_complex"), KINDS)
@pytest.mark.parametrize("noises", [None, [1.0]])
def test_proven_errors_hold_in_balls(kind, is_complex, noises):
    bank = BANKS[is_complex]
    law = Linear(rows=kind, is_complex=is_complex, noises=noises).completed(bank)
    rows = make_rows(np.random.default_rng(4), is_complex, PAIR, 30)
    stream = law.stream(bank, ArrayRows(rows), [6, 30])
    scores = stream.log_likelihood(np.arange(bank.size))
    for key in (0, PAIR):
        for c, ball in enumerate(stream.enclosure(key, 200)):
            assert abs(ball - arb(float(scores.values[key, c]))) <= arb(float(scores.errors[key, c]))


def test_the_opponent_is_the_density_of_fitted_covariances_and_of_the_leading_eigenvectors():
    """Against scipy's density, each with the covariance that the parts say they have."""
    bank, rng = BANKS[False], np.random.default_rng(5)
    law = Linear(rows="random").completed(bank)
    proposal, held_out = (make_rows(rng, False, PAIR, 40) for _ in range(2))
    mixture = law.opponent(bank, law.proposed(bank, ArrayRows(proposal)), 0)
    assert mixture.weights[-1] == 0.5
    stream, key = mixture.numerator(law.stream(bank, ArrayRows(held_out), [40]), ArrayRows(held_out))
    points = [part.numbers for part in mixture.parts]
    covariances = [(p["atoms"] * p["strengths"]) @ p["atoms"].T + p["noise"] * np.eye(Q) for p in points]
    logs = [multivariate_normal(np.zeros(Q), each).logpdf(held_out).sum() for each in covariances]
    assert stream.log_likelihood(np.array([key])).values[0, 0] == pytest.approx(
        np.logaddexp.reduce(logs + np.log(mixture.weights)), rel=1e-10
    )
    free = mixture.parts[-1]
    assert len(free.numbers["strengths"]) in (1, 2)  # the second of two sources correlated .9 has a tenth of the power
    leading = np.linalg.eigh(proposal.T @ proposal)[1][:, -1]
    assert abs(leading @ free.numbers["atoms"][:, 0]) == pytest.approx(1.0, abs=1e-9)


def kept(rows, law, bank, *, half=2, stops_early=0.0):
    """One row in `half` proposes; stops_early: how far a fit that stalls stays below the supremum, as a control."""
    proposal, held_out = ArrayRows(rows[::half]), ArrayRows(np.delete(rows, np.s_[::half], axis=0))
    stream = law.stream(bank, held_out, [held_out.n_rows])
    numerator = law.opponent(bank, law.proposed(bank, proposal), 0).numerator(stream, held_out)
    evidence = bank_evidence(bank, deployment=(stream, numerator))
    if stops_early:
        bounds = evidence.along_path(np.arange(bank.size)).peak()
        return np.flatnonzero(bounds.lower + stops_early <= np.log(1.0 / LEVEL))
    return np.flatnonzero(verdicts(evidence, np.arange(bank.size), LEVEL).codes != Verdict.REJECTED)


@pytest.mark.parametrize(
    ("kind", "is_complex", "noises", "stops_early", "is_valid"),
    [
        ("free", True, None, 0.0, True),
        ("random", False, None, 0.0, True),
        ("random", True, [1.0], 0.0, True),
        ("random", False, [0.4], 0.0, False),  # the noise is 1
        ("random", True, None, 20.0, False),  # a fit that stalls makes evidence out of nothing
    ],
)
def test_the_truth_is_lost_in_at_most_the_level_of_the_data_sets(kind, is_complex, noises, stops_early, is_valid):
    bank, lost, runs = BANKS[is_complex], 0, 60
    law = Linear(rows=kind, is_complex=is_complex, noises=noises).completed(bank)
    for run in range(runs):
        rng = np.random.default_rng([6, run])
        truth = int(rng.integers(bank.size))
        lost += truth not in kept(make_rows(rng, is_complex, truth, 24), law, bank, stops_early=stops_early)
    assert (binom.sf(lost - 1, runs, LEVEL) > 1e-6) == is_valid


@pytest.mark.parametrize(("kind", "is_complex"), KINDS)
def test_strong_sources_are_named_and_one_outside_the_bank_leaves_nothing(kind, is_complex):
    bank, rng = BANKS[is_complex], np.random.default_rng(7)
    law = Linear(rows=kind, is_complex=is_complex).completed(bank)
    assert kept(make_rows(rng, is_complex, PAIR, 80, 12.0), law, bank).tolist() == [PAIR]
    strange = np.where(np.arange(Q) % 2, 1.0, -1.0) / np.sqrt(Q)
    assert kept(make_rows(rng, is_complex, PAIR, 80, 12.0, extra=strange), law, bank).size == 0


def test_a_set_is_rejected_with_every_set_that_holds_it():
    """One numerator for all: a law inside another has the larger evidence, so that one verdict speaks for many."""
    supports = [(0,), (0, 2), (0, 2, 4), (1,), (1, 3)]
    bank = array_bank(BANKS[False].states.elements[None], supports, deployment=product_grid(noise=[1.0]))
    for kind in ("same mean", "free", "random"):
        law, rng = Linear(rows=kind).completed(bank), np.random.default_rng(8)
        for _ in range(20):
            rows = make_rows(rng, False, PAIR, 20, 3.0)
            stream = law.stream(bank, ArrayRows(rows[10:]), [10])
            numerator = law.opponent(bank, law.proposed(bank, ArrayRows(rows[:10])), 0).numerator(
                stream, ArrayRows(rows[10:])
            )
            bounds = bank_evidence(bank, deployment=(stream, numerator)).log_evidence(np.arange(bank.size))
            for inner, outer in ((0, 1), (1, 2), (3, 4)):
                assert bounds.upper[inner] >= bounds.lower[outer]


def test_bounds_and_thresholds_are_refused_where_coefficients_are_random():
    with pytest.raises(MisuseError, match="coefficients must be left open where every row has its own"):
        Linear(rows="random", coefficients={"A": (0.0, 1.0)})
    bank = BANKS[False]
    law = Linear(rows="random").completed(bank)
    with pytest.raises(MisuseError, match="proposal rows must leave a residual to take the noise from"):
        law.opponent(bank, law.proposed(bank, ArrayRows(np.outer([1.0, 2.0], atoms_of(False, 0)[:, 0]))), 0)


@pytest.mark.parametrize("kind", ["free", "random"])
def test_columns_that_leave_nothing_to_unknown_noise_and_rows_beyond_squares_are_refused(kind):
    bank = array_bank(np.eye(3)[None], [(0, 1, 2)])
    rows = np.random.default_rng(1).standard_normal((9, 3))
    with pytest.raises(MisuseError, match="leave at least one of 3 channels to the noise"):
        Linear(rows=kind).completed(bank).stream(bank, ArrayRows(rows), [9])
    Linear(rows=kind, noises=[1.0]).completed(bank).stream(bank, ArrayRows(rows), [9])
    bank = BANKS[False]
    stream = Linear(rows=kind).completed(bank).stream(bank, ArrayRows(np.full((9, Q), 1e160)), [9])
    with pytest.raises(MisuseError, match=r"rows must be of sizes up to 1e\+80"):
        stream.log_likelihood(np.arange(2))
