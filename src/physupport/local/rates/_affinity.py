"""How close two laws are: Jeffreys divergence and Hellinger affinity, stable when the laws almost agree."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_positive
from ..._errors import MisuseError
from ..._typing import Array
from ...laws import GaussianMixture
from ._fisher import even_gauss_hermite


def jeffreys_midpoint(log_ratio: ArrayLike) -> Array:
    r"""Integrand of Jeffreys divergence under the midpoint law (eq:supp-jeffreys-midpoint).

    :math:`J(P,Q) = 2\,E_M\{L\tanh(L/2)\}` with :math:`M = (P+Q)/2,\ L = \log dP/dQ`: from
    :math:`dP - dQ = 2\tanh(L/2)\,dM`.  Never negative, and of relative accuracy for every L.
    """
    ratio = np.asarray(log_ratio, dtype=np.float64)
    return np.asarray(2.0 * ratio * np.tanh(ratio / 2.0))


def affinity_midpoint(log_ratio: ArrayLike) -> Array:
    r"""Integrand of the affinity deficit under the midpoint law (eq:supp-affinity-midpoint).

    :math:`1 - A(P,Q) = E_M[\tanh^2(L/2)/\{1 + \mathrm{sech}(L/2)\}]`, which is
    :math:`1 - \mathrm{sech}(L/2)` without its cancellation near 0.
    """
    half = np.abs(np.asarray(log_ratio, dtype=np.float64)) / 2.0
    # cosh overflows beyond 710; exp of a negative number only fades to 0.
    decay = np.exp(-half)
    return np.asarray(np.tanh(half) ** 2 / (1.0 + 2.0 * decay / (1.0 + decay**2)))


def product_affinity(deficit: float, n_rows: int) -> float:
    r"""Affinity of N independent observations, :math:`A(P,Q)^N` (eq:supp-product-affinity).

    Takes the deficit 1 - A of one observation, which keeps its digits where A rounds to 1.
    """
    _check_deficit(deficit)
    return float(np.exp(_log_affinity(deficit, n_rows)))


def product_affinity_deficit(deficit: float, n_rows: int) -> float:
    r""":math:`1 - A(P,Q)^N`, accurate for tiny deficits."""
    _check_deficit(deficit)
    return float(-np.expm1(_log_affinity(deficit, n_rows)))


def _check_deficit(deficit: float) -> None:
    if not 0.0 <= deficit <= 1.0:
        raise MisuseError("deficit", "lie between 0 and 1", repr(deficit))


def _log_affinity(deficit: float, n_rows: int) -> float:
    rows = check_count("n_rows", n_rows, 0)
    if deficit == 1.0:
        return -np.inf if rows else 0.0
    return rows * float(np.log1p(-deficit))


def gaussian_affinity(mean: ArrayLike, other: ArrayLike, noise_level: float, n_rows: int) -> float:
    r"""Affinity of T deployment rows with either mean (eq:supp-gaussian-affinity).

    :math:`\exp\{-T\|\mu_0-\mu_1\|^2/(8\sigma^2)\}`, the same for the rows and for their mean.
    """
    mean = check_array("mean", mean, (None,))
    other = check_array("other", other, mean.shape)
    distance = float(np.linalg.norm(mean - other)) / check_positive("noise_level", noise_level)
    return float(np.exp(-check_count("n_rows", n_rows, 0) * distance**2 / 8.0))


@final
@dataclass(frozen=True, slots=True)
class Divergence:
    """Jeffreys divergence and affinity deficit of two laws for one observation, with Monte Carlo standard errors."""

    jeffreys: float
    affinity_deficit: float
    jeffreys_error: float = 0.0
    affinity_error: float = 0.0

    @property
    def hellinger_squared(self) -> float:
        r""":math:`H^2 = \int(\sqrt{dP} - \sqrt{dQ})^2 = 2(1 - A)`."""
        return 2.0 * self.affinity_deficit


def midpoint_monte_carlo(
    law: GaussianMixture, other: GaussianMixture, rng: np.random.Generator, n_draws: int
) -> Divergence:
    """Both divergences from n_draws rows of the midpoint law, exactly half from each mixture; n_draws is even."""
    if check_count("n_draws", n_draws, 4) % 2:
        raise MisuseError("n_draws", "be even", n_draws)
    halves = [mixture.sample(rng, n_draws // 2) for mixture in (law, other)]
    ratios = [law.log_density(rows) - other.log_density(rows) for rows in halves]  # two of (n / 2,)
    jeffreys, jeffreys_error = _stratified_mean([jeffreys_midpoint(ratio) for ratio in ratios])
    deficit, deficit_error = _stratified_mean([affinity_midpoint(ratio) for ratio in ratios])
    return Divergence(jeffreys, deficit, jeffreys_error, deficit_error)


def _stratified_mean(halves: list[Array]) -> tuple[float, float]:
    means = [float(half.mean()) for half in halves]
    variances = [float(half.var(ddof=1)) / len(half) for half in halves]
    return sum(means) / 2.0, float(np.sqrt(sum(variances))) / 2.0


def midpoint_quadrature(law: GaussianMixture, other: GaussianMixture, order: int) -> Divergence:
    """Both divergences by a tensor Gauss-Hermite rule in every component of both mixtures; deterministic."""
    # Both laws are centred, so their ratio is even.
    nodes, node_weights = even_gauss_hermite(law.q, order)  # (k, q), (k,)
    jeffreys = deficit = 0.0
    for mixture in (law, other):
        for weight, factor in zip(mixture.weights, mixture.factors, strict=True):
            rows = nodes @ factor.T  # (k, q)
            ratio = law.log_density(rows) - other.log_density(rows)  # (k,)
            jeffreys += weight / 2.0 * float(node_weights @ jeffreys_midpoint(ratio))
            deficit += weight / 2.0 * float(node_weights @ affinity_midpoint(ratio))
    return Divergence(jeffreys, deficit)
