"""The four-region study: what is said about places when the dictionary itself is uncertain."""

from ._case import examine as examine
from ._case import study_rows as study_rows
from ._design import BUDGET as BUDGET
from ._design import CALIBRATION_NOISE as CALIBRATION_NOISE
from ._design import DEPLOYMENT_NOISE as DEPLOYMENT_NOISE
from ._design import LAW as LAW
from ._design import LEVEL as LEVEL
from ._design import N_SENSORS as N_SENSORS
from ._design import SCENES as SCENES
from ._design import SHARES as SHARES
from ._design import STRENGTHS as STRENGTHS
from ._design import library as library
from ._design import spare_atom as spare_atom
from ._figures import draw as draw
from ._study import run as run
