from ._judge import CALIBRATION_SHARE as CALIBRATION_SHARE, ByLearnt as ByLearnt, LearntJudge as LearntJudge
from ._places import (
    Pieces as Pieces,
    Places as Places,
    box_places as box_places,
    listed_places as listed_places,
)
from ._space import SignalSpace as SignalSpace, rows_needed as rows_needed, signal_space as signal_space
