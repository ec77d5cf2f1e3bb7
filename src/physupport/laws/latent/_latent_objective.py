"""The calibration likelihood as a smooth function of orientation, activity and noise."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from ..._checks import Interval, check_array
from ..._compiled import kept
from ..._errors import MisuseError
from ..._exp import LOG2_E, exp2_minus
from ..._typing import Array, IntArray
from ..codes._laws import support_masks
from ._latent_point import LatentPoint

# Rows of one pass: their densities under 32 components stay in the cache.  The lines of work arrays lie a little
# further apart: numbers whole pages apart look like one to a processor that writes the one and reads the other.
_PASS_ROWS = 256
_LINE = _PASS_ROWS + 8
# Products and sums may become one rounding; only sums of products may also change their order, which makes them fast.
_CONTRACT, _REORDER = {"contract"}, {"contract", "reassoc"}


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
            raise MisuseError("rows", "hold at least one row", "none")
        generator = check_array("generator", self.generator, (q, q))
        if np.any(generator != -generator.T):
            raise MisuseError("generator", "be antisymmetric", generator.tolist())
        entries = left, right = np.tril_indices(q)
        squares = rows.T[left] * rows.T[right] * np.where(left == right, 1.0, 2.0)[:, None]
        masks = support_masks(n)
        spectra, axes = np.linalg.eigh(np.einsum("mj,aj,bj->mab", masks, atoms, atoms))
        of_sets, turning = (masks.sum(axis=1), spectra, axes), np.linalg.eigh(-1j * generator)
        values = (rows, atoms, generator, squares, squares.sum(axis=1), *of_sets, *turning, entries)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def point(self, theta: Array) -> LatentPoint:
        """The calibration law at theta."""
        return LatentPoint(self._turn(theta[0]) @ self.atoms, float(expit(theta[1])), float(np.exp(theta[2])))

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Log likelihood of the rows and its gradient (3,)."""
        p, noise, inverses = float(expit(theta[1])), float(np.exp(theta[2])), self._inverses(theta)
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
        """Of the covariances; (m, q, q)."""
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


@kept(nogil=True, fastmath=_CONTRACT)
def _relative_sums(squares: Array, forms: Array, offsets: Array, with_gradient: bool) -> tuple[float, Array, Array]:
    """Sum of log totals, and, for a gradient, the sums over rows; a pass of rows stays in the cache."""
    (k, n), m = squares.shape, len(offsets)
    # Lines of the block beyond the squares are idle, up to a multiple of four; the first is 1 for the counts.
    block, powers, totals = np.zeros((k + 1 + -(k + 1) % 4, _LINE)), np.zeros((m, _LINE)), np.zeros(_LINE)
    value, sums, coefficients = 0.0, np.zeros((m, len(block))), np.zeros((m, len(block)))
    for i in range(m):
        coefficients[i, 0] = offsets[i]
        for j in range(k):
            coefficients[i, j + 1] = forms[i, j]
    for start in range(0, n, _PASS_ROWS):
        rows = min(_PASS_ROWS, n - start)
        for b in range(rows):
            block[0, b], totals[b] = 1.0, 0.0
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


@kept(nogil=True, fastmath=_CONTRACT)
def _add_powers(powers: Array, i: int, block: Array, coefficients: Array, totals: Array, rows: int) -> None:
    """The densities of one component, up to the common factor of each row, into powers and onto totals."""
    for b in range(rows):
        powers[i, b] = 0.0
    last = len(block) - 4
    for j in range(0, last, 4):
        f, g, h, e = coefficients[i, j], coefficients[i, j + 1], coefficients[i, j + 2], coefficients[i, j + 3]
        for b in range(rows):
            powers[i, b] += f * block[j, b] + g * block[j + 1, b] + h * block[j + 2, b] + e * block[j + 3, b]
    f, g, h, e = coefficients[i, last], coefficients[i, last + 1], coefficients[i, last + 2], coefficients[i, last + 3]
    for b in range(rows):
        rest = f * block[last, b] + g * block[last + 1, b] + h * block[last + 2, b] + e * block[last + 3, b]
        power = exp2_minus(powers[i, b] + rest)
        powers[i, b] = power
        totals[b] += power


@kept(nogil=True, fastmath=_REORDER)
def _add_products(powers: Array, i: int, block: Array, j: int, sums: Array, rows: int) -> None:
    """Four sums of products of one component, so that its powers are read once."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
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
