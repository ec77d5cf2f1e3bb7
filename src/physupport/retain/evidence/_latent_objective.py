"""The calibration likelihood as a smooth function of orientation, activity and noise."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numba import njit
from scipy.linalg import expm
from scipy.special import expit, logit

from ..._checks import Interval, check_array
from ..._errors import MisuseError
from ..._typing import Array
from ...models import BernoulliGaussian, GaussianMixture, Tangent, calibration_mixture, calibration_tangent
from ..streams._exp import exp2_minus

# Rows times components of one pass: its responsibilities stay in the cache.
_PASS_ENTRIES = 2**15
_LOG2_E = 1.4426950408889634


@final
@dataclass(frozen=True, slots=True, eq=False)
class LatentPoint:
    """One calibration law: the dictionary, the activity and the noise variance."""

    atoms: Array  # (q, n)
    p: float
    noise: float


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
        values = (rows, atoms, generator, squares)
        for name, value in zip(("rows", "atoms", "generator", "_squares"), values, strict=True):
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
        inverses = np.asarray(np.linalg.inv(mixture.covariances), dtype=np.float64)  # (m, q, q)
        value, counts, sums = _responsible_sums(self._squares, mixture, inverses)
        return value, _gradient(mixture, inverses, tangent, counts, sums)


def latent_box(angle: tuple[float, float], activity: Interval, noise: Interval) -> Array:
    """The box (3, 2) of theta = (angle, logit p, log nu) over the given ranges."""
    return np.array(
        [angle, logit([activity.lower, activity.upper]), np.log([noise.lower, noise.upper])], dtype=np.float64
    )


def _responsible_sums(squares: Array, mixture: GaussianMixture, inverses: Array) -> tuple[float, Array, Array]:
    """Log likelihood, sums of responsibilities (m,) and of responsible squares (m, q (q + 1) / 2).

    A quadratic form is linear in the squares of a row, so all forms of a block of rows are one product of matrices.
    """
    q = mixture.q
    left, right = np.tril_indices(q)
    forms = -0.5 * inverses[:, left, right]  # (m, q (q + 1) / 2)
    pivots = np.log(np.diagonal(mixture.factors, axis1=1, axis2=2)).sum(axis=1)
    offsets = np.log(mixture.weights) - pivots - 0.5 * q * np.log(2.0 * np.pi)  # (m,)
    value, counts, sums = 0.0, np.zeros(len(offsets)), np.zeros((len(offsets), len(squares)))
    size = max(1, _PASS_ENTRIES // len(offsets))
    for start in range(0, squares.shape[1], size):
        block = squares[:, start : start + size]
        joint = forms @ block  # (m, b)
        joint += offsets[:, None]
        value += _responsibilities(joint)
        counts += joint.sum(axis=1)
        sums += joint @ block.T
    return value, counts, sums


@njit(cache=True, nogil=True)
def _responsibilities(joint: Array) -> float:
    """Turn joint log densities (m, b) into responsibilities in place; the sum over b of the log densities."""
    m, n = joint.shape
    top, totals = joint[0].copy(), np.zeros(n)
    for i in range(1, m):
        for b in range(n):
            top[b] = max(top[b], joint[i, b])
    for i in range(m):
        for b in range(n):
            joint[i, b] = exp2_minus((top[b] - joint[i, b]) * _LOG2_E)
            totals[b] += joint[i, b]
    value = 0.0
    for b in range(n):
        value += top[b] + np.log(totals[b])
        totals[b] = 1.0 / totals[b]
    for i in range(m):
        for b in range(n):
            joint[i, b] *= totals[b]
    return value


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
