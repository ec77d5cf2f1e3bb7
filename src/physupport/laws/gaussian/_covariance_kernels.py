r"""Low-rank Gaussian log likelihoods of many keys.

With :math:`\rho_j = \nu/\lambda_j`, the columns :math:`(a_j, \sqrt{\rho_j}e_j)` made orthogonal one after the other
give :math:`\Sigma^{-1} = \tfrac1\nu(I - \sum_jd_j^{-1}w_jw_j^\top)` and
:math:`\det\Sigma = \nu^q\prod_jd_j/\rho_j`: the factorisation of the small matrix of the Woodbury identity without
forming it, which would square the condition number of coherent atoms.  :math:`w_j = a_j - \sum_{i<j}l_{ji}w_i` with
:math:`l_{ji} = a_j^\top w_i/d_i`; the multipliers c of the atoms in w obey the same recursion, and
:math:`d_j = |w_j|^2 + \sum_i\rho_ic_{ji}^2` adds only positive numbers.
"""

import numpy as np

from ..._compiled import inside, kept
from ..._typing import Array, IntArray
from .._balls import LOG_TWO_PI, LOG_TWO_PI_ERROR, TINY, U, add, div, dot, log, mul, settle, sub


@inside()
def orthogonalise(
    atoms: Array, variances: Array, noise: float, w: tuple[Array, Array], c: tuple[Array, Array], d: tuple[Array, Array]
) -> tuple[float, float]:
    """Fill w (r, q), c (r, r) and d (r,) for atoms (r, q) as balls; returns the sum of log(d_j / rho_j)."""
    r, q = atoms.shape
    rho, e_rho = np.empty(r), np.empty(r)
    none = np.zeros(q)
    total, e_total = 0.0, 0.0
    for j in range(r):
        rho[j], e_rho[j] = div(noise, 0.0, variances[j], 0.0)
        for a in range(q):
            w[0][j, a], w[1][j, a] = atoms[j, a], 0.0
        for a in range(r):
            c[0][j, a], c[1][j, a] = 0.0, 0.0
        c[0][j, j] = 1.0
        for i in range(j):
            v, e = dot(atoms[j], none, w[0][i], w[1][i])
            v, e = div(v, e, d[0][i], d[1][i])
            for a in range(q):
                x, ex = mul(v, e, w[0][i, a], w[1][i, a])
                w[0][j, a], w[1][j, a] = sub(w[0][j, a], w[1][j, a], x, ex)
            for a in range(i + 1):
                x, ex = mul(v, e, c[0][i, a], c[1][i, a])
                c[0][j, a], c[1][j, a] = sub(c[0][j, a], c[1][j, a], x, ex)
        v, e = dot(w[0][j], w[1][j], w[0][j], w[1][j])
        for i in range(j + 1):
            x, ex = mul(c[0][j, i], c[1][j, i], c[0][j, i], c[1][j, i])
            x, ex = mul(x, ex, rho[i], e_rho[i])
            v, e = add(v, e, x, ex)
        d[0][j], d[1][j] = v, e
        v, e = div(v, e, rho[j], e_rho[j])
        v, e = log(v, e)
        total, e_total = add(total, e_total, v, e)
    return total, e_total


@inside()
def quadratic_form(
    moment: Array, scales: Array, slack: float, w: Array, e_w: Array, image: Array
) -> tuple[float, float]:
    r"""Ball of :math:`w^\top Sw`, S within slack of the stored moment (q, q) in the units of the scales.

    With :math:`\sigma = \sum_a|w_a|s_a` and :math:`\tau = \sum_ae_as_a` the exact form moves by at most
    :math:`2\sigma\tau + \tau^2` over the ball of w; the 2q + 2 roundings of any term of the double sum cost less than
    :math:`1.03(2q + 3)u\sigma^2`, and the error of the stored moment :math:`\text{slack}\,\sigma^2`.
    """
    q = len(w)
    image[:] = 0.0
    for b in range(q):
        x = w[b]
        for a in range(q):
            image[a] += moment[b, a] * x
    value, sigma, tau = 0.0, 0.0, 0.0
    for a in range(q):
        value += w[a] * image[a]
        sigma += abs(w[a]) * scales[a]
        tau += e_w[a] * scales[a]
    error = (slack + 1.03 * (2 * q + 3) * U) * sigma * sigma + 2.0 * sigma * tau + tau * tau
    # The sums above lose at most 2 q + 16 roundings.
    return value, error * (1.0 + 2.0 * U * (2 * q + 16)) + TINY


@kept(nogil=True)
def covariance_scores(
    table: Array,
    elements: IntArray,
    variances: Array,
    noises: Array,
    counts: Array,
    moments: Array,
    scales: Array,
    slack: float,
    traces: tuple[Array, Array],
    values: Array,
    errors: Array,
) -> None:
    """Log likelihoods of k keys at c checkpoints, each key computed alone.

    table: (E, q).  elements, variances: (k, r), padded with -1 and 0.  noises: (k,).  Fills values, errors (k, c).
    """
    q, most = table.shape[1], elements.shape[1]
    for k in range(len(elements)):
        r = 0
        while r < most and elements[k, r] >= 0:
            r += 1
        atoms, image = np.empty((r, q)), np.empty(q)
        for j in range(r):
            for a in range(q):  # a slice would compile the message of a shape error, for seconds
                atoms[j, a] = table[elements[k, j], a]
        w, c, d = np.empty((2, r, q)), np.empty((2, r, r)), np.empty((2, r))
        log_det, e_log_det = orthogonalise(atoms, variances[k], noises[k], (w[0], w[1]), (c[0], c[1]), (d[0], d[1]))
        v, e = log(noises[k], 0.0)
        v, e = add(v, e, LOG_TWO_PI, LOG_TWO_PI_ERROR)
        v, e = mul(float(q), 0.0, v, e)
        log_det, e_log_det = add(log_det, e_log_det, v, e)
        for t in range(len(counts)):
            rest, e_rest = traces[0][t], traces[1][t]
            for j in range(r):
                v, e = quadratic_form(moments[t], scales[t], slack, w[0, j], w[1, j], image)
                v, e = div(v, e, d[0, j], d[1, j])
                rest, e_rest = sub(rest, e_rest, v, e)
            rest, e_rest = div(rest, e_rest, noises[k], 0.0)
            v, e = mul(counts[t], 0.0, log_det, e_log_det)
            v, e = add(v, e, rest, e_rest)
            values[k, t], errors[k, t] = settle(-0.5 * v, 0.5 * e)
