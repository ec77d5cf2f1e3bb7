"""What is asked, and the finest statement that all retained explanations share."""

from ._compare import Comparison as Comparison
from ._compare import compare as compare
from ._compare import compare_all as compare_all
from ._exhaustive import exhaustive_answers as exhaustive_answers
from ._exhaustive import plugin_answers as plugin_answers
from ._labels import Answer as Answer
from ._labels import Certificate as Certificate
from ._labels import Label as Label
from ._open_fields import open_fields as open_fields
from ._predicates import Farness as Farness
from ._predicates import FieldElements as FieldElements
from ._predicates import Predicates as Predicates
from ._predicates import Said as Said
from ._predicates import Sides as Sides
from ._predicates import Unanswerable as Unanswerable
from ._predicates import encoded as encoded
from ._predicates import predicates as predicates
from ._predicates import said_by as said_by
from ._question import Progress as Progress
from ._question import Question as Question
from ._region_rule import RegionRule as RegionRule
from ._region_state import RegionState as RegionState
from ._regional_map import RegionalMap as RegionalMap
from ._regional_progress import RegionalProgress as RegionalProgress
from ._resolution import Resolution as Resolution
