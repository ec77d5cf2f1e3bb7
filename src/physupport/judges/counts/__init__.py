"""Composite explanations of counts: nonnegative amounts and background, judged by evidence on halves of the data."""

from typing import TYPE_CHECKING

from ..._lazy import published

if TYPE_CHECKING:
    from ._by_counts import BankCounts as BankCounts, ByCounts as ByCounts
    from ._judge import CountJudge as CountJudge, Counts as Counts
    from ._table import CountTable as CountTable
else:
    __getattr__, __dir__, __all__ = published(__name__)
