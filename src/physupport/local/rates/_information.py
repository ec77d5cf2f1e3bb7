"""What one observation says: Fisher information, closeness of two laws, the orientation with all else profiled out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_positive, check_share
from ..._errors import MisuseError
from ..._typing import Array
from ...laws import CodeLaw, GaussianMixture, Tangent, calibration_mixture, calibration_tangent
from ..shell import LocalDictionary
from ._chart import TangentChart, check_skew, skew_basis, tangent_chart

# Rows handled at a time; fixed, so that neither result nor random stream depends on the machine.
_BLOCK = 2**16

# Entries of the largest node array: 400 MB.
_MOST_NODE_ENTRIES = 5 * 10**7


def fisher_quadrature(mixture: GaussianMixture, tangent: Tangent, order: int) -> Array:
    r"""Fisher information :math:`\sum_i w_i\, \mathbb E_{N(0, C_i)}(S S^\top)`, (k, k), by tensor Gauss-Hermite.

    Every component is integrated with its own nodes. The score is smooth but no polynomial: raise the order until the
    result settles.
    """
    nodes, node_weights = even_gauss_hermite(mixture.q, order)  # the law is even, so its score is
    information = np.zeros((tangent.n_directions, tangent.n_directions))
    for weight, factor in zip(mixture.weights, mixture.factors, strict=True):
        for start in range(0, len(nodes), _BLOCK):
            block = slice(start, start + _BLOCK)
            score = mixture.score(nodes[block] @ factor.T, tangent)  # (block, k)
            information += weight * (score.T * node_weights[block]) @ score
    return information


def gauss_hermite(dimension: int, order: int) -> tuple[Array, Array]:
    """Tensor Gauss-Hermite rule of the standard normal law: nodes (order^d, d) and weights (order^d,) of sum 1.

    Exact for polynomials of degree at most 2 order - 1 in each coordinate. Nodes i and order^d - 1 - i are opposite.

    >>> nodes, weights = gauss_hermite(2, 3)
    >>> round(float(weights @ (nodes[:, 0] ** 4 * nodes[:, 1] ** 2)), 12)
    3.0
    """
    dimension, order = check_count("dimension", dimension), check_count("order", order, 1, 100)
    if order**dimension * dimension > _MOST_NODE_ENTRIES:
        raise MisuseError("order", f"give at most {_MOST_NODE_ENTRIES} numbers", f"{order}**{dimension} nodes")
    points, masses = np.polynomial.hermite_e.hermegauss(order)
    masses = masses / masses.sum()
    nodes = np.stack(np.meshgrid(*[points] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    weights = masses
    for _ in range(dimension - 1):
        weights = np.multiply.outer(weights, masses)
    return nodes, weights.reshape(-1)


def even_gauss_hermite(dimension: int, order: int) -> tuple[Array, Array]:
    """The same rule for functions with f(-x) = f(x): one node of every opposite pair, with the weight of both.

    >>> nodes, weights = even_gauss_hermite(1, 3)
    >>> len(nodes), round(float(weights @ nodes[:, 0] ** 4), 12)
    (2, 3.0)
    """
    nodes, weights = gauss_hermite(dimension, order)
    half = (len(nodes) + 1) // 2
    doubled = 2.0 * weights[:half]
    if len(nodes) % 2:
        doubled[-1] *= 0.5  # the centre is its own opposite
    return nodes[:half], doubled


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
    return float(np.exp(_log_affinity(deficit, n_rows)))


def product_affinity_deficit(deficit: float, n_rows: int) -> float:
    r""":math:`1 - A(P,Q)^N`, accurate for tiny deficits."""
    return float(-np.expm1(_log_affinity(deficit, n_rows)))


def _log_affinity(deficit: float, n_rows: int) -> float:
    rows = check_count("n_rows", n_rows, 0)
    if check_share("deficit", deficit) == 1.0:
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
    return common_monte_carlo([(law, other)], rng, n_draws)[0]


def common_monte_carlo(
    pairs: Sequence[tuple[GaussianMixture, GaussianMixture]], rng: np.random.Generator, n_draws: int
) -> list[Divergence]:
    """The same of several pairs from one draw; each as if it came first.  All laws weigh their components alike."""
    if check_count("n_draws", n_draws, 4) % 2:
        raise MisuseError("n_draws", "be even", n_draws)
    for laws in zip(*pairs, strict=True):
        if any(law.q != laws[0].q or not np.array_equal(law.weights, laws[0].weights) for law in laws):
            raise MisuseError("pairs", "have the same width and the same weights of components", "others")
    law, other = (mixture.draw(rng, n_draws // 2) for mixture in pairs[0])
    return [_midpoint_mean(*pair, [pair[0].coloured(*law), pair[1].coloured(*other)]) for pair in pairs]


def _midpoint_mean(law: GaussianMixture, other: GaussianMixture, halves: list[Array]) -> Divergence:
    """Over rows of which one half, (n / 2, q), comes from each law."""
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


# Squared orientation scores are polynomials of degree twelve, so their mean lives on large rows: drawing rows from
# components with doubled covariance cuts the variance about twentyfold, and the weights stay below 2^(q/2).
_INFLATION = 2.0


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
    chart = tangent_chart(dictionary, scale, free_probability=law.activity is not None)
    atoms, nu = dictionary.atoms, check_positive("noise", noise)
    tangent = calibration_tangent(
        law, atoms, d_noise=chart.d_noise, d_atoms=chart.d_atoms, d_probability=chart.d_probability
    )
    return chart, calibration_mixture(law, atoms, nu), tangent
