"""Elements with replicates, judged by how far their own units lie from each other: no model of noise or shape."""

from ._by_replicates import ByReplicates as ByReplicates
from ._judge import ByConformal as ByConformal, ConformalJudge as ConformalJudge
from ._replicates import Replicates as Replicates
