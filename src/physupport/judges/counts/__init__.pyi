from ._halves import CountTable as CountTable
from ._judge import (
    ByCounts as ByCounts,
    CountJudge as CountJudge,
)
from ._running import RunningCounts as RunningCounts
from ._suprema import fitted as fitted, suprema_of as suprema_of
