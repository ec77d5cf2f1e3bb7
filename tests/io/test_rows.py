"""A source of rows refuses everything that a cast to float64 would change silently."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.io import ArrayRows, ReadRows, as_pairs, read_table

ROWS = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (ROWS + 1j, "rows must be real numbers, not dtype complex128"),
        (ROWS.astype(str), "rows must be real numbers, not dtype"),
        (ROWS > 3.0, "rows must be real numbers, not dtype bool"),
        (np.ma.masked_less(ROWS, 3.0), "rows must have no mask"),
        (ROWS[:0], "rows must hold at least one row"),
        (ROWS[0], r"rows must be a table \(rows, entries\), not shape \(2,\)"),
    ],
)
def test_a_table_that_is_not_plainly_real_is_refused(table, message):
    with pytest.raises(MisuseError, match=message):
        ArrayRows(table)


@pytest.mark.parametrize("order", [[-1, 0], [0, 6], [0, 0], [True, False], [[0], [1]], [0.0, 1.0]])
def test_an_order_names_each_row_once(order):
    with pytest.raises(MisuseError, match="order must"):
        ArrayRows(ROWS, np.array(order))


@pytest.mark.parametrize("declared", [5, 7])
def test_a_reading_has_as_many_rows_as_declared(declared):
    source = ReadRows(lambda: [ROWS[:4], ROWS[4:]], declared, 2)
    with pytest.raises(MisuseError, match=f"rows must number {declared} as declared"):
        list(source.blocks())


def test_blocks_follow_the_order():
    blocks = list(ArrayRows(ROWS, np.array([5, 0, 3]), block_rows=2).blocks())
    np.testing.assert_array_equal(np.vstack(blocks), ROWS[[5, 0, 3]])
    assert [len(block) for block in blocks] == [2, 1]


def test_a_mapped_file_that_becomes_shorter_is_refused_before_the_system_ends_the_program(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.arange(40_000.0).reshape(-1, 4))
    mapped = np.load(path, mmap_mode="r")
    table = read_table(path, channels=1, label="deployment")
    turned = read_table(path, channels=0, label="deployment")
    blocks = ArrayRows(mapped[1:, :2], block_rows=64).blocks()
    assert next(blocks)[0].tolist() == [4.0, 5.0]
    with path.open("r+b") as file:
        file.truncate(8192)
    for use in (lambda: next(blocks), table.digest, turned.digest, lambda: as_pairs(table.values)):
        with pytest.raises(
            MisuseError, match=r"rows.npy must keep its length while it is in use, but it now has 8,192 bytes"
        ):
            use()
