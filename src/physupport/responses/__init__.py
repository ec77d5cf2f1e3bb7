"""Model the response of an instrument to an element at a place, and what calibration may leave open about it."""

from .._typing import Array as Array, Count as Count, LineTable as LineTable, Positive as Positive
from ._base import (
    RESPONSES as RESPONSES,
    Response as Response,
    decode_response as decode_response,
    encode_response as encode_response,
    register as register,
)
from ._cells import (
    MOST_ASKED as MOST_ASKED,
    Cell as Cell,
    Searched as Searched,
    climb as climb,
    least_evidence as least_evidence,
)
from ._detector import (
    Lines as Lines,
    escape_columns as escape_columns,
    pile_up_column as pile_up_column,
    tail_columns as tail_columns,
)
from ._emission import Emission as Emission, gamma_lines as gamma_lines, xray_lines as xray_lines
from ._families import Ends as Ends, Family as Family
from ._formula import Bounds as Bounds, Formula as Formula, box_bounds as box_bounds
from ._generic import (
    GenericFamily as GenericFamily,
    GenericPeaks as GenericPeaks,
    generic_atoms as generic_atoms,
    generic_bumps as generic_bumps,
    generic_directions as generic_directions,
    generic_peaks as generic_peaks,
)
from ._instruments import (
    CircularArray as CircularArray,
    NearFieldArray as NearFieldArray,
    Peak as Peak,
    SphericalHead as SphericalHead,
    UniformLinearArray as UniformLinearArray,
)
from ._line_bands import (
    DETECTORS as DETECTORS,
    Detector as Detector,
    LineBands as LineBands,
    generic_lines as generic_lines,
    line_bands as line_bands,
    line_pieces as line_pieces,
)
from ._ranges import Balls as Balls, Ranges as Ranges
from ._settings import (
    KINDS as KINDS,
    NO_LINE as NO_LINE,
    Parameter as Parameter,
    Settings as Settings,
    SourceErrors as SourceErrors,
    decode_parameter as decode_parameter,
    encode_parameter as encode_parameter,
    in_window as in_window,
    settings_grid as settings_grid,
    source_errors as source_errors,
)
from ._waves import PlaneWaves as PlaneWaves, SphericalWaves as SphericalWaves, mirror_line as mirror_line
