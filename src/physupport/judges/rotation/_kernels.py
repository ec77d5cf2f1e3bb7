"""Compiled counts: rotated data against all rivals, over contiguous slices of shared products."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..._compiled import kept
from ..._typing import Array, BoolArray, IntArray

BLOCK = 32  # rivals at a time: looked at together or not at all, and few enough for registers
_CHUNK_BYTES = 500_000  # of products, that all explanations of a batch use before the next are fetched


# Sums of zeros and ones are exact in any order.
_ANY_ORDER = {"reassoc", "contract", "nsz"}
_Number = TypeVar("_Number", np.float64, np.int64)
# Of a bound of lengths: far more than the rounding of the lengths that it is compared with.
_ABOVE = 1.0 + 1e-12


def padded(values: NDArray[_Number], fill: float = 0.0) -> NDArray[_Number]:
    """The last axis filled up to whole blocks."""
    missing = [(0, 0)] * (values.ndim - 1) + [(0, -values.shape[-1] % BLOCK)]
    return np.ascontiguousarray(np.pad(values, missing, constant_values=fill))


@kept()
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


@kept()
def screen(
    gram: Array,
    along: Array,
    ranks: IntArray,
    floors: Array,
    least: Array,
    radius: float,
    freedom: int,
    is_known: bool,
    limit: float,
) -> float:
    r"""A bound of the exact p-value, :math:`\sum_j P(|P_j z^*|^2 \ge \text{least}_j)`, or inf if it is beyond limit.

    :math:`|P_j z^*| \le |P_j P z| + R\rho_j|\Pi\omega|` with :math:`\Pi` of rank :math:`r_j` and
    :math:`\rho_j^2 \le \min(1, r_j - |U_j^T U_e|^2)`.  gram (l, r, M) = U_e^T U_j, along (l,) = U_e^T z, least (M,).
    Where the floor of a rival is 0 only :math:`u_j^T z^* > 0` counts: half as likely, and from a signed start.
    """
    n_own, n_parts, _ = gram.shape
    total = 0.0
    for j in range(len(ranks)):
        # A rival that may fit nothing at all, as one against its sign does, reaches this in every rotation.
        if not least[j] > 0.0:
            return np.inf
        reach, common, signed = 0.0, 0.0, 0.0
        for k in range(n_parts):
            value = 0.0
            for i in range(n_own):
                value += gram[i, k, j] * along[i]
                common += gram[i, k, j] ** 2
            reach += value * value
            signed += value if k == 0 else 0.0
        share, start = (0.5, signed) if floors[j] == 0.0 else (1.0, np.sqrt(reach))
        # Orthonormal rows are so to rounding only.
        spread = min(1.0, max(ranks[j] - common, 0.0) + 1e-12)
        need = np.sqrt(least[j]) * (1.0 - 1e-14) - start - abs(start) * 1e-14
        u = need * need / (radius * radius * spread)
        total += share * tail(u, ranks[j], freedom, is_known) if need > 0.0 else 1.0
        if not total <= limit:
            return np.inf
    return total


@kept(fastmath=_ANY_ORDER)
def _is_reached_once(
    row: Array, first: Array, scale: float, along: float, floors: Array, least: Array, slack: float
) -> bool:
    """Whether one of BLOCK rivals of rank one has max(floor, scale * product + gram * along)^2 + slack >= least."""
    reached = 0.0
    for j in range(BLOCK):
        value = scale * row[j] + along * first[j]
        value = floors[j] if value < floors[j] else value
        reached += 0.0 if value * value + slack < least[j] else 1.0  # what is no number is reached
    return reached > 0.0


@kept(fastmath=_ANY_ORDER)
def _is_reached(
    products: Array, gram: Array, scale: float, along: Array, floors: Array, least: Array, slack: float, room: Array
) -> bool:
    """The same for any ranks: the sum of squares over components, of which floors bound the first; room: (2, BLOCK)."""
    energy, value = room
    energy[:] = slack
    for k in range(gram.shape[1]):
        for j in range(BLOCK):
            value[j] = scale * products[k, j]
        for i in range(len(gram)):
            for j in range(BLOCK):
                value[j] += along[i] * gram[i, k, j]
        for j in range(BLOCK if k == 0 else 0):
            value[j] = floors[j] if value[j] < floors[j] else value[j]
        for j in range(BLOCK):
            energy[j] += value[j] * value[j]
    reached = 0.0
    for j in range(BLOCK):
        reached += 0.0 if energy[j] < least[j] else 1.0
    return reached > 0.0


@kept()
def longest(products: Array) -> Array:
    """(b, M / BLOCK) the largest length of products (b, r, M) within every block of rivals."""
    n_draws, n_parts, size = products.shape
    lengths = np.empty((n_draws, size // BLOCK))
    for b in range(n_draws):
        for block in range(size // BLOCK):
            squares = np.zeros(BLOCK)
            for k in range(n_parts):
                squares += products[b, k, block * BLOCK : (block + 1) * BLOCK] ** 2
            lengths[b, block] = np.sqrt(squares.max())
    return lengths


@kept()
def count(
    products: Array,
    tops: Array,
    inner: Array,
    squares: Array,
    scatter: Array,
    gram: Array,
    along: Array,
    floors: Array,
    least: Array,
    radius: float,
    sigma: float,
    unit: float,
    counted: int,
    enough: int,
    fewest: int,
    remaining: int,
) -> tuple[int, int]:
    r"""Exceedances and draws still to come: stops once `enough` are counted, or `fewest` are out of reach.

    Draw b makes :math:`U_j^T z^* = \alpha U_j^T g_b + (U_e^T U_j)^T(U_e^T z - \alpha U_e^T g_b)` with
    :math:`\alpha = R / \sqrt{|Q g_b|^2 + h_b}`, or sigma where it is known (> 0).  products (b, r, M), inner (l, b),
    squares (b,) = |g_b|^2, scatter (b,) = h_b.  Rivals of rank one whose floor (M,) is 0, not -inf, fit only where they
    are positive.  An exceedance is counted unless the energies of all rivals are below
    least (M,) by more than their rounding error, unit times the energy of the draw.

    tops (b, blocks) = `longest` of products: with the largest norm of a block of gram, at most 1 since it is of
    projections, they bound all energies of the block, and a block that cannot reach is not looked at.
    """
    n_own, n_blocks = len(gram), tops.shape[1]
    is_single = n_own == 1 and gram.shape[1] == 1
    beside, room = np.empty(n_own), np.empty((2, BLOCK))
    fixed, first = along @ along, gram[0, 0]
    norms, lowest = np.empty(n_blocks), np.empty(n_blocks)
    for block in range(n_blocks):
        part = slice(block * BLOCK, (block + 1) * BLOCK)
        norms[block] = min(longest(gram[:, :, part])[:, 0].max() * np.sqrt(n_own), 1.0) * _ABOVE
        lowest[block] = least[part].min()
    for b in range(len(products)):
        if counted >= enough or counted + remaining < fewest:
            break
        inside = 0.0
        for i in range(n_own):
            inside += inner[i, b] * inner[i, b]
        rest = max(squares[b] - inside, 1e-300)
        scale = sigma if sigma > 0.0 else radius / np.sqrt(rest + scatter[b])
        slack = unit * (fixed + scale * scale * (squares[b] + scatter[b])) * (1.0 + squares[b] / rest)
        length = 0.0
        for i in range(n_own):
            beside[i] = along[i] - scale * inner[i, b]
            length += beside[i] * beside[i]
        length, drawn, row = np.sqrt(length), products[b], products[b, 0]
        for block in range(n_blocks):
            top = scale * tops[b, block] + length * norms[block]
            if top * top * _ABOVE + slack < lowest[block]:
                continue
            part = slice(block * BLOCK, (block + 1) * BLOCK)
            if is_single:
                hit = _is_reached_once(row[part], first[part], scale, beside[0], floors[part], least[part], slack)
            else:
                near = gram[:, :, part]
                hit = _is_reached(drawn[:, part], near, scale, beside, floors[part], least[part], slack, room)
            if hit:
                counted += 1
                break
        remaining -= 1
    return counted, remaining


@kept()
def screen_batch(
    grams: Array,
    along: Array,
    ranks: IntArray,
    floors: Array,
    least: Array,
    slack: Array,
    radii: Array,
    freedom: IntArray,
    is_known: bool,
    is_open: BoolArray,
    limit: float,
    bounds: Array,
) -> None:
    """`screen` of the explanations that are open: fills bounds (k,)."""
    for i in range(len(grams)):
        if is_open[i]:
            lowered = least[i] - slack[i]
            bounds[i] = screen(grams[i], along[i], ranks, floors, lowered, radii[i], freedom[i], is_known, limit)


@kept()
def count_batch(
    products: Array,
    inner: Array,
    squares: Array,
    scatter: Array,
    grams: Array,
    along: Array,
    floors: Array,
    least: Array,
    radii: Array,
    sigma: float,
    unit: float,
    counted: IntArray,
    remaining: IntArray,
    enough: int,
    fewest: int,
) -> None:
    """`count` of explanations, draws in chunks: updates counted (k,) and remaining (k,)."""
    step = max(1, _CHUNK_BYTES // (8 * products.shape[1] * products.shape[2]))
    for start in range(0, len(products), step):
        stop = min(start + step, len(products))
        chosen = slice(start, stop)
        tops = longest(products[chosen])
        for i in range(len(grams)):
            if counted[i] < enough and counted[i] + remaining[i] >= fewest:
                counted[i], remaining[i] = count(
                    products[chosen],
                    tops,
                    inner[i, :, chosen],
                    squares[chosen],
                    scatter[chosen],
                    grams[i],
                    along[i],
                    floors,
                    least[i],
                    radii[i],
                    sigma,
                    unit,
                    counted[i],
                    enough,
                    fewest,
                    remaining[i],
                )
