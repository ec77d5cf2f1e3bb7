r"""Nonnegative fits to counts with responses of a known width, and proven bounds of the best log likelihood.

Amounts x are not negative.  The width of column j in channel i is a convex function
:math:`\kappa_{ij}(s)`, such that the log likelihood of the best law is at most

.. math:: f(x) = \sum_i \inf_{s_i > 0}\Bigl(y_i\log\frac{y_i}{s_i} - y_i + \sum_j x_j\kappa_{ij}(s_i)\Bigr),

which is concave in x.  There are two kinds:

- **A band** from :math:`L_{ij}` to :math:`U_{ij}`: :math:`\kappa = U(s - 1)` for s above 1 and :math:`L(s - 1)` below.
  Then f is the exact supremum: :math:`y_i/s_i` is the count, clipped to the interval from :math:`(Lx)_i` to
  :math:`(Ux)_i`.  Exact columns are bands with L = U.
- **A recorded response** with :math:`N_{ij}` counts: :math:`\kappa = -(a/S)\log(1 - S(s - 1))` with
  :math:`a = N_{ij} + 1`.  `physupport.judges.counts._recorded` derives it and its spread S.  As S vanishes, this is an
  exact column.  If the rate is only known to within a share e, a and S are multiplied by 1 + e above 1, and by 1 - e
  below.

Each column has a further term :math:`-x_jr_j` from channels without counts.

The bound from above is the dual: with any :math:`s_i = tw_i`,

.. math:: f(x) \le \sum_i y_i\log\frac{y_i}{w_i} - N - N\log t, \quad\text{if for every j}\quad
   \sum_i \kappa_{ij}(w_it) \le r_j,

with N the sum of the counts.  The left side is monotone in t; the code takes the largest t that it can prove to meet
all conditions.  If L = U, this is Jensen's bound of `physupport.judges.counts._fit`.
"""

from math import log, log1p
from typing import NamedTuple

import numpy as np

from ..._compiled import LN2, U, cached_njit, exponent_of, log_mantissa, mantissa_of
from ..._typing import Array, IntArray
from ._fit import GAP, newton_step

# Steps before the bound is compared with the floor: bounds after fewer steps are too wide to decide.
_FIRST_LOOK = 3
# The line search halves a step until the barrier function grows by this share of its slope times the step (Armijo).
_GROWTH = 0.01
_HALVINGS = 8
# An upper limit of the factor t, at which all counts would be a quarter of their means.
_LARGEST = 4.0
_NEWTON = 60
# Newton steps for the s of a channel stop at this relative change.
_SETTLED = 1e-13
# Amounts of nothing leave s at the pole of a width, to which it comes no nearer than by this share.
_FROM_POLE = 1e-9


class Problem(NamedTuple):
    """The columns of one explanation beside the counts of one half, whose f amounts (r,) maximise."""

    low: Array  # (n, r) lower ends in the channels with counts
    high: Array  # (n, r) upper ends
    spread: Array  # (r, 2) S below and above 1, 0 for bands
    rest: Array  # (r,) what columns have in other channels
    counts: Array  # (n,) above 0


@cached_njit(nogil=True)
def fit_bands(
    lower: Array,
    upper: Array,
    spreads: Array,
    rests: Array,
    sums: Array,
    counts: Array,
    members: IntArray,
    steps: int,
    decided: tuple[float, float],
    bounds: Array,
) -> None:
    """Fit every explanation to one set of counts, or until it is known to lie beyond the ends of `decided`.

    lower, upper: (E, n) ends of the columns in the channels with counts.  sums: (E,) of the upper ends over all
    channels, approximate, above 0.  counts: (n,) above 0.
    members: (M, r) columns of each explanation, padded with -1.  spreads: (M, r, 2) S below and above 1 of recorded
    responses, 0 for bands.  rests: (M, r), at most their exact values and within 2^-40 of their parts.
    bounds: (M, 2), output: bounds of max f.
    """
    n = len(counts)
    for e in range(len(members)):
        places = np.flatnonzero(members[e] >= 0)
        active = members[e][places]
        low = np.empty((n, len(active)))
        high = np.empty((n, len(active)))
        rest = np.empty(len(active))
        for j in range(len(active)):
            rest[j] = rests[e, places[j]] / sums[active[j]]
            for i in range(n):
                low[i, j] = lower[active[j], i] / sums[active[j]]
                high[i, j] = upper[active[j], i] / sums[active[j]]
        bounds[e] = -np.inf
        if _reach_all(upper, active, n):
            bounds[e] = _fit(Problem(low, high, spreads[e][places], rest, counts), steps, decided)


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
def _fit(problem: Problem, steps: int, decided: tuple[float, float]) -> tuple[float, float]:
    """Maximise f, nearly, by an interior point method with a line search; return proven bounds of its supremum.

    Near kinks of f steps may lead astray, so that the bounds are those of the best amounts and means met on the way.
    """
    counts = problem.counts
    n, r = problem.low.shape
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
    length = 1.0
    for step in range(steps):
        value = _derivatives(problem, amounts, means, slopes, matrix, True)
        if value == -np.inf:
            break
        if value > best_value:
            best_value = value
            best_amounts[:] = amounts
        if best_value > decided[1]:
            break
        if step >= _FIRST_LOOK or step == steps - 1:
            factor = _factor(problem, means)
            top = _log_sum(counts, means) - total - total * log(factor) if factor > 0.0 else np.inf
            if top < least_top:
                least_top = top
                best_means[:] = means
            if least_top - best_value <= GAP or least_top < decided[0]:
                break
        centre, slope, longest, dual = newton_step(matrix, amounts, slacks, slopes, length, change)
        length = _searched(problem, amounts, change, value, centre, slope, longest, means)
        for j in range(r):
            amounts[j] *= 1.0 + length * change[j]
            slacks[j] += dual * slopes[j]
    return dual_bounds(problem, best_amounts, best_means)


@cached_njit(nogil=True)
def _searched(
    problem: Problem,
    amounts: Array,
    change: Array,
    value: float,
    centre: float,
    slope: float,
    length: float,
    means: Array,
) -> float:
    """Return the length of a step (r,), relative to the amounts, along which the barrier function grows enough."""
    r = len(amounts)
    goal = value
    for j in range(r):
        goal += centre * log(amounts[j])
    tried = np.empty(r)
    nothing = np.empty((0, 0))
    for _ in range(_HALVINGS):
        for j in range(r):
            tried[j] = amounts[j] * (1.0 + length * change[j])
        reached = _derivatives(problem, tried, means, np.empty(r), nothing, False)
        for j in range(r):
            reached += centre * log(tried[j])
        if reached >= goal + _GROWTH * length * slope - 1e-12 * abs(goal):
            break
        length *= 0.5
    return length


@cached_njit(nogil=True)
def _turn(low: Array, high: Array, spread: Array, amounts: Array, count: float) -> tuple[float, float, int]:
    """The s of a channel, the slope of its sum of x kappa there, and the side of 1 on which it lies: 0, 1, or -1 at 1.

    Each column alone gives an upper bound of s, from which Newton steps on a convex function descend.
    low, high: (r,) the ends in this channel.
    """
    least = 0.0
    most = 0.0
    is_spread = False
    for j in range(len(amounts)):
        least += low[j] * amounts[j]
        most += high[j] * amounts[j]
        is_spread |= spread[j, 1] > 0.0
    if least <= count <= most:
        return 1.0, count, -1
    side = 1 if count > most else 0
    mean = most if side == 1 else least
    if not mean > 0.0 or not is_spread:
        return (count / mean if mean > 0.0 else np.inf), mean, side
    ends = high if side == 1 else low
    s = count / mean if side == 1 else 1.0
    pole = np.inf
    for j in range(len(amounts)):
        part = spread[j, side] + amounts[j] * ends[j] / count
        s = min(s, (1.0 + spread[j, side]) / part) if part > 0.0 else s
        pole = min(pole, 1.0 + 1.0 / spread[j, side]) if spread[j, side] > 0.0 else pole
    pole *= 1.0 - _FROM_POLE
    for _ in range(_NEWTON):
        s = min(s, pole)
        mean = 0.0
        bend = 0.0
        for j in range(len(amounts)):
            left = 1.0 - spread[j, side] * (s - 1.0)
            part = amounts[j] * ends[j] / left
            mean += part
            bend += part * spread[j, side] / left
        change = (s * mean - count) / (mean + s * bend)
        s -= change
        if abs(change) <= _SETTLED * s:
            break
    return min(s, pole), mean, side


@cached_njit(nogil=True)
def _kappa(end: float, spread: float, excess: float) -> float:
    """The width at s = 1 + excess: excess is above -1, and its product with the spread below 1."""
    if spread == 0.0:
        return end * excess
    return -end / spread * log1p(-spread * excess)


@cached_njit(nogil=True)
def _derivatives(
    problem: Problem, amounts: Array, means: Array, slopes: Array, matrix: Array, is_second: bool
) -> float:
    """Evaluate f; write the best y / s (n,), the slopes (r,) and the lower half of V H V (r, r).

    is_second: True also writes the matrix.  The value is -inf if a channel with counts has a mean of 0, or amounts
    without a bound overflow.
    """
    low, high, spread, rest, counts = problem
    n, r = low.shape
    value = 0.0
    for j in range(r):
        slopes[j] = -rest[j]
        value -= rest[j] * amounts[j]
        if is_second:
            for k in range(r):
                matrix[j, k] = 0.0
    row = np.empty(r)
    reached = np.empty(r, np.int64)  # columns that reach a channel: lines and local background reach few
    for i in range(n):
        s, slope, side = _turn(low[i], high[i], spread, amounts, counts[i])
        if not (slope > 0.0 and s > 0.0):
            return -np.inf
        means[i] = counts[i] / s
        value += counts[i] * log(means[i]) - counts[i]
        if side < 0:
            continue
        bend = counts[i] / s / s
        n_reached = 0
        for j in range(r):
            end = high[i, j] if side == 1 else low[i, j]
            if end == 0.0:
                continue
            reached[n_reached] = j
            n_reached += 1
            width = _kappa(end, spread[j, side], s - 1.0)
            slopes[j] += width
            value += amounts[j] * width
            row[j] = amounts[j] * end / (1.0 - spread[j, side] * (s - 1.0))
            bend += row[j] * spread[j, side] / (1.0 - spread[j, side] * (s - 1.0))
        if is_second:
            for first in range(n_reached):
                j = reached[first]
                weight = row[j] / bend
                for second in range(first + 1):
                    matrix[j, reached[second]] += weight * row[reached[second]]
    return value


@cached_njit(nogil=True)
def _log_sum(counts: Array, means: Array) -> float:
    r""":math:`\sum_i y_i\log m_i`."""
    value = 0.0
    for i in range(len(counts)):
        value += counts[i] * log(means[i])
    return value


@cached_njit(nogil=True)
def _factor(problem: Problem, means: Array) -> float:
    """Find a t, nearly the largest, that provably meets the condition of every column; 0 if none was found.

    Newton steps on a convex function approach its root from the right.  The computed value is an upper bound: ratios
    have relative errors of at most 4 u, and kappa is monotone in them; terms have relative errors of at most 16 u,
    rounded shapes included; the sum adds n u of their sizes.
    """
    low, high, spread, rest, counts = problem
    n, r = low.shape
    t = _LARGEST
    for i in range(n):
        for j in range(r):
            if spread[j, 1] > 0.0:
                t = min(t, (1.0 - 1e-9) * (1.0 + 1.0 / spread[j, 1]) * means[i] / counts[i])
    for j in range(r):
        for _ in range(_NEWTON):
            value = -rest[j]
            size = abs(rest[j])
            slope = 0.0
            for i in range(n):
                ratio = counts[i] / means[i]
                excess = ratio * t - 1.0 + 8.0 * U * (ratio * t + 1.0)
                end = high[i, j] if excess > 0.0 else low[i, j]
                width = spread[j, 1] if excess > 0.0 else spread[j, 0]
                term = _kappa(end, width, excess)
                value += term
                size += abs(term)
                slope += end * ratio / (1.0 - width * excess)
            value += 2.0 * (n + 32.0) * U * size
            if value <= 0.0:
                break
            if not slope > 0.0:
                return 0.0
            t = min(max(t - value / slope, 0.5 * t), (1.0 - 16.0 * U) * t)
        else:
            return 0.0
    return t


@cached_njit(nogil=True)
def dual_bounds(problem: Problem, amounts: Array, means: Array) -> tuple[float, float]:
    r"""A lower bound of max f at amounts and an upper bound by the dual at means (n,) above 0, rounding included.

    For any s and slope m > 0 of the convex sum h of :math:`x_j\kappa_j` at s, the infimum of a channel is at least
    :math:`y\log m - ms + h`.  Slopes have a relative error of at most (r + 3) u, which moves f by (r + 3) u of
    counts and slopes.  A logarithm has an error of 9 u plus 3 u of its size, a sum of n terms one of n u of their
    sizes.  The bounds allow for twice that, and for 2^-39 of the counts that the amounts would have in all other
    channels.
    """
    low, high, spread, rest, counts = problem
    n, r = low.shape
    beside = 0.0
    beside_size = 0.0
    for j in range(r):
        beside += rest[j] * amounts[j]
        beside_size += abs(rest[j]) * amounts[j]
    total = 0.0
    subtracted = 0.0
    size = beside_size
    value = 0.0
    value_size = 0.0
    dual = 0.0
    dual_size = 0.0
    is_reached = True
    for i in range(n):
        total += counts[i]
        s, mean, side = _turn(low[i], high[i], spread, amounts, counts[i])
        is_reached &= 1e-250 < mean < 1e250
        if 1e-250 < mean < 1e250:
            term = counts[i] * (exponent_of(mean) * LN2 + log_mantissa(mantissa_of(mean)))
            value += term
            value_size += abs(term)
            subtracted += mean * s if side >= 0 else mean
            size += mean * s
            for j in range(r if side >= 0 else 0):
                end = high[i, j] if side == 1 else low[i, j]
                term = amounts[j] * _kappa(end, spread[j, side], s - 1.0)
                subtracted -= term
                size += abs(term)
        term = counts[i] * (exponent_of(means[i]) * LN2 + log_mantissa(mantissa_of(means[i])))
        dual += term
        dual_size += abs(term)
    error = 2.0 * U * ((n + 8.0) * value_size + (n + 3.0 * r + 64.0) * (total + size))
    lower = value - subtracted - beside - error - 2.0**-39 * beside_size if is_reached else -np.inf
    factor = _factor(problem, means)
    if not factor > 0.0:
        return lower, np.inf
    turn = log(factor)
    error = 2.0 * U * ((n + 8.0) * dual_size + (n + 64.0) * total + 4.0 * total * abs(turn))
    return lower, dual - total - total * turn + error
