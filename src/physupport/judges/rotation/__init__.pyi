from ._by_rotation import ByRotation as ByRotation
from ._free import FreeRows as FreeRows
from ._judge import (
    Companions as Companions,
    Levels as Levels,
    Rotation as Rotation,
    RotationJudge as RotationJudge,
)
from ._mean import MeanRows as MeanRows
from ._rows import check_freedom as check_freedom
from ._table import (
    EPS as EPS,
    LEAST_LEFT as LEAST_LEFT,
    OUTSIDERS as OUTSIDERS,
    RIVALS as RIVALS,
    Draws as Draws,
    Finding as Finding,
    Outsiders as Outsiders,
    RotationTable as RotationTable,
    Scan as Scan,
    leading_share as leading_share,
    leading_shares as leading_shares,
    ordered_axis as ordered_axis,
    scanned as scanned,
)
