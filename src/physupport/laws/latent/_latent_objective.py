"""The calibration likelihood as a smooth function of orientation, activity and noise."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numba import njit
from scipy.linalg import expm
from scipy.special import expit, logit

from ..._checks import Interval, check_array
from ..._errors import MisuseError
from ..._exp import LOG2_E, exp2_minus
from ..._typing import Array
from ..codes._laws import BernoulliGaussian
from ..codes._mixture import GaussianMixture, Tangent, calibration_mixture, calibration_tangent
from ._law import LatentPoint

# Rows of one pass: their densities under 32 components stay in the cache.
_PASS_ROWS = 256
# Products and sums may become one rounding; only sums of products may also change their order, which makes them fast.
_CONTRACT, _REORDER = {"contract"}, {"contract", "reassoc"}


@final
@dataclass(frozen=True, slots=True, eq=False)
class LatentObjective:
    r"""Log likelihood of calibration rows in :math:`\theta = (\phi, \operatorname{logit} p, \log\nu)`, with gradient.

    The dictionary is :math:`D_\phi = e^{\phi\Omega} D_0`, all atoms turned together. Value and gradient come from one
    pass over the rows: with responsibilities :math:`r_{ti}` of components :math:`N(0, C_i)`, only the sums
    :math:`n_i = \sum_t r_{ti}` and :math:`S_i = \sum_t r_{ti} y_t y_t^\top` enter the gradient,

    :math:`\sum_i \{n_i \dot w_i/w_i + \tfrac12 \operatorname{tr}\,C_i^{-1}\dot C_i C_i^{-1}(S_i - n_i C_i)\}`.

    rows: (N, q) proposal rows.  atoms: (q, n), the dictionary at angle 0.  generator: (q, q) antisymmetric.
    """

    rows: Array
    atoms: Array
    generator: Array
    _squares: Array = field(init=False, repr=False)  # (q (q + 1) / 2, N) products of entries, off the diagonal doubled
    _totals: Array = field(init=False, repr=False)  # (q (q + 1) / 2,) their sums over the rows

    def __post_init__(self) -> None:
        atoms = check_array("atoms", self.atoms, (None, None))
        q = len(atoms)
        rows = check_array("rows", self.rows, (None, q))
        if len(rows) == 0:
            raise MisuseError("rows", "hold at least one row", "none")
        generator = check_array("generator", self.generator, (q, q))
        if np.any(generator != -generator.T):
            raise MisuseError("generator", "be antisymmetric", generator.tolist())
        left, right = np.tril_indices(q)
        squares = rows.T[left] * rows.T[right] * np.where(left == right, 1.0, 2.0)[:, None]
        values = (rows, atoms, generator, squares, squares.sum(axis=1))
        for name, value in zip(("rows", "atoms", "generator", "_squares", "_totals"), values, strict=True):
            object.__setattr__(self, name, value)

    def point(self, theta: Array) -> LatentPoint:
        """The calibration law at theta."""
        turned = expm(theta[0] * self.generator) @ self.atoms
        return LatentPoint(np.asarray(turned), float(expit(theta[1])), float(np.exp(theta[2])))

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Log likelihood of the rows and its gradient (3,)."""
        at = self.point(theta)
        law = BernoulliGaussian(at.p)
        mixture = calibration_mixture(law, at.atoms, at.noise)
        still = np.zeros_like(at.atoms)
        tangent = calibration_tangent(
            law,
            at.atoms,
            d_noise=np.array([0.0, 0.0, at.noise]),
            d_atoms=np.stack([self.generator @ at.atoms, still, still]),
            d_probability=np.array([0.0, at.p * (1.0 - at.p), 0.0]),
        )
        inverses = _inverses(mixture)
        value, counts, sums = self._sums(mixture, inverses, with_gradient=True)
        return value, _gradient(mixture, inverses, tangent, counts, sums)

    def value(self, theta: Array) -> float:
        """The log likelihood alone, in about half the time; the same number to the last bit."""
        at = self.point(theta)
        mixture = calibration_mixture(BernoulliGaussian(at.p), at.atoms, at.noise)
        return self._sums(mixture, _inverses(mixture), with_gradient=False)[0]

    def _sums(self, mixture: GaussianMixture, inverses: Array, with_gradient: bool) -> tuple[float, Array, Array]:
        r"""Log likelihood, sums of responsibilities (m,) and of responsible squares (m, q (q + 1) / 2).

        A quadratic form is linear in the squares of a row.  No component is wider than the one with all atoms active,
        so that the exponents relative to its form and to the largest offset are never positive: no maximum is looked
        for, and a row cannot underflow, since the widest component keeps its whole weight.
        """
        q = mixture.q
        left, right = np.tril_indices(q)
        forms = 0.5 * LOG2_E * inverses[:, left, right]  # (m, q (q + 1) / 2)
        pivots = np.log(np.diagonal(mixture.factors, axis1=1, axis2=2)).sum(axis=1)
        offsets = LOG2_E * (pivots + 0.5 * q * np.log(2.0 * np.pi) - np.log(mixture.weights))  # (m,)
        widest = forms[int(np.trace(mixture.covariances, axis1=1, axis2=2).argmax())]
        least = offsets.min()
        value, counts, sums = _relative_sums(self._squares, forms - widest, offsets - least, with_gradient)
        return value - float(self._totals @ widest + least * len(self.rows)) / LOG2_E, counts, sums


def _inverses(mixture: GaussianMixture) -> Array:
    return np.asarray(np.linalg.inv(mixture.covariances), dtype=np.float64)  # (m, q, q)


def latent_box(angle: tuple[float, float], activity: Interval, noise: Interval) -> Array:
    """The box (3, 2) of theta = (angle, logit p, log nu) over the given ranges."""
    return np.array(
        [angle, logit([activity.lower, activity.upper]), np.log([noise.lower, noise.upper])], dtype=np.float64
    )


@njit(cache=True, nogil=True, fastmath=_CONTRACT)
def _relative_sums(squares: Array, forms: Array, offsets: Array, with_gradient: bool) -> tuple[float, Array, Array]:
    """Sum of log totals, and, for a gradient, the sums over rows; a pass of rows stays in the cache."""
    (k, n), m = squares.shape, len(offsets)
    block, powers, totals = np.empty((k, _PASS_ROWS)), np.empty((m, _PASS_ROWS)), np.empty(_PASS_ROWS)
    value, counts, sums = 0.0, np.zeros(m), np.zeros((m, k))
    for start in range(0, n, _PASS_ROWS):
        rows = min(_PASS_ROWS, n - start)
        block[:, :rows] = squares[:, start : start + rows]
        totals[:rows] = 0.0
        for i in range(m):
            _add_powers(powers[i], block, forms[i], offsets[i], totals, rows)
        for b in range(rows):
            value += np.log(totals[b])
        if not with_gradient:
            continue
        for b in range(rows):
            totals[b] = 1.0 / totals[b]
        for i in range(m):
            counts[i] += _dot(powers[i], totals, rows)
        # Dividing the squares spares a division for every component.
        for j in range(k):
            for b in range(rows):
                block[j, b] *= totals[b]
        for i in range(m):
            for j in range(k):
                sums[i, j] += _dot(powers[i], block[j], rows)
    return value, counts, sums


@njit(cache=True, nogil=True, fastmath=_CONTRACT)
def _add_powers(power: Array, block: Array, form: Array, offset: float, totals: Array, rows: int) -> None:
    """The densities of one component, up to the common factor of each row, into power and onto totals."""
    for b in range(rows):
        power[b] = offset
    whole = len(form) // 4 * 4
    for j in range(0, whole, 4):
        f, g, h, e = form[j], form[j + 1], form[j + 2], form[j + 3]
        first, second, third, fourth = block[j], block[j + 1], block[j + 2], block[j + 3]
        for b in range(rows):
            power[b] = power[b] + f * first[b] + g * second[b] + h * third[b] + e * fourth[b]
    for j in range(whole, len(form)):
        for b in range(rows):
            power[b] += form[j] * block[j, b]
    for b in range(rows):
        power[b] = exp2_minus(power[b])
        totals[b] += power[b]


@njit(cache=True, nogil=True, fastmath=_REORDER)
def _dot(first: Array, second: Array, rows: int) -> float:
    total = 0.0
    for b in range(rows):
        total += first[b] * second[b]
    return total


def _gradient(mixture: GaussianMixture, inverses: Array, tangent: Tangent, counts: Array, sums: Array) -> Array:
    """Derivative of the log likelihood along each direction of the tangent, (k,)."""
    q = mixture.q
    left, right = np.tril_indices(q)
    second = np.empty((len(counts), q, q))
    # Off the diagonal the squares are doubled, for the two entries of a symmetric matrix.
    second[:, left, right] = second[:, right, left] = sums * np.where(left == right, 1.0, 0.5)
    excess = inverses @ (second - counts[:, None, None] * mixture.covariances) @ inverses  # (m, q, q)
    return np.asarray(
        tangent.weights @ (counts / mixture.weights) + 0.5 * np.einsum("kmab,mab->k", tangent.covariances, excess)
    )
