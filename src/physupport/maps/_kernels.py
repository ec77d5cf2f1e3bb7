"""Compiled loops over signals, each computed alone, so that no result depends on how signals come in blocks."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .._typing import Array, BoolArray, IntArray


class RivalLimits(NamedTuple):
    """What decides about the rivals of every explanation."""

    bases: Array  # (m, M) unit columns u, 0 for background alone
    grid: Array  # (G,) from 0, then geometric
    per_octave: int
    limits: Array  # (L, M, G) of D, at every level and lower end of a
    floor: float  # part of the energy that an atom must explain to be better than background alone
    nothing: int  # the first explanation that is background alone; -1 if none is
    signs: Array  # (M,) of the coefficient along u that is allowed; 0 where both are
    sign_limits: Array  # (L,) of a with the other sign


class GateLimits(NamedTuple):
    """What decides about the outsiders of every explanation."""

    columns: Array  # (m, k) beside the background
    along: Array  # (M, k) u.b
    inverse: Array  # (M, k) 1/|Qb|, 0 of outsiders that are not seen beside e
    column_limits: Array  # (L, M)
    shapes: Array  # (M, q) u over the channels
    is_lag: BoolArray  # (longest,) whether lag 1, 2, ... is looked at
    lag_limits: Array  # (L, M)


class Found(NamedTuple):
    """What the kernel fills, one entry a signal."""

    codes: NDArray[np.uint8]  # (S, M) at how many levels, from the largest, an explanation is rejected
    best: IntArray  # (S,)
    misfit: IntArray  # (S,) at how many levels the gate rejects the best fit
    amplitude: Array  # (S,) of the unit column that fits best
    residual: Array  # (S,) what is left beside it, as a length
    outsider: IntArray  # (S,) number of the column most along its residual; -1 where the gate keeps it


@njit(cache=True, nogil=True)
def products(rows: Array, matrix: Array, out: Array) -> None:
    """Out (S, k) = rows (S, n) matrix (n, k), every entry summed in the order of n whatever the block."""
    for s in range(len(rows)):
        sums = out[s]
        sums[:] = 0.0
        for i in range(rows.shape[1]):
            value, row = rows[s, i], matrix[i]
            for j in range(len(row)):
                sums[j] += value * row[j]


@njit(cache=True, nogil=True)
def rival_draws(drawn: Array, squares: Array, gram: Array, e: int, grid: Array, reach: IntArray, out: Array) -> None:
    r"""Out (B, G): :math:`D_b(a) = \max_j |a G_j + v_{bj}| - a`, at least 0, with :math:`v = U^T Qg / |Qg|`.

    drawn (B, M) = g.u_j, squares (B,) = |g|^2, gram (M,) = u_e.u_j; rival j exceeds 0 on the first reach_j of the grid.
    """
    for b in range(len(drawn)):
        own, largest = drawn[b, e], out[b]
        scale = 1.0 / np.sqrt(max(squares[b] - own * own, 1e-300))
        largest[:] = 0.0
        for j in range(len(gram)):
            slope, start = gram[j], (drawn[b, j] - own * gram[j]) * scale
            for g in range(reach[j]):
                value = abs(grid[g] * slope + start) - grid[g]
                largest[g] = value if value > largest[g] else largest[g]


@njit(cache=True, nogil=True)
def rival_tails(gram: Array, grid: Array, reach: IntArray, depths: Array, rest: float, out: Array) -> None:
    r"""Out (d, G): :math:`\sum_j (1 - s_j^2)^{rest}`, at least :math:`P(D \ge d)`.

    :math:`s_j = (d + a(1 - |G_j|))/\sqrt{1 - G_j^2}`: one coordinate of a uniform direction in n dimensions exceeds s
    in absolute value with at most that probability, rest = n/2 - 1.
    """
    out[:] = 0.0
    for d in range(len(depths)):
        for j in range(len(gram)):
            near = min(abs(gram[j]), 1.0)
            spread = 1.0 - near * near + 1e-12  # unit columns are so to rounding only
            for g in range(reach[j]):
                need = depths[d] + grid[g] * (1.0 - near)
                left = 1.0 - need * need / spread
                if left > 0.0:
                    out[d, g] += np.exp(rest * np.log(left))


@njit(cache=True, nogil=True)
def column_draws(drawn: Array, own: Array, squares: Array, along: Array, inverse: Array, out: Array) -> None:
    r"""Out (B,): largest :math:`|\langle Qg, b\rangle| / (|Qb||Qg|)`; drawn (B, k) = g.b, own (B,) = g.u_e."""
    for b in range(len(drawn)):
        largest = 0.0
        for k in range(len(along)):
            largest = max(largest, abs(drawn[b, k] - own[b] * along[k]) * inverse[k])
        out[b] = largest / np.sqrt(max(squares[b] - own[b] * own[b], 1e-300))


@njit(cache=True, nogil=True)
def _largest_lag(left: Array, size: int, is_lag: BoolArray, sums: Array) -> float:
    """Largest absolute sum of products at a distance; left has as many zeros at its end as there are lags."""
    sums[:] = 0.0
    for i in range(size):
        value, after = left[i], left[i + 1 : i + 1 + len(sums)]
        for k in range(len(sums)):
            sums[k] += value * after[k]
    largest = 0.0
    for k in range(len(sums)):
        if is_lag[k]:
            largest = max(largest, abs(sums[k]))
    return largest


@njit(cache=True, nogil=True)
def lag_draws(channels: Array, own: Array, squares: Array, shape: Array, is_lag: BoolArray, out: Array) -> None:
    """Out (B,): largest autocorrelation of Qg over the channels; channels (B, q) of g, own (B,) = g.u_e."""
    size = len(shape)
    left, sums = np.zeros(size + len(is_lag)), np.empty(len(is_lag))
    for b in range(len(channels)):
        for i in range(size):
            left[i] = channels[b, i] - own[b] * shape[i]
        out[b] = _largest_lag(left, size, is_lag, sums) / max(squares[b] - own[b] * own[b], 1e-300)


@njit(cache=True, nogil=True)
def _cell(a: float, grid: Array, per_octave: int) -> int:
    """The last point of the grid that is at most a."""
    if not a >= grid[1]:
        return 0
    cell = min(1 + int(per_octave * np.log2(a / grid[1])), len(grid) - 1)
    while cell > 0 and grid[cell] > a:
        cell -= 1
    return cell


@njit(cache=True, nogil=True, error_model="numpy")  # a signal of zeros divides by 0, and what is no number keeps
def _reject_by_rivals(along: Array, energy: float, unit: float, rivals: RivalLimits, codes: NDArray[np.uint8]) -> int:
    """Fills codes (M,); the best fit.  along (M,) = u.w, energy = |w|^2, unit: rounding of a product over |w|.

    Lengths of residuals are rounded up and differences down: both can keep, never lose.
    """
    best, largest = 0, -1.0
    for j in range(len(along)):
        if abs(along[j]) > largest:
            best, largest = j, abs(along[j])
    codes[:] = 0
    if rivals.nothing >= 0 and not largest * largest > rivals.floor * energy:
        best = rivals.nothing
    is_contested = largest * largest * (1.0 - 8.0 * unit) > rivals.floor * energy
    n_levels, slack = len(rivals.limits), 4.0 * unit * np.sqrt(energy)
    for e in range(len(along)):
        own, code = abs(along[e]), 0
        radius = np.sqrt(max(energy - own * own, 0.0) + 4.0 * unit * energy)
        depth = (largest - slack - own) / radius
        if is_contested and depth > rivals.limits[n_levels - 1, e, 0]:  # limits fall along the grid, rise with levels
            code = n_levels
        elif is_contested and depth > 0.0:
            cell = _cell(own / radius, rivals.grid, rivals.per_octave)
            while code < n_levels and depth > rivals.limits[code, e, cell]:
                code += 1
        opposed = -(rivals.signs[e] * along[e] + slack) / radius
        while rivals.signs[e] != 0.0 and code < n_levels and opposed > rivals.sign_limits[code]:
            code += 1
        codes[e] = code
    return best


@njit(cache=True, nogil=True)
def _most_along(along: float, parts: Array, first: Array, second: Array) -> int:
    """Number of the column that most of a residual is along; -1 without columns."""
    place, largest = -1, -1.0
    for k in range(len(parts)):
        value = abs(parts[k] - along * first[k]) * second[k]
        if value > largest:
            place, largest = k, value
    return place


@njit(cache=True, nogil=True)
def _gate_code(
    e: int, along: float, radius: float, slack: float, parts: Array, left: Array, gate: GateLimits, sums: Array
) -> int:
    """At how many levels an outsider rejects e.  parts (k,) = b.w, left (q + lags) the residual over the channels."""
    first, second, n_levels = gate.along[e], gate.inverse[e], len(gate.column_limits)
    code, reached, bound = 0, 0, gate.column_limits[0, e] * radius + slack
    for k in range(len(parts)):
        reached += abs(parts[k] - along * first[k]) * second[k] > bound
    if reached > 0:
        k = _most_along(along, parts, first, second)
        largest = abs(parts[k] - along * first[k]) * second[k]
        while code < n_levels and largest > gate.column_limits[code, e] * radius + slack:
            code += 1
    if len(sums) > 0:
        longest = _largest_lag(left, len(left) - len(sums), gate.is_lag, sums)
        while code < n_levels and longest > gate.lag_limits[code, e] * radius * radius + slack * radius:
            code += 1
    return code


@njit(cache=True, nogil=True)
def judge_signals(
    vectors: Array,
    along: Array,
    parts: Array,
    channels: Array,
    units: Array,
    rivals: RivalLimits,
    gate: GateLimits,
    has_gate: bool,
    found: Found,
) -> None:
    """Rivals and then outsiders of every signal: vectors (S, m) w, along (S, M) u.w, parts (S, k) b.w, channels (S, q).

    units (S,): what a product may be off by, over |w|.
    """
    size = channels.shape[1]
    left, sums = np.zeros(size + len(gate.is_lag)), np.empty(len(gate.is_lag))
    for s in range(len(vectors)):
        energy = 0.0
        for i in range(vectors.shape[1]):
            energy += vectors[s, i] * vectors[s, i]
        best = _reject_by_rivals(along[s], energy, units[s], rivals, found.codes[s])
        slack = 4e3 * units[s] * np.sqrt(energy)
        for e in range(along.shape[1]):
            if has_gate and found.codes[s, e] == 0:
                own = along[s, e]
                radius = np.sqrt(max(energy - own * own, 0.0) + 4.0 * units[s] * energy)
                for i in range(size):
                    left[i] = channels[s, i] - own * gate.shapes[e, i]
                found.codes[s, e] = _gate_code(e, own, radius, slack, parts[s], left, gate, sums)
        own = along[s, best]
        found.best[s], found.amplitude[s], found.misfit[s] = best, own, 0
        if has_gate:
            for i in range(size):
                left[i] = channels[s, i] - own * gate.shapes[best, i]
            radius = np.sqrt(max(energy - own * own, 0.0) + 4.0 * units[s] * energy)
            found.misfit[s] = _gate_code(best, own, radius, slack, parts[s], left, gate, sums)
        found.residual[s] = np.sqrt(max(energy - own * own, 0.0))
        found.outsider[s] = -1
        if found.misfit[s] > 0:
            found.outsider[s] = _most_along(own, parts[s], gate.along[best], gate.inverse[best])
