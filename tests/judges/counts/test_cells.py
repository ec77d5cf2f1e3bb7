"""Counts whose parameters may lie anywhere in a box: the level holds there, and a foreign checker proves every cell."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from physupport import MisuseError
from physupport.judges import Verdict
from physupport.judges._cells import extents, search
from physupport.judges.counts import ByCounts, CountTable
from physupport.responses import Cell, Family, Parameter, Peak

AXIS = np.linspace(0.0, 10.0, 24)
PLACES = np.array([[3.0], [4.2], [7.0]])
WIDTH = 0.5
BOX = [Parameter("shift", [-0.4, 0.4]), Parameter("width", [0.8, 1.2])]
FAMILY = Family(Peak(AXIS, WIDTH), PLACES, BOX)
FLAT = np.ones((len(AXIS), 1))
SUPPORTS = [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
TABLE = CountTable.between(FAMILY, SUPPORTS, FLAT)
TRUTH = 4
JUDGE = ByCounts(n_splits=1, widths=(2.0,))
LEVEL = 0.1


def counts(point, rng, total=2000.0):
    responses = FAMILY.ends(Cell.at(point)).high
    means = responses[:, [0, 1]].sum(axis=1)
    return rng.poisson(total * means / means.sum() + 2.0)


def points(rng, count):
    """Values of the parameters anywhere in the box, at its edges and in its corners."""
    inside = rng.uniform(-1.0, 1.0, (count, 2))
    inside[1::3, 0] = np.sign(inside[1::3, 0])
    inside[2::3] = np.sign(inside[2::3])
    return FAMILY.box.middle + 0.5 * FAMILY.box.sides * inside


def losses(parameters, count):
    """Data sets in which the explanation that made the counts is rejected, of so many."""
    table = CountTable.between(Family(Peak(AXIS, WIDTH), PLACES, parameters), [SUPPORTS[TRUTH]], FLAT)
    rng = np.random.default_rng(5)
    lost = 0
    for number, point in enumerate(points(rng, count)):
        judge = JUDGE.judge(table, counts(point, rng), LEVEL, seed=number)
        lost += int(judge.verdicts(np.array([0])).codes[0] == Verdict.REJECTED)
    return lost


def test_the_truth_is_kept_anywhere_in_the_box():
    assert binom.sf(losses(BOX, 40) - 1, 40, LEVEL) > 1e-6  # unlucky seeds: fewer than one in a million


def test_negative_control_a_box_that_is_too_small_loses_it():
    small = [replace(each, values=0.1 * each.values + 0.9 * each.values.mean()) for each in BOX]
    assert binom.sf(losses(small, 25) - 1, 25, LEVEL) < 1e-6


def test_few_questions_reject_everything_without_an_element_over_the_whole_box():
    row = counts([0.13, 1.07], np.random.default_rng(3), total=20000.0)
    table = CountTable.between(FAMILY, [(1, 2)], FLAT)
    judge = JUDGE.judge(table, row, 0.05, seed=1)
    assert judge.verdicts(np.array([0])).codes[0] == Verdict.REJECTED
    assert judge.n_asked[0] <= 20  # a grid of a sixteenth of each range has 289
    whole = JUDGE.judge(TABLE, row, 0.05, seed=1)
    codes = whole.verdicts(np.arange(len(SUPPORTS))).codes
    assert codes[TRUTH] == Verdict.ADMISSIBLE
    assert (codes[[0, 1, 2, 3, 5, 6]] == Verdict.REJECTED).all()


def test_the_least_evidence_lies_within_its_bounds_and_extents_hold_the_truth():
    truth = np.array([0.13, 1.07])
    row = counts(truth, np.random.default_rng(3), total=20000.0)
    judge = JUDGE.judge(TABLE, row, 0.05, seed=1)
    cells = judge.cells
    values = []
    for point in np.stack(np.meshgrid(np.linspace(-0.4, 0.4, 9), np.linspace(0.8, 1.2, 9)), axis=-1).reshape(-1, 2):
        found = cells.evidence(cells.ends(Cell.at(point)), TABLE.members[[TRUTH]])
        values.append(found.upper[0])
    assert judge.log_evidence.lower[TRUTH] <= min(values)
    left = extents(cells, [TRUTH])
    assert left.holds(truth)
    assert left.sides.prod() < 0.5 * FAMILY.box.sides.prod()
    kept = search(cells, TRUTH, resolution=FAMILY.box.sides / 8.0, seeks=False)
    assert any(cell.holds(truth) for cell in kept.left)


def rejected_cells(judge, count, rng):
    """Cells of the box, of many sizes, that the judge rejects, and the columns of the explanation (count, r)."""
    cells = judge.cells
    while count > 0:
        e = int(rng.integers(len(SUPPORTS)))
        size = FAMILY.box.sides * 2.0 ** -rng.integers(1, 5)
        low = rng.uniform(FAMILY.box.low, FAMILY.box.high - size)
        cell = Cell(low, low + size)
        if cells.evidence(cells.ends(cell), TABLE.members[[e]]).lower[0] > cells.threshold:
            count -= 1
            yield np.concatenate([cell.low, cell.high]), TABLE.members[e]


def test_codac_proves_hundreds_of_rejected_cells_again(tmp_path):
    """In a process of its own, as codac changes the way in which all later numbers are rounded."""
    row = counts([0.13, 1.07], np.random.default_rng(3), total=1000.0)
    judge = JUDGE.judge(TABLE, row, 0.05, seed=1)
    boxes, members = zip(*rejected_cells(judge, 1000, np.random.default_rng(8)), strict=True)
    np.savez(
        tmp_path / "cells.npz",
        axis=AXIS,
        places=PLACES[:, 0],
        norms=FAMILY.norms,
        width=WIDTH,
        boxes=boxes,
        members=members,
        halves=[trial.counts for trial in judge.trials],
        log_mixture=[trial.log_mixture[0] for trial in judge.trials],
        threshold=judge.cells.threshold,
    )
    checker = Path(__file__).with_name("codac_proof.py")
    done = subprocess.run([sys.executable, checker, tmp_path / "cells.npz"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1000", "of", "1000"]


def test_a_family_does_not_go_with_other_widths():
    with pytest.raises(MisuseError, match="left out beside a band"):
        CountTable(TABLE.atoms, [(0,)], FLAT, band=(TABLE.atoms, TABLE.atoms), family=FAMILY)
    with pytest.raises(MisuseError, match="have responses of shape"):
        CountTable(TABLE.atoms[:, :2], [(0,)], FLAT, family=FAMILY)
