"""Compiled running sums of the latent-code stream: densities of rows multiplied lane by lane, carried on from block to
block, and noted at checkpoints.
"""

from itertools import accumulate, pairwise

import numpy as np

from ..._compiled import inside, kept
from ..._exp import exponent_of, mantissa_of
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


@inside(FMA)
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
        w0, w1, w2 = weights[key, size], weights[key, size + 1], weights[key, size + 2]
        p = np.uintp(size * S)
        for i in rows:
            j = p + i
            z[i] += w0 * s[j] + w1 * s[j + S1] + w2 * s[j + S2]
    size = weights.shape[1] - 6
    w0, w1, w2 = weights[key, size], weights[key, size + 1], weights[key, size + 2]
    w3, w4, w5 = weights[key, size + 3], weights[key, size + 4], weights[key, size + 5]
    p = np.uintp(size * S)
    for i in rows:
        j = p + i
        density = z[i] + w0 * s[j] + w1 * s[j + S1] + w2 * s[j + S2]
        density += w3 * s[j + S3] + w4 * s[j + S4] + w5 * s[j + S5]
        longer = density * lanes[k, i]
        lane_powers[k, i] += exponent_of(longer)
        lanes[k, i] = mantissa_of(longer)


@inside()
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
        lanes[k, i], lane_powers[k, i] = 1.0, 0


@inside()
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


@inside()
def add_exactly(totals: Array, f: int, term: float) -> None:
    """Add to a running sum (sum, what rounding lost), Knuth's way."""
    before = totals[f, 0]
    new = before + term
    part = new - before
    totals[f, 1] += (before - (new - part)) + (term - part)
    totals[f, 0] = new


@inside()
def carry(
    f: int, start: int, n_rows: int, stretch: int, ends: IntArray, notes: IntArray, first_key: IntArray, weights: Array,
    work: Work, sums: Sums, noted: Notes,
) -> int:  # fmt: skip
    """Carry the keys of factor f over the rows of a block, stretch by stretch; returns the stretch that comes next."""
    _, s, top, z, tops, lanes, lane_powers = work
    reference, product, power = sums
    n_keys, last = first_key[f + 1] - first_key[f], np.uintp(len(top)) - S1
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
                noted[1][key, note], noted[2][key, note] = product[key], power[key]
        stretch += 1
    return stretch


@kept()
def add_squares(rows: Array, start: int, end: int, total: Array) -> None:
    """Carry the running sum of squared entries, (1, 2), over columns of rows: (q, length)."""
    for i in range(start, end):
        for c in range(len(rows)):
            add_exactly(total, FIRST, rows[c, i] * rows[c, i])
