"""Rounding can keep, never lose: residuals of nothing but rounding, sizes near overflow, and kinds of numbers."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.judges import Verdict
from physupport.judges.rotation import Companions, Rotation, RotationTable, ordered_axis, scanned

Q = 12
ATOMS = np.random.default_rng(1).standard_normal((Q, 4))
OTHERS = np.random.default_rng(2).standard_normal((Q, 3))
TABLE = RotationTable(ATOMS, [(0,), (1,), (2,), (3,)])
EVERYTHING, TRUTH = np.arange(4), np.array([0])
SAME = np.tile(ATOMS[:, 0] + np.random.default_rng(3).standard_normal(Q), (5, 1))
MIXED = np.outer(np.random.default_rng(4).standard_normal(5), ATOMS[:, 0])


def is_kept(data, explanations, **settings):
    return Rotation(TABLE, **settings).judge(data, 0.1).verdicts(explanations).codes == Verdict.ADMISSIBLE


@pytest.mark.parametrize(
    ("rows", "settings"),
    [
        (np.zeros((1, Q)), {}),
        (np.zeros((1, Q)), {"outsiders": ordered_axis(Q)}),
        (np.zeros((1, Q)), {"companions": Companions(low=0.0, largest_noise=1.0)}),
        (np.zeros((5, Q)), {"outsiders": scanned(OTHERS)}),
        (np.zeros((5, Q)), {"outsiders": scanned(OTHERS), "rows": "free"}),
    ],
)
def test_rows_of_zeros_keep_everything(rows, settings):
    assert is_kept(rows, EVERYTHING, **settings).all()


@pytest.mark.parametrize("size", [1.0, 1.37, 1e-20, 1e20])
@pytest.mark.parametrize(
    ("rows", "settings"),
    [
        (ATOMS[:, [0]].T, {"outsiders": ordered_axis(Q)}),
        (ATOMS[:, [0]].T, {"companions": Companions(low=0.0)}),
        (np.tile(ATOMS[:, 0], (5, 1)), {"outsiders": scanned(OTHERS)}),
        (MIXED, {"outsiders": scanned(OTHERS), "rows": "free"}),
    ],
)
def test_data_without_noise_keep_the_truth(size, rows, settings):
    assert is_kept(size * rows, TRUTH, **settings).all()


def test_identical_rows_have_no_scatter_to_be_tested():
    judge = Rotation(TABLE, outsiders=scanned(OTHERS)).judge(SAME, 0.1)
    assert {finding.part: finding.exceedances for finding in judge.rows.findings(0)}["spectrum"] == 1999


@pytest.mark.parametrize("strength", [1e13, 1e15, 1e16])
def test_strong_signals_keep_the_truth_whatever_they_leave_of_the_noise(strength):
    axis = np.linspace(0, 1, 40)
    lines = np.exp(-((axis[:, None] - np.linspace(0.1, 0.9, 8)) ** 2) / 0.005)
    table = RotationTable(lines, [(i,) for i in range(8)])
    for seed in range(10):
        row = strength * lines[:, 2] + np.random.default_rng(seed).standard_normal(40)
        judge = Rotation(table, seed=seed, outsiders=ordered_axis(40)).judge(row, 0.1)
        assert judge.verdicts(np.array([2])).codes.tolist() == [Verdict.ADMISSIBLE]


@pytest.mark.parametrize("kind", ["same mean", "free"])
def test_verdicts_do_not_depend_on_the_unit_and_units_out_of_range_are_refused(kind):
    rows = 2.0 * ATOMS[:, 0] + np.random.default_rng(5).standard_normal((3, Q))
    spec = Rotation(TABLE, kind, outsiders=scanned(OTHERS))
    plain = spec.judge(rows, 0.1).verdicts(EVERYTHING)
    for size in (2.0**-250, 2.0**250):
        assert spec.judge(size * rows, 0.1).verdicts(EVERYTHING).codes.tolist() == plain.codes.tolist()
    for size in (1e-160, 1e155):
        with pytest.raises(MisuseError, match="rows must be of sizes between"):
            spec.judge(size * rows, 0.1)
    with pytest.raises(MisuseError, match="sigma must be of sizes between"):
        Rotation(TABLE, kind, sigma=1e-160)


@pytest.mark.parametrize("kind", ["same mean", "free"])
def test_a_penalty_whose_weights_overflow_is_refused(kind):
    table = RotationTable(ATOMS, [(), (0,), (0, 1)])
    rows = 5.0 * ATOMS[:, 0] + np.random.default_rng(6).standard_normal((2, Q))
    with pytest.raises(MisuseError, match="penalty must make at most 150 times"):
        Rotation(table, kind, penalty=1e4).judge(rows, 0.1).verdicts(np.arange(3))
    found = Rotation(table, kind, penalty=300.0).judge(rows, 0.1).verdicts(np.arange(3))
    assert np.isfinite(found.upper).all()
    assert found.codes[0] == Verdict.ADMISSIBLE


@pytest.mark.parametrize("kind", ["same mean", "free"])
@pytest.mark.parametrize("dtype", [float, complex])
def test_real_rows_under_a_complex_table_are_refused(kind, dtype):
    table = RotationTable(ATOMS.astype(complex), [(0,), (1,)])
    with pytest.raises(MisuseError, match="rows must be complex, as the table is"):
        Rotation(table, kind).judge(np.ones((3, Q), dtype=dtype), 0.1)
    with pytest.raises(MisuseError, match="outsiders must be real, as rows and table are"):
        Rotation(TABLE, kind, outsiders=scanned(1j * OTHERS)).judge(np.ones((3, Q)), 0.1)


@pytest.mark.parametrize("size", [0.0, 1e200])
def test_columns_out_of_range_are_refused_as_what_they_are(size):
    with pytest.raises(MisuseError, match="atoms must be of sizes between"):
        RotationTable(size * ATOMS, [(0,)])
    if size:
        with pytest.raises(MisuseError, match="background must be of sizes between"):
            RotationTable(ATOMS, [(0,)], np.full((Q, 1), size))
