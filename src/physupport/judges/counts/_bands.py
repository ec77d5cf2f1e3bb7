r"""Nonnegative fits to counts with responses anywhere within bands, and proven bounds of the best log likelihood.

Column j lies between :math:`L_j` and :math:`U_j` in every channel, and amounts x are not negative: the means of an
explanation are all :math:`\mu` with :math:`Lx \le \mu \le Ux`, a convex cone.  For fixed x the best mean is the count,
clipped to that interval, so :math:`f(x) = \sum_i \ell(y_i, \mathrm{clip}(y_i, (Lx)_i, (Ux)_i))` is concave, with
:math:`\ell(y, \mu) = y\log\mu - \mu`.

The bound from above is the dual.  Take any means m > 0 of the channels with counts, :math:`w_i = y_i/m_i`, and a
factor t > 0.  With the multipliers :math:`(w_it - 1)^+` of :math:`\mu\le Ux` and :math:`(1 - w_it)^+` of
:math:`\mu\ge Lx`,

.. math:: f(x) \le \sum_i y_i\log m_i - N - N\log t, \quad\text{if for every j}\quad
   \sum_i U_{ij}(w_it - 1)^+ \le \sum_i L_{ij}(1 - w_it)^+ + \sum_{y_i = 0} L_{ij},

with N the sum of the counts.  Both sides are monotone in t; the code takes the largest t that it can prove to meet all
conditions.  If L = U, this is Jensen's bound of `physupport.judges.counts._fit`.
"""

from math import log

import numpy as np

from ..._compiled import LN2, U, cached_njit, exponent_of, log_mantissa, mantissa_of
from ..._typing import Array, IntArray
from ._fit import GAP, solve

_STEP = 0.99
_CENTRE = 0.03
_RIDGE = 1e-15
# Steps before the bound is compared with the floor: bounds after fewer steps are too wide to decide.
_FIRST_LOOK = 3
# The line search halves a step until the barrier function grows by this share of its slope times the step (Armijo).
_GROWTH = 0.01
_HALVINGS = 8
# An upper limit of the factor t, at which all counts would be a quarter of their means.
_LARGEST = 4.0
_NEWTON = 60


@cached_njit(nogil=True)
def fit_bands(
    lower: Array,
    upper: Array,
    unseen: Array,
    sums: Array,
    counts: Array,
    members: IntArray,
    steps: int,
    bounds: Array,
) -> None:
    """Fit every explanation to one set of counts.

    lower, upper: (E, n) bands of the columns in the channels with counts.  unseen: (E,) sums of the lower ends over all
    other channels, at most their exact values and within 2^-40 of these.  sums: (E,) sums of the upper ends over all
    channels, approximate, above 0.  counts: (n,) above 0.
    members: (M, r) columns of each explanation, padded with -1.  bounds: (M, 2), output: bounds of max f.
    """
    n = len(counts)
    for e in range(len(members)):
        active = members[e][members[e] >= 0]
        low = np.empty((n, len(active)))
        high = np.empty((n, len(active)))
        rest = np.empty(len(active))
        for j in range(len(active)):
            rest[j] = unseen[active[j]] / sums[active[j]]
            for i in range(n):
                low[i, j] = lower[active[j], i] / sums[active[j]]
                high[i, j] = upper[active[j], i] / sums[active[j]]
        bounds[e] = -np.inf
        if _reach_all(upper, active, n):
            bounds[e] = _fit(low, high, rest, counts, steps)


@cached_njit(nogil=True)
def _reach_all(upper: Array, active: IntArray, n: int) -> bool:
    """True if some column reaches each channel with counts: else no amounts explain them."""
    for i in range(n):
        is_reached = False
        for j in active:
            is_reached |= upper[j, i] > 0.0
        if not is_reached:
            return False
    return True


@cached_njit(nogil=True)
def _fit(low: Array, high: Array, rest: Array, counts: Array, steps: int) -> tuple[float, float]:
    """Maximise f, nearly, by an interior point method with a line search; return proven bounds of its supremum.

    Near kinks of f steps may lead astray, so that the bounds are those of the best amounts and means met on the way.
    """
    n, r = low.shape
    total = counts.sum()
    if total == 0.0:
        return 0.0, 0.0
    means = np.empty(n)
    slopes = np.empty(r)
    amounts = np.full(r, total / r)
    best_amounts = amounts.copy()
    best_means = counts.copy()
    best_value = -np.inf
    least_top = np.inf
    matrix = np.empty((r, r))
    slacks = np.ones(r)
    change = np.empty(r)
    tried = np.empty(r)
    length = 1.0
    for step in range(steps):
        value = _derivatives(low, high, rest, counts, amounts, means, slopes, matrix, True)
        if value == -np.inf:
            break
        if value > best_value:
            best_value = value
            best_amounts[:] = amounts
        if step >= _FIRST_LOOK or step == steps - 1:
            factor = _factor(low, high, rest, counts, means)
            top = _log_sum(counts, means) - total - total * log(factor) if factor > 0.0 else np.inf
            if top < least_top:
                least_top = top
                best_means[:] = means
            if least_top - best_value <= GAP:
                break
        product = 0.0
        trace = 0.0
        for j in range(r):
            product += amounts[j] * slacks[j]
            trace += matrix[j, j]
        centre = (_CENTRE + (1.0 - length) ** 2) * product / r
        for j in range(r):
            matrix[j, j] += amounts[j] * slacks[j] + _RIDGE * trace
            change[j] = centre + amounts[j] * slopes[j]
        slope = 0.0
        goal = value
        for j in range(r):
            tried[j] = change[j]
        solve(matrix, change)
        length = 1.0
        dual = 1.0
        for j in range(r):
            slope += tried[j] * change[j]
            goal += centre * log(amounts[j])
            slopes[j] = centre / amounts[j] - slacks[j] - slacks[j] * change[j]  # the step of the slack
            if change[j] < 0.0:
                length = min(length, -_STEP / change[j])
            if slopes[j] < 0.0:
                dual = min(dual, -_STEP * slacks[j] / slopes[j])
        for _ in range(_HALVINGS):
            for j in range(r):
                tried[j] = amounts[j] * (1.0 + length * change[j])
            reached = _derivatives(low, high, rest, counts, tried, means, np.empty(r), matrix, False)
            for j in range(r):
                reached += centre * log(tried[j])
            if reached >= goal + _GROWTH * length * slope - 1e-12 * abs(goal):
                break
            length *= 0.5
        for j in range(r):
            amounts[j] = tried[j]
            slacks[j] += dual * slopes[j]
    return _bounds(low, high, rest, counts, best_amounts, best_means)


@cached_njit(nogil=True)
def _derivatives(
    low: Array,
    high: Array,
    rest: Array,
    counts: Array,
    amounts: Array,
    means: Array,
    slopes: Array,
    matrix: Array,
    is_second: bool,
) -> float:
    """Evaluate f without its constant; write the best means (n,), the slopes (r,) and the lower half of V H V (r, r).

    is_second: True also writes the matrix.  The value is -inf if a channel with counts has a mean of 0.
    """
    n, r = low.shape
    value = 0.0
    for j in range(r):
        slopes[j] = -rest[j]
        value -= rest[j] * amounts[j]
        if is_second:
            for k in range(r):
                matrix[j, k] = 0.0
    for i in range(n):
        least = 0.0
        most = 0.0
        for j in range(r):
            least += low[i, j] * amounts[j]
            most += high[i, j] * amounts[j]
        mean = min(max(counts[i], least), most)
        if not mean > 0.0:
            return -np.inf
        means[i] = mean
        value += counts[i] * log(mean) - mean
        if least <= counts[i] <= most:
            continue
        ends = low if counts[i] < least else high
        ratio = counts[i] / mean
        for j in range(r):
            slopes[j] += (ratio - 1.0) * ends[i, j]
            if is_second:
                weight = amounts[j] * ends[i, j] * (ratio / mean)
                for k in range(j + 1):
                    matrix[j, k] += weight * ends[i, k] * amounts[k]
    return value


@cached_njit(nogil=True)
def _log_sum(counts: Array, means: Array) -> float:
    r""":math:`\sum_i y_i\log m_i`."""
    value = 0.0
    for i in range(len(counts)):
        value += counts[i] * log(means[i])
    return value


@cached_njit(nogil=True)
def _factor(low: Array, high: Array, rest: Array, counts: Array, means: Array) -> float:
    """Find a t, nearly the largest, that provably meets the condition of every column; 0 if none was found.

    Newton steps on a convex function approach its root from the right.  The computed value is an upper bound: ratios
    have relative errors of at most 4 u and so have terms, rounded shapes included; the sum adds n u of their sizes.
    """
    n, r = low.shape
    t = _LARGEST
    for j in range(r):
        for _ in range(_NEWTON):
            value = -rest[j]
            size = rest[j]
            slope = 0.0
            for i in range(n):
                ratio = counts[i] / means[i]
                excess = ratio * t - 1.0 + 8.0 * U * (ratio * t + 1.0)
                end = high[i, j] if excess > 0.0 else low[i, j]
                value += end * excess
                size += end * abs(excess)
                slope += end * ratio
            value += 2.0 * (n + 8.0) * U * size
            if value <= 0.0:
                break
            if not slope > 0.0:
                return 0.0
            t = min(max(t - value / slope, 0.5 * t), (1.0 - 16.0 * U) * t)
        else:
            return 0.0
    return t


@cached_njit(nogil=True)
def _bounds(low: Array, high: Array, rest: Array, counts: Array, amounts: Array, means: Array) -> tuple[float, float]:
    """A lower bound of max f at amounts and an upper bound by the dual at means (n,) above 0, rounding included.

    The means of amounts have a relative error of at most (r + 3) u, which moves f by (r + 3) u of counts and means.  A
    logarithm has an error of 9 u plus 3 u of its size, a sum of n terms one of n u of their sizes.  The bounds allow
    for twice that, and for 2^-39 of the counts that the amounts would have in all other channels.
    """
    n, r = low.shape
    beside = 0.0
    for j in range(r):
        beside += rest[j] * amounts[j]
    total = 0.0
    subtracted = 0.0
    value = 0.0
    value_size = 0.0
    dual = 0.0
    dual_size = 0.0
    is_reached = True
    for i in range(n):
        total += counts[i]
        least = 0.0
        most = 0.0
        for j in range(r):
            least += low[i, j] * amounts[j]
            most += high[i, j] * amounts[j]
        mean = min(max(counts[i], least), most)
        is_reached &= 1e-250 < mean < 1e250
        mean = mean if 1e-250 < mean < 1e250 else counts[i]
        subtracted += mean
        term = counts[i] * (exponent_of(mean) * LN2 + log_mantissa(mantissa_of(mean)))
        value += term
        value_size += abs(term)
        term = counts[i] * (exponent_of(means[i]) * LN2 + log_mantissa(mantissa_of(means[i])))
        dual += term
        dual_size += abs(term)
    error = 2.0 * U * ((n + 8.0) * value_size + (n + 3.0 * r + 64.0) * (total + subtracted + beside))
    lower = value - subtracted - beside - error - 2.0**-39 * beside if is_reached else -np.inf
    factor = _factor(low, high, rest, counts, means)
    if not factor > 0.0:
        return lower, np.inf
    turn = log(factor)
    error = 2.0 * U * ((n + 8.0) * dual_size + (n + 64.0) * total + 4.0 * total * abs(turn))
    return lower, dual - total - total * turn + error
