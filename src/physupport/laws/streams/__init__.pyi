from ._angles import span_sine as span_sine
from ._banded import BandedStream as BandedStream, linear_stream as linear_stream
from ._boxes import best_point as best_point, box_residuals as box_residuals, fit_boxes as fit_boxes
from ._covariance import covariance_stream as covariance_stream, drawn_log_likelihoods as drawn_log_likelihoods
from ._densities import MixtureStream as MixtureStream, SumStream as SumStream, density_stream as density_stream
from ._latent import latent_stream as latent_stream
from ._linear import LinearStream as LinearStream
from ._tails import two_sided as two_sided, two_sided_normal as two_sided_normal
from ._threads import in_pieces as in_pieces
from ._white_noise import (
    known_code_stream as known_code_stream,
    mean_stream as mean_stream,
    measured_and_codes as measured_and_codes,
    point_stream as point_stream,
    white_noise_stream as white_noise_stream,
)
