"""Libraries of physical elements."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from .._checks import check_array, check_distinct, check_texts, check_unit_columns
from .._errors import MisuseError
from .._typing import Array, IntArray
from ._states import frozen


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Library:
    """Physical elements: what each is called, where it lies, and how the instrument answers to it.

    >>> library = Library(["a", "b"], ["left", "right"], [[0.1], [0.9]], [[1.0, 0.0], [0.0, 1.0]])
    >>> library.region_names
    ('left', 'right')
    """

    ids: tuple[str, ...]  # (E,) distinct
    regions: tuple[str, ...]  # (E,) the region of every element
    coordinates: Array = field(repr=False)  # (E, d); without any, d = 0, elements are names alone
    responses: Array = field(repr=False)  # (q, E), unit columns
    unit: str = ""  # of the coordinates, and so of distances; for words only
    extents: Array | None = field(default=None, repr=False)  # (E, d) half the sides of elements that are cells

    def __post_init__(self) -> None:
        ids, regions = check_texts("ids", self.ids), check_texts("regions", self.regions)
        if not ids:
            raise MisuseError("ids", "name at least one element", "none")
        check_distinct("ids", ids)
        if len(regions) != len(ids):
            raise MisuseError("regions", f"name one region for each of the {len(ids)} ids", f"{len(regions)} regions")
        if not isinstance(self.unit, str):
            raise MisuseError("unit", "be a text", repr(self.unit))
        coordinates = check_array("coordinates", self.coordinates, (len(ids), None))
        responses = check_unit_columns("responses", self.responses)
        if responses.shape[1] != len(ids):
            raise MisuseError(
                "responses", f"have one column for each of the {len(ids)} ids", f"shape {responses.shape}"
            )
        if self.extents is not None:
            extents = check_array("extents", self.extents, coordinates.shape)
            if extents.min() < 0.0:
                raise MisuseError("extents", "be at least 0", extents.min())
            object.__setattr__(self, "extents", frozen(extents))
        for name, value in {"ids": ids, "regions": regions}.items():
            object.__setattr__(self, name, value)
        for name, array in {"coordinates": coordinates, "responses": responses}.items():
            object.__setattr__(self, name, frozen(array))

    @property
    def region_names(self) -> tuple[str, ...]:
        """The regions in the order in which elements first name them."""
        return tuple(dict.fromkeys(self.regions))

    def __repr__(self) -> str:
        where = f", places in {self.unit}" if self.unit else ""
        shape = f"{len(self.ids)} elements in {', '.join(self.region_names)}, {len(self.responses)} channels"
        return f"Library({shape}{where})"

    def places(self, chosen: IntArray) -> Array | None:
        """(k, d) of some elements; None where nobody said where they lie."""
        return self.coordinates[chosen] if self.coordinates.shape[1] else None

    def members(self, region: str) -> IntArray:
        """The elements of a region, in the order of the library."""
        numbers = np.flatnonzero(np.array([name == region for name in self.regions]))
        if not numbers.size:
            known = ", ".join(map(repr, self.region_names))
            raise MisuseError("region", f"hold at least one element (regions: {known})", repr(region))
        return numbers


# What joins the names of elements to that of a set.
JOINT = " + "


def check_regions(name: str, regions: Sequence[str], library: Library) -> tuple[str, ...]:
    """Distinct regions of the library, at least one."""
    names = tuple(regions)
    if not names:
        raise MisuseError(name, "name at least one region", "none")
    check_distinct(name, names)
    for region in names:
        if region not in library.regions:
            known = ", ".join(map(repr, library.region_names))
            raise MisuseError(name, f"name regions that hold elements ({known})", repr(region))
    return names
