"""The two sets that enclose the exhaustive profile while explanations are asked about one by one."""

from fractions import Fraction
from typing import NoReturn, final

import numpy as np
from numpy.typing import NDArray

from .._checks import check_count
from .._errors import MisuseError
from .._typing import IntArray
from ..judges import Verdict

# An explanation is marked by 0 until it is queried, then by its verdict code plus one.
UNQUERIED = 0
WITNESSED = Verdict.ADMISSIBLE + 1
REJECTED = Verdict.REJECTED + 1
INDETERMINATE = Verdict.INDETERMINATE + 1


@final
class Brackets:
    r"""Which explanations are witnessed and which are possible after k queries (eq:aeb-lower-upper).

    :math:`L_k` holds what was queried and admissible, :math:`U_k` what was not rejected.  A mark is set once, by the
    verdict, so :math:`L_k\subseteq\mathcal A\subseteq U_k` at every prefix (eq:aeb-sandwich) and a query costs the
    same for any size of bank.
    """

    __slots__ = ("_marks", "marks", "n_indeterminate", "n_possible", "n_witnessed", "size")

    def __init__(self, size: int) -> None:
        self.size = check_count("size", size)
        self._marks = np.zeros(self.size, dtype=np.uint8)
        # One entry of a memory view is a plain number at a third of the price of one entry of an array.
        self.marks = self._marks.data
        self.n_possible = self.size  # of U
        self.n_witnessed = 0  # of L
        self.n_indeterminate = 0

    @property
    def n_queried(self) -> int:
        """Logical queries so far."""
        return self.size - self.n_possible + self.n_witnessed + self.n_indeterminate

    def record(self, e: int, code: int) -> None:
        """The verdict on an explanation that was not queried before."""
        if not 0 <= e < self.size or self.marks[e]:
            self.refuse(e)
        mark = code + 1
        if mark == REJECTED:
            self.n_possible -= 1
        elif mark == WITNESSED:
            self.n_witnessed += 1
        elif mark == INDETERMINATE:
            self.n_indeterminate += 1
        else:
            raise MisuseError("verdict", f"be one of the codes {[int(v) for v in Verdict]}", repr(code))
        self.marks[e] = mark

    def refuse(self, e: int) -> NoReturn:
        """A query that may not be asked."""
        raise MisuseError("query", f"be an unqueried explanation from 0 to {self.size - 1}", repr(e))

    def column(self) -> NDArray[np.uint8]:
        """(M,) the marks, read-only and kept up to date."""
        column = self._marks.view()
        column.flags.writeable = False
        return column

    def witnessed(self) -> IntArray:
        """L in increasing order."""
        return np.flatnonzero(self._marks == WITNESSED)

    def possible(self) -> IntArray:
        """U in increasing order."""
        return np.flatnonzero(self._marks != REJECTED)

    def unqueried(self) -> IntArray:
        """What may still be asked, in increasing order."""
        return np.flatnonzero(self._marks == UNQUERIED)


def budget_queries(budget: int | float | Fraction, size: int) -> int:
    r"""Logical queries that a budget allows on a bank of this size.

    A whole number counts queries, at most the size of the bank; a float or a fraction f is a share of the bank,
    :math:`\max(1, \lfloor fM\rfloor)` for f > 0.  A float stands for the decimal that it prints as: 0.29 of 100 is 29.

    >>> budget_queries(0.75, 216), budget_queries(40, 216), budget_queries(0.001, 216)
    (162, 40, 1)
    """
    size = check_count("size", size)
    if isinstance(budget, float | Fraction):
        if not 0.0 <= budget <= 1.0:
            raise MisuseError("budget", "lie between 0 and 1 as a share of the bank", repr(budget))
        share = Fraction(repr(float(budget))) if isinstance(budget, float) else budget
        return max(1, int(share * size)) if share else 0
    return min(check_count("budget", budget, 0), size)
