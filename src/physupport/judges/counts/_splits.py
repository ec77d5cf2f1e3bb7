"""Counts in two independent halves, each of which speaks about opponents that the other has chosen."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.random import PCG64, SeedSequence
from numpy.typing import ArrayLike, NDArray

from ..._checks import check_array
from ..._compiled import kept
from ..._errors import MisuseError
from ..._typing import Array, IntArray

# One random bit a count; counts beyond are limited by the responses, not by their own noise.
MOST_COUNTS = 10**9
_PURPOSE = 3  # of the draws: no other judge shares these bits


class Half(NamedTuple):
    """Counts (q,) and the exposure in which they came."""

    counts: Array
    exposure: float


Split = tuple[Half, Half]
Bits = Callable[[int], NDArray[np.uint64]]


def check_counts(rows: ArrayLike, n_channels: int) -> IntArray:
    """(T, q) whole numbers, not negative."""
    array = check_array("rows", np.atleast_2d(np.asarray(rows)), (None, n_channels))
    if (array < 0.0).any() or (array != np.floor(array)).any() or array.sum() > MOST_COUNTS:
        wrong = array[(array < 0.0) | (array != np.floor(array))]
        value = f"{wrong[0]:g}" if wrong.size else f"{array.sum():g} in all"
        rule = f"be counts: whole numbers, none negative, at most {MOST_COUNTS:.0e} in all"
        raise MisuseError("rows", rule, value, "Rates, backgrounds subtracted and dead times corrected are no counts.")
    return array.astype(np.int64)


def check_exposure(exposure: ArrayLike | None, n_rows: int) -> Array:
    """(T,) live times, above 0; 1 for each row unless given."""
    times = check_array("exposure", np.ones(n_rows) if exposure is None else np.atleast_1d(exposure), (n_rows,))
    if not (times > 0.0).all():
        raise MisuseError("exposure", "be above 0", f"{times.min():g}", "Leave out rows that were not exposed.")
    return times


def thinned(rows: IntArray, exposure: Array, bits: Bits) -> Split:
    """Every count tosses a fair coin: the halves are independent Poisson counts of half the means (exactly)."""
    counts = rows.sum(axis=0)
    heads = _heads(counts, bits(int((-(-counts // 64)).sum())))
    time = 0.5 * float(exposure.sum())
    return Half(heads.astype(np.float64), time), Half((counts - heads).astype(np.float64), time)


def by_rows(rows: IntArray, exposure: Array, bits: Bits) -> Split:
    """Half of the rows, drawn at random, and the others."""
    if len(rows) < 2:
        raise MisuseError("split", "be 'thin' for a single row", "'rows'")
    first = np.argsort(bits(len(rows)), kind="stable") < len(rows) // 2
    return _sum(rows[first], exposure[first]), _sum(rows[~first], exposure[~first])


def _sum(rows: IntArray, exposure: Array) -> Half:
    return Half(rows.sum(axis=0).astype(np.float64), float(exposure.sum()))


# How the halves of a split come about.
SPLITS: dict[str, Callable[[IntArray, Array, Bits], Split]] = {"thin": thinned, "rows": by_rows}


def halves(rows: IntArray, exposure: Array, how: str, count: int, seed: int) -> list[Split]:
    """So many splits; the raw bits of PCG64 depend on the seed alone, in all versions of numpy."""
    generator = PCG64(SeedSequence([seed, _PURPOSE]))

    def bits(number: int) -> NDArray[np.uint64]:
        return np.atleast_1d(np.asarray(generator.random_raw(number), dtype=np.uint64))

    return [SPLITS[how](rows, exposure, bits) for _ in range(count)]


@kept(nogil=True)
def _heads(counts: IntArray, words: NDArray[np.uint64]) -> IntArray:
    """(q,) ones among as many random bits as there are counts."""
    heads, w = np.zeros_like(counts), 0
    for i in range(len(counts)):
        left = counts[i]
        while left > 0:
            word = words[w] if left >= 64 else words[w] & ((np.uint64(1) << np.uint64(left)) - np.uint64(1))
            while word:
                word &= word - np.uint64(1)
                heads[i] += 1
            left, w = left - 64, w + 1
    return heads
