"""Where rows come from: arrays, memory maps, or anything that can be read again block by block."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_count
from .._errors import MisuseError, NotFiniteError
from .._typing import Array

BLOCK_ROWS = 8192


class RowSource(Protocol):
    """Rows of one width that can be read any number of times, in order."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""

    @property
    def width(self) -> int:
        """Entries of a row."""

    def blocks(self) -> Iterator[Array]:
        """(b, width) finite float64 blocks whose rows add up to n_rows."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class ArrayRows:
    """Selected rows of an array or memory map, copied block by block."""

    table: NDArray[np.generic]  # (n, width)
    order: NDArray[np.int64] | None = None  # which rows, in which order; all of them if None
    block_rows: int = BLOCK_ROWS

    def __post_init__(self) -> None:
        check_count("block_rows", self.block_rows)
        if self.table.ndim != 2:
            raise MisuseError("rows", "be a table (rows, entries)", f"shape {self.table.shape}")
        if self.n_rows == 0:
            raise MisuseError("rows", "hold at least one row", "none")
        _check_real(self.table)
        if self.order is not None:
            _check_order(self.order, len(self.table))

    @property
    def n_rows(self) -> int:
        """How many rows are selected."""
        return len(self.table) if self.order is None else len(self.order)

    @property
    def width(self) -> int:
        """Entries of a row."""
        return int(self.table.shape[1])

    def blocks(self) -> Iterator[Array]:
        """Blocks of at most block_rows rows."""
        for start in range(0, self.n_rows, self.block_rows):
            block = slice(start, start + self.block_rows)
            chosen = self.table[block] if self.order is None else self.table[self.order[block]]
            yield _finite(np.ascontiguousarray(chosen, dtype=np.float64), start)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ReadRows:
    """Rows from a function that opens the source anew and yields blocks; for data that no array holds."""

    open: Callable[[], Iterable[ArrayLike]]
    n_rows: int
    width: int

    def blocks(self) -> Iterator[Array]:
        """The blocks of one reading; their rows must add up to n_rows."""
        start = 0
        for block in self.open():
            rows = np.ascontiguousarray(_check_real(np.asanyarray(block)), dtype=np.float64)
            if rows.ndim != 2 or rows.shape[1] != self.width:
                raise MisuseError("block", f"have shape (any, {self.width})", f"shape {rows.shape} at row {start}")
            if start + len(rows) > self.n_rows:
                raise MisuseError("rows", f"number {self.n_rows} as declared", f"at least {start + len(rows)}")
            yield _finite(rows, start)
            start += len(rows)
        if start != self.n_rows:
            raise MisuseError("rows", f"number {self.n_rows} as declared", f"{start} in this reading")


def _check_real(table: NDArray[np.generic]) -> NDArray[np.generic]:
    """Refuse what a cast to float64 would change in silence: imaginary parts, masks, texts, dates, truth values."""
    if isinstance(table, np.ma.MaskedArray):
        raise MisuseError("rows", "have no mask", "a masked array", "Leave rows out, or fill them in, beforehand.")
    if table.dtype.kind not in "iuf":
        raise MisuseError("rows", "be real numbers", f"dtype {table.dtype}", "Complex data go in as pairs: as_pairs.")
    return table


def _check_order(order: NDArray[np.int64], n_rows: int) -> None:
    if order.ndim != 1 or order.dtype.kind not in "iu":
        raise MisuseError("order", "be a list of row numbers", f"{order.dtype} of shape {order.shape}")
    if order.min() < 0 or order.max() >= n_rows:
        rule = f"hold row numbers from 0 to {n_rows - 1}"
        raise MisuseError("order", rule, f"{order.min()} to {order.max()}")
    if len(np.unique(order)) < len(order):
        raise MisuseError("order", "hold each row once", "a row named twice")


def _finite(rows: Array, start: int) -> Array:
    finite = np.isfinite(rows)
    if not finite.all():
        row, column = (int(i) for i in np.argwhere(~finite)[0])
        raise NotFiniteError("rows", "be finite", f"{rows[row, column]} in row {start + row}, column {column}")
    return rows
