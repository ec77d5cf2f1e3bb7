"""Libraries of physical elements, and the dictionary states that take elements of a library from every region.

The places of a region are its elements or sets of these, with how far they lie apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import (
    check_array,
    check_counts,
    check_distinct,
    check_texts,
    check_unit_columns,
    check_unit_norms,
    read_only,
    read_only_view,
)
from .._codec import pieces_hash
from .._errors import Clause, MisuseError
from .._typing import Array, BoolArray, IntArray
from ..io import Axis, as_reader_output, check_apart, in_order, is_numbering, matches, order_of
from ..responses import Settings
from ._circle import circle_distances
from ._states import Nuisances, States, Subsets, check_size, frozen

# Of regions that may have several elements at once, how many at most, or (least, most).
Counts: TypeAlias = Mapping[str, int | tuple[int, int]]

# Joins the names of elements to that of a set.
JOINT = " + "


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
    responses: Array = field(repr=False)  # (q, E), unit columns; names along its axes are matched to ids and channels
    unit: str = ""  # of the coordinates, and so of distances; degrees may close a circle
    extents: Array | None = field(default=None, repr=False)  # (E, d) half the sides of elements that are cells
    variants: Array | None = field(default=None, repr=False)  # (V, q, E) further unit columns, which mix with those
    channels: tuple[str, ...] | None = field(default=None, repr=False)  # (q,) names, to which those of rows are matched
    _members: dict[str, IntArray] = field(init=False, repr=False)  # of each region, in the order of the library

    def __post_init__(self) -> None:
        ids = check_texts("ids", self.ids)
        regions = check_texts("regions", self.regions)
        if not ids:
            raise MisuseError("ids", "name at least one element", Clause("none is named"))
        check_distinct("ids", ids)
        check_apart("ids", ids)
        check_apart("regions", tuple(dict.fromkeys(regions)))
        if len(regions) != len(ids):
            raise MisuseError("regions", f"name one region for each of the {len(ids)} ids", f"{len(regions)} regions")
        if not isinstance(self.unit, str):
            raise MisuseError("unit", "be a text", repr(self.unit))
        members: dict[str, list[int]] = {}
        for number, region in enumerate(regions):
            members.setdefault(region, []).append(number)
        found = {region: read_only(np.array(numbers), np.int64) for region, numbers in members.items()}
        for name, value in {"ids": ids, "regions": regions, "_members": found}.items():
            object.__setattr__(self, name, value)
        self._check_arrays()

    def _check_arrays(self) -> None:
        """Check all arrays against the ids, and keep read-only copies in the order of ids and channels."""
        held = as_reader_output("responses", self.responses)
        ids = Axis("elements", self.ids, "ids")
        channels = self.channels
        if channels is not None:
            channels = check_texts("channels", channels)
        else:  # those along the axis of the responses that is not that of the ids
            first, second = (*held.headings, None, None)[:2]
            names = second if matches(ids, first) and not matches(ids, second) else first
            channels = None if names is None or is_numbering(names) else names
        ordered = in_order("responses", held, (Axis("channels", channels, "channels"), ids))
        responses = check_unit_columns("responses", ordered)
        if responses.shape[1] != len(self.ids):
            rule = f"have one column for each of the {len(self.ids)} ids"
            raise MisuseError("responses", rule, f"shape {responses.shape}")
        if channels is not None and len(responses) not in (len(channels), 2 * len(channels)):  # pairs (Re, Im)
            raise MisuseError("channels", f"name each of the {len(responses)} channels", f"{len(channels)} names")
        arrays = {
            "coordinates": check_array("coordinates", self.coordinates, (len(self.ids), None)),
            "responses": responses,
        }
        if self.extents is not None:
            arrays["extents"] = check_array("extents", self.extents, arrays["coordinates"].shape)
            if arrays["extents"].min() < 0.0:
                raise MisuseError("extents", "be at least 0", arrays["extents"].min())
        if self.variants is not None:
            variants = check_array("variants", self.variants, (None, *responses.shape))
            arrays["variants"] = check_unit_norms("variants", variants, ("variant", "element"))
        object.__setattr__(self, "channels", channels)
        for name, array in arrays.items():
            object.__setattr__(self, name, frozen(array))

    @property
    def region_names(self) -> tuple[str, ...]:
        """The regions in the order in which elements first name them."""
        return tuple(self._members)

    def __repr__(self) -> str:
        where = f", places in {self.unit}" if self.unit else ""
        shape = f"{len(self.ids)} elements in {', '.join(self.region_names)}, {len(self.responses)} channels"
        return f"Library({shape}{where})"

    def places(self, chosen: IntArray) -> Array | None:
        """(k, d) where some elements lie; None if elements are names alone."""
        return self.coordinates[chosen] if self.coordinates.shape[1] else None

    def members(self, region: str) -> IntArray:
        """The elements of a region, in the order of the library."""
        if region not in self._members:
            known = ", ".join(map(repr, self.region_names))
            raise MisuseError("region", f"hold at least one element (regions: {known})", repr(region))
        return self._members[region]


def library_states(
    library: Library,
    regions: Sequence[str],
    extra: ArrayLike = (),
    counts: Counts | None = None,
    settings: Settings | None = None,
) -> States:
    """Every choice of elements from each region, the first region slowest, and columns shared by all states.

    regions: which, in which order.  extra: (q, m) shared columns, none unless given, such as an atom that only the
    calibration meets; they come after the atoms of the regions.  counts: how many elements a region has at
    most, or (least, most); one each unless given.

    settings: K of calibration parameters, the slowest of all: setting k and choice c are state k * choices + c.  In
    setting k element e of the library is element k * E + e: another response, the same physical thing.  The nominal
    responses of the library are then no state unless some setting has them.  Without, there is one setting, the nominal
    one.  Shared columns are the same in every setting, and the last elements.
    """
    names = tuple(regions)
    if not names:
        raise MisuseError("regions", "name at least one region", Clause("none is named"))
    check_distinct("regions", names)
    q = len(library.responses)
    shared = check_unit_columns("extra", extra if np.size(extra) else np.zeros((q, 0)), q)
    grid, columns = _in_settings(library, settings)
    members = {name: library.members(name) for name in names}
    sets = _sets_of(counts or {}, members)
    n_shared = shared.shape[1]
    own = np.arange(columns.shape[1]).reshape(len(grid), -1)  # (K, E)
    last = np.broadcast_to(columns.shape[1] + np.arange(n_shared), (len(grid), n_shared))
    return States(
        elements=frozen(np.hstack([columns, shared])),
        table=read_only(np.hstack([own, last]), np.int64),
        members=(*members.values(), *(own.shape[1] + np.arange(n_shared))[:, None]),
        sets=(*sets, *[Subsets(1, 1, 1)] * n_shared),
        library=library,
        regions=names,
        grid=grid,
        has_settings=settings is not None,
    )


def _in_settings(library: Library, settings: Settings | None) -> tuple[Nuisances, Array]:
    """The settings, and (q, K * E) the responses in one after the other; the nominal ones where none are given."""
    if settings is None:
        return Nuisances(), library.responses
    if library.variants is not None:
        rule = "be left out for elements with several columns that mix, which are those of one setting"
        raise MisuseError("settings", rule, ", ".join(settings.names) or "one setting")
    q, count = library.responses.shape
    grid = Nuisances(settings.names, settings.values)
    responses = check_array("responses", settings.responses, (len(grid), q, count))
    axes = (Axis("channels", library.channels, "the library"), Axis("elements", library.ids, "the library"))
    orders = [order_of("settings", axis, names) for axis, names in zip(axes, settings.headings, strict=True)]
    if orders[0] is not None and len(orders[0]) == q:  # not of pairs (Re, Im)
        responses = responses[:, orders[0]]
    if orders[1] is not None:
        responses = responses[:, :, orders[1]]
    check_unit_norms("responses", responses, ("setting", "element"))
    return grid, responses.transpose(1, 0, 2).reshape(q, -1)


def _sets_of(counts: Counts, members: Mapping[str, IntArray]) -> list[Subsets]:
    """The sets of elements that each region may have, by its elements; a single number is the most."""
    for name in counts:
        if name not in members:
            raise MisuseError("counts", f"name regions of the bank ({', '.join(map(repr, members))})", repr(name))
    found = []
    for region, numbers in members.items():
        least, most = check_counts(f"count of region {region!r}", counts.get(region, 1), len(numbers))
        found.append(Subsets(len(numbers), least, most))
    return found


# Distances that are held in memory at a time.
_BLOCK = 2**21
# Far more than rounding changes a distance, as a part of it.
_ROUNDING = 1e-12
# Sets that are asked about have names and counts; more would not fit the memory of one machine.
_MOST_SETS = 2**24


@final
@dataclass(frozen=True, eq=False)
class RegionPlaces:
    r"""The places of a region: unordered sets of its elements, in the order of `Subsets`; often of one element each.

    Distances are worked out where they are needed: all at once may fill a memory.  Between elements: as given, else
    those of their coordinates, else 1 between any two.  Between elements that are cells: the largest distance of a
    point in one from a point in the other; 0 within the same cell.  Differences, squares, sums in the order of the
    coordinates, and square roots are each rounded to nearest: the same to the last bit on every machine, so that a
    report can leave them out.

    Between sets of elements: :math:`\max(\max_{s\in S}d(s,T),\max_{t\in T}d(t,S))`, the distance of Hausdorff, with
    the distance of an element from a set that of its nearest member.  There is no matrix of all pairs of sets.
    """

    ids: tuple[str, ...]  # (p,) of the elements
    coordinates: Array | None = field(repr=False)  # (p, d); None of names alone
    subsets: Subsets
    extents: Array | None = field(default=None, repr=False)  # (p, d) half the sides of elements that are cells
    distances: Array | None = field(default=None, repr=False)  # (p, p) of the elements, where they are given
    is_circle: bool = False  # distances go the shorter way around

    def __post_init__(self) -> None:
        check_size("sets of a region that is asked about", self.subsets.size, _MOST_SETS)
        for name in self.ids:
            if JOINT in name and not self.is_single:
                raise MisuseError("ids", f"be without {JOINT!r} where a region has sets of them", repr(name))

    @property
    def is_single(self) -> bool:
        """True if every place is one element, and so has its number."""
        return self.subsets.high == 1

    def with_distances(self, distances: Array) -> "RegionPlaces":
        """The same places with distances (p, p) of the elements, which take the place of their coordinates."""
        return replace(self, distances=distances, extents=None if self.is_single else self.extents)

    @cached_property
    def members(self) -> IntArray:
        """(m, high) the elements of each place, padded with -1."""
        return read_only_view(self.subsets.members(np.arange(self.subsets.size)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """(m,) such as a + b."""
        if self.is_single:
            return self.ids
        return tuple([JOINT.join([self.ids[i] for i in row if i >= 0]) for row in self.members.tolist()])

    @property
    def points(self) -> Array | None:
        """(m, d) where places lie; None of names alone, and of sets, which lie in several points."""
        return self.coordinates if self.is_single else None

    def within(self, ids: ArrayLike) -> BoolArray:
        """(m,) true for the sets all of whose elements are among these."""
        is_in = np.append(np.isin(np.array(self.ids), np.array(ids)), True)  # what is not there is -1, the last entry
        return np.asarray(is_in[self.members].all(axis=1))

    @cached_property
    def _columns(self) -> tuple[IntArray, ...]:
        """The elements of sets, `high` columns of (m,), each in one piece, as reading along it wants."""
        return tuple(np.ascontiguousarray(column) for column in self.members.T)

    @cached_property
    def _element_distances(self) -> Array:
        """(p, p) of the elements of sets."""
        every = np.arange(len(self.ids))
        return self._of_elements(every, every)

    def _of_elements(self, some: IntArray, others: IntArray) -> Array:
        """(k, l) from some elements to others."""
        if self.distances is not None:
            return self.distances[np.ix_(some, others)]
        if self.coordinates is None:
            return np.not_equal.outer(some, others).astype(np.float64)
        if self.is_circle:
            return circle_distances(self.coordinates[some], self.coordinates[others])
        if self.extents is None:
            return point_distances(self.coordinates[some], self.coordinates[others])
        ends = (self.extents[some], self.extents[others])
        apart = point_distances(self.coordinates[some], self.coordinates[others], *ends)
        apart[np.equal.outer(some, others)] = 0.0
        return apart

    def between(self, some: IntArray, others: IntArray) -> Array:
        """(k, l) from some places to others."""
        if self.is_single:
            return self._of_elements(some, others)
        return np.array([self.row(number)[others] for number in some.tolist()]).reshape(len(some), len(others))

    def row(self, number: int) -> Array:
        """(m,) from one place to all."""
        if self.is_single:
            return np.asarray(self._of_elements(np.array([number]), np.arange(len(self.ids)))[0])
        inside = self._element_distances[self._elements(np.array([number]))]  # (k, p)
        away = np.append(inside.min(axis=0), 0.0)  # (p + 1,) of every element from this set; -1 is no element
        farthest = reduce(np.maximum, (away.take(column) for column in self._columns))  # (m,) of the elements of others
        for row in np.pad(inside, ((0, 0), (0, 1)), constant_values=np.inf):
            # An element of this set from the nearest of every other set.
            np.maximum(farthest, reduce(np.minimum, (row.take(column) for column in self._columns)), out=farthest)
        return np.asarray(farthest)

    def reach(self, chosen: IntArray) -> Array:
        """(m,) from every place to the farthest of those chosen, at least one."""
        every = np.arange(self.subsets.size)
        step = max(1, _BLOCK // len(every))
        farthest = np.zeros(len(every))
        for start in range(0, len(chosen), step):
            np.maximum(farthest, self.between(chosen[start : start + step], every).max(axis=0), out=farthest)
        return farthest

    def spread(self, chosen: IntArray) -> float:
        """Largest distance between two of the places chosen; 0 for fewer than two.

        Of sets it is the largest distance of an element of any of them from another of them, so elements are compared
        with sets, and not sets with sets.
        """
        if len(chosen) < 2:
            return 0.0
        if not self.is_single:
            columns = [column[chosen] for column in self._columns]  # high of them, (k,) each
            rows = np.pad(self._element_distances[self._elements(chosen)], ((0, 0), (0, 1)), constant_values=np.inf)
            return max(float(reduce(np.minimum, (row.take(column) for column in columns)).max()) for row in rows)
        if self.distances is not None:
            # Whole rows first: these lie together in memory, which a submatrix does not.
            return float(self.distances[chosen].max(axis=0)[chosen].max())
        if self.coordinates is None:
            return 1.0
        if self.is_circle:
            return float(self._of_elements(chosen, chosen).max())
        return _diameter(self.coordinates[chosen], None if self.extents is None else self.extents[chosen])

    def _elements(self, chosen: IntArray) -> IntArray:
        """The distinct elements of some places."""
        found = np.unique(self.members[chosen])
        return found[found >= 0]

    def size_of(self, number: int) -> float:
        """The largest distance within an element of a place: 0, or the diagonal of a cell."""
        if self.extents is None:
            return 0.0
        return max(float(np.linalg.norm(2.0 * self.extents[e])) for e in self._elements(np.array([number])).tolist())

    def hull(self, chosen: IntArray) -> list[list[float]] | None:
        """The smallest box around cells, (low, high) of every coordinate; None of points, and of no cells."""
        if self.extents is None or self.coordinates is None or not len(chosen):
            return None
        elements = self._elements(chosen)
        low = (self.coordinates[elements] - self.extents[elements]).min(axis=0)
        high = (self.coordinates[elements] + self.extents[elements]).max(axis=0)
        return [list(ends) for ends in zip(low.tolist(), high.tolist(), strict=True)]

    @property
    def is_finite(self) -> bool:
        """True unless some coordinates are too far apart for a number."""
        if self.coordinates is None or self.distances is not None:
            return True
        return bool(np.isfinite(_diameter(self.coordinates, self.extents)))

    def digest(self) -> str:
        """SHA-256 of the distances of all elements, row by row; those of sets follow from them."""
        step = max(1, _BLOCK // len(self.ids))
        every = np.arange(len(self.ids))
        return pieces_hash(*(self._of_elements(every[i : i + step], every) for i in range(0, len(every), step)))


def point_distances(
    some: Array, others: Array, extents: Array | None = None, other_extents: Array | None = None
) -> Array:
    """(k, m) from points (k, d) to points (m, d), or from cells around these to cells."""
    total = np.zeros((len(some), len(others)))
    with np.errstate(over="ignore"):  # what is too far apart is told where distances are checked
        for j, (column, other_column) in enumerate(zip(some.T, others.T, strict=True)):
            apart = column[:, None] - other_column
            if extents is not None and other_extents is not None:
                apart = np.abs(apart) + extents[:, j, None] + other_extents[:, j]
            apart *= apart
            total += apart
    return np.sqrt(total, out=total)


def _diameter(points: Array, extents: Array | None) -> float:
    """The largest distance: of those that can have it alone, as d(i, j) <= r_i + r_j around any centre.

    Within a radius is also half the diagonal of a cell.
    """
    if len(points) < 2:
        return 0.0
    first = point_distances(points[:1], points)[0]
    far = point_distances(points[[first.argmax()]], points)[0].max()
    own = 0.0 if extents is None else np.linalg.norm(extents, axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        radii = point_distances(points.mean(axis=0)[None], points)[0] + own
        may = ~((radii + radii.max()) * (1.0 + _ROUNDING) < far)  # also where a radius is no number
    left = points[may]
    sides = None if extents is None else extents[may]
    step = max(1, _BLOCK // len(left))
    largest = 0.0
    for start in range(0, len(left), step):
        part = slice(start, start + step)
        apart = point_distances(left[part], left, None if sides is None else sides[part], sides)
        if sides is not None:
            apart[np.arange(len(apart)), np.arange(start, start + len(apart))] = 0.0
        largest = max(largest, float(apart.max()))
    return largest


def check_distances(name: str, value: ArrayLike, size: int) -> Array:
    """A symmetric (size, size) matrix of nonnegative distances with a zero diagonal."""
    distances = check_array(name, value, (size, size))
    for rule, is_broken in {
        "be symmetric": distances != distances.T,
        "be nonnegative": distances < 0.0,
        "have a zero diagonal": np.diag(np.diag(distances) != 0.0),
    }.items():
        if is_broken.any():
            where = tuple(np.argwhere(is_broken)[0].tolist())
            raise MisuseError(name, rule, f"{distances[where]} at index {where}")
    return distances
