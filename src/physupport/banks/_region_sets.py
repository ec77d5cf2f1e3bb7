"""The places of a region: its elements, or sets of these; and how far they lie apart."""

from dataclasses import dataclass, field
from functools import reduce
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import read_only_view
from .._errors import MisuseError
from .._hashes import pieces_hash
from .._typing import Array, BoolArray, IntArray
from ._library import JOINT
from ._spacing import Spacing
from ._states import check_size
from ._subsets import Subsets

# Sets that are asked about have names and counts; more would not fit the memory of one machine.
_MOST_SETS = 2**24


@final
@dataclass(frozen=True, slots=True, eq=False)
class RegionSets:
    r"""The places of a region: unordered sets of its elements, in the order of `Subsets`; often of one element each.

    Distances are those of Hausdorff, :math:`\max(\max_{s\in S}d(s,T),\max_{t\in T}d(t,S))` with the distance of an
    element from a set that of its nearest member.  There is no matrix of all pairs of sets.
    """

    ids: tuple[str, ...]  # (p,) of the elements
    coordinates: Array | None = field(repr=False)  # (p, d); None of names alone
    subsets: Subsets
    extents: Array | None = field(default=None, repr=False)  # (p, d) half the sides of elements that are cells
    members: IntArray = field(init=False, repr=False)  # (m, high) elements of each set, padded with -1
    _columns: tuple[IntArray, ...] = field(init=False, repr=False)  # high of them, (m,) each

    def __post_init__(self) -> None:
        check_size("sets of a region that is asked about", self.subsets.size, _MOST_SETS)
        for name in self.ids:
            if JOINT in name and not self.is_single:
                raise MisuseError("ids", f"be without {JOINT!r} where a region has sets of them", repr(name))
        members = read_only_view(self.subsets.members(np.arange(self.subsets.size)))
        object.__setattr__(self, "members", members)
        # Each column in one piece, which is what reading along it wants.
        object.__setattr__(self, "_columns", tuple(np.ascontiguousarray(column) for column in members.T))

    @property
    def is_single(self) -> bool:
        """Whether every place is one element, and so has its number."""
        return self.subsets.is_single

    @property
    def names(self) -> tuple[str, ...]:
        """(m,) such as a + b."""
        if self.is_single:
            return self.ids
        return tuple([JOINT.join([self.ids[i] for i in row if i >= 0]) for row in self.members.tolist()])

    @property
    def points(self) -> Array | None:
        """(m, d) where places lie; None of names alone, and of sets, which lie in several points."""
        return self.coordinates if self.is_single else None

    def spacing(self, distances: Array | None = None) -> "Spacing | SetSpacing":
        """How far places are apart: by distances (p, p) of the elements, or by where these lie; else any two are 1."""
        if not self.is_single:
            return SetSpacing(self, distances)
        if distances is not None:
            return Spacing(len(self.ids), distances=distances)
        return Spacing(len(self.ids), self.coordinates, extents=self.extents)

    def within(self, ids: ArrayLike) -> BoolArray:
        """(m,) the sets all of whose elements are among these."""
        is_in = np.append(np.isin(np.array(self.ids), np.array(ids)), True)  # what is not there is -1, the last entry
        return np.asarray(is_in[self.members].all(axis=1))

    def distances(self, one: int, between: Array) -> Array:
        """(m,) of all sets from one of them.  between: (p, p) distances of the elements."""
        inside = self.members[one][self.members[one] >= 0]
        away = np.append(between[inside].min(axis=0), 0.0)  # (p + 1,) of every element from this set; -1 is no element
        farthest = reduce(np.maximum, (away.take(column) for column in self._columns))  # (m,) of the elements of others
        for row in np.pad(between[inside], ((0, 0), (0, 1)), constant_values=np.inf):
            # An element of this set from the nearest of every other set.
            np.maximum(farthest, reduce(np.minimum, (row.take(column) for column in self._columns)), out=farthest)
        return np.asarray(farthest)

    def spread(self, chosen: ArrayLike, between: Array) -> float:
        """Largest distance of two of these sets.

        It is the largest distance of an element of any of them from another of them, so elements are compared with
        sets, and not sets with sets.
        """
        columns = [column[np.asarray(chosen, dtype=np.int64)] for column in self._columns]  # high of them, (k,) each
        elements = np.unique(columns)
        rows = np.pad(between[elements[elements >= 0]], ((0, 0), (0, 1)), constant_values=np.inf)
        nearest = (reduce(np.minimum, (row.take(column) for column in columns)) for row in rows)
        return max((float(row.max()) for row in nearest), default=0.0)


@final
@dataclass(frozen=True, slots=True, eq=False)
class SetSpacing:
    """How far the sets of a region are apart, in the form of `Spacing`; worked out a row at a time."""

    sets: RegionSets
    distances: Array | None = None  # (p, p) of the elements, else those of their coordinates
    _between: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        count = len(self.sets.ids)
        object.__setattr__(self, "_between", self._elements.rows(np.arange(count)))

    @property
    def _elements(self) -> Spacing:
        return Spacing(len(self.sets.ids), self.sets.coordinates, self.distances, self.sets.extents)

    @property
    def size(self) -> int:
        """The number of sets."""
        return self.sets.subsets.size

    @property
    def places(self) -> Array | None:
        """Where the elements lie, if anybody said so."""
        return self.sets.coordinates

    def row(self, number: int) -> Array:
        """(m,) from one set to all."""
        return self.sets.distances(number, self._between)

    def between(self, some: IntArray, others: IntArray) -> Array:
        """(k, l) from some sets to others."""
        return np.array([self.row(number)[others] for number in some.tolist()]).reshape(len(some), len(others))

    def reach(self, chosen: IntArray) -> Array:
        """(m,) from every set to the farthest of those chosen, at least one."""
        return np.asarray(reduce(np.maximum, map(self.row, chosen.tolist())))

    def spread(self, chosen: IntArray) -> float:
        """Largest distance between two of those chosen; 0 for fewer than two."""
        return self.sets.spread(chosen, self._between)

    def hull(self, chosen: IntArray) -> list[list[float]] | None:
        """The smallest box around the cells of all these sets; None of points."""
        members = np.unique(self.sets.members[chosen])
        return self._elements.hull(members[members >= 0])

    def size_of(self, number: int) -> float:
        """The largest of an element of the set: 0, or the diagonal of a cell."""
        members = self.sets.members[number]
        return max(map(self._elements.size_of, members[members >= 0].tolist()))

    @property
    def is_finite(self) -> bool:
        """Whether all of them are; places may be too far apart for a number."""
        return bool(np.isfinite(self._between).all())

    def digest(self) -> str:
        """SHA-256 of the distances of the elements, from which all others follow."""
        return pieces_hash(self._between)
