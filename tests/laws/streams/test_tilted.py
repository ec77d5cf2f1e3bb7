"""Several responses that are known up to an angle, in rows with coefficients of their own."""

import numpy as np
import pytest
from scipy.stats import binom

from physupport import Library, PhysicalSupport, StreamPlan
from physupport.banks import array_bank, library_bank
from physupport.io import ArrayRows, as_pairs
from physupport.judges import ByEvidence, Sealed, SealedStream, Verdict
from physupport.laws import Linear
from physupport.laws.streams._angles import Cone, Tilted
from physupport.laws.streams._open_rows import least_cost

Q, ERROR, LEVEL, TRUTH = 6, 0.1, 0.1, 1
ANGLES = np.deg2rad([-50.0, -20.0, 10.0, 45.0])
WAVES = np.exp(1j * np.pi * np.arange(Q)[:, None] * np.sin(ANGLES)) / np.sqrt(Q)
PAIRS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
BANK = array_bank(as_pairs(WAVES, axis=0)[None], PAIRS)


def normal(rng, *shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2.0)


def moved(rng, columns, sine):
    """Columns at an angle of this sine from each of the unit columns."""
    aside = normal(rng, *columns.shape)
    aside = aside - columns * (columns.conj() * aside).sum(axis=0)
    return np.sqrt(1.0 - sine**2) * columns + sine * aside / np.linalg.norm(aside, axis=0)


def moments_of(rng, columns):
    rows = normal(rng, 40, columns.shape[1]) @ np.diag([4.0, 2.0]) @ columns.T + normal(rng, 40, Q)
    return rows.T @ rows.conj() / len(rows)


@pytest.mark.parametrize("background", [0, 1])
def test_no_responses_within_the_angle_hold_more_or_cost_less_than_the_bound(background):
    rng = np.random.default_rng(1)
    beside = normal(rng, Q, background)
    for _ in range(10):
        atoms = WAVES[:, list(PAIRS[int(rng.integers(6))])]
        columns = np.hstack([atoms, beside])
        moments = moments_of(rng, moved(rng, atoms, 0.5))
        tilted = Tilted.of(columns, np.append(np.full(2, ERROR), np.zeros(background)))
        held, error, _ = tilted.gains(moments)
        assert error < 1e-9
        whole, n_outside = float(np.trace(moments).real), Q - columns.shape[1]
        bound = least_cost(held, np.asarray(whole - held.sum()), n_outside, None)
        for _ in range(30):
            tried = np.hstack([moved(rng, atoms, ERROR), beside])
            basis = np.linalg.qr(tried)[0]
            inside = np.linalg.eigvalsh(basis.conj().T @ moments @ basis)[::-1]
            assert (np.cumsum(inside) <= np.cumsum(held) + 1e-9).all()
            assert least_cost(inside, np.asarray(whole - inside.sum()), n_outside, None) >= bound - 1e-9


def test_the_bound_of_one_response_is_the_most_that_it_holds_and_exact_ones_hold_their_part():
    rng = np.random.default_rng(2)
    moments = moments_of(rng, WAVES[:, :2])
    for eps in (0.02, 0.2, 0.6):
        held, _, _ = Tilted.of(WAVES[:, [1]], np.array([eps])).gains(moments)
        assert held[0] == pytest.approx(Cone(WAVES[:, 1], eps).gain(moments)[0], rel=1e-4)
        assert held[0] >= Cone(WAVES[:, 1], eps).gain(moments)[0] - 1e-9
    basis = np.linalg.qr(WAVES[:, :2])[0]
    inside = np.linalg.eigvalsh(basis.conj().T @ moments @ basis)[::-1]
    held, _, _ = Tilted.of(WAVES[:, :2], np.full(2, 1e-6)).gains(moments)
    assert held == pytest.approx(inside, rel=1e-4)
    assert Tilted.of(WAVES[:, [0, 0]], np.full(2, 0.1)).sine == 1.0  # dependent columns: any span


def opened(rng, sine, seed, kind):
    law = Linear(rows=kind, is_complex=True, error=ERROR).completed(BANK)
    columns = moved(rng, WAVES[:, list(PAIRS[TRUTH])], sine)
    sources = 8.0 * normal(rng, 80, 2) @ np.array([[1.0, 0.6], [0.0, 0.8]])  # correlated
    rows = sources @ columns.T + normal(rng, 80, Q)
    stream = SealedStream("deployment", ArrayRows(as_pairs(rows)), law, law.keys(BANK), lambda: None)
    return ByEvidence("rows", 1).open(Sealed(BANK, LEVEL, (stream,), seed))


@pytest.mark.parametrize("kind", ["random", "free"])
def test_the_truth_on_the_edge_is_kept_and_far_beyond_it_is_lost(kind):
    rng, runs = np.random.default_rng(3), 20
    for sine, is_kept in ((ERROR, True), (0.7, False)):
        lost = sum(
            opened(rng, sine, seed, kind).verdicts(np.array([TRUTH])).codes[0] == Verdict.REJECTED
            for seed in range(runs)
        )
        if is_kept:
            assert binom.sf(lost - 1, runs, LEVEL) > 1e-6
        elif kind == "random":  # where every row has free coefficients of its own, one split tells little
            assert binom.sf(lost - 1, runs, LEVEL) < 1e-6


def test_pairs_have_a_staircase_along_the_error_of_responses():
    rng = np.random.default_rng(4)
    names = [f"{angle:.0f}" for angle in np.rad2deg(ANGLES)]
    library = Library(names, ["sky"] * 4, ANGLES[:, None], as_pairs(WAVES, axis=0))
    bank = library_bank(library, [["sky"]], {"sky": [1.0]}, counts={"sky": (1, 2)})
    rows = 8.0 * normal(rng, 300, 2) @ moved(rng, WAVES[:, [0, 2]], 0.05).T + normal(rng, 300, Q)
    plan = StreamPlan("gaussian", 0.4, rows="random", is_complex=True)
    model = PhysicalSupport(bank, {"sky": 0.1}, calibration=None, deployment=plan, judge=ByEvidence()).fit()
    report = model.report(as_pairs(rows))
    steps = report.staircase()
    assert [step["fields"][0]["label"] for step in steps[:2]] == ["EMPTY", "FINE"]
    assert steps[1]["fields"][0]["cell"] == ["-50 + 10"]
    assert steps[1]["least"] <= 0.05 <= steps[1]["most"]
    assert "nor if responses are right to within an angle" in report.text()
