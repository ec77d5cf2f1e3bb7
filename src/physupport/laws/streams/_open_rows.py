r"""Zero-mean rows with sources of any covariance in white noise: the likelihood of the best covariance and noise.

Rows :math:`N(0, N_eCN_e^* + sI)` with :math:`C \succeq 0` open.  With U an orthonormal basis of the columns,
:math:`\lambda` the eigenvalues of :math:`U^*RU`, R the second moments of T rows of m numbers, and
:math:`c = \operatorname{tr}R - \sum\lambda` what is left, the covariance within U may be any one that is at least s:
by von Neumann's inequality the best one has the eigenvectors of :math:`U^*RU` and eigenvalues
:math:`\max(\lambda_i, s)`, so that

.. math:: -\tfrac2{\beta T}\log L = m\log\tfrac{2\pi}\beta + f(s), \qquad
   f(s) = \sum_i\Big(\log\max(\lambda_i, s) + \frac{\lambda_i}{\max(\lambda_i, s)}\Big) + (m - r)\log s + \frac cs,

with :math:`\beta` = 1 for real and 2 for complex rows.  f is convex in 1/s; where s is open its least value pools c
with the eigenvalues below s: :math:`s = (c + \sum_{\lambda_i < s}\lambda_i)/(m - r + \#\{\lambda_i < s\})`.  If
none is, f is the :math:`\log\det(P_ARP_A + sP_A^\perp) + m` of every Hermitian C.  f grows with all eigenvalues and
c.
"""

import numpy as np
from flint import arb

from ..._typing import Array


def best_noise(inside: Array, rest: Array, n_outside: int) -> Array:
    """(...) the s of the least cost; inside: (..., r) eigenvalues, the largest first.  rest: (...)."""
    total = np.asarray(rest, dtype=np.float64)
    count = np.full(np.shape(rest), float(n_outside))
    level = total / np.maximum(count, 1.0)
    for value in np.moveaxis(inside, -1, 0)[::-1]:
        is_pooled = value < level
        total = np.where(is_pooled, total + value, total)
        count = count + is_pooled
        level = total / np.maximum(count, 1.0)
    return np.asarray(level)


@np.errstate(divide="ignore", invalid="ignore")  # nothing left to take the noise from: no largest likelihood
def least_cost(inside: Array, rest: Array, n_outside: int, noise: float | None) -> Array:
    """(...) f at the noise that is known, or at the best one."""
    level = best_noise(inside, rest, n_outside) if noise is None else np.full(np.shape(rest), noise)
    top = np.maximum(inside, level[..., None])
    return np.asarray((np.log(top) + inside / top).sum(axis=-1) + n_outside * np.log(level) + rest / level)


@np.errstate(invalid="ignore")
def cost_bounds(inside: Array, rest: Array, error: Array, n_outside: int, noise: float | None) -> tuple[Array, Array]:
    """F and how far it may be off where every eigenvalue and the rest are within an error, (...), of theirs."""
    cost = least_cost(inside, rest, n_outside, noise)
    below = least_cost(np.maximum(inside - error[..., None], 0.0), rest - error, n_outside, noise)
    above = least_cost(inside + error[..., None], rest + error, n_outside, noise)
    off = np.maximum(cost - below, above - cost)
    # A rest that may be 0 leaves a noise that may be 0, unless it is known.
    is_bounded = np.isfinite(off) & ((rest > error) | (noise is not None))
    return np.where(is_bounded, cost, 0.0), np.where(is_bounded, off, np.inf)


def cost_ball(inside: list[arb], rest: arb, n_outside: int, noise: arb | None) -> arb:
    """F in balls, of eigenvalues in any order; the whole line where it stays open which of them are below the noise."""
    values = sorted(inside, key=lambda value: float(value.mid()), reverse=True)
    kept = len(values)
    left = rest
    while kept and values[kept - 1] < (left / (n_outside + len(values) - kept) if noise is None else noise):
        kept -= 1
        left += values[kept]
    count = n_outside + len(values) - kept
    level = noise or (left / count if count else arb(0))
    if not level > 0 or not all(value > level for value in values[:kept]):
        return arb(0, float("inf"))
    return sum((value.log() + 1 for value in values[:kept]), arb(0)) + count * level.log() + left / level
