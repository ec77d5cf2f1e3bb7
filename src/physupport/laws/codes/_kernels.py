"""Row kernels of centred Gaussian mixtures. Each row is computed alone: no result depends on how rows are blocked."""

import numpy as np

from ..._compiled import kept
from ..._exp import LOG2_E, exp2_minus
from ..._typing import Array, IntArray

# Rows that share one pass over the components, all of them whether there are so many or not: loops of one length become
# packed machine code.  The lines of work arrays lie a little further apart, because numbers whole pages apart look like
# one to a processor that writes the one and reads the other.
_PASS = 256
_LINE = _PASS + 8
_FMA = {"contract"}


@kept(nogil=True)
def _inverse_factors(factors: Array) -> Array:
    """L^-1 of lower triangular factors (m, q, q), filled up with zeros to a multiple of four."""
    m, q = factors.shape[0], factors.shape[1]
    padded = q + -q % 4
    inverses = np.zeros((m, padded, padded))
    for i in range(m):
        for c in range(q):
            for a in range(c, q):
                entry = 1.0 if a == c else 0.0
                for k in range(c, a):
                    entry -= factors[i, a, k] * inverses[i, k, c]
                inverses[i, a, c] = entry / factors[i, a, a]
    return inverses


@kept(nogil=True)
def _load(rows: Array, start: int, columns: Array) -> int:
    """Put rows from start on into the lines of columns, and say how many there are."""
    count = min(_PASS, len(rows) - start)
    for a in range(rows.shape[1]):
        for b in range(count):
            columns[a, b] = rows[start + b, a]
    return count


@kept(nogil=True, fastmath=_FMA)
def _add_terms(columns: Array, inverses: Array, i: int, a: int, c: int, z: Array, k: int) -> None:
    """Add four terms, from the c-th on, of the a-th entry of the whitened columns to z[k]."""
    f0, f1, f2, f3 = inverses[i, a, c], inverses[i, a, c + 1], inverses[i, a, c + 2], inverses[i, a, c + 3]
    for b in range(_PASS):
        z[k, b] += f0 * columns[c, b] + f1 * columns[c + 1, b] + f2 * columns[c + 2, b] + f3 * columns[c + 3, b]


@kept(nogil=True, fastmath=_FMA)
def _add_squares(columns: Array, inverses: Array, i: int, a: int, z: Array, joint: Array) -> None:
    """Add four squared entries of the whitened columns, from the a-th on, to joint[i]; z holds their terms before."""
    w00, w10, w11 = inverses[i, a, a], inverses[i, a + 1, a], inverses[i, a + 1, a + 1]
    w20, w21, w22 = inverses[i, a + 2, a], inverses[i, a + 2, a + 1], inverses[i, a + 2, a + 2]
    w30, w31, w32 = inverses[i, a + 3, a], inverses[i, a + 3, a + 1], inverses[i, a + 3, a + 2]
    w33 = inverses[i, a + 3, a + 3]
    for b in range(_PASS):
        x0, x1, x2, x3 = columns[a, b], columns[a + 1, b], columns[a + 2, b], columns[a + 3, b]
        z0 = z[0, b] + w00 * x0
        z1 = z[1, b] + w10 * x0 + w11 * x1
        z2 = z[2, b] + w20 * x0 + w21 * x1 + w22 * x2
        z3 = z[3, b] + w30 * x0 + w31 * x1 + w32 * x2 + w33 * x3
        joint[i, b] += z0 * z0 + z1 * z1 + z2 * z2 + z3 * z3


@kept(nogil=True)
def _joint_log_densities(columns: Array, inverses: Array, offsets: Array, z: Array, joint: Array, top: Array) -> None:
    """joint[i, b] = log w_i + log density of column b under component i, and top[b] the largest of them.

    z: (4, line) is left at zero if columns have no more than four entries.
    """
    for b in range(_PASS):
        top[b] = -np.inf
    for i in range(len(inverses)):
        offset = offsets[i]
        for b in range(_PASS):
            joint[i, b] = 0.0
        for a in range(0, len(columns), 4):
            for k in range(4 if len(columns) > 4 else 0):
                for b in range(_PASS):
                    z[k, b] = 0.0
                for c in range(0, a, 4):
                    _add_terms(columns, inverses, i, a + k, c, z, k)
            _add_squares(columns, inverses, i, a, z, joint)
        for b in range(_PASS):
            # A square that overflows, or a difference of two overflows, is a density below every float64.
            joint[i, b] = offset - 0.5 * joint[i, b] if joint[i, b] < np.inf else -np.inf
            top[b] = max(top[b], joint[i, b])


@kept(nogil=True, fastmath=_FMA)
def _log_sums(joint: Array, top: Array, sums: Array) -> None:
    """sums[b] = log of the sum of exponentials down column b, with the largest term, top[b], taken out."""
    for b in range(_PASS):
        sums[b] = 0.0
    for i in range(len(joint)):
        for b in range(_PASS):
            sums[b] += exp2_minus(LOG2_E * (top[b] - joint[i, b]))
    for b in range(_PASS):
        sums[b] = top[b] + np.log(sums[b]) if top[b] > -np.inf else -np.inf


@kept(nogil=True)
def mixture_log_density(rows: Array, factors: Array, offsets: Array) -> Array:
    """Log density of every row, (n,); rows (n, q), Cholesky factors (m, q, q), offsets (m,)."""
    inverses = _inverse_factors(factors)
    log_density = np.empty(len(rows))
    columns, z = np.zeros((inverses.shape[1], _LINE)), np.zeros((4, _LINE))
    joint, top, sums = np.zeros((len(inverses), _LINE)), np.zeros(_LINE), np.zeros(_LINE)
    for start in range(0, len(rows), _PASS):
        count = _load(rows, start, columns)
        _joint_log_densities(columns, inverses, offsets, z, joint, top)
        _log_sums(joint, top, sums)
        for b in range(count):
            log_density[start + b] = sums[b]
    return log_density


@kept(nogil=True)
def _whiten(columns: Array, inverses: Array, i: int, whitened: Array) -> None:
    """Whitened = L^-1 columns under component i."""
    for a in range(len(columns)):
        for b in range(_PASS):
            whitened[a, b] = 0.0
        for c in range(a + 1):
            for b in range(_PASS):
                whitened[a, b] += inverses[i, a, c] * columns[c, b]


@kept(nogil=True)
def responsible_squares(rows: Array, factors: Array, offsets: Array) -> Array:
    """Responsibility-weighted products of the whitened row, the features in which every score is linear.

    Returns (n, m * (1 + q (q + 1) / 2)): for component i of row y, with z = L_i^-1 y and responsibility r_i, the
    entries r_i, then r_i (z_a^2 - 1) on the diagonal and r_i z_a z_c off it, row by row of the lower triangle.
    """
    n, q = rows.shape
    m, width = factors.shape[0], 1 + q * (q + 1) // 2
    features, inverses = np.zeros((n, m * width)), _inverse_factors(factors)
    columns, whitened = np.zeros((inverses.shape[1], _LINE)), np.zeros((inverses.shape[1], _LINE))
    joint, top, sums, z = np.zeros((m, _LINE)), np.zeros(_LINE), np.zeros(_LINE), np.zeros((4, _LINE))
    for start in range(0, n, _PASS):
        count = _load(rows, start, columns)
        _joint_log_densities(columns, inverses, offsets, z, joint, top)
        _log_sums(joint, top, sums)
        for i in range(m):
            for b in range(count):
                joint[i, b] = np.exp(joint[i, b] - sums[b])
        for i in range(m):
            _whiten(columns, inverses, i, whitened)
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


@kept(nogil=True)
def coloured(normals: Array, factors: Array, labels: IntArray) -> Array:
    """Row b of the result is L_i times row b of the normals, i the label of the row; (n, q)."""
    n, q = normals.shape
    rows = np.zeros((n, q))
    for b in range(n):
        for a in range(q):
            for c in range(a + 1):
                rows[b, a] += factors[labels[b], a, c] * normals[b, c]
    return rows
