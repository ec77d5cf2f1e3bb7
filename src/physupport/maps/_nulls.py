r"""What rotations do under every explanation, tabulated once for all signals.

Under e, with R = |Q_e w| and a = |P_e w|/R, rotated data are :math:`w^* = R(a u_e + \omega)` up to their sign, and
:math:`\omega` is uniform among directions beside :math:`u_e`.  For explanations of rank one or none the rival statistic
ranks as :math:`D = \max_j |u_j^T w^*|/R - a`.  Every draw's :math:`D_b(a) = \max_j |a G_j + v_{bj}| - a` falls in a,
because :math:`|G_j| \le 1`; so does its K-th largest value.  The value at the last point of a grid below a is therefore
an upper bound of the critical value at a, and a test against it keeps the level of the rotation test.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, final

import numpy as np
from scipy.special import stdtrit

from .._errors import MisuseError
from .._typing import Array, IntArray
from ..judges.rotation import (
    EPS,
    LEAST_LEFT,
    OUTSIDERS,
    RIVALS,
    SCREEN_SHARE,
    Draws,
    Levels,
    Rotation,
    RotationTable,
    check_freedom,
    leading_shares,
)
from ._draw_kernels import column_draws, lag_draws, rival_draws, rival_tails
from ._kernels import GateLimits, RivalLimits

# Where one seed serves several signals: the level of all of them is off by the root of this number.
LEAST_DRAWS = 999

_FIRST, _LAST, _PER_OCTAVE = 2.0**-3, 2.0**10, 8
_DEPTHS = 48
_BEYOND = 1e-9  # of critical values, far more than their rounding where a is moderate


@final
@dataclass(frozen=True, slots=True, eq=False)
class Nulls:
    """Critical values of every explanation (M) at every level (L), and the level of each."""

    rivals: RivalLimits
    gate: GateLimits
    levels: Array  # (L,) falling
    spectrum_limits: Array  # (L,) of the leading eigenvalue of repeated rows over the trace
    misfits: Array  # (1 + P,) p-values of the gate as a whole, from 1
    spectrum_misfits: Array  # (P,)

    @property
    def size(self) -> int:
        """The explanations."""
        return len(self.rivals.shapes)


def is_tabulated(spec: Rotation) -> bool:
    """Whether one table serves all signals: real rows, at most one atom, noise unknown, no bound but a sign."""
    is_plain = spec.rows == "same mean" and spec.sigma is None and _signs(spec) is not None
    return is_plain and not spec.table.is_complex and int(spec.table.ranks.max()) <= 1


def tabulate(spec: Rotation, levels: Array, threads: int, repeats: int = 1) -> Nulls:
    """The nulls of a specification that `is_tabulated`; draws are those of its seed, the same for every signal.

    repeats: rows of a signal, whose scatter enters by a chi-square.
    """
    table = spec.table
    freedom = _Freedom(table.complement.shape[1], len(table.complement) * (repeats - 1))
    check_freedom(freedom.whole - int(table.ranks.max()))
    if spec.outsiders is not None:
        spec.outsiders.check(repeats, len(table.complement))
    shares = [Levels.of(level, spec.companions, spec.outsiders) for level in levels.tolist()]
    companions, rivals, gate = np.array([[each.companions, each.rivals, each.gate] for each in shares]).T
    misfits = _misfits(spec)
    spectrum = np.full(len(levels) + len(misfits) - 1, np.inf)
    if spec.outsiders is not None and spec.outsiders.spectrum:
        drawn = leading_shares(spec.seed, spec.gate_draws, len(table.complement), repeats - 1, is_complex=False)
        spectrum = _largest(drawn, _numbers(gate, spec.gate_draws) + _misfit_numbers(spec)) + _BEYOND
    with ThreadPoolExecutor(threads) as pool:
        found = _rivals(spec, freedom, rivals, companions, pool), _gate(spec, freedom, gate, pool)
        return Nulls(*found, levels, spectrum[: len(levels)], misfits, spectrum[len(levels) :])


class _Freedom(NamedTuple):
    """Coordinates of a signal."""

    beside: int  # the background
    scatter: int  # of repeated rows around their mean

    @property
    def whole(self) -> int:
        """Both."""
        return self.beside + self.scatter

    def drawn(self, spec: Rotation, purpose: int, draws: int) -> tuple[Array, Array]:
        """(B, m) normals, and (B,) the squared norms of all coordinates."""
        generator = Draws(spec.seed, purpose)
        normals = generator.normal((draws, self.beside))
        return normals, np.asarray((normals**2).sum(axis=1) + generator.chi_square(self.scatter, (draws,)))


def _signs(spec: Rotation) -> Array | None:
    """(M,) of the coefficient along each unit column that is allowed, 0 where both are; None if more is said of it."""
    table, companions = spec.table, spec.companions
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
    spec: Rotation, freedom: _Freedom, levels: Array, companions: Array, pool: ThreadPoolExecutor
) -> RivalLimits:
    table, size = spec.table, freedom.whole
    bases = np.ascontiguousarray(table.bases[:, 0].T)  # (m, M)
    octaves = int(np.log2(_LAST / _FIRST))
    grid = np.append(0.0, _FIRST * 2.0 ** (np.arange(octaves * _PER_OCTAVE + 1) / _PER_OCTAVE))
    normals, squares = freedom.drawn(spec, RIVALS, spec.draws)
    drawn = normals @ bases
    numbers = _numbers(levels * (1.0 - SCREEN_SHARE), spec.draws)
    check_draws("draws", numbers, spec.draws)
    slack = (1.0 + grid) * (_BEYOND + 16.0 * (16.0 * (size + 8) * EPS + float(table.errors.max())))
    limits = np.empty((len(levels), table.size, len(grid)))

    def fill(e: int) -> None:
        gram = bases[:, e] @ bases
        with np.errstate(divide="ignore"):
            near = np.minimum(np.abs(gram), 1.0)
            reach = np.searchsorted(grid, np.sqrt((1.0 + near) / (1.0 - near)) * (1.0 + _BEYOND) + _BEYOND)
        reach[e] = 0
        depths = np.empty((spec.draws, len(grid)))
        rival_draws(drawn, squares, gram, e, grid, reach, depths)
        by_draws = _largest(depths, numbers)
        rest = 0.5 * (size - int(table.ranks[e])) - 1.0
        limits[:, e] = np.minimum(by_draws, _tails(gram, grid, reach, SCREEN_SHARE * levels, rest)) + slack

    list(pool.map(fill, range(table.size)))
    ranks = table.ranks
    is_mixed = bool(ranks.min() < ranks.max())
    assert spec.penalty is not None
    floor = 1.0 - float(np.exp(-2.0 * spec.penalty / size)) if is_mixed else 0.0
    nothing, signs = int(ranks.argmin()) if is_mixed else -1, _signs(spec)
    assert signs is not None
    # A t test of the coefficient: sqrt(d) times a with its sign, of d = m - 1 degrees of freedom.
    with np.errstate(divide="ignore"):
        sign_limits = -stdtrit(size - 1.0, companions) / np.sqrt(size - 1.0) * (1.0 + _BEYOND)
    return RivalLimits(shapes(table), grid, _PER_OCTAVE, limits, floor, nothing, signs, sign_limits)


def _numbers(levels: Array, draws: int) -> list[int]:
    """K = floor(level (B + 1)) of each level; 0 where no count of draws can reject."""
    return [int(Fraction(float(level)) * (draws + 1)) for level in levels]


def _misfit_numbers(spec: Rotation) -> list[int]:
    """(P,) falling: of so many draws that exceed a p-value is told, two to an octave."""
    most = int(2.0 * np.log2(spec.gate_draws + 1))
    return sorted({int((spec.gate_draws + 1) * 2.0 ** (-k / 2.0)) for k in range(1, most + 1)}, reverse=True)


def _misfits(spec: Rotation) -> Array:
    """(1 + P,) p-values of all parts of the gate together, by their number; nothing can be said without a gate."""
    if spec.outsiders is None:
        return np.array([np.nan])
    parts = len(spec.outsiders.parts) * np.array(_misfit_numbers(spec)) / (spec.gate_draws + 1.0)
    return np.append(1.0, np.minimum(parts, 1.0))


def check_draws(name: str, numbers: list[int], draws: int) -> None:
    """Refuse so few draws that nothing could be rejected, or that should not serve several signals."""
    if numbers[0] < 1 or draws < LEAST_DRAWS:
        rule = f"be at least {LEAST_DRAWS}, as they serve several signals, and enough to reject at the level"
        raise MisuseError(name, rule, draws)


def check_shared_draws(spec: Rotation, level: float) -> None:
    """The same of rotations without a table, whose draws serve several signals as well."""
    shares = Levels.of(level, spec.companions, spec.outsiders)
    check_draws("draws", _numbers(np.array([shares.rivals * (1.0 - SCREEN_SHARE)]), spec.draws), spec.draws)
    if spec.outsiders is not None:
        check_draws("gate_draws", _numbers(np.array([shares.gate]), spec.gate_draws), spec.gate_draws)


def _largest(values: Array, numbers: list[int]) -> Array:
    """(L, ...) the K-th largest of values (B, ...) for every K; inf for K = 0."""
    ordered = np.sort(values, axis=0)
    return np.stack([ordered[-k] if k else np.full(values.shape[1:], np.inf) for k in numbers])


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


def _gate(spec: Rotation, freedom: _Freedom, levels: Array, pool: ThreadPoolExecutor) -> GateLimits:
    """Of explanations alone: the direction of a residual has one law under each."""
    table, outsiders = spec.table, spec.outsiders
    bases = np.ascontiguousarray(table.bases[:, 0].T)  # (m, M)
    outside = np.zeros((len(table.complement), 0)) if outsiders is None or outsiders.columns is None else outsiders.unit
    columns = np.ascontiguousarray(table.complement.T @ outside)  # (m, k)
    along = bases.T @ columns  # (M, k)
    left = (columns**2).sum(axis=0) - along**2
    inverse = np.where(left > LEAST_LEFT**2, 1.0 / np.sqrt(np.maximum(left, LEAST_LEFT**2)), 0.0)
    own_shapes = shapes(table)
    lags = () if outsiders is None else outsiders.lags
    is_lag = np.isin(np.arange(1, max(lags, default=0) + 1), lags)
    numbers, n = _numbers(levels, spec.gate_draws) + _misfit_numbers(spec), len(levels)
    limits = np.full((2, len(numbers), table.size), np.inf)
    filled = GateLimits(
        *_runs(outside), along, inverse, limits[0, :n], is_lag, limits[1, :n],
        *_shifted(own_shapes, len(is_lag)), limits[:, n:],
    )  # fmt: skip
    if outsiders is None:
        return filled
    normals, squares = freedom.drawn(spec, OUTSIDERS, spec.gate_draws)  # (B, m), (B,)
    own = np.ascontiguousarray((normals @ bases).T)  # (M, B)
    drawn, channels = normals @ columns, normals @ table.complement.T
    check_draws("gate_draws", numbers[:n], spec.gate_draws)

    def fill(e: int) -> None:
        values = np.empty((spec.gate_draws, 2))
        column_draws(drawn, own[e], squares, along[e], inverse[e], values[:, 0])
        lag_draws(channels, own[e], squares, own_shapes[e], is_lag, values[:, 1])
        limits[:, :, e] = _largest(values, numbers).T + 1e-8

    list(pool.map(fill, range(table.size)))
    return filled


def _runs(columns: Array) -> tuple[IntArray, Array, Array]:
    """(r, 2) and (r,) of the first of columns (q, k) that are 0 but for one value over a run; and the others."""
    is_there, places = columns != 0.0, np.arange(len(columns))[:, None]
    first, count = is_there.argmax(axis=0), is_there.sum(axis=0)
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
