"""Calibration rows with known codes judge the cells of a dictionary along with the rows of the signal."""

import numpy as np
import pytest
from scipy.stats import binom

from physupport import MisuseError
from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.banks import Library, library_bank, product_grid
from physupport.io import as_pairs
from physupport.judges import ByEvidence
from physupport.responses import Balls, Parameter, Peak, Ranges, UniformLinearArray
from physupport.verify import verify

PEAK = Peak(np.linspace(0.0, 10.0, 30), 0.5)
PLACES = np.arange(3.0, 7.1, 0.8)[:, None]
WIDTH = Parameter("width", [0.85, 1.2])
LEVEL = 0.1
ONE_NOISE = product_grid(noise=[1.0])


def model(parameters, seed=0, supports=(("a",),), **more):
    ranges = Ranges(PEAK, PLACES, np.full(PLACES.shape, 0.4), parameters)
    middles = np.append(PLACES.ravel(), ranges.box.middle)
    names = [f"{x:g}" for x in PLACES[:, 0]]
    library = Library(names, ["a"] * len(names), PLACES, ranges.columns(middles), "", ranges.halves)
    noises = dict.fromkeys(("calibration", "deployment"), ONE_NOISE)
    bank = library_bank(library, supports, {"a": 1.0}, **(noises | more))
    plans = StreamPlan("known codes", 0.5), StreamPlan("gaussian", 0.5, ranges=ranges)
    judge = ByEvidence("rows", 1)
    return PhysicalSupport(
        bank, alpha=LEVEL, random_state=seed, calibration=plans[0], deployment=plans[1], judge=judge
    ).fit


def drawn(rng, place, width, strength):
    answer = PEAK(np.array([[place]]))[:, 0] if width == 1.0 else Peak(PEAK.axis, 0.5 * width)([[place]])[:, 0]
    answer = answer / np.linalg.norm(answer)
    codes = rng.standard_normal((16, 1)) * strength
    calibration = np.hstack([codes * answer + rng.standard_normal((16, 30)), codes])
    return calibration, 3.0 * answer + rng.standard_normal((12, 30))


def losses(parameters, count):
    """Data sets in which the true cell is lost, with truths at its edges and corners, too."""
    rng = np.random.default_rng(5)
    lost = 0
    for number in range(count):
        shares = rng.uniform(-1.0, 1.0, 2)
        shares = np.sign(shares) if number % 3 == 2 else shares
        width = 1.025 + 0.175 * shares[1] if parameters else 1.0
        calibration, rows = drawn(rng, 4.6 + 0.4 * shares[0], width, 6.0)
        fitted = model(parameters, number)(calibration)
        lost += "4.6" not in fitted.report(rows).fields[0].cell
    return lost


def test_the_cell_of_the_truth_is_kept():
    assert binom.sf(losses((WIDTH,), 6) - 1, 6, LEVEL) > 1e-6  # unlucky seeds: fewer than one in a million


def test_negative_control_bounds_that_are_too_small_lose_it(monkeypatch):
    balls = Ranges.balls
    monkeypatch.setattr(Ranges, "balls", lambda *each: Balls(balls(*each).columns, 0.02 * balls(*each).radii))
    assert binom.sf(losses((), 12) - 1, 12, LEVEL) < 1e-6


def test_calibration_rows_make_the_answer_finer_and_the_report_verifies():
    calibration, rows = drawn(np.random.default_rng(3), 4.45, 1.1, 6.0)
    report = model((WIDTH,))(calibration).report(rows)
    weak, _ = drawn(np.random.default_rng(3), 4.45, 1.1, 0.01)
    coarse = model((WIDTH,))(weak).report(0.2 * rows)
    assert set(report.fields[0].cell) < set(coarse.fields[0].cell)
    assert "4.6" in report.fields[0].cell
    assert report.document["gate"]["parameters"][0]["name"] == "width"
    assert verify(report.json(), {"calibration": calibration, "deployment": rows}).is_verified


def test_rows_of_another_place_than_the_calibration_leave_nothing():
    calibration, _ = drawn(np.random.default_rng(3), 4.45, 1.1, 6.0)
    _, rows = drawn(np.random.default_rng(4), 6.6, 1.1, 6.0)
    report = model((WIDTH,))(calibration).report(2.0 * rows)
    assert report.fields[0].label.value == "EMPTY"
    assert report.text()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"calibration": product_grid(noise=[1.0, 2.0])}, "be one number beside cells"),
        ({"supports": [(), ("a",)]}, "have the active elements alone"),
    ],
)
def test_what_the_bound_does_not_hold_for_is_refused(more, words):
    calibration, rows = drawn(np.random.default_rng(3), 4.45, 1.1, 6.0)
    with pytest.raises(MisuseError, match=words):
        model((WIDTH,), **more)(calibration).report(rows)


def test_real_codes_beside_complex_rows_are_refused():
    array = UniformLinearArray(8, 0.5)
    ranges = Ranges(array, PLACES, np.full(PLACES.shape, 0.4))
    names = [f"{x:g}" for x in PLACES[:, 0]]
    pairs = as_pairs(ranges.columns(PLACES.ravel()), axis=0)
    library = Library(names, ["a"] * len(names), PLACES, pairs, "", ranges.halves)
    bank = library_bank(library, [("a",)], {"a": 1.0}, **dict.fromkeys(("calibration", "deployment"), ONE_NOISE))
    plan = StreamPlan("gaussian", 0.5, ranges=ranges, is_complex=True)
    fit = PhysicalSupport(
        bank, calibration=StreamPlan("known codes", 0.5), deployment=plan, judge=ByEvidence("rows", 1)
    ).fit
    with pytest.raises(MisuseError, match="unless all rows are real"):
        fit(np.ones((16, 17))).report(np.ones((12, 8), dtype=complex))
