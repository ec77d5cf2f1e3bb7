"""What the verdicts so far say about each region of a map."""

from collections.abc import Callable
from typing import TypeAlias, final

import numpy as np

from .._typing import IntArray
from ._columns import Columns, Entries
from ._question import Answer, Label
from ._region_state import RegionState

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

    def __init__(self, columns: Columns) -> None:
        layout, count = columns.layout, len(columns.layout.asked)
        counts, queue, only = [list(column) for column in columns.counts], list[RegionState](), [-1, -1]
        reaching = dict(zip(layout.thresholds, counts[count:], strict=False))
        self.states = tuple(
            RegionState(region, counts[j], reaching.get(j, [0, 0]), only, queue)
            for j, region in enumerate(layout.asked)
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
            for slot, gone in enumerate(np.bincount(column + 1).tolist(), -1):
                if gone:
                    counts[slot] -= gone
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
