"""Evidence against elements anywhere in cells: bounds hold at every point, and the truth is kept wherever it lies."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks._cells import CASES, LEVEL, control_losses, judged, losses
from scipy.stats import binom

from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.banks import Library, library_bank, product_grid
from physupport.judges import ByEvidence
from physupport.judges._cells import extents, search
from physupport.judges._linear_cells import ask_all
from physupport.responses import Cell, Parameter, Peak, Ranges

MEAN, TWO_MEANS, ONE_ROW, FREE, RANDOM, FAR = CASES


def sub_cells(root, rng, count):
    """Cells of a root of all sizes; of two elements each third has both at the edge that they share."""
    for number in range(count):
        sides = root.sides * 2.0 ** -rng.integers(0, 8, len(root.low))
        low = root.low + rng.uniform(0.0, 1.0, len(sides)) * (root.sides - sides)
        if number % 3 == 0 and len(low) > 1:
            low[:2] = root.high[0] - sides[0], root.low[1]
        yield Cell(low, np.minimum(low + sides, root.high))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_point_of_a_cell_has_less_evidence_than_its_bound(case):
    rng = np.random.default_rng(4)
    cells = judged(case.design, case.drawn(rng, 0), 1, LEVEL, case.split)
    root = cells.root(0, cells.box)
    for cell in sub_cells(root, rng, 40):
        bound = cells.bound(0, cell)
        for point in cell.low + rng.integers(0, 3, (3, len(cell.low))) * 0.5 * cell.sides:
            assert bound <= cells.witness(0, point)
    point = root.middle
    tiny = Cell(point, point + 1e-7 * root.sides)
    assert cells.witness(0, point) - cells.bound(0, tiny) < 0.1  # allowances for rounding are .014


def test_two_elements_as_alike_as_numbers_allow_keep_a_bound():
    """At the edge of both cells answers coincide: balls hold everything there, the other basis does not."""
    rng = np.random.default_rng(5)
    rows = 0.3 * RANDOM.drawn(rng, 0) + 40.0 * rng.standard_normal((30, 1)) * FAR.design.columns[:, 1]
    cells = judged(RANDOM.design, rows, 1, LEVEL)
    root = cells.root(0, cells.box)
    for size in (0.1, 1e-3, 1e-6):
        cell = Cell([root.high[0] - size, root.low[1]], [root.high[0], root.low[1] + size])
        bound = cells.bound(0, cell)
        assert bound > cells.threshold  # there is a source elsewhere, which no two neighbours explain
        assert bound <= cells.witness(0, cell.low)
    assert search(cells, 0).lower > cells.threshold


@pytest.mark.parametrize(("case", "count"), [(MEAN, 30), (FREE, 20), (RANDOM, 30)], ids=lambda x: getattr(x, "name", x))
def test_the_truth_is_kept_anywhere_in_its_cell(case, count):
    assert binom.sf(losses(case, count) - 1, count, LEVEL) > 1e-6  # unlucky seeds: fewer than one in a million


@pytest.mark.parametrize("case", [MEAN, FREE], ids=lambda case: case.name)
def test_negative_control_a_bound_that_is_too_small_loses_it(case):
    assert binom.sf(control_losses(case, 20) - 1, 20, LEVEL) < 1e-6


def test_groups_of_explanations_are_rejected_as_wholes():
    """All elements but those near the truth go in few questions, and none that a search of its own would keep."""
    rng = np.random.default_rng(6)
    case = type(MEAN)("many", MEAN.response, [*np.arange(1.0, 9.1, 0.2)], 0.1, "same mean", 12, 40.0)
    singles = np.arange(len(case.places))[:, None]
    design = case.design.moved(case.design.columns, singles.ravel(), singles)
    design = replace(design, ranges=case.design.ranges)
    answers = case.design.ranges.columns(np.array([4.13]))
    rows = 40.0 / np.sqrt(12.0) * answers[:, 0] + rng.standard_normal((12, len(answers)))
    cells = judged(design, rows, 2, LEVEL)
    answer = ask_all(cells)
    kept = np.flatnonzero(answer.log_evidence.lower <= cells.threshold)
    assert 16 in kept  # 4.1 to 4.3
    assert len(kept) <= 3
    assert answer.n_asked < len(singles)
    for e in (0, 10, 14, 18, 30):
        found = search(cells, e)
        assert found.upper >= answer.log_evidence.lower[e]
        assert (found.lower > cells.threshold) == (e not in kept)


def test_what_the_rows_leave_of_a_parameter_holds_its_true_value():
    rng = np.random.default_rng(8)
    case = type(MEAN)("width", MEAN.response, [4.0], 0.4, "same mean", 12, 200.0, TWO_MEANS.parameters)
    answers = case.design.ranges.columns(np.array([4.2, 1.13]))
    rows = 200.0 / np.sqrt(12.0) * answers[:, 0] + rng.standard_normal((12, len(answers)))
    cells = judged(case.design, rows, 3, LEVEL)
    left = extents(cells, [0])
    assert left.low[0] <= 1.13 <= left.high[0]
    assert left.sides[0] < 0.6 * cells.box.sides[0]


@pytest.mark.parametrize("places", [[5.0], [4.0, 5.0, 6.0]])
def test_one_division_of_the_rows_serves_every_setting_of_the_noise(places):
    peak = Peak(np.linspace(0.0, 10.0, 30), 0.5)
    listed = np.array(places)[:, None]
    ranges = Ranges(peak, listed, np.zeros(listed.shape), (Parameter("width", [0.85, 1.2]),))
    columns = ranges.columns(np.append(listed.ravel(), ranges.box.middle))
    names = [f"{x:g}" for x in places]
    library = Library(names, ["a"] * len(names), listed, columns, "", ranges.halves)
    bank = library_bank(library, [("a",)], {"a": 1.0}, deployment=product_grid(noise=[0.01, 1.0]))
    plan = StreamPlan("gaussian", 0.5, ranges=ranges)
    answer = peak(np.array([[5.0]]))[:, 0]
    for deviation in (0.1, 1.0):
        rows = 3.0 * answer / np.linalg.norm(answer) + deviation * np.random.default_rng(9).standard_normal((12, 30))
        model = PhysicalSupport(bank, calibration=None, deployment=plan, judge=ByEvidence("rows", 1))
        assert "5" in model.fit().report(rows).fields[0].cell
