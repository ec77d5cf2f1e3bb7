"""Draws until it is clear whether few enough exceed: a sequential test whose level over the draws is exact."""

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from ..._typing import IntArray

LOOK = 8  # draws between looks
# A look decides if the draws so far would have this probability at most for an explanation exactly at the level.
_CLEAR = 0.01


class Looks(NamedTuple):
    """After each LOOK draws: e is rejected if at most `few` (k,) exceeded, retained if at least `many` (k,)."""

    few: IntArray
    many: IntArray


def never(draws: int) -> Looks:
    """No decision before all draws are made, and none then."""
    size = -(-draws // LOOK)
    return Looks(np.full(size, -1), np.full(size, draws + 1))


@cache
def looks(level: float, draws: int) -> Looks:
    r"""The looks of a test at this level, after at most so many draws.

    Let u be the chance under e that a draw reaches the statistic of the data; :math:`P(u \le x) \le x` if e made them.
    More exceedances never reject, so the chance to reject falls in u and its mean is at most that for a uniform u.
    Then h of n draws exceed for every h alike (Polya's urn), and the chance is a sum over paths.  The last look rejects
    as many as leave it at most the level.
    """
    counts = np.minimum(np.arange(LOOK, draws + LOOK, LOOK), draws)
    few = _few(counts, level)
    many = np.asarray(binom.isf(_CLEAR, counts, level), dtype=np.int64) + 1
    share = np.zeros(draws + 1)  # of paths that are open, by their exceedances
    share[0] = 1.0
    numbers = np.arange(draws + 1)
    rejected = 0.0
    before = 0
    for i, count in enumerate(counts.tolist()):
        for made in range(before, count):
            moved = share[:-1] * numbers[1:]
            share *= np.maximum(made + 1 - numbers, 0)
            share[1:] += moved
            share /= made + 2
        before = count
        if i < len(counts) - 1:
            rejected += float(share[: max(few[i] + 1, 0)].sum())
            share[: max(few[i] + 1, 0)] = 0.0
            share[many[i] :] = 0.0
    total = rejected + np.cumsum(share)
    few[-1] = int((total <= level * (1.0 - 1e-9)).sum()) - 1
    many[-1] = few[-1] + 1
    return Looks(few, many)


def _few(counts: IntArray, level: float) -> IntArray:
    """The most exceedances that are clearly fewer than the level's share; -1 where none are."""
    found = np.asarray(binom.ppf(_CLEAR, counts, level), dtype=np.int64)
    return np.where(binom.cdf(found, counts, level) > _CLEAR, found - 1, found)
