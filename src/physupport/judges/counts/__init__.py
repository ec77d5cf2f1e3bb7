"""Composite explanations of counts: nonnegative amounts and background, judged by evidence on halves of the data."""

from ._judge import ByCounts as ByCounts, CountJudge as CountJudge
from ._table import CountTable as CountTable
