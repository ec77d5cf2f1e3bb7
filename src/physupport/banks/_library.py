"""Libraries of physical elements, and the states that take one element from every region."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import prod
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import check_indices
from .._checks import check_array, check_count, check_unit_columns
from .._codec import array_json
from .._errors import MisuseError
from .._hashes import Record
from .._typing import Array, IntArray
from ._states import check_positions, check_size, frozen, frozen_int
from ._subsets import Subsets


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
        found = np.flatnonzero(np.array([name == region for name in self.regions]))
        if not found.size:
            known = ", ".join(map(repr, self.region_names))
            raise MisuseError("region", f"hold at least one element (regions: {known})", repr(region))
        return found


@final
@dataclass(frozen=True, slots=True, eq=False)
class LibraryStates:
    """Every choice of elements from each region, the first region slowest, and columns shared by all states.

    A region gives one element, or as many as its count allows, as an unordered set.  Its atoms are the chosen elements
    in increasing order, as many as it may have at most; those that a smaller set lacks are -1.  Shared columns follow,
    such as an atom that only the calibration meets.  Elements are numbered as in the library, then the shared columns.
    States are mixed-radix numbers, so none is stored.
    """

    library: Library
    regions: tuple[str, ...]  # which regions, in which order
    extra: Array = field(default_factory=lambda: np.zeros((0, 0)), repr=False)  # (q, m), none unless given
    counts: tuple[tuple[int, int], ...] = ()  # of each region, how many of its elements; one each unless given
    elements: Array = field(init=False, repr=False)  # (q, E + m)
    sets: tuple[Subsets, ...] = field(init=False, repr=False)  # of each region and shared column, its choices
    _members: tuple[IntArray, ...] = field(init=False, repr=False)  # of each of these, the elements to choose from

    def __post_init__(self) -> None:
        regions = check_regions("regions", self.regions, self.library)
        q, count = self.library.responses.shape
        extra = frozen(check_unit_columns("extra", self.extra if np.size(self.extra) else np.zeros((q, 0)), q))
        shared = tuple(np.array([count + j]) for j in range(extra.shape[1]))
        object.__setattr__(self, "regions", regions)
        object.__setattr__(self, "extra", extra)
        object.__setattr__(self, "elements", frozen(np.hstack([self.library.responses, extra])))
        members = tuple(self.library.members(name) for name in regions) + shared
        object.__setattr__(self, "_members", members)
        object.__setattr__(self, "counts", _check_counts(self.counts, regions, members))
        ranges = [*self.counts, *[(1, 1)] * len(shared)]
        sets = tuple(Subsets(len(each), *count) for each, count in zip(members, ranges, strict=True))
        object.__setattr__(self, "sets", sets)
        check_size("states", self.n_states)

    @property
    def library_index(self) -> IntArray:
        """(E + m,) which element of the library each element is; -1 for shared columns."""
        return frozen_int([*range(len(self.library.ids)), *[-1] * self.extra.shape[1]])

    @property
    def n_states(self) -> int:
        """The product of the numbers of choices."""
        return prod(sets.size for sets in self.sets)

    @property
    def n_atoms(self) -> int:
        """As many as regions may have elements, and shared columns."""
        return sum(sets.high for sets in self.sets)

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """The atoms of each region."""
        return self._blocks()[: len(self.regions)]

    def _blocks(self) -> tuple[tuple[int, ...], ...]:
        ends = [*accumulate(sets.high for sets in self.sets)]
        return tuple(tuple(range(end - sets.high, end)) for end, sets in zip(ends, self.sets, strict=True))

    @property
    def n_regions(self) -> int:
        """Shared columns lie in no region."""
        return len(self.regions)

    def element_index(self, states: ArrayLike) -> IntArray:
        """(k,) -> (k, n): which element is atom j of the state."""
        return self.active_elements(check_indices("states", states, self.n_states), tuple(range(self.n_atoms)))

    @property
    def _has_sets(self) -> bool:
        return any(not sets.is_single for sets in self.sets)

    def choices(self, states: ArrayLike) -> IntArray:
        """(k,) -> (k, R): the number of the set that each region has."""
        rest = check_indices("states", states, self.n_states)
        digits = np.empty((len(rest), len(self.sets)), dtype=np.int64)
        for j in reversed(range(len(self.sets))):
            rest, digits[:, j] = np.divmod(rest, self.sets[j].size)
        return digits[:, : len(self.regions)]

    def active_keys(self, states: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k,): the choices at these atoms as a number of their own, the first slowest."""
        active, rest = self._owners(positions), check_indices("states", states, self.n_states).copy()
        keys, weight = np.zeros_like(rest), 1
        for j in reversed(range(len(self.sets))):
            rest, digit = np.divmod(rest, self.sets[j].size)
            if j in active:
                keys += digit * weight
                weight *= self.sets[j].size
        return keys

    def n_active(self, positions: tuple[int, ...]) -> int:
        """The product of the numbers of choices of these regions."""
        return prod(self.sets[j].size for j in self._owners(positions))

    def active_elements(self, keys: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k, r): the elements that a key stands for, -1 where a set has fewer."""
        rest, found = check_indices("keys", keys, self.n_active(positions)), []
        for j in reversed(self._owners(positions)):
            rest, digit = np.divmod(rest, self.sets[j].size)
            found.append(np.append(self._members[j], -1)[self.sets[j].members(digit)])  # none is -1, the last entry
        return np.hstack(found[::-1]) if found else np.empty((len(rest), 0), dtype=np.int64)

    def _owners(self, positions: tuple[int, ...]) -> tuple[int, ...]:
        """Whose atoms these are: all or none of a region, since a set has no first one."""
        check_positions(positions, self.n_atoms)
        owners = tuple(j for j, block in enumerate(self._blocks()) if {*block} & {*positions})
        if sum(self.sets[j].high for j in owners) != len(positions):
            raise MisuseError("positions", "hold all atoms of a region or none", positions)
        return owners

    def names(self, elements: ArrayLike) -> tuple[str, ...]:
        """The ids of the library; shared columns are `shared 0`, `shared 1`, ..."""
        count = len(self.library.ids)
        numbers = check_indices("elements", elements, self.elements.shape[1]).tolist()
        return tuple(self.library.ids[e] if e < count else f"shared {e - count}" for e in numbers)

    def setting(self, state: int) -> dict[str, float]:
        """The responses are the nominal ones in every state."""
        check_indices("state", state, self.n_states)
        return {}

    def dimensions(self, states: IntArray) -> dict[str, IntArray]:  # noqa: ARG002
        """There are no parameters."""
        return {}

    def encode(self) -> dict[str, object]:
        """The library, the order of the regions, the shared columns and the counts, where any is above one."""
        library = self.library
        counts: dict[str, object] = {"counts": [list(count) for count in self.counts]} if self._has_sets else {}
        unit = {"unit": library.unit} if library.unit else {}
        cells = {} if library.extents is None else {"extents": array_json(library.extents)}
        return (
            counts
            | unit
            | cells
            | {
                "kind": "library",
                "ids": list(library.ids),
                "regions": list(library.regions),
                "order": list(self.regions),
                "coordinates": array_json(library.coordinates),
                "responses": array_json(library.responses),
                "shared": array_json(self.extra),
            }
        )

    def records(self) -> list[Record]:
        """The library, the order of the regions, the shared columns and the counts, where any is above one."""
        library = self.library
        counts: list[Record] = [("counts", np.array(self.counts, dtype=np.int64))] if self._has_sets else []
        unit: list[Record] = [("unit", (library.unit,))] if library.unit else []
        cells: list[Record] = [] if library.extents is None else [("extents", library.extents)]
        return [
            *counts,
            *unit,
            *cells,
            ("library states", self.regions),
            ("ids", library.ids),
            ("regions", library.regions),
            ("coordinates", library.coordinates),
            ("elements", self.elements),
        ]


# What joins the names of elements to that of a set.
JOINT = " + "


def _check_counts(
    counts: Sequence[Sequence[int]], regions: tuple[str, ...], members: Sequence[IntArray]
) -> tuple[tuple[int, int], ...]:
    """(low, high) of each region, one each unless given."""
    if counts and len(counts) != len(regions):
        raise MisuseError("counts", f"be given for each of the {len(regions)} regions", len(counts))
    found = []
    for region, numbers, (low, high) in zip(regions, members, counts or [(1, 1)] * len(regions), strict=False):
        most = check_count(f"the count of region {region!r}", high, 1, len(numbers))
        found.append((check_count(f"the least count of region {region!r}", low, 1, most), most))
    return tuple(found)


def check_regions(name: str, regions: Sequence[str], library: Library) -> tuple[str, ...]:
    """Distinct regions of the library, at least one."""
    found = tuple(regions)
    if not found:
        raise MisuseError(name, "name at least one region", "none")
    check_distinct(name, found)
    for region in found:
        if region not in library.regions:
            known = ", ".join(map(repr, library.region_names))
            raise MisuseError(name, f"name regions that hold elements ({known})", repr(region))
    return found


def check_distinct(name: str, values: Sequence[object]) -> None:
    """No value twice."""
    seen: set[object] = set()
    for value in values:
        if value in seen:
            raise MisuseError(name, "be distinct", f"{value!r} more than once")
        seen.add(value)


def check_texts(name: str, values: Sequence[str]) -> tuple[str, ...]:
    """Nonempty texts; a single text is not a list of its letters."""
    texts = (values,) if isinstance(values, str) else tuple(values)
    for text in texts:
        if isinstance(values, str) or not isinstance(text, str) or not text:
            raise MisuseError(name, "be a list of nonempty texts", repr(text))
    return texts
