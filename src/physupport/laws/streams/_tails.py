"""Tail probabilities for exact tests, rounded up, so that rounding never rejects an explanation."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtr, chdtrc, ndtr

from ..._typing import Array

# With so many degrees of freedom or more, scipy breaks off the sum of a lower tail this small and gives too little: at
# 1e8 degrees 22 % less than 2.9e-7.  Such a tail is told as this bound of it.
_MANY = 100_000
_LEAST_BELOW = 1e-5


def two_sided(energy: ArrayLike, freedom: int, variance: float, rounding: ArrayLike = 0.0) -> Array:
    r"""Twice the smaller tail of :math:`\chi^2_f` at energy / variance, at most 1: exact if that is the law.

    rounding: the length by which the root of the energy may be off; each tail is taken at the end that makes it larger,
    so that rounding can keep and never lose.  What is no number has probability 1.  Of 1e5 degrees of freedom or more
    the lower tail is told as 1e-5 where it is below that: then the value is at least the exact one, and still valid.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        radius = np.sqrt(energy)
        off = np.asarray(rounding, dtype=np.float64)
        above = chdtrc(freedom, np.maximum(radius - off, 0.0) ** 2 / variance)
        below = np.maximum(chdtr(freedom, (radius + off) ** 2 / variance), _LEAST_BELOW if freedom >= _MANY else 0.0)
        p = np.minimum(1.0, 2.0 * np.minimum(above, below))
    return np.asarray(np.nan_to_num(p, nan=1.0))


def two_sided_normal(off: Array) -> Array:
    """Twice the tail of a standard normal number beyond these."""
    return np.asarray(2.0 * ndtr(-np.abs(off)))
