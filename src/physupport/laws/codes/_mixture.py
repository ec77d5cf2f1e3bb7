"""Exact finite mixtures of centred Gaussians: sampling, log density, score."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_positive
from ..._errors import MisuseError
from ..._typing import Array
from ._components import active_components
from ._factors import cholesky_factors, whitened_matrices
from ._kernels import coloured, mixture_log_density, responsible_squares
from ._laws import PROBABILITY_TOLERANCE, CodeLaw
from ._tangent import Tangent

# Entries of the feature block of one score pass: 8 MiB, so that memory does not grow with the number of rows.
_SCORE_ENTRIES = 2**20


@final
@dataclass(frozen=True, slots=True, eq=False)
class GaussianMixture:
    r"""The law :math:`f(y) = \sum_i w_i\, \varphi_q(y; 0, C_i)` (eq:supp-exact-mixture).

    Weights are positive and sum to one; covariances are symmetric and positive definite.

    >>> GaussianMixture([1.0], [[[1.0]]]).log_density([[0.0]]).round(6).tolist()
    [-0.918939]
    """

    weights: Array  # (m,)
    covariances: Array  # (m, q, q)
    factors: Array = field(init=False, repr=False)  # (m, q, q), lower Cholesky factors
    _offsets: Array = field(init=False, repr=False)  # (m,), log w_i - log of the normalising constant

    def __post_init__(self) -> None:
        weights = check_array("weights", self.weights, (None,))
        if weights.size == 0 or weights.min() <= 0.0:
            raise MisuseError("weights", "be positive", weights, "Leave out components of weight zero.")
        if abs(weights.sum() - 1.0) > PROBABILITY_TOLERANCE:
            raise MisuseError("weights", "sum to 1", f"{weights.sum():.15g}", "Divide them by their sum first.")
        covariances = check_array("covariances", self.covariances, (len(weights), None, None))
        factors = cholesky_factors("covariances", covariances)
        log_pivots = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)  # (m,)
        offsets = np.log(weights) - log_pivots - 0.5 * covariances.shape[1] * np.log(2.0 * np.pi)
        for name, value in zip(self.__slots__, (weights, covariances, factors, offsets), strict=True):
            object.__setattr__(self, name, value)

    @property
    def q(self) -> int:
        """Dimension of an observation."""
        return int(self.covariances.shape[1])

    @property
    def n_components(self) -> int:
        """Number of Gaussian components."""
        return len(self.weights)

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Independent rows, (n, q): all components are drawn first, then all normals, which the factors colour."""
        labels = rng.choice(self.n_components, size=check_count("n", n, 0), p=self.weights)
        return np.asarray(coloured(rng.normal(size=(n, self.q)), self.factors, labels))

    def log_density(self, rows: ArrayLike) -> Array:
        """Log density of each row, (n,): triangular solves and a shifted sum of exponentials.

        Finite for every row up to about 1e150 in whitened norm, -inf beyond, never NaN. The relative error of the
        quadratic form of a component is a small multiple of rounding times the condition number of its covariance.
        """
        return np.asarray(mixture_log_density(self._rows(rows), self.factors, self._offsets))

    def score(self, rows: ArrayLike, tangent: Tangent) -> Array:
        r"""Derivative of the log density along each direction of the tangent, (n, k).

        :math:`\sum_i r_i(y)\{\dot w_i/w_i + \tfrac12 (z_i^\top W_i z_i - \operatorname{tr} W_i)\}` with
        responsibilities r_i, :math:`C_i = L_i L_i^\top,\ z_i = L_i^{-1} y,\ W_i = L_i^{-1} \dot C_i L_i^{-\top}`.

        Directions that move mass within a coherent block cancel across components by orders of magnitude. Whitened
        products keep every term of the sum at its natural size, so what is lost is rounding times the largest term.
        """
        rows = self._rows(rows)
        coefficients = self._score_coefficients(tangent)  # (m * width, k)
        scores = np.empty((len(rows), coefficients.shape[1]))
        block = max(1, _SCORE_ENTRIES // len(coefficients))
        for start in range(0, len(rows), block):
            features = responsible_squares(rows[start : start + block], self.factors, self._offsets)
            np.matmul(features, coefficients, out=scores[start : start + block])
        return scores

    def _score_coefficients(self, tangent: Tangent) -> Array:
        m, q = self.n_components, self.q
        if tangent.covariances.shape[1:] != (m, q, q):
            rule = f"match the mixture, {m} components of dimension {q}"
            raise MisuseError("tangent", rule, f"covariances of shape {tangent.covariances.shape}")
        whitened = whitened_matrices(self.factors, tangent.covariances)  # (k, m, q, q)
        below, left = np.tril_indices(q)
        # z' W z / 2 over the lower triangle: half of W on the diagonal, all of it below.
        squares = whitened[..., below, left] * np.where(below == left, 0.5, 1.0)  # (k, m, q (q + 1) / 2)
        constants = (tangent.weights / self.weights)[..., None]  # (k, m, 1)
        return np.ascontiguousarray(np.concatenate([constants, squares], axis=2).reshape(len(tangent.weights), -1).T)

    def _rows(self, rows: ArrayLike) -> Array:
        return np.ascontiguousarray(check_array("rows", rows, (None, self.q)))


def calibration_mixture(law: CodeLaw, atoms: ArrayLike, noise: float) -> GaussianMixture:
    r"""The exact law of one calibration row (eq:supp-exact-mixture): one component for every active set J.

    :math:`w_J = w_{|J|},\quad C_J = \nu I + \lambda_{|J|} \sum_{j \in J} d_j d_j^\top`.

    atoms: (q, n); the law is exact for columns of any norm.  Components follow `support_masks`; those of weight zero
    are left out.
    """
    atoms = check_array("atoms", atoms, (None, None))
    noise = check_positive("noise", noise)
    q, n = atoms.shape
    masks, weights, variances = active_components(law, n)
    outer = np.einsum("aj,bj->jab", atoms, atoms).reshape(n, q * q)
    signal = (variances[:, None] * masks) @ outer  # (m, q * q)
    return GaussianMixture(weights, signal.reshape(-1, q, q) + noise * np.eye(q))
