from ._judge import ByConformal as ByConformal, ConformalJudge as ConformalJudge
from ._replicates import Replicates as Replicates
