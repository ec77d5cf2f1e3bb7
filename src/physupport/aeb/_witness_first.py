"""A policy with its priorities written down: first the wanted witnesses, then what stands in the way of labels."""

from dataclasses import dataclass
from typing import cast, final

import numpy as np

from .._arrays import read_only
from .._checks import check_count
from .._errors import MisuseError
from .._typing import BoolArray, IntArray
from ..judges import Verdict
from ..questions import Label, RegionalMap, RegionalProgress
from ._policies import (
    Order,
    OrderSelector,
    RunView,
    Selector,
    check_listed,
    content_digest,
    frozen_order,
    listed_order,
    order_digest,
)
from ._trace import Brackets


@final
@dataclass(frozen=True, slots=True, eq=False)
class Obligation:
    """Explanations that must all be rejected before a region can have the label that is hoped for."""

    region: str
    members: BoolArray  # (M,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", read_only(self.members))


@final
@dataclass(frozen=True, slots=True, eq=False)
class WitnessFirst:
    """Seek a witness in each stage in turn; then reject obligations, those that serve most regions first.

    stages: (M,) masks; a stage is over when one of its explanations is admissible or all were asked about.  order:
    (M,) explanations as they are tried within a stage; None is by index.  An obligation counts while its region is
    ABSTAIN.  Of the unqueried members of all that count: in most obligations, smallest summed size of these, largest
    gain in rank of the labels if it alone were rejected, largest drop of the diameter of U likewise, lowest index.
    Nothing left to ask ends the run.
    """

    stages: tuple[BoolArray, ...]
    obligations: tuple[Obligation, ...]
    order: Order = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", tuple(read_only(mask) for mask in self.stages))
        object.__setattr__(self, "obligations", tuple(self.obligations))
        object.__setattr__(self, "order", frozen_order(self.order))

    def begin(self, run: RunView) -> Selector:
        """For regional maps only."""
        check_listed(run, "regional", "RegionalMap")
        question = cast(RegionalMap, run.question)
        progress = cast(RegionalProgress, run.progress)
        size = run.brackets.size
        for name, mask in [("stages", s) for s in self.stages] + [("obligations", o.members) for o in self.obligations]:
            if mask.shape != (size,) or mask.dtype != np.bool_:
                raise MisuseError(name, f"be masks of shape ({size},)", f"{mask.dtype} of shape {mask.shape}")
        for obligation in self.obligations:
            if obligation.region not in question.regions:
                raise MisuseError("obligations", f"name regions among {question.regions}", repr(obligation.region))
        order = listed_order(self.order, size)
        stages = [_Stage(mask, order, run.brackets) for mask in self.stages]
        return _WitnessFirstSelector(stages, _Attack(self.obligations, question, progress, run.brackets))

    def describe(self) -> dict[str, object]:
        """The kind, the regions, and hashes of stages, obligations and order."""
        return {
            "policy": "witness first",
            "stages": [content_digest(mask) for mask in self.stages],
            "obligations": [[o.region, content_digest(o.members)] for o in self.obligations],
            "order": order_digest(self.order),
        }


def elsewhere(question: RegionalMap, region: str, e: int) -> Obligation:
    """What must go before a region can be FINE around the element that explanation e has there.

    The explanations whose element lies farther from it than the tolerance, and those that lack the region.
    """
    column = _column(question, region)
    rule = question.asked_regions[question.regions.index(region)]
    slot = int(column[check_count("e", e, 0, len(column) - 1)])
    if slot < 0:
        raise MisuseError("e", f"have region {region!r}", e)
    far = np.append(rule.places.row(slot) > rule.tolerance, True)
    return Obligation(region, far[column])


def presence(question: RegionalMap, region: str) -> Obligation:
    """What must go before a region can be ABSENT: the explanations that have it."""
    return Obligation(region, _column(question, region) >= 0)


def _column(question: RegionalMap, region: str) -> IntArray:
    """(M,) the element of every explanation in a region, -1 where it is absent."""
    if region not in question.regions:
        raise MisuseError("region", f"be one of {question.regions}", repr(region))
    return question.slots(np.arange(question.view.n_explanations))[:, question.regions.index(region)]


@final
class _Stage:
    __slots__ = ("_list", "_mask", "is_witnessed")

    def __init__(self, mask: BoolArray, order: IntArray, brackets: Brackets) -> None:
        self._mask = mask
        self._list = OrderSelector(order[mask[order]], brackets)
        self.is_witnessed = False

    def choose(self) -> int | None:
        return None if self.is_witnessed else self._list.choose()

    def witness(self, e: int) -> None:
        self.is_witnessed |= bool(self._mask[e])


@final
class _WitnessFirstSelector:
    __slots__ = ("_attack", "_stages")

    def __init__(self, stages: list[_Stage], attack: "_Attack") -> None:
        self._stages = stages
        self._attack = attack

    def choose(self) -> int | None:
        for stage in self._stages:
            e = stage.choose()
            if e is not None:
                return e
        return self._attack.choose()

    def observe(self, e: int, code: int) -> None:
        if code == Verdict.ADMISSIBLE:
            for stage in self._stages:
                stage.witness(e)
        elif code == Verdict.REJECTED:
            self._attack.reject(e)


@final
class _Attack:
    """Obligations as classes: explanations in the same obligations share a list, so a choice looks at list heads only.

    Rejecting one explanation changes a label or the diameter only if it is the last possible one with its element in
    some region; these few are kept apart as `_last`.
    """

    __slots__ = ("_brackets", "_class_of", "_last", "_lists", "_obligations", "_progress", "_question", "_sizes")

    def __init__(
        self, obligations: tuple[Obligation, ...], question: RegionalMap, progress: RegionalProgress, brackets: Brackets
    ) -> None:
        self._question = question
        self._progress = progress
        self._brackets = brackets
        self._obligations = [question.regions.index(o.region) for o in obligations]
        masks = [o.members for o in obligations]
        bits = [mask.astype(np.int64) << i for i, mask in enumerate(masks)]
        self._class_of = np.sum(bits, axis=0) if bits else np.zeros(brackets.size, dtype=np.int64)
        self._sizes = [int(mask.sum()) for mask in masks]
        self._lists = {
            int(c): OrderSelector(np.flatnonzero(self._class_of == c), brackets) for c in np.unique(self._class_of) if c
        }
        self._last: set[int] = set()
        for j, state in enumerate(progress.states):
            for slot, count in enumerate(state.possible):
                if count == 1:
                    self._note_last(j, slot if slot < len(state.possible) - 1 else -1)

    def reject(self, e: int) -> None:
        inside = int(self._class_of[e])
        for i in range(len(self._sizes)):
            self._sizes[i] -= inside >> i & 1
        self._last.discard(e)
        for j, slot in enumerate(self._progress.slots(e)):
            state = self._progress.states[j]
            if state.possible[slot] == 1:
                self._note_last(j, slot)
            if state.region.threshold is not None and state.reaching[1] == 1:
                self._note_last_reaching(j, state.region.threshold)

    def choose(self) -> int | None:
        labels = self._progress.labels
        active = sum(1 << i for i, j in enumerate(self._obligations) if labels[j] is Label.ABSTAIN)
        heads: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for c, members in self._lists.items():
            head = members.choose() if c & active else None
            if head is not None:
                heads.setdefault(self._class_key(c & active), []).append((c, head))
        if not heads:
            return None
        best = heads[min(heads)]
        classes = {c for c, _ in best}
        marks = self._brackets.marks
        others = [e for e in self._last if not marks[e] and int(self._class_of[e]) in classes]
        return min([head for _, head in best] + others, key=self._member_key)

    def _class_key(self, inside: int) -> tuple[int, int]:
        numbers = [i for i in range(len(self._sizes)) if inside >> i & 1]
        return -len(numbers), sum(self._sizes[i] for i in numbers)

    def _member_key(self, e: int) -> tuple[int, float, int]:
        return -self._progress.rank_gain(e), -self._progress.diameter_drop(e), e

    def _note_last(self, region: int, slot: int) -> None:
        possible = self._brackets.possible()
        column = self._question.slots(possible)[:, region]
        self._last.update(possible[column == slot].tolist())

    def _note_last_reaching(self, region: int, threshold: float) -> None:
        possible = self._brackets.possible()
        strengths = self._question.strengths(self._question.asked_regions[region], possible)
        self._last.update(possible[strengths >= threshold].tolist())
