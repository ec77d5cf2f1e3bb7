"""The label rules of a resolution, from sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from .._codec import real, whole
from .._hashes import pieces_hash
from .._stored import Node, Refusal
from .._typing import Array, BoolArray, IntArray
from ..banks import Bank, check_distances
from ..judges import Verdict
from ..questions import Answer, Progress, Question, Said, predicates, said_by
from ._trace import ReadTrace
from ._view import Derived

_NAMES = {
    "question", "version", "n_explanations", "names", "places", "distances", "proposal_distances", "delta_fine",
    "delta_group", "slack",
}  # fmt: skip
FIELD = "resolution"


@final
@dataclass(frozen=True, slots=True, eq=False)
class ResolutionRules:
    """Places, their distances, and the two bounds."""

    names: tuple[str, ...]
    places: IntArray  # (M,)
    distances: Array  # (P + 1, P + 1), the last is the proposal
    delta_fine: float
    delta_group: float
    slack: float
    notes: tuple[str, ...] = ()
    claims: Mapping[str, BoolArray] = field(default_factory=dict)

    def derive(self, possible: BoolArray, witnessed: BoolArray) -> tuple[Derived, ...]:
        """The one field."""
        lower, upper = self.diameter(witnessed), self.diameter(possible)
        label, is_settled = "ABSTAIN", False
        if not possible.any():
            label = "EMPTY"
        elif lower > self.delta_group:
            label, is_settled = "AMBIGUOUS", True
        elif upper <= self.delta_fine:
            label, is_settled = "FINE", True
        elif upper <= self.delta_group:
            label, is_settled = "GROUP", lower > self.delta_fine and upper - lower <= self.slack
        cell = tuple(self.names[place] for place in np.unique(self.places[possible]).tolist())
        certificate = {"ABSTAIN": "open", "AMBIGUOUS": "witnesses"}.get(label, "universal")
        numbers = {"lower": lower, "upper": upper}
        return (Derived(FIELD, label, cell, None, numbers, certificate, is_settled),)

    def diameter(self, mask: BoolArray) -> float:
        """Of the places of a set, and the proposal."""
        chosen = [*np.unique(self.places[mask]).tolist(), len(self.names)]
        return float(self.distances[np.ix_(chosen, chosen)].max())

    def is_certified(self, possible: BoolArray, witnessed: BoolArray) -> bool:
        """Whether the label is final."""
        return bool(possible.any()) and self.derive(possible, witnessed)[0].is_settled

    def force(self, field: str, label: str, witnesses: Sequence[int], witnessed: BoolArray) -> bool:  # noqa: ARG002
        """AMBIGUOUS needs one or two witnesses that spread, with the proposal, as far as all: more than a group may."""
        if label != "AMBIGUOUS":
            return not witnesses
        chosen = np.zeros(len(self.places), dtype=np.bool_)
        chosen[list(witnesses)] = True
        return 1 <= len(witnesses) <= 2 and self.delta_group < self.diameter(chosen) == self.diameter(witnessed)

    def changes(self, field: str, possible: BoolArray, witnessed: BoolArray, more: Sequence[int]) -> bool:  # noqa: ARG002
        """Whether the label would be another with these in U."""
        wider = possible.copy()
        wider[list(more)] = True
        return self.derive(wider, witnessed)[0].label != self.derive(possible, witnessed)[0].label

    def kinds(self, field: str, explanations: Sequence[int]) -> list[Any]:  # noqa: ARG002
        """The place."""
        return [int(self.places[e]) for e in explanations]

    def says(self, e: int) -> Mapping[str, str | None]:
        """The place."""
        return {"place": self.names[int(self.places[e])]}

    def column(self, field: str) -> Said | None:  # noqa: ARG002
        """The place."""
        return Said(self.names, self.places)

    def extent(self, field: str, numbers: Sequence[int]) -> float | None:  # noqa: ARG002
        """Of places, without the proposal."""
        return float(self.distances[np.ix_(numbers, numbers)].max()) if numbers else 0.0

    def hull(self, field: str, numbers: Sequence[int]) -> None:
        """Places are points."""


_GIVEN = "places and distances of the resolution were given: that they are those of the bank is taken as it stands"


def resolution_rules(question: Node, content: Node, bank: Bank | None, size: int) -> ResolutionRules:
    """The rules that the description of a question and its written-out part define together."""
    if {*question} != _NAMES or question["version"] != 1:
        raise Refusal("the question has another form than a resolution, version 1")
    if {*content} != {"kind", "places", "distances", "proposal_distances"}:
        raise Refusal("the question is not written out as a resolution")
    names = tuple(question["names"])
    count = len(names)
    places, near = whole(content["places"], size), real(content["proposal_distances"], count)
    between = real(content["distances"], count, count)
    if question["n_explanations"] != size or len({*names}) < count or places.min() < 0 or places.max() >= count:
        raise Refusal("places and names of the resolution do not fit the bank")
    hashes = (
        pieces_hash(places) == question["places"],
        pieces_hash(between) == question["distances"],
        pieces_hash(near) == question["proposal_distances"],
    )
    if not all(hashes):
        raise Refusal("places or distances of the resolution do not match their hashes")
    check_distances("distances", between, count)
    if near.min() < 0.0:
        raise Refusal("a distance from the proposal is negative")
    table = np.zeros((count + 1, count + 1))
    table[:count, :count], table[:count, count], table[count, :count] = between, near, near
    slack = float("inf") if question["slack"] == "inf" else question["slack"]
    bounds = [question["delta_fine"], question["delta_group"], slack]
    if not all(isinstance(value, float) and value >= 0.0 for value in bounds) or bounds[0] > bounds[1]:
        raise Refusal("the bounds of the resolution are no distances in order")
    notes = () if bank is None else (_GIVEN,)
    return ResolutionRules(names, places, table, bounds[0], bounds[1], bounds[2], notes)


_OWN = "the question is the author's own: that its labels are safe to say is taken as it stands"


@final
@dataclass(frozen=True, slots=True, eq=False)
class OwnRules:
    """The predicates are the user's: what is checked is that the report says what they say about U and L.

    answers: by field, those of the question itself after the verdicts in the order of the trace.
    """

    question: Question
    answers: Mapping[str, Answer]
    notes: tuple[str, ...] = ()

    @property
    def claims(self) -> Mapping[str, BoolArray]:
        """As the question gives them."""
        return predicates(self.question).claims(np.arange(self.question.n_explanations))

    def derive(self, possible: BoolArray, witnessed: BoolArray) -> tuple[Derived, ...]:
        """Fields as the question gives them."""
        return tuple(
            Derived(a.field, str(a.label), a.cell, a.group, dict(a.numbers), a.certificate.kind, True)
            for a in self._progress(possible, witnessed).answers()
        )

    def is_certified(self, possible: BoolArray, witnessed: BoolArray) -> bool:
        """Whether the question says so."""
        return bool(possible.any()) and self._progress(possible, witnessed).is_certified

    def force(self, field: str, label: str, witnesses: Sequence[int], witnessed: BoolArray) -> bool:
        """With these witnesses alone in L and everything possible, an ambiguity must still be one.

        Other labels do not rest on their witnesses, and must name those that the question names.
        """
        if label in ("FINE", "GROUP", "ABSENT", "EMPTY", "ABSTAIN"):
            return field in self.answers and tuple(witnesses) == self.answers[field].certificate.witnesses
        alone = np.zeros(len(witnessed), dtype=np.bool_)
        alone[list(witnesses)] = True
        found = {d.field: d.label for d in self.derive(np.ones(len(witnessed), dtype=np.bool_), alone)}
        return bool(witnesses) and found.get(field) == label

    def changes(self, field: str, possible: BoolArray, witnessed: BoolArray, more: Sequence[int]) -> bool:  # noqa: ARG002
        """Whether the question says that its answer would be another with one of these in U."""
        return bool(predicates(self.question).excluded(self.answers[field], np.array(more)).any())

    def kinds(self, field: str, explanations: Sequence[int]) -> list[Any]:
        """Those that the question takes for the same in this field."""
        return [*predicates(self.question).excluded(self.answers[field], np.array(explanations)).tolist()]

    def says(self, e: int) -> Mapping[str, str | None]:
        """What the question says that it says."""
        return said_by(self.question, e)

    def column(self, field: str) -> Said | None:
        """The column of the name of the field, or the only one."""
        said = predicates(self.question).says(np.arange(self.question.n_explanations))
        return said.get(field, *said.values()) if len(said) == 1 else said.get(field)

    def extent(self, field: str, numbers: Sequence[int]) -> float | None:
        """As the question gives it."""
        chosen = np.array(sorted(numbers), dtype=np.int64)
        return predicates(self.question).extent([*self.answers].index(field), chosen)

    def hull(self, field: str, numbers: Sequence[int]) -> list[list[float]] | None:
        """As the question gives it."""
        chosen = np.array(sorted(numbers), dtype=np.int64)
        return predicates(self.question).hull([*self.answers].index(field), chosen)

    def _progress(self, possible: BoolArray, witnessed: BoolArray) -> Progress:
        progress = self.question.begin()
        for e in np.flatnonzero(~possible).tolist():
            progress.reject(e)
        for e in np.flatnonzero(witnessed).tolist():
            progress.witness(e)
        return progress


def own_rules(question: Question, trace: ReadTrace) -> OwnRules:
    """The rules of a question, and the witnesses it names at the end of a trace."""
    progress = question.begin()
    for e, code in zip(trace.queries.tolist(), trace.codes.tolist(), strict=True):
        if code == Verdict.REJECTED:
            progress.reject(e)
        elif code == Verdict.ADMISSIBLE:
            progress.witness(e)
    return OwnRules(question, {answer.field: answer for answer in progress.answers()}, (_OWN,))
