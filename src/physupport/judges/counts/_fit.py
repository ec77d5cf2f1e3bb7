r"""Nonnegative fits to counts, and proven bounds of how well any of them can fit.

Counts y have means :math:`\mu = Ax`, x >= 0, with c the sums of the columns of A and N that of y.  What a fit is
measured by is :math:`\ell(x) = \sum_i y_i\log\mu_i - c\cdot x`; :math:`\log y!` is the same for everybody.
"""

from math import log, sqrt

import numpy as np
from flint import arb, arb_mat, ctx

from ..._compiled import LN2, U, cached_njit, exponent_of, log_mantissa, mantissa_of
from ..._typing import Array, IntArray
from ._halves import Opponents

# Steps of a fit; a dozen or two suffice, and what is left after that only widens the bounds.
MOST_STEPS = 80
# A fit stops once it is proven to be this near the best, in units of log likelihood.
GAP = 1e-7
# Parts of a column below this are left out of a fit, not of its bounds: numbers near underflow are slow.
_NOTHING = 1e-100
# Steps before it is looked whether a fit stays below the floor: bounds of earlier ones are too wide to tell.
_FIRST_LOOK = 3
_STEP = 0.99
_CENTRE = 0.03
_RIDGE = 1e-15


@cached_njit(nogil=True)
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
    n = columns.shape[1]
    width = members.shape[1]
    active = np.empty(width, np.int64)
    shapes = np.empty((n, width))
    fitted = np.empty(width)
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


@cached_njit(nogil=True)
def log_bounds(columns: Array, sums: Array, counts: Array, active: IntArray, amounts: Array) -> tuple[float, float]:
    r"""Numbers below and above :math:`\sup_{x\ge0}\ell(x)`, from any amounts :math:`c_jx_j`, rounding included.

    Below it is :math:`\ell` at x times N / (c . x).  Above, with :math:`G_j = \sum_i A_{ij}y_i/\mu_i`:
    :math:`\sum_i y_i\log(\mu'_i/\mu_i) \le N\log(x'\cdot G/N)` by Jensen's inequality,
    :math:`x'\cdot G \le (c\cdot x')\max_j G_j/c_j`, and :math:`N\log s - s \le N\log N - N`.  So
    :math:`\ell(x') \le \sum_i y_i\log\mu_i - N + N\log\max_j G_j/c_j` for every x' >= 0.

    Everything added is nonnegative: means are off by at most (r + 2) u of themselves, G and c by (n + r + 4) u and
    u; a logarithm by 9 u and 3 u of its size; a sum of n terms by n u of their sizes.  Twice that is taken off.
    """
    n = len(counts)
    total = 0.0
    for i in range(n):
        total += counts[i]
    if total == 0.0:
        return 0.0, 0.0
    slopes = np.zeros(len(active))
    value = 0.0
    size = 0.0
    ascribed = 0.0
    for j in range(len(active)):
        ascribed += amounts[j]
    for i in range(n):
        mean = 0.0
        for j in range(len(active)):
            mean += columns[active[j], i] * (amounts[j] / sums[active[j]])
        if not 1e-250 < mean < 1e250:
            return -np.inf, _unreached(columns, active)
        term = counts[i] * (exponent_of(mean) * LN2 + log_mantissa(mantissa_of(mean)))
        value += term
        size += abs(term)
        for j in range(len(active)):
            slopes[j] += columns[active[j], i] * (counts[i] / mean)
    steepest = 0.0
    for j in range(len(active)):
        steepest = max(steepest, slopes[j] / sums[active[j]])
    turn = log(steepest)
    scale = log(total / ascribed)
    error = 2.0 * U * ((n + 8.0) * size + total * (3.0 * (n + len(active)) + 64.0 + 4.0 * (abs(turn) + abs(scale))))
    return value - total + total * scale - error, value - total + total * turn + error


@cached_njit(nogil=True)
def _unreached(columns: Array, active: IntArray) -> float:
    """-inf if no column reaches some channel with counts, so that no amounts explain them; else nothing is known."""
    for i in range(columns.shape[1]):
        is_reached = False
        for j in active:
            is_reached |= columns[j, i] > 0.0
        if not is_reached:
            return -np.inf
    return np.inf


@cached_njit(nogil=True)
def _fit(shapes: Array, counts: Array, r: int, steps: int, floor: float, amounts: Array) -> None:
    r"""Amounts v that maximise :math:`\sum_i y_i\log(\sum_j P_{ij}v_j) - \sum_j v_j` over v >= 0, nearly.

    A primal-dual interior point method: with slacks :math:`z = 1 - G` and :math:`v_jz_j = \tau`, Newton steps in d =
    dv / v solve :math:`(VHV + VZ)d = \tau - V(1 - G)`, and :math:`\tau` falls by a factor each.
    shapes: (n, r) P.  amounts: (r,), written.
    """
    total = 0.0
    for i in range(len(counts)):
        total += counts[i]
    slacks = np.ones(r)
    slopes = np.empty(r)
    change = np.empty(r)
    matrix = np.empty((r, r))
    for j in range(r):
        amounts[j] = total / r
    length = 1.0
    for step in range(steps if total > 0.0 else 0):
        if not _derivatives(shapes, counts, amounts, slopes, matrix):
            return
        ascribed = 0.0
        steepest = 0.0
        for j in range(r):
            ascribed += amounts[j]
            steepest = max(steepest, slopes[j])
        if total * log(max(steepest * ascribed / total, 1.0)) <= GAP:
            return
        if step >= _FIRST_LOOK and _log_sum(shapes, counts, amounts, r) - total + total * log(steepest) < floor:
            return
        for j in range(r):
            slopes[j] -= 1.0
        _, _, length, dual = newton_step(matrix, amounts[:r], slacks, slopes, length, change)
        length = min(length, dual)
        for j in range(r):
            amounts[j] *= 1.0 + length * change[j]
            slacks[j] += length * slopes[j]


@cached_njit(nogil=True)
def _log_sum(shapes: Array, counts: Array, amounts: Array, r: int) -> float:
    r""":math:`\sum_i y_i\log\mu_i`."""
    value = 0.0
    for i in range(len(counts)):
        mean = 0.0
        for j in range(r):
            mean += shapes[i, j] * amounts[j]
        value += counts[i] * log(mean)
    return value


@cached_njit(nogil=True)
def _derivatives(shapes: Array, counts: Array, amounts: Array, slopes: Array, matrix: Array) -> bool:
    """Write G (r,) and the lower half of VHV (r, r); False where a mean is 0."""
    r = len(slopes)
    row = np.empty(r)
    reached = np.empty(r, np.int64)  # columns that reach a channel: lines and local background reach few
    for j in range(r):
        slopes[j] = 0.0
        for k in range(r):
            matrix[j, k] = 0.0
    for i in range(len(counts)):
        mean = 0.0
        n_reached = 0
        for j in range(r):
            if shapes[i, j] > 0.0:
                row[j] = shapes[i, j] * amounts[j]
                mean += row[j]
                reached[n_reached] = j
                n_reached += 1
        if not mean > 0.0:
            return False
        ratio = counts[i] / mean
        for a in range(n_reached):
            j = reached[a]
            slopes[j] += shapes[i, j] * ratio
            weight = row[j] * (ratio / mean)
            for b in range(a + 1):
                matrix[j, reached[b]] += weight * row[reached[b]]
    return True


@cached_njit(nogil=True)
def newton_step(
    matrix: Array, amounts: Array, slacks: Array, slopes: Array, length: float, change: Array
) -> tuple[float, float, float, float]:
    """Solve for a step of an interior point method with slacks z and v z = tau, where tau falls by a factor each.

    matrix: (r, r) the lower half of -V H V; it is overwritten.  slopes: (r,) of the function that is maximised; output:
    the step of the slacks.  length: of the last step; after a short one tau falls less.  change: (r,) output: the step
    relative to the amounts.  Returns tau, the slope of the barrier function along the step, and the largest lengths, up
    to 1, for which amounts and slacks stay above 0.
    """
    r = len(change)
    product = 0.0
    trace = 0.0
    for j in range(r):
        product += amounts[j] * slacks[j]
        trace += matrix[j, j]
    centre = (_CENTRE + (1.0 - length) ** 2) * product / r
    right = np.empty(r)
    for j in range(r):
        matrix[j, j] += amounts[j] * slacks[j] + _RIDGE * trace
        right[j] = centre + amounts[j] * slopes[j]
        change[j] = right[j]
    solve(matrix, change)
    slope = 0.0
    longest = 1.0
    dual = 1.0
    for j in range(r):
        slope += right[j] * change[j]
        slopes[j] = centre / amounts[j] - slacks[j] - slacks[j] * change[j]
        if change[j] < 0.0:
            longest = min(longest, -_STEP / change[j])
        if slopes[j] < 0.0:
            dual = min(dual, -_STEP * slacks[j] / slopes[j])
    return centre, slope, longest, dual


@cached_njit(nogil=True)
def solve(matrix: Array, right: Array) -> None:
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


@cached_njit(nogil=True)
def solve_sparse(matrix: Array, right: Array) -> None:
    """Solve a positive definite system given by its lower half, in place; rows may begin with zeros."""
    r = len(right)
    first = np.empty(r, np.int64)
    for j in range(r):
        first[j] = 0
        while first[j] < j and matrix[j, first[j]] == 0.0:
            first[j] += 1
        for k in range(first[j], j + 1):
            left = matrix[j, k]
            for m in range(max(first[j], first[k]), k):
                left -= matrix[j, m] * matrix[k, m]
            matrix[j, k] = left / matrix[k, k] if k < j else sqrt(max(left, 1e-300))
        for m in range(first[j], j):
            right[j] -= matrix[j, m] * right[m]
        right[j] /= matrix[j, j]
    for j in range(r - 1, -1, -1):
        right[j] /= matrix[j, j]
        for m in range(first[j], j):
            right[m] -= matrix[j, m] * right[j]


# Newton steps double the digits of a fit, of which a rough one has about a dozen bits.
_FIRST_STEPS = 3


def log_mixture(opponents: Opponents, counts: Array, bits: int) -> arb:
    """Encloses the log of the mixture; see `Opponents.log_bounds`."""
    with ctx.workprec(bits):
        seen = np.flatnonzero(counts)
        total = arb(0)
        for weight, means in zip(opponents.weights.tolist(), opponents.means, strict=True):
            value = sum((arb(counts[i]) * arb(means[i]).log() for i in seen.tolist()), arb(0))
            total += arb(weight) * (value - sum(map(arb, means.tolist()), arb(0))).exp()
        return total.log()


def log_supremum(columns: Array, counts: Array, amounts: Array, bits: int) -> arb:
    """Encloses the largest log likelihood of columns (r, q); see `log_bounds` of a fit.

    The fit is polished first, by Newton steps on the columns that have counts, so that bounds meet as bits grow.
    """
    with ctx.workprec(bits):
        seen = np.flatnonzero(counts)
        if not len(seen):
            return arb(0)
        shapes = arb_mat([_shape(column, seen) for column in columns])
        y = [arb(count) for count in counts[seen].tolist()]
        rough = _column([arb(amount) for amount in amounts.tolist()])
        ends = [_ends(shapes, y, fit) for fit in (rough, _polished(shapes, y, rough, bits))]
        lower = max(low.lower() for low, _ in ends)
        upper = min(high.upper() for _, high in ends)
        return lower.union(upper)


def _shape(column: Array, seen: IntArray) -> list[arb]:
    """The entries in channels with counts, over the sum of all."""
    total = sum(map(arb, column.tolist()), arb(0))
    return [arb(entry) / total for entry in column[seen].tolist()]


def _ratios(y: list[arb], means: list[arb]) -> arb_mat:
    return _column([count / mean for count, mean in zip(y, means, strict=True)])


def _ends(shapes: arb_mat, y: list[arb], fit: arb_mat) -> tuple[arb, arb]:
    """Below and above the supremum."""
    means = (shapes.transpose() * fit).entries()
    total = sum(y, arb(0))
    value = sum((count * mean.log() for count, mean in zip(y, means, strict=True)), arb(0)) - total
    steepest = max(slope.upper() for slope in (shapes * _ratios(y, means)).entries())
    return value + total * (total / sum(fit.entries(), arb(0))).log(), value + total * steepest.log()


def _polished(shapes: arb_mat, y: list[arb], rough: arb_mat, bits: int) -> arb_mat:
    """Amounts where the slope is 1 on the columns in use, and 0 elsewhere; the rough ones where that leads astray."""
    slopes = (shapes * _ratios(y, (shapes.transpose() * rough).entries())).entries()
    used = [j for j, slope in enumerate(slopes) if rough[j, 0].mid() > (1 - slope).mid()]
    if not used:  # means near underflow have slopes beyond all numbers
        return rough
    part = arb_mat([[shapes[j, i] for i in range(len(y))] for j in used])
    fit = _column([rough[j, 0] for j in used])
    for _ in range(int(np.log2(bits)) - _FIRST_STEPS):
        means = (part.transpose() * fit).entries()
        ratios = _ratios(y, means)
        weighted = arb_mat([[part[j, i] * ratios[i, 0] / means[i] for i in range(len(y))] for j in range(len(used))])
        step = (weighted * part.transpose()).solve(part * ratios - _column([arb(1)] * len(used)))
        fit = _column([(amount + change).mid() for amount, change in zip(fit.entries(), step.entries(), strict=True)])
    if not all(amount > 0 for amount in fit.entries()):
        return rough
    whole = [arb(0)] * len(slopes)
    for j, amount in zip(used, fit.entries(), strict=True):
        whole[j] = amount
    return _column(whole)


def _column(entries: list[arb]) -> arb_mat:
    return arb_mat([[entry] for entry in entries])
