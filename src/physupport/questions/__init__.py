"""What is asked, and the finest statement that all retained explanations share."""

from typing import TYPE_CHECKING

from .._lazy import published

if TYPE_CHECKING:
    from ._claim import Claim as Claim
    from ._predicates import (
        Farness as Farness,
        FieldElements as FieldElements,
        Predicates as Predicates,
        Said as Said,
        Sides as Sides,
        Unanswerable as Unanswerable,
        column_of as column_of,
        encoded as encoded,
        predicates as predicates,
        said_by as said_by,
    )
    from ._question import (
        Answer as Answer,
        Certificate as Certificate,
        Comparison as Comparison,
        Label as Label,
        Progress as Progress,
        Question as Question,
        compare as compare,
        compare_all as compare_all,
        exhaustive_answers as exhaustive_answers,
        inform as inform,
        open_fields as open_fields,
        plugin_answers as plugin_answers,
        unsettled as unsettled,
        withheld as withheld,
    )
    from ._region_rule import FarSets as FarSets, RegionRule as RegionRule, as_numbers as as_numbers
    from ._region_state import RegionState as RegionState
    from ._regional_map import RegionalMap as RegionalMap
    from ._regional_progress import RegionalProgress as RegionalProgress
    from ._resolution import Resolution as Resolution
else:
    __getattr__, __dir__, __all__ = published(__name__)
