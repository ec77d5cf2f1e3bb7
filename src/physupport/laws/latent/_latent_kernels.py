r"""Compiled row loops of the latent-code stream: sums of exponentials over all active sets, a block of rows at a time.

Active sets are bit masks J.  Exponents are kept in powers of two: with h scaled by :math:`\sqrt{\log_2(e)/2}`,
:math:`r_J = \sum (h \cdot y)^2` along a path of the tree makes :math:`2^{-r_J}` a Gaussian exponential.  In the tree
that hangs from the full set the product v = h . y of a set that lacks several atoms is a sum of two products of larger
sets, so that an active set costs two multiplications however many coordinates the rows have.  Blocks have
the fixed length B, and the lines of a work array the fixed distance S: few pointers, at constant distances, which the
compiler can tell apart, so that the loops over rows become packed machine code.  Slices would be counted references,
each a pause of the processor; positions without a sign need no look at whether they count from the end.
Nothing here knows about errors; `_latent_errors` bounds what these loops round.
"""

import numpy as np

from ..._compiled import inside, kept
from ..._exp import exp2_minus
from ..._typing import Array, IntArray
from ._latent_sums import FIRST, FMA, ROWS, S1, S2, S3, B, Notes, S, Sums, Work, carry


@inside()
def clear(x: Array, line: int, value: float) -> None:
    """Fill a line."""
    p = np.uintp(line * S)
    for i in range(ROWS):
        x[p + i] = value


@inside(FMA)
def add_terms(x: Array, a: int, h: Array, node: int, onto: Array, line: int) -> None:
    """Add the four terms of h[node] . x from the a-th on to a line."""
    h0, h1, h2, h3 = h[node, a], h[node, a + 1], h[node, a + 2], h[node, a + 3]
    p, t = np.uintp(a * S), np.uintp(line * S)
    for i in range(ROWS):
        j = p + i
        onto[t + i] += h0 * x[j] + h1 * x[j + S1] + h2 * x[j + S2] + h3 * x[j + S3]


@inside(FMA)
def turn(v: Array, start: int, j: int, below: int, turns: Array, node: int) -> None:
    r"""The lines of a set, from those of the set that has the atom j as well: r, and v of each atom k < j to be left.

    :math:`r + v_j^2` and :math:`a v_k + b v_j`, with (a, b) = turns[node - 2^k].  start: line of r of the larger set,
    behind which come its v_0, v_1, ...; below: that of the smaller set, which is node.
    """
    p, t = np.uintp(start * S), np.uintp(below * S)
    q = np.uintp((start + 1 + j) * S)
    for i in range(ROWS):
        v[t + i] = v[p + i] + v[q + i] * v[q + i]
    for k in range(j):
        a, b = turns[node - (1 << k), 0], turns[node - (1 << k), 1]
        p, t = np.uintp((start + 1 + k) * S), np.uintp((below + 1 + k) * S)
        for i in range(ROWS):
            v[t + i] = a * v[p + i] + b * v[q + i]


@inside(FMA)
def nested_step(v: Array, start: int, turns: Array, m: Array, node: int, s: Array, size: int) -> None:
    """Eight active sets, with and without the first three atoms: m 2^-r onto the sums of their sizes.

    node: the one with all three, whose r, v_0, v_1, v_2 are on the lines from start on; size: of the one with none,
    whose exponents go to the last line of v.
    """
    a_01, b_01, a_02, b_02 = turns[node - 3, 0], turns[node - 3, 1], turns[node - 5, 0], turns[node - 5, 1]
    a_12, b_12, a_012, b_012 = turns[node - 6, 0], turns[node - 6, 1], turns[node - 7, 0], turns[node - 7, 1]
    m_all, m_0, m_1, m_01 = m[node], m[node - 1], m[node - 2], m[node - 3]
    m_2, m_02, m_12, m_012 = m[node - 4], m[node - 5], m[node - 6], m[node - 7]
    p, last, onto = np.uintp(start * S), np.uintp(len(v)) - S1, np.uintp(size * S)
    for i in range(ROWS):
        j, k = p + i, onto + i
        r, v_0, v_1, v_2 = v[j], v[j + S1], v[j + S2], v[j + S3]
        v_01, v_02, v_12 = a_01 * v_0 + b_01 * v_1, a_02 * v_0 + b_02 * v_2, a_12 * v_1 + b_12 * v_2
        v_012 = a_012 * v_02 + b_012 * v_12
        r_1, r_2 = r + v_1 * v_1, r + v_2 * v_2
        r_12 = r_2 + v_12 * v_12
        r_012 = r_12 + v_012 * v_012
        v[last + i] = r_012
        s[k + S3] += m_all * exp2_minus(r)
        s[k + S2] += m_0 * exp2_minus(r + v_0 * v_0) + m_1 * exp2_minus(r_1) + m_2 * exp2_minus(r_2)
        s[k + S1] += (
            m_01 * exp2_minus(r_1 + v_01 * v_01) + m_02 * exp2_minus(r_2 + v_02 * v_02) + m_12 * exp2_minus(r_12)
        )
        s[k] += m_012 * exp2_minus(r_012)


@inside()
def nested_block(passes: IntArray, x: Array, h: Array, turns: Array, m: Array, v: Array, s: Array) -> None:
    r"""Sums over the active sets of each size, of :math:`m_J 2^{-r_J}` with r counted from the full set.

    passes: (2^(n-3), 4) level of the set that has one atom more, that atom, the set, which holds the first three atoms,
    and its size less three, depth first and the smallest set last; x: (d S,); h: (n, d), turns: (2^n, 2), m: (2^n,);
    v: (((n - 2) (n + 1) + 1) S,) has r and v_0, v_1, ... of a set on each level, and the exponents of the empty set at
    its end; s: (at least (n + 1) S,) receives the sums.
    """
    n, d = h.shape
    for size in range(len(s) // S):
        clear(s, size, 0.0)
    clear(v, FIRST, 0.0)
    for k in range(n):
        clear(v, k + 1, 0.0)
        for a in range(0, d, 4):
            add_terms(x, a, h, k, v, k + 1)
    for p in range(len(passes)):
        below = FIRST
        if p:
            start, below = passes[p, 0] * (n + 1), (passes[p, 0] + 1) * (n + 1)
            turn(v, start, passes[p, 1], below, turns, passes[p, 2])
        nested_step(v, below, turns, m, passes[p, 2], s, passes[p, 3])


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
            add_terms(x, k, h, node, x, d)
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


@kept(nogil=True)
def score_nested(
    table: Array, index: IntArray, passes: IntArray, h: Array, turns: Array, m: Array, ends: IntArray, notes: IntArray,
    first_key: IntArray, weights: Array, sums: Sums, noted: Notes, work: Work,
) -> None:  # fmt: skip
    """Carry every key over some rows.

    table: (C, length) coordinates of the rows, of which index: (F, d) says the ones that a factor needs; h: (F, n, d),
    padded to a multiple of four, turns and m: the trees; stretches end at ends: (e,), the last of them with the rows,
    and where notes: (e,) is a number, the sums are noted under it; keys first_key[f] .. first_key[f + 1] - 1 belong to
    factor f and differ in their weights: (k, sizes).  Each factor is the work of one thread, in the order of the rows:
    the result does not depend on how many threads there are.
    """
    for f in range(len(index)):
        stretch = FIRST
        for start in range(0, table.shape[1], B):
            n_rows = min(B, table.shape[1] - start)
            load(table, index, f, start, n_rows, work[0])
            nested_block(passes, work[0], h[f], turns[f], m[f], work[2], work[1])
            stretch = carry(f, start, n_rows, stretch, ends, notes, first_key, weights, work, sums, noted)


@kept(nogil=True)
def score_mixed(
    table: Array, index: IntArray, used: IntArray, h: Array, _: Array, m: Array, ends: IntArray, notes: IntArray,
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


@kept(nogil=True, fastmath=FMA)
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
