"""What follows from the sets of possible and witnessed explanations, field by field."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

from .._typing import BoolArray


@final
@dataclass(frozen=True, slots=True)
class Derived:
    """A field as it must stand in the report, but for its explanations."""

    field: str
    label: str
    cell: tuple[str, ...]
    group: str | None
    numbers: Mapping[str, float]
    certificate: str
    is_settled: bool  # nothing further need be asked about it


class Rules(Protocol):
    """The label rules of one question."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the question takes for granted, and a reader should know."""

    def derive(self, possible: BoolArray, witnessed: BoolArray) -> tuple[Derived, ...]:
        """All fields from U and L, (M,) masks."""

    def is_certified(self, possible: BoolArray, witnessed: BoolArray) -> bool:
        """Whether every field has what it asks for, and something is possible."""

    def force(self, field: str, label: str, witnesses: Sequence[int], witnessed: BoolArray) -> bool:
        """Whether these explanations, all of them in L, show what the label needs them for."""

    def changes(self, field: str, possible: BoolArray, witnessed: BoolArray, e: int) -> bool:
        """Whether a truth-level label, or the group of a GROUP, would be another if e were possible as well."""

    def kinds(self, field: str, explanations: Sequence[int]) -> list[Any]:
        """Explanations of one kind change the field alike."""

    def says(self, e: int) -> Mapping[str, str | None]:
        """What an explanation says."""
