"""Symmetric tensors in orthonormal coordinates: one number for every multiset of indices, never q^4 of them."""

from functools import cache
from itertools import combinations_with_replacement
from math import comb, factorial, prod

import numpy as np
from numpy.typing import ArrayLike

from ..._arrays import read_only
from ..._checks import check_array, check_count, check_symmetric
from ..._typing import Array, IntArray


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


@cache
def _entry_positions(q: int, order: int) -> IntArray:
    """Which coordinate each of the q^k entries of a tensor belongs to, (q^k,)."""
    position = np.empty((q,) * order, dtype=np.int64)
    position[tuple(multi_indices(q, order).T)] = np.arange(symmetric_dimension(q, order))
    everywhere = np.sort(np.indices((q,) * order).reshape(order, -1), axis=0)  # (order, q^order)
    return np.asarray(position[tuple(everywhere)])


def tensor_coordinates(tensor: ArrayLike) -> Array:
    """Coordinates (d_k,) of the symmetric part of a tensor given by all its q^k entries, for small q."""
    order = np.ndim(tensor)
    q = check_count("q", np.shape(tensor)[0] if order else 0)
    entries = check_array("tensor", tensor, (q,) * order)
    return np.bincount(_entry_positions(q, order), entries.ravel()) / multiplicity_roots(q, order)


def dense_tensor(coordinates: ArrayLike, q: int, order: int) -> Array:
    """The full symmetric tensor with q^k entries that has the given coordinates (d_k,); inverse of the coordinates."""
    coordinates = check_array("coordinates", coordinates, (symmetric_dimension(q, order),))
    values = (coordinates / multiplicity_roots(q, order))[_entry_positions(q, order)]
    return np.asarray(values.reshape((q,) * order))


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


def double_contraction(coordinates: ArrayLike, q: int) -> float:
    r""":math:`\operatorname{Tr}_2(T) = \sum_{i,j} T_{iijj}` of a symmetric tensor given by coordinates (d_4,)
    (eq:supp-double-contraction).

    It is the inner product with :math:`I^{\odot2}`, so :math:`|\operatorname{Tr}_2 T| \le \sqrt{q(q+2)/3}\,\|T\|_F`.
    """
    coordinates = check_array("coordinates", coordinates, (symmetric_dimension(q, 4),))
    return float(coordinates @ symmetrized_square(np.eye(q)))


def symmetric_matrix(name: str, value: ArrayLike, q: int | None = None) -> Array:
    """A symmetric (q, q) matrix, of any size unless given."""
    return check_symmetric(name, check_array(name, value, (q, q)))
