"""What rows look like under an explanation, scored with proven errors.

The laws below enter themselves when they are loaded, so that all are known from the start.  What scores rows, streams
with their kernels and balls, is imported by the methods that need it, as it takes far longer to load.
"""

from typing import TYPE_CHECKING

from .._lazy import published
from ._poisson import Poisson as Poisson
from .gaussian._covariance import Covariance as Covariance
from .gaussian._known_codes import KnownCodes as KnownCodes
from .gaussian._linear import Linear as Linear
from .gaussian._mean import Mean as Mean
from .gaussian._profiled import ProfiledMean as ProfiledMean
from .latent._law import Latent as Latent

if TYPE_CHECKING:
    from ._base import (
        BankKey as BankKey,
        Opponent as Opponent,
        Proposal as Proposal,
        Scores as Scores,
        Stream as Stream,
        check_checkpoints as check_checkpoints,
    )
    from ._covers import check_cover as check_cover, cover_ranges as cover_ranges
    from ._design import Design as Design
    from ._law import (
        LAWS as LAWS,
        Energy as Energy,
        Law as Law,
        Part as Part,
        Sampler as Sampler,
        check_sets as check_sets,
        decode_law as decode_law,
        law_named as law_named,
        laws_of_files as laws_of_files,
        make_law as make_law,
        register as register,
    )
    from ._noise import (
        NoiseLook as NoiseLook,
        NoiseSeen as NoiseSeen,
        agreement as agreement,
        noise_ratio as noise_ratio,
        two_sided as two_sided,
    )
    from ._noisy import NoisyLaw as NoisyLaw
    from ._strengths import tells_strengths as tells_strengths
    from ._whitening import whitening as whitening
    from .codes._deployment import (
        GaussianCovariance as GaussianCovariance,
        GaussianMean as GaussianMean,
        deployment_mean as deployment_mean,
        separated_mean as separated_mean,
    )
    from .codes._laws import (
        BernoulliGaussian as BernoulliGaussian,
        CodeLaw as CodeLaw,
        ExchangeableGaussian as ExchangeableGaussian,
        LawMoments as LawMoments,
        law_moments as law_moments,
        law_nondegeneracy as law_nondegeneracy,
    )
    from .codes._mixture import (
        GaussianMixture as GaussianMixture,
        Tangent as Tangent,
        calibration_mixture as calibration_mixture,
        calibration_tangent as calibration_tangent,
        make_calibration as make_calibration,
    )
    from .gaussian._code_stream import known_code_stream as known_code_stream
    from .gaussian._divergences import (
        covariance_divergences as covariance_divergences,
        mean_divergences as mean_divergences,
    )
    from .gaussian._mean_point import MeanPoint as MeanPoint
    from .gaussian._mean_stream import point_stream as point_stream
    from .latent._latent import latent_stream as latent_stream
    from .latent._latent_objective import LatentObjective as LatentObjective, latent_box as latent_box
    from .latent._latent_point import LatentPoint as LatentPoint
    from .latent._maximum import (
        Maximum as Maximum,
        propose_continuous as propose_continuous,
        start_points as start_points,
    )
else:
    __getattr__, __dir__, __all__ = published(__name__)
