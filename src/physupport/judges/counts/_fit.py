r"""Nonnegative fits to counts, and proven bounds of how well any of them can fit.

Counts y have means :math:`\mu = Ax`, x >= 0, with c the sums of the columns of A and N that of y.  What a fit is
measured by is :math:`\ell(x) = \sum_i y_i\log\mu_i - c\cdot x`; :math:`\log y!` is the same for everybody.
"""

from math import log, sqrt

import numpy as np

from ..._compiled import kept
from ..._exp import LN2, U, exponent_of, log_mantissa, mantissa_of
from ..._typing import Array, IntArray

# Steps of a fit; a dozen or two suffice, and what is left after that only widens the bounds.
MOST_STEPS = 80
# A fit stops once it is proven to be this near the best, in units of log likelihood.
GAP = 1e-7
# Parts of a column below this are left out of a fit, not of its bounds: numbers near underflow are slow.
_NOTHING = 1e-100
# Steps before it is looked whether a fit stays below the floor: bounds of earlier ones are too wide to tell.
_FIRST_LOOK = 3
_STEP, _CENTRE, _RIDGE = 0.99, 0.03, 1e-15


@kept(nogil=True)
def fit_all(
    columns: Array,
    sums: Array,
    counts: Array,
    members: IntArray,
    steps: int,
    floor: float,
    amounts: Array,
    bounds: Array,
) -> None:
    """Fit every explanation to one set of counts, or until it is known to stay below the floor.

    columns: (E, n) atoms in the channels with counts.  sums: (E,) of the columns over all channels, above 0 and
    rounded once.
    counts: (n,) above 0.  members: (M, r) columns of each explanation, -1 fills up.
    amounts: (M, r), written: counts that the fit ascribes to each column.  bounds: (M, 2), written, of its best fit.
    """
    n, width = columns.shape[1], members.shape[1]
    active, shapes, fitted = np.empty(width, np.int64), np.empty((n, width)), np.empty(width)
    for e in range(len(members)):
        r = 0
        for j in range(width):
            if members[e, j] >= 0:
                active[r] = members[e, j]
                r += 1
        for i in range(n):
            for j in range(r):
                shape = columns[active[j], i] / sums[active[j]]
                shapes[i, j] = shape if shape > _NOTHING else 0.0
        _fit(shapes, counts, r, steps, floor, fitted)
        for j in range(width):
            amounts[e, j] = fitted[j] if j < r else 0.0
        bounds[e, 0], bounds[e, 1] = log_bounds(columns, sums, counts, active[:r], amounts[e])


@kept(nogil=True)
def log_bounds(columns: Array, sums: Array, counts: Array, active: IntArray, amounts: Array) -> tuple[float, float]:
    r"""Numbers below and above :math:`\sup_{x\ge0}\ell(x)`, from any amounts :math:`c_jx_j`, rounding included.

    Below it is :math:`\ell` at x times N / (c . x).  Above, with :math:`G_j = \sum_i A_{ij}y_i/\mu_i`:
    :math:`\sum_i y_i\log(\mu'_i/\mu_i) \le N\log(x'\cdot G/N)` by Jensen's inequality,
    :math:`x'\cdot G \le (c\cdot x')\max_j G_j/c_j`, and :math:`N\log s - s \le N\log N - N`.  So
    :math:`\ell(x') \le \sum_i y_i\log\mu_i - N + N\log\max_j G_j/c_j` for every x' >= 0.

    Everything added is nonnegative: means are off by at most (r + 2) u of themselves, G and c by (n + r + 4) u and
    u; a logarithm by 9 u and 3 u of its size; a sum of n terms by n u of their sizes.  Twice that is taken off.
    """
    n, total = len(counts), 0.0
    for i in range(n):
        total += counts[i]
    if total == 0.0:
        return 0.0, 0.0
    slopes, value, size, ascribed = np.zeros(len(active)), 0.0, 0.0, 0.0
    for j in range(len(active)):
        ascribed += amounts[j]
    for i in range(n):
        mean = 0.0
        for j in range(len(active)):
            mean += columns[active[j], i] * (amounts[j] / sums[active[j]])
        if not 1e-250 < mean < 1e250:
            return -np.inf, _without(columns, active, i)
        term = counts[i] * (exponent_of(mean) * LN2 + log_mantissa(mantissa_of(mean)))
        value += term
        size += abs(term)
        for j in range(len(active)):
            slopes[j] += columns[active[j], i] * (counts[i] / mean)
    steepest = 0.0
    for j in range(len(active)):
        steepest = max(steepest, slopes[j] / sums[active[j]])
    turn, scale = log(steepest), log(total / ascribed)
    error = 2.0 * U * ((n + 8.0) * size + total * (3.0 * (n + len(active)) + 64.0 + 4.0 * (abs(turn) + abs(scale))))
    return value - total + total * scale - error, value - total + total * turn + error


@kept(nogil=True)
def _without(columns: Array, active: IntArray, i: int) -> float:
    """-inf if none of the columns reaches a channel with counts: no amounts explain them; else nothing is known."""
    for j in range(len(active)):
        if columns[active[j], i] > 0.0:
            return np.inf
    return -np.inf


@kept(nogil=True)
def _fit(shapes: Array, counts: Array, r: int, steps: int, floor: float, amounts: Array) -> None:
    r"""Amounts v that maximise :math:`\sum_i y_i\log(\sum_j P_{ij}v_j) - \sum_j v_j` over v >= 0, nearly.

    A primal-dual interior point method: with slacks :math:`z = 1 - G` and :math:`v_jz_j = \tau`, Newton steps in d =
    dv / v solve :math:`(VHV + VZ)d = \tau - V(1 - G)`, and :math:`\tau` falls by a factor each.
    shapes: (n, r) P.  amounts: (r,), written.
    """
    total = 0.0
    for i in range(len(counts)):
        total += counts[i]
    slacks, slopes, change, matrix = np.ones(r), np.empty(r), np.empty(r), np.empty((r, r))
    for j in range(r):
        amounts[j] = total / r
    length = 1.0
    for step in range(steps if total > 0.0 else 0):
        if not _derivatives(shapes, counts, amounts, slopes, matrix):
            return
        ascribed, product, trace, steepest = 0.0, 0.0, 0.0, 0.0
        for j in range(r):
            ascribed += amounts[j]
            product += amounts[j] * slacks[j]
            trace += matrix[j, j]
            steepest = max(steepest, slopes[j])
        if total * log(max(steepest * ascribed / total, 1.0)) <= GAP:
            return
        if step >= _FIRST_LOOK and _log_sum(shapes, counts, amounts, r) - total + total * log(steepest) < floor:
            return
        centre = (_CENTRE + (1.0 - length) ** 2) * product / r
        for j in range(r):
            matrix[j, j] += amounts[j] * slacks[j] + _RIDGE * trace
            change[j] = centre - amounts[j] * (1.0 - slopes[j])
        _solve(matrix, change)
        length = 1.0
        for j in range(r):
            slopes[j] = centre / amounts[j] - slacks[j] - slacks[j] * change[j]  # the step of the slack
            if change[j] < 0.0:
                length = min(length, -_STEP / change[j])
            if slopes[j] < 0.0:
                length = min(length, -_STEP * slacks[j] / slopes[j])
        for j in range(r):
            amounts[j] *= 1.0 + length * change[j]
            slacks[j] += length * slopes[j]


@kept(nogil=True)
def _log_sum(shapes: Array, counts: Array, amounts: Array, r: int) -> float:
    r""":math:`\sum_i y_i\log\mu_i`."""
    value = 0.0
    for i in range(len(counts)):
        mean = 0.0
        for j in range(r):
            mean += shapes[i, j] * amounts[j]
        value += counts[i] * log(mean)
    return value


@kept(nogil=True)
def _derivatives(shapes: Array, counts: Array, amounts: Array, slopes: Array, matrix: Array) -> bool:
    """Write G (r,) and the lower half of VHV (r, r); False where a mean is 0."""
    r, row = len(slopes), np.empty(len(slopes))
    for j in range(r):
        slopes[j] = 0.0
        for k in range(r):
            matrix[j, k] = 0.0
    for i in range(len(counts)):
        mean = 0.0
        for j in range(r):
            row[j] = shapes[i, j] * amounts[j]
            mean += row[j]
        if not mean > 0.0:
            return False
        ratio = counts[i] / mean
        for j in range(r):
            slopes[j] += shapes[i, j] * ratio
            weight = row[j] * (ratio / mean)
            for k in range(j + 1):
                matrix[j, k] += weight * row[k]
    return True


@kept(nogil=True)
def _solve(matrix: Array, right: Array) -> None:
    """Solve a positive definite system given by its lower half, in place (Cholesky)."""
    r = len(right)
    for j in range(r):
        for k in range(j + 1):
            left = matrix[j, k]
            for m in range(k):
                left -= matrix[j, m] * matrix[k, m]
            matrix[j, k] = left / matrix[k, k] if k < j else sqrt(max(left, 1e-300))
        for m in range(j):
            right[j] -= matrix[j, m] * right[m]
        right[j] /= matrix[j, j]
    for j in range(r - 1, -1, -1):
        for m in range(j + 1, r):
            right[j] -= matrix[m, j] * right[m]
        right[j] /= matrix[j, j]
