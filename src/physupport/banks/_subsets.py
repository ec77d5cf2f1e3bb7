"""Unordered sets of a few of n things, as numbers: nothing is written out."""

from dataclasses import dataclass
from math import comb
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import check_indices
from .._checks import check_count
from .._typing import IntArray
from ._states import check_size


@final
@dataclass(frozen=True, slots=True)
class Subsets:
    """All sets of `low` to `high` of n things, the smaller first, each size in lexicographic order.

    >>> Subsets(3, 1, 2).members([0, 2, 3, 5]).tolist()
    [[0, -1], [2, -1], [0, 1], [1, 2]]
    """

    n: int
    low: int
    high: int

    def __post_init__(self) -> None:
        check_count("n", self.n)
        check_count("high", self.high, 1, self.n)
        check_count("low", self.low, 1, self.high)
        check_size("sets", self.size)

    @property
    def size(self) -> int:
        """How many there are."""
        return sum(comb(self.n, count) for count in range(self.low, self.high + 1))

    @property
    def is_single(self) -> bool:
        """Whether every set has one member, and so the number of this."""
        return self.high == 1

    def members(self, numbers: ArrayLike) -> IntArray:
        """(k,) -> (k, high): the members of each set in increasing order, padded with -1."""
        rest = check_indices("numbers", numbers, self.size)
        if self.is_single:
            return rest[:, None]
        chosen, left = np.full((len(rest), self.high), -1, dtype=np.int64), rest
        for count in range(self.low, self.high + 1):
            is_of_size = (left >= 0) & (left < comb(self.n, count))
            chosen[is_of_size, :count] = self._combinations(left[is_of_size], count)
            left = np.where(left >= 0, left - comb(self.n, count), left)  # sets that are found have become negative
        return chosen

    def _combinations(self, ranks: IntArray, count: int) -> IntArray:
        r"""(k,) ranks -> (k, count) of sets of one size.

        Of the sets of the things s, s + 1, ... :math:`\binom{n-s}c - \binom{n-t}c` begin before t, so the first member
        of the set of rank r is n - v for the least v with :math:`\binom vc\ge\binom{n-s}c - r`.
        """
        chosen, left, start = np.empty((len(ranks), count), dtype=np.int64), ranks.copy(), np.zeros_like(ranks)
        for place in range(count):
            size = count - place
            table = np.array([comb(v, size) for v in range(self.n + 1)], dtype=np.int64)
            whole = table[self.n - start]
            fewer = np.searchsorted(table, whole - left, side="left")
            chosen[:, place] = self.n - fewer
            left -= whole - table[fewer]
            start = chosen[:, place] + 1
        return chosen
