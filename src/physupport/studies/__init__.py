"""The paper's three studies, from their seeds, as short programs on the public pieces."""

from ._catalogue import STUDIES as STUDIES
from ._catalogue import load_study as load_study
from ._coverage import check_repeat as check_repeat
from ._coverage import draw_coverage as draw_coverage
from ._coverage import repeat_study as repeat_study
from ._published import Outcome as Outcome
from ._writing import make_output as make_output
from ._writing import write_outcome as write_outcome
