"""The bookkeeping of one region: which elements are possible, which are witnessed, and the label that follows."""

from typing import NamedTuple, final

import numpy as np

from ._question import Answer, Certificate, Label
from ._region_rule import AskedRegion, as_bits


class Facts(NamedTuple):
    """All that the label of a region depends on."""

    any_possible: bool  # U is not empty
    absent: bool  # some possible explanation lacks it
    reaches: bool  # some possible explanation reaches the absence threshold
    is_close: bool  # the possible elements spread at most the tolerance
    sector: int  # smallest group that holds the possible elements
    is_split: bool  # L holds one with and a qualified one without the region
    is_apart: bool  # L holds two whose elements are farther apart than the tolerance
    witnessed_sector: int  # smallest group that holds the witnessed elements
    witnessed_reaches: bool  # some witnessed explanation reaches the threshold


def regional_label(region: AskedRegion, facts: Facts) -> Label:
    """The label of highest rank, among those asked for, that is safe.

    ABSENT, FINE and GROUP hold for all of U; both ambiguities have their witnesses in L.  LOCAL_AMBIGUOUS also needs
    the region to be present in all of U: where presence is open, the place is not the question yet.
    """
    if not facts.any_possible:
        return Label.EMPTY
    asks = region.asks
    if "absence" in asks and not facts.reaches:
        return Label.ABSENT
    if not facts.absent:
        if "fine" in asks and facts.is_close:
            return Label.FINE
        if "presence" in asks or ("group" in asks and region.is_named(facts.sector)):
            return Label.GROUP
        if "ambiguity" in asks and facts.is_apart:
            return Label.LOCAL_AMBIGUOUS
    return Label.SUPPORT_AMBIGUOUS if "ambiguity" in asks and facts.is_split else Label.ABSTAIN


def is_settled(region: AskedRegion, facts: Facts, label: Label) -> bool:
    """Whether this region needs no further verdict.

    Where the finest is asked for, a label must be the one that the exhaustive profile will have: GROUP only with
    witnesses that no smaller group and no fine cell holds, and, under a threshold, anything but ABSENT only with a
    witness that reaches it.
    """
    if label in (Label.ABSTAIN, Label.EMPTY):
        return False
    if not region.is_finest or label is Label.ABSENT:
        return True
    if region.threshold is not None and not facts.witnessed_reaches:
        return False
    return label is not Label.GROUP or (facts.is_apart and facts.witnessed_sector == facts.sector)


@final
class RegionState:
    """Counts of possible and witnessed explanations by element, the last entry (-1) for absence.

    Others count; they tell the state only when a count of possible ones falls to 0 (`lose`) or one of witnessed ones
    rises from 0 (`gain`), at most once for each element, so all other work here is rare.
    """

    __slots__ = (
        "_drops", "_gains", "_only", "_pair", "_queue", "_scan", "_whole", "apart", "first", "is_settled", "label",
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
        self.region, self.possible, self.witnessed = region, possible, [0] * (size + 1)
        self.first = [-1] * (size + 1)  # first witness of each element
        self.possible_set = as_bits(np.array(possible[:-1]) > 0)
        self.witnessed_set = 0
        self.reaching, self.witnessed_reaching = reaching, [0, 0]
        self._only, self._queue = only, queue
        self.apart: tuple[int, int] | None = None  # two witnesses farther apart than the tolerance
        self._scan = 0  # no element before this one is far from a possible one; that stays so, since U only shrinks
        self._pair = (-1, -1)  # two elements that are far from each other, and were possible when last looked at
        self._gains: dict[tuple[int, bool], int] = {}
        self._drops: dict[int, float] = {}
        self.refresh()

    def lose(self, slot: int) -> None:
        """No possible explanation has this element (-1: lacks the region) any more."""
        if slot >= 0:
            self.possible_set ^= 1 << slot
        self._queue.append(self)

    def gain(self, slot: int) -> None:
        """A first witness has this element (-1: lacks the region)."""
        if slot >= 0:
            rivals = 0 if self.apart is not None else self.region.far[slot] & self.witnessed_set
            if rivals:
                self.apart = (self.first[(rivals & -rivals).bit_length() - 1], self.first[slot])
            self.witnessed_set |= 1 << slot
        self._queue.append(self)

    def touch(self, _: int) -> None:
        """Something else that the label depends on has changed."""
        self._queue.append(self)

    def refresh(self) -> None:
        """Label and diameter from the present counts."""
        self._gains.clear()
        self._drops.clear()
        facts = self._facts(self.possible_set, self.possible[-1] > 0, self.reaching[1] > 0)
        self.label = regional_label(self.region, facts)
        self.is_settled = is_settled(self.region, facts, self.label)
        self._whole: float | None = None

    def may_change(self, stuck: int, absent: bool, reaches: bool) -> bool:
        """Whether verdicts still to come could change the label, its group, or that the region is open.

        What has an indeterminate explanation stays possible: elements (bits), absence, strengths at the threshold.
        Compared are the ends that verdicts can lead to: all that is left rejected, all of it admissible, and all of it
        admissible but what lacks the region.  So True may be wrong where the two are mixed, False never is.
        """
        gone = self._facts(
            self.witnessed_set | stuck, self.witnessed[-1] > 0 or absent, self.witnessed_reaching[1] > 0 or reaches
        )
        now = self._facts(self.possible_set, self.possible[-1] > 0, self.reaching[1] > 0)
        witnessed = now._replace(
            is_split=bool(self.possible_set) and now.absent,
            is_apart=not now.is_close,
            witnessed_sector=now.sector,
            witnessed_reaches=now.reaches,
        )
        ends = gone, witnessed, witnessed._replace(absent=gone.absent)
        return any(self._claim(facts) != self._claim(now) for facts in ends)

    def _claim(self, facts: Facts) -> tuple[Label, int, bool]:
        label = regional_label(self.region, facts)
        return label, facts.sector if label is Label.GROUP else -1, is_settled(self.region, facts, label)

    def rank_gain(self, slot: int, reaches: bool) -> int:
        """By how much the rank of the label rises if one explanation with this element alone is rejected."""
        key = (slot, reaches)
        if key not in self._gains:
            facts = self._facts(*self._without(slot), self.reaching[1] > reaches)
            self._gains[key] = regional_label(self.region, facts).rank - self.label.rank
        return self._gains[key]

    @property
    def diameter(self) -> float:
        """1 if both presence and absence are possible, else the spread of the possible elements."""
        if self._whole is None:
            self._whole = self._diameter(self.possible_set, self.possible[-1] > 0)
        return self._whole

    def diameter_without(self, slot: int) -> float:
        """The diameter if one explanation with this element alone is rejected."""
        if self.possible[slot] != 1:
            return self.diameter
        if slot not in self._drops:
            self._drops[slot] = self._diameter(*self._without(slot))
        return self._drops[slot]

    def answer(self) -> Answer:
        """What is safe to say of this region."""
        region, is_present = self.region, bool(self.possible_set) and not self.possible[-1]
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
        return Answer(
            field=region.name,
            label=self.label,
            cell=region.names(self.possible_set),
            group=region.groups[region.sector(self.possible_set)][0] if is_present else None,
            numbers=tuple((name, float(value)) for name, value in numbers.items()),
            certificate=self._certificate(),
            is_settled=self.is_settled,
        )

    def _certificate(self) -> Certificate:
        match self.label:
            case Label.ABSTAIN:
                return Certificate("open")
            case Label.SUPPORT_AMBIGUOUS:
                present = min(self.first[i] for i in range(len(self.first) - 1) if self.witnessed[i])
                return Certificate("witnesses", (present, self.absent_witness()))
            case Label.LOCAL_AMBIGUOUS:
                return Certificate("witnesses", self.apart or ())
            case Label.GROUP:
                return Certificate("universal", self.apart or ())
            case _:
                return Certificate("universal")

    def absent_witness(self) -> int:
        """A witness that the region may be absent, of the kind that the rule takes; -1 while there is none."""
        return self._only[1] if self.region.needs_persistent_only else self.first[-1]

    def _facts(self, members: int, absent: bool, reaches: bool) -> Facts:
        region, has_threshold = self.region, self.region.threshold is not None
        return Facts(
            any_possible=bool(members) or absent,
            absent=absent,
            reaches=reaches if has_threshold else bool(members),
            is_close=self._is_close(members),
            sector=region.sector(members),
            is_split=bool(self.witnessed_set) and self.absent_witness() >= 0,
            is_apart=self.apart is not None,
            witnessed_sector=region.sector(self.witnessed_set),
            witnessed_reaches=self.witnessed_reaching[1] > 0,
        )

    def _without(self, slot: int) -> tuple[int, bool]:
        """Possible elements and whether absence is possible, if one explanation with this element is rejected."""
        members, absent = self.possible_set, self.possible[-1] > 0
        if self.possible[slot] == 1:
            members, absent = (members, False) if slot < 0 else (members ^ (1 << slot), absent)
        return members, absent

    def _is_close(self, members: int) -> bool:
        """Whether no two elements of a subset of the possible ones are far from each other."""
        one, other = self._pair
        if one >= 0 and members >> one & 1 and members >> other & 1:
            return False
        one = self._next_far(members)
        if members == self.possible_set:
            self._scan = one
        if one == len(self.region.far):
            return True
        rivals = self.region.far[one] & members
        self._pair = one, rivals.bit_length() - 1
        return False

    def _next_far(self, members: int) -> int:
        """First element of a subset of the possible ones that is far from another; their number if there is none."""
        far, rest = self.region.far, members >> self._scan << self._scan
        while rest:
            first = rest & -rest
            i = first.bit_length() - 1
            if far[i] & members:
                return i
            rest ^= first
        return len(far)

    def _diameter(self, members: int, absent: bool) -> float:
        return 1.0 if absent and members else self.region.spread(members)
