"""Composite explanations judged by rotations of their residuals: exact, with nothing known but whiteness."""

from typing import TYPE_CHECKING

from ..._lazy import published

if TYPE_CHECKING:
    from ._by_rotation import ByRotation as ByRotation
    from ._companions import Companions as Companions
    from ._contest import EPS as EPS, SCREEN_SHARE as SCREEN_SHARE, check_freedom as check_freedom
    from ._draws import OUTSIDERS as OUTSIDERS, RIVALS as RIVALS, Draws as Draws
    from ._free import FreeRows as FreeRows
    from ._judge import GateFacts as GateFacts, Levels as Levels, Rotation as Rotation, RotationJudge as RotationJudge
    from ._mean import MeanRows as MeanRows
    from ._outsiders import (
        LEAST_LEFT as LEAST_LEFT,
        Finding as Finding,
        Outsiders as Outsiders,
        leading_share as leading_share,
        leading_shares as leading_shares,
        ordered_axis as ordered_axis,
        scanned as scanned,
    )
    from ._scan import Scan as Scan
    from ._table import RotationTable as RotationTable
else:
    __getattr__, __dir__, __all__ = published(__name__)
