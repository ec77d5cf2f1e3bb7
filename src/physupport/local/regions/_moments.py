"""Symmetric tensors in isometric coordinates, moments of calibration rows in them, and what the moments identify.

A symmetric tensor of order k in q dimensions has d_k = binom(q + k - 1, k) coordinates, far fewer than its q^k entries.
"""

from functools import cache
from itertools import combinations_with_replacement
from math import comb, factorial, prod

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import comb as binomials

from ..._checks import check_array, check_count, check_positive, check_symmetric, check_unit_columns, read_only
from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...laws import CodeLaw, law_moments

# Rows whose pair products are held at once: 2^14 rows of q = 16 take 18 MB.
_CHUNK = 1 << 14


def symmetric_dimension(q: int, order: int) -> int:
    r"""Dimension of :math:`\operatorname{Sym}^k(\mathbb R^q)`: :math:`d_k = \binom{q+k-1}{k}` (eq:sm-tech-s13-1).

    >>> symmetric_dimension(4, 2), symmetric_dimension(4, 4)
    (10, 35)
    """
    return comb(check_count("q", q) + check_count("order", order) - 1, order)


@cache
def multi_indices(q: int, order: int) -> IntArray:
    """The (d, order) nondecreasing multi-indices that name the coordinates, in lexicographic order."""
    return read_only(list(combinations_with_replacement(range(q), order)), np.int64)


@cache
def multiplicity_roots(q: int, order: int) -> Array:
    """Square roots (d,) of the number of entries of a full tensor that share one multi-index."""
    counts = (multi_indices(q, order)[:, :, None] == np.arange(q)).sum(axis=1)  # (d, q)
    return read_only(np.sqrt([factorial(order) / prod(factorial(int(c)) for c in row) for row in counts]))


def power_coordinates(vectors: ArrayLike, order: int) -> Array:
    r"""Coordinates of :math:`y^{\otimes k}` for every row y: weighted monomials.

    :math:`\operatorname{symvec}_k(y)_\alpha = \sqrt{k!/\alpha!}\; y^\alpha`, an isometry:
    :math:`\langle\operatorname{symvec}_k(x), \operatorname{symvec}_k(y)\rangle = (x^\top y)^k`.
    vectors: (N, q).  Returns (N, d_k).
    """
    vectors = check_array("vectors", vectors, (None, None))
    indices = multi_indices(check_count("q", vectors.shape[1]), check_count("order", order))
    monomials = vectors[:, indices[:, 0]]  # (N, d), one factor at a time keeps the memory at N d
    for factor in range(1, order):
        monomials = monomials * vectors[:, indices[:, factor]]
    return monomials * multiplicity_roots(vectors.shape[1], order)


def matrix_coordinates(matrix: ArrayLike) -> Array:
    """Coordinates (d_2,) of a symmetric (q, q) matrix; the Euclidean norm becomes the Frobenius norm."""
    matrix = symmetric_matrix("matrix", matrix)
    q = len(matrix)
    rows, columns = multi_indices(q, 2).T
    return np.asarray(matrix[rows, columns] * multiplicity_roots(q, 2))


def symmetrized_product(first: ArrayLike, second: ArrayLike) -> Array:
    r"""Coordinates of the symmetrized product of two symmetric matrices: their tensor product projected on Sym^4.

    :math:`(A\odot B)_{ijkl} = \tfrac16(A_{ij}B_{kl} + A_{ik}B_{jl} + A_{il}B_{jk} + B_{ij}A_{kl} + B_{ik}A_{jl} +
    B_{il}A_{jk})`, hence bilinear and :math:`\|A\odot B\|_F \le \|A\|_F\|B\|_F`.
    first, second: (q, q).  Returns (d_4,).
    """
    a = symmetric_matrix("first", first)
    b = symmetric_matrix("second", second, len(a))
    q = len(a)
    i, j, k, m = multi_indices(q, 4).T
    paired = a[i, j] * b[k, m] + a[i, k] * b[j, m] + a[i, m] * b[j, k]
    paired += b[i, j] * a[k, m] + b[i, k] * a[j, m] + b[i, m] * a[j, k]
    return np.asarray(paired / 6.0 * multiplicity_roots(q, 4))


def symmetrized_square(matrix: ArrayLike) -> Array:
    r"""Coordinates (d_4,) of :math:`C^{\odot2}`, with entries
    :math:`\tfrac13(C_{ij}C_{kl} + C_{ik}C_{jl} + C_{il}C_{jk})` (eq:supp-symmetrized-square).

    A centred Gaussian vector with covariance C has fourth moment :math:`3C^{\odot2}`.
    """
    return symmetrized_product(matrix, matrix)


def symmetric_matrix(name: str, value: ArrayLike, q: int | None = None) -> Array:
    """A symmetric (q, q) matrix, of any size unless given."""
    return check_symmetric(name, check_array(name, value, (q, q)))


def inclusion_probabilities(n: int, most: int) -> Array:
    r"""Probabilities :math:`\pi_m(h) = (h)_m/(n)_m` that a uniform h-subset of n atoms holds m given ones.

    Returns (most, n + 1): row m - 1 for m = 1..most, column h for h = 0..n; 0 where m exceeds n.
    """
    size = np.arange(n + 1.0)
    table = np.zeros((most, n + 1))
    included = np.ones(n + 1)
    for m in range(min(most, n)):
        included = included * np.maximum(size - m, 0.0) / (n - m)
        table[m] = included
    return table


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


def sample_cumulant(second: ArrayLike, fourth: ArrayLike) -> Array:
    r"""Coordinates (d_4,) of :math:`\widehat K_4 = \widehat M_4 - 3\widehat M_2^{\odot2}` (eq:sample-cumulant).

    second: (q, q).  fourth: (d_4,).  Any estimates of the two moments may be given.
    """
    square = symmetrized_square(second)
    return check_array("fourth", fourth, square.shape) - 3.0 * square


def check_rows(name: str, value: ArrayLike) -> Array:
    """Raise unless there is at least one data row, (N, q)."""
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
    """Numbers of the first two and of the last two indices of each fourth-order multi-index among the pairs, (d_4,)."""
    position = np.zeros((q, q), dtype=np.int64)
    position[tuple(multi_indices(q, 2).T)] = np.arange(symmetric_dimension(q, 2))
    i, j, k, m = multi_indices(q, 4).T
    return position[i, j], position[k, m]


def squared_norm_moments(law: CodeLaw, atoms: ArrayLike, noise: float) -> tuple[float, float]:
    r"""Moments :math:`\mathbb E\|Y\|^4` and :math:`\mathbb E\|Y\|^8` of a row :math:`Y = Dc + \xi`.

    Given the active set J of size k, Y is Gaussian with covariance :math:`C = \nu I + \lambda_k D_JD_J^\top` and
    :math:`\|Y\|^2` has cumulants :math:`\kappa_r = 2^{r-1}(r-1)!\operatorname{tr}C^r`.  The traces are polynomials in
    cycle sums of the Gram matrix over J, whose means over all J of size k are exact (`_cycle_sum_means`): O(n^3).
    atoms: (q, n).
    """
    atoms = check_unit_columns("atoms", atoms)
    nu = check_positive("noise", noise)
    q, n = atoms.shape
    size = np.arange(n + 1.0)
    weight = law.subset_weights(n) * binomials(n, size)  # (n + 1,), probability of the size
    lam = law.active_variances(n)
    s1 = lam * size
    s2, s3, s4, s22 = _cycle_sum_means(atoms.T @ atoms) * lam ** np.array([[2], [3], [4], [4]])
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
    e = float(reach.sum())
    f = float((squares**2).sum() - n)
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
