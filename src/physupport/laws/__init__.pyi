from ._autoregressive import autoregressive as autoregressive, filtered as filtered
from ._codes import (
    MOST_ACTIVE as MOST_ACTIVE,
    BernoulliGaussian as BernoulliGaussian,
    CodeLaw as CodeLaw,
    ExchangeableGaussian as ExchangeableGaussian,
    LawMoments as LawMoments,
    law_moments as law_moments,
    make_calibration as make_calibration,
)
from ._covariance import (
    Covariance as Covariance,
    covariance_divergences as covariance_divergences,
    mean_divergences as mean_divergences,
)
from ._covers import check_cover as check_cover, cover_ranges as cover_ranges
from ._design import (
    RANK_TOLERANCE as RANK_TOLERANCE,
    Design as Design,
    NoiseLook as NoiseLook,
    agreement as agreement,
    noise_ratio as noise_ratio,
    option_channels as option_channels,
    tells_strengths as tells_strengths,
    whitening as whitening,
)
from ._latent import KnownCodes as KnownCodes, Latent as Latent
from ._latent_objective import (
    LatentObjective as LatentObjective,
    latent_box as latent_box,
    propose_continuous as propose_continuous,
    start_points as start_points,
)
from ._law import (
    LAWS as LAWS,
    Energy as Energy,
    Law as Law,
    Part as Part,
    Sampler as Sampler,
    check_mixes as check_mixes,
    check_sets as check_sets,
    decode_law as decode_law,
    decode_opponent as decode_opponent,
    law_named as law_named,
    laws_of_files as laws_of_files,
    make_law as make_law,
    opponents_of as opponents_of,
    register as register,
)
from ._linear import Linear as Linear
from ._mean import Mean as Mean
from ._mixtures import (
    GaussianMixture as GaussianMixture,
    Tangent as Tangent,
    calibration_mixture as calibration_mixture,
    calibration_tangent as calibration_tangent,
)
from ._noisy import NoisyLaw as NoisyLaw
from ._opponents import (
    Opponent as Opponent,
    Point as Point,
    Proposal as Proposal,
    latent_point as latent_point,
)
from ._poisson import Poisson as Poisson
from ._profiled import ProfiledMean as ProfiledMean
from ._stream import Scores as Scores, Stream as Stream, check_checkpoints as check_checkpoints
from .streams import (
    LinearStream as LinearStream,
    fit_boxes as fit_boxes,
    in_pieces as in_pieces,
    known_code_stream as known_code_stream,
    latent_stream as latent_stream,
    linear_stream as linear_stream,
    point_stream as point_stream,
    two_sided as two_sided,
)
