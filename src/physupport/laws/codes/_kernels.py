"""Row kernels of centred Gaussian mixtures. Each row is computed alone: no result depends on how rows are blocked."""

import numpy as np
from numba import njit

from ..._exp import LOG2_E, exp2_minus
from ..._typing import Array, IntArray

# Rows that share one pass over the components: long enough for vector instructions, short enough for the cache.
_PASS = 64


@njit(cache=True, nogil=True)
def _solve(columns: Array, factor: Array, count: int, whitened: Array) -> None:
    """Forward substitution: whitened = L^-1 columns for the first ``count`` columns."""
    for a in range(factor.shape[0]):
        for b in range(count):
            whitened[a, b] = columns[a, b]
        for c in range(a):
            entry = factor[a, c]
            for b in range(count):
                whitened[a, b] -= entry * whitened[c, b]
        inverse = 1.0 / factor[a, a]
        for b in range(count):
            whitened[a, b] *= inverse


@njit(cache=True, nogil=True)
def _joint_log_densities(
    columns: Array, factors: Array, offsets: Array, count: int, whitened: Array, joint: Array
) -> None:
    """joint[i, b] = log w_i + log density of column b under component i."""
    for i in range(factors.shape[0]):
        _solve(columns, factors[i], count, whitened)
        for b in range(count):
            joint[i, b] = 0.0
        for a in range(factors.shape[1]):
            for b in range(count):
                joint[i, b] += whitened[a, b] * whitened[a, b]
        for b in range(count):
            # A square that overflows, or a difference of two overflows, is a density below every float64.
            joint[i, b] = offsets[i] - 0.5 * joint[i, b] if joint[i, b] < np.inf else -np.inf


@njit(cache=True, nogil=True)
def _log_sums(joint: Array, count: int, top: Array, sums: Array) -> None:
    """sums[b] = log of the sum of exponentials down column b, with the largest term, top[b], taken out."""
    for b in range(count):
        top[b], sums[b] = joint[0, b], 0.0
    for i in range(1, joint.shape[0]):
        for b in range(count):
            top[b] = max(top[b], joint[i, b])
    for i in range(joint.shape[0]):
        for b in range(count):
            sums[b] += exp2_minus(LOG2_E * (top[b] - joint[i, b]))
    for b in range(count):
        sums[b] = top[b] + np.log(sums[b]) if top[b] > -np.inf else -np.inf


@njit(cache=True, nogil=True)
def mixture_log_density(rows: Array, factors: Array, offsets: Array) -> Array:
    """Log density of every row, (n,); rows (n, q), Cholesky factors (m, q, q), offsets (m,)."""
    n, q = rows.shape
    log_density = np.empty(n)
    columns, whitened = np.empty((q, _PASS)), np.empty((q, _PASS))
    joint, top, sums = np.empty((factors.shape[0], _PASS)), np.empty(_PASS), np.empty(_PASS)
    for start in range(0, n, _PASS):
        count = min(_PASS, n - start)
        columns[:, :count] = rows[start : start + count].T
        _joint_log_densities(columns, factors, offsets, count, whitened, joint)
        _log_sums(joint, count, top, sums)
        log_density[start : start + count] = sums[:count]
    return log_density


@njit(cache=True, nogil=True)
def responsible_squares(rows: Array, factors: Array, offsets: Array) -> Array:
    """Responsibility-weighted products of the whitened row, the features in which every score is linear.

    Returns (n, m * (1 + q (q + 1) / 2)): for component i of row y, with z = L_i^-1 y and responsibility r_i, the
    entries r_i, then r_i (z_a^2 - 1) on the diagonal and r_i z_a z_c off it, row by row of the lower triangle.
    """
    n, q = rows.shape
    m, width = factors.shape[0], 1 + q * (q + 1) // 2
    features = np.zeros((n, m * width))
    columns, whitened = np.empty((q, _PASS)), np.empty((q, _PASS))
    joint, top, sums = np.empty((m, _PASS)), np.empty(_PASS), np.empty(_PASS)
    for start in range(0, n, _PASS):
        count = min(_PASS, n - start)
        columns[:, :count] = rows[start : start + count].T
        _joint_log_densities(columns, factors, offsets, count, whitened, joint)
        _log_sums(joint, count, top, sums)
        for i in range(m):
            for b in range(count):
                joint[i, b] = np.exp(joint[i, b] - sums[b])
        for i in range(m):
            _solve(columns, factors[i], count, whitened)
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


@njit(cache=True, nogil=True)
def coloured(normals: Array, factors: Array, labels: IntArray) -> Array:
    """Row b of the result is L_i times row b of the normals, i the label of the row; (n, q)."""
    n, q = normals.shape
    rows = np.zeros((n, q))
    for b in range(n):
        for a in range(q):
            for c in range(a + 1):
                rows[b, a] += factors[labels[b], a, c] * normals[b, c]
    return rows
