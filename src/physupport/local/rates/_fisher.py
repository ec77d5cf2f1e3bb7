"""Fisher information of a mixture along a tangent: Monte Carlo with standard errors, and tensor quadrature."""

from dataclasses import dataclass
from typing import final

import numpy as np

from ..._checks import check_count
from ..._errors import MisuseError
from ..._typing import Array
from ...laws import GaussianMixture, Tangent

# Rows handled at a time; fixed, so that the random stream and the result do not depend on the machine.
_BLOCK = 2**16

# Entries of the largest node array: 400 MB.
_MOST_NODE_ENTRIES = 5 * 10**7


@final
@dataclass(frozen=True, slots=True, eq=False)
class FisherEstimate:
    """A Monte Carlo Fisher information and the standard error of each of its entries."""

    information: Array  # (k, k)
    standard_error: Array  # (k, k)


def fisher_monte_carlo(
    mixture: GaussianMixture, tangent: Tangent, rng: np.random.Generator, n_draws: int
) -> FisherEstimate:
    r"""Mean of :math:`S S^\top` over draws from the mixture, S the score along the tangent.

    Unbiased; the standard error of an entry is the standard deviation of :math:`S_a S_b` over the root of the draws.
    """
    n_draws = check_count("n_draws", n_draws, 2)
    first = np.zeros((tangent.n_directions, tangent.n_directions))
    second = np.zeros_like(first)
    for start in range(0, n_draws, _BLOCK):
        score = mixture.score(mixture.sample(rng, min(_BLOCK, n_draws - start)), tangent)  # (block, k)
        first += score.T @ score
        second += (score**2).T @ score**2
    information = first / n_draws
    variance = (second - n_draws * information**2) / (n_draws - 1)
    return FisherEstimate(information, np.sqrt(np.maximum(variance, 0.0) / n_draws))


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
