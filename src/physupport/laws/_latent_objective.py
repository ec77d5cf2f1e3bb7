"""The calibration likelihood as a smooth function of orientation, activity and noise."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import OptimizeResult, minimize
from scipy.special import expit, logit
from scipy.stats import qmc

from .._checks import Interval, check_array, check_count
from .._compiled import LOG2_E, cached_njit, exp2_minus
from .._errors import Clause, MisuseError
from .._typing import Array, IntArray
from ._codes import support_masks
from ._opponents import Point, latent_point

# Rows of one pass: their densities under 32 components stay in the cache.  The lines of work arrays lie a little
# further apart: numbers whole pages apart look like one to a processor that writes the one and reads the other.
_PASS_ROWS = 256
_LINE = _PASS_ROWS + 8
# Products and sums may become one rounding; only sums of products may also change their order, which makes them fast.
_CONTRACT = {"contract"}
_REORDER = {"contract", "reassoc"}


@final
@dataclass(frozen=True, slots=True, eq=False)
class LatentObjective:
    r"""Log likelihood of calibration rows in :math:`\theta = (\phi, \operatorname{logit} p, \log\nu)`, with gradient.

    The dictionary is :math:`D_\phi = e^{\phi\Omega} D_0`, all atoms turned together, so that the covariances
    :math:`C_J = \nu I + D_{\phi,J}D_{\phi,J}^\top` have the eigenvectors of :math:`D_{0,J}D_{0,J}^\top`, turned, and
    its eigenvalues, raised by the noise.  Value and gradient come from one pass over the rows: with responsibilities
    :math:`r_{tJ}` only the sums :math:`n_J = \sum_t r_{tJ}` and :math:`S_J = \sum_t r_{tJ} y_t y_t^\top` enter,

    :math:`\sum_J\operatorname{tr}\,\Omega S_JC_J^{-1},\quad \sum_Jn_J(|J| - np),\quad
    \tfrac\nu2\sum_J\operatorname{tr}(C_J^{-1}S_JC_J^{-1} - n_JC_J^{-1})`.

    rows: (N, q) proposal rows.  atoms: (q, n), the dictionary at angle 0.  generator: (q, q) antisymmetric.
    """

    rows: Array
    atoms: Array
    generator: Array
    _squares: Array = field(init=False, repr=False)  # (q (q + 1) / 2, N) products of entries, off the diagonal doubled
    _totals: Array = field(init=False, repr=False)  # (q (q + 1) / 2,) their sums over the rows
    _sizes: Array = field(init=False, repr=False)  # (m,) of the active sets
    _spectra: Array = field(init=False, repr=False)  # (m, q) eigenvalues of D_J D_J^T at angle 0
    _axes: Array = field(init=False, repr=False)  # (m, q, q) their vectors, as columns
    _speeds: Array = field(init=False, repr=False)  # (q,) eigenvalues of Omega over i
    _planes: NDArray[np.complex128] = field(init=False, repr=False)  # (q, q) their vectors, as columns
    _entries: tuple[IntArray, IntArray] = field(init=False, repr=False)  # of a lower triangle

    def __post_init__(self) -> None:
        atoms = check_array("atoms", self.atoms, (None, None))
        q, n = atoms.shape
        rows = check_array("rows", self.rows, (None, q))
        if len(rows) == 0:
            raise MisuseError("rows", "hold at least one row", Clause("there is none"))
        generator = check_array("generator", self.generator, (q, q))
        if np.any(generator != -generator.T):
            raise MisuseError("generator", "be antisymmetric", generator.tolist())
        entries = left, right = np.tril_indices(q)
        squares = rows.T[left] * rows.T[right] * np.where(left == right, 1.0, 2.0)[:, None]
        masks = support_masks(n)
        spectra, axes = np.linalg.eigh(np.einsum("mj,aj,bj->mab", masks, atoms, atoms))
        of_sets = (masks.sum(axis=1), spectra, axes)
        turning = np.linalg.eigh(-1j * generator)
        values = (rows, atoms, generator, squares, squares.sum(axis=1), *of_sets, *turning, entries)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def point(self, theta: Array) -> Point:
        """The calibration law at theta."""
        return latent_point(self._turn(theta[0]) @ self.atoms, float(expit(theta[1])), float(np.exp(theta[2])))

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Log likelihood of the rows and its gradient (3,)."""
        p = float(expit(theta[1]))
        noise = float(np.exp(theta[2]))
        inverses = self._inverses(theta)
        value, counts, sums = self._sums(theta, inverses, with_gradient=True)
        left, right = self._entries
        second = np.empty_like(inverses)
        # Off the diagonal the squares are doubled, for the two entries of a symmetric matrix.
        second[:, left, right] = second[:, right, left] = sums * np.where(left == right, 1.0, 0.5)
        seen = second @ inverses  # (m, q, q): S C^-1
        by_angle = np.einsum("ab,mba->", self.generator, seen)
        by_activity = counts @ (self._sizes - self.atoms.shape[1] * p)
        traces = np.trace(inverses, axis1=1, axis2=2)
        by_noise = 0.5 * noise * (np.einsum("mab,mba->", inverses, seen) - counts @ traces)
        return value, np.array([by_angle, by_activity, by_noise])

    def value(self, theta: Array) -> float:
        """The log likelihood alone, in about half the time; the same number to the last bit."""
        return self._sums(theta, self._inverses(theta), with_gradient=False)[0]

    def _turn(self, angle: float) -> Array:
        r""":math:`e^{\phi\Omega}`, (q, q): with the eigenvalues i s of Omega, the numbers :math:`e^{i\phi s}`."""
        return np.asarray(((self._planes * np.exp(1j * angle * self._speeds)) @ self._planes.conj().T).real)

    def _inverses(self, theta: Array) -> Array:
        """The inverses of the covariances; (m, q, q)."""
        turned = self._turn(theta[0]) @ self._axes
        return np.asarray((turned / (np.exp(theta[2]) + self._spectra)[:, None, :]) @ turned.transpose(0, 2, 1))

    def _sums(self, theta: Array, inverses: Array, with_gradient: bool) -> tuple[float, Array, Array]:
        r"""Log likelihood, sums of responsibilities (m,) and of responsible squares (m, q (q + 1) / 2).

        A quadratic form is linear in the squares of a row.  No component is wider than the one with all atoms active,
        the last, so that the exponents relative to its form and to the largest offset are never positive: no maximum is
        looked for, and a row cannot underflow, since the widest component keeps its whole weight.
        """
        q, n = self.atoms.shape
        left, right = self._entries
        forms = 0.5 * LOG2_E * inverses[:, left, right]  # (m, q (q + 1) / 2)
        log_weights = self._sizes * theta[1] + n * np.log(expit(-theta[1]))
        log_widths = np.log(np.exp(theta[2]) + self._spectra).sum(axis=1) + q * np.log(2.0 * np.pi)
        offsets = LOG2_E * (0.5 * log_widths - log_weights)  # (m,)
        least = offsets.min()
        value, counts, sums = _relative_sums(self._squares, forms - forms[-1], offsets - least, with_gradient)
        return value - float(self._totals @ forms[-1] + least * len(self.rows)) / LOG2_E, counts, sums


def latent_box(angle: tuple[float, float], activity: Interval, noise: Interval) -> Array:
    """The box (3, 2) of theta = (angle, logit p, log nu) over the given ranges."""
    return np.array(
        [angle, logit([activity.lower, activity.upper]), np.log([noise.lower, noise.upper])], dtype=np.float64
    )


@cached_njit(nogil=True, fastmath=_CONTRACT)
def _relative_sums(squares: Array, forms: Array, offsets: Array, with_gradient: bool) -> tuple[float, Array, Array]:
    """Sum of log totals, and, for a gradient, the sums over rows; a pass of rows stays in the cache."""
    (k, n) = squares.shape
    m = len(offsets)
    # Lines of the block beyond the squares are idle, up to a multiple of four; the first is 1 for the counts.
    block = np.zeros((k + 1 + -(k + 1) % 4, _LINE))
    powers = np.zeros((m, _LINE))
    totals = np.zeros(_LINE)
    value = 0.0
    sums = np.zeros((m, len(block)))
    coefficients = np.zeros((m, len(block)))
    for i in range(m):
        coefficients[i, 0] = offsets[i]
        for j in range(k):
            coefficients[i, j + 1] = forms[i, j]
    for start in range(0, n, _PASS_ROWS):
        rows = min(_PASS_ROWS, n - start)
        for b in range(rows):
            block[0, b] = 1.0
            totals[b] = 0.0
        for j in range(k):
            for b in range(rows):
                block[j + 1, b] = squares[j, start + b]
        for i in range(m):
            _add_powers(powers, i, block, coefficients, totals, rows)
        for b in range(rows):
            value += np.log(totals[b])
        if not with_gradient:
            continue
        for b in range(rows):
            totals[b] = 1.0 / totals[b]
        # Dividing the squares spares a division for every component.
        for j in range(k + 1):
            for b in range(rows):
                block[j, b] *= totals[b]
        for i in range(m):
            for j in range(0, len(block), 4):
                _add_products(powers, i, block, j, sums, rows)
    return value, sums[:, 0].copy(), sums[:, 1 : k + 1].copy()


@cached_njit(nogil=True, fastmath=_CONTRACT)
def _add_powers(powers: Array, i: int, block: Array, coefficients: Array, totals: Array, rows: int) -> None:
    """The densities of one component, up to the common factor of each row, into powers and onto totals."""
    for b in range(rows):
        powers[i, b] = 0.0
    last = len(block) - 4
    for j in range(0, last, 4):
        f = coefficients[i, j]
        g = coefficients[i, j + 1]
        h = coefficients[i, j + 2]
        e = coefficients[i, j + 3]
        for b in range(rows):
            powers[i, b] += f * block[j, b] + g * block[j + 1, b] + h * block[j + 2, b] + e * block[j + 3, b]
    f = coefficients[i, last]
    g = coefficients[i, last + 1]
    h = coefficients[i, last + 2]
    e = coefficients[i, last + 3]
    for b in range(rows):
        rest = f * block[last, b] + g * block[last + 1, b] + h * block[last + 2, b] + e * block[last + 3, b]
        power = exp2_minus(powers[i, b] + rest)
        powers[i, b] = power
        totals[b] += power


@cached_njit(nogil=True, fastmath=_REORDER)
def _add_products(powers: Array, i: int, block: Array, j: int, sums: Array, rows: int) -> None:
    """Four sums of products of one component, so that its powers are read once."""
    first = 0.0
    second = 0.0
    third = 0.0
    fourth = 0.0
    for b in range(rows):
        power = powers[i, b]
        first += power * block[j, b]
        second += power * block[j + 1, b]
        third += power * block[j + 2, b]
        fourth += power * block[j + 3, b]
    sums[i, j] += first
    sums[i, j + 1] += second
    sums[i, j + 2] += third
    sums[i, j + 3] += fourth


# The largest value of a smooth function over a box: many starts, exact gradients.


# A function of theta (d,): its value and its gradient (d,).
Objective = Callable[[Array], tuple[float, Array]]

_SOBOL_POINTS = 128
_CLIMBS = 12  # from the best of the start points
_VALUE_TOLERANCE = 1e-12
_GRADIENT_TOLERANCE = 1e-8
# Maxima this close are one: they differ by less than the stopping rule can tell.
_EQUAL_MAXIMA = 1e-10
# A climb under a cheaper objective need only find its hill: it ends some hundredths of the cube from the top of it at
# most, and points that close climb to one maximum.
_ROUGH_TOLERANCE = 1e-8
_SAME_POINT = 3e-2


def start_points(dimension: int) -> Array:
    """Distinct points of the cube [-1, 1]^d, (m, d): unscrambled Sobol points, centre, corners, centres of faces.

    The first Sobol point is a corner and the second is the centre: of equal points the first stands.

    >>> start_points(3).shape
    (141, 3)
    """
    d = check_count("dimension", dimension)
    sobol = 2.0 * qmc.Sobol(d, scramble=False).random(_SOBOL_POINTS) - 1.0
    corners = np.array(list(product((-1.0, 1.0), repeat=d)))
    faces = np.concatenate([-np.eye(d), np.eye(d)])
    points = np.concatenate([sobol, np.zeros((1, d)), corners, faces])
    _, first = np.unique(points, axis=0, return_index=True)
    return points[np.sort(first)]


def propose_continuous(
    objective: Objective,
    box: ArrayLike,
    *,
    value: Callable[[Array], float] | None = None,
    first: Objective | None = None,
) -> tuple[Array, float]:
    """Theta (d,) where an objective is largest over a box, and its value; it may lie between members of any bank.

    The box is scaled to the cube [-1, 1]^d. The best of `start_points` start L-BFGS-B each; of maxima that agree
    to 1e-10 the one of the smallest norm in the cube is taken.

    objective: theta (d,) to (value, gradient (d,)).  box: (d, 2) lower and upper ends.  value: the value alone, if it
    is cheaper than with its gradient; it ranks the start points.  first: a cheaper objective much like the whole one,
    as of a part of the rows: start points are ranked and climb under it, though not to the end (value may be cheaper
    still), and only the distinct places where they come to rest climb on under the objective.
    """
    ends = check_array("box", box, (None, 2))
    if len(ends) == 0 or np.any(ends[:, 0] >= ends[:, 1]):
        raise MisuseError("box", "have lower ends below upper ends", ends.tolist())
    points = start_points(len(ends))
    loss = _scaled_loss(objective, ends)
    rough = loss if first is None else _scaled_loss(first, ends)
    losses = [rough(point)[0] if value is None else -value(_unscaled(point, ends)) for point in points]
    if not np.isfinite(losses).all():
        raise MisuseError("value", "return finite numbers", losses)
    best = points[np.argsort(losses, kind="stable")[:_CLIMBS]]
    runs = [_climb(rough, point, _VALUE_TOLERANCE if first is None else _ROUGH_TOLERANCE) for point in best]
    if first is not None:
        runs = [_climb(loss, point, _VALUE_TOLERANCE) for point in _distinct(runs)]
    least = min(float(run.fun) for run in runs)
    winner = min((run.x for run in runs if run.fun <= least + _EQUAL_MAXIMA), key=lambda x: float(np.linalg.norm(x)))
    return _unscaled(winner, ends), -loss(winner)[0]


def _climb(loss: Objective, start: Array, tolerance: float) -> OptimizeResult:
    return minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-1.0, 1.0)] * len(start),
        options={"ftol": tolerance, "gtol": _GRADIENT_TOLERANCE},
    )


def _distinct(runs: list[OptimizeResult]) -> list[Array]:
    """Where climbs ended, the best first, without those that ended beside another."""
    ends: list[Array] = []
    for run in sorted(runs, key=lambda run: float(run.fun)):
        if all(float(np.abs(run.x - end).max()) > _SAME_POINT for end in ends):
            ends.append(run.x)
    return ends


def _unscaled(cube: Array, ends: Array) -> Array:
    return np.asarray(np.clip(ends.mean(axis=1) + 0.5 * (ends[:, 1] - ends[:, 0]) * cube, ends[:, 0], ends[:, 1]))


def _scaled_loss(objective: Objective, ends: Array) -> Objective:
    """Minus the objective, as a function of the cube."""
    half = 0.5 * (ends[:, 1] - ends[:, 0])

    def loss(cube: Array) -> tuple[float, Array]:
        theta = _unscaled(cube, ends)
        value, gradient = objective(theta)
        slope = np.asarray(gradient, dtype=np.float64)
        if slope.shape != theta.shape or not (np.isfinite(value) and np.isfinite(slope).all()):
            rule = f"return a finite value and a gradient of shape {theta.shape}"
            raise MisuseError("objective", rule, f"{value}, {slope} at {theta}")
        return -float(value), -half * slope

    return loss
