"""Exact finite mixtures of centred Gaussians: sampling, log density, score."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_instance, check_positive, check_symmetric
from ..._errors import MisuseError
from ..._typing import Array, BoolArray, IntArray
from ._kernels import coloured, mixture_log_density, responsible_squares
from ._laws import PROBABILITY_TOLERANCE, CodeLaw, support_masks


def active_components(law: CodeLaw, n_atoms: int) -> tuple[BoolArray, Array, Array]:
    """Masks (m, n) of the active sets of positive weight, their weights (m,) and active variances (m,)."""
    masks = support_masks(n_atoms)
    sizes = masks.sum(axis=1)
    weights = law.subset_weights(n_atoms)[sizes]
    kept = weights > 0.0
    return masks[kept], weights[kept], law.active_variances(n_atoms)[sizes[kept]]


def cholesky_factors(name: str, covariances: Array) -> Array:
    """Lower Cholesky factors of a stack (m, q, q) of covariances; raises where one is not positive definite.

    A squared pivot is a difference whose rounding error reaches q eps times the diagonal entry it started from: below
    that, the covariance cannot be told from a singular one and its density is not determined by the input.
    """
    q = covariances.shape[-1]
    if q == 0 or covariances.shape[-2] != q:
        raise MisuseError(name, "be square", f"shape {covariances.shape}")
    check_symmetric(name, covariances)
    try:
        factors = np.linalg.cholesky(covariances)
    except np.linalg.LinAlgError:
        factors = np.zeros_like(covariances)
    pivots = np.diagonal(factors, axis1=-2, axis2=-1) ** 2  # (m, q)
    floor = q * np.finfo(np.float64).eps * np.abs(np.diagonal(covariances, axis1=-2, axis2=-1))
    if np.any(pivots <= floor):
        smallest = np.linalg.eigvalsh(covariances)[:, 0]  # (m,)
        worst = int(smallest.argmin())
        raise MisuseError(name, "be positive definite", f"smallest eigenvalue {smallest[worst]:.3g} in matrix {worst}")
    return np.asarray(factors)


def forward_solved(factors: Array, right: Array) -> Array:
    """L^-1 applied to every right-hand side: factors (m, q, q) lower triangular, right (..., m, q, c)."""
    solved = np.empty_like(right)
    for a in range(factors.shape[-1]):
        earlier = np.einsum("mc,...mcd->...md", factors[:, a, :a], solved[..., :a, :])
        solved[..., a, :] = (right[..., a, :] - earlier) / factors[:, a, a, None]
    return solved


def whitened_matrices(factors: Array, matrices: Array) -> Array:
    """L^-1 H L^-T for a stack of symmetric H: factors (m, q, q), matrices (..., m, q, q)."""
    half = forward_solved(factors, matrices)
    return forward_solved(factors, np.swapaxes(half, -1, -2))


# Entries of the feature block of one score pass: 8 MiB, so that memory does not grow with the number of rows.
_SCORE_ENTRIES = 2**20


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tangent:
    """Derivatives of the weights and covariances of a mixture along k directions; weights keep their sum."""

    weights: Array  # (k, m)
    covariances: Array  # (k, m, q, q)

    def __post_init__(self) -> None:
        weights = check_array("weights", self.weights, (None, None))
        covariances = check_array("covariances", self.covariances, (*weights.shape, None, None))
        check_symmetric("covariances", covariances)
        if np.any(np.abs(weights.sum(axis=1)) > _BALANCE_TOLERANCE * np.abs(weights).sum(axis=1)):
            raise MisuseError("weights", "sum to 0 in every direction", f"sums {weights.sum(axis=1)}")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "covariances", covariances)

    @property
    def n_directions(self) -> int:
        """Number of directions k."""
        return len(self.weights)


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
        return self.coloured(*self.draw(rng, n))

    def draw(self, rng: np.random.Generator, n: int) -> tuple[IntArray, Array]:
        """What rows are made of: components (n,) and normals (n, q), the same for all laws of the same weights."""
        labels = rng.choice(self.n_components, size=check_count("n", n, 0), p=self.weights)
        return labels, rng.normal(size=(n, self.q))

    def coloured(self, labels: IntArray, normals: Array) -> Array:
        """The rows (n, q) that this law makes of what was drawn."""
        return np.asarray(coloured(normals, self.factors, labels))

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


def make_calibration(law: CodeLaw, atoms: ArrayLike, noise: float, rng: np.random.Generator, n_rows: int) -> Array:
    r"""Rows :math:`Y_i = D c_i + \xi_i,\ \xi_i \sim N_q(0, \nu I)` (eq:training-model), (n_rows, q).

    All coefficients are drawn first, then all noise.  atoms: (q, n), columns of any norm, so that responses of
    different strength can be simulated as well.  rng: `numpy.random.default_rng(seed)`.
    """
    atoms = check_array("atoms", atoms, (None, None))
    check_instance("rng", rng, np.random.Generator)
    noise = check_positive("noise", noise)
    coefficients = law.sample(rng, check_count("n_rows", n_rows, 0), atoms.shape[1])  # (n_rows, n)
    disturbance = np.sqrt(noise) * rng.standard_normal((n_rows, atoms.shape[0]))  # (n_rows, q)
    return np.asarray(coefficients @ atoms.T + disturbance)


# Derivatives of weights cancel to a sum of zero; in float64 they do so to a few units of rounding of the largest.
_BALANCE_TOLERANCE = 1e-10


def calibration_tangent(
    law: CodeLaw, atoms: ArrayLike, *, d_noise: ArrayLike, d_atoms: ArrayLike, d_probability: ArrayLike | None = None
) -> Tangent:
    r"""Derivatives of `calibration_mixture` along k directions of (p, nu, D), aligned with its components.

    :math:`\dot w_J = \dot p\, p^{k-1} (1-p)^{n-k-1} (k - np),\quad
    \dot C_J = \dot\nu I + \lambda_k \sum_{j \in J} (\dot d_j d_j^\top + d_j \dot d_j^\top)` with k = |J|.

    atoms: (q, n).  d_noise: (k,).  d_atoms: (k, q, n).  d_probability: (k,), only for a law with an activity p.
    """
    atoms = check_array("atoms", atoms, (None, None))
    q, n = atoms.shape
    noise_rates = check_array("d_noise", d_noise, (None,))  # (k,)
    directions = len(noise_rates)
    atom_rates = check_array("d_atoms", d_atoms, (directions, q, n))
    p_rates = (
        np.zeros(directions) if d_probability is None else check_array("d_probability", d_probability, (directions,))
    )
    masks, weights, variances = active_components(law, n)
    one_sided = np.einsum("kaj,bj->kjab", atom_rates, atoms)
    outer = (one_sided + np.swapaxes(one_sided, -1, -2)).reshape(directions, n, q * q)
    signal = (variances[:, None] * masks) @ outer  # (k, m, q * q)
    moved = signal.reshape(directions, -1, q, q) + noise_rates[:, None, None, None] * np.eye(q)
    return Tangent(p_rates[:, None] * _weight_rates(law.activity, masks, weights, p_rates), moved)


def _weight_rates(p: float | None, masks: BoolArray, weights: Array, p_rates: Array) -> Array:
    """Derivative of every component's weight in p, (m,)."""
    if p is not None:
        excess = masks.sum(axis=1) - masks.shape[1] * p  # (m,)
        return np.asarray(weights * excess / (p * (1.0 - p)))
    if np.any(p_rates != 0.0):
        raise MisuseError("d_probability", "be left out for a law without an activity probability", p_rates)
    return np.zeros_like(weights)
