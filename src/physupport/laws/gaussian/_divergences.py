"""Divergences of Kullback and Leibler between Gaussian laws of a row, in closed form."""

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_symmetric
from ..._typing import Array


def covariance_divergences(law: ArrayLike, others: ArrayLike) -> Array:
    r""":math:`\mathrm{KL}(N(0,\Sigma_0)\,\|\,N(0,\Sigma)) = \tfrac12\sum_i\{d_i - \log(1 + d_i)\}` for every other.

    The :math:`d_i` are the eigenvalues of :math:`L^{-1}(\Sigma_0 - \Sigma)L^{-\top}` with :math:`\Sigma = LL^\top`, so
    nothing cancels where the laws almost agree, and equal laws give 0 exactly.
    law: (q, q).  others: (k, q, q).  Returns (k,).
    """
    first = check_symmetric("law", check_array("law", law, (None, None)))
    rest = check_symmetric("others", check_array("others", others, (None, *first.shape)))
    factors = np.linalg.cholesky(rest)
    half = np.linalg.solve(factors, first - rest)  # L^-1 (S_0 - S)
    whitened = np.linalg.solve(factors, np.swapaxes(half, -1, -2))
    d = np.linalg.eigvalsh((whitened + np.swapaxes(whitened, -1, -2)) / 2.0)  # (k, q), above -1
    return np.asarray(np.maximum(d - np.log1p(d), 0.0).sum(axis=1) / 2.0)


def mean_divergences(mean: ArrayLike, variance: float, means: ArrayLike, variances: ArrayLike) -> Array:
    r""":math:`\mathrm{KL}(N(\mu_0,\nu_0I)\,\|\,N(\mu,\nu I)) = \tfrac{q}{2}\{d - \log(1+d)\} +
    \|\mu_0-\mu\|^2/(2\nu)` with :math:`d = \nu_0/\nu - 1`, for every other.

    mean: (q,).  means: (k, q).  variances: (k,), of each entry of a row.  Returns (k,).
    """
    first = check_array("mean", mean, (None,))
    rest = check_array("means", means, (None, len(first)))
    nu = check_array("variances", variances, (len(rest),))
    d = (variance - nu) / nu
    return np.asarray(len(first) / 2.0 * (d - np.log1p(d)) + np.sum((first - rest) ** 2, axis=1) / (2.0 * nu))
