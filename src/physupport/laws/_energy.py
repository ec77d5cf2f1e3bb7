"""The energy of rows under a Gaussian law, in steps that neither overflow nor cancel before the energy itself does."""

from math import nan, sqrt

import numpy as np

from .._typing import Array
from ..io import RowSource
from ._law import Energy


def chi_square(statistic: float, freedom: int) -> Energy:
    """An energy with one degree of freedom for every independent number in the rows."""
    return Energy(statistic, float(freedom), sqrt(2.0 * freedom))


def squares(rows: RowSource, mean: Array, variance: float) -> float:
    r""":math:`\sum_i\|z_i - \mu\|^2/\nu`."""
    # Divided before they are squared: squares leave the range of double precision first.
    return float(sum(np.sum(((block - mean) / sqrt(variance)) ** 2) for block in rows.blocks()))


def whitened_energy(rows: RowSource, factor: Array, noise: float) -> float:
    r""":math:`\sum_iz_i^\top(\nu I + FF^\top)^{-1}z_i`; a noise far below the signal does not drown in rounding.

    factor: F, (q, r).  NaN if noise and signal are too many powers of ten apart for double precision.
    """
    scale = sqrt(noise)
    try:
        basis, s, _ = np.linalg.svd(factor / scale, full_matrices=False)  # (q, m), (m,)
    except np.linalg.LinAlgError:
        return nan
    total = 0.0
    for block in rows.blocks():
        scaled = block / scale
        inside = scaled @ basis
        total += float(np.sum((inside / np.sqrt(1.0 + s**2)) ** 2))
        # A basis of the whole space leaves nothing outside but rounding.
        total += 0.0 if len(s) == len(factor) else float(np.sum((scaled - inside @ basis.T) ** 2))
    return total
