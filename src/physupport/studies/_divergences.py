"""Distances of the laws of the mechanism study: divergences of mixtures, affinities, pairs of deployment means."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from .._checks import check_count, check_share
from .._errors import Clause, MisuseError
from .._typing import Array, IntArray
from ..banks import bottleneck_assignment
from ..laws import GaussianMixture
from ..local.planning import outside_span
from ..local.shell import Block, LocalDictionary, projector_distance

# Entries of the largest node array: 400 MB.
_MOST_NODE_ENTRIES = 5 * 10**7
# Axes that agree up to this are one axis, typed with nine digits.
_SAME_AXIS = 1e-8


def gauss_hermite(dimension: int, order: int) -> tuple[Array, Array]:
    """Tensor Gauss-Hermite rule of the standard normal law: nodes (order^d, d) and weights (order^d,) of sum 1.

    Exact for polynomials of degree at most 2 order - 1 in each coordinate. Nodes i and order^d - 1 - i are opposite.

    >>> nodes, weights = gauss_hermite(2, 3)
    >>> round(float(weights @ (nodes[:, 0] ** 4 * nodes[:, 1] ** 2)), 12)
    3.0
    """
    check_count("dimension", dimension)
    check_count("order", order, 1, 100)
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
    rows = check_count("n_rows", n_rows, 0)
    if check_share("deficit", deficit) == 1.0:
        return 0.0 if rows else 1.0
    return float(np.exp(rows * float(np.log1p(-deficit))))


def gaussian_affinity(mean: Array, other: Array, noise_level: float, n_rows: int) -> float:
    r"""Affinity of T deployment rows with either mean (eq:supp-gaussian-affinity).

    :math:`\exp\{-T\|\mu_0-\mu_1\|^2/(8\sigma^2)\}`, the same for the rows and for their mean.
    """
    distance = float(np.linalg.norm(mean - other)) / noise_level
    return float(np.exp(-n_rows * distance**2 / 8.0))


@final
@dataclass(frozen=True, slots=True)
class Divergence:
    """Jeffreys divergence and affinity deficit of two laws for one observation, with Monte Carlo standard errors."""

    jeffreys: float
    affinity_deficit: float
    jeffreys_error: float = 0.0
    affinity_error: float = 0.0


def common_monte_carlo(
    pairs: Sequence[tuple[GaussianMixture, GaussianMixture]], rng: np.random.Generator, n_draws: int
) -> list[Divergence]:
    """The same of several pairs from one draw; each as if it came first.  All laws weigh their components alike."""
    if check_count("n_draws", n_draws, 4) % 2:
        raise MisuseError("n_draws", "be even", n_draws)
    for laws in zip(*pairs, strict=True):
        if any(law.q != laws[0].q or not np.array_equal(law.weights, laws[0].weights) for law in laws):
            raise MisuseError(
                "pairs", "have the same width and the same weights of components", Clause("they have others")
            )
    draws = [mixture.draw(rng, n_draws // 2) for mixture in pairs[0]]
    found = []
    for law, other in pairs:
        halves = [mixture.coloured(*draw) for mixture, draw in zip((law, other), draws, strict=True)]
        ratios = [law.log_density(rows) - other.log_density(rows) for rows in halves]  # two of (n / 2,)
        jeffreys, jeffreys_error = _stratified_mean([jeffreys_midpoint(ratio) for ratio in ratios])
        deficit, deficit_error = _stratified_mean([affinity_midpoint(ratio) for ratio in ratios])
        found.append(Divergence(jeffreys, deficit, jeffreys_error, deficit_error))
    return found


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


def quotient_distance(first: LocalDictionary, second: LocalDictionary) -> tuple[float, IntArray]:
    r"""Distance of two dictionaries up to the order of their coherent atoms (eq:physical-dictionary-metric).

    :math:`d_{\mathcal Q}^D = \min_\pi \max\{\max_j\|z_j - z'_{\pi(j)}\|,\ \|P_a - P_{a'}\|_F\}`, exactly, and a
    permutation (q,) that attains it: atom j is matched with atom permutation[j].

    The projectors do not depend on the permutation, so a bottleneck assignment of the atoms decides it.  Both frames
    must have the same axis, otherwise the coordinates across it are not comparable; basis and template may differ.
    """
    if first.q != second.q or np.abs(first.block.frame.axis - second.block.frame.axis).max() > _SAME_AXIS:
        raise MisuseError("second", "share the axis of first", second.block.frame.axis)
    points, other_points = (d.block.frame.basis @ d.block.coordinates for d in (first, second))  # (q, q)
    value, permutation = bottleneck_assignment(cdist(points.T, other_points.T))
    return max(value, projector_distance(first.separated, second.separated)), permutation


def explanation_pair(dictionary: LocalDictionary, support: Sequence[int], coefficient: float) -> tuple[Array, Array]:
    r"""The means of equal block coefficients and of their projection on the separated atom (eq:supp-group-pair-KL).

    :math:`\mu_F = \beta\sum_{j\in S} d_j` and :math:`\gamma_\star a = P_a\mu_F`, so
    :math:`\mathrm{KL} = T\|(I - P_a)\mu_F\|^2/(2\sigma^2)`, exactly.  The pair lies in the class if
    :math:`\gamma_\star = a^\top\mu_F` is an allowed separated coefficient (eq:anchor-amplitude-transversality).
    """
    atoms = dictionary.block.atoms[:, list(support)]  # (q, r)
    mean = coefficient * atoms.sum(axis=1)
    return mean, (dictionary.separated @ mean) * dictionary.separated


def support_pair(
    block: Block, support: Sequence[int], swap: tuple[int, int], coefficient: float
) -> tuple[Array, Array]:
    r"""The means of two supports that differ in one atom, equal coefficients (eq:supp-support-pair-mean).

    On the balanced block :math:`\|\mu_S - \mu_{S'}\|^2 = 2\beta^2(\lambda_\star s)^2 q/(q-1)` for every swap.
    swap: (an active atom, the passive one that replaces it).
    """
    gone, come = swap
    if gone not in support or come in support:
        raise MisuseError("swap", "name an active and then a passive atom", swap)
    changed = [come if j == gone else j for j in support]
    mean, other = (coefficient * block.atoms[:, list(chosen)].sum(axis=1) for chosen in (support, changed))
    return mean, other


def profiled_mean_distance(atoms: Array, coefficients: Array, other: Array) -> float:
    r"""Distance of a deployment mean from all means of another dictionary, :math:`\inf_{x'}\|D_S x - D'_S x'\|`.

    The infimum is over all real coefficients.  atoms, other: (q, r) active atoms.  coefficients: (r,).
    """
    # (D - D')x has the same residual as Dx, and is as small as the change itself.
    return float(np.linalg.norm(outside_span(np.linalg.qr(other)[0], (atoms - other) @ coefficients)))


def two_atom_profile(radius: float, contrast: float, edge: float, angle: float) -> float:
    r"""Closed form of `profiled_mean_distance` on the two-atom orbit (eq:two-atom-profile, eq:sm-tech-s6-4).

    :math:`\tfrac12\lambda_\star s\,|d|\,\|v_1-v_2\|\,|\sin(\phi-\phi')|`.  radius: :math:`\lambda_\star s`.
    contrast: d = x_1 - x_2.  edge: :math:`\|v_1-v_2\|`.
    """
    return radius * edge * abs(contrast * float(np.sin(angle))) / 2.0
