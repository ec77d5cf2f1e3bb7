"""The probability laws of rows under an explanation, scored with proven errors.

The laws below enter themselves when they are loaded, so that all are known from the start.  What scores rows, streams
with their kernels and balls, is imported by the methods that need it, as it takes far longer to load.
"""

import lazy_loader

from ._covariance import Covariance as Covariance
from ._latent import KnownCodes as KnownCodes, Latent as Latent
from ._linear import Linear as Linear
from ._mean import Mean as Mean
from ._poisson import Poisson as Poisson
from ._profiled import ProfiledMean as ProfiledMean

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
