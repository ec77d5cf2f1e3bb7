"""How an instrument answers to an element at a place, and what calibration may have left open about it."""

from .._typing import Array as Array, Count as Count, Positive as Positive
from ._base import RESPONSES as RESPONSES, Response as Response, register as register
from ._bounds import box_bounds as box_bounds
from ._formula import Bounds as Bounds, Formula as Formula
from ._head import SphericalHead as SphericalHead
from ._instruments import (
    CircularArray as CircularArray,
    NearFieldArray as NearFieldArray,
    Peak as Peak,
    UniformLinearArray as UniformLinearArray,
)
from ._settings import KINDS as KINDS, Parameter as Parameter, Settings as Settings, settings_grid as settings_grid
from ._sources import SourceErrors as SourceErrors, source_errors as source_errors
from ._written import (
    decode_parameter as decode_parameter,
    decode_response as decode_response,
    encode_parameter as encode_parameter,
    encode_response as encode_response,
)
