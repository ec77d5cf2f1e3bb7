"""A question of one's own, asked again from the first verdict to the last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from .._typing import BoolArray
from ..judges import Verdict
from ..questions import Answer, Progress, Question, predicates, said_by
from ._derived import Derived
from ._trace import ReadTrace

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

    def changes(self, field: str, possible: BoolArray, witnessed: BoolArray, e: int) -> bool:  # noqa: ARG002
        """Whether the question says that its answer would be another with e in U."""
        return bool(predicates(self.question).excluded(self.answers[field], np.array([e]))[0])

    def kinds(self, field: str, explanations: Sequence[int]) -> list[Any]:
        """Those that the question takes for the same in this field."""
        return [*predicates(self.question).excluded(self.answers[field], np.array(explanations)).tolist()]

    def says(self, e: int) -> Mapping[str, str | None]:
        """What the question says that it says."""
        return said_by(self.question, e)

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
