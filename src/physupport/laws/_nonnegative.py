"""Least squares without negative coefficients, of columns that may depend on each other."""

import numpy as np
import scipy  # its parts are slow to load, and few analyses need them

from .._typing import Array

_RIDGE = 1e-6  # of columns of unit length: older versions of scipy's nnls square it, and fail on dependent columns


def nonnegative_coefficients(columns: Array, target: Array) -> Array:
    """(r,) the coefficients of the mixture of columns (q, r) next to a target (q,); none is negative.

    A ridge makes the answer unique: coefficients of independent columns differ by about 1e-12 of themselves from least
    squares, and those of dependent columns share what these explain.
    """
    count = columns.shape[1]
    if not count:  # scipy's nnls frees memory twice where there is no column
        return np.zeros(0)
    sizes = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    padded = np.vstack([columns / sizes, _RIDGE * np.eye(count)])
    amounts = scipy.optimize.nnls(padded, np.append(target, np.zeros(count)), maxiter=30 * count + 100)[0]
    return np.asarray(amounts / sizes)
