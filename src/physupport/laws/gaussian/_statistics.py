r"""Sums of products over the first t rows, for every checkpoint t, in one pass and almost without rounding.

Every sum is carried as an unevaluated pair high + low: products and sums are split without error into their rounded
value and what rounding cut off, and the cut-off parts are added up in low.  Rows are taken one by one in their order,
so the result depends on neither the size of blocks nor threads.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from flint import arb, arb_mat, ctx

from ..._compiled import kept
from ..._typing import Array, IntArray
from ...io import RowSource
from .._balls import TINY, UP, U

# Pieces of the sources, in step, to the pairs (left, right) whose products left.T @ right are wanted.
Products = Callable[..., list[tuple[Array, Array]]]

_SPLITTER = 2.0**27 + 1.0
# Enough for sums and products of pairs of float64 numbers to lose nothing that their errors do not already allow.
_BITS = 320


@final
@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    r"""Prefix sums of products: the exact sum lies within error of high + low, entry by entry.

    With n terms a sum, u = 2^-53, A the sum of absolute products and n u <= 2^-10, `low` is a float64 sum of n numbers
    fl(pi_i + sigma_i), where pi_i cuts off product i, \|pi_i\| <= u \|x_i y_i\|, and sigma_i the partial sum,
    \|sigma_i\| <= u (1 + 2 n u) A.  Its n roundings err by at most n u (1 + 2 n u) times the sum of their absolute
    values, which is at most u (1 + n (1 + 2 n u)) A; together less than 3 (n u)^2 A.
    """

    high: Array  # (c, p, w)
    low: Array  # (c, p, w)
    error: Array  # (c, p, w)

    def rounded(self) -> tuple[Array, Array]:
        """The sums as float64 numbers, and their errors."""
        values = self.high + self.low
        return values, UP * (self.error + U * np.abs(values)) + TINY

    def enclosure(self, checkpoint: int) -> arb_mat:
        """The sums at one checkpoint as balls."""
        with ctx.workprec(_BITS):
            parts = zip(self.high[checkpoint].flat, self.low[checkpoint].flat, self.error[checkpoint].flat, strict=True)
            return arb_mat(
                self.high.shape[1], self.high.shape[2], [arb(float(h)) + arb(float(v), float(e)) for h, v, e in parts]
            )


def prefix_moments(sources: Sequence[RowSource], checkpoints: IntArray, products: Products) -> list[Moments]:
    """Sums of products over the first t rows for every checkpoint t, in one reading of the sources."""
    state: list[tuple[Array, Array, Array]] = []
    prefixes: list[list[tuple[Array, Array, Array, int]]] = []
    counts: list[int] = []
    for pieces, is_checkpoint in pieces_in_step(sources, checkpoints):
        pairs = products(*pieces)
        if not state:
            sizes = [(left.shape[1], right.shape[1]) for left, right in pairs]
            state = [(np.zeros(size), np.zeros(size), np.zeros(size)) for size in sizes]
            prefixes, counts = [[] for _ in pairs], [0 for _ in pairs]
        for k, (left, right) in enumerate(pairs):
            add_products(np.ascontiguousarray(left), np.ascontiguousarray(right), *state[k])
            counts[k] += len(left)
            if is_checkpoint:
                high, low, size = state[k]
                prefixes[k].append((high.copy(), low.copy(), size.copy(), counts[k]))
    return [_moments(of_product) for of_product in prefixes]


def _moments(prefixes: list[tuple[Array, Array, Array, int]]) -> Moments:
    highs, lows, sizes, counts = zip(*prefixes, strict=True)
    relative = 3.0 * (np.array(counts, dtype=np.float64) * U) ** 2
    # The plain sum of absolute products errs by less than a factor 1 + 2 n u, a 500th part.
    error = 1.01 * relative[:, None, None] * np.array(sizes) + TINY
    # A sum that overflowed is known to no accuracy.
    is_sound = np.isfinite(np.array(highs)) & np.isfinite(np.array(lows)) & np.isfinite(error)
    high, low = (np.where(is_sound, np.array(part), 0.0) for part in (highs, lows))
    return Moments(high, low, np.where(is_sound, error, np.inf))


def pieces_in_step(sources: Sequence[RowSource], checkpoints: IntArray) -> Iterator[tuple[tuple[Array, ...], bool]]:
    """Equally long pieces of all sources up to the last checkpoint; True with one that ends at a checkpoint."""
    readers = [source.blocks() for source in sources]
    held = [np.empty((0, source.width)) for source in sources]
    row = 0
    for end in checkpoints.tolist():
        while row < end:
            for i, reader in enumerate(readers):
                while not len(held[i]):
                    held[i] = next(reader)
            count = min(end - row, *map(len, held))
            yield tuple(block[:count] for block in held), row + count == end
            held = [block[count:] for block in held]
            row += count


@kept()
def add_products(left: Array, right: Array, high: Array, low: Array, size: Array) -> None:
    """Add left.T @ right to high + low, row by row, and the absolute products to size.

    left: (b, p).  right: (b, w).  The others: (p, w).
    """
    n_right = right.shape[1]
    top, bottom = np.empty(n_right), np.empty(n_right)
    for i in range(left.shape[0]):
        for k in range(n_right):
            y = right[i, k]
            top[k] = _SPLITTER * y - (_SPLITTER * y - y)
            bottom[k] = y - top[k]
        for j in range(left.shape[1]):
            x = left[i, j]
            x_top = _SPLITTER * x - (_SPLITTER * x - x)
            x_bottom = x - x_top
            for k in range(n_right):
                product = x * right[i, k]
                # Exact: halves of 26 bits multiply without rounding.
                cut = x_bottom * bottom[k] - (((product - x_top * top[k]) - x_bottom * top[k]) - x_top * bottom[k])
                before = high[j, k]
                total = before + product
                added = total - before
                low[j, k] += cut + ((before - (total - added)) + (product - added))
                high[j, k] = total
                size[j, k] += abs(product)


def ball(x: arb) -> tuple[float, float]:
    """A float64 number and its error from a ball; the error is infinite if the ball is unbounded."""
    centre = float(x.mid())
    reach = float(abs(x - arb(centre)).upper())
    return (centre, UP * reach + TINY) if np.isfinite(centre) and np.isfinite(reach) else (0.0, np.inf)
