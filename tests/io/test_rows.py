"""What a source of rows refuses: everything that a cast to float64 would change without a word."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.io import ArrayRows, ReadRows

ROWS = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (ROWS + 1j, "rows must be real numbers, got dtype complex128"),
        (ROWS.astype(str), "rows must be real numbers, got dtype"),
        (ROWS > 3.0, "rows must be real numbers, got dtype bool"),
        (np.ma.masked_less(ROWS, 3.0), "rows must have no mask"),
        (ROWS[:0], "rows must hold at least one row"),
        (ROWS[0], r"rows must be a table \(rows, entries\), got shape \(2,\)"),
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
