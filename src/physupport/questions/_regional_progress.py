"""The bookkeeping of a map: the entries that explanations count under, and what the verdicts say about each region."""

from collections.abc import Callable, Iterator
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from .._typing import IntArray
from ..banks import RegionalView
from ._question import Answer, Certificate, Label, Progress
from ._region_rule import LABELS, AskedRegion, SetFacts, as_bits, labels

_BLOCK = 1 << 16


# The entries that every explanation counts under, one column of (M,) each: the element of each asked region (absence is
# -1), then thresholds reached, then, where some region asks for it, the lack of optional regions.
Table: TypeAlias = tuple[NDArray[np.signedinteger], ...]


def index_blocks(size: int) -> Iterator[IntArray]:
    """All explanations, a block at a time, so that no more than a column of them is held in memory."""
    for start in range(0, size, _BLOCK):
        yield np.arange(start, min(start + _BLOCK, size))


def entry_table(view: RegionalView, regions: tuple[AskedRegion, ...]) -> Table:
    """Write out the entries of all explanations, block by block."""
    limits = [(i, region.threshold) for i, region in enumerate(regions) if region.threshold is not None]
    has_persistent_only = any(region.needs_persistent_only for region in regions)
    places = [view.regions.index(region.name) for region in regions]
    sizes = [len(region.elements) for region in regions] + [1] * (len(limits) + has_persistent_only)
    # Entries are -1 to the number of elements.
    table = tuple(np.empty(view.n_explanations, dtype=np.min_scalar_type(-2 - size)) for size in sizes)
    for index in index_blocks(view.n_explanations):
        columns = [*view.locate(index)[:, places].T]
        if limits:
            strengths = view.strengths(index)
            columns += [strengths[:, places[i]] >= threshold for i, threshold in limits]
        if has_persistent_only:
            columns.append(view.persistent_only(index))
        for column, entries in zip(columns, table, strict=True):
            entries[index] = column
    return table


def _counted(column: NDArray[np.signedinteger], size: int) -> list[int]:
    """The number of explanations with each entry from 0 on; the last number is that of -1."""
    counts = np.zeros(size + 1, dtype=np.int64)
    for index in index_blocks(len(column)):
        entries = column[index]
        counts += np.bincount(np.where(entries < 0, size, entries), minlength=size + 1)
    listed: list[int] = counts.tolist()
    return listed


@final
class RegionState:
    """Counts of possible and witnessed explanations by element, the last entry (-1) for absence.

    Others count; they tell the state only when a count of possible ones falls to 0 (`lose`) or one of witnessed ones
    rises from 0 (`gain`), at most once for each element, so all other work here is rare.
    """

    __slots__ = (
        "_only", "_pair", "_queue", "_scan", "apart", "first", "is_settled", "label",
        "possible", "possible_set", "reaching", "region", "witnessed", "witnessed_reaching", "witnessed_set",
    )  # fmt: skip

    def __init__(
        self,
        region: AskedRegion,
        possible: list[int],  # (m + 1) explanations by element
        reaching: list[int],  # below and at the absence threshold, where there is one
        only: list[int],  # first witness with and without optional regions, where that is asked for
        queue: "list[RegionState]",  # states whose label may have changed
    ) -> None:
        size = len(region.elements)
        self.region = region
        self.possible = possible
        self.witnessed = [0] * (size + 1)
        self.first = [-1] * (size + 1)  # first witness of each element
        self.possible_set = as_bits(np.array(possible[:-1]) > 0)
        self.witnessed_set = 0
        self.reaching = reaching
        self.witnessed_reaching = [0, 0]
        self._only = only
        self._queue = queue
        self.apart: tuple[int, int] | None = None  # two witnesses farther apart than the tolerance
        self._scan = 0  # no element before this one is far from a possible one; that stays so, since U only shrinks
        self._pair = (-1, -1)  # two elements that are far from each other, and were possible when last looked at
        self.refresh()

    def lose(self, slot: int) -> None:
        """Record that no possible explanation has this element (-1: lacks the region) any more."""
        if slot >= 0:
            self.possible_set ^= 1 << slot
        self._queue.append(self)

    def gain(self, slot: int) -> None:
        """A first witness has this element (-1: lacks the region)."""
        if slot >= 0:
            rivals = 0 if self.apart is not None else self.region.far(slot) & self.witnessed_set
            if rivals:
                self.apart = (self.first[(rivals & -rivals).bit_length() - 1], self.first[slot])
            self.witnessed_set |= 1 << slot
        self._queue.append(self)

    def touch(self, _: int) -> None:
        """Record that something else on which the label depends has changed."""
        self._queue.append(self)

    def refresh(self) -> None:
        """Compute the label from the current counts."""
        possible = self._possible_facts(self.possible_set, self.possible[-1] > 0, self.reaching[1] > 0)
        self.label, _, self.is_settled = self._claim(possible, self._witnessed_facts())

    def may_change(self, stuck: int, absent: bool, reaches: bool) -> bool:
        """True if verdicts still to come could change the label, its group, or that the region is open.

        What has an indeterminate explanation stays possible: elements (bits), absence, strengths at the threshold.
        Compared are the ends that verdicts can lead to: all that is left rejected, all of it admissible, and all of it
        admissible but what lacks the region.  So True may be wrong where the two are mixed, False never is.
        """
        witnessed = self._witnessed_facts()
        gone = self._possible_facts(
            self.witnessed_set | stuck, self.witnessed[-1] > 0 or absent, self.witnessed_reaching[1] > 0 or reaches
        )
        now = self._possible_facts(self.possible_set, self.possible[-1] > 0, self.reaching[1] > 0)
        ends = ((gone, witnessed), (now, now), (now._replace(is_absent=gone.is_absent), now))
        return any(self._claim(*facts) != self._claim(now, witnessed) for facts in ends)

    def _claim(self, possible: SetFacts, witnessed: SetFacts) -> tuple[Label, int, bool]:
        """The label, the number of its group, and True if this region needs no further verdict.

        Where the finest is asked for, a label must be the one that the exhaustive profile will have: GROUP only with
        witnesses that no smaller group and no fine cell holds, and, under a threshold, anything but ABSENT only with a
        witness that reaches it.
        """
        region = self.region
        label = LABELS[labels(possible, witnessed, region)]
        sector = int(possible.sector) if label is Label.GROUP else -1
        if label in (Label.ABSTAIN, Label.EMPTY):
            return label, sector, False
        if not region.is_finest or label is Label.ABSENT:
            return label, sector, True
        if region.threshold is not None and not witnessed.reaches:
            return label, sector, False
        is_exact = label is not Label.GROUP or (not witnessed.is_close and witnessed.sector == possible.sector)
        return label, sector, is_exact

    def rank_gain(self, slot: int, reaches: bool) -> int:
        """The rise of the rank of the label if only one explanation with this element is rejected."""
        possible = self._possible_facts(*self._without(slot), self.reaching[1] > reaches)
        return LABELS[labels(possible, self._witnessed_facts(), self.region)].rank - self.label.rank

    @property
    def diameter(self) -> float:
        """1 if both presence and absence are possible, else the spread of the possible elements."""
        return self._diameter(self.possible_set, self.possible[-1] > 0)

    def diameter_without(self, slot: int) -> float:
        """The diameter if one explanation with this element alone is rejected."""
        return self._diameter(*self._without(slot))

    def answer(self) -> Answer:
        """The safe answer about this region."""
        region = self.region
        is_present = bool(self.possible_set) and not self.possible[-1]
        numbers = {
            "possible_spread": region.spread(self.possible_set),
            "witnessed_spread": region.spread(self.witnessed_set),
            "tolerance": region.tolerance,
            "possible_present": sum(self.possible[:-1]),
            "possible_absent": self.possible[-1],
            "possible_at_threshold": sum(self.possible[:-1]) if region.threshold is None else self.reaching[1],
            "witnessed_present": sum(self.witnessed[:-1]),
            "witnessed_absent": self.witnessed[-1],
        }
        if region.threshold is not None:
            numbers["absence_threshold"] = region.threshold
        match self.label:
            case Label.ABSTAIN:
                certificate = Certificate("open")
            case Label.SUPPORT_AMBIGUOUS:
                present = min(e for e in self.first[:-1] if e >= 0)
                certificate = Certificate("witnesses", (present, self.absent_witness()))
            case Label.LOCAL_AMBIGUOUS:
                certificate = Certificate("witnesses", self.apart or ())
            case Label.GROUP:
                certificate = Certificate("universal", self.apart or ())
            case _:
                certificate = Certificate("universal")
        return Answer(
            field=region.name,
            label=self.label,
            cell=region.names(self.possible_set),
            group=region.groups[region.sector(self.possible_set)][0] if is_present else None,
            numbers=tuple((name, float(value)) for name, value in numbers.items()),
            certificate=certificate,
            is_settled=self.is_settled,
        )

    def absent_witness(self) -> int:
        """A witness that the region may be absent, of the kind that the rule takes; -1 while there is none."""
        return self._only[1] if self.region.needs_persistent_only else self.first[-1]

    def _possible_facts(self, members: int, absent: bool, reaches: bool) -> SetFacts:
        region = self.region
        is_strong = bool(members) if region.threshold is None else reaches
        return SetFacts(bool(members), absent, is_strong, self._is_close(members), region.sector(members))

    def _witnessed_facts(self) -> SetFacts:
        return SetFacts(
            is_present=bool(self.witnessed_set),
            is_absent=self.absent_witness() >= 0,
            reaches=self.witnessed_reaching[1] > 0,
            is_close=self.apart is None,
            sector=self.region.sector(self.witnessed_set),
        )

    def _without(self, slot: int) -> tuple[int, bool]:
        """Possible elements and whether absence is possible, if one explanation with this element is rejected."""
        absent = self.possible[-1] > 0
        if self.possible[slot] != 1:
            return self.possible_set, absent
        return (self.possible_set, False) if slot < 0 else (self.possible_set ^ (1 << slot), absent)

    def _is_close(self, members: int) -> bool:
        """True if no two elements of a subset of the possible ones are far from each other."""
        one, other = self._pair
        if one >= 0 and members >> one & 1 and members >> other & 1:
            return False
        rest = members >> self._scan << self._scan
        rivals = 0
        while rest and not rivals:
            one = (rest & -rest).bit_length() - 1
            rivals = self.region.far(one) & members
            rest &= rest - 1
        if members == self.possible_set:
            self._scan = one if rivals else len(self.region.elements)
        if rivals:
            self._pair = (one, rivals.bit_length() - 1)
        return not rivals

    def _diameter(self, members: int, absent: bool) -> float:
        return 1.0 if absent and members else self.region.spread(members)


# What to look up, the counts to change, (of witnesses, where the first is kept,) and whom to tell.
_Counted: TypeAlias = tuple[memoryview, list[int], Callable[[int], None]]
_Marked: TypeAlias = tuple[memoryview, list[int], list[int], Callable[[int], None]]


@final
class RegionalProgress(Progress):
    """The state of every region after the verdicts so far.

    A verdict costs one count for each region asked about; labels are worked out again only for regions in which an
    element ceased to be possible or came to be witnessed.  `states[j].possible` and `.witnessed` are the counts of
    explanations by local element number, the last for absence.
    """

    __slots__ = (
        "_entries", "_n_open", "_queue", "_rejections", "_table", "_thresholds", "_witnessings", "n_possible",
        "states",
    )  # fmt: skip

    def __init__(self, regions: tuple[AskedRegion, ...], table: Table) -> None:
        # A view of memory gives plain ints, which is what a count in CPython wants.
        entries = [column.data for column in table]
        self._table = table
        self._entries = entries[: len(regions)]
        limited = [j for j, region in enumerate(regions) if region.threshold is not None]
        self._thresholds = dict(zip(limited, entries[len(regions) :], strict=False))
        only = [-1, -1]
        queue = list[RegionState]()
        self._queue = queue
        reaching = {j: _counted(table[len(regions) + i], 1) for i, j in enumerate(limited)}
        self.states = tuple(
            RegionState(region, _counted(table[j], len(region.elements)), reaching.get(j, [0, 0]), only, queue)
            for j, region in enumerate(regions)
        )
        self.n_possible = len(table[0])
        self._n_open = sum(not state.is_settled for state in self.states)
        # The counts to change with each verdict, and whom to tell when one reaches or leaves 0.
        rejections = list[_Counted]()
        witnessings = list[_Marked]()
        for column, state in zip(self._entries, self.states, strict=True):
            rejections.append((column, state.possible, state.lose))
            witnessings.append((column, state.witnessed, state.first, state.gain))
        for j, column in self._thresholds.items():
            state = self.states[j]
            rejections.append((column, state.reaching, state.touch))
            witnessings.append((column, state.witnessed_reaching, [-1, -1], state.touch))
        if len(entries) > len(regions) + len(limited):
            witnessings.append((entries[-1], [0, 0], only, lambda _: queue.extend(self.states)))
        self._rejections = tuple(rejections)
        self._witnessings = tuple(witnessings)

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
        """Remove explanations (k,) from U, the possible ones; the result depends on their set alone."""
        self.n_possible -= len(index)
        # Regions and thresholds are the first columns, in the order in which they are counted.
        for entries, (_, counts, changed) in zip(self._table, self._rejections, strict=False):
            totals = np.bincount(entries[index].astype(np.int64) + 1)
            for place in np.flatnonzero(totals).tolist():
                slot = place - 1
                counts[slot] -= int(totals[place])
                if not counts[slot]:
                    changed(slot)

    def witness(self, e: int) -> None:
        """Explanation e joins L."""
        for entries, counts, first, changed in self._witnessings:
            slot = entries[e]
            if counts[slot]:
                counts[slot] += 1
            else:
                counts[slot] = 1
                first[slot] = e
                changed(slot)

    @property
    def is_certified(self) -> bool:
        """True if every region asked about is settled and U is not empty."""
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
        """The safe answers now, a region each."""
        self._refresh()
        return tuple(state.answer() for state in self.states)

    def slots(self, e: int) -> tuple[int, ...]:
        """The local element number of each region asked about, -1 where it is absent."""
        return tuple([entries[e] for entries in self._entries])

    @property
    def diameter(self) -> float:
        """The diameter of U: the largest over regions of 1 if presence differs, else the spread of the elements."""
        self._refresh()
        return max(state.diameter for state in self.states)

    def rank_gain(self, e: int) -> int:
        """The rise of the ranks of the labels, summed over regions, if only e is rejected."""
        self._refresh()
        gain = 0
        for j, state in enumerate(self.states):
            slot = self._entries[j][e]
            reaches = j in self._thresholds and self._thresholds[j][e] == 1
            if state.possible[slot] == 1 or (reaches and state.reaching[1] == 1):
                gain += state.rank_gain(slot, reaches)
        return gain

    def diameter_drop(self, e: int) -> float:
        """The drop of the diameter of U, the possible explanations, if only e is rejected."""
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
