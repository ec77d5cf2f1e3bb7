"""Row kernels of centred Gaussian mixtures. Each row is computed alone: no result depends on how rows are blocked."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_count, check_positive, check_symmetric
from .._compiled import LOG2_E, cached_njit, exp2_minus
from .._errors import Clause, MisuseError
from .._typing import Array, BoolArray, IntArray
from ._codes import PROBABILITY_TOLERANCE, CodeLaw, support_masks

# Rows that share one pass over the components, all of them whether there are so many or not: loops of one length become
# packed machine code.  The lines of work arrays lie a little further apart, because numbers whole pages apart look like
# one to a processor that writes the one and reads the other.
_PASS = 256
_LINE = _PASS + 8
_FMA = {"contract"}


@cached_njit(nogil=True)
def _inverse_factors(factors: Array) -> Array:
    """L^-1 of lower triangular factors (m, q, q), filled up with zeros to a multiple of four."""
    m = factors.shape[0]
    q = factors.shape[1]
    padded = q + -q % 4
    inverses = np.zeros((m, padded, padded))
    for i in range(m):
        for c in range(q):
            for a in range(c, q):
                entry = 1.0 if a == c else 0.0
                for k in range(c, a):
                    entry -= factors[i, a, k] * inverses[i, k, c]
                inverses[i, a, c] = entry / factors[i, a, a]
    return inverses


@cached_njit(nogil=True)
def _load(rows: Array, start: int, columns: Array) -> int:
    """Put rows from start on into the lines of columns, and say how many there are."""
    count = min(_PASS, len(rows) - start)
    for a in range(rows.shape[1]):
        for b in range(count):
            columns[a, b] = rows[start + b, a]
    return count


@cached_njit(nogil=True, fastmath=_FMA)
def _add_terms(columns: Array, inverses: Array, i: int, a: int, c: int, z: Array, k: int) -> None:
    """Add four terms, from the c-th on, of the a-th entry of the whitened columns to z[k]."""
    f0 = inverses[i, a, c]
    f1 = inverses[i, a, c + 1]
    f2 = inverses[i, a, c + 2]
    f3 = inverses[i, a, c + 3]
    for b in range(_PASS):
        z[k, b] += f0 * columns[c, b] + f1 * columns[c + 1, b] + f2 * columns[c + 2, b] + f3 * columns[c + 3, b]


@cached_njit(nogil=True, fastmath=_FMA)
def _add_squares(columns: Array, inverses: Array, i: int, a: int, z: Array, joint: Array) -> None:
    """Add four squared entries of the whitened columns, from the a-th on, to joint[i]; z holds their terms before."""
    w00 = inverses[i, a, a]
    w10 = inverses[i, a + 1, a]
    w11 = inverses[i, a + 1, a + 1]
    w20 = inverses[i, a + 2, a]
    w21 = inverses[i, a + 2, a + 1]
    w22 = inverses[i, a + 2, a + 2]
    w30 = inverses[i, a + 3, a]
    w31 = inverses[i, a + 3, a + 1]
    w32 = inverses[i, a + 3, a + 2]
    w33 = inverses[i, a + 3, a + 3]
    for b in range(_PASS):
        x0 = columns[a, b]
        x1 = columns[a + 1, b]
        x2 = columns[a + 2, b]
        x3 = columns[a + 3, b]
        z0 = z[0, b] + w00 * x0
        z1 = z[1, b] + w10 * x0 + w11 * x1
        z2 = z[2, b] + w20 * x0 + w21 * x1 + w22 * x2
        z3 = z[3, b] + w30 * x0 + w31 * x1 + w32 * x2 + w33 * x3
        joint[i, b] += z0 * z0 + z1 * z1 + z2 * z2 + z3 * z3


@cached_njit(nogil=True)
def _joint_log_densities(columns: Array, inverses: Array, offsets: Array, z: Array, joint: Array, top: Array) -> None:
    """joint[i, b] = log w_i + log density of column b under component i, and top[b] the largest of them.

    z: (4, line) is left at zero if columns have no more than four entries.
    """
    for b in range(_PASS):
        top[b] = -np.inf
    for i in range(len(inverses)):
        offset = offsets[i]
        for b in range(_PASS):
            joint[i, b] = 0.0
        for a in range(0, len(columns), 4):
            for k in range(4 if len(columns) > 4 else 0):
                for b in range(_PASS):
                    z[k, b] = 0.0
                for c in range(0, a, 4):
                    _add_terms(columns, inverses, i, a + k, c, z, k)
            _add_squares(columns, inverses, i, a, z, joint)
        for b in range(_PASS):
            # A square that overflows, or a difference of two overflows, is a density below every float64.
            joint[i, b] = offset - 0.5 * joint[i, b] if joint[i, b] < np.inf else -np.inf
            top[b] = max(top[b], joint[i, b])


@cached_njit(nogil=True, fastmath=_FMA)
def _log_sums(joint: Array, top: Array, sums: Array) -> None:
    """sums[b] = log of the sum of exponentials down column b, with the largest term, top[b], taken out."""
    for b in range(_PASS):
        sums[b] = 0.0
    for i in range(len(joint)):
        for b in range(_PASS):
            sums[b] += exp2_minus(LOG2_E * (top[b] - joint[i, b]))
    for b in range(_PASS):
        sums[b] = top[b] + np.log(sums[b]) if top[b] > -np.inf else -np.inf


@cached_njit(nogil=True)
def mixture_log_density(rows: Array, factors: Array, offsets: Array) -> Array:
    """Log density of every row, (n,); rows (n, q), Cholesky factors (m, q, q), offsets (m,)."""
    inverses = _inverse_factors(factors)
    log_density = np.empty(len(rows))
    columns = np.zeros((inverses.shape[1], _LINE))
    z = np.zeros((4, _LINE))
    joint = np.zeros((len(inverses), _LINE))
    top = np.zeros(_LINE)
    sums = np.zeros(_LINE)
    for start in range(0, len(rows), _PASS):
        count = _load(rows, start, columns)
        _joint_log_densities(columns, inverses, offsets, z, joint, top)
        _log_sums(joint, top, sums)
        for b in range(count):
            log_density[start + b] = sums[b]
    return log_density


@cached_njit(nogil=True)
def _whiten(columns: Array, inverses: Array, i: int, whitened: Array) -> None:
    """Whitened = L^-1 columns under component i."""
    for a in range(len(columns)):
        for b in range(_PASS):
            whitened[a, b] = 0.0
        for c in range(a + 1):
            for b in range(_PASS):
                whitened[a, b] += inverses[i, a, c] * columns[c, b]


@cached_njit(nogil=True)
def responsible_squares(rows: Array, factors: Array, offsets: Array) -> Array:
    """Responsibility-weighted products of the whitened row, the features in which every score is linear.

    Returns (n, m * (1 + q (q + 1) / 2)): for component i of row y, with z = L_i^-1 y and responsibility r_i, the
    entries r_i, then r_i (z_a^2 - 1) on the diagonal and r_i z_a z_c off it, row by row of the lower triangle.
    """
    n, q = rows.shape
    m = factors.shape[0]
    width = 1 + q * (q + 1) // 2
    features = np.zeros((n, m * width))
    inverses = _inverse_factors(factors)
    columns = np.zeros((inverses.shape[1], _LINE))
    whitened = np.zeros((inverses.shape[1], _LINE))
    joint = np.zeros((m, _LINE))
    top = np.zeros(_LINE)
    sums = np.zeros(_LINE)
    z = np.zeros((4, _LINE))
    for start in range(0, n, _PASS):
        count = _load(rows, start, columns)
        _joint_log_densities(columns, inverses, offsets, z, joint, top)
        _log_sums(joint, top, sums)
        for i in range(m):
            for b in range(count):
                joint[i, b] = np.exp(joint[i, b] - sums[b])
        for i in range(m):
            _whiten(columns, inverses, i, whitened)
            for b in range(count):
                f = i * width
                features[start + b, f] = joint[i, b]
                for a in range(q):
                    weighted = joint[i, b] * whitened[a, b]
                    for c in range(a):
                        f += 1
                        features[start + b, f] = weighted * whitened[c, b]
                    f += 1
                    features[start + b, f] = joint[i, b] * (whitened[a, b] * whitened[a, b] - 1.0)
    return features


@cached_njit(nogil=True)
def coloured(normals: Array, factors: Array, labels: IntArray) -> Array:
    """Row b of the result is L_i times row b of the normals, i the label of the row; (n, q)."""
    n, q = normals.shape
    rows = np.zeros((n, q))
    for b in range(n):
        for a in range(q):
            for c in range(a + 1):
                rows[b, a] += factors[labels[b], a, c] * normals[b, c]
    return rows


# Exact finite mixtures of centred Gaussians: sampling, log density, score.


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
        raise MisuseError(
            name, "be positive definite", Clause(f"the smallest eigenvalue is {smallest[worst]:.3g} in matrix {worst}")
        )
    return np.asarray(factors)


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
            raise MisuseError("weights", "sum to 0 in every direction", Clause(f"the sums are {weights.sum(axis=1)}"))
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
        """Draw what rows are made of: components (n,) and normals (n, q), the same for all laws of the same weights."""
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
        m = self.n_components
        q = self.q
        if tangent.covariances.shape[1:] != (m, q, q):
            rule = f"match the mixture, {m} components of dimension {q}"
            raise MisuseError("tangent", rule, f"covariances of shape {tangent.covariances.shape}")
        half = np.linalg.solve(self.factors, tangent.covariances)  # (k, m, q, q)
        whitened = np.linalg.solve(self.factors, np.swapaxes(half, -1, -2))
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
