"""The four-region study: what is said about places when the dictionary itself is uncertain."""

from ._case import examine as examine, study_rows as study_rows
from ._design import (
    BUDGET as BUDGET,
    CALIBRATION_NOISE as CALIBRATION_NOISE,
    DEPLOYMENT_NOISE as DEPLOYMENT_NOISE,
    LAW as LAW,
    LEVEL as LEVEL,
    N_SENSORS as N_SENSORS,
    SCENES as SCENES,
    SHARES as SHARES,
    STRENGTHS as STRENGTHS,
    library as library,
    spare_atom as spare_atom,
)
from ._judges import compare as compare
from ._study import draw as draw, reports as reports, run as run
