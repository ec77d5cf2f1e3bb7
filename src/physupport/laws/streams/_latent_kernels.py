"""Compiled running sums of the latent-code stream: densities of rows multiplied lane by lane, carried on from block to
block, and noted at checkpoints.
"""

from itertools import accumulate, pairwise

import numpy as np

from ..._compiled import cached_njit, exp2_minus, exponent_of, inner_njit, mantissa_of
from ..._typing import Array, IntArray

B = 256
# Numbers a multiple of 2 KiB apart look like one to a processor that has just written the one and reads the other, and
# it waits: hence eight more.
S = B + 8
FMA = {"contract"}
ROWS = np.uintp(B)
# For a plain 0 everything would be compiled once more.
FIRST: int = np.int64(0)  # type: ignore[assignment]
S1, S2, S3, S4, S5 = (np.uintp(k * S) for k in range(1, 6))
# Running sums of reference exponents (F, 2) with what rounding lost, products (k,) and powers of two (k,) of densities.
Sums = tuple[Array, Array, IntArray]
# The same at c checkpoints: (F, c), (k, c), (k, c).
Notes = tuple[Array, Array, IntArray]

# Of one thread: coordinates and one more line ((d + 1) S,), sums over the sets of each size (sizes S,), lines of sets
# along a path (lines S,), parts of densities (S,), lanes of the reference (S,), and lanes of the products (m, S) with
# their powers of two, for up to m keys a factor.
Work = tuple[Array, Array, Array, Array, Array, Array, IntArray]
# Bytes that a processor fetches at once: packed numbers that lie across two of these take twice as long.
_FETCHED = 64


def make_work(n_coordinates: int, n_sizes: int, n_lines: int, n_keys: int) -> Work:
    """As the loops expect it at their start; n_coordinates is a multiple of four."""
    counts = (n_coordinates + 1, n_sizes, n_lines, 1, 1, n_keys, n_keys)
    numbers = np.zeros(sum(counts) * S + _FETCHED // 8)
    first = -numbers.ctypes.data % _FETCHED // 8  # where a line begins; it has a multiple of these bytes
    ends = [first + S * count for count in accumulate(counts, initial=0)]
    x, s, v, z, tops, lanes, lane_powers = (numbers[start:end] for start, end in pairwise(ends))
    lanes[:] = 1.0
    by_key = (n_keys, S)
    return x, s, v, z, tops, lanes.reshape(by_key), lane_powers.view(np.int64).reshape(by_key)


@inner_njit(FMA)
def multiply(
    weights: Array, key: int, s: Array, low: int, high: int, z: Array, lanes: Array, lane_powers: IntArray, k: int
) -> None:
    """Multiply the densities of some rows of a block, lane by lane, into products kept in [1, 2) and powers of two.

    A density is the sum of the weighted sums over the active sets of each size.  The sizes come in threes and are six
    at least, the last of which may be idle; what comes before the last six is gathered in z, which stays zero if there
    is nothing.
    """
    rows = range(np.uintp(low), np.uintp(high))
    if weights.shape[1] > 6:
        for i in rows:
            z[i] = 0.0
    for size in range(0, weights.shape[1] - 6, 3):
        w0 = weights[key, size]
        w1 = weights[key, size + 1]
        w2 = weights[key, size + 2]
        p = np.uintp(size * S)
        for i in rows:
            j = p + i
            z[i] += w0 * s[j] + w1 * s[j + S1] + w2 * s[j + S2]
    size = weights.shape[1] - 6
    w0 = weights[key, size]
    w1 = weights[key, size + 1]
    w2 = weights[key, size + 2]
    w3 = weights[key, size + 3]
    w4 = weights[key, size + 4]
    w5 = weights[key, size + 5]
    p = np.uintp(size * S)
    for i in rows:
        j = p + i
        density = z[i] + w0 * s[j] + w1 * s[j + S1] + w2 * s[j + S2]
        density += w3 * s[j + S3] + w4 * s[j + S4] + w5 * s[j + S5]
        longer = density * lanes[k, i]
        lane_powers[k, i] += exponent_of(longer)
        lanes[k, i] = mantissa_of(longer)


@inner_njit()
def finish(lanes: Array, lane_powers: IntArray, k: int, product: Array, power: IntArray, key: int) -> None:
    """Multiply all lanes into the first, by halves, and that into the running product; the lanes begin anew."""
    half = B // 2
    while half:
        for i in range(half):
            z = lanes[k, i] * lanes[k, half + i]
            lane_powers[k, i] += lane_powers[k, half + i] + exponent_of(z)
            lanes[k, i] = mantissa_of(z)
        half //= 2
    longer = product[key] * lanes[k, 0]
    power[key] += lane_powers[k, 0] + exponent_of(longer)
    product[key] = mantissa_of(longer)
    for i in range(B):
        lanes[k, i] = 1.0
        lane_powers[k, i] = 0


@inner_njit()
def finish_sum(lanes: Array, totals: Array, f: int) -> None:
    """Add all lanes by halves, and that to the running sum; the lanes begin anew."""
    half = B // 2
    while half:
        for i in range(half):
            lanes[i] += lanes[half + i]
        half //= 2
    add_exactly(totals, f, lanes[0])
    for i in range(B):
        lanes[i] = 0.0


@inner_njit()
def add_exactly(totals: Array, f: int, term: float) -> None:
    """Add to a running sum (sum, what rounding lost), Knuth's way."""
    before = totals[f, 0]
    new = before + term
    part = new - before
    totals[f, 1] += (before - (new - part)) + (term - part)
    totals[f, 0] = new


@inner_njit()
def carry(
    f: int, start: int, n_rows: int, stretch: int, ends: IntArray, notes: IntArray, first_key: IntArray, weights: Array,
    work: Work, sums: Sums, noted: Notes,
) -> int:  # fmt: skip
    """Carry the keys of factor f over the rows of a block, stretch by stretch; returns the stretch that comes next."""
    _, s, top, z, tops, lanes, lane_powers = work
    reference, product, power = sums
    n_keys = first_key[f + 1] - first_key[f]
    last = np.uintp(len(top)) - S1
    low = FIRST
    while low < n_rows:
        high = min(n_rows, ends[stretch] - start)
        for i in range(np.uintp(low), np.uintp(high)):
            tops[i] += top[last + i]
        for k in range(n_keys):
            multiply(weights, first_key[f] + k, s, low, high, z, lanes, lane_powers, k)
        low = high
        if start + high < ends[stretch]:
            continue
        finish_sum(tops, reference, f)
        for k in range(n_keys):
            finish(lanes, lane_powers, k, product, power, first_key[f] + k)
        note = notes[stretch]
        if note >= 0:
            noted[0][f, note] = reference[f, 0] + reference[f, 1]
            for key in range(first_key[f], first_key[f + 1]):
                noted[1][key, note] = product[key]
                noted[2][key, note] = power[key]
        stretch += 1
    return stretch


@cached_njit()
def add_squares(rows: Array, start: int, end: int, total: Array) -> None:
    """Carry the running sum of squared entries, (1, 2), over columns of rows: (q, length)."""
    for i in range(start, end):
        for c in range(len(rows)):
            add_exactly(total, FIRST, rows[c, i] * rows[c, i])


# Compiled row loops of the latent-code stream: sums of exponentials over all active sets, a block of rows at a time.
#
# Active sets are bit masks J.  Exponents are kept in powers of two: with h scaled by :math:`\sqrt{\log_2(e)/2}`,
# :math:`r_J = \sum (h \cdot y)^2` along a path of the tree makes :math:`2^{-r_J}` a Gaussian exponential.  In the tree
# that hangs from the full set the product v = h . y of a set that lacks several atoms is a sum of two products of
# larger sets, so that an active set costs two multiplications however many coordinates the rows have.  Blocks have
# the fixed length B, and the lines of a work array the fixed distance S: few pointers, at constant distances, which the
# compiler can tell apart, so that the loops over rows become packed machine code.  Slices would be counted references,
# each a pause of the processor; positions without a sign need no look at whether they count from the end.
# Nothing here knows about errors; `_latent_errors` bounds what these loops round.


@inner_njit()
def clear(x: Array, line: int, value: float) -> None:
    """Fill a line."""
    p = np.uintp(line * S)
    for i in range(ROWS):
        x[p + i] = value


@inner_njit(FMA)
def add_terms(x: Array, a: int, h: Array, node: int, onto: Array, line: int) -> None:
    """Add the four terms of h[node] . x from the a-th on to a line."""
    h0 = h[node, a]
    h1 = h[node, a + 1]
    h2 = h[node, a + 2]
    h3 = h[node, a + 3]
    p = np.uintp(a * S)
    t = np.uintp(line * S)
    for i in range(ROWS):
        j = p + i
        onto[t + i] += h0 * x[j] + h1 * x[j + S1] + h2 * x[j + S2] + h3 * x[j + S3]


@inner_njit(FMA)
def turn(v: Array, start: int, j: int, below: int, turns: Array, node: int) -> None:
    r"""The lines of a set, from those of the set that has the atom j as well: r, and v of each atom k < j to be left.

    :math:`r + v_j^2` and :math:`a v_k + b v_j`, with (a, b) = turns[node - 2^k].  start: line of r of the larger set,
    behind which come its v_0, v_1, ...; below: that of the smaller set, which is node.
    """
    p = np.uintp(start * S)
    t = np.uintp(below * S)
    q = np.uintp((start + 1 + j) * S)
    for i in range(ROWS):
        v[t + i] = v[p + i] + v[q + i] * v[q + i]
    for k in range(j):
        a = turns[node - (1 << k), 0]
        b = turns[node - (1 << k), 1]
        p = np.uintp((start + 1 + k) * S)
        t = np.uintp((below + 1 + k) * S)
        for i in range(ROWS):
            v[t + i] = a * v[p + i] + b * v[q + i]


@inner_njit(FMA)
def nested_step(v: Array, start: int, turns: Array, m: Array, node: int, s: Array, size: int) -> None:
    """Eight active sets, with and without the first three atoms: m 2^-r onto the sums of their sizes.

    node: the one with all three, whose r, v_0, v_1, v_2 are on the lines from start on; size: of the one with none,
    whose exponents go to the last line of v.
    """
    a_01 = turns[node - 3, 0]
    b_01 = turns[node - 3, 1]
    a_02 = turns[node - 5, 0]
    b_02 = turns[node - 5, 1]
    a_12 = turns[node - 6, 0]
    b_12 = turns[node - 6, 1]
    a_012 = turns[node - 7, 0]
    b_012 = turns[node - 7, 1]
    m_all = m[node]
    m_0 = m[node - 1]
    m_1 = m[node - 2]
    m_01 = m[node - 3]
    m_2 = m[node - 4]
    m_02 = m[node - 5]
    m_12 = m[node - 6]
    m_012 = m[node - 7]
    p = np.uintp(start * S)
    last = np.uintp(len(v)) - S1
    onto = np.uintp(size * S)
    for i in range(ROWS):
        j = p + i
        k = onto + i
        r = v[j]
        v_0 = v[j + S1]
        v_1 = v[j + S2]
        v_2 = v[j + S3]
        v_01 = a_01 * v_0 + b_01 * v_1
        v_02 = a_02 * v_0 + b_02 * v_2
        v_12 = a_12 * v_1 + b_12 * v_2
        v_012 = a_012 * v_02 + b_012 * v_12
        r_1 = r + v_1 * v_1
        r_2 = r + v_2 * v_2
        r_12 = r_2 + v_12 * v_12
        r_012 = r_12 + v_012 * v_012
        v[last + i] = r_012
        s[k + S3] += m_all * exp2_minus(r)
        s[k + S2] += m_0 * exp2_minus(r + v_0 * v_0) + m_1 * exp2_minus(r_1) + m_2 * exp2_minus(r_2)
        s[k + S1] += (
            m_01 * exp2_minus(r_1 + v_01 * v_01) + m_02 * exp2_minus(r_2 + v_02 * v_02) + m_12 * exp2_minus(r_12)
        )
        s[k] += m_012 * exp2_minus(r_012)


@inner_njit()
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
            start = passes[p, 0] * (n + 1)
            below = (passes[p, 0] + 1) * (n + 1)
            turn(v, start, passes[p, 1], below, turns, passes[p, 2])
        nested_step(v, below, turns, m, passes[p, 2], s, passes[p, 3])


@inner_njit(FMA)
def mixed_block(used: IntArray, x: Array, h: Array, m: Array, a: Array, top: Array, s: Array) -> None:
    r"""The same for laws whose active variance depends on the size, or that never activate all atoms.

    One tree a variance, rooted at the empty set, so that all exponents :math:`a_J` count from the same place; the
    largest of a row over the sets that occur, left in top: (S,), is taken out before exponentiating.
    used: (trees, n + 1) whether a tree carries the size; h: (trees 2^n, d); a: (trees 2^n, S).
    """
    d = h.shape[1]
    n_sets = 1 << (used.shape[1] - 1)
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


@inner_njit()
def count_bits(mask: int) -> int:
    """Size of an active set."""
    size = 0
    while mask:
        mask &= mask - 1
        size += 1
    return size


@inner_njit()
def load(table: Array, index: IntArray, f: int, start: int, n_rows: int, x: Array) -> None:
    """The coordinates of a block of rows; what x holds beyond the rows is never looked at."""
    first = np.uintp(start)
    for a in range(index.shape[1]):
        p = np.uintp(a * S)
        e = index[f, a]
        for i in range(np.uintp(n_rows)):
            x[p + i] = table[e, first + i]


@cached_njit(nogil=True)
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


@cached_njit(nogil=True)
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


@cached_njit(nogil=True, fastmath=FMA)
def inner_products(elements: Array, rows: Array, table: Array) -> None:
    """Fill table: (E, length) with elements: (E, q) times rows: (q, length)."""
    (n_elements, q) = elements.shape
    length = rows.shape[1]
    for e in range(n_elements):
        for i in range(length):
            table[e, i] = 0.0
        # Four at a time: the sums travel to memory and back a quarter as often.
        for c in range(0, q - q % 4, 4):
            d0 = elements[e, c]
            d1 = elements[e, c + 1]
            d2 = elements[e, c + 2]
            d3 = elements[e, c + 3]
            for i in range(length):
                table[e, i] += d0 * rows[c, i] + d1 * rows[c + 1, i] + d2 * rows[c + 2, i] + d3 * rows[c + 3, i]
        for c in range(q - q % 4, q):
            for i in range(length):
                table[e, i] += elements[e, c] * rows[c, i]
