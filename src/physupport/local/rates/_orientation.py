"""What one calibration observation says about the orientation of the block, with everything else profiled out."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_count, check_positive
from ..._typing import Array
from ...laws import BernoulliGaussian, CodeLaw, GaussianMixture, Tangent, calibration_mixture, calibration_tangent
from ..shell import LocalDictionary
from ._chart import TangentChart, tangent_chart
from ._fisher import fisher_quadrature
from ._generators import check_skew, skew_basis

# Squared orientation scores are polynomials of degree twelve, so their mean lives on large rows: drawing rows from
# components with doubled covariance cuts the variance about twentyfold, and the weights stay below 2^(q/2).
_INFLATION = 2.0

# Rows scored at a time; fixed, so that the random stream does not depend on the machine.
_BLOCK = 2**16


@final
@dataclass(frozen=True, slots=True, eq=False)
class OrientationInformation:
    r"""Fisher information of one observation in the point-adapted chart, nuisance directions first."""

    chart: TangentChart
    information: Array  # (k, k)

    @property
    def profiled(self) -> Array:
        r"""Orientation information after profiling the nuisance (eq:sm-tech-s10-16), as a form on so(q - 1).

        :math:`I_{\Omega\Omega} - I_{\Omega\eta}I_{\eta\eta}^{-1}I_{\eta\Omega}`, in the basis `skew_basis`.  Taken from
        the Cholesky factor of the whole matrix, which forms no difference, so small informations keep their digits
        and the result is positive semidefinite.  Returns (m, m).
        """
        unit = np.sqrt(np.diagonal(self.information))  # the directions differ by a factor s^3
        factor = np.linalg.cholesky(self.information / np.outer(unit, unit))
        start = self.chart.n_nuisance
        corner = unit[start:, None] * factor[start:, start:]
        return np.asarray(corner @ corner.T)

    @property
    def oracle(self) -> Array:
        """Orientation information when every nuisance parameter is known, (m, m); never below the profiled one."""
        start = self.chart.n_nuisance
        return self.information[start:, start:]

    @property
    def profiled_range(self) -> tuple[float, float]:
        r"""Extremes of the profiled information on :math:`\|\Omega\|_F = 1` (eq:profiled-orientation-information)."""
        values = np.linalg.eigvalsh(self.profiled)
        return float(values[0]), float(values[-1])

    @property
    def mixed_range(self) -> tuple[float, float]:
        """Smallest and largest information over the unit sphere of the mixed norm (eq:sm-tech-s10-11)."""
        values = np.linalg.eigvalsh(self.information / np.outer(self.chart.sizes, self.chart.sizes))
        return float(values[0]), float(values[-1])

    def along(self, generator: ArrayLike, *, profile: bool) -> float:
        r"""Information about t on the path :math:`L e^{t\Omega}`, with the nuisance profiled out or known."""
        weights = skew_coordinates(generator, self.chart.d_atoms.shape[1] - 1)
        form = self.profiled if profile else self.oracle
        return float(weights @ form @ weights)


def skew_coordinates(generator: ArrayLike, dimension: int) -> Array:
    """Coordinates of a skew matrix in `skew_basis`; their Euclidean norm is its Frobenius norm."""
    skew = check_skew("generator", generator, dimension)
    return np.asarray(np.einsum("kij,ij->k", skew_basis(dimension), skew))


def orientation_information(
    dictionary: LocalDictionary, law: CodeLaw, noise: float, *, scale: float, rng: np.random.Generator, n_draws: int
) -> OrientationInformation:
    r"""Monte Carlo Fisher information from exact scores; the same seed at two scales gives common random numbers.

    Under the Bernoulli-Gaussian law p is a nuisance; every other law is taken as known.  Unbiased, by importance
    sampling from wider rows; 20 000 draws give about two percent.  The estimate is a Gram matrix of weighted scores,
    so its Schur complement is never negative; it needs more draws than directions, and the profiled information is
    low by a fraction of the order of k / n_draws.  scale: s, for the mixed norm only.
    """
    chart, mixture, tangent = _scored_chart(dictionary, law, noise, scale)
    draws = check_count("n_draws", n_draws, 2 * chart.n_directions)
    wide = GaussianMixture(mixture.weights, _INFLATION * mixture.covariances)
    information = np.zeros((chart.n_directions, chart.n_directions))
    for start in range(0, draws, _BLOCK):
        rows = wide.sample(rng, min(_BLOCK, draws - start))
        weights = np.exp(mixture.log_density(rows) - wide.log_density(rows)) / draws  # (block,)
        scores = mixture.score(rows, tangent)  # (block, k)
        information += (scores.T * weights) @ scores
    return OrientationInformation(chart, information)


def orientation_information_quadrature(
    dictionary: LocalDictionary, law: CodeLaw, noise: float, *, scale: float, order: int
) -> OrientationInformation:
    """The same by tensor Gauss-Hermite quadrature in every component: deterministic, for q up to about 5."""
    chart, mixture, tangent = _scored_chart(dictionary, law, noise, scale)
    return OrientationInformation(chart, fisher_quadrature(mixture, tangent, order))


def _scored_chart(
    dictionary: LocalDictionary, law: CodeLaw, noise: float, scale: float
) -> tuple[TangentChart, GaussianMixture, Tangent]:
    chart = tangent_chart(dictionary, scale, free_probability=isinstance(law, BernoulliGaussian))
    atoms, nu = dictionary.atoms, check_positive("noise", noise)
    tangent = calibration_tangent(
        law, atoms, d_noise=chart.d_noise, d_atoms=chart.d_atoms, d_probability=chart.d_probability
    )
    return chart, calibration_mixture(law, atoms, nu), tangent
