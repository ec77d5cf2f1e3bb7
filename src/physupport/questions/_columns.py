"""For every explanation the entry that it counts under, as one column for each thing that is counted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from .._typing import Array, IntArray
from ..banks import RegionalView
from ._region_rule import AskedRegion

# Written out up to this many entries, one or two bytes each as a rule; beyond, single entries are worked out on demand.
TABLE_ENTRIES = 1 << 28
_BLOCK = 1 << 16


class Entries(Protocol):
    """Single entries as plain ints, which is what a count in CPython wants; a memoryview is one."""

    def __getitem__(self, e: int, /) -> int:
        """The entry of explanation e."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """What is counted: the element of each asked region, then thresholds reached, then the lack of optional regions."""

    view: RegionalView
    asked: tuple[AskedRegion, ...]

    @property
    def sizes(self) -> list[int]:
        """Entries of each column; those of a region end with absence, which -1 reaches from behind."""
        regions = [len(region.elements) + 1 for region in self.asked]
        return regions + [2] * (len(self.thresholds) + self.has_persistent_only)

    @property
    def thresholds(self) -> list[int]:
        """Which of the asked regions have an absence threshold."""
        return [i for i, region in enumerate(self.asked) if region.threshold is not None]

    @property
    def has_persistent_only(self) -> bool:
        """Whether some region takes only explanations without optional regions as witnesses of its absence."""
        return any(region.needs_persistent_only for region in self.asked)

    def rows(self, index: IntArray) -> IntArray:
        """(k,) -> (k, C)."""
        places = [self.view.regions.index(region.name) for region in self.asked]
        columns = [self.view.locate(index)[:, places]]
        if self.thresholds:
            chosen = [places[i] for i in self.thresholds]
            bounds: Array = np.array([self.asked[i].threshold for i in self.thresholds], dtype=np.float64)
            columns.append((self.view.strengths(index)[:, chosen] >= bounds).astype(np.int64))
        if self.has_persistent_only:
            columns.append(self.view.persistent_only(index).astype(np.int64)[:, None])
        return np.hstack(columns)


@final
class _OnDemand:
    """A column that is not written out."""

    __slots__ = ("_column", "_layout")

    def __init__(self, layout: Layout, column: int) -> None:
        self._layout, self._column = layout, column

    def __getitem__(self, e: int, /) -> int:
        return int(self._layout.rows(np.array([e]))[0, self._column])


@final
@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of a layout and how many explanations each entry has."""

    layout: Layout
    entries: tuple[Entries, ...]  # C of them
    counts: tuple[tuple[int, ...], ...]
    table: tuple[NDArray[np.signedinteger], ...] | None  # the same columns, (M,) each, if written out

    def __reduce__(self) -> "tuple[object, ...]":
        # Views of memory cannot be saved or copied; they are made again from what they look at.
        return _columns, (self.layout, self.counts, self.table)

    def rows(self, index: IntArray) -> IntArray:
        """(k,) -> (k, C)."""
        if self.table is None:
            return self.layout.rows(index)
        return np.column_stack([column[index] for column in self.table]).astype(np.int64)


def in_blocks(size: int, column: Callable[[IntArray], IntArray]) -> IntArray:
    """(M,) of all explanations, worked out a block at a time, so that no more than the column itself is held."""
    starts = range(0, size, _BLOCK)
    return np.concatenate([column(np.arange(start, min(start + _BLOCK, size))) for start in starts])


def make_columns(layout: Layout, table_entries: int = TABLE_ENTRIES) -> Columns:
    """Count, and write out if it is not too much, in blocks."""
    size, sizes = layout.view.n_explanations, layout.sizes
    is_written = size * len(sizes) <= table_entries
    table = tuple(np.empty(size if is_written else 0, dtype=_smallest(width)) for width in sizes)
    counts = [np.zeros(width, dtype=np.int64) for width in sizes]
    for start in range(0, size, _BLOCK):
        index = np.arange(start, min(start + _BLOCK, size))
        for j, column in enumerate(layout.rows(index).T):
            counts[j] += np.bincount(np.where(column < 0, sizes[j] - 1, column), minlength=sizes[j])
            if is_written:
                table[j][index] = column
    plain = tuple(tuple(column.tolist()) for column in counts)
    return _columns(layout, plain, table if is_written else None)


def _columns(
    layout: Layout, counts: tuple[tuple[int, ...], ...], table: tuple[NDArray[np.signedinteger], ...] | None
) -> Columns:
    """The columns with their single entries, from the table where it is written out."""
    entries: Sequence[Entries] = (
        [_OnDemand(layout, j) for j in range(len(layout.sizes))] if table is None else [each.data for each in table]
    )
    return Columns(layout, tuple(entries), counts, table)


def _smallest(width: int) -> type[np.signedinteger]:
    return next(kind for kind in (np.int8, np.int16, np.int32, np.int64) if width <= np.iinfo(kind).max)
