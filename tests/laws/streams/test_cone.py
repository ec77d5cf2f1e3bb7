"""Rows with coefficients of their own, and one response that is known up to an angle."""

import numpy as np
import pytest
from flint import acb_mat, arb
from scipy.optimize import minimize
from scipy.stats import binom

from physupport.banks import array_bank
from physupport.io import ArrayRows, as_pairs
from physupport.judges import ByEvidence, Sealed, SealedStream, Verdict
from physupport.laws import Linear
from physupport.laws.streams._angles import Cone

Q, ERROR, LEVEL = 8, 0.25, 0.1
ANGLES = np.linspace(-1.0, 1.0, 5)
WAVES = np.exp(1j * np.pi * np.arange(Q)[:, None] * np.sin(ANGLES)) / np.sqrt(Q)
CURVES = np.exp(-0.5 * ((np.arange(Q)[:, None] - np.linspace(0, 7, 5)) / 1.0) ** 2)
ATOMS = {True: WAVES, False: CURVES / np.linalg.norm(CURVES, axis=0)}
SUPPORTS = [(i,) for i in range(5)]
BANKS = {key: array_bank((as_pairs(each, axis=0) if key else each)[None], SUPPORTS) for key, each in ATOMS.items()}


def normal(rng, is_complex, *shape):
    drawn = rng.standard_normal((2, *shape))
    return (drawn[0] + 1j * drawn[1]) / np.sqrt(2.0) if is_complex else drawn[0]


def response(rng, atom, sine):
    aside = normal(rng, np.iscomplexobj(atom), Q)
    aside = aside - atom * (atom.conj() @ aside)
    return np.sqrt(1.0 - sine**2) * atom + sine * aside / np.linalg.norm(aside)


def most(moments, atom, eps):
    """The largest h* R h within the angle, by a search over directions aside and angles that knows no duality."""
    is_complex, rng = np.iscomplexobj(atom), np.random.default_rng(0)

    def loss(theta):
        aside = theta[1 : 1 + Q] + 1j * theta[1 + Q :] if is_complex else theta[1:]
        aside = aside - atom * (atom.conj() @ aside)
        sine = eps * np.sin(theta[0])
        h = np.sqrt(1.0 - sine**2) * atom + sine * aside / max(np.linalg.norm(aside), 1e-12)
        return -(h.conj() @ moments @ h).real

    starts = rng.standard_normal((6, 1 + Q * (1 + is_complex)))
    return -min(minimize(loss, start, method="BFGS", options={"gtol": 1e-10}).fun for start in starts)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("eps", [0.05, 0.3, 0.95])
def test_the_search_finds_the_most_that_a_response_within_the_angle_holds(is_complex, eps):
    rng, atom = np.random.default_rng(1), ATOMS[is_complex][:, 2]
    rows = normal(rng, is_complex, 5, Q) + 3.0 * normal(rng, is_complex, 5, 1) * response(rng, atom, 0.5)
    moments, cone = rows.T @ rows.conj(), Cone(atom, eps)
    held, error = cone.gain(moments)
    assert held == pytest.approx(most(moments, atom, eps), rel=1e-7)
    assert error < 1e-9 * np.trace(moments).real
    mu, found = cone.best(moments)
    assert np.abs(atom.conj() @ found) ** 2 >= 1.0 - eps**2 - 1e-12
    ball = cone.enclosed(acb_mat([[complex(x) for x in row] for row in moments.tolist()]), mu)
    assert arb(held - error) <= ball.lower()
    assert ball.upper() <= arb(held + error)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("noises", [None, [0.7]])
@pytest.mark.parametrize("rows", ["free", "random"])
def test_scores_are_the_likelihood_of_the_best_response_and_lie_within_their_errors(is_complex, noises, rows):
    bank, rng = BANKS[is_complex], np.random.default_rng(2)
    truth = response(rng, ATOMS[is_complex][:, 1], 0.2)
    table = 2.0 * normal(rng, is_complex, 12, 1) * truth + normal(rng, is_complex, 12, Q)
    source = ArrayRows(as_pairs(table) if is_complex else table)
    law = Linear(rows=rows, noises=noises, is_complex=is_complex, error=ERROR).completed(bank)
    stream = law.stream(bank, source, [6, 12])
    scores = stream.log_likelihood(np.arange(5))
    for key in range(5):
        for value, error, ball in zip(scores.values[key], scores.errors[key], stream.enclosure(key, 128), strict=True):
            assert error < 1e-8
            assert abs(arb(float(value)) - ball) <= arb(float(error))
    best = Cone(ATOMS[is_complex][:, 3], ERROR).best(table.T @ table.conj())[1]
    columns = (as_pairs(best[:, None], axis=0) if is_complex else best[:, None])[None]
    own = array_bank(columns, [(0,)])
    exact = Linear(rows=rows, noises=noises, is_complex=is_complex).completed(own)
    expected = exact.stream(own, source, [6, 12]).log_likelihood(np.arange(1)).values[0, -1]
    assert scores.values[3, -1] == pytest.approx(expected, abs=1e-7)


def lost(sine, spec, kind, is_complex, runs, n_rows=60):
    bank, count = BANKS[is_complex], 0
    law = Linear(rows=kind, is_complex=is_complex, error=ERROR).completed(bank)
    for run in range(runs):
        rng = np.random.default_rng([3, run])
        truth = int(rng.integers(5))
        h = response(rng, ATOMS[is_complex][:, truth], sine(rng))
        table = 6.0 * normal(rng, is_complex, n_rows, 1) * h + normal(rng, is_complex, n_rows, Q)
        source = ArrayRows(as_pairs(table) if is_complex else table)
        stream = SealedStream("deployment", source, law, law.keys(bank), lambda: None)
        judge = spec.open(Sealed(bank, LEVEL, (stream,), run))
        count += int(judge.verdicts(np.array([truth])).codes[0] == Verdict.REJECTED)
    return count


@pytest.mark.parametrize(("kind", "is_complex"), [("random", True), ("random", False), ("free", True)])
def test_the_truth_within_the_angle_or_on_its_edge_is_kept_and_beyond_it_is_lost(kind, is_complex):
    runs, spec = 30, ByEvidence("rows", 1)
    for sine in (lambda rng: ERROR * rng.uniform(), lambda rng: ERROR):
        assert binom.sf(lost(sine, spec, kind, is_complex, runs) - 1, runs, LEVEL) > 1e-6
    if kind == "random":  # where every row has coefficients of its own that are free, one split tells little
        assert binom.sf(lost(lambda rng: 0.7, spec, kind, is_complex, runs) - 1, runs, LEVEL) < 1e-6


def test_a_source_off_its_response_is_named_with_width_and_nothing_fits_without():
    rng, bank = np.random.default_rng(4), BANKS[True]
    h = response(rng, WAVES[:, 3], 0.2)
    table = 5.0 * normal(rng, True, 200, 1) * h + normal(rng, True, 200, Q)
    found = []
    for error in (ERROR, None):
        law = Linear(rows="random", is_complex=True, error=error).completed(bank)
        stream = SealedStream("deployment", ArrayRows(as_pairs(table)), law, law.keys(bank), lambda: None)
        codes = ByEvidence("rows", 4).open(Sealed(bank, LEVEL, (stream,), 1)).verdicts(np.arange(5)).codes
        found.append(np.flatnonzero(codes != Verdict.REJECTED).tolist())
    assert found == [[3], []]
    assert ByEvidence().check_rows(law, 200) is None
