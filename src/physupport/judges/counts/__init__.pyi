from ._halves import CountTable as CountTable
from ._judge import BankCounts as BankCounts, ByCounts as ByCounts, CountJudge as CountJudge, Counts as Counts
