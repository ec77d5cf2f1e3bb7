"""The places of a region, which are its elements or sets of these, and how far they lie apart."""

from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, read_only_view
from .._errors import MisuseError
from .._hashes import pieces_hash
from .._typing import Array, BoolArray, IntArray
from ._library import JOINT
from ._states import Subsets, check_size

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
