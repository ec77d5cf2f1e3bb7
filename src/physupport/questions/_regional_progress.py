"""For every explanation the entry that it counts under, and what the verdicts so far say about each region of a map."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from .._typing import Array, IntArray
from ..banks import RegionalView
from ._question import Answer, Label
from ._region_rule import AskedRegion
from ._region_state import RegionState

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
    asked_regions: tuple[AskedRegion, ...]

    @property
    def sizes(self) -> list[int]:
        """Entries of each column; those of a region end with absence, which -1 reaches from behind."""
        regions = [len(region.elements) + 1 for region in self.asked_regions]
        return regions + [2] * (len(self.thresholds) + self.has_persistent_only)

    @property
    def thresholds(self) -> list[int]:
        """Which of the asked regions have an absence threshold."""
        return [i for i, region in enumerate(self.asked_regions) if region.threshold is not None]

    @property
    def has_persistent_only(self) -> bool:
        """Whether some region takes only explanations without optional regions as witnesses of its absence."""
        return any(region.needs_persistent_only for region in self.asked_regions)

    def rows(self, index: IntArray) -> IntArray:
        """(k,) -> (k, C)."""
        places = [self.view.regions.index(region.name) for region in self.asked_regions]
        columns = [self.view.locate(index)[:, places]]
        if self.thresholds:
            chosen = [places[i] for i in self.thresholds]
            bounds: Array = np.array([self.asked_regions[i].threshold for i in self.thresholds], dtype=np.float64)
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
class EntryColumns:
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


def make_columns(layout: Layout, table_entries: int = TABLE_ENTRIES) -> EntryColumns:
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
) -> EntryColumns:
    """The columns with their single entries, from the table where it is written out."""
    entries: Sequence[Entries] = (
        [_OnDemand(layout, j) for j in range(len(layout.sizes))] if table is None else [part.data for part in table]
    )
    return EntryColumns(layout, tuple(entries), counts, table)


def _smallest(width: int) -> type[np.signedinteger]:
    return next(kind for kind in (np.int8, np.int16, np.int32, np.int64) if width <= np.iinfo(kind).max)


# What to look up, the counts to change, (of witnesses, where the first is kept,) and whom to tell.
_Counted: TypeAlias = tuple[Entries, list[int], Callable[[int], None]]
_Marked: TypeAlias = tuple[Entries, list[int], list[int], Callable[[int], None]]


@final
class RegionalProgress:
    """What the verdicts so far say about each region.

    A verdict costs one count for each region asked about; labels are worked out again only for regions in which an
    element ceased to be possible or came to be witnessed.  `states[j].possible` and `.witnessed` are the counts of
    explanations by local element number, the last for absence.
    """

    __slots__ = (
        "_columns", "_entries", "_n_open", "_queue", "_rejections", "_thresholds", "_witnessings", "n_possible",
        "n_witnessed", "states",
    )  # fmt: skip

    def __init__(self, columns: EntryColumns) -> None:
        layout, count = columns.layout, len(columns.layout.asked_regions)
        counts, queue, only = [list(column) for column in columns.counts], list[RegionState](), [-1, -1]
        reaching = dict(zip(layout.thresholds, counts[count:], strict=False))
        self.states = tuple(
            RegionState(region, counts[j], reaching.get(j, [0, 0]), only, queue)
            for j, region in enumerate(layout.asked_regions)
        )
        self._columns, self.n_possible, self.n_witnessed = columns, layout.view.n_explanations, 0
        self._entries, self._queue = columns.entries[:count], queue
        self._thresholds: dict[int, Entries] = dict(zip(layout.thresholds, columns.entries[count:], strict=False))
        self._n_open = sum(not state.is_settled for state in self.states)
        self._plan(columns.entries[-1] if layout.has_persistent_only else None, only)

    def _plan(self, persistent_only: Entries | None, only: list[int]) -> None:
        """What to count for each verdict, and whom to tell when a count reaches or leaves 0."""
        pairs = [*zip(self._entries, self.states, strict=True)]
        marked = [(entries, self.states[j]) for j, entries in self._thresholds.items()]
        rejections: list[_Counted] = [(entries, state.possible, state.lose) for entries, state in pairs]
        rejections += [(entries, state.reaching, state.touch) for entries, state in marked]
        witnessings: list[_Marked] = [(entries, state.witnessed, state.first, state.gain) for entries, state in pairs]
        witnessings += [(entries, state.witnessed_reaching, [-1, -1], state.touch) for entries, state in marked]
        if persistent_only is not None:
            witnessings.append((persistent_only, [0, 0], only, self._touch_all))
        self._rejections, self._witnessings = tuple(rejections), tuple(witnessings)

    def _touch_all(self, slot: int) -> None:
        for state in self.states:
            state.touch(slot)

    def reject(self, e: int) -> None:
        """Explanation e leaves U."""
        self.n_possible -= 1
        for entries, counts, changed in self._rejections:
            slot = entries[e]
            left = counts[slot] - 1
            counts[slot] = left
            if not left:
                changed(slot)

    def reject_all(self, index: IntArray) -> None:
        """Many explanations leave U, (k,): what follows depends on their set alone."""
        self.n_possible -= len(index)
        # Regions and thresholds are the first columns, in the order in which they are counted.
        for column, (_, counts, changed) in zip(self._columns.rows(index).T, self._rejections, strict=False):
            totals = np.bincount(column + 1)
            for place in np.flatnonzero(totals).tolist():
                slot = place - 1
                counts[slot] -= int(totals[place])
                if not counts[slot]:
                    changed(slot)

    def witness(self, e: int) -> None:
        """Explanation e joins L."""
        self.n_witnessed += 1
        for entries, counts, first, changed in self._witnessings:
            slot = entries[e]
            if counts[slot]:
                counts[slot] += 1
            else:
                counts[slot], first[slot] = 1, e
                changed(slot)

    @property
    def is_certified(self) -> bool:
        """Whether every region asked about is settled and U is not empty."""
        if self._queue:
            self._refresh()
        return not self._n_open and self.n_possible > 0

    @property
    def labels(self) -> tuple[Label, ...]:
        """The present label of each region asked about."""
        self._refresh()
        return tuple(state.label for state in self.states)

    @property
    def open_regions(self) -> tuple[int, ...]:
        """Numbers of the regions that still need verdicts."""
        self._refresh()
        return tuple(j for j, state in enumerate(self.states) if not state.is_settled)

    def open_fields(self) -> tuple[str, ...]:
        """Their names; none once U is empty."""
        return tuple(self.states[j].region.name for j in self.open_regions) if self.n_possible else ()

    def answers(self) -> tuple[Answer, ...]:
        """What is safe to say now, a region each."""
        self._refresh()
        return tuple(state.answer() for state in self.states)

    def slots(self, e: int) -> tuple[int, ...]:
        """The local element number of each region asked about, -1 where it is absent."""
        return tuple([entries[e] for entries in self._entries])

    @property
    def diameter(self) -> float:
        """Of U: the largest over regions of 1 if presence differs, else of the spread of the possible elements."""
        self._refresh()
        return max(state.diameter for state in self.states)

    def rank_gain(self, e: int) -> int:
        """By how much the ranks of the labels rise, summed over regions, if e alone is rejected."""
        self._refresh()
        gain = 0
        for j, state in enumerate(self.states):
            slot = self._entries[j][e]
            reaches = j in self._thresholds and self._thresholds[j][e] == 1
            if state.possible[slot] == 1 or (reaches and state.reaching[1] == 1):
                gain += state.rank_gain(slot, reaches)
        return gain

    def diameter_drop(self, e: int) -> float:
        """By how much the diameter of U drops if e alone is rejected."""
        slots = self.slots(e)
        if 1 not in [state.possible[slot] for state, slot in zip(self.states, slots, strict=True)]:
            return 0.0
        whole = self.diameter  # brings the states up to date
        return whole - max(state.diameter_without(slot) for state, slot in zip(self.states, slots, strict=True))

    def _refresh(self) -> None:
        if self._queue:
            for state in dict.fromkeys(self._queue):
                state.refresh()
            self._queue.clear()
            self._n_open = sum(not state.is_settled for state in self.states)
