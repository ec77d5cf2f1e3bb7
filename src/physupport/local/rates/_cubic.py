"""The cubic term through which orientation first enters the calibration density."""

from math import comb

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_positive
from ..._errors import MisuseError
from ..._typing import Array
from ...laws import CodeLaw
from ..shell import LocalDictionary
from ._chart import cubic_velocity


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
    axis, separated = block.frame.axis, dictionary.separated
    for h in range(q + 1):
        for on in (0, 1):
            weight, variance = comb(q, h) * weights[h + on], variances[h + on]
            if weight == 0.0:
                continue
            covariance = nu * np.eye(q) + variance * (h * np.outer(axis, axis) + on * np.outer(separated, separated))
            first, third, density = _hermite_terms(y, covariance, block.frame.basis, axis, cubic)
            one, two, three = h / q, h * (h - 1) / (q * (q - 1)), h * (h - 1) * (h - 2) / (q * (q - 1) * (q - 2))
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
