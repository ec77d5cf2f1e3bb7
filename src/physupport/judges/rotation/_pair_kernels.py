"""Compiled counts for supports of one or two atoms: fits of all pairs from the products with single atoms."""

import numpy as np

from ..._compiled import kept
from ..._typing import Array
from ._kernels import tail

# Atoms at a time: pairs of an atom with so many others are looked at together or not at all.
PAIR_BLOCK = 32
# Sums of zeros and ones are exact in any order.
_ANY_ORDER = {"reassoc", "contract", "nsz"}
# Of lengths in bounds: more than the root of the rounding of a fit.
_ROUNDED = 1e-5


@kept(nogil=True, fastmath=_ANY_ORDER)
def _flag(x: Array, left: Array, lowest: float, highest: float, edges: Array, flags: Array) -> None:
    """1 where pairs of an atom i with one of a block may fit to t or more, left (i,) = sqrt(t - x_i^2), -inf of none.

    A fit is x_i^2 + (x_k - g x_i)^2 / (1 - g^2), at least t exactly if x_k is outside g x_i -+ left sqrt(1 - g^2).
    The upper end is concave in g and the lower convex, so that within the range of a block they are least and largest
    at its ends: edges (4, i) = the least g, the largest, and sqrt(1 - g^2) of both.
    """
    for i in range(len(flags)):
        one, two = edges[0, i] * x[i], edges[1, i] * x[i]
        width_at_least, width_at_largest = edges[2, i] * left[i], edges[3, i] * left[i]
        is_below = (highest < one + width_at_least) & (highest < two + width_at_largest)
        is_above = (lowest > one - width_at_least) & (lowest > two - width_at_largest)
        flags[i] = 0.0 if is_below & is_above else 1.0


@kept(nogil=True)
def _lengths_left(x: Array, least: float, left: Array) -> None:
    """What pairs with each atom still need, as a length; what is no number stays so, and is looked at."""
    for i in range(len(x)):
        rest = least - x[i] * x[i]
        left[i] = -np.inf if rest < 0.0 else np.sqrt(rest)


@kept(nogil=True, fastmath=_ANY_ORDER)
def _reaches(x: Array, i: int, block: int, gram: Array, inverse: Array, slack: float, least: float) -> bool:
    """Whether the pair of atom i with one of a block has (x^2 + y^2 - 2 g x y + slack) / (1 - g^2) >= least."""
    reached, one, square = 0.0, x[i], x[i] * x[i] + slack
    partners = x[block * PAIR_BLOCK : (block + 1) * PAIR_BLOCK]
    near, steep = gram[block, i], inverse[block, i]
    for k in range(PAIR_BLOCK):
        fit = (square + partners[k] * (partners[k] - 2.0 * near[k] * one)) * steep[k]
        reached += 0.0 if fit < least else 1.0
    return reached > 0.0


@kept(nogil=True)
def _range(x: Array, block: int) -> tuple[float, float]:
    """Least and largest of a block; what is no number leaves the comparisons with it open."""
    lowest, highest = x[block * PAIR_BLOCK], x[block * PAIR_BLOCK]
    for k in range(block * PAIR_BLOCK + 1, (block + 1) * PAIR_BLOCK):
        lowest, highest = min(lowest, x[k]), max(highest, x[k])
    return lowest, highest


@kept(nogil=True, fastmath=_ANY_ORDER)
def _single_reaches(x: Array, singles: Array, slack: float, least: float) -> bool:
    reached = 0.0
    for i in range(len(x)):
        reached += 0.0 if (x[i] * x[i] + slack) * singles[i] < least else 1.0
    return reached > 0.0


@kept(nogil=True)
def _pair_reaches(
    x: Array, gram: Array, inverse: Array, edges: Array, slack: float, least: float, safe: float, room: Array
) -> bool:
    """Whether any pair does; safe: below least by more than slack over the least 1 - g^2; room: (2, E)."""
    left, flags = room
    _lengths_left(x, safe, left)
    for block in range(len(gram)):
        stop = (block + 1) * PAIR_BLOCK
        _flag(x, left, *_range(x, block), edges[block], flags[:stop])
        for i in range(stop):
            if flags[i] > 0.0 and _reaches(x, i, block, gram, inverse, slack, least):
                return True
    return False


@kept(nogil=True)
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
    enough: int,
    fewest: int,
    unseen: int,
) -> tuple[int, int]:
    r"""Exceedances and draws still to come, as `_kernels.count`; stops also if there is none before `unseen` are left.

    products (B, E) = A^T g_b, inner (l, B) = U_e^T g_b, across (l, E) = U_e^T A, along (l,) = U_e^T z.  least (3,) are
    the energies that supports of 0, 1 and 2 atoms must reach; singles (E,) 1 for atoms that are a support alone, else
    0.  gram, inverse (blocks, E, PAIR_BLOCK): products of an atom with those of a block, and 1 / (1 - gram^2) for pairs
    i < k that are one, else 0, at most steepest; edges (blocks, 4, E) as in `_flag`.
    """
    counted, remaining = 0, len(products)
    n_own, n_atoms = across.shape
    rotated, room = np.empty(n_atoms), np.empty((2, n_atoms))
    fixed = 0.0
    for i in range(n_own):
        fixed += along[i] ** 2
    for b in range(len(products)):
        if counted >= enough or counted + remaining < fewest or (counted == 0 and remaining <= unseen):
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


@kept(nogil=True)
def _pair_fit(one: float, two: float, gram: float, inverse: float) -> float:
    return (one * one + two * two - 2.0 * gram * one * two) * inverse


@kept(nogil=True)
def _looked_up(square: float, tails: Array, steps: float) -> float:
    return float(tails[int(min(square * steps, len(tails) - 1.0))])


@kept(nogil=True)
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


@kept(nogil=True)
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
    fit, total = np.sqrt((along**2).sum()), 0.0
    for size, number in ((1, singles.sum()), (2, 0.5 * n_atoms * n_atoms)):
        need = max(np.sqrt(max(least[size], 0.0)) * (1.0 - _ROUNDED) - fit, 0.0)
        total += number * tail((need / radius) ** 2, size, freedom, is_known) if number > 0.0 else 0.0
    if total <= limit:
        return total
    fixed = along @ across  # (E,) A^T P z
    total, steps = tails[1, -1] * n_atoms * n_atoms, (tails.shape[1] - 1) / (cut * radius * radius)
    shortest = np.sqrt(max(least[1], 0.0)) * (1.0 - _ROUNDED)
    for k in range(n_atoms):
        if singles[k] > 0.0:
            need, spread = shortest - abs(fixed[k]), max(1.0 - (across[:, k] ** 2).sum(), 0.0) + 1e-9
            total += _looked_up(need * need / spread, tails[0], steps) if need > 0.0 else 1.0
    root = np.sqrt(max(least[2], 0.0)) * (1.0 - _ROUNDED)
    reach = max(root - np.sqrt(cut) * radius, 0.0) ** 2
    left, flags = np.empty(n_atoms), np.empty(n_atoms)
    _lengths_left(fixed, reach * (1.0 - _ROUNDED), left)
    for block in range(len(gram)):
        start, stop = block * PAIR_BLOCK, (block + 1) * PAIR_BLOCK
        _flag(fixed, left, *_range(fixed, block), edges[block], flags[:stop])
        for i in range(stop):
            if not total <= limit:
                return np.inf
            for k in range(PAIR_BLOCK if flags[i] > 0.0 else 0):
                near, steep = gram[block, i, k], inverse[block, i, k]
                one, two = fixed[i], fixed[start + k]
                fit = _pair_fit(one, two, near, steep)
                if fit < reach or steep == 0.0:
                    continue
                common, inside = 0.0, 0.0
                for u in range(len(across)):
                    common += _pair_fit(across[u, i], across[u, start + k], near, steep)
                    inside += (across[u, i] * (one - near * two) + across[u, start + k] * (two - near * one)) ** 2
                along_it = 1.0 - inside * steep * steep / fit if fit > 0.0 else 1.0
                total += _chance(fit, min(max(along_it, 0.0) + 1e-9, 1.0), common, root, tails, steps)
    return total if total <= limit else np.inf
