from ._by_rotation import ByRotation as ByRotation
from ._free import FreeRows as FreeRows
from ._judge import (
    Companions as Companions,
    Levels as Levels,
    Rotation as Rotation,
    RotationJudge as RotationJudge,
)
from ._mean import MeanRows as MeanRows
from ._outsiders import (
    LEAST_LEFT as LEAST_LEFT,
    Finding as Finding,
    Outsiders as Outsiders,
    Scan as Scan,
    leading_share as leading_share,
    leading_shares as leading_shares,
    ordered_axis as ordered_axis,
    scanned as scanned,
)
from ._rows import check_freedom as check_freedom
from ._table import (
    EPS as EPS,
    OUTSIDERS as OUTSIDERS,
    RIVALS as RIVALS,
    Draws as Draws,
    RotationTable as RotationTable,
)
