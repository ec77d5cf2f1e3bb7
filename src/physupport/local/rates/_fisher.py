"""Fisher information of a mixture along a tangent, by tensor quadrature."""

import numpy as np

from ..._checks import check_count
from ..._errors import MisuseError
from ..._typing import Array
from ...laws import GaussianMixture, Tangent

# Rows handled at a time; fixed, so that the result does not depend on the machine.
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
