"""Compiled loops over draws: what decides under one explanation, of every rotation."""

import numpy as np

from .._compiled import kept
from .._typing import Array, BoolArray, IntArray


@kept(nogil=True)
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


@kept(nogil=True)
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


@kept(nogil=True)
def column_draws(drawn: Array, own: Array, squares: Array, along: Array, inverse: Array, out: Array) -> None:
    r"""Out (B,): largest :math:`|\langle Qg, b\rangle| / (|Qb||Qg|)`; drawn (B, k) = g.b, own (B,) = g.u_e."""
    for b in range(len(drawn)):
        largest = 0.0
        for k in range(len(along)):
            largest = max(largest, abs(drawn[b, k] - own[b] * along[k]) * inverse[k])
        out[b] = largest / np.sqrt(max(squares[b] - own[b] * own[b], 1e-300))


@kept(nogil=True)
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


@kept(nogil=True)
def lag_draws(channels: Array, own: Array, squares: Array, shape: Array, is_lag: BoolArray, out: Array) -> None:
    """Out (B,): largest autocorrelation of Qg over the channels; channels (B, q) of g, own (B,) = g.u_e."""
    size = len(shape)
    left, sums = np.zeros(size + len(is_lag)), np.empty(len(is_lag))
    for b in range(len(channels)):
        for i in range(size):
            left[i] = channels[b, i] - own[b] * shape[i]
        out[b] = _largest_lag(left, size, is_lag, sums) / max(squares[b] - own[b] * own[b], 1e-300)
