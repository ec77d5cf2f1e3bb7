"""Compiled loops over signals, each computed alone, so that no result depends on how signals come in blocks."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._compiled import cached_njit
from .._typing import Array, BoolArray, IntArray


class RivalLimits(NamedTuple):
    """Critical values of the rivals of every explanation."""

    shapes: Array  # (M, q) unit columns u over the channels, 0 for background alone
    grid: Array  # (G,) from 0, then geometric
    per_octave: int
    limits: Array  # (L, M, G) of D, at every level and lower end of a
    floor: float  # part of the energy that an atom must explain to be better than background alone
    nothing: int  # the first explanation that is background alone; -1 if none is
    signs: Array  # (M,) of the coefficient along u that is allowed; 0 where both are
    sign_limits: Array  # (L,) of a with the other sign


class GateLimits(NamedTuple):
    """Critical values of the outsiders of every explanation."""

    runs: IntArray  # (r, 2) of the first columns, which are one value over neighbouring channels: from, and to before
    scales: Array  # (r,) these values
    columns: Array  # (q, k - r) the others
    along: Array  # (M, k) u.b
    inverse: Array  # (M, k) 1/|Qb|, 0 of outsiders that are not seen beside e
    column_limits: Array  # (L, M)
    is_lag: BoolArray  # (longest,) whether lag 1, 2, ... is looked at
    lag_limits: Array  # (L, M)
    own_lags: Array  # (M, longest) products of u with itself at each distance
    lag_reach: Array  # (M, longest) length of what is left of u shifted to both sides, beside u
    misfit_limits: Array  # (2, P, M) of columns and of lags, at p-values of a part that fall


class Found(NamedTuple):  # compiled kernels on disk know it by this name
    """Arrays that the kernel fills, one entry a signal."""

    codes: NDArray[np.uint8]  # (S, M) at how many levels, from the largest, an explanation is rejected
    best: IntArray  # (S,)
    beyond: IntArray  # (S,) at how many levels the gate rejects the best fit
    misfit: IntArray  # (S,) at how many p-values of a part
    amplitude: Array  # (S,) of the unit column that fits best
    residual: Array  # (S,) what is left beside it, as a length
    outsider: IntArray  # (S,) number of the column most along its residual; -1 where the gate keeps it


@cached_njit(nogil=True)
def summaries(rows: Array, whole: Array, scatter: Array, squares: Array) -> None:
    """Fill in, for signals (S, T, q), sqrt(T) times the mean (S, q), the energy around it (S,), and all energy (S,)."""
    n_rows = rows.shape[1]
    for s in range(len(rows)):
        whole[s] = 0.0
        scatter[s] = 0.0
        squares[s] = 0.0
        for t in range(n_rows):
            for i in range(rows.shape[2]):
                whole[s, i] += rows[s, t, i]
                squares[s] += rows[s, t, i] * rows[s, t, i]
        for t in range(n_rows if n_rows > 1 else 0):
            for i in range(rows.shape[2]):
                scatter[s] += (rows[s, t, i] - whole[s, i] / n_rows) ** 2
        if n_rows > 1:
            whole[s] /= np.sqrt(n_rows)


@cached_njit(nogil=True)
def products(rows: Array, matrix: Array, out: Array) -> None:
    """Out (S, k) = rows (S, n) matrix (n, k), every entry summed in the order of n whatever the block."""
    size = rows.shape[1]
    whole = size - size % 4
    for s in range(len(rows)):
        row = rows[s]
        sums = out[s]
        sums[:] = 0.0
        for i in range(0, whole, 4):  # four terms at a time, so that sums are read and written a quarter as often
            a = matrix[i]
            b = matrix[i + 1]
            c = matrix[i + 2]
            d = matrix[i + 3]
            for j in range(len(sums)):
                sums[j] = sums[j] + row[i] * a[j] + row[i + 1] * b[j] + row[i + 2] * c[j] + row[i + 3] * d[j]
        for i in range(whole, size):
            for j in range(len(sums)):
                sums[j] += row[i] * matrix[i, j]


@cached_njit(nogil=True)
def sums_over_runs(channels: Array, runs: IntArray, scales: Array, out: Array) -> None:
    """Out (S, r) = products of channels (S, q) with columns that are scales over runs and 0 elsewhere."""
    before = np.zeros(channels.shape[1] + 1)
    for s in range(len(channels)):
        for i in range(channels.shape[1]):
            before[i + 1] = before[i] + channels[s, i]
        for k in range(len(runs)):
            out[s, k] = (before[runs[k, 1]] - before[runs[k, 0]]) * scales[k]


@cached_njit(nogil=True)
def _cell(a: float, grid: Array, per_octave: int) -> int:
    """The last point of the grid that is at most a."""
    if not a >= grid[1]:
        return 0
    cell = min(1 + int(per_octave * np.log2(a / grid[1])), len(grid) - 1)
    while cell > 0 and grid[cell] > a:
        cell -= 1
    return cell


@cached_njit(nogil=True, error_model="numpy")  # a signal of zeros divides by 0, and what is no number keeps
def _reject_by_rivals(along: Array, energy: float, unit: float, rivals: RivalLimits, codes: NDArray[np.uint8]) -> int:
    """Fills codes (M,); the best fit.  along (M,) = u.w, energy = |w|^2, unit: rounding of a product over |w|.

    Lengths of residuals are rounded up and differences down: both can keep, never lose.
    """
    best = 0
    largest = -1.0
    for j in range(len(along)):
        if abs(along[j]) > largest:
            best = j
            largest = abs(along[j])
    codes[:] = 0
    if rivals.nothing >= 0 and not largest * largest > rivals.floor * energy:
        best = rivals.nothing
    is_contested = largest * largest * (1.0 - 8.0 * unit) > rivals.floor * energy
    n_levels = len(rivals.limits)
    slack = 4.0 * unit * np.sqrt(energy)
    for e in range(len(along)):
        own = abs(along[e])
        code = 0
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


@cached_njit(nogil=True)
def _most_along(along: float, parts: Array, first: Array, second: Array) -> int:
    """Number of the column that most of a residual is along; -1 without columns."""
    place = -1
    largest = -1.0
    for k in range(len(parts)):
        value = abs(parts[k] - along * first[k]) * second[k]
        if value > largest:
            place = k
            largest = value
    return place


@cached_njit(nogil=True)
def _reached(value: float, bounds: Array, e: int, scale: float, slack: float) -> int:
    """Count the levels (L, M) at which a value exceeds what an explanation allows."""
    code = 0
    while code < len(bounds) and value > bounds[code, e] * scale + slack:
        code += 1
    return code


@cached_njit(nogil=True)
def _lag_sum(channels: Array, shape: Array, own: float, lag: int) -> float:
    """Sum of products of the residual c - x u with itself at a distance."""
    even = 0.0
    odd = 0.0
    count = len(channels) - lag
    for i in range(0, count - 1, 2):
        even += (channels[i] - own * shape[i]) * (channels[i + lag] - own * shape[i + lag])
        odd += (channels[i + 1] - own * shape[i + 1]) * (channels[i + 1 + lag] - own * shape[i + 1 + lag])
    if count % 2:
        even += (channels[count - 1] - own * shape[count - 1]) * (channels[-1] - own * shape[-1])
    return even + odd


@cached_njit(nogil=True)
def _misfit(channels: Array, own: float, parts: Array, radius: float, shapes: Array, gate: GateLimits, e: int) -> int:
    """Count the p-values at which a residual exceeds what e allows, along columns or from channel to channel."""
    code = 0
    if len(parts):
        k = _most_along(own, parts, gate.along[e], gate.inverse[e])
        value = abs(parts[k] - own * gate.along[e, k]) * gate.inverse[e, k]
        code = _reached(value, gate.misfit_limits[0], e, radius, 0.0)
    for k in range(len(gate.is_lag)):
        if gate.is_lag[k]:
            value = abs(_lag_sum(channels, shapes[e], own, k + 1))
            code = max(code, _reached(value, gate.misfit_limits[1], e, radius * radius, 0.0))
    return code


@cached_njit(nogil=True)
def _reject_by_outsiders(
    channels: Array,
    along: Array,
    parts: Array,
    energy: float,
    unit: float,
    shapes: Array,
    gate: GateLimits,
    best: int,
    codes: NDArray[np.uint8],
) -> int:
    r"""Adds to codes (M,) of explanations that rivals keep; the code of the best fit.  parts (k,) = b.c.

    What rivals reject at the largest level is not tested at smaller ones, where it may be kept: a third of the
    time, for hardly a statement.

    Autocorrelations: with :math:`c = xu + r`, u shifted by k to both sides is :math:`2\rho_k u` and a rest of length
    :math:`\ell_k`, so that the residual's is within :math:`|x|\ell_k|r|` of :math:`c_k - x^2\rho_k`: most of them need
    not be summed.
    """
    first = gate.along
    second = gate.inverse
    limits = gate.column_limits
    lag_limits = gate.lag_limits
    plain = np.empty(len(gate.is_lag))
    misfit = 0
    slack = 4e3 * unit * np.sqrt(energy)
    for k in range(len(plain)):
        plain[k] = _lag_sum(channels, channels, 0.0, k + 1)
    for e in range(len(along)):
        if codes[e] == 0 or e == best:
            own = along[e]
            code = 0
            beyond = 0
            radius = np.sqrt(max(energy - own * own, 0.0) + 4.0 * unit * energy)
            bound = limits[0, e] * radius + slack
            lag_bound = lag_limits[0, e] * radius * radius + slack * radius
            for k in range(len(parts)):
                beyond += abs(parts[k] - own * first[e, k]) * second[e, k] > bound
            if beyond > 0:
                k = _most_along(own, parts, first[e], second[e])
                code = _reached(abs(parts[k] - own * first[e, k]) * second[e, k], limits, e, radius, slack)
            for k in range(len(plain)):
                centre = abs(plain[k] - own * own * gate.own_lags[e, k])
                if gate.is_lag[k] and centre + abs(own) * gate.lag_reach[e, k] * radius > lag_bound:
                    value = abs(_lag_sum(channels, shapes[e], own, k + 1))
                    code = max(code, _reached(value, lag_limits, e, radius * radius, slack * radius))
            misfit = code if e == best else misfit
            codes[e] = code if codes[e] == 0 else codes[e]
    return misfit


@cached_njit(nogil=True)
def judge_signals(
    channels: Array,
    scatter: Array,
    along: Array,
    parts: Array,
    units: Array,
    rivals: RivalLimits,
    gate: GateLimits,
    has_gate: bool,
    filled: Found,
) -> None:
    """Rivals and then outsiders of every signal: channels (S, q) c beside the background, along (S, M) = u.c.

    parts (S, k) = b.c.  scatter (S,): energy of repeated rows around their mean.  units (S,): what a product may be off
    by, over |c|.
    """
    for s in range(len(channels)):
        energy = scatter[s]
        row = channels[s]
        codes = filled.codes[s]
        for i in range(len(row)):
            energy += row[i] * row[i]
        best = _reject_by_rivals(along[s], energy, units[s], rivals, codes)
        filled.best[s] = best
        filled.amplitude[s] = along[s, best]
        filled.outsider[s] = -1
        filled.residual[s] = np.sqrt(max(energy - along[s, best] ** 2, 0.0))
        filled.beyond[s] = 0
        filled.misfit[s] = 0
        if has_gate:
            filled.beyond[s] = _reject_by_outsiders(
                row, along[s], parts[s], energy, units[s], rivals.shapes, gate, best, codes
            )
            radius = np.sqrt(filled.residual[s] ** 2 + 4.0 * units[s] * energy)
            filled.misfit[s] = _misfit(row, along[s, best], parts[s], radius, rivals.shapes, gate, best)
        if filled.beyond[s] > 0:
            filled.outsider[s] = _most_along(along[s, best], parts[s], gate.along[best], gate.inverse[best])
