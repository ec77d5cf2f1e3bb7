"""Composite explanations of counts: nonnegative amounts and background, judged by evidence on halves of the data."""

from ._by_counts import BankCounts as BankCounts, ByCounts as ByCounts
from ._judge import CountJudge as CountJudge, Counts as Counts
from ._table import CountTable as CountTable
