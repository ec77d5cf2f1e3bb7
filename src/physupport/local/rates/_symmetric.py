"""Symmetric tensors in isometric coordinates."""

from functools import cache
from itertools import combinations_with_replacement, permutations

import numpy as np
from scipy.sparse import csr_array

from ..._checks import check_count
from ..regions import symmetric_dimension


@cache
def symmetric_basis(dimension: int, order: int) -> csr_array:
    r"""Orthonormal basis of :math:`\mathrm{Sym}^k(\mathbb R^d)` inside the full tensors, one element a row.

    Row alpha spreads :math:`m_\alpha^{-1/2}` over the :math:`m_\alpha` entries whose indices are a rearrangement of
    alpha.  Its product with any flattened tensor gives the coordinates of the symmetric part of that tensor, and
    the Euclidean norm of those is the Frobenius norm of the part.  Returns (count, d**k), sparse.
    """
    check_count("dimension", dimension)
    check_count("order", order)
    strides = dimension ** np.arange(order)[::-1]
    rows, columns, entries = [], [], []
    for row, alpha in enumerate(combinations_with_replacement(range(dimension), order)):
        spread = np.array(sorted(set(permutations(alpha)))) @ strides
        rows += [row] * len(spread)
        columns += spread.tolist()
        entries += [len(spread) ** -0.5] * len(spread)
    return csr_array((entries, (rows, columns)), shape=(symmetric_dimension(dimension, order), dimension**order))
