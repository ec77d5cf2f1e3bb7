"""Compiled counts for supports of one or two atoms: fits of all pairs from the products with single atoms."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..._typing import Array, IntArray

Singles = NDArray[np.float32]

# Atoms at a time: pairs of an atom with so many others are looked at together or not at all.
PAIR_BLOCK = 64
# Sums of zeros and ones are exact in any order.
_ANY_ORDER = {"reassoc", "contract", "nsz"}
# Of a few operations in single precision, many times over.
_SINGLE = 1e-6
# Of lengths in bounds: more than the root of the rounding of a fit.
_ROUNDED = 1e-5


@njit(cache=True, nogil=True, fastmath=_ANY_ORDER)
def _reaches(one: float, others: Array, gram: Array, inverse: Array, slack: float, least: float) -> bool:
    """Whether the pair of an atom with any of others has (x^2 + y^2 - 2 g x y + slack) / (1 - g^2) >= least."""
    found, square = 0.0, one * one + slack
    for k in range(len(others)):
        fit = (square + others[k] * (others[k] - 2.0 * gram[k] * one)) * inverse[k]
        found += 0.0 if fit < least else 1.0
    return found > 0.0


@njit(cache=True, nogil=True, fastmath=_ANY_ORDER)
def _may_reach(
    one: np.float32, others: Singles, gram: Singles, inverse: Singles, slack: np.float32, least: np.float32
) -> bool:
    """The same in single precision, whose rounding is within slack: half the memory, and often no is enough."""
    found, square, twice = np.float32(0.0), one * one + slack, np.float32(2.0) * one
    for k in range(len(others)):
        fit = (square + others[k] * (others[k] - gram[k] * twice)) * inverse[k]
        found += np.float32(0.0) if fit < least else np.float32(1.0)
    return bool(found > np.float32(0.0))


@njit(cache=True, nogil=True)
def live_ranges(products: Array, gram: Array, inverse: Array, reach: float) -> IntArray:
    """(n, 3) atoms, and from where to where on others are such that a pair fits to reach or more; whole blocks."""
    n_atoms = len(products)
    found = np.empty((n_atoms * (n_atoms // PAIR_BLOCK + 1), 3), dtype=np.int64)
    count = 0
    for i in range(n_atoms):
        is_next = False
        for start in range(i // PAIR_BLOCK * PAIR_BLOCK, n_atoms, PAIR_BLOCK):
            stop = min(start + PAIR_BLOCK, n_atoms)
            others, near = products[start:stop], slice(start, stop)
            is_live = _reaches(products[i], others, gram[i, near], inverse[i, near], 0.0, reach)
            if is_live and is_next:
                found[count - 1, 2] = stop
            elif is_live:
                found[count] = i, start, stop
                count += 1
            is_next = is_live
    return found[:count]


@njit(cache=True, nogil=True)
def count_pairs(
    products: Array,
    own: Array,
    squares: Array,
    scatter: Array,
    across: Array,
    along: Array,
    least: Array,
    singles: Array,
    radius: float,
    sigma: float,
    unit: float,
    gram: Array,
    inverse: Array,
    rough_gram: Singles,
    rough_inverse: Singles,
    ranges: IntArray,
    enough: int,
    fewest: int,
    unseen: int,
) -> tuple[int, int]:
    r"""Exceedances and draws still to come, as `_kernels.count`; stops also if there is none before `unseen` are left.

    products (B, E) = A^T g_b, own (B, l) = U_e^T g_b, across (l, E) = U_e^T A, along (l,) = U_e^T z.  least (3,) are
    the energies that supports of 0, 1 and 2 atoms must reach; singles (E,) 1 for atoms that are a support alone, else
    0; inverse (E, E) = 1 / (1 - gram^2) for pairs i < k that are one, else 0; both also in single precision.
    """
    counted, remaining = 0, len(products)
    n_own, n_atoms = across.shape
    rotated, rough = np.empty(n_atoms), np.empty(n_atoms, dtype=np.float32)
    rough_least = np.float32(least[2] * (1.0 - _SINGLE))
    fixed = 0.0
    for i in range(n_own):
        fixed += along[i] ** 2
    for b in range(len(products)):
        if counted >= enough or counted + remaining < fewest or (counted == 0 and remaining <= unseen):
            break
        inside = 0.0
        for i in range(n_own):
            inside += own[b, i] ** 2
        rest = max(squares[b] - inside, 1e-300)
        scale = sigma if sigma > 0.0 else radius / np.sqrt(rest + scatter[b])
        slack = unit * (fixed + scale * scale * (squares[b] + scatter[b])) * (1.0 + squares[b] / rest)
        for j in range(n_atoms):
            rotated[j] = scale * products[b, j]
        for i in range(n_own):
            beside = along[i] - scale * own[b, i]
            for j in range(n_atoms):
                rotated[j] += beside * across[i, j]
        largest = 0.0
        for j in range(n_atoms):
            rough[j] = rotated[j]
            largest = max(largest, abs(rotated[j]))
        rough_slack = np.float32(slack + 8.0 * _SINGLE * largest * largest)
        is_reached = not slack < least[0] or _reaches(0.0, rotated, singles, singles, slack, least[1])
        for n in range(len(ranges)):
            if is_reached:
                break
            i, near = ranges[n, 0], slice(ranges[n, 1], ranges[n, 2])
            if _may_reach(rough[i], rough[near], rough_gram[i, near], rough_inverse[i, near], rough_slack, rough_least):
                is_reached = _reaches(rotated[i], rotated[near], gram[i, near], inverse[i, near], slack, least[2])
        counted += is_reached
        remaining -= 1
    return counted, remaining


@njit(cache=True, nogil=True)
def _pair_fit(one: float, two: float, gram: float, inverse: float) -> float:
    return (one * one + two * two - 2.0 * gram * one * two) * inverse


@njit(cache=True, nogil=True)
def screen_pairs(
    fixed: Array,
    across: Array,
    gram: Array,
    inverse: Array,
    singles: Array,
    least: Array,
    radius: float,
    limit: float,
    cut: float,
    tails: Array,
) -> float:
    r"""A bound of the exact p-value, as `_kernels.screen`; inf beyond limit.

    fixed (E,) = A^T P z, the others as in `count_pairs`.  tails (n + 1,) are at least those of pairs that need from 0
    to cut of the squared radius, in equal steps; pairs that need more are bounded together.
    """
    n_atoms = len(fixed)
    total, steps = tails[-1] * n_atoms * n_atoms, (len(tails) - 1) / (cut * radius * radius)
    shortest = np.sqrt(max(least[1], 0.0)) * (1.0 - _ROUNDED)
    for k in range(n_atoms):
        if singles[k] == 0.0:
            continue
        common = 0.0
        for i in range(len(across)):
            common += across[i, k] ** 2
        need, spread = shortest - abs(fixed[k]), max(1.0 - common, 0.0) + 1e-9
        total += tails[int(min(need * need / spread * steps, len(tails) - 1.0))] if need > 0.0 else 1.0
    root = np.sqrt(max(least[2], 0.0)) * (1.0 - _ROUNDED)
    reach = max(root - np.sqrt(cut) * radius, 0.0) ** 2
    for i in range(n_atoms):
        if not total <= limit:
            return np.inf
        later = slice(i + 1, n_atoms)
        if not _reaches(fixed[i], fixed[later], gram[i, later], inverse[i, later], 0.0, reach):
            continue
        for k in range(i + 1, n_atoms):
            fit = _pair_fit(fixed[i], fixed[k], gram[i, k], inverse[i, k])
            if fit < reach or inverse[i, k] == 0.0:
                continue
            need = root - np.sqrt(max(fit, 0.0))
            if not need > 0.0:
                return np.inf
            common = 0.0
            for u in range(len(across)):
                common += _pair_fit(across[u, i], across[u, k], gram[i, k], inverse[i, k])
            spread = min(1.0, max(2.0 - common, 0.0) + 1e-9)
            total += tails[int(min(need * need / spread * steps, len(tails) - 1.0))]
    return total if total <= limit else np.inf
