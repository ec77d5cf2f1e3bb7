"""The diameter of what the data keep of an orbit: cells without a kept law go, others are split where it matters.

Cells are boxes of laws, (m, 2, d): lower ends, then upper ends.  Log likelihoods come with proven ends, (m, 2).
"""

from dataclasses import dataclass, field
from itertools import product
from math import log
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax

from ..._checks import check_array, check_count, check_open, check_support
from ..._errors import Clause, MisuseError
from ..._typing import Array, BoolArray, IntArray
from ...banks import array_states, projective_distances
from ...io import ArrayRows
from ...laws import BernoulliGaussian, latent_stream
from ._orbit import Orbit, RowSums

# Distances of unit vectors, and sums of some numbers, err by some units of rounding.
ROUNDING = 1e-12
# The box before any data is halved so often for its diameter.
_PIECES = 8
# Diameters below this share of the box's are not told apart.
_FINEST = 0.1
# The lattice of opponents on each axis, in standard deviations, and how often it is laid anew at most.
_STEPS = np.linspace(-2.0, 2.0, 5)
_ROUNDS = 8
# With no opponent heavier than this the lattice is fine enough.
_HEAVY = 0.25


@final
@dataclass(frozen=True, slots=True, eq=False)
class OrbitBracket:
    r"""Two numbers between which the diameter of what the data keep of an orbit lies, and the cells that are left.

    With probability at least :math:`1 - \alpha` the law that made the held-out rows, anywhere in the box, lies in one
    of the cells, and then no law in any of them has active atoms farther from the true ones than `outer`.
    """

    inner: float  # the largest distance of two kept laws, among those whose likelihood was worked out
    outer: float  # no two kept laws are farther apart
    whole: float  # the same before any data
    level: float  # alpha
    cells: Array  # (m, 2, k + 2)
    n_laws: int  # whose likelihood was worked out

    def holds(self, law: ArrayLike) -> bool:
        """True if a law (k + 2,), angles, noise and activity, lies in one of the cells."""
        point = check_array("law", law, (self.cells.shape[2],))
        return bool(np.any(np.all((self.cells[:, 0] <= point) & (point <= self.cells[:, 1]), axis=1)))


def orbit_bracket(
    proposal: ArrayLike,
    held_out: ArrayLike,
    orbit: Orbit,
    active: tuple[int, ...],
    level: float,
    *,
    tolerance: float = 0.1,
    most_laws: int = 20_000,
) -> OrbitBracket:
    r"""Bracket the physical diameter (eq:physical-diameter) of the active atoms over all kept laws of an orbit.

    A law is kept if `OrbitEvidence` does not reject it at the level. A cell is dropped only if every law in it is
    rejected, by a bound of its largest likelihood from those of its corners (`Orbit.rises`). The others are split as
    long as they may hold a pair that is farther apart than the farthest kept pair seen by more than the tolerance, as
    a share of that distance. Whenever this ends, the outer number holds.

    proposal, held_out: (N, q) independent rows, those that propose and those that judge.  active: columns of
    `Orbit.atoms`.
    """
    judging = _rows("held_out", held_out, orbit)
    proposing = _rows("proposal", proposal, orbit)
    columns = check_support("active", active, orbit.n_atoms)
    evidence = OrbitEvidence.of_rows(orbit, proposing, judging, check_open("level", level, 0.0, 1.0))
    limits = check_open("tolerance", tolerance, 0.0, 1.0), check_count("most_laws", most_laws)
    return evidence.bracket(list(columns), *limits)


def _rows(name: str, rows: ArrayLike, orbit: Orbit) -> Array:
    table = check_array(name, rows, (None, len(orbit.turning)))
    if not len(table):
        raise MisuseError(name, "hold at least one row", Clause("there is none"))
    return table


def log_likelihoods(orbit: Orbit, rows: Array, laws: Array) -> Array:
    """Proven ends (m, 2) of the log likelihood of all rows (N, q) under laws (m, k + 2), for the atoms as rounded."""
    angles, state = np.unique(laws[:, :-2], axis=0, return_inverse=True)
    nuisances, nuisance = np.unique(laws[:, -2:], axis=0, return_inverse=True)
    codes = [BernoulliGaussian(float(p)) for p in nuisances[:, 1]]
    stream = latent_stream(ArrayRows(rows), array_states(orbit.atoms(angles)), codes, nuisances[:, 0], [len(rows)])
    scores = stream.log_likelihood(state.reshape(-1) * len(codes) + nuisance.reshape(-1))
    values = scores.values[:, -1]
    errors = scores.errors[:, -1]
    return np.column_stack([values - errors, values + errors])


@final
@dataclass(frozen=True, slots=True, eq=False)
class OrbitEvidence:
    r"""A law is rejected if the opponents' mixture exceeds :math:`1/\alpha` times its likelihood of the held-out rows.

    The opponents are fixed by other rows, so that the ratio has mean 1 under a law that made the held-out ones, and a
    true law is rejected with probability at most :math:`\alpha` (Markov), wherever in the box it lies.
    """

    orbit: Orbit
    rows: Array  # (N, q) held-out
    threshold: Array  # (2,) ends of the log likelihood below which a law is rejected
    opponents: Array  # (m, k + 2)
    level: float  # alpha
    sums: RowSums  # of the held-out rows
    seen: dict[bytes, Array] = field(default_factory=dict)  # ends (2,) of log likelihoods, by the bytes of a law

    @classmethod
    def of_rows(cls, orbit: Orbit, proposal: Array, held_out: Array, level: float) -> Self:
        """Opponents weighted by their likelihood of the proposal rows, and their mixture scored on the others."""
        laws, weights = propose(orbit, proposal)
        scores = log_likelihoods(orbit, held_out, laws)
        threshold = np.array([logsumexp(side + weights) + log(level) for side in scores.T])
        return cls(orbit, held_out, threshold, laws, level, orbit.row_sums(held_out))

    def kept(self, scores: Array) -> BoolArray:
        """Laws that are not rejected for sure by the ends (m, 2) of their own scores; (m,)."""
        return np.asarray(scores[:, 0] >= self.threshold[1])

    def bracket(self, active: list[int], tolerance: float, most_laws: int) -> OrbitBracket:
        """Split what matters until nothing does, or so many laws were asked about."""
        orbit = self.orbit
        box = np.array([[orbit.lower, orbit.upper]])
        whole = self._whole(active, box)
        self._ask(self.opponents)
        cells = self.left(box)
        while True:  # an opponent is always kept, so that there always is a cell
            inner = self._inner(active)
            far, range_of = reaches(orbit, active, cells)
            room = tolerance * max(inner, _FINEST * whole)
            axes = self._axes(cells, 0.25 * room / orbit.speed)
            reach = far.max(axis=1)[range_of]
            split = np.flatnonzero((reach > inner + room) & (axes >= 0))
            # A cut asks about half as many laws as a cell has corners, at most: the farthest cells come first.
            affordable = max(0, most_laws - len(self.seen)) >> orbit.n_angles + 1
            split = split[np.argsort(-reach[split], kind="stable")[:affordable]]
            if not len(split):
                break
            cells = np.concatenate([self.left(halves(cells[split], axes[split])), np.delete(cells, split, axis=0)])
        outer = min(float(far.max()), whole)
        return OrbitBracket(inner, outer, whole, self.level, cells, len(self.seen))

    def _whole(self, active: list[int], box: Array) -> float:
        """The diameter of the box, from pieces of it."""
        pieces = box
        for axis in np.arange(_PIECES) % self.orbit.n_angles:
            pieces = halves(pieces, np.full(len(pieces), axis))
        return float(reaches(self.orbit, active, pieces)[0].max())

    def _inner(self, active: list[int]) -> float:
        """The largest distance of two kept laws, rounded downwards."""
        orbit = self.orbit
        laws = np.array([np.frombuffer(name) for name in self.seen])
        kept = self.kept(np.array(list(self.seen.values())))
        angles = np.unique(laws[kept, : orbit.n_angles], axis=0)
        if len(angles) < 2:
            return 0.0
        apart = distances(orbit.atoms(angles)[:, :, active])
        return max(0.0, float(apart.max()) - 2.0 * ROUNDING)

    def left(self, cells: Array) -> Array:
        """Cells that may hold a kept law."""
        return np.asarray(cells[~(self._largest(cells)[0] < self.threshold[0])])

    def _axes(self, cells: Array, narrow: float) -> IntArray:
        """The axis to cut: that of the largest rise, or, if a corner is kept, of the widest angle.

        -1 where no cut helps: a corner is kept, and no angle is wider than narrow.
        """
        angles = (cells[:, 1] - cells[:, 0])[:, : self.orbit.n_angles]
        widest = np.where(angles.max(axis=1) > narrow, np.argmax(angles, axis=1), -1)
        has_kept_corner = self.kept(self._at_corners(cells)).reshape(len(cells), -1).any(axis=1)
        return np.where(has_kept_corner, widest, np.argmax(self._largest(cells)[1], axis=1))

    def _largest(self, cells: Array) -> tuple[Array, Array]:
        """Bounds of the log likelihood within cells, (m,), and what each axis adds to it, (m, d)."""
        orbit = self.orbit
        lower = cells[:, 0]
        upper_ends = self._at_corners(cells)[:, 1].reshape(len(cells), 2 ** lower.shape[1])
        exact = upper_ends + orbit.rounding(lower, self.sums)[:, None]
        return largest(exact, orbit.rises(lower, cells[:, 1], self.sums))

    def _at_corners(self, cells: Array) -> Array:
        return self._ask(corners(cells).reshape(-1, cells.shape[2]))

    def _ask(self, laws: Array) -> Array:
        """Ends (m, 2) of the log likelihoods of laws (m, d), each worked out once."""
        distinct, row_of = np.unique(laws, axis=0, return_inverse=True)
        names = [law.tobytes() for law in distinct]
        is_new = np.array([name not in self.seen for name in names], dtype=np.bool_)
        if is_new.any():
            scores = log_likelihoods(self.orbit, self.rows, distinct[is_new])
            self.seen.update(zip((name for name in names if name not in self.seen), scores, strict=True))
        return np.array([self.seen[name] for name in names]).reshape(-1, 2)[row_of.reshape(-1)]


def propose(orbit: Orbit, rows: Array) -> tuple[Array, Array]:
    """Opponents (m, k + 2) and their log weights (m,), which sum to 1: about the posterior given the rows.

    A lattice over the box, weighted by its likelihoods, has a mean and a covariance, over which the next is laid; the
    spacing of a lattice counts as variance, so that one heavy point draws the next together no faster than it may. No
    choice made here costs the level: rows that propose do not judge.
    """
    lattice = np.array(list(product(_STEPS, repeat=len(orbit.lower))))  # (m, d)
    mean = 0.5 * (orbit.lower + orbit.upper)
    factor = np.diag(orbit.upper - orbit.lower) / np.ptp(_STEPS)
    for _ in range(_ROUNDS):
        points = np.clip(mean + lattice @ factor.T, orbit.lower, orbit.upper)
        values = log_likelihoods(orbit, rows, points)[:, 0]
        weights = softmax(values)
        if weights.max() < _HEAVY:
            break
        mean = weights @ points
        spread = (points - mean).T @ (weights[:, None] * (points - mean)) + factor @ factor.T / 12.0
        sizes, axes = np.linalg.eigh(spread)  # a range of one point has no width at all
        factor = axes * np.sqrt(np.maximum(sizes, 0.0))
    return points, values - logsumexp(values)


def corners(cells: Array) -> Array:
    """The corners of cells, (m, 2^d, d)."""
    return np.where(_sides(cells.shape[2]) > 0.0, cells[:, None, 1], cells[:, None, 0])


def halves(cells: Array, axes: IntArray) -> Array:
    """Each cell cut in the middle of its axis: all lower halves, then all upper ones, which cover what the cells do."""
    rows = np.arange(len(cells))
    middle = 0.5 * (cells[rows, 0, axes] + cells[rows, 1, axes])
    low = cells.copy()
    high = cells.copy()
    low[rows, 1, axes] = middle
    high[rows, 0, axes] = middle
    return np.concatenate([low, high])


def _sides(dimension: int) -> Array:
    """The corners of the unit cube, (2^d, d)."""
    return np.array(list(product((0.0, 1.0), repeat=dimension)))


def largest(corner_values: Array, rises: Array) -> tuple[Array, Array]:
    r"""Upper bounds, (m,), of a function on cells from its corners (m, 2^d) and what may rise above them, (m, d).

    Between the corners it is at most their interpolation, which lies below any plane above them, and for every axis
    :math:`g(1 - 4x^2)` more with :math:`x \in [-\tfrac12, \tfrac12]` and its rise g. The plane has the mean slopes b,
    so that an axis adds :math:`\max_x bx + g(1 - 4x^2)`: where it is steep, no more than its end does. The second
    array, (m, d), is what each axis adds beyond its end.
    """
    top = corner_values.max(axis=1)
    with np.errstate(invalid="ignore"):
        values = corner_values - top[:, None]
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


def reaches(orbit: Orbit, active: list[int], cells: Array) -> tuple[Array, IntArray]:
    """Largest distances of the active atoms of distinct ranges of angles, (K, K), and the range of each cell, (m,).

    Within a cell an atom is no farther from where it is in the middle than the orbit's speed lets it go.
    """
    ends = np.hstack([cells[:, 0, :-2], cells[:, 1, :-2]])
    ranges, range_of = np.unique(ends, axis=0, return_inverse=True)
    first, last = np.split(ranges, 2, axis=1)
    radii = 0.5 * orbit.speed * np.linalg.norm(last - first, axis=1) + ROUNDING
    centres = orbit.atoms(0.5 * (first + last))[:, :, active]
    return np.minimum(distances(centres) + radii + radii[:, None], 1.0), range_of.reshape(-1)
