r"""Compiled row loops of the latent-code stream: sums of exponentials over all active sets, a block of rows at a time.

Active sets are bit masks J.  Exponents are kept in powers of two: with h scaled by :math:`\sqrt{\log_2(e)/2}`,
:math:`r_J = \sum (h \cdot y)^2` along a path of the tree makes :math:`2^{-r_J}` a Gaussian exponential.  Blocks have
the fixed length B and every work array the fixed stride B: few pointers, at constant distances, which the compiler
can tell apart, so that the loops over rows become packed machine code.
Nothing here knows about errors; `_latent_errors` bounds what these loops round.
"""

import numpy as np
from numba import njit

from ..._exp import exp2_minus, exponent_of, mantissa_of
from ..._typing import Array, IntArray

B = 256
_FMA = {"contract"}
# Only the length of such a tuple counts: a constant by which the compiler unrolls the sum over coordinates.  Rows have
# an even number of coordinates here, the last of which may be idle.
Length = tuple[int, ...]
_TWO, _FOUR, _SIX, _EIGHT = (0,) * 2, (0,) * 4, (0,) * 6, (0,) * 8


@njit(cache=True, fastmath=_FMA)
def pair(length: Length, x: Array, own: Array, leaf: Array, m_own: float, m_leaf: float, r: Array, s: Array) -> None:
    """An active set that holds the first atom, and the one without it: both exponentials in one pass over the rows.

    r holds the parent's exponents and receives those of the set behind them; s holds two sizes, the leaf's first.
    """
    for i in range(B):
        t = own[0] * x[i]
        v = leaf[0] * x[i]
        for a in range(1, len(length)):
            t += own[a] * x[a * B + i]
            v += leaf[a] * x[a * B + i]
        higher = r[i] + t * t
        r[B + i] = higher
        s[B + i] += m_own * exp2_minus(higher)
        s[i] += m_leaf * exp2_minus(higher + v * v)


@njit(cache=True, fastmath=_FMA)
def square(x: Array, h: Array, below: Array, above: Array) -> None:
    """Exponents one step further along the tree: above = below + (h . x)^2.  The two must not overlap."""
    above[:B] = 0.0
    for a in range(0, len(h), 2):
        for i in range(B):
            above[i] += h[a] * x[a * B + i] + h[a + 1] * x[(a + 1) * B + i]
    for i in range(B):
        above[i] = below[i] + above[i] * above[i]


@njit(cache=True, fastmath=_FMA)
def powers(m: float, r: Array, s: Array) -> None:
    """Add m 2^-r to s."""
    for i in range(B):
        s[i] += m * exp2_minus(r[i])


@njit(cache=True, fastmath=_FMA)
def any_pair(x: Array, own: Array, leaf: Array, m_own: float, m_leaf: float, r: Array, s: Array, spare: Array) -> None:
    """`pair` for any number of coordinates."""
    if len(own) == 2:
        pair(_TWO, x, own, leaf, m_own, m_leaf, r, s)
    elif len(own) == 4:
        pair(_FOUR, x, own, leaf, m_own, m_leaf, r, s)
    elif len(own) == 6:
        pair(_SIX, x, own, leaf, m_own, m_leaf, r, s)
    elif len(own) == 8:
        pair(_EIGHT, x, own, leaf, m_own, m_leaf, r, s)
    else:
        square(x, own, r[:B], r[B:])
        square(x, leaf, r[B:], spare)
        powers(m_own, r[B:], s[B:])
        powers(m_leaf, spare, s[:B])


@njit(cache=True)
def nested_block(passes: IntArray, x: Array, h: Array, m: Array, r: Array, s: Array) -> None:
    r"""Sums over the active sets of each size, of :math:`m_J 2^{-r_J}` with r counted from the full set.

    passes: (2^(n-1) - 1, 3) level, set and size, depth first; h: (2^n, d), m: (2^n,); r: ((n + 2) B,) is left with the
    exponents of the empty set at its end; s: (at least (n + 1) B,) receives the sums.
    """
    n = len(r) // B - 2
    full = (1 << n) - 1
    spare, empty = r[n * B : (n + 1) * B], r[(n + 1) * B :]
    s[:] = 0.0
    s[n * B : (n + 1) * B] = 1.0
    r[:B] = 0.0
    square(x, h[full - 1], r[:B], empty)
    powers(m[full - 1], empty, s[(n - 1) * B : n * B])
    for k in range(len(passes)):
        level, own, size = passes[k, 0], passes[k, 1], passes[k, 2]
        path, sums = r[level * B : (level + 2) * B], s[(size - 1) * B : (size + 1) * B]
        any_pair(x, h[own], h[own - 1], m[own], m[own - 1], path, sums, spare)
        if own == 1:
            square(x, h[0], path[B:], empty)


@njit(cache=True)
def mixed_block(used: IntArray, x: Array, h: Array, m: Array, a: Array, top: Array, s: Array) -> None:
    r"""The same for laws whose active variance depends on the size, or that never activate all atoms.

    One tree a variance, rooted at the empty set, so that all exponents :math:`a_J` count from the same place; the
    largest of a row over the sets that occur, left in top, is taken out before exponentiating.
    used: (trees, n + 1) whether a tree carries the size; h: (trees 2^n, d); a: (trees 2^n B,).
    """
    n_trees, n_sets = len(used), 1 << (used.shape[1] - 1)
    s[:] = 0.0
    for node in range(n_trees * n_sets):
        mask = node % n_sets
        own = a[node * B : (node + 1) * B]
        if mask == 0:
            own[:] = 0.0
            continue
        parent = node - mask + (mask & (mask - 1))
        square(x, h[node], a[parent * B : (parent + 1) * B], own)
    lift(used, a, top)
    for node in range(n_trees * n_sets):
        size = count_bits(node % n_sets)
        if used[node // n_sets, size]:
            own = a[node * B : (node + 1) * B]
            for i in range(B):
                own[i] = top[i] - own[i]
            powers(m[node], own, s[size * B : (size + 1) * B])


@njit(cache=True)
def lift(used: IntArray, a: Array, top: Array) -> None:
    """Largest exponent of every row over the sets that occur.  Exponents are nonnegative, but zero need not occur."""
    n_trees, n_sets = len(used), 1 << (used.shape[1] - 1)
    top[:B] = -1.0
    for node in range(n_trees * n_sets):
        if used[node // n_sets, count_bits(node % n_sets)]:
            for i in range(B):
                top[i] = max(top[i], a[node * B + i])


@njit(cache=True)
def count_bits(mask: int) -> int:
    """Size of an active set."""
    size = 0
    while mask:
        mask &= mask - 1
        size += 1
    return size


@njit(cache=True, fastmath=_FMA)
def multiply(weights: Array, s: Array, n_rows: int, z: Array, product: Array, power: IntArray) -> None:
    """Multiply the densities of the rows, lane by lane, into products kept in [1, 2) and powers of two beside them.

    The sizes come in fours, the last of which may be idle.
    """
    z[:] = 0.0
    for k in range(0, len(weights), 4):
        w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        four = s[k * B : (k + 4) * B]
        for i in range(B):
            z[i] += w0 * four[i] + w1 * four[B + i] + w2 * four[2 * B + i] + w3 * four[3 * B + i]
    for i in range(n_rows):
        longer = z[i] * product[i]
        power[i] += exponent_of(longer)
        product[i] = mantissa_of(longer)


@njit(cache=True)
def fold(product: Array, power: IntArray) -> None:
    """Multiply all lanes into the first, by halves."""
    half = B // 2
    while half:
        for i in range(half):
            z = product[i] * product[half + i]
            power[i] += power[half + i] + exponent_of(z)
            product[i] = mantissa_of(z)
        half //= 2


@njit(cache=True)
def fold_sum(lanes: Array) -> float:
    """Sum of all lanes, by halves."""
    half = B // 2
    while half:
        for i in range(half):
            lanes[i] += lanes[half + i]
        half //= 2
    return float(lanes[0])


@njit(cache=True)
def accumulate(total: Array, term: float) -> None:
    """Add to a running sum (sum, what rounding lost), Knuth's way."""
    new = total[0] + term
    part = new - total[0]
    total[1] += (total[0] - (new - part)) + (term - part)
    total[0] = new


@njit(cache=True, fastmath=_FMA)
def load(rows: Array, start: int, n_rows: int, atoms: Array, x: Array) -> None:
    """A block of rows with stride B: as they are, or their inner products with fewer atoms; the rest of x is 0."""
    x[:] = 0.0
    q, n = atoms.shape
    if n >= q:
        for c in range(q):
            for i in range(n_rows):  # a slice would compile the message of a shape error, for seconds
                x[c * B + i] = rows[c, start + i]
        return
    for a in range(n):
        out = x[a * B : a * B + n_rows]
        # Four at a time: the sums travel to memory and back a quarter as often.
        for c in range(0, q - q % 4, 4):
            for i in range(n_rows):
                out[i] += (
                    atoms[c, a] * rows[c, start + i]
                    + atoms[c + 1, a] * rows[c + 1, start + i]
                    + atoms[c + 2, a] * rows[c + 2, start + i]
                    + atoms[c + 3, a] * rows[c + 3, start + i]
                )
        for c in range(q - q % 4, q):
            for i in range(n_rows):
                out[i] += atoms[c, a] * rows[c, start + i]


@njit(cache=True, nogil=True)
def score_segment(
    rows: Array, atoms: Array, passes: IntArray, used: IntArray, h: Array, m: Array,
    first_key: IntArray, weights: Array, reference: Array, product: Array, power: IntArray,
) -> None:  # fmt: skip
    """Carry every key over one stretch of rows.

    rows: (q, length); atoms: (factors, q, n); h: (factors, trees 2^n, d) and m: the trees; used is empty for nested
    laws; keys first_key[f] .. first_key[f + 1] - 1 belong to factor f and differ in their weights: (keys, sizes).
    reference: (factors, 2) running sums of reference exponents; product, power: (keys,).  Each factor is the work of
    one thread, in the order of the rows: the result does not depend on how many threads there are.
    """
    for f in range(len(atoms)):
        n, length = atoms.shape[2], rows.shape[1]
        keys = slice(first_key[f], first_key[f + 1])
        n_keys = first_key[f + 1] - first_key[f]
        x, s, tops = np.zeros(h.shape[2] * B), np.zeros(weights.shape[1] * B), np.zeros(B)
        z, top = np.empty(B), np.empty(B)
        r = np.empty((h.shape[1] if len(used) else n + 2) * B)
        lanes, lane_powers = np.ones((n_keys, B)), np.zeros((n_keys, B), dtype=np.int64)
        for start in range(0, length, B):
            n_rows = min(B, length - start)
            load(rows, start, n_rows, atoms[f], x)
            if len(used):
                mixed_block(used, x, h[f], m[f], r, top, s)
            else:
                nested_block(passes, x, h[f], m[f], r, s)
                for i in range(B):
                    top[i] = r[(n + 1) * B + i]
            for i in range(n_rows):
                tops[i] += top[i]
            for k in range(n_keys):
                multiply(weights[first_key[f] + k], s, n_rows, z, lanes[k], lane_powers[k])
        accumulate(reference[f], fold_sum(tops))
        finish(lanes, lane_powers, product[keys], power[keys])


@njit(cache=True)
def finish(lanes: Array, lane_powers: IntArray, product: Array, power: IntArray) -> None:
    """Multiply the lanes of every key into its running product."""
    for k in range(len(lanes)):
        fold(lanes[k], lane_powers[k])
        longer = product[k] * lanes[k, 0]
        power[k] += lane_powers[k, 0] + exponent_of(longer)
        product[k] = mantissa_of(longer)


@njit(cache=True)
def add_squares(rows: Array, total: Array) -> None:
    """Carry the running sum of squared entries over a stretch of rows, (q, length)."""
    for i in range(rows.shape[1]):
        for c in range(len(rows)):
            accumulate(total, rows[c, i] * rows[c, i])
