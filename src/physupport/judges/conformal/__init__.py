"""Elements with replicates, judged by how far their own units lie from each other: no model of noise or shape."""

from typing import TYPE_CHECKING

from ..._lazy import published

if TYPE_CHECKING:
    from ._by_replicates import ByReplicates as ByReplicates
    from ._judge import ByConformal as ByConformal, ConformalJudge as ConformalJudge
    from ._replicates import Replicates as Replicates
else:
    __getattr__, __dir__, __all__ = published(__name__)
