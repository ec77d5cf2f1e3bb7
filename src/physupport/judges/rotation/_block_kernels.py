"""Compiled counts of rotated data against all pairs of elements of several columns, from products with single ones.

Products x of elements with rows stand in blocks: (blocks, rows, width, PAIR_BLOCK), width columns of each element.
"""

import numpy as np

from ..._compiled import cached_njit
from ..._typing import Array, IntArray
from ._kernels import PAIR_BLOCK, tail
from ._sequential import LOOK

_ANY_ORDER = {"reassoc", "contract", "nsz"}
_ROUNDED = 1e-9  # of a length or a share, more than the rounding of sums of squares


@cached_njit(nogil=True)
def _lengths(x: Array, lengths: Array, tops: Array) -> None:
    """Fill in lengths (rows, E) of the parts of x, and their largest in every block (rows, blocks)."""
    n_blocks, n_rows, width, _ = x.shape
    for block in range(n_blocks):
        for d in range(n_rows):
            top = 0.0
            for k in range(PAIR_BLOCK):
                square = 0.0
                for c in range(width):
                    square += x[block, d, c, k] ** 2
                length = np.sqrt(square)
                lengths[d, block * PAIR_BLOCK + k] = length
                top = length if not length <= top else top
            tops[d, block] = top


@cached_njit(nogil=True)
def _reach(own: float, top: float, steep: float, coherence: float) -> float:
    r"""At least every fit of a pair with parts of at most these lengths, steep = 1 / (1 - c^2) of its coherence c.

    The least eigenvalue of the products of both bases is 1 - c for parts that point against each other.
    """
    return (own * own + top * (top + 2.0 * coherence * own)) * steep * (1.0 + _ROUNDED)


@cached_njit(nogil=True, fastmath=_ANY_ORDER)
def _fit(x: Array, own: Array, d: int, k: int, factors: Array, shape: tuple[int, ...]) -> float:
    r"""The fit of a pair less that of its first element: of x (rows, width, PAIR_BLOCK) and own (rows, width).

    Of a pair i < k with bases A, B and G = A^T B it is :math:`|Sx_k - Hx_i|^2`, x = products with the data,
    :math:`S = L^{-1}`, :math:`LL^T = 1 - G^TG`, :math:`H = SG^T`.  The compiler knows the length of the tuple shape,
    and unrolls loops over so few columns.
    """
    width = len(shape)
    n_lower = width * (width + 1) // 2
    energy = 0.0
    at = 0
    for c in range(width):
        value = 0.0
        for u in range(c + 1):
            value += factors[at, k] * x[d, u, k]
            at += 1
        for u in range(width):
            value -= factors[n_lower + c * width + u, k] * own[d, u]
        energy += value * value
    return energy


@cached_njit(nogil=True, fastmath=_ANY_ORDER)
def _reaches(x: Array, own: Array, d: int, length: float, slack: float, factors: Array, shape: tuple[int, ...]) -> bool:
    """True if an element of this length reaches the least with one of a block, rounding included."""
    reached = 0.0
    for k in range(PAIR_BLOCK):
        fit = length * length + slack * factors[-2, k] + _fit(x, own, d, k, factors, shape)
        reached += 0.0 if fit < factors[-1, k] else 1.0
    return reached > 0.0


@cached_njit(nogil=True, fastmath=_ANY_ORDER)
def _fill(
    x: Array, own: Array, d: int, length: float, slack: float, factors: Array, shape: tuple[int, ...], fits: Array
) -> None:
    """Fill in the fits of an element with those of a block, rounding included."""
    for k in range(PAIR_BLOCK):
        fits[k] = length * length + slack * factors[-2, k] + _fit(x, own, d, k, factors, shape)


@cached_njit(nogil=True)
def count_blocks(
    products: Array,
    squares: Array,
    scatter: Array,
    inner: Array,
    across: Array,
    along: Array,
    radius: float,
    sigma: float,
    unit: float,
    none: float,
    single: Array,
    factors: Array,
    steepest: Array,
    coherences: Array,
    lowest: Array,
    few: IntArray,
    many: IntArray,
    shape: tuple[int, ...],
) -> tuple[int, int]:
    r"""Exceedances and draws still to come, as `count_pairs`, some draws at a time.

    products (B, blocks, width, PAIR_BLOCK), inner (l, B) = U_e^T g_b, along (l,), and across as products (l rows).
    none, single (E,): energies that no and one element must reach.  factors (E, blocks, F, PAIR_BLOCK): of each pair
    the lower triangle of S, H, 1 / (1 - c^2) and the energy that it must reach; steepest, coherences and lowest (E,
    blocks): the largest 1 / (1 - c^2) and c, and the least energy, of a block.  Elements that were hit come first.
    """
    counted = 0
    remaining = len(products)
    n_blocks = products.shape[1]
    width = len(shape)
    n_atoms = n_blocks * PAIR_BLOCK
    x = np.zeros((n_blocks, LOOK, width, PAIR_BLOCK))
    own = np.empty((LOOK, width))
    lengths = np.empty((LOOK, n_atoms))
    tops = np.empty((LOOK, n_blocks))
    slack = np.empty(LOOK)
    is_open = np.empty(LOOK, dtype=np.bool_)
    order = np.arange(n_atoms)
    fixed = (along * along).sum()
    for first in range(0, len(products), LOOK):
        n_draws = min(LOOK, len(products) - first)
        for d in range(n_draws):
            b = first + d
            inside = 0.0
            for u in range(len(inner)):
                inside += inner[u, b] ** 2
            rest = max(squares[b] - inside, 1e-300)
            scale = sigma if sigma > 0.0 else radius / np.sqrt(rest + scatter[b])
            slack[d] = unit * (fixed + scale * scale * (squares[b] + scatter[b])) * (1.0 + squares[b] / rest)
            for block in range(n_blocks):
                for c in range(width):
                    for k in range(PAIR_BLOCK):
                        x[block, d, c, k] = scale * products[b, block, c, k]
            for u in range(len(inner)):
                beside = along[u] - scale * inner[u, b]
                for block in range(n_blocks):
                    for c in range(width):
                        for k in range(PAIR_BLOCK):
                            x[block, d, c, k] += beside * across[u, block, c, k]
        _lengths(x, lengths, tops)
        n_open = 0
        for d in range(n_draws):
            hits = 0
            for k in range(n_atoms):
                hits += 0 if lengths[d, k] ** 2 + slack[d] < single[k] else 1
            is_open[d] = slack[d] < none and hits == 0
            n_open += is_open[d]
        for step in range(n_atoms):
            if n_open == 0:
                break
            i = order[step]
            before = n_open
            for d in range(n_draws):
                for c in range(width):
                    own[d, c] = x[i // PAIR_BLOCK, d, c, i % PAIR_BLOCK]
            for block in range(i // PAIR_BLOCK, n_blocks):
                steep = steepest[i, block]
                coherence = coherences[i, block]
                least = lowest[i, block]
                tile = factors[i, block]
                others = x[block]
                for d in range(n_draws):
                    if not is_open[d]:
                        continue
                    if _reach(lengths[d, i], tops[d, block], steep, coherence) + slack[d] * steep < least:
                        continue
                    if _reaches(others, own, d, lengths[d, i], slack[d], tile, shape):
                        is_open[d] = False
                        n_open -= 1
            if n_open < before:
                for j in range(step, 0, -1):
                    order[j] = order[j - 1]
                order[0] = i
        for d in range(n_draws):
            counted += not is_open[d]
        remaining -= n_draws
        if counted <= few[first // LOOK] or counted >= many[first // LOOK]:
            break
    return counted, remaining


@cached_njit(nogil=True)
def screen_blocks(
    across: Array,
    along: Array,
    none: float,
    single: Array,
    factors: Array,
    steepest: Array,
    coherences: Array,
    lowest: Array,
    slack: float,
    radius: float,
    freedom: int,
    is_known: bool,
    limit: float,
    cut: float,
    tails: Array,
    shape: tuple[int, ...],
) -> float:
    r"""A bound of the exact p-value, as `_kernels.screen`, or inf beyond limit; arrays as in `count_blocks`.

    Pairs that need more than cut of the squared radius are bounded together; tails (n + 1,) as in `screen_pairs`, of as
    many coordinates as two elements have.
    """
    n_own = len(along)
    width = len(shape)
    n_blocks = across.shape[1]
    n_atoms = n_blocks * PAIR_BLOCK
    if not radius > 0.0 or not none > 0.0:
        return np.inf
    fit = np.sqrt((along * along).sum() + slack) * (1.0 + _ROUNDED)
    need = np.sqrt(max(min(single.min(), lowest.min()), 0.0)) - fit
    total = tail((need / radius) ** 2, 2 * width, freedom, is_known) * n_atoms * n_atoms if need > 0.0 else np.inf
    if total <= limit:
        return total
    # The last row is that of the data, the others those of the basis of e.
    x = np.zeros((n_blocks, n_own + 1, width, PAIR_BLOCK))
    for u in range(n_own):
        x[:, u] = across[u]
        x[:, n_own] += along[u] * across[u]
    lengths = np.empty((n_own + 1, n_atoms))
    tops = np.empty((n_own + 1, n_blocks))
    _lengths(x, lengths, tops)
    length = lengths[n_own]
    total = tails[-1] * n_atoms * n_atoms
    most = cut * radius * radius
    steps = (len(tails) - 1) / most
    for k in range(n_atoms):
        need = np.sqrt(max(single[k], 0.0)) - np.sqrt(length[k] ** 2 + slack) * (1.0 + _ROUNDED)
        total += tails[int(min(need * need * steps, len(tails) - 1.0))] if need > 0.0 else 1.0
    fits = np.empty(PAIR_BLOCK)
    needed = np.empty(PAIR_BLOCK)
    common = np.empty(PAIR_BLOCK)
    for i in range(n_atoms):
        own = np.ascontiguousarray(x[i // PAIR_BLOCK, :, :, i % PAIR_BLOCK])
        for block in range(i // PAIR_BLOCK, n_blocks):
            if not total <= limit:
                return np.inf
            steep = steepest[i, block]
            reach = _reach(length[i], tops[n_own, block], steep, coherences[i, block]) + slack * steep
            need = np.sqrt(max(lowest[i, block], 0.0)) - np.sqrt(reach)
            if need > 0.0 and need * need > most:
                continue
            pairs = factors[i, block]
            _fill(x[block], own, n_own, length[i], slack, pairs, shape, fits)
            n_near = 0
            for k in range(PAIR_BLOCK):
                need = np.sqrt(max(pairs[-1, k], 0.0)) - np.sqrt(fits[k]) * (1.0 + _ROUNDED)
                needed[k] = need * need
                n_near += need * need <= most or not need > 0.0
                if not need > 0.0:
                    needed[k] = 0.0
            if n_near == 0:
                continue
            common[:] = 0.0
            for u in range(n_own):
                _fill(x[block], own, u, lengths[u, i], 0.0, pairs, shape, fits)
                common += fits
            for k in range(PAIR_BLOCK):
                if needed[k] <= most:
                    spread = min(max(2.0 * width - common[k], 0.0) + _ROUNDED * pairs[-2, k] + 1e-6, 1.0)
                    share = min(needed[k] / spread * steps, len(tails) - 1.0)
                    total += tails[int(share)] if needed[k] > 0.0 else 1.0
    return total if total <= limit else np.inf
