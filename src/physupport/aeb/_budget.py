"""How many explanations may be asked about."""

from fractions import Fraction

from .._checks import check_count
from .._errors import MisuseError


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
