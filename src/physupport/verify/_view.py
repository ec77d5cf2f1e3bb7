"""Whether the view of a question, and the distances it was asked with, agree with the bank and the coordinates."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from .._stored import Refusal
from .._typing import Array, BoolArray, IntArray
from ..banks import Bank, RegionalView, SetSpacing, Spacing, bank_regions
from ..questions import Said

# Of the largest entry: the same computation on another machine differs by less.
_ROUNDING = 1e-9


def view_notes(view: RegionalView, bank: Bank | None) -> Iterator[str]:
    """What a table of the author's own leaves to belief; refused is one that contradicts the library of the bank.

    A region of the table claims elements of the library if it bears the name of a region there and has no element that
    is not in that region.  Then every explanation must have there what it has in the bank.
    """
    if bank is None or view.digest == bank.digest:
        return
    yield "the view of the question is not that of the bank: what explanations say of regions is taken as it stands"
    if bank.states.library is None:
        return
    library = bank_regions(bank)
    every = np.arange(bank.size)
    ours, theirs = view.locate(every), library.locate(every)
    for region in view.regions:
        if region not in library.regions or not {*view.element_names(region)} <= {*library.element_names(region)}:
            continue
        listed = library.element_names(region)
        numbers = np.array([*(listed.index(name) for name in view.element_names(region)), -1])  # the last is absence
        column = numbers[ours[:, view.regions.index(region)]]
        _check_same(region, column, theirs[:, library.regions.index(region)])
        yield from _place_notes(region, view.sets(region).points, library.sets(region).points, numbers[:-1])


def _check_same(region: str, column: IntArray, expected: IntArray) -> None:
    wrong = np.flatnonzero(column != expected)
    if wrong.size:
        raise Refusal(
            f"in region {region!r} the table gives {wrong.size} explanations another element of the library than the "
            f"bank does, explanation {wrong[0]} first"
        )


def _place_notes(region: str, stored: Array | None, places: Array | None, numbers: IntArray) -> Iterator[str]:
    if stored is None or places is None:
        return
    if not _is_near(stored, places[numbers]):
        yield f"the coordinates of region {region!r} in the question are not those of the library"


def distance_notes(view: RegionalView, region: str, spacing: Spacing | SetSpacing) -> Iterator[str]:
    """Distances that were given with the rule are the author's; without coordinates there is nothing to compare."""
    places = view.sets(region).coordinates
    if places is not None and spacing.distances is not None and not _is_near(spacing.distances, _distances(places)):
        yield f"the distances of region {region!r} were given, and are not those of its coordinates"


def _distances(places: Array) -> Array:
    return Spacing(len(places), places).rows(np.arange(len(places)))


def _is_near(stored: Array, derived: Array) -> bool:
    if stored.shape != derived.shape or not np.isfinite(derived).all():
        return False
    return bool((np.abs(stored - derived) <= _ROUNDING * np.abs(derived).max(initial=0.0)).all())


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

    def changes(self, field: str, possible: BoolArray, witnessed: BoolArray, more: Sequence[int]) -> bool:
        """Whether a truth-level label, or the group of a GROUP, would be another if these were possible as well."""

    def kinds(self, field: str, explanations: Sequence[int]) -> list[Any]:
        """Explanations of one kind change the field alike."""

    def says(self, e: int) -> Mapping[str, str | None]:
        """What an explanation says."""

    def column(self, field: str) -> Said | None:
        """What every explanation says of a field; None where it says nothing."""

    @property
    def claims(self) -> Mapping[str, BoolArray]:
        """(M,) of each claim which explanations bear it out."""

    def hull(self, field: str, numbers: Sequence[int]) -> list[list[float]] | None:
        """The smallest box around the cells of these numbers; None where names are no cells."""

    def extent(self, field: str, numbers: Sequence[int]) -> float | None:
        """Largest distance within the names of these numbers; None where the question has no distances."""
