"""The default policy for regional maps: no hand-written order, only witnesses and what opposes them."""

from dataclasses import dataclass
from typing import NamedTuple, cast, final

import numpy as np
from numpy.typing import NDArray

from ..._checks import check_count
from ..._typing import BoolArray, IntArray
from ...judges import Verdict
from ...questions import RegionalMap, RegionalProgress
from .._trace import INDETERMINATE, REJECTED, UNQUERIED, Brackets
from ._base import OrderSelector, Proposals, RunView, Selector, check_listed
from ._opposition import Knowledge, Opposition, Stuck, knowledge, oppositions

_ADMISSIBLE, _REJECTED, _INDETERMINATE = int(Verdict.ADMISSIBLE), int(Verdict.REJECTED), int(Verdict.INDETERMINATE)


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

    def begin(self, run: RunView) -> Selector:
        """For regional maps only."""
        check_listed(run, "regional", "RegionalMap")
        question, progress = cast(RegionalMap, run.question), cast(RegionalProgress, run.progress)
        statements = _Statements(question, plausible_order(question, run.proposals))
        return _RegionalSelector(run.brackets, progress, statements, self.probes)

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
        slots, proposed = question.slots(np.arange(size)), list(dict.fromkeys(proposals.explanations))
        for row in question.slots(np.array(proposed)):
            agreement += (slots == row).sum(axis=1)
        agreement[proposed] = agreement.max() + 1 + np.arange(len(proposed))[::-1]
    return np.argsort(-agreement, kind="stable")


@final
class _Statements:
    """What each explanation says, in plausible order."""

    __slots__ = ("_question", "_slots", "order")

    def __init__(self, question: RegionalMap, order: IntArray) -> None:
        self._question, self.order = question, order
        self._slots = np.ascontiguousarray(question.slots(order).T, dtype=np.int32)  # (R, M)

    def members(self, region: int, opponents: Opposition) -> BoolArray:
        """(M,) who opposes."""
        rule = self._question.asked_regions[region]
        # Absence is -1, the last entry.
        mask = np.append(rule.flags(opponents.elements), opponents.absent)[self._slots[region]]
        if opponents.is_reaching and rule.threshold is not None:
            mask &= self._question.strengths(rule, self.order) >= rule.threshold
        if opponents.is_qualified and rule.needs_persistent_only:
            mask &= self._question.view.persistent_only(self.order)
        return np.asarray(mask)

    def stuck(self, region: int, e: int, slot: int, before: Stuck) -> Stuck:
        """What is stuck in a region once explanation e is indeterminate, too."""
        if slot < 0:
            return before._replace(absent=True)
        rule = self._question.asked_regions[region]
        strength = float(self._question.strengths(rule, np.array([e]))[0])
        reaches = before.reaches or strength >= (rule.threshold or 0.0)
        return before._replace(elements=before.elements | 1 << slot, reaches=reaches)


class _Target(NamedTuple):
    """A region to attack; compared in this order."""

    is_blocked: bool  # an indeterminate opponent is there to stay
    size: int
    is_place: bool  # whether comes before where
    region: int


@final
class _RegionalSelector:
    """Region -1 is the search for a first witness."""

    __slots__ = ("_brackets", "_known", "_list", "_probed", "_probes", "_progress", "_region", "_statements", "_stuck")

    def __init__(self, brackets: Brackets, progress: RegionalProgress, statements: _Statements, probes: int) -> None:
        self._brackets, self._progress, self._statements, self._probes = brackets, progress, statements, probes
        self._stuck = [Stuck()] * len(progress.states)
        self._probed: set[tuple[int, Knowledge]] = set()
        self._region, self._known = -1, Knowledge(0, False, False, Stuck())
        self._list: OrderSelector | None = OrderSelector(statements.order, brackets)

    def choose(self) -> int | None:
        while self._list is not None:
            e = self._list.choose()
            if e is not None:
                return e
            self._list = self._plan()
        return None

    def observe(self, e: int, code: int) -> None:
        if code == _INDETERMINATE:
            for j, slot in enumerate(self._progress.slots(e)):
                self._stuck[j] = self._statements.stuck(j, e, slot, self._stuck[j])
        if self._is_outdated(code):
            self._list = self._plan()

    def _is_outdated(self, code: int) -> bool:
        """Whether the list was made for something else."""
        if self._region < 0:
            return code == _ADMISSIBLE
        # Asking for the certificate brings the states up to date.
        if self._progress.is_certified or self._progress.states[self._region].is_settled:
            return True
        return code != _REJECTED and self._knowledge(self._region) != self._known

    def _knowledge(self, region: int) -> Knowledge:
        return knowledge(self._progress.states[region], self._stuck[region])

    def _plan(self) -> OrderSelector | None:
        """The next list: a probe of a region that has none yet, else the smallest opposition; None if there is none."""
        if not self._brackets.n_witnessed:
            return None
        marks = self._brackets.column()[self._statements.order]
        plans = {}
        for j in self._progress.open_regions:
            for opponents in oppositions(self._progress.states[j], self._knowledge(j)):
                target, members = self._survey(j, opponents, marks)
                if members.size:
                    plans[target] = members
                    break
        if not plans:
            return None
        fresh = [t for t in plans if self._probes and (t.region, self._knowledge(t.region)) not in self._probed]
        chosen = min(fresh or plans)
        self._region, self._known = chosen.region, self._knowledge(chosen.region)
        self._probed.add((chosen.region, self._known))
        return OrderSelector(plans[chosen][: self._probes] if fresh else plans[chosen], self._brackets)

    def _survey(self, region: int, opponents: Opposition, marks: NDArray[np.uint8]) -> tuple[_Target, IntArray]:
        """How much stands against a region, and what of it can be asked about, the most plausible first."""
        mask = self._statements.members(region, opponents)
        own_marks = marks[mask]
        is_blocked = bool(self._brackets.n_indeterminate and (own_marks == INDETERMINATE).any())
        target = _Target(is_blocked, int((own_marks != REJECTED).sum()), opponents.is_place, region)
        return target, self._statements.order[mask][own_marks == UNQUERIED]
