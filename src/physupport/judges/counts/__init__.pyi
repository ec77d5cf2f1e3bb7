from ._halves import CountTable as CountTable
from ._judge import (
    ByCounts as ByCounts,
    CountJudge as CountJudge,
    fitted as fitted,
    suprema_of as suprema_of,
)
from ._running import RunningCounts as RunningCounts
