"""How far the elements of a region are apart, worked out where it is needed: all at once may fill a memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from .._hashes import pieces_hash
from .._typing import Array, IntArray

# Distances that are held in memory at a time.
_BLOCK = 2**21

# Far more than rounding changes a distance, as a part of it.
_ROUNDING = 1e-12


@final
@dataclass(frozen=True, slots=True, eq=False)
class Spacing:
    """Distances of m elements: as given, else of their places, else 1 between any two.

    Of elements that are cells, the largest distance of a place in one from a place in the other; 0 of the same cell.

    Of places: differences, squares, sums in the order of the coordinates, and square roots, each rounded to nearest;
    the same to the last bit on every machine, so that a report can leave them out.
    """

    size: int
    places: Array | None = None  # (m, d)
    distances: Array | None = None  # (m, m)
    extents: Array | None = None  # (m, d) half the sides of cells

    def between(self, some: IntArray, others: IntArray) -> Array:
        """(k, l) from some elements to others."""
        if self.distances is not None:
            return self.distances[np.ix_(some, others)]
        if self.places is None:
            return np.not_equal.outer(some, others).astype(np.float64)
        if self.extents is None:
            return _between(self.places[some], self.places[others])
        apart = _between(self.places[some], self.places[others], self.extents[some], self.extents[others])
        apart[np.equal.outer(some, others)] = 0.0
        return apart

    def size_of(self, number: int) -> float:
        """The largest distance within one element: 0, or the diagonal of a cell."""
        return 0.0 if self.extents is None else float(np.linalg.norm(2.0 * self.extents[number]))

    def hull(self, chosen: IntArray) -> list[list[float]] | None:
        """The smallest box around cells, (low, high) of every coordinate; None of points, and of no cells."""
        if self.extents is None or self.places is None or not len(chosen):
            return None
        low, high = self.places[chosen] - self.extents[chosen], self.places[chosen] + self.extents[chosen]
        return [[float(a), float(b)] for a, b in zip(low.min(axis=0), high.max(axis=0), strict=True)]

    def rows(self, chosen: IntArray) -> Array:
        """(k, m) from the elements chosen to all."""
        return self.between(chosen, np.arange(self.size))

    def row(self, number: int) -> Array:
        """(m,) from one element to all."""
        return np.asarray(self.rows(np.array([number]))[0])

    def blocks(self) -> Iterator[Array]:
        """All rows, some at a time."""
        step = max(1, _BLOCK // self.size)
        return (self.rows(np.arange(start, min(start + step, self.size))) for start in range(0, self.size, step))

    def reach(self, chosen: IntArray) -> Array:
        """(m,) from every element to the farthest of those chosen, at least one."""
        step, farthest = max(1, _BLOCK // self.size), np.zeros(self.size)
        for start in range(0, len(chosen), step):
            np.maximum(farthest, self.rows(chosen[start : start + step]).max(axis=0), out=farthest)
        return farthest

    def spread(self, chosen: IntArray) -> float:
        """Largest distance between two of those chosen; 0 for fewer than two."""
        if len(chosen) < 2:
            return 0.0
        if self.distances is not None:
            # Whole rows first: these lie together in memory, which a submatrix does not.
            return float(self.distances[chosen].max(axis=0)[chosen].max())
        if self.places is None:
            return 1.0
        return _diameter(self.places[chosen], None if self.extents is None else self.extents[chosen])

    @property
    def is_finite(self) -> bool:
        """Whether all of them are; places may be too far apart for a number."""
        everything = np.arange(self.size)
        return self.places is None or bool(np.isfinite(self.spread(everything)))

    def digest(self) -> str:
        """SHA-256 of all distances, row by row."""
        return pieces_hash(*self.blocks())


def _between(some: Array, others: Array, extents: Array | None = None, other_extents: Array | None = None) -> Array:
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
    first = _between(points[:1], points)[0]
    far = _between(points[[first.argmax()]], points)[0].max()
    own = 0.0 if extents is None else np.linalg.norm(extents, axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        radii = _between(points.mean(axis=0)[None], points)[0] + own
        may = ~((radii + radii.max()) * (1.0 + _ROUNDING) < far)  # also where a radius is no number
    left, sides = points[may], None if extents is None else extents[may]
    step, largest = max(1, _BLOCK // len(left)), 0.0
    for start in range(0, len(left), step):
        part = slice(start, start + step)
        apart = _between(left[part], left, None if sides is None else sides[part], sides)
        if sides is not None:
            apart[np.arange(len(apart)), np.arange(start, start + len(apart))] = 0.0
        largest = max(largest, float(apart.max()))
    return largest
