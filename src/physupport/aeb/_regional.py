"""The regional policy: which explanation to ask about next, region by region."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, cast, final

import numpy as np

from .._checks import check_count
from .._typing import BoolArray, IntArray
from ..questions import AskedRegion, RegionalMap, RegionalProgress, RegionState, as_numbers
from ._policies import Proposals, RunView, check_listed, unqueried
from ._trace import INDETERMINATE, REJECTED, UNQUERIED, WITNESSED, Brackets

# Cells around so many of the most frequent elements are compared.
_SEEDS = 32
_MOST_RISING = 256


# What indeterminate explanations say about a region, which stays possible whatever is asked: their elements as bits,
# whether one lacks the region, and whether one reaches the absence threshold.
Stuck: TypeAlias = tuple[int, bool, bool]
_NOT_STUCK: Stuck = (0, False, False)


class Knowledge(NamedTuple):
    """The statements about a region of explanations tested and not rejected; a plan holds until they change."""

    witnessed: int  # bit i: element i has a witness
    is_absent: bool  # so has absence
    is_reached: bool  # so has a strength at the threshold, or any strength where there is no threshold
    stuck: Stuck  # has an indeterminate explanation, which cannot be got rid of


class Opposition(NamedTuple):
    """Explanations by what they say about one region."""

    elements: int  # bit i: those with element i
    absent: bool  # those that lack the region
    is_reaching: bool = False  # of these only those that reach the absence threshold
    is_qualified: bool = False  # of these only those that may witness absence
    is_place: bool = False  # it is about where, not whether


def oppositions(state: RegionState, known: Knowledge) -> Iterator[Opposition]:
    """Yield what opposes the witnesses of an open region, the most telling first; nothing if no verdict can settle it.

    Some explanation is witnessed; what it says decides which labels are still to be had.  If it lacks the region, those
    that have it oppose: once one is admissible presence is ambiguous, once all are rejected the region is absent.  If
    it has the region, those that lack it oppose likewise; and once none is left, those outside the cell, or group,
    around the witnesses.  Of these the next is wanted only if indeterminate verdicts alone are left of the one before.
    Then, last, everything opposes whose verdict can still change the label or its group.
    """
    everything = (1 << len(state.region.elements)) - 1
    asks = state.region.asks
    if "absence" in asks and not known.is_reached:
        yield Opposition(everything, False, is_reaching=state.region.threshold is not None)
    # Presence against absence, then place against place.
    if known.is_absent and "ambiguity" in asks:
        yield Opposition(0, True, is_qualified=True) if known.witnessed else Opposition(everything, False)
    elif not known.is_absent and state.possible[-1] and asks != {"absence"}:
        yield Opposition(0, True)
    elif not known.is_absent and not state.possible[-1] and (kept := _kept(state, known)) is not None:
        yield Opposition(everything & ~kept, False, is_place=True)
    if known.stuck != _NOT_STUCK and state.may_change(*known.stuck):
        # One more explanation with a witnessed element changes nothing: those as strong as the threshold came first.
        yield Opposition(everything & ~known.witnessed, state.absent_witness() < 0)


def _kept(state: RegionState, known: Knowledge) -> int | None:
    """The elements that may stay in a region that is certainly there: a cell, or a group.

    Outside a cell lies what would make the region FINE if it were rejected, and locally ambiguous if it were not.
    """
    region = state.region
    asks = state.region.asks
    must = known.witnessed | known.stuck[0]
    if state.apart is None and asks & {"fine", "ambiguity"}:
        cell = best_cell(state.possible[:-1], region, known)
        # Without anything outside, neither can come any more, or FINE would be there.
        if state.possible_set & ~cell and ("ambiguity" in asks or not must & ~cell):
            return cell
    if region.is_finest:
        return region.groups[region.sector(known.witnessed)][1]
    named = [group for i, (_, group) in enumerate(region.groups) if region.is_named(i) and must & group == must]
    if not named or "group" not in asks:
        return None
    return max(named, key=lambda group: (_count(state.possible, group), -group.bit_count()))


def best_cell(possible: list[int], region: AskedRegion, known: Knowledge) -> int:
    """A set within the tolerance that holds the witnesses and leaves few explanations outside.

    Elements are added one by one, stuck ones first, then the most frequent; each of the most frequent is tried as the
    first to be added.  possible: explanations by element.
    """
    around = (1 << len(region.elements)) - 1 & ~known.witnessed
    for i in as_numbers(known.witnessed):
        around &= ~region.far(i)  # within the tolerance of all witnesses
    stuck = known.stuck[0]
    rising = sorted(as_numbers(around), key=lambda i: (not stuck >> i & 1, -possible[i], i))
    # Of very many, as sets of elements are, those left out stay outside: the cell is smaller, and no less safe.
    rising = [i for i in rising if possible[i]][:_MOST_RISING]
    best = known.witnessed
    most = (-1, -1)
    for k in range(min(_SEEDS, len(rising))):
        cell = known.witnessed | 1 << rising[k]
        for i in rising:
            if not region.far(i) & cell:
                cell |= 1 << i
        worth = (cell & stuck).bit_count(), _count(possible, cell)
        if worth > most:
            best = cell
            most = worth
    return best


def _count(possible: list[int], members: int) -> int:
    return sum(possible[i] for i in as_numbers(members))


@final
@dataclass(frozen=True, slots=True)
class RegionalPolicy:
    """Find a witness, then settle each region by what opposes its witnesses, the smallest opposition first.

    A verdict on an opponent always serves: if it is admissible, an ambiguity is witnessed or the claim moves to where
    it can hold; if it is rejected, one less stands in the way of the truth-level label.  So every region is first
    probed with its most plausible opponents, where an ambiguity costs a query or two; then oppositions are worked off
    whole.  Explanations come in order of plausibility: as the proposals say, or by how many regions agree with the
    proposed explanations; equals by index.  A region that no verdict can settle any more is left alone.  Where
    indeterminate verdicts stand in the way, all that can still change what is said is asked about in the end.

    A plan is a list, made again only when it ends or a verdict changes what it was made for; so a choice costs the
    same, on average, in a bank of any size.
    probes: opponents to try for each region whenever its witnesses say something new.
    """

    probes: int = 2

    def __post_init__(self) -> None:
        check_count("probes", self.probes, 0)

    def begin(self, run: RunView) -> Iterator[int]:
        """Start the policy; raise unless the question is a regional map."""
        check_listed(run, "regional", "RegionalMap")
        question = cast(RegionalMap, run.question)
        progress = cast(RegionalProgress, run.progress)
        plans = _Plans(question, progress, run.brackets, plausible_order(question, run.proposals), self.probes)
        members: IntArray | None = plans.order
        while members is not None:
            for e in unqueried(members, run.brackets):
                yield e
                if run.brackets.marks[e] == INDETERMINATE:
                    plans.note_stuck(e)
                if plans.is_outdated(e):
                    break
            members = plans.next()

    def describe(self) -> dict[str, object]:
        """The kind and the number of probes."""
        return {"policy": "regional", "probes": self.probes}


def plausible_order(question: RegionalMap, proposals: Proposals) -> IntArray:
    """(M,) all explanations, the most plausible first.

    Without a plausibility: the proposed ones as listed, then by how many regions agree with them, summed over them.
    """
    size = question.view.n_explanations
    if proposals.plausibility is not None:
        return np.argsort(-proposals.plausibility, kind="stable")
    agreement = np.zeros(size, dtype=np.int64)
    if proposals.explanations:
        slots = question.slots(np.arange(size))
        proposed = list(dict.fromkeys(proposals.explanations))
        for row in question.slots(np.array(proposed)):
            agreement += (slots == row).sum(axis=1)
        agreement[proposed] = agreement.max() + 1 + np.arange(len(proposed))[::-1]
    return np.argsort(-agreement, kind="stable")


@final
class _Plans:
    """Lists of explanations to ask about; the first is the search for a witness, under region -1."""

    __slots__ = (
        "_brackets", "_known", "_probed", "_probes", "_progress", "_question", "_region", "_slots", "_stuck", "order",
    )  # fmt: skip

    def __init__(
        self, question: RegionalMap, progress: RegionalProgress, brackets: Brackets, order: IntArray, probes: int
    ) -> None:
        self._question = question
        self._progress = progress
        self._brackets = brackets
        self._probes = probes
        self.order = order  # (M,) the most plausible first
        self._slots = np.ascontiguousarray(question.slots(order).T, dtype=np.int32)  # (R, M)
        self._stuck = [_NOT_STUCK] * len(progress.states)
        self._probed: set[tuple[int, Knowledge]] = set()
        self._region = -1
        self._known = Knowledge(0, False, False, _NOT_STUCK)

    def note_stuck(self, e: int) -> None:
        """Record what an indeterminate explanation says about every region: it stays possible."""
        for j, slot in enumerate(self._progress.slots(e)):
            elements, absent, reaches = self._stuck[j]
            if slot < 0:
                self._stuck[j] = elements, True, reaches
                continue
            rule = self._question.asked_regions[j]
            is_strong = self._question.strengths(rule, np.array([e]))[0] >= (rule.threshold or 0.0)
            self._stuck[j] = elements | 1 << slot, absent, reaches or bool(is_strong)

    def is_outdated(self, e: int) -> bool:
        """True if the list was made from other knowledge than there is after the verdict on e."""
        mark = self._brackets.marks[e]
        if self._region < 0:
            return mark == WITNESSED
        # Asking for the certificate brings the states up to date.
        if self._progress.is_certified or self._progress.states[self._region].is_settled:
            return True
        return mark != REJECTED and self._knowledge(self._region) != self._known

    def _knowledge(self, region: int) -> Knowledge:
        state = self._progress.states[region]
        is_reached = bool(state.witnessed_set if state.region.threshold is None else state.witnessed_reaching[1])
        return Knowledge(state.witnessed_set, state.witnessed[-1] > 0, is_reached, self._stuck[region])

    def next(self) -> IntArray | None:
        """The next list: a probe of a region that has none yet, else the smallest opposition; None if there is none."""
        if not self._brackets.n_witnessed:
            return None
        marks = self._brackets.column()[self.order]
        # Keys are compared: with indeterminate opponents, which stay; how many; where comes after whether; the region.
        plans: dict[tuple[bool, int, bool, int], IntArray] = {}
        for j in self._progress.open_regions:
            for opponents in oppositions(self._progress.states[j], self._knowledge(j)):
                mask = self._opponents(j, opponents)
                own_marks = marks[mask]
                members = self.order[mask][own_marks == UNQUERIED]
                if members.size:
                    is_blocked = bool((own_marks == INDETERMINATE).any())
                    plans[is_blocked, int((own_marks != REJECTED).sum()), opponents.is_place, j] = members
                    break
        if not plans:
            return None
        fresh = [key for key in plans if self._probes and (key[-1], self._knowledge(key[-1])) not in self._probed]
        chosen = min(fresh or plans)
        self._region = chosen[-1]
        self._known = self._knowledge(self._region)
        self._probed.add((self._region, self._known))
        return plans[chosen][: self._probes] if fresh else plans[chosen]

    def _opponents(self, region: int, opponents: Opposition) -> BoolArray:
        """(M,) true for the opposing explanations, in order of plausibility."""
        rule = self._question.asked_regions[region]
        # Absence is -1, the last entry.
        mask = np.append(rule.flags(opponents.elements), opponents.absent)[self._slots[region]]
        if opponents.is_reaching and rule.threshold is not None:
            mask &= self._question.strengths(rule, self.order) >= rule.threshold
        if opponents.is_qualified and rule.needs_persistent_only:
            mask &= self._question.view.persistent_only(self.order)
        return np.asarray(mask)
