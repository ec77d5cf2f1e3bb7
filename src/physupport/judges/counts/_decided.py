r"""Fits of explanations with many columns, each only until its bounds decide the verdict.

A verdict compares the mean evidence of all halves with 1 / level.  Evidence of at most 1 / level in every half keeps an
explanation, and evidence above H / level in one of H halves rejects it.  So most fits may stop early: any amounts bound
the supremum from below, any point of the dual from above, and the best amounts of the largest explanation, without the
columns that another one lacks, keep most others at the cost of a single evaluation.

The problem is that of `physupport.judges.counts._bands` without spreads, in the variables of its definition: amounts x
and means m with :math:`(Lx)_i \le m_i \le (Ux)_i` maximise :math:`\sum_i y_i\log m_i - m_i - r\cdot x`.  That is
smooth, unlike f, so that a primal-dual interior point method needs no line search.
"""

from typing import NamedTuple

import numpy as np

from ..._compiled import LN2, U, cached_njit, exponent_of, log_mantissa, mantissa_of
from ..._typing import Array, BoolArray, IntArray
from ._bands import Problem, dual_bounds
from ._fit import GAP, solve_sparse

# Steps from which on the gap is looked at, and how often: bounds cost as much as a step.
_LOOK = 3
# What a step leaves of the way to the nearest constraint.
_STEP = 0.99
_CENTRE = 0.05
_RIDGE = 1e-15
# The share of the width at either end that the first means leave free.
_INSIDE = 0.2
# Means whose ends are nearer than this share are taken for exact: slacks within them would be rounding.
_NARROW = 1e-6
# Amounts begin no lower than this share of all counts: an interior point method cannot leave 0.
_LEAST = 1e-5


@cached_njit(nogil=True)
def evaluate_all(
    lower: Array, upper: Array, rests: Array, counts: Array, members: IntArray, amounts: Array, values: Array
) -> None:
    """Bound the supremum of every explanation from below by its amounts, rounding included.

    lower, upper: (E, n) ends of the columns in the channels with counts, over the sums of the upper ends.  rests: (E,)
    what they have in other channels.  counts: (n,) above 0.  members: (M, r), padded with -1.  amounts: (E,).
    values: (M,), output; -inf where a mean is 0.
    """
    n = len(counts)
    total = counts.sum()
    n_used = (amounts > 0.0).sum()
    whole = -np.inf
    for e in range(len(members)):
        low = np.zeros(n)
        high = np.zeros(n)
        beside = 0.0
        count = 0
        for j in members[e]:
            count += j >= 0 and amounts[j] > 0.0
        if count == n_used and whole > -np.inf:  # of explanations that have all columns in use the value is the same
            values[e] = whole
            continue
        for j in members[e]:
            if j >= 0 and amounts[j] > 0.0:
                low += amounts[j] * lower[j]
                high += amounts[j] * upper[j]
                beside += amounts[j] * rests[j]
        values[e] = _value(low, high, counts, total, beside, count)
        if count == n_used:
            whole = values[e]


@cached_njit(nogil=True)
def _value(low: Array, high: Array, counts: Array, total: float, beside: float, count: int) -> float:
    r"""A lower bound of :math:`\sum_i y_i\log m_i - m_i` less what lies beside, with m the counts clipped to the ends.

    Ends have relative errors of at most (count + 3) u, by which the function moves no more than that share of counts
    and means; a logarithm errs by 9 u and 3 u of its size, a sum by n u of the sizes of its terms.  Twice that is
    taken off, and 2^-39 of what lies beside.
    """
    value = 0.0
    size = 0.0
    expected = 0.0
    for i in range(len(counts)):
        mean = min(max(counts[i], low[i]), high[i])
        if not 1e-250 < mean < 1e250:
            return -np.inf
        term = counts[i] * (exponent_of(mean) * LN2 + log_mantissa(mantissa_of(mean)))
        value += term
        size += abs(term)
        expected += mean
    n = len(counts)
    error = 2.0 * U * ((n + 8.0) * size + (n + 3.0 * count + 64.0) * (total + expected + beside))
    return value - expected - beside - error - 2.0**-39 * beside


@cached_njit(nogil=True)
def fit_until(
    lower: Array,
    upper: Array,
    rests: Array,
    counts: Array,
    active: IntArray,
    amounts: Array,
    keep: float,
    reject: float,
    steps: int,
) -> tuple[float, float]:
    """Fit one explanation until its supremum is proven to reach `keep` or to stay below `reject`; return its bounds.

    active: (r,) the columns.  amounts: (E,) the start and, output, the fit.  See `evaluate_all` for the others.
    """
    n = len(counts)
    r = len(active)
    low = np.empty((n, r))
    high = np.empty((n, r))
    rest = np.empty(r)
    held = np.empty(r)
    for k in range(r):  # backgrounds, which reach few channels, come first: the matrix of the system stays sparse
        j = active[r - 1 - k]
        rest[k] = rests[j]
        held[k] = max(amounts[j], _LEAST * counts.sum())
        for i in range(n):
            low[i, k] = lower[j, i]
            high[i, k] = upper[j, i]
    bounds = _fit(Problem(low, high, np.zeros((r, 2)), rest, counts), held, keep, reject, steps)
    for k in range(r):
        amounts[active[r - 1 - k]] = held[k]
    return bounds


class Path(NamedTuple):
    """The variables of the interior point method, which every step moves, and where columns reach."""

    amounts: Array  # (r,)
    weights: Array  # (r,) duals of the amounts
    means: Array  # (n,)
    slacks: Array  # (n, 2) of the means above the lower and below the upper ends
    duals: Array  # (n, 2) of the slacks
    is_wide: BoolArray  # (n,) some column has a width there
    reached: IntArray  # (n, r) the columns that reach each channel
    n_reached: IntArray  # (n,) how many these are


@cached_njit(nogil=True)
def _fit(problem: Problem, amounts: Array, keep: float, reject: float, steps: int) -> tuple[float, float]:
    """Follow the central path.  amounts: (r,) above 0, output: the best of those that were looked at."""
    n, r = problem.low.shape
    reached, n_reached, is_wide = _reached(problem.low, problem.high)
    path = Path(
        amounts.copy(),
        np.ones(r),
        np.empty(n),
        np.ones((n, 2)),
        np.zeros((n, 2)),
        is_wide,
        reached,
        n_reached,
    )
    change = np.empty(r)
    matrix = np.empty((r, r))
    _begin(problem, path)
    lowest, highest, length = -np.inf, np.inf, 1.0
    for step in range(steps):
        if step % _LOOK == _LOOK - 1 or step == steps - 1:
            least, most = _looked(problem, path)
            if least > lowest:
                lowest = least
                amounts[:] = path.amounts
            highest = min(highest, most)
            if lowest >= keep or highest <= reject or highest - lowest <= GAP:
                break
        tau = (_CENTRE + (1.0 - length) ** 2) * _gap(path)
        _system(problem, path, tau, matrix, change)
        trace = 0.0
        for j in range(r):
            trace += matrix[j, j]
        for j in range(r):
            matrix[j, j] += path.amounts[j] * path.weights[j] + _RIDGE * trace
        solve_sparse(matrix, change)
        length = _step(problem, path, tau, change)
    return lowest, highest


@cached_njit(nogil=True)
def _reached(low: Array, high: Array) -> tuple[IntArray, IntArray, BoolArray]:
    """The columns (n, r) that reach each channel, how many there are, and whether any of them has a width there."""
    n, r = low.shape
    reached = np.empty((n, r), np.int64)
    count = np.zeros(n, np.int64)
    is_wide = np.zeros(n, np.bool_)
    for i in range(n):
        for j in range(r):
            if high[i, j] > 0.0:
                reached[i, count[i]] = j
                count[i] += 1
                is_wide[i] |= high[i, j] > low[i, j]
    return reached, count, is_wide


@cached_njit(nogil=True)
def _begin(problem: Problem, path: Path) -> None:
    """Write means inside their ends, with slacks and all duals; where ends nearly meet, nothing is wide."""
    low, high, _, _, counts = problem
    amounts, weights, means, slacks, duals, is_wide, _, _ = path
    n = len(counts)
    total = 0.0
    for i in range(n):
        least = 0.0
        most = 0.0
        for j in range(len(amounts)):
            least += low[i, j] * amounts[j]
            most += high[i, j] * amounts[j]
        means[i] = most
        is_wide[i] &= most - least > _NARROW * most
        if is_wide[i]:
            free = _INSIDE * (most - least)
            means[i] = min(max(counts[i], least + free), most - free)
            slacks[i] = means[i] - least, most - means[i]
            pull = counts[i] / means[i] - 1.0
            duals[i] = max(-pull, 0.0), max(pull, 0.0)
            total += (duals[i] * slacks[i]).sum()
    tau = max(total / (2 * n + len(amounts)), 1.0)
    for i in range(n):
        if is_wide[i]:
            duals[i] += tau / slacks[i]
    weights[:] = np.maximum(tau / amounts, 1.0)


@cached_njit(nogil=True)
def _gap(path: Path) -> float:
    """The mean product of a slack and its dual."""
    amounts, weights, _, slacks, duals, is_wide, _, _ = path
    total = 0.0
    count = len(amounts)
    for j in range(len(amounts)):
        total += amounts[j] * weights[j]
    for i in range(len(slacks)):
        if is_wide[i]:
            total += slacks[i, 0] * duals[i, 0] + slacks[i, 1] * duals[i, 1]
            count += 2
    return total / count


@cached_njit(nogil=True)
def _looked(problem: Problem, path: Path) -> tuple[float, float]:
    """Proven bounds: those of the means, or of y / s with the s that the duals give, whichever are nearer."""
    least, most = dual_bounds(problem, path.amounts, path.means)
    if not path.is_wide.any():
        return least, most
    other = path.means.copy()
    for i in range(len(other)):
        turn = 1.0 + path.duals[i, 1] - path.duals[i, 0]
        if path.is_wide[i] and turn > 0.0:
            other[i] = problem.counts[i] / turn
    same, nearer = dual_bounds(problem, path.amounts, other)
    return max(least, same), min(most, nearer)


@cached_njit(nogil=True)
def _system(problem: Problem, path: Path, tau: float, matrix: Array, right: Array) -> None:
    """Write the lower half (r, r) and the right side (r,) of the Newton system, relative to the amounts.

    Slacks, duals and means are eliminated channel by channel, which leaves the ends of each with a 2 x 2 matrix.
    """
    low, high, _, rest, counts = problem
    amounts, _, means, slacks, duals, is_wide, reached, n_reached = path
    matrix[:] = 0.0
    for j in range(len(amounts)):
        right[j] = tau - rest[j] * amounts[j]
    for i in range(len(counts)):
        ratio = counts[i] / means[i]
        bend = ratio / means[i]
        inner = 0.0, bend, 0.0
        slopes = 0.0, ratio - 1.0
        if is_wide[i]:
            below = duals[i, 0] / slacks[i, 0]
            above = duals[i, 1] / slacks[i, 1]
            pull = tau / slacks[i, 0], tau / slacks[i, 1]
            whole = below + above + bend
            push = (ratio - 1.0 + pull[0] - pull[1]) / whole
            inner = below * (above + bend) / whole, above * (below + bend) / whole, -below * above / whole
            slopes = below * push - pull[0], above * push + pull[1]
        for p in range(n_reached[i]):
            j = reached[i, p]
            one = low[i, j] * amounts[j]
            two = high[i, j] * amounts[j]
            right[j] += one * slopes[0] + two * slopes[1]
            first = inner[0] * one + inner[2] * two
            second = inner[2] * one + inner[1] * two
            for q in range(p + 1):
                k = reached[i, q]
                matrix[j, k] += (first * low[i, k] + second * high[i, k]) * amounts[k]


@cached_njit(nogil=True)
def _step(problem: Problem, path: Path, tau: float, change: Array) -> float:
    """Move all variables, primal and dual ones each as far as they stay above 0; return the shorter length.

    change: (r,) of the amounts, relative to them.
    """
    low, high, _, _, counts = problem
    amounts, weights, means, slacks, duals, is_wide, reached, n_reached = path
    n = len(counts)
    primal = 1.0
    dual = 1.0
    moves = np.empty(n)
    ends = np.zeros((n, 2))
    turns = np.zeros((n, 2))
    for j in range(len(amounts)):
        primal = min(primal, -_STEP / change[j]) if change[j] < 0.0 else primal
        turn = tau / amounts[j] / weights[j] - 1.0 - change[j]
        dual = min(dual, -_STEP / turn) if turn < 0.0 else dual
    for i in range(n):
        for p in range(n_reached[i]):
            j = reached[i, p]
            ends[i, 0] += low[i, j] * amounts[j] * change[j]
            ends[i, 1] += high[i, j] * amounts[j] * change[j]
        moves[i] = ends[i, 1]
        if is_wide[i]:
            below = duals[i, 0] / slacks[i, 0]
            above = duals[i, 1] / slacks[i, 1]
            ratio = counts[i] / means[i]
            push = ratio - 1.0 + tau / slacks[i, 0] - tau / slacks[i, 1] + below * ends[i, 0] + above * ends[i, 1]
            moves[i] = push / (below + above + ratio / means[i])
            ends[i] = moves[i] - ends[i, 0], ends[i, 1] - moves[i]
            for side in range(2):
                turns[i, side] = tau / slacks[i, side] - duals[i, side] * (1.0 + ends[i, side] / slacks[i, side])
                if ends[i, side] < 0.0:
                    primal = min(primal, -_STEP * slacks[i, side] / ends[i, side])
                if turns[i, side] < 0.0:
                    dual = min(dual, -_STEP * duals[i, side] / turns[i, side])
        primal = min(primal, -_STEP * means[i] / moves[i]) if moves[i] < 0.0 else primal
    for i in range(n):
        means[i] += primal * moves[i]
        if is_wide[i]:
            slacks[i] += primal * ends[i]
            duals[i] += dual * turns[i]
    for j in range(len(amounts)):
        weights[j] += dual * (tau / amounts[j] - weights[j] * (1.0 + change[j]))
        amounts[j] *= 1.0 + primal * change[j]
    return min(primal, dual)
