"""Second moment and fourth cumulant of calibration rows, what they identify, and their sample versions."""

from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import comb

from ..._checks import check_array, check_count, check_positive, check_unit_columns
from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...laws import CodeLaw, law_moments
from ..shell import inclusion_probabilities
from ._tensors import (
    double_contraction,
    multi_indices,
    multiplicity_roots,
    power_coordinates,
    symmetric_dimension,
    symmetric_matrix,
    symmetrized_square,
)

# Rows whose pair products are held at once: 2^14 rows of q = 16 take 18 MB.
_CHUNK = 1 << 14


def projector_sum(atoms: ArrayLike) -> Array:
    r""":math:`\Sigma_2(D) = \sum_j P_j,\ P_j = d_jd_j^\top` (eq:projector-powers).  atoms: (q, n).  Returns (q, q)."""
    atoms = check_unit_columns("atoms", atoms)
    return atoms @ atoms.T


def projector_square_sum(atoms: ArrayLike) -> Array:
    r"""Coordinates (d_4,) of :math:`\Sigma_4 = \sum_j P_j^{\odot2} = \sum_j d_j^{\otimes4}` (eq:projector-powers)."""
    return np.asarray(power_coordinates(check_unit_columns("atoms", atoms).T, 4).sum(axis=0))


def second_moment(law: CodeLaw, atoms: ArrayLike, noise: float) -> Array:
    r""":math:`M_2 = \mathbb E\,YY^\top = \nu I + a_1\Sigma_2(D)` (eq:training-moments, eq:knownlaw-m2).

    Bernoulli-Gaussian codes have :math:`a_1 = p` (eq:bg-moments).  atoms: (q, n).  Returns (q, q).
    """
    shape = projector_sum(atoms)
    a1 = law_moments(law, np.shape(atoms)[1]).a1
    return check_positive("noise", noise) * np.eye(len(shape)) + a1 * shape


def fourth_cumulant(law: CodeLaw, atoms: ArrayLike) -> Array:
    r"""Coordinates (d_4,) of the fourth cumulant (eq:training-moments, eq:knownlaw-k4).

    :math:`K_4 = 3[(a_{2d}-a_{2o})\Sigma_4(D) + (a_{2o}-a_1^2)\Sigma_2(D)^{\odot2}]`.

    Independent codes have :math:`a_{2o} = a_1^2`, and Bernoulli-Gaussian ones
    :math:`K_4 = 3p(1-p)\Sigma_4(D)` (eq:bg-moments).  The noise is Gaussian and has no part in it.
    """
    moments = law_moments(law, np.shape(atoms)[1])
    crossed = (moments.a2o - moments.a1**2) * symmetrized_square(projector_sum(atoms))
    return 3.0 * (moments.delta * projector_square_sum(atoms) + crossed)


def fourth_moment(law: CodeLaw, atoms: ArrayLike, noise: float) -> Array:
    r"""Coordinates (d_4,) of :math:`M_4 = \mathbb E\,Y^{\otimes4} = K_4 + 3M_2^{\odot2}`."""
    return fourth_cumulant(law, atoms) + 3.0 * symmetrized_square(second_moment(law, atoms, noise))


@final
@dataclass(frozen=True, slots=True, eq=False)
class MomentInverse:
    """What the moments of Bernoulli-Gaussian calibration data identify (lem:moment-reduction)."""

    p: float
    noise: float
    projector_sum: Array  # (q, q), Sigma_2
    projector_square_sum: Array  # (d_4,), Sigma_4


def invert_moments(second: ArrayLike, cumulant: ArrayLike, n_atoms: int) -> MomentInverse:
    r"""Solve the Bernoulli-Gaussian moment equations on the branch p < 1/2 (eq:p-trace, eq:population-p-nu-inverse).

    :math:`u = \operatorname{Tr}_2(K_4)/(3n) = p(1-p),\quad p = \tfrac{1-\sqrt{1-4u}}2,\quad
    \nu = \tfrac{\operatorname{tr}M_2 - np}q,\quad \Sigma_2 = \tfrac{M_2-\nu I}p,\quad
    \Sigma_4 = \tfrac{K_4}{3p(1-p)}`.
    Exact at population moments; at sample moments a plug-in without a guarantee, whose noise may come out negative.
    second: (q, q).  cumulant: (d_4,) coordinates.
    """
    second = symmetric_matrix("second", second)
    q, n = len(second), check_count("n_atoms", n_atoms)
    cumulant = check_array("cumulant", cumulant, (symmetric_dimension(q, 4),))
    u = double_contraction(cumulant, q) / (3.0 * n)
    if not 0.0 < u <= 0.25:
        rule = "have Tr_2(K_4)/(3n) = p(1-p) above 0 and at most 1/4"
        raise MisuseError("cumulant", rule, f"{u:.6g}", "No activity probability below 1/2 has this cumulant.")
    p = activity_probability(u)
    noise = (float(np.trace(second)) - n * p) / q
    return MomentInverse(p, noise, (second - noise * np.eye(q)) / p, cumulant / (3.0 * u))


def activity_probability(u: float) -> float:
    """The p <= 1/2 with p(1 - p) = u, for u in [0, 1/4]."""
    # The conjugate of (1 - sqrt(1 - 4u))/2: nothing cancels for small u.
    return 2.0 * u / (1.0 + float(np.sqrt(1.0 - 4.0 * u)))


def sample_second_moment(rows: ArrayLike) -> Array:
    r""":math:`\tfrac1N\sum_i Y_iY_i^\top`.  rows: (N, q).  Returns (q, q)."""
    rows = check_rows("rows", rows)
    return rows.T @ rows / len(rows)


def sample_fourth_moment(rows: ArrayLike) -> Array:
    r"""Coordinates (d_4,) of :math:`\tfrac1N\sum_i Y_i^{\otimes4}`.  rows: (N, q)."""
    return mean_fourth_power(check_rows("rows", rows))


def sample_cumulant(second: ArrayLike, fourth: ArrayLike) -> Array:
    r"""Coordinates (d_4,) of :math:`\widehat K_4 = \widehat M_4 - 3\widehat M_2^{\odot2}` (eq:sample-cumulant).

    second: (q, q).  fourth: (d_4,).  Any estimates of the two moments may be given.
    """
    square = symmetrized_square(second)
    return check_array("fourth", fourth, square.shape) - 3.0 * square


def check_rows(name: str, value: ArrayLike) -> Array:
    """At least one data row, (N, q)."""
    rows = check_array(name, value, (None, None))
    if not rows.size:
        raise MisuseError(name, "hold at least one row and one column", f"shape {rows.shape}")
    return rows


def mean_fourth_power(rows: Array) -> Array:
    """Mean of the fourth tensor powers of the rows, (N, q) -> (d_4,) coordinates."""
    q = rows.shape[1]
    left, right = multi_indices(q, 2).T
    gram = np.zeros((len(left), len(left)))
    # Each fourth-order product is a product of two pairs, so one matrix product of the pairs holds them all.
    for start in range(0, len(rows), _CHUNK):
        part = rows[start : start + _CHUNK]
        pairs = part[:, left] * part[:, right]  # (chunk, d_2)
        gram += pairs.T @ pairs
    return np.asarray(gram[_pair_positions(q)] / len(rows) * multiplicity_roots(q, 4))


@cache
def _pair_positions(q: int) -> tuple[IntArray, IntArray]:
    """Where the first two and the last two indices of each fourth-order multi-index stand among the pairs, (d_4,)."""
    position = np.zeros((q, q), dtype=np.int64)
    position[tuple(multi_indices(q, 2).T)] = np.arange(symmetric_dimension(q, 2))
    i, j, k, m = multi_indices(q, 4).T
    return position[i, j], position[k, m]


def squared_norm_moments(law: CodeLaw, atoms: ArrayLike, noise: float) -> tuple[float, float]:
    r""":math:`\mathbb E\|Y\|^4` and :math:`\mathbb E\|Y\|^8` of a row :math:`Y = Dc + \xi`.

    Given the active set J of size k, Y is Gaussian with covariance :math:`C = \nu I + \lambda_k D_JD_J^\top` and
    :math:`\|Y\|^2` has cumulants :math:`\kappa_r = 2^{r-1}(r-1)!\operatorname{tr}C^r`.  The traces are polynomials in
    cycle sums of the Gram matrix over J, whose means over all J of size k are exact (`_cycle_sum_means`): O(n^3).
    atoms: (q, n).
    """
    atoms, nu = check_unit_columns("atoms", atoms), check_positive("noise", noise)
    q, n = atoms.shape
    size = np.arange(n + 1.0)
    weight = law.subset_weights(n) * comb(n, size)  # (n + 1,), probability of the size
    lam = law.active_variances(n)
    s1, (s2, s3, s4, s22) = lam * size, _cycle_sum_means(atoms.T @ atoms) * lam ** np.array([[2], [3], [4], [4]])
    trace = q * nu + s1
    square_base = q * nu**2 + 2.0 * nu * s1
    square = square_base + s2  # mean of tr C^2, and likewise below
    square_squared = square_base**2 + 2.0 * square_base * s2 + s22
    cube = q * nu**3 + 3.0 * nu**2 * s1 + 3.0 * nu * s2 + s3
    quartic = q * nu**4 + 4.0 * nu**3 * s1 + 6.0 * nu**2 * s2 + 4.0 * nu * s3 + s4
    # E Q^4 = k4 + 4 k3 k1 + 3 k2^2 + 6 k2 k1^2 + k1^4 with the cumulants of Q = ||Y||^2.
    eighth = 48.0 * quartic + 32.0 * cube * trace + 12.0 * square_squared + 12.0 * square * trace**2 + trace**4
    return float(weight @ (2.0 * square + trace**2)), float(weight @ eighth)


def _cycle_sum_means(gram: Array) -> Array:
    r"""Means over the subsets J of each size of :math:`S_2, S_3, S_4, S_2^2` with :math:`S_r = \operatorname{tr}G_J^r`.

    A term with t distinct indices lies in J with probability :math:`(k)_t/(n)_t`, so each sum is split by t.  With E
    and F the off-diagonal sums of g^2 and g^4, T the triangle sum and W the sum of :math:`g_{ij}^2g_{il}^2` over
    distinct indices, the splits count the coincidence patterns of the indices; the last is what remains of the whole.
    gram: (n, n) with unit diagonal.  Returns (4, n + 1).
    """
    n = len(gram)
    squares = gram**2
    reach = squares.sum(axis=1) - 1.0  # (n,), off-diagonal row sums
    square_gram = gram @ gram
    e, f = float(reach.sum()), float((squares**2).sum() - n)
    w = float(reach @ reach) - f
    t = float(np.sum(square_gram * gram)) - n - 3.0 * e
    fourth = [n, 6.0 * e + f, 4.0 * t + 2.0 * w]
    paired = [n, 4.0 * e + n * (n - 1.0) + 2.0 * f, 2.0 * (n - 2.0) * e + 4.0 * w]
    splits = np.array(
        [
            [n, e, 0.0, 0.0],
            [n, 3.0 * e, t, 0.0],
            [*fourth, float(np.sum(square_gram**2)) - sum(fourth)],
            [*paired, (n + e) ** 2 - sum(paired)],
        ]
    )
    return splits @ inclusion_probabilities(n, 4)
