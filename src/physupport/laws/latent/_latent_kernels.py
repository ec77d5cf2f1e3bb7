r"""Compiled row loops of the latent-code stream: sums of exponentials over all active sets, a block of rows at a time.

Active sets are bit masks J.  Exponents are kept in powers of two: with h scaled by :math:`\sqrt{\log_2(e)/2}`,
:math:`r_J = \sum (h \cdot y)^2` along a path of the tree makes :math:`2^{-r_J}` a Gaussian exponential.  Blocks have
the fixed length B, and the lines of a work array the fixed distance S: few pointers, at constant distances, which the
compiler can tell apart, so that the loops over rows become packed machine code.  Slices would be counted references,
each a pause of the processor; positions without a sign need no look at whether they count from the end.
Nothing here knows about errors; `_latent_errors` bounds what these loops round.
"""

import numpy as np
from numba import njit

from ..._exp import exp2_minus, inside
from ..._typing import Array, IntArray
from ._latent_sums import FIRST, FMA, ROWS, S1, S2, S3, S4, S5, S6, S7, B, Notes, S, Sums, Work, carry


@inside()
def clear(x: Array, line: int, value: float) -> None:
    """Fill a line."""
    p = np.uintp(line * S)
    for i in range(ROWS):
        x[p + i] = value


@inside(FMA)
def add_terms(x: Array, a: int, h: Array, node: int, line: int) -> None:
    """Add the four terms of h[node] . x from the a-th on to a line of x behind the coordinates."""
    h0, h1, h2, h3 = h[node, a], h[node, a + 1], h[node, a + 2], h[node, a + 3]
    p, t = np.uintp(a * S), np.uintp(line * S)
    for i in range(ROWS):
        j = p + i
        x[t + i] += h0 * x[j] + h1 * x[j + S1] + h2 * x[j + S2] + h3 * x[j + S3]


@inside(FMA)
def nested_step(x: Array, h: Array, node: int, m: Array, r: Array, level: int, s: Array, size: int) -> None:
    """Four active sets, with and without the first two atoms: their exponents, and m 2^-r onto the sums of their sizes.

    node: the one with both, whose parent's exponents are on that level of r and whose own go to the next; size: of the
    one with neither, whose exponents go to the last level.  The lines behind the coordinates hold all terms but the
    last four of the inner products.
    """
    a = h.shape[1] - 4
    a0, a1, a2, a3 = h[node, a], h[node, a + 1], h[node, a + 2], h[node, a + 3]
    b0, b1, b2, b3 = h[node - 1, a], h[node - 1, a + 1], h[node - 1, a + 2], h[node - 1, a + 3]
    c0, c1, c2, c3 = h[node - 2, a], h[node - 2, a + 1], h[node - 2, a + 2], h[node - 2, a + 3]
    d0, d1, d2, d3 = h[node - 3, a], h[node - 3, a + 1], h[node - 3, a + 2], h[node - 3, a + 3]
    both, second, first, neither = m[node], m[node - 1], m[node - 2], m[node - 3]
    p, below, last, onto = np.uintp(a * S), np.uintp(level * S), np.uintp(len(r)) - S1, np.uintp(size * S)
    for i in range(ROWS):
        j, k = p + i, onto + i
        x0, x1, x2, x3 = x[j], x[j + S1], x[j + S2], x[j + S3]
        v_both = x[j + S4] + a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
        v_second = x[j + S5] + b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
        v_first = x[j + S6] + c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
        v_neither = x[j + S7] + d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3
        r_both = r[below + i] + v_both * v_both
        r_first = r_both + v_first * v_first
        r_neither = r_first + v_neither * v_neither
        r[below + S1 + i] = r_both
        r[last + i] = r_neither
        s[k + S2] += both * exp2_minus(r_both)
        s[k + S1] += second * exp2_minus(r_both + v_second * v_second) + first * exp2_minus(r_first)
        s[k] += neither * exp2_minus(r_neither)


@inside()
def nested_block(passes: IntArray, x: Array, h: Array, m: Array, r: Array, s: Array) -> None:
    r"""Sums over the active sets of each size, of :math:`m_J 2^{-r_J}` with r counted from the full set.

    passes: (2^(n-2), 3) parent level, set that holds the first two atoms, and its size less two, depth first and the
    empty set last, whose exponents are left at the end of r: ((n + 1) S,); x: ((d + 4) S,); h: (2^n, d), m: (2^n,);
    s: (at least (n + 1) S,) receives the sums.
    """
    d = h.shape[1]
    clear(r, FIRST, 0.0)
    for size in range(len(s) // S):
        clear(s, size, 0.0)
    for k in range(len(passes)):
        node = passes[k, 1]
        if d > 4:
            for missing in range(4):
                clear(x, d + missing, 0.0)
                for a in range(0, d - 4, 4):
                    add_terms(x, a, h, node - missing, d + missing)
        nested_step(x, h, node, m, r, passes[k, 0], s, passes[k, 2])


@inside(FMA)
def mixed_block(used: IntArray, x: Array, h: Array, m: Array, a: Array, top: Array, s: Array) -> None:
    r"""The same for laws whose active variance depends on the size, or that never activate all atoms.

    One tree a variance, rooted at the empty set, so that all exponents :math:`a_J` count from the same place; the
    largest of a row over the sets that occur, left in top: (S,), is taken out before exponentiating.
    used: (trees, n + 1) whether a tree carries the size; h: (trees 2^n, d); a: (trees 2^n, S).
    """
    d, n_sets = h.shape[1], 1 << (used.shape[1] - 1)
    clear(top, FIRST, -1.0)  # exponents are nonnegative, but zero need not occur
    for size in range(len(s) // S):
        clear(s, size, 0.0)
    product = np.uintp(d * S)
    for node in range(len(a)):
        mask = node % n_sets
        parent = node - mask + (mask & (mask - 1))
        clear(x, d, 0.0)
        for k in range(0, d, 4):
            add_terms(x, k, h, node, d)
        for i in range(ROWS):
            a[node, i] = a[parent, i] + x[product + i] * x[product + i] if mask else 0.0
        if used[node // n_sets, count_bits(mask)]:
            for i in range(ROWS):
                top[i] = max(top[i], a[node, i])
    for node in range(len(a)):
        size = count_bits(node % n_sets)
        onto = np.uintp(size * S)
        if used[node // n_sets, size]:
            for i in range(ROWS):
                s[onto + i] += m[node] * exp2_minus(top[i] - a[node, i])


@inside()
def count_bits(mask: int) -> int:
    """Size of an active set."""
    size = 0
    while mask:
        mask &= mask - 1
        size += 1
    return size


@inside()
def load(table: Array, index: IntArray, f: int, start: int, n_rows: int, x: Array) -> None:
    """The coordinates of a block of rows; what x holds beyond the rows is never looked at."""
    first = np.uintp(start)
    for a in range(index.shape[1]):
        p, e = np.uintp(a * S), index[f, a]
        for i in range(np.uintp(n_rows)):
            x[p + i] = table[e, first + i]


@njit(cache=True, nogil=True)
def score_nested(
    table: Array, index: IntArray, passes: IntArray, h: Array, m: Array, ends: IntArray, notes: IntArray,
    first_key: IntArray, weights: Array, sums: Sums, noted: Notes, work: Work,
) -> None:  # fmt: skip
    """Carry every key over some rows.

    table: (C, length) coordinates of the rows, of which index: (F, d) says the ones that a factor needs; h: (F, 2^n,
    d), padded to a multiple of four, and m: the trees; stretches end at ends: (e,), the last of them with the rows, and
    where notes: (e,) is a number, the sums are noted under it; keys first_key[f] .. first_key[f + 1] - 1 belong to
    factor f and differ in their weights: (k, sizes).  Each factor is the work of one thread, in the order of the rows:
    the result does not depend on how many threads there are.
    """
    for f in range(len(index)):
        stretch = FIRST
        for start in range(0, table.shape[1], B):
            n_rows = min(B, table.shape[1] - start)
            load(table, index, f, start, n_rows, work[0])
            nested_block(passes, work[0], h[f], m[f], work[2], work[1])
            stretch = carry(f, start, n_rows, stretch, ends, notes, first_key, weights, work, sums, noted)


@njit(cache=True, nogil=True)
def score_mixed(
    table: Array, index: IntArray, used: IntArray, h: Array, m: Array, ends: IntArray, notes: IntArray,
    first_key: IntArray, weights: Array, sums: Sums, noted: Notes, work: Work,
) -> None:  # fmt: skip
    """The same along trees rooted at the empty set."""
    a = np.empty((h.shape[1], S))
    for f in range(len(index)):
        stretch = FIRST
        for start in range(0, table.shape[1], B):
            n_rows = min(B, table.shape[1] - start)
            load(table, index, f, start, n_rows, work[0])
            mixed_block(used, work[0], h[f], m[f], a, work[2], work[1])
            stretch = carry(f, start, n_rows, stretch, ends, notes, first_key, weights, work, sums, noted)


@njit(cache=True, nogil=True, fastmath=FMA)
def inner_products(elements: Array, rows: Array, table: Array) -> None:
    """Fill table: (E, length) with elements: (E, q) times rows: (q, length)."""
    (n_elements, q), length = elements.shape, rows.shape[1]
    for e in range(n_elements):
        for i in range(length):
            table[e, i] = 0.0
        # Four at a time: the sums travel to memory and back a quarter as often.
        for c in range(0, q - q % 4, 4):
            d0, d1, d2, d3 = elements[e, c], elements[e, c + 1], elements[e, c + 2], elements[e, c + 3]
            for i in range(length):
                table[e, i] += d0 * rows[c, i] + d1 * rows[c + 1, i] + d2 * rows[c + 2, i] + d3 * rows[c + 3, i]
        for c in range(q - q % 4, q):
            for i in range(length):
                table[e, i] += elements[e, c] * rows[c, i]
