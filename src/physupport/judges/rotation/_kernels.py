"""Compiled counts of rotated data against all rivals: any spans, and pairs from products with single atoms."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..._compiled import cached_njit
from ..._typing import Array, BoolArray, IntArray
from ._sequential import LOOK

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


@cached_njit()
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


@cached_njit()
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
        reach = 0.0
        common = 0.0
        signed = 0.0
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


@cached_njit(fastmath=_ANY_ORDER)
def _is_reached_once(
    row: Array, first: Array, scale: float, along: float, floors: Array, least: Array, slack: float
) -> bool:
    """True if one of BLOCK rivals of rank one has max(floor, scale * product + gram * along)^2 + slack >= least."""
    reached = 0.0
    for j in range(BLOCK):
        value = scale * row[j] + along * first[j]
        value = floors[j] if value < floors[j] else value
        reached += 0.0 if value * value + slack < least[j] else 1.0  # what is no number is reached
    return reached > 0.0


@cached_njit(fastmath=_ANY_ORDER)
def _is_reached(
    products: Array,
    gram: Array,
    start: int,
    scale: float,
    along: Array,
    floors: Array,
    least: Array,
    slack: float,
    room: Array,
) -> bool:
    """The same for any ranks: the sum of squares over components, of which floors bound the first; room: (2, BLOCK).

    products (r, M) and gram (l, r, M) of all rivals, of which BLOCK from start on are looked at: rows of the whole are
    in one piece, which the compiler has to know to use vectors.
    """
    energy = room[0]
    value = room[1]
    energy[:] = slack
    for k in range(gram.shape[1]):
        row = products[k][start : start + BLOCK]
        for j in range(BLOCK):
            value[j] = scale * row[j]
        for i in range(len(gram)):
            near = gram[i][k][start : start + BLOCK]
            part = along[i]
            for j in range(BLOCK):
                value[j] += part * near[j]
        for j in range(BLOCK if k == 0 else 0):
            value[j] = floors[j] if value[j] < floors[j] else value[j]
        for j in range(BLOCK):
            energy[j] += value[j] * value[j]
    reached = 0.0
    for j in range(BLOCK):
        reached += 0.0 if energy[j] < least[j] else 1.0
    return reached > 0.0


@cached_njit()
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


@cached_njit()
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
    n_own = len(gram)
    n_blocks = tops.shape[1]
    is_single = n_own == 1 and gram.shape[1] == 1
    beside = np.empty(n_own)
    room = np.empty((2, BLOCK))
    fixed = along @ along
    first = gram[0, 0]
    norms = np.empty(n_blocks)
    lowest = np.empty(n_blocks)
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
        length = np.sqrt(length)
        drawn = products[b]
        row = products[b, 0]
        for block in range(n_blocks):
            top = scale * tops[b, block] + length * norms[block]
            if top * top * _ABOVE + slack < lowest[block]:
                continue
            part = slice(block * BLOCK, (block + 1) * BLOCK)
            if is_single:
                hit = _is_reached_once(row[part], first[part], scale, beside[0], floors[part], least[part], slack)
            else:
                first_one = block * BLOCK
                hit = _is_reached(drawn, gram, first_one, scale, beside, floors[part], least[part], slack, room)
            if hit:
                counted += 1
                break
        remaining -= 1
    return counted, remaining


@cached_njit()
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


@cached_njit()
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


# Atoms at a time: pairs of an atom with so many others are looked at together or not at all.
PAIR_BLOCK = 32
# Of lengths in bounds: more than the root of the rounding of a fit.
_ROUNDED = 1e-5


@cached_njit(nogil=True, fastmath=_ANY_ORDER)
def _flag(x: Array, left: Array, lowest: float, highest: float, edges: Array, flags: Array) -> None:
    """1 where pairs of an atom i with one of a block may fit to t or more, left (i,) = sqrt(t - x_i^2), -inf of none.

    A fit is x_i^2 + (x_k - g x_i)^2 / (1 - g^2), at least t exactly if x_k is outside g x_i -+ left sqrt(1 - g^2).
    The upper end is concave in g and the lower convex, so that within the range of a block they are least and largest
    at its ends: edges (4, i) = the least g, the largest, and sqrt(1 - g^2) of both.
    """
    for i in range(len(flags)):
        one = edges[0, i] * x[i]
        two = edges[1, i] * x[i]
        width_at_least = edges[2, i] * left[i]
        width_at_largest = edges[3, i] * left[i]
        is_below = (highest < one + width_at_least) & (highest < two + width_at_largest)
        is_above = (lowest > one - width_at_least) & (lowest > two - width_at_largest)
        flags[i] = 0.0 if is_below & is_above else 1.0


@cached_njit(nogil=True)
def _lengths_left(x: Array, least: float, left: Array) -> None:
    """Fill in the length that pairs with each atom still need; NaN stays NaN, and is looked at."""
    for i in range(len(x)):
        rest = least - x[i] * x[i]
        left[i] = -np.inf if rest < 0.0 else np.sqrt(rest)


@cached_njit(nogil=True, fastmath=_ANY_ORDER)
def _reaches(x: Array, i: int, block: int, gram: Array, inverse: Array, slack: float, least: float) -> bool:
    """True if the pair of atom i with one of a block has (x^2 + y^2 - 2 g x y + slack) / (1 - g^2) >= least."""
    reached = 0.0
    one = x[i]
    square = x[i] * x[i] + slack
    partners = x[block * PAIR_BLOCK : (block + 1) * PAIR_BLOCK]
    near = gram[block, i]
    steep = inverse[block, i]
    for k in range(PAIR_BLOCK):
        fit = (square + partners[k] * (partners[k] - 2.0 * near[k] * one)) * steep[k]
        reached += 0.0 if fit < least else 1.0
    return reached > 0.0


@cached_njit(nogil=True)
def _range(x: Array, block: int) -> tuple[float, float]:
    """Least and largest of a block; what is no number leaves the comparisons with it open."""
    lowest = x[block * PAIR_BLOCK]
    highest = x[block * PAIR_BLOCK]
    for k in range(block * PAIR_BLOCK + 1, (block + 1) * PAIR_BLOCK):
        lowest = min(lowest, x[k])
        highest = max(highest, x[k])
    return lowest, highest


@cached_njit(nogil=True, fastmath=_ANY_ORDER)
def _single_reaches(x: Array, singles: Array, slack: float, least: float) -> bool:
    reached = 0.0
    for i in range(len(x)):
        reached += 0.0 if (x[i] * x[i] + slack) * singles[i] < least else 1.0
    return reached > 0.0


@cached_njit(nogil=True)
def _pair_reaches(
    x: Array, gram: Array, inverse: Array, edges: Array, slack: float, least: float, safe: float, room: Array
) -> bool:
    """True if any pair does; safe: below least by more than slack over the least 1 - g^2; room: (2, E)."""
    left, flags = room
    _lengths_left(x, safe, left)
    for block in range(len(gram)):
        stop = (block + 1) * PAIR_BLOCK
        _flag(x, left, *_range(x, block), edges[block], flags[:stop])
        for i in range(stop):
            if flags[i] > 0.0 and _reaches(x, i, block, gram, inverse, slack, least):
                return True
    return False


@cached_njit(nogil=True)
def count_pairs(
    products: Array,
    squares: Array,
    scatter: Array,
    inner: Array,
    across: Array,
    along: Array,
    radius: float,
    sigma: float,
    unit: float,
    least: Array,
    singles: Array,
    gram: Array,
    inverse: Array,
    edges: Array,
    steepest: float,
    few: IntArray,
    many: IntArray,
) -> tuple[int, int]:
    r"""Exceedances and draws still to come, as `_kernels.count`, until a look decides: few, many as in `Looks`.

    products (B, E) = A^T g_b, inner (l, B) = U_e^T g_b, across (l, E) = U_e^T A, along (l,) = U_e^T z.  least (3,) are
    the energies that supports of 0, 1 and 2 atoms must reach; singles (E,) 1 for atoms that are a support alone, else
    0.  gram, inverse (blocks, E, PAIR_BLOCK): products of an atom with those of a block, and 1 / (1 - gram^2) for pairs
    i < k that are one, else 0, at most steepest; edges (blocks, 4, E) as in `_flag`.
    """
    counted = 0
    remaining = len(products)
    n_own, n_atoms = across.shape
    rotated = np.empty(n_atoms)
    room = np.empty((2, n_atoms))
    fixed = 0.0
    for i in range(n_own):
        fixed += along[i] ** 2
    for b in range(len(products)):
        if b % LOOK == 0 and b > 0 and (counted <= few[b // LOOK - 1] or counted >= many[b // LOOK - 1]):
            break
        inside = 0.0
        for i in range(n_own):
            inside += inner[i, b] ** 2
        rest = max(squares[b] - inside, 1e-300)
        scale = sigma if sigma > 0.0 else radius / np.sqrt(rest + scatter[b])
        slack = unit * (fixed + scale * scale * (squares[b] + scatter[b])) * (1.0 + squares[b] / rest)
        for j in range(n_atoms):
            rotated[j] = scale * products[b, j]
        for i in range(n_own):
            beside = along[i] - scale * inner[i, b]
            for j in range(n_atoms):
                rotated[j] += beside * across[i, j]
        safe = least[2] - 2.0 * steepest * slack
        counted += (
            not slack < least[0]
            or _single_reaches(rotated, singles, slack, least[1])
            or _pair_reaches(rotated, gram, inverse, edges, slack, least[2], safe, room)
        )
        remaining -= 1
    return counted, remaining


@cached_njit(nogil=True)
def _pair_fit(one: float, two: float, gram: float, inverse: float) -> float:
    return (one * one + two * two - 2.0 * gram * one * two) * inverse


@cached_njit(nogil=True)
def _looked_up(square: float, tails: Array, steps: float) -> float:
    return float(tails[int(min(square * steps, len(tails) - 1.0))])


@cached_njit(nogil=True)
def _chance(fit: float, along: float, common: float, root: float, tails: Array, steps: float) -> float:
    r"""At least the probability that a rotation lifts a pair from a fit f^2 to t^2, t = root: the less of two bounds.

    In the span of the pair let v be the direction of P_j P z, which has length f, and v' the other.  A rotation adds
    y = R |Qv| w and y' = R |Qv'| w', with w and w' coordinates of a uniform direction: along = |Qv|^2 and
    common = tr(P_j P), so that |Qv|^2 + |Qv'|^2 = 2 - common.  It lifts the pair if (f + y)^2 + y'^2 >= t^2: only if
    (y, y') is longer than t - f, and only if |y| >= |Qv| c or |y'| >= |Qv'| c, with the c that makes equality of both.
    tails (2, n + 1): of one coordinate, and of two.
    """
    length = np.sqrt(fit)
    need = root - length
    if not need > 0.0:
        return 1.0
    both = max(2.0 - common, 0.0) + 1e-9
    lean = length * np.sqrt(along)
    corner = (np.sqrt(lean * lean + both * need * (root + length)) - lean) / both
    one = 2.0 * _looked_up(corner * corner, tails[0], steps)
    return min(one, _looked_up(need * need / min(1.0, both), tails[1], steps))


@cached_njit(nogil=True)
def screen_pairs(
    along: Array,
    across: Array,
    singles: Array,
    gram: Array,
    inverse: Array,
    edges: Array,
    least: Array,
    radius: float,
    freedom: int,
    is_known: bool,
    limit: float,
    cut: float,
    tails: Array,
) -> float:
    r"""A bound of the exact p-value, as `_kernels.screen`: from the fit of e alone, or of all pairs; inf beyond limit.

    Arrays as in `count_pairs`.  tails (2, n + 1) are at least those of one coordinate of a uniform direction, and of
    two, squared, from 0 to cut of the squared radius in equal steps; pairs that need more are bounded together.
    """
    n_atoms = len(singles)
    if not radius > 0.0 or not least[0] > 0.0:  # the empty support, whose fit no rotation changes
        return np.inf
    fit = np.sqrt((along**2).sum())
    total = 0.0
    for size, number in ((1, singles.sum()), (2, 0.5 * n_atoms * n_atoms)):
        need = max(np.sqrt(max(least[size], 0.0)) * (1.0 - _ROUNDED) - fit, 0.0)
        total += number * tail((need / radius) ** 2, size, freedom, is_known) if number > 0.0 else 0.0
    if total <= limit:
        return total
    fixed = along @ across  # (E,) A^T P z
    total = tails[1, -1] * n_atoms * n_atoms
    steps = (tails.shape[1] - 1) / (cut * radius * radius)
    shortest = np.sqrt(max(least[1], 0.0)) * (1.0 - _ROUNDED)
    for k in range(n_atoms):
        if singles[k] > 0.0:
            need = shortest - abs(fixed[k])
            spread = max(1.0 - (across[:, k] ** 2).sum(), 0.0) + 1e-9
            total += _looked_up(need * need / spread, tails[0], steps) if need > 0.0 else 1.0
    root = np.sqrt(max(least[2], 0.0)) * (1.0 - _ROUNDED)
    reach = max(root - np.sqrt(cut) * radius, 0.0) ** 2
    left = np.empty(n_atoms)
    flags = np.empty(n_atoms)
    _lengths_left(fixed, reach * (1.0 - _ROUNDED), left)
    for block in range(len(gram)):
        start = block * PAIR_BLOCK
        stop = (block + 1) * PAIR_BLOCK
        _flag(fixed, left, *_range(fixed, block), edges[block], flags[:stop])
        for i in range(stop):
            if not total <= limit:
                return np.inf
            for k in range(PAIR_BLOCK if flags[i] > 0.0 else 0):
                near = gram[block, i, k]
                steep = inverse[block, i, k]
                one = fixed[i]
                two = fixed[start + k]
                fit = _pair_fit(one, two, near, steep)
                if fit < reach or steep == 0.0:
                    continue
                common = 0.0
                inside = 0.0
                for u in range(len(across)):
                    common += _pair_fit(across[u, i], across[u, start + k], near, steep)
                    inside += (across[u, i] * (one - near * two) + across[u, start + k] * (two - near * one)) ** 2
                along_it = 1.0 - inside * steep * steep / fit if fit > 0.0 else 1.0
                total += _chance(fit, min(max(along_it, 0.0) + 1e-9, 1.0), common, root, tails, steps)
    return total if total <= limit else np.inf
