"""Named regions as columns of all explanations, and the ends of grids that explanations touch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_indices, check_whole, read_only
from .._codec import array_digest, array_json, content_hash
from .._errors import Clause, MisuseError
from .._typing import Array, BoolArray, IntArray
from ._bank import Bank
from ._circle import closes_circle
from ._library import RegionPlaces
from ._states import ArrayWriter, Subsets, check_size

# What is asked about a bank is held as columns of its explanations; more would not fit the memory of one machine.
_MOST_EXPLANATIONS = 2**30
# Places of a region that are a grid along a line; fewer are rather a list.
_LEAST_PLACES = 5
_MOST_STATES = 2**20


@final
@dataclass(frozen=True, slots=True, eq=False)
class RegionalView:
    r"""The map from explanations to regions: at most one place a region, :math:`\Theta_R(e)`.

    A region in which several elements may be active together has one place for each set of them; `sets` says which.
    Made by `bank_regions` of a bank, and by `listed_regions` or `table_regions` of explanations that the user lists.
    """

    sets: dict[str, RegionPlaces] = field(repr=False)  # the places of each of R regions, and where these lie
    present: BoolArray = field(repr=False)  # (supports, R) which regions a support has
    bank: Bank | None = None  # without one, explanations are the rows of these columns:
    locations: IntArray = field(default_factory=lambda: np.zeros((0, 0), np.int64), repr=False)  # (M, R), -1 = absent
    represented: Array = field(default_factory=lambda: np.zeros((0, 0)), repr=False)  # (M, R) strengths, 0 = absent
    supports: IntArray = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)  # (M,)

    @property
    def regions(self) -> tuple[str, ...]:
        """The names of the R regions."""
        return tuple(self.sets)

    @property
    def optional(self) -> tuple[str, ...]:
        """The regions that some explanation leaves out; the others are persistent."""
        return tuple(np.array(self.regions)[~np.all(self.present, axis=0)].tolist())

    @property
    def n_explanations(self) -> int:
        """Explanations are 0 .. n_explanations - 1."""
        return len(self.locations) if self.bank is None else self.bank.size

    @property
    def digest(self) -> str:
        """SHA-256 of the content of the view, in hexadecimal: of its bank, or of the hashes of its arrays."""
        return content_hash(self.encode(array_digest)) if self.bank is None else self.bank.digest

    def locate(self, index: ArrayLike) -> IntArray:
        """(k,) -> (k, R): the local number of the active element or set, -1 where the region is absent."""
        return self.locations[self._rows(index)] if self.bank is None else self.bank.choice(index)

    def strengths(self, index: ArrayLike) -> Array:
        r"""(k,) -> (k, R): the represented strength :math:`\lambda_R(e)`, 0 where the region is absent."""
        return self.represented[self._rows(index)] if self.bank is None else self.bank.region_strengths(index)

    def support(self, index: ArrayLike) -> IntArray:
        """(k,) -> (k,): explanations with the same support share a number."""
        return self.supports[self._rows(index)] if self.bank is None else self.bank.split(index).support

    def persistent_only(self, index: ArrayLike) -> BoolArray:
        """(k,) -> (k,): true if no optional region is present."""
        has_optional: BoolArray = np.any(self.present[:, ~np.all(self.present, axis=0)], axis=1)  # (supports,)
        return np.logical_not(has_optional[self.support(index)])

    def _rows(self, index: ArrayLike) -> IntArray:
        return check_indices("index", index, len(self.locations))

    def check_bank(self, bank: Bank | None) -> None:
        """Raise if the view is of another bank; a view that the user lists has no bank to compare."""
        if self.bank is not None and bank is not self.bank and (bank is None or bank.digest != self.digest):
            raise MisuseError("question", "be about the bank of the protocol", "a view of another bank")

    def encode(self, array: ArrayWriter = array_json) -> dict[str, object]:
        """The content of the view without its bank, which a document holds elsewhere."""
        if self.bank is not None:
            return {"kind": "bank"}
        places = [(region, places.coordinates) for region, places in self.sets.items()]
        return {
            "kind": "table",
            "elements": [[region, list(places.ids)] for region, places in self.sets.items()],
            "locations": array(self.locations),
            "strengths": array(self.represented),
            "coordinates": [[region, array(points)] for region, points in places if points is not None],
        }


def bank_regions(bank: Bank) -> RegionalView:
    """The regions of a library bank, with the names and coordinates of its library, whatever the setting."""
    states = bank.states
    library = states.library
    check_size("explanations that are asked about", bank.size, _MOST_EXPLANATIONS)
    if library is None:
        remedy = "Give the columns yourself with table_regions."
        raise MisuseError("bank", "have states drawn from a library", "dictionaries alone", remedy)
    sets: dict[str, RegionPlaces] = {}
    for region, subsets in zip(states.regions, states.sets, strict=False):
        numbers = library.members(region)
        extents = None if library.extents is None else library.extents[numbers]
        places = library.places(numbers)
        is_circle = extents is None and closes_circle(places, library.unit)
        ids = tuple(library.ids[i] for i in numbers)
        sets[region] = RegionPlaces(ids, places, subsets, extents, is_circle=is_circle)
    return RegionalView(sets, bank.region_levels > 0.0, bank)


def region_distances(view: RegionalView, region: str) -> Array:
    """(m, m) of the places of a region, all of them at once."""
    places = view.sets[region]
    every = np.arange(places.subsets.size)
    return places.between(every, every)


def listed_regions(
    elements: Mapping[str, Sequence[str]],
    locations: ArrayLike,
    strengths: ArrayLike,
    places: Mapping[str, ArrayLike] | None = None,
) -> RegionalView:
    """Regions of explanations that the user lists; `table_regions` makes a view from columns of names.

    elements: of each region, in the order of the columns.  locations: (M, R) local element numbers, -1 = absent.
    strengths: (M, R), 0 exactly where absent.  places: region -> (m, d).
    """
    located = _check_locations(locations, elements)
    represented = _check_strengths(strengths, located)
    given = places or {}
    points = {
        region: read_only(check_array(f"places[{region!r}]", value, (len(elements[region]), None)))
        for region, value in given.items()
    }
    is_there = located >= 0
    _, first, supports = np.unique(np.packbits(is_there, axis=1), axis=0, return_index=True, return_inverse=True)
    sets = {
        region: RegionPlaces(tuple(names), points.get(region), Subsets(len(names), 1, 1))
        for region, names in elements.items()
    }
    columns = read_only(located), read_only(represented), read_only(supports.reshape(-1).astype(np.int64))
    return RegionalView(sets, is_there[first], None, *columns)


def table_regions(
    columns: Mapping[str, Sequence[str | None]],
    *,
    coordinates: Mapping[str, Mapping[str, ArrayLike]] | None = None,
    strengths: Mapping[str, ArrayLike] | None = None,
) -> RegionalView:
    """A view of explanations written out: for each region, the name of every explanation's element or None.

    coordinates: region -> element -> a number or (d,); then the region's elements are these, in this order.  Without,
    they are those that occur, in order of appearance.  strengths: region -> (M,), 1 where nothing is said.

    >>> view = table_regions({"left": ["a", "b", "a"], "right": ["c", None, None]})
    >>> view.optional, view.locate([1, 2]).tolist()
    (('right',), [[1, -1], [0, -1]])
    """
    if not columns:
        raise MisuseError("columns", "name at least one region", Clause("none is named"))
    places = {region: _stacked(region, points) for region, points in (coordinates or {}).items()}
    elements: dict[str, tuple[str, ...]] = {}
    located = list[IntArray]()
    represented = list[Array]()
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
    return listed_regions(elements, np.column_stack(located), np.column_stack(represented), places)


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
        shapes = [row.shape for row in rows]
        raise MisuseError(f"coordinates[{region!r}]", "have the same number of entries each", shapes)
    return np.stack(rows)


def grid_edges(bank: Bank, index: IntArray, *, has_strengths: bool = False) -> list[dict[str, object]]:
    """Parameters, nuisances and places along a line of which explanations (k,) have the lowest or the highest value.

    An entry each: `of` what, the `value`, and which `end`.  Nothing is said about a grid of one value, or of which all
    values are left: there is no end that would be touched by chance.  has_strengths: whether rows are as strong as
    explanations say, so that the strengths of a region are a grid, too; their ends come last.
    """
    if not len(index):
        return []
    edges = list[dict[str, object]]()
    for name, values, left in _grids(bank, index, has_strengths):
        distinct = np.unique(values)
        if len(distinct) < 2 or len(np.unique(left)) == len(distinct):
            continue
        for end, value in (("lowest", distinct[0]), ("highest", distinct[-1])):
            if value in left:
                edges.append({"of": name, "value": float(value), "end": end})
    return edges


def _grids(bank: Bank, index: IntArray, has_strengths: bool) -> Iterator[tuple[str, Array, Array]]:
    """The name of every grid, all of its values, and those of some explanations."""
    states = bank.states
    columns = bank.split(index)
    if states.n_states <= _MOST_STATES:
        settings = [states.setting(state) for state in np.unique(columns.state).tolist()]
        for name, values in states.parameter_values.items():
            yield name, values, np.array([setting[name] for setting in settings])
    if states.library is not None:
        yield from _lines(bank, index)
    for part, grid, column in (
        ("calibration", bank.calibration, columns.calibration),
        ("deployment", bank.deployment, columns.deployment),
    ):
        for name in grid.names:
            values = grid.column(name)
            yield f"{part} {name}", values, values[np.unique(column)]
    if has_strengths and states.library is not None:
        kept = bank.strengths[np.unique(columns.support)]
        for region, block in zip(states.regions, states.blocks, strict=True):
            left = kept[:, block][kept[:, block] > 0.0]
            if left.size:
                yield f"strengths of region {region}", bank.strengths[:, block][bank.strengths[:, block] > 0.0], left


def _lines(bank: Bank, index: IntArray) -> Iterator[tuple[str, Array, Array]]:
    """Coordinates of regions that lie along a line; a circle has no end."""
    view = bank_regions(bank)
    located = view.locate(index)
    for number, region in enumerate(view.regions):
        places = None if view.sets[region].is_circle else view.sets[region].points
        chosen = np.unique(located[:, number])
        chosen = chosen[chosen >= 0]
        if places is not None and places.shape[1] == 1 and len(np.unique(places)) >= _LEAST_PLACES and chosen.size:
            yield f"region {region}", places[:, 0], places[chosen, 0]
