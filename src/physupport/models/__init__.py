"""Coefficient laws, exact Gaussian mixtures and deployment laws: sampling, densities, scores, information."""

from ._calibration import make_calibration as make_calibration
from ._deployment import DeploymentLaw as DeploymentLaw
from ._deployment import GaussianCovariance as GaussianCovariance
from ._deployment import GaussianMean as GaussianMean
from ._deployment import deployment_mean as deployment_mean
from ._deployment import separated_mean as separated_mean
from ._fisher import FisherEstimate as FisherEstimate
from ._fisher import even_gauss_hermite as even_gauss_hermite
from ._fisher import fisher_monte_carlo as fisher_monte_carlo
from ._fisher import fisher_quadrature as fisher_quadrature
from ._fisher import gauss_hermite as gauss_hermite
from ._gaussian_derivatives import gaussian_covariance_derivative as gaussian_covariance_derivative
from ._gaussian_derivatives import gaussian_envelope_constant as gaussian_envelope_constant
from ._gaussian_derivatives import stratum_polynomial as stratum_polynomial
from ._laws import BernoulliGaussian as BernoulliGaussian
from ._laws import CodeLaw as CodeLaw
from ._laws import ExchangeableGaussian as ExchangeableGaussian
from ._laws import LawMoments as LawMoments
from ._laws import law_moments as law_moments
from ._laws import law_nondegeneracy as law_nondegeneracy
from ._laws import support_masks as support_masks
from ._mixture import GaussianMixture as GaussianMixture
from ._mixture import calibration_mixture as calibration_mixture
from ._tangent import Tangent as Tangent
from ._tangent import calibration_tangent as calibration_tangent
