r"""Critical values of rotations under every explanation, tabulated once for all signals.

Under e, with R = |Q_e w| and a = |P_e w|/R, rotated data are :math:`w^* = R(a u_e + \omega)` up to their sign, and
:math:`\omega` is uniform among directions beside :math:`u_e`.  For explanations of rank one or none the rival statistic
ranks as :math:`D = \max_j |u_j^T w^*|/R - a`.  Every draw's :math:`D_b(a) = \max_j |a G_j + v_{bj}| - a` falls in a,
because :math:`|G_j| \le 1`; so does its K-th largest value.  A critical value at the last point of a grid below a is
therefore at least the one at a.

One table serves all signals and all maps of a protocol, so its critical values must hold given its draws.  The K-th
largest of B draws is exceeded by another one with a probability that has the law Beta(K, B + 1 - K) over tables, or is
smaller; it is above the level :math:`\alpha` with probability :math:`P(\mathrm{Bin}(B, \alpha) < K)`.  K is the largest
for which that is at most :math:`\delta`, so that all critical values of a table hold but for one table in many.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import stdtrit
from scipy.stats import beta, binom

from .._compiled import cached_njit
from .._errors import Clause, MisuseError
from .._typing import Array, BoolArray, IntArray
from ..judges.rotation import (
    EPS,
    LEAST_LEFT,
    OUTSIDERS,
    RIVALS,
    Draws,
    Levels,
    Rotation,
    RotationTable,
    check_freedom,
    leading_shares,
)
from ._kernels import GateLimits, RivalLimits


@cached_njit(nogil=True)
def rival_draws(
    drawn: Array, squares: Array, gram: Array, e: int, grid: Array, reach: IntArray, needed: Array, out: Array
) -> None:
    r"""Out (G, B): :math:`D_b(a) = \max_j |a G_j + v_{bj}| - a`, at least 0, with :math:`v = U^T Qg / |Qg|`.

    drawn (B, M) = g.u_j, squares (B,) = |g|^2, gram (M,) = u_e.u_j; rival j exceeds 0 on the first reach_j of the grid.
    needed (M,): rivals with :math:`|v_{bj}|` of no more than that are left out.
    """
    largest = np.empty(len(grid))
    for b in range(len(drawn)):
        own = drawn[b, e]
        scale = 1.0 / np.sqrt(max(squares[b] - own * own, 1e-300))
        largest[:] = 0.0
        for j in range(len(gram)):
            slope = gram[j]
            start = (drawn[b, j] - own * gram[j]) * scale
            if abs(start) > needed[j]:
                for g in range(reach[j]):
                    value = abs(grid[g] * slope + start) - grid[g]
                    largest[g] = value if value > largest[g] else largest[g]
        out[:, b] = largest


@cached_njit(nogil=True)
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


@cached_njit(nogil=True)
def column_draws(drawn: Array, own: Array, squares: Array, along: Array, inverse: Array, out: Array) -> None:
    r"""Out (B,): largest :math:`|\langle Qg, b\rangle| / (|Qb||Qg|)`; drawn (B, k) = g.b, own (B,) = g.u_e."""
    for b in range(len(drawn)):
        largest = 0.0
        for k in range(len(along)):
            largest = max(largest, abs(drawn[b, k] - own[b] * along[k]) * inverse[k])
        out[b] = largest / np.sqrt(max(squares[b] - own[b] * own[b], 1e-300))


@cached_njit(nogil=True)
def _largest_lag(left: Array, size: int, is_lag: BoolArray, sums: Array) -> float:
    """Largest absolute sum of products at a distance; left has as many zeros at its end as there are lags."""
    sums[:] = 0.0
    for i in range(size):
        value = left[i]
        after = left[i + 1 : i + 1 + len(sums)]
        for k in range(len(sums)):
            sums[k] += value * after[k]
    largest = 0.0
    for k in range(len(sums)):
        if is_lag[k]:
            largest = max(largest, abs(sums[k]))
    return largest


@cached_njit(nogil=True)
def lag_draws(channels: Array, own: Array, squares: Array, shape: Array, is_lag: BoolArray, out: Array) -> None:
    """Out (B,): largest autocorrelation of Qg over the channels; channels (B, q) of g, own (B,) = g.u_e."""
    size = len(shape)
    left = np.zeros(size + len(is_lag))
    sums = np.empty(len(is_lag))
    for b in range(len(channels)):
        for i in range(size):
            left[i] = channels[b, i] - own[b] * shape[i]
        out[b] = _largest_lag(left, size, is_lag, sums) / max(squares[b] - own[b] * own[b], 1e-300)


# Of every level, the probability that some critical value of the table does not hold; the tests have the rest.
FAILURE = 1e-6
# Draws that a level should let exceed, of rivals and of each part of the gate, and how many a table may have for that.
WANTED_RIVALS = 800
WANTED_OUTSIDERS = 100
GOOD_DRAWS = 20_000
# Draws without which next to nothing could be rejected, and the most that a table has for their sake.
_LEAST = 60
_MOST_DRAWS = 100_000
_FIRST_DRAWS = 16  # one in so many tells which rivals matter in the others
_FIRST = 2.0**-5
_LAST = 2.0**10
_PER_OCTAVE = 8
_DEPTHS = 48
_BEYOND = 1e-9  # of critical values, far more than their rounding where a is moderate


@final
@dataclass(frozen=True, slots=True, eq=False)
class Nulls:
    """Critical values of every explanation (M) at every level (L), and the level of each."""

    rivals: RivalLimits
    gate: GateLimits
    background: Array  # (q, b) orthonormal
    spectrum_limits: Array  # (L,) of the leading eigenvalue of repeated rows over the trace
    misfits: Array  # (1 + P,) p-values of the gate as a whole, from 1
    spectrum_misfits: Array  # (P,)


def is_tabulated(spec: Rotation) -> bool:
    """True if one table serves all signals: real rows, at most one atom, noise unknown, no bound but a sign."""
    is_plain = spec.rows == "same mean" and spec.sigma is None and _signs(spec) is not None
    is_plain = is_plain and spec.covariance_freedom is None and spec.errors is None
    return is_plain and not spec.table.is_complex and int(spec.table.ranks.max()) <= 1


def tabulate(spec: Rotation, levels: Array, threads: int, repeats: int = 1) -> Nulls:
    """The nulls of a specification that `is_tabulated`; draws are those of its seed, the same for every signal.

    repeats: rows of a signal, whose scatter enters by a chi-square.  Draws are at least as many as specified.
    """
    table = spec.table
    (q, beside) = table.complement.shape
    scatter = q * (repeats - 1)  # coordinates of repeated rows around their mean
    check_freedom(beside + scatter - int(table.ranks.max()))
    if spec.outsiders is not None:
        spec.outsiders.check(repeats, q)
    shares = [
        Levels.of((1.0 - FAILURE) * level, spec.companions, spec.outsiders, spec.amounts) for level in levels.tolist()
    ]
    companions, rivals, gate = np.array([[each.companions, each.rivals, each.gate] for each in shares]).T
    failures = FAILURE * levels / 3.0  # for rivals, for columns and lags, and for the spectrum
    draws, numbers, misfits = _gate_numbers(spec, gate, failures / (2.0 * table.size))
    spectrum = np.full(len(numbers), np.inf)
    if spec.outsiders is not None and spec.outsiders.spectrum:
        drawn = leading_shares(spec.seed, draws, q, repeats - 1, is_complex=False)
        spectrum = _largest(drawn, numbers) + _BEYOND
    left, sizes, _ = np.linalg.svd(np.eye(q) - table.complement @ table.complement.T)
    n = len(levels)
    with ThreadPoolExecutor(threads) as pool:
        return Nulls(
            rivals=_rivals(spec, scatter, rivals, companions, failures, pool),
            gate=_gate(spec, scatter, draws, numbers, n, pool),
            background=np.ascontiguousarray(left[:, sizes > 0.5]),
            spectrum_limits=spectrum[:n],
            misfits=misfits,
            spectrum_misfits=spectrum[n:],
        )


def enough(given: int, level: float, wanted: int) -> int:
    """The number of draws that brings critical values at a level near to the exact ones."""
    useful = min(wanted / level, GOOD_DRAWS)
    least = min(_LEAST / level, _MOST_DRAWS)
    return max(given, int(np.ceil(useful)), int(np.ceil(least)))


def certified(levels: Array, draws: int, failures: Array) -> list[int]:
    """(L,) the largest K whose K-th largest draw is exceeded with more than each level for so few of the tables."""
    return [int(number) for number in np.asarray(binom.ppf(failures * (1.0 - 1e-6), draws, levels))]


def _gate_numbers(spec: Rotation, levels: Array, failures: Array) -> tuple[int, list[int], Array]:
    """Draws of a part of the gate, which of the largest decide, and the p-values (1 + P,) that they stand for.

    The p-values at levels (L,) of each part come first, then P falling ones, two to an octave.  failures: (L,) of each
    critical value.  p-values are those of all parts together, from 1; nan without a gate.
    """
    if spec.outsiders is None:
        return 0, [0] * len(levels), np.array([np.nan])
    draws = enough(spec.gate_draws, float(levels[0]), WANTED_OUTSIDERS)
    steps = range(1, int(2.0 * np.log2(draws + 1)) + 1)
    told = sorted({int((draws + 1) * 2.0 ** (-k / 2.0)) for k in steps}, reverse=True)
    at_most = beta.isf(failures[0] / len(told), told, draws + 1.0 - np.array(told))
    numbers = certified(levels, draws, failures)
    if numbers[0] == 0:
        rule = f"let a gate of {draws} draws for all signals reject something"
        raise MisuseError("level", rule, Clause(f"a part of it has the level {levels[0]:.3g}"), "Raise the level.")
    return draws, numbers + told, np.append(1.0, np.minimum(len(spec.outsiders.parts) * at_most, 1.0))


def _drawn(spec: Rotation, purpose: int, draws: int, scatter: int) -> tuple[Array, Array]:
    """(B, m) normals beside the background, and (B,) the squared norms of all coordinates of a signal."""
    generator = Draws(spec.seed, purpose)
    normals = generator.normal((draws, spec.table.complement.shape[1]))
    return normals, np.asarray((normals**2).sum(axis=1) + generator.chi_square(scatter, (draws,)))


def _signs(spec: Rotation) -> Array | None:
    """(M,) of the coefficient along each unit column that is allowed, 0 where both are; None if more is said of it."""
    table = spec.table
    companions = spec.companions
    if companions is None:
        return np.zeros(table.size)
    if any(each is not None for each in (companions.least, companions.largest_noise, companions.cells)):
        return None
    count = table.atoms.shape[1]
    low = np.broadcast_to(-np.inf if companions.low is None else companions.low, count)
    high = np.broadcast_to(np.inf if companions.high is None else companions.high, count)
    of_atoms = np.select([(low == 0.0) & (high == np.inf), (low == -np.inf) & (high == 0.0)], [1.0, -1.0], 0.0)
    if not ((of_atoms != 0.0) | ((low == -np.inf) & (high == np.inf))).all():
        return None
    first = np.array([support[0] if support else 0 for support in table.supports])
    turned = np.einsum("em,me->e", table.bases[:, 0], table.complement.T @ table.atoms[:, first])
    return np.where(table.ranks > 0, of_atoms[first] * np.sign(turned), 0.0)


def _rivals(
    spec: Rotation, scatter: int, levels: Array, companions: Array, failures: Array, pool: ThreadPoolExecutor
) -> RivalLimits:
    table = spec.table
    size = table.complement.shape[1] + scatter
    bases = np.ascontiguousarray(table.bases[:, 0].T)  # (m, M)
    octaves = int(np.log2(_LAST / _FIRST))
    grid = np.append(0.0, _FIRST * 2.0 ** (np.arange(octaves * _PER_OCTAVE + 1) / _PER_OCTAVE))
    draws = enough(spec.draws, float(levels[0]), WANTED_RIVALS)
    normals, squares = _drawn(spec, RIVALS, draws, scatter)
    drawn = normals @ bases
    numbers = certified(levels, draws, failures / (table.size * len(grid)))
    slack = (1.0 + grid) * (_BEYOND + 16.0 * (16.0 * (size + 8) * EPS + float(table.errors.max())))
    limits = np.empty((len(levels), table.size, len(grid)))

    def fill(e: int) -> None:
        gram = bases[:, e] @ bases
        with np.errstate(divide="ignore"):
            near = np.minimum(np.abs(gram), 1.0)
            reach = np.searchsorted(grid, np.sqrt((1.0 + near) / (1.0 - near)) * (1.0 + _BEYOND) + _BEYOND)
        reach[e] = 0
        by_draws = _largest(_depths(drawn, squares, gram, e, grid, reach, numbers[0]), numbers)
        rest = 0.5 * (size - int(table.ranks[e])) - 1.0
        # Either holds given the table, and so does the smaller one, at the whole level.
        limits[:, e] = np.minimum(by_draws, _tails(gram, grid, reach, levels, rest)) + slack

    list(pool.map(fill, range(table.size)))
    ranks = table.ranks
    is_mixed = bool(ranks.min() < ranks.max())
    floor = 1.0 - float(np.exp(-2.0 * spec.own_penalty / size)) if is_mixed else 0.0
    nothing = int(ranks.argmin()) if is_mixed else -1
    signs = _signs(spec)
    assert signs is not None
    # A t test of the coefficient: sqrt(d) times a with its sign, of d = m - 1 degrees of freedom.
    with np.errstate(divide="ignore"):
        sign_limits = -stdtrit(size - 1.0, companions) / np.sqrt(size - 1.0) * (1.0 + _BEYOND)
    return RivalLimits(shapes(table), grid, _PER_OCTAVE, limits, floor, nothing, signs, sign_limits)


def _depths(drawn: Array, squares: Array, gram: Array, e: int, grid: Array, reach: IntArray, number: int) -> Array:
    r"""(G, B) depths D of all draws under e; those that the largest so many exceed need not be right.

    At a, rival j reaches at most :math:`|v_{bj}| - a(1 - |G_j|)`.  The first draws give depths that many more than the
    largest so many are expected to exceed; a rival that is below them everywhere does not matter in the other draws.
    Should too few exceed them after all, everything is computed.
    """
    count = len(drawn)
    depths = np.empty((len(grid), count))
    first = count // _FIRST_DRAWS
    everything = np.full(len(gram), -1.0)
    rival_draws(drawn[:first], squares[:first], gram, e, grid, reach, everything, depths[:, :first])
    expected = min(2 * number // _FIRST_DRAWS + 8, first)
    floors = _largest(depths[:, :first], [expected])[0]  # (G,)
    reached = np.arange(len(grid))[:, None] < reach
    needed = np.where(reached, floors[:, None] + grid[:, None] * (1.0 - np.minimum(np.abs(gram), 1.0)), np.inf)
    needed = needed.min(axis=0) * (1.0 - _BEYOND) - _BEYOND
    rival_draws(drawn[first:], squares[first:], gram, e, grid, reach, needed, depths[:, first:])
    if ((depths >= floors[:, None]).sum(axis=1) < number).any():
        rival_draws(drawn, squares, gram, e, grid, reach, everything, depths)
    return depths


def _largest(values: Array, numbers: list[int]) -> Array:
    """(L, ...) the K-th largest of values (..., B) for every K; inf for K = 0."""
    count = values.shape[-1]
    ordered = np.partition(values, sorted({count - k for k in numbers if k}), axis=-1)
    return np.stack([ordered[..., -k] if k else np.full(values.shape[:-1], np.inf) for k in numbers])


def _tails(gram: Array, grid: Array, reach: IntArray, levels: Array, rest: float) -> Array:
    """(L, G) depths that are reached with probability at most each level, by the sum of tails over rivals."""
    least = np.sqrt(-np.expm1(np.log(levels[0]) / rest))  # a single rival needs as much
    most = np.sqrt(-np.expm1(np.log(levels[-1] / len(gram)) / rest))  # and all of them no more
    depths = np.linspace(least, most, _DEPTHS)
    sums = np.empty((_DEPTHS, len(grid)))
    rival_tails(gram, grid, reach, depths, rest, sums)
    sums[-1] = 0.0
    return np.stack([depths[(sums > level * (1.0 - _BEYOND)).sum(axis=0)] for level in levels])


def shapes(table: RotationTable) -> Array:
    """(M, q) the unit column of every explanation over the channels."""
    return np.ascontiguousarray((table.complement @ table.bases[:, 0].T).T)


def _gate(spec: Rotation, scatter: int, draws: int, numbers: list[int], n: int, pool: ThreadPoolExecutor) -> GateLimits:
    """Critical values of the gate: the direction of a residual has one law under each explanation.

    The first n of the numbers are those of the levels.
    """
    table = spec.table
    outsiders = spec.outsiders
    bases = np.ascontiguousarray(table.bases[:, 0].T)  # (m, M)
    outside = np.zeros((len(table.complement), 0)) if outsiders is None or outsiders.columns is None else outsiders.unit
    columns = np.ascontiguousarray(table.complement.T @ outside)  # (m, k)
    along = bases.T @ columns  # (M, k)
    left = (columns**2).sum(axis=0) - along**2
    inverse = np.where(left > LEAST_LEFT**2, 1.0 / np.sqrt(np.maximum(left, LEAST_LEFT**2)), 0.0)
    own_shapes = shapes(table)
    lags = () if outsiders is None else outsiders.lags
    is_lag = np.isin(np.arange(1, max(lags, default=0) + 1), lags)
    limits = np.full((2, len(numbers), table.size), np.inf)
    filled = GateLimits(
        *_runs(outside), along, inverse, limits[0, :n], is_lag, limits[1, :n],
        *_shifted(own_shapes, len(is_lag)), limits[:, n:],
    )  # fmt: skip
    if outsiders is None:
        return filled
    normals, squares = _drawn(spec, OUTSIDERS, draws, scatter)  # (B, m), (B,)
    own = np.ascontiguousarray((normals @ bases).T)  # (M, B)
    drawn = normals @ columns
    channels = normals @ table.complement.T

    def fill(e: int) -> None:
        values = np.empty((2, draws))
        column_draws(drawn, own[e], squares, along[e], inverse[e], values[0])
        lag_draws(channels, own[e], squares, own_shapes[e], is_lag, values[1])
        limits[:, :, e] = _largest(values, numbers).T + 1e-8

    list(pool.map(fill, range(table.size)))
    return filled


def _runs(columns: Array) -> tuple[IntArray, Array, Array]:
    """(r, 2) and (r,) of the first of columns (q, k) that are 0 but for one value over a run; and the others."""
    is_there = columns != 0.0
    places = np.arange(len(columns))[:, None]
    first = is_there.argmax(axis=0)
    count = is_there.sum(axis=0)
    scales = columns[first, np.arange(columns.shape[1])]
    is_run = (columns == np.where((places >= first) & (places < first + count), scales, 0.0)).all(axis=0)
    n = int(np.logical_and.accumulate(is_run).sum())
    return np.stack([first, first + count], axis=1)[:n], scales[:n], np.ascontiguousarray(columns[:, n:])


def _shifted(columns: Array, longest: int) -> tuple[Array, Array]:
    """(M, lags) products of columns (M, q) with themselves, shifted; and how long both shifts are beside them."""
    own, reach = np.zeros((2, len(columns), longest))
    for lag in range(1, longest + 1):
        both = np.zeros_like(columns)
        both[:, lag:] += columns[:, :-lag]
        both[:, :-lag] += columns[:, lag:]
        own[:, lag - 1] = 0.5 * (both * columns).sum(axis=1)
        reach[:, lag - 1] = np.linalg.norm(both - 2.0 * own[:, [lag - 1]] * columns, axis=1)
    return own, reach
