"""Derivatives of a centred Gaussian density in its covariance, and the cubic term through which orientation enters."""

from collections.abc import Sequence
from itertools import combinations, permutations
from math import comb, factorial

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_positive, check_symmetric
from ..._errors import MisuseError
from ..._typing import Array
from ...laws import CodeLaw
from ...laws.codes._mixture import cholesky_factors, forward_solved, whitened_matrices
from ..shell import LocalDictionary, inclusion_probabilities
from ._chart import cubic_velocity

# The envelope is stated up to this order; beyond it the sums over permutations and partitions grow fast.
_HIGHEST_ORDER = 5


def gaussian_covariance_derivative(rows: ArrayLike, covariance: ArrayLike, directions: Sequence[ArrayLike]) -> Array:
    r"""Mixed derivative :math:`D^m\gamma_A[H_1, \ldots, H_m](y)` of the N(0, A) density, for 0 <= m <= 5; (n,).

    With :math:`A = LL^\top,\ z = L^{-1}y,\ M_i = L^{-1}H_iL^{-\top}`, the logarithm of the density has the derivatives

    :math:`\kappa_B = \frac{(-1)^m}2 \sum_{\pi} \{\tfrac1m \operatorname{tr}(M_{\pi(1)} \cdots M_{\pi(m)})
    - z^\top M_{\pi(1)} \cdots M_{\pi(m)} z\}` over the orders of a set B of m directions,

    and :math:`D^m\gamma_A/\gamma_A` is the sum over all partitions of the directions of the products of the
    :math:`\kappa_B`; m = 1 is the example in the proof of lem:supp-gaussian-envelope.

    rows: (n, q).  covariance: (q, q).  directions: m symmetric (q, q).
    """
    covariance = check_array("covariance", covariance, (None, None))
    q = len(covariance)
    rows = check_array("rows", rows, (None, q))
    factor = cholesky_factors("covariance", covariance[None])
    check_count("the number of directions", len(directions), 0, _HIGHEST_ORDER)
    moves = np.array([check_array("directions", move, (q, q)) for move in directions]).reshape(-1, 1, q, q)
    check_symmetric("directions", moves)
    whitened = whitened_matrices(factor, moves)[:, 0]  # (m, q, q)
    z = forward_solved(factor, rows.T[None])[0].T  # (n, q)
    log_density = -0.5 * (np.sum(z**2, axis=1) + q * np.log(2.0 * np.pi)) - np.log(np.diagonal(factor[0])).sum()
    return np.asarray(np.exp(log_density) * _partition_sum(z, whitened, tuple(range(len(moves)))))


def stratum_polynomial(rows: ArrayLike, base: ArrayLike, increments: Sequence[ArrayLike]) -> Array:
    r"""Terms :math:`\mathcal P_0, \ldots, \mathcal P_3` of degree 0 to 3 of one active set, (n, 4) (eq:sm-tech-s2-4).

    For the covariance :math:`C_0 + X_1 + X_2 + X_3 + O(s^4)` whose increment X_m has degree m in the atom coordinates:
    :math:`\mathcal P_1 = D[X_1],\ \mathcal P_2 = D[X_2] + \tfrac12 D^2[X_1, X_1],\
    \mathcal P_3 = D[X_3] + D^2[X_1, X_2] + \tfrac16 D^3[X_1, X_1, X_1]`, derivatives of the density at C_0.

    rows: (n, q).  base: (q, q), C_0.  increments: X_1, X_2, X_3, each (q, q).
    """
    if len(increments) != 3:
        raise MisuseError("increments", "be the three matrices X_1, X_2, X_3", f"{len(increments)} of them")
    x1, x2, x3 = increments

    def derivative(*directions: ArrayLike) -> Array:
        return gaussian_covariance_derivative(rows, base, directions)

    return np.column_stack(
        [
            derivative(),
            derivative(x1),
            derivative(x2) + derivative(x1, x1) / 2.0,
            derivative(x3) + derivative(x1, x2) + derivative(x1, x1, x1) / 6.0,
        ]
    )


def gaussian_envelope_constant(order: int, dimension: int, radius: float, smallest_eigenvalue: float) -> float:
    r"""An explicit constant of the derivative envelope (lem:supp-gaussian-envelope, eq:sm-proof-5-16).

    Whenever :math:`A \succeq a I` and :math:`\|A^{-1/2}(B - A)A^{-1/2}\|_{op} \le \rho < \tfrac12`,
    :math:`\int |D^m\gamma_A[H_1, \ldots, H_m]|^2/\gamma_B \le C_m \prod_i \|H_i\|_F^2` with

    :math:`C_m = a^{-2m} \Big(\frac{1-\rho}{\sqrt{1-2\rho}}\Big)^q 4^{-m} \sum_{k=0}^m
    \frac{((2m)!)^2}{(2m-2k)!\,(2^k k!)^2}
    \Big(\frac{1-\rho}{1-2\rho}\Big)^{2m-2k} \Big(\frac{q\rho^2}{(1-2\rho)^2}\Big)^k`.

    Proof. Whiten by A, so that A = I and B = I + E, and M_i is H_i whitened, of Frobenius norm at most
    :math:`\|H_i\|_F/a`. The heat equation gives :math:`D^m\gamma = 2^{-m}\gamma \langle T, He_{2m}\rangle` with T the
    symmetrised product of the M_i, of norm at most the product of theirs. The quotient :math:`\gamma_I^2/\gamma_B` is
    c times the N(0, S) density, :math:`S = (2I - B^{-1})^{-1}`: an eigenvalue e of E gives (1 + e)/(1 + 2e) for S and
    the factor :math:`(1 + e)/\sqrt{1 + 2e}` for c, both largest at e = -rho, and for S - I at most
    :math:`\rho/(1 - 2\rho)` in size. By :math:`e^{t'z - t't/2} = e^{t'z - t'St/2} e^{t'(S - I)t/2}`, the Hermite tensor
    is the sum over k of :math:`\frac{(2m)!}{(2m-2k)!\,2^k k!}` times the symmetrised product of the tensor of degree
    2m - 2k adapted to S and k copies of S - I. Under N(0, S) these are orthogonal for different k, a tensor T' of
    degree j contributes :math:`j!\langle T', S^{\otimes j}T'\rangle`, and each contraction of T with S - I costs at
    most its Frobenius norm.
    """
    m = check_count("order", order, 0, _HIGHEST_ORDER)
    q = check_count("dimension", dimension)
    if not 0.0 <= radius < 0.5:
        raise MisuseError("radius", "satisfy 0 <= radius < 1/2", repr(radius))
    smallest = check_positive("smallest_eigenvalue", smallest_eigenvalue)
    gap = 1.0 - 2.0 * radius
    stretch, shift = (1.0 - radius) / gap, q * (radius / gap) ** 2
    terms = (
        factorial(2 * m) ** 2
        / (factorial(2 * m - 2 * k) * (2**k * factorial(k)) ** 2)
        * stretch ** (2 * m - 2 * k)
        * shift**k
        for k in range(m + 1)
    )
    return float(((1.0 - radius) / gap**0.5) ** q * sum(terms) / (4.0**m * smallest ** (2 * m)))


def _partition_sum(z: Array, matrices: Array, members: tuple[int, ...]) -> Array:
    """Sum over the partitions of the members of the products of their log-density derivatives, (n,)."""
    if not members:
        return np.ones(len(z))
    first, others = members[0], members[1:]
    total = np.zeros(len(z))
    # Each partition is counted once, by the part that holds the first member.
    for size in range(len(others) + 1):
        for mates in combinations(others, size):
            left = tuple(member for member in others if member not in mates)
            total += _log_derivative(z, matrices[[first, *mates]]) * _partition_sum(z, matrices, left)
    return total


def _log_derivative(z: Array, matrices: Array) -> Array:
    """Mixed derivative of the log density along whitened matrices (m, q, q) at whitened rows (n, q); (n,)."""
    m, q = matrices.shape[:2]
    product = np.zeros((q, q))
    for order in permutations(range(m)):
        chain = np.eye(q)
        for i in order:
            chain = chain @ matrices[i]
        product += chain
    quadratic = np.sum((z @ product) * z, axis=1)
    return np.asarray(0.5 * (-1.0) ** m * (np.trace(product) / m - quadratic))


def cubic_density_score(
    dictionary: LocalDictionary, law: CodeLaw, noise: float, generator: ArrayLike, rows: ArrayLike, *, scale: float
) -> tuple[Array, Array]:
    r"""Leading coefficient of the orientation derivative of the density (eq:cubic-density-score), and f_0.

    On the balanced submodel :math:`\partial_t f_{s,R e^{t\Omega}} = s^3 g_{R,\Omega} + O(s^4)`.  Write
    :math:`\dot B = \lambda_\star^3 R^{\otimes3}(\Omega\cdot T_q)`, which is traceless.  A covariance derivative of a
    Gaussian density is half a second derivative in y, so summing the cubic terms of every stratum (h coherent atoms
    active, separated atom on or off, common variance lambda) over its subsets leaves

    .. math::
        g = \sum_{\text{strata}} w\,\{\tfrac{\lambda^2}{2}(\pi_1-\pi_2)\,\partial_u
            + \tfrac{\lambda^3}{6}(\pi_1-3\pi_2+2\pi_3)\,\partial_u^3\}\,
            \dot B[\partial,\partial,\partial]\,\gamma_{C_0}, \qquad \pi_m = (h)_m/(q)_m.

    Only the first term reaches the fourth moments, with total weight
    :math:`E\lambda^2(\pi_1-\pi_2) = \Delta_{\mathcal L}`; so g vanishes only with Omega.  The density itself also
    carries the sixth-order term: g is not just a multiple of :math:`p(1-p)`.

    rows: (n, q), points y.  Returns g and f_0 there, each (n,).
    """
    block, q, s = dictionary.block, dictionary.q, check_positive("scale", scale)
    if np.abs(block.center).max() > 1e-12 * s:
        raise MisuseError("dictionary", "be centred and balanced", f"centre {block.center}")
    y, nu = check_array("rows", rows, (None, q)), check_positive("noise", noise)
    turned = block.shape @ check_array("generator", generator, (q - 1, q - 1)) @ block.frame.template
    cubic = cubic_velocity(turned, block.coordinates) / s**3
    weights, variances = law.subset_weights(q + 1), law.active_variances(q + 1)
    score, collapsed = np.zeros(len(y)), np.zeros(len(y))
    axis, separated, included = block.frame.axis, dictionary.separated, inclusion_probabilities(q, 3)
    for h in range(q + 1):
        for on in (0, 1):
            weight, variance = comb(q, h) * weights[h + on], variances[h + on]
            if weight == 0.0:
                continue
            covariance = nu * np.eye(q) + variance * (h * np.outer(axis, axis) + on * np.outer(separated, separated))
            first, third, density = _hermite_terms(y, covariance, block.frame.basis, axis, cubic)
            one, two, three = included[:, h]
            rate = variance**2 / 2.0 * (one - two) * first + variance**3 / 6.0 * (one - 3.0 * two + 2.0 * three) * third
            score += weight * density * rate
            collapsed += weight * density
    return score, collapsed


def _hermite_terms(y: Array, covariance: Array, basis: Array, axis: Array, cubic: Array) -> tuple[Array, Array, Array]:
    r""":math:`\partial_u\dot B\partial^3\gamma/\gamma`, :math:`\partial_u^3\dot B\partial^3\gamma/\gamma` and gamma.

    From :math:`\gamma(y + au + z)/\gamma(y) =
    \exp(-a\alpha - z^\top\xi - \tfrac{a^2}2\kappa - a z^\top\tau - \tfrac12 z^\top Mz)`: the cubic derivative in z at 0
    is :math:`c(a) = -\dot B[\eta^3] + 3\dot B[\eta, M]` with :math:`\eta = \xi + a\tau`, a polynomial in a.
    """
    inverse = np.linalg.inv(covariance)
    x = y @ inverse  # (n, q)
    alpha, xi = x @ axis, x @ basis  # (n,), (n, q - 1)
    kappa, tau, m = axis @ inverse @ axis, basis.T @ inverse @ axis, basis.T @ inverse @ basis
    traced = np.einsum("abc,bc->a", cubic, m)
    once = np.einsum("abc,na->nbc", cubic, xi)
    c0 = -np.einsum("nbc,nb,nc->n", once, xi, xi) + 3.0 * xi @ traced
    c1 = -3.0 * np.einsum("nbc,nb,c->n", once, xi, tau) + 3.0 * tau @ traced
    c2 = -3.0 * np.einsum("nbc,b,c->n", once, tau, tau)
    c3 = -np.einsum("abc,a,b,c->", cubic, tau, tau, tau)
    first = -alpha * c0 + c1
    third = (3.0 * alpha * kappa - alpha**3) * c0 + 3.0 * (alpha**2 - kappa) * c1 - 6.0 * alpha * c2 + 6.0 * c3
    log_density = -0.5 * (np.einsum("ni,ni->n", x, y) + np.linalg.slogdet(2.0 * np.pi * covariance)[1])
    return first, third, np.exp(log_density)
