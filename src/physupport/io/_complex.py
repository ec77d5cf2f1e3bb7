r"""Complex data as real data, exactly: every complex number becomes the pair (Re, Im).

A circular complex Gaussian vector z of covariance :math:`\nu I + \sum_j\lambda_ja_ja_j^*`, of density
:math:`\pi^{-q}|\Sigma|^{-1}\exp(-z^*\Sigma^{-1}z)`, is as pairs a real Gaussian vector of 2q entries and covariance
:math:`\tfrac\nu2I + \sum_j\tfrac{\lambda_j}2(\rho(a_j)\rho(a_j)^\top + \rho(ia_j)\rho(ia_j)^\top)` with the same
density, :math:`\rho` taking pairs.  Swapping, changing signs and halving are exact in binary, so no rounding enters.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._errors import MisuseError
from .._typing import Array, IntArray


def as_pairs(values: ArrayLike, axis: int = -1) -> Array:
    """Complex numbers as adjacent (Re, Im) along one axis, which becomes twice as long.

    >>> as_pairs([[1 + 2j, 3j]]).tolist()
    [[1.0, 2.0, 0.0, 3.0]]
    """
    last = np.moveaxis(np.asarray(values, dtype=np.complex128), axis, -1)
    pairs = np.ascontiguousarray(last).view(np.float64)
    return np.ascontiguousarray(np.moveaxis(pairs, -1, axis))


def as_complex(pairs: Array) -> NDArray[np.complex128]:
    """Pairs (Re, Im) along the first axis as complex numbers."""
    return np.asarray(pairs[0::2] + 1j * pairs[1::2])


def turned(pairs: Array) -> Array:
    """Pairs of i times the numbers: (Re, Im) -> (-Im, Re) along the last axis."""
    swapped = pairs.reshape(*pairs.shape[:-1], -1, 2)[..., ::-1] * np.array([-1.0, 1.0])
    return np.ascontiguousarray(swapped.reshape(pairs.shape))


def atom_table(elements: Array, is_complex: bool, has_phase: bool) -> Array:
    """Atoms as rows: (E, q), or (2 E, q), each with its turned one, where coefficients of complex atoms are complex."""
    # A copy even where the order is right: elements may be read-only, for which kernels would be compiled again.
    rows = np.array(elements.T, dtype=np.float64, order="C")
    if is_complex and rows.shape[1] % 2:
        raise MisuseError("elements", "have an even number of entries, pairs (Re, Im)", f"{rows.shape[1]} entries")
    if not (is_complex and has_phase):
        return rows
    return np.stack([rows, turned(rows)], axis=1).reshape(2 * len(rows), -1)


def doubled(elements: IntArray) -> IntArray:
    """(k, r) elements -> (k, 2 r) rows of a doubled table; the padding -1 stays."""
    pairs = 2 * elements[:, :, None] + np.arange(2)
    return np.where(elements[:, :, None] < 0, -1, pairs).reshape(len(elements), -1)
