"""How an instrument answers to an element at a place, and what calibration may have left open about it."""

from ._arrays import CircularArray as CircularArray
from ._arrays import NearFieldArray as NearFieldArray
from ._arrays import UniformLinearArray as UniformLinearArray
from ._base import RESPONSES as RESPONSES
from ._base import Response as Response
from ._base import register as register
from ._parameter import Parameter as Parameter
from ._peak import Peak as Peak
from ._settings import Settings as Settings
from ._settings import settings_grid as settings_grid
