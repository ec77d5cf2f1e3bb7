"""Regions of explanations that the user lists in columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import check_indices, check_whole, read_only
from .._checks import check_array
from .._codec import array_json
from .._errors import MisuseError
from .._hashes import pieces_hash
from .._typing import Array, BoolArray, IntArray
from ._bank import Bank
from ._region_sets import RegionSets
from ._subsets import Subsets


@final
@dataclass(frozen=True, slots=True, eq=False)
class TableRegions:
    """Regions of explanations that the user lists; `table_regions` makes one from columns of names."""

    elements: dict[str, tuple[str, ...]]  # of each region, in the order of the columns
    locations: IntArray = field(repr=False)  # (M, R) local element numbers, -1 = absent
    represented: Array = field(repr=False)  # (M, R) strengths, 0 exactly where absent
    places: dict[str, Array] = field(default_factory=dict, repr=False)  # region -> (m, d)
    optional: tuple[str, ...] = field(init=False)  # the regions that some explanation leaves out
    _supports: IntArray = field(init=False, repr=False)  # (M,)
    _only: BoolArray = field(init=False, repr=False)  # (supports,) whether no optional region is present

    def __post_init__(self) -> None:
        elements = {region: tuple(names) for region, names in self.elements.items()}
        locations = _check_locations(self.locations, elements)
        represented = _check_strengths(self.represented, locations)
        places = {
            region: read_only(check_array(f"places[{region!r}]", value, (len(elements[region]), None)))
            for region, value in self.places.items()
        }
        _, first, supports = np.unique(
            np.packbits(locations >= 0, axis=1), axis=0, return_index=True, return_inverse=True
        )
        patterns = locations[first] >= 0  # (supports, R)
        persistent = np.all(patterns, axis=0)
        optional = tuple(region for region, flag in zip(elements, persistent.tolist(), strict=True) if not flag)
        arrays = {
            "locations": locations,
            "represented": represented,
            "_supports": supports.reshape(-1).astype(np.int64),
            "_only": np.all(patterns == persistent, axis=1),
        }
        for name, array in arrays.items():
            object.__setattr__(self, name, read_only(array))
        object.__setattr__(self, "elements", elements)
        object.__setattr__(self, "places", places)
        object.__setattr__(self, "optional", optional)

    @property
    def regions(self) -> tuple[str, ...]:
        """In the order of the columns."""
        return tuple(self.elements)

    @property
    def n_explanations(self) -> int:
        """Rows of the table, M."""
        return len(self.locations)

    @property
    def digest(self) -> str:
        """SHA-256 of names, columns, strengths and coordinates, little-endian and with their shapes."""
        arrays = [(self.locations.shape, self.locations), (self.represented.shape, self.represented)]
        named = [(region, self.places[region]) for region in self.regions if region in self.places]
        shaped = [*arrays, *(((region, places.shape), places) for region, places in named)]
        told = [piece for about, array in shaped for piece in (repr(about), array)]
        return pieces_hash(repr([*self.elements.items()]), *told)

    def element_names(self, region: str) -> tuple[str, ...]:
        """The elements of a region in their local order."""
        return self.elements[region]

    def sets(self, region: str) -> RegionSets:
        """Each place is one element, a point where coordinates were given."""
        names = self.elements[region]
        return RegionSets(names, self.places.get(region), Subsets(len(names), 1, 1))

    def locate(self, index: ArrayLike) -> IntArray:
        """(k,) -> (k, R): the local number of the active element, -1 where the region is absent."""
        return self.locations[self._rows(index)]

    def strengths(self, index: ArrayLike) -> Array:
        """(k,) -> (k, R): the represented strengths."""
        return self.represented[self._rows(index)]

    def support(self, index: ArrayLike) -> IntArray:
        """(k,) -> (k,): a number for each pattern of present regions."""
        return self._supports[self._rows(index)]

    def persistent_only(self, index: ArrayLike) -> BoolArray:
        """(k,) -> (k,): whether no optional region is present."""
        return self._only[self.support(index)]

    def _rows(self, index: ArrayLike) -> IntArray:
        return check_indices("index", index, self.n_explanations)

    def check_bank(self, bank: Bank | None) -> None:
        """What a table says is taken for what the explanations of the bank say."""

    def encode(self) -> dict[str, object]:
        """Names, columns, strengths and coordinates."""
        return {
            "kind": "table",
            "elements": [[region, list(names)] for region, names in self.elements.items()],
            "locations": array_json(self.locations),
            "strengths": array_json(self.represented),
            "coordinates": [[region, array_json(places)] for region, places in self.places.items()],
        }


def table_regions(
    columns: Mapping[str, Sequence[str | None]],
    *,
    coordinates: Mapping[str, Mapping[str, ArrayLike]] | None = None,
    strengths: Mapping[str, ArrayLike] | None = None,
) -> TableRegions:
    """A view of explanations written out: for each region, the name of every explanation's element or None.

    coordinates: region -> element -> a number or (d,); then the region's elements are these, in this order.  Without,
    they are those that occur, in order of appearance.  strengths: region -> (M,), 1 where nothing is said.

    >>> view = table_regions({"left": ["a", "b", "a"], "right": ["c", None, None]})
    >>> view.optional, view.locate([1, 2]).tolist()
    (('right',), [[1, -1], [0, -1]])
    """
    if not columns:
        raise MisuseError("columns", "name at least one region", "none")
    places = {region: _stacked(region, points) for region, points in (coordinates or {}).items()}
    elements, located, represented = {}, [], []
    for region, column in columns.items():
        named = (coordinates or {}).get(region)
        elements[region] = tuple(dict.fromkeys(n for n in column if n is not None) if named is None else named)
        located.append(_local_numbers(region, column, elements[region]))
        sizes = (strengths or {}).get(region)
        represented.append(np.where(located[-1] >= 0, 1.0, 0.0) if sizes is None else np.asarray(sizes, dtype=float))
    for name, mapping in {"coordinates": coordinates, "strengths": strengths}.items():
        for region in mapping or {}:
            if region not in elements:
                raise MisuseError(name, f"be given for the regions {tuple(elements)}", repr(region))
    for name, lengths in {"columns": [*map(len, located)], "strengths": [*map(len, represented)]}.items():
        if set(lengths) != {len(located[0])}:
            raise MisuseError(name, "be equally long", f"lengths {lengths}")
    return TableRegions(elements, np.column_stack(located), np.column_stack(represented), places)


def _check_strengths(value: ArrayLike, locations: IntArray) -> Array:
    strengths = check_array("represented", value, locations.shape)
    is_wrong = np.where(locations >= 0, strengths <= 0.0, strengths != 0.0)
    if is_wrong.any():
        where = tuple(np.argwhere(is_wrong)[0].tolist())
        rule = "be positive where a region is present and 0 where it is absent"
        raise MisuseError("represented", rule, f"{strengths[where]} at index {where}")
    return strengths


def _check_locations(value: ArrayLike, elements: Mapping[str, Sequence[str]]) -> IntArray:
    locations = check_whole("locations", value, 2)
    if locations.shape[1] != len(elements) or not len(locations):
        raise MisuseError("locations", f"have shape (M, {len(elements)}) with M at least 1", f"shape {locations.shape}")
    for j, (region, names) in enumerate(elements.items()):
        if not names or len(set(names)) < len(names):
            raise MisuseError("elements", f"be distinct and at least one in region {region!r}", names)
        if not region or not all(isinstance(name, str) and name for name in names):
            raise MisuseError("elements", "be nonempty texts in a region with a name", f"{region!r}: {names}")
        check_indices("locations", locations[:, j], len(names), least=-1, place=f"of region {region!r} in row")
    return locations


def _local_numbers(region: str, column: Sequence[str | None], names: tuple[str, ...]) -> IntArray:
    numbers: dict[str | None, int] = {None: -1} | {name: i for i, name in enumerate(names)}
    for name in column:
        if name not in numbers:
            raise MisuseError(f"columns[{region!r}]", f"hold None or one of {names}", repr(name))
    return np.fromiter((numbers[name] for name in column), dtype=np.int64, count=len(column))


def _stacked(region: str, coordinates: Mapping[str, ArrayLike]) -> Array:
    rows = [np.atleast_1d(np.asarray(value, dtype=np.float64)) for value in coordinates.values()]
    if len({row.shape for row in rows}) != 1:
        raise MisuseError(
            f"coordinates[{region!r}]", "have the same number of entries each", [row.shape for row in rows]
        )
    return np.stack(rows)
