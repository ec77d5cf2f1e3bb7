"""Streams: held-out rows and the densities that may have made them, scored with proven errors."""

from ._base import Scores as Scores
from ._base import Stream as Stream
from ._complex import as_pairs as as_pairs
from ._covariance import CovarianceStream as CovarianceStream
from ._covariance import covariance_stream as covariance_stream
from ._known_codes import KnownCodeStream as KnownCodeStream
from ._known_codes import known_code_stream as known_code_stream
from ._latent import LatentStream as LatentStream
from ._latent import latent_stream as latent_stream
from ._mean import MeanStream as MeanStream
from ._mean import mean_stream as mean_stream
from ._mean import point_stream as point_stream
from ._profiled import ProfiledMeanStream as ProfiledMeanStream
from ._profiled import profiled_mean_stream as profiled_mean_stream
from ._rows import ArrayRows as ArrayRows
from ._rows import ReadRows as ReadRows
from ._rows import RowSource as RowSource
