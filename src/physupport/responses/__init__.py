"""How an instrument answers to an element at a place, and what calibration may have left open about it."""

from .._typing import Array as Array, Count as Count, Positive as Positive
from ._base import (
    RESPONSES as RESPONSES,
    Response as Response,
    decode_response as decode_response,
    encode_response as encode_response,
    register as register,
)
from ._formula import Bounds as Bounds, Formula as Formula, box_bounds as box_bounds
from ._instruments import (
    CircularArray as CircularArray,
    NearFieldArray as NearFieldArray,
    Peak as Peak,
    SphericalHead as SphericalHead,
    UniformLinearArray as UniformLinearArray,
)
from ._settings import (
    KINDS as KINDS,
    Parameter as Parameter,
    Settings as Settings,
    SourceErrors as SourceErrors,
    decode_parameter as decode_parameter,
    encode_parameter as encode_parameter,
    settings_grid as settings_grid,
    source_errors as source_errors,
)
