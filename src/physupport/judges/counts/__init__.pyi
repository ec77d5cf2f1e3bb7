from ._halves import CountTable as CountTable
from ._judge import ByCounts as ByCounts, CountJudge as CountJudge
