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
from typing import final

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
    Outsiders,
    Rotation,
    RotationTable,
    check_freedom,
)
from ._kernels import GateLimits, RivalLimits, column_draws, lag_draws, rival_draws, rival_tails

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

    @property
    def size(self) -> int:
        """The explanations."""
        return int(self.rivals.bases.shape[1])


def is_tabulated(spec: Rotation) -> bool:
    """Whether one table serves all signals: real rows, at most one atom, noise unknown, no bound but a sign."""
    is_plain = spec.rows == "same mean" and spec.sigma is None and _signs(spec) is not None
    has_own_gate = spec.outsiders is not None and spec.outsiders.spectrum
    return is_plain and not has_own_gate and not spec.table.is_complex and int(spec.table.ranks.max()) <= 1


def tabulate(spec: Rotation, levels: Array, threads: int) -> Nulls:
    """The nulls of a specification that `is_tabulated`; draws are those of its seed, the same for every signal."""
    table = spec.table
    check_freedom(table.complement.shape[1] - int(table.ranks.max()))
    shares = [Levels.of(level, spec.companions, spec.outsiders) for level in levels.tolist()]
    companions, rivals, gate = np.array([[each.companions, each.rivals, each.gate] for each in shares]).T
    with ThreadPoolExecutor(threads) as pool:
        return Nulls(_rivals(spec, rivals, companions, pool), _gate(spec, gate, pool), levels)


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


def _rivals(spec: Rotation, levels: Array, companions: Array, pool: ThreadPoolExecutor) -> RivalLimits:
    table = spec.table
    bases = np.ascontiguousarray(table.bases[:, 0].T)  # (m, M)
    size = len(bases)
    octaves = int(np.log2(_LAST / _FIRST))
    grid = np.append(0.0, _FIRST * 2.0 ** (np.arange(octaves * _PER_OCTAVE + 1) / _PER_OCTAVE))
    normals = Draws(spec.seed, RIVALS).normal((spec.draws, size))
    drawn, squares = normals @ bases, (normals**2).sum(axis=1)
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
    return RivalLimits(bases, grid, _PER_OCTAVE, limits, floor, nothing, signs, sign_limits)


def _numbers(levels: Array, draws: int) -> list[int]:
    """K = floor(level (B + 1)) of each level; 0 where no count of draws can reject."""
    return [int(Fraction(float(level)) * (draws + 1)) for level in levels]


def check_draws(name: str, numbers: list[int], draws: int) -> None:
    """Refuse so few draws that nothing could be rejected, or that should not serve several signals."""
    if numbers[0] < 1 or draws < 999:
        rule = "be at least 999, as they serve several signals, and enough to reject at the level"
        raise MisuseError(name, rule, draws)


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


def _gate(spec: Rotation, levels: Array, pool: ThreadPoolExecutor) -> GateLimits:
    """Of explanations alone: the direction of a residual has one law under each."""
    table, outsiders = spec.table, spec.outsiders
    bases = np.ascontiguousarray(table.bases[:, 0].T)  # (m, M)
    columns = _columns(table, outsiders)  # (m, k)
    along = bases.T @ columns  # (M, k)
    left = (columns**2).sum(axis=0) - along**2
    inverse = np.where(left > LEAST_LEFT**2, 1.0 / np.sqrt(np.maximum(left, LEAST_LEFT**2)), 0.0)
    shapes = np.ascontiguousarray((table.complement @ bases).T)  # (M, q)
    lags = () if outsiders is None else outsiders.lags
    is_lag = np.isin(np.arange(1, max(lags, default=0) + 1), lags)
    limits = np.full((2, len(levels), table.size), np.inf)
    filled = GateLimits(columns, along, inverse, limits[0], shapes, is_lag, limits[1])
    if outsiders is None:
        return filled
    normals = Draws(spec.seed, OUTSIDERS).normal((spec.gate_draws, len(bases)))
    squares, own = (normals**2).sum(axis=1), np.ascontiguousarray((normals @ bases).T)  # (B,), (M, B)
    drawn, channels = normals @ columns, normals @ table.complement.T
    numbers = _numbers(levels, spec.gate_draws)
    check_draws("gate_draws", numbers, spec.gate_draws)

    def fill(e: int) -> None:
        values = np.empty((spec.gate_draws, 2))
        column_draws(drawn, own[e], squares, along[e], inverse[e], values[:, 0])
        lag_draws(channels, own[e], squares, shapes[e], is_lag, values[:, 1])
        limits[:, :, e] = _largest(values, numbers).T + 1e-8

    list(pool.map(fill, range(table.size)))
    return filled


def _columns(table: RotationTable, outsiders: Outsiders | None) -> Array:
    if outsiders is None or outsiders.columns is None:
        return np.zeros((table.complement.shape[1], 0))
    return np.ascontiguousarray(table.complement.T @ outsiders.unit)
