"""Compiled counts: rotated data against all rivals, over contiguous slices of shared products."""

import numpy as np
from numba import njit

from ..._typing import Array, BoolArray, IntArray

BLOCK = 512  # rivals at a time: their slices stay in the nearest cache
_CHUNK_BYTES = 500_000  # of products, that all explanations of a batch use before the next are fetched


# Sums of zeros and ones are exact in any order.
_ANY_ORDER = {"reassoc", "contract", "nsz"}


@njit(cache=True)
def tail(u: float, rank: int, freedom: int, is_known: bool) -> float:
    r"""At least :math:`P(X \ge u)` for X ~ Beta(k/2, (d-k)/2), or chi-square of k degrees where the noise is known.

    Closed form for even k; an odd k is raised by one, which only makes X larger.
    """
    half = (rank + 1) // 2
    rest = 0.5 * freedom - half
    if not u > 0.0 or (not is_known and rest <= 0.0):  # 1 also of what is no number
        return 1.0
    if not is_known and u >= 1.0:
        return 0.0
    # Not 0, which is for what no rotation can reach.
    term = max(np.exp(-0.5 * u) if is_known else (1.0 - u) ** rest, 1e-300)
    total = 0.0
    for i in range(half):
        total += term
        term *= 0.5 * u / (i + 1) if is_known else (rest + i) * u / (i + 1)
    return min(total, 1.0)


@njit(cache=True)
def screen(
    gram: Array, along: Array, ranks: IntArray, least: Array, radius: float, freedom: int, is_known: bool, lift: Array
) -> float:
    r"""A bound of the exact p-value, :math:`\sum_j P(|P_j z^*|^2 \ge \text{least}_j)`.

    :math:`|P_j z^*| \le |P_j P z| + R\rho_j|\Pi\omega|` with :math:`\Pi` of rank :math:`r_j` and
    :math:`\rho_j^2 \le \min(1, r_j - |U_j^T U_e|^2)`.  gram (l, r, M) = U_e^T U_j, along (l,) = U_e^T z, least (M,).
    Fills lift (blocks,), the largest tail of every block of rivals: 0 if no rotation lifts any of them.
    """
    n_own, n_parts, size = gram.shape
    total = 0.0
    lift[:] = 0.0
    for j in range(size):
        reach, common = 0.0, 0.0
        for k in range(n_parts):
            value = 0.0
            for i in range(n_own):
                value += gram[i, k, j] * along[i]
                common += gram[i, k, j] ** 2
            reach += value * value
        # Orthonormal rows are so to rounding only.
        spread = min(1.0, max(ranks[j] - common, 0.0) + 1e-12)
        need = np.sqrt(max(least[j], 0.0)) * (1.0 - 1e-14) - np.sqrt(reach) * (1.0 + 1e-14)
        probability = tail(need * need / (radius * radius * spread), ranks[j], freedom, is_known) if need > 0 else 1.0
        total += probability
        lift[j // BLOCK] = max(lift[j // BLOCK], probability)
    return total


@njit(cache=True)
def _is_reached(products: Array, gram: Array, scale: float, along: Array, least: Array, start: int, stop: int) -> bool:
    """Whether a rival from start to stop has sum_k (scale * product + gram.along)^2 >= least."""
    n_own, n_parts = gram.shape[0], gram.shape[1]
    width = stop - start
    energy = np.zeros(width)
    for k in range(n_parts):
        row = products[k, start:stop]
        if n_own == 1:
            first, only = gram[0, k, start:stop], along[0]
            for j in range(width):
                value = scale * row[j] + only * first[j]
                energy[j] += value * value
        elif n_own == 2:
            first, second, one, two = gram[0, k, start:stop], gram[1, k, start:stop], along[0], along[1]
            for j in range(width):
                value = scale * row[j] + one * first[j] + two * second[j]
                energy[j] += value * value
        else:
            values = scale * row
            for i in range(n_own):
                values += along[i] * gram[i, k, start:stop]
            for j in range(width):
                energy[j] += values[j] * values[j]
    bounds = least[start:stop]
    reached = 0
    for j in range(width):
        reached += not energy[j] < bounds[j]  # what is no number is reached
    return reached > 0


@njit(cache=True, fastmath=_ANY_ORDER)
def _is_reached_once(row: Array, first: Array, scale: float, along: float, least: Array, slack: float) -> bool:
    """The same for rivals and explanation of rank one, in a single pass."""
    reached = 0.0
    for j in range(len(row)):
        value = scale * row[j] + along * first[j]
        reached += 0.0 if value * value + slack < least[j] else 1.0
    return reached > 0.0


@njit(cache=True)
def count(
    products: Array,
    own: Array,
    squares: Array,
    scatter: Array,
    gram: Array,
    along: Array,
    least: Array,
    radius: float,
    sigma: float,
    unit: float,
    order: IntArray,
    counted: int,
    enough: int,
    fewest: int,
    remaining: int,
) -> tuple[int, int]:
    r"""Exceedances and draws still to come: stops once `enough` are counted, or `fewest` are out of reach.

    Draw b makes :math:`U_j^T z^* = \alpha U_j^T g_b + (U_e^T U_j)^T(U_e^T z - \alpha U_e^T g_b)` with
    :math:`\alpha = R / \sqrt{|Q g_b|^2 + h_b}`, or sigma where it is known (> 0).  products (b, r, M), own (b, l),
    squares (b,) = |g_b|^2, scatter (b,) = h_b.  An exceedance is counted unless the energies of all rivals are below
    least (M,) by more than their rounding error, unit times the energy of the draw.  order: blocks worth looking at.
    """
    n_own, size = gram.shape[0], gram.shape[2]
    beside = np.empty(n_own)
    fixed = along @ along
    lowered = np.empty(size)
    for b in range(len(products)):
        if counted >= enough or counted + remaining < fewest:
            break
        inside = 0.0
        for i in range(n_own):
            inside += own[b, i] * own[b, i]
        rest = max(squares[b] - inside, 1e-300)
        scale = sigma if sigma > 0.0 else radius / np.sqrt(rest + scatter[b])
        slack = unit * (fixed + scale * scale * (squares[b] + scatter[b])) * (1.0 + squares[b] / rest)
        for i in range(n_own):
            beside[i] = along[i] - scale * own[b, i]
        for block in order:
            start, stop = block * BLOCK, min((block + 1) * BLOCK, size)
            if n_own == 1 and gram.shape[1] == 1:
                hit = _is_reached_once(
                    products[b, 0, start:stop], gram[0, 0, start:stop], scale, beside[0], least[start:stop], slack
                )
            else:
                lowered[start:stop] = least[start:stop] - slack
                hit = _is_reached(products[b], gram, scale, beside, lowered, start, stop)
            if hit:
                counted += 1
                break
        remaining -= 1
    return counted, remaining


@njit(cache=True)
def screen_batch(
    grams: Array,
    along: Array,
    ranks: IntArray,
    least: Array,
    slack: Array,
    radii: Array,
    freedom: IntArray,
    is_known: bool,
    is_open: BoolArray,
    lift: Array,
    bounds: Array,
) -> None:
    """`screen` of the explanations that are open: fills bounds (k,) and lift (k, blocks)."""
    for i in range(len(grams)):
        if is_open[i]:
            lowered = least[i] - slack[i]
            bounds[i] = screen(grams[i], along[i], ranks, lowered, radii[i], freedom[i], is_known, lift[i])


@njit(cache=True)
def count_batch(
    products: Array,
    own: Array,
    squares: Array,
    scatter: Array,
    grams: Array,
    along: Array,
    least: Array,
    radii: Array,
    sigma: float,
    unit: float,
    orders: IntArray,
    n_live: IntArray,
    is_open: BoolArray,
    counted: IntArray,
    remaining: IntArray,
    enough: int,
    fewest: int,
) -> None:
    """`count` of the explanations that are open, draws in chunks: updates counted (k,) and remaining (k,)."""
    step = max(1, _CHUNK_BYTES // (8 * products.shape[1] * products.shape[2]))
    for start in range(0, len(products), step):
        stop = min(start + step, len(products))
        for i in range(len(grams)):
            if is_open[i] and counted[i] < enough and counted[i] + remaining[i] >= fewest:
                counted[i], remaining[i] = count(
                    products[start:stop],
                    own[i, start:stop],
                    squares[start:stop],
                    scatter[start:stop],
                    grams[i],
                    along[i],
                    least[i],
                    radii[i],
                    sigma,
                    unit,
                    orders[i, : n_live[i]],
                    counted[i],
                    enough,
                    fewest,
                    remaining[i],
                )
