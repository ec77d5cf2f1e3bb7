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

    Of places: differences, squares, sums in the order of the coordinates, and square roots, each rounded to nearest;
    the same to the last bit on every machine, so that a report can leave them out.
    """

    size: int
    places: Array | None = None  # (m, d)
    given: Array | None = None  # (m, m)

    def between(self, some: IntArray, others: IntArray) -> Array:
        """(k, l) from some elements to others."""
        if self.given is not None:
            return self.given[np.ix_(some, others)]
        if self.places is None:
            return np.not_equal.outer(some, others).astype(np.float64)
        return _between(self.places[some], self.places[others])

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
        step, found = max(1, _BLOCK // self.size), np.zeros(self.size)
        for start in range(0, len(chosen), step):
            np.maximum(found, self.rows(chosen[start : start + step]).max(axis=0), out=found)
        return found

    def spread(self, chosen: IntArray) -> float:
        """Largest distance between two of those chosen; 0 for fewer than two."""
        if len(chosen) < 2:
            return 0.0
        if self.given is not None:
            # Whole rows first: these lie together in memory, which a submatrix does not.
            return float(self.given[chosen].max(axis=0)[chosen].max())
        return 1.0 if self.places is None else _diameter(self.places[chosen])

    @property
    def is_finite(self) -> bool:
        """Whether all of them are; places may be too far apart for a number."""
        everything = np.arange(self.size)
        return self.places is None or bool(np.isfinite(self.spread(everything)))

    def digest(self) -> str:
        """SHA-256 of all distances, row by row."""
        return pieces_hash(*self.blocks())


def _between(some: Array, others: Array) -> Array:
    """(k, m) from points (k, d) to points (m, d)."""
    total = np.zeros((len(some), len(others)))
    with np.errstate(over="ignore"):  # what is too far apart is told where distances are checked
        for mine, theirs in zip(some.T, others.T, strict=True):
            apart = mine[:, None] - theirs
            apart *= apart
            total += apart
    return np.sqrt(total, out=total)


def _diameter(points: Array) -> float:
    """The largest distance: of those points alone that can have it, as d(i, j) <= r_i + r_j around any centre."""
    first = _between(points[:1], points)[0]
    far = _between(points[[first.argmax()]], points)[0].max()
    with np.errstate(over="ignore", invalid="ignore"):
        radii = _between(points.mean(axis=0)[None], points)[0]
        may = ~((radii + radii.max()) * (1.0 + _ROUNDING) < far)  # also where a radius is no number
    left = points[may]
    step = max(1, _BLOCK // len(left))
    return float(max(_between(left[start : start + step], left).max() for start in range(0, len(left), step)))
