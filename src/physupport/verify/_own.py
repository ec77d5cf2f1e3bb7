"""A question of one's own, asked again from the first verdict to the last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from .._typing import BoolArray
from ..coarsen import Progress, Question
from ._derived import Derived


@final
@dataclass(frozen=True, slots=True, eq=False)
class OwnRules:
    """The predicates are the user's: what is checked is that the report says what they say about U and L."""

    question: Question

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
        """With these witnesses alone in L and everything possible, an ambiguity must still be one."""
        if label in ("FINE", "GROUP", "ABSENT", "EMPTY", "ABSTAIN"):
            return True
        alone = np.zeros(len(witnessed), dtype=np.bool_)
        alone[list(witnesses)] = True
        found = {d.field: d.label for d in self.derive(np.ones(len(witnessed), dtype=np.bool_), alone)}
        return bool(witnesses) and found.get(field) == label

    def changes(self, field: str, possible: BoolArray, witnessed: BoolArray, e: int) -> bool:  # noqa: ARG002
        """Reports name no excluded explanation for a question of one's own."""
        return False

    def kinds(self, field: str, explanations: Sequence[int]) -> list[Any]:  # noqa: ARG002
        """All alike."""
        return [0] * len(explanations)

    def says(self, e: int) -> Mapping[str, str | None]:  # noqa: ARG002
        """Nothing that a report could repeat."""
        return {}

    def _progress(self, possible: BoolArray, witnessed: BoolArray) -> Progress:
        progress = self.question.begin()
        for e in np.flatnonzero(~possible).tolist():
            progress.reject(e)
        for e in np.flatnonzero(witnessed).tolist():
            progress.witness(e)
        return progress
