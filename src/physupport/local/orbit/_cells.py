"""Boxes of laws as columns, and how far apart the active atoms of two of them can be."""

from dataclasses import dataclass
from itertools import product
from typing import Self, final

import numpy as np

from ..._typing import Array, BoolArray, IntArray
from ...banks import projective_distances
from ._orbit import Orbit

# Distances of unit vectors, and sums of some numbers, err by some units of rounding.
ROUNDING = 1e-12


@final
@dataclass(frozen=True, slots=True, eq=False)
class LawCells:
    """Closed boxes that cover a part of an orbit's box."""

    lower: Array  # (m, d)
    upper: Array  # (m, d)

    def __len__(self) -> int:
        return len(self.lower)

    def __getitem__(self, chosen: BoolArray | IntArray) -> Self:
        return type(self)(self.lower[chosen], self.upper[chosen])

    def __add__(self, other: Self) -> Self:
        return type(self)(np.concatenate([self.lower, other.lower]), np.concatenate([self.upper, other.upper]))

    @property
    def corners(self) -> Array:
        """(m, 2^d, d)."""
        return np.where(_sides(self.lower.shape[1]) > 0.0, self.upper[:, None], self.lower[:, None])

    def halves(self, axes: IntArray) -> Self:
        """Each cell cut in the middle of its axis; (2 m) of them, which cover what these do."""
        rows = np.arange(len(self))
        middle = 0.5 * (self.lower[rows, axes] + self.upper[rows, axes])
        lower, upper = self.lower.copy(), self.upper.copy()
        upper[rows, axes] = lower[rows, axes] = middle
        return type(self)(self.lower, upper) + type(self)(lower, self.upper)


def _sides(dimension: int) -> Array:
    """The corners of the unit cube, (2^d, d)."""
    return np.array(list(product((0.0, 1.0), repeat=dimension)))


def largest(corners: Array, rises: Array) -> tuple[Array, Array]:
    r"""Upper bounds, (m,), of a function on cells from its corners (m, 2^d) and what may rise above them, (m, d).

    Between the corners it is at most their interpolation, which lies below any plane above them, and for every axis
    :math:`g(1 - 4x^2)` more with :math:`x \in [-\tfrac12, \tfrac12]` and its rise g. The plane has the mean slopes b,
    so that an axis adds :math:`\max_x bx + g(1 - 4x^2)`: where it is steep, no more than its end does. The second
    array, (m, d), is what each axis adds beyond its end.
    """
    top = corners.max(axis=1)
    with np.errstate(invalid="ignore"):
        values = corners - top[:, None]
    sides = _sides(rises.shape[1]) - 0.5
    slopes = 4.0 * values @ sides / len(sides)
    ends = 0.5 * np.abs(slopes)
    height = np.max(values - slopes @ sides.T, axis=1) + ends.sum(axis=1)
    beyond = np.maximum(2.0 * rises - ends, 0.0) ** 2 / np.maximum(4.0 * rises, np.finfo(np.float64).tiny)
    bounds = top + height + beyond.sum(axis=1) + ROUNDING * np.abs(top)
    return np.where(np.isfinite(top), bounds, np.inf), beyond


def distances(atoms: Array) -> Array:
    """Projective Hausdorff distances of K sets of r atoms, (K, q, r), to each other; (K, K), rounded upwards."""
    sets, q, size = atoms.shape
    flat = atoms.transpose(1, 0, 2).reshape(q, sets * size)
    lines = projective_distances(flat, flat).reshape(sets, size, sets, size)
    return np.asarray(np.maximum(lines.min(axis=3).max(axis=1), lines.min(axis=1).max(axis=2)) + ROUNDING)


def reaches(orbit: Orbit, active: list[int], cells: LawCells) -> tuple[Array, IntArray]:
    """How far the active atoms of distinct ranges of angles can be apart, (K, K), and the range of each cell, (m,).

    Within a cell an atom is no farther from where it is in the middle than the orbit's speed lets it go.
    """
    ends = np.hstack([cells.lower[:, :-2], cells.upper[:, :-2]])
    ranges, range_of = np.unique(ends, axis=0, return_inverse=True)
    first, last = np.split(ranges, 2, axis=1)
    radii = 0.5 * orbit.speed * np.linalg.norm(last - first, axis=1) + ROUNDING
    centres = orbit.atoms(0.5 * (first + last))[:, :, active]
    return np.minimum(distances(centres) + radii + radii[:, None], 1.0), range_of.reshape(-1)
