"""Zero-mean Gaussian rows, white noise plus a low-rank covariance: second moments are all that their densities need."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from ..._checks import check_indices
from ..._compiled import cached_njit, inner_njit
from ..._typing import Array, IntArray
from ...banks import Bank
from ...io import RowSource, atom_table, doubled
from .._stream import Scores, check_checkpoints
from ._sums import (
    LOG_TWO_PI,
    LOG_TWO_PI_ERROR,
    TINY,
    UP,
    ExactMoments,
    Moments,
    U,
    add,
    ball,
    covariance_enclosure,
    div,
    dot,
    exact_moments,
    log,
    mul,
    prefix_moments,
    settle,
    sub,
)
from ._threads import in_pieces
from ._white_noise import check_noises, check_width

# Prefix sums of second moments as the kernels read them: values (c, q, q), scales (c, q), slack, and traces (c,) with
# their errors.  Scales s bound the exact entries, |S_ab| <= s_a s_b, and the stored ones by 1.01 times that; the stored
# entries err by at most slack times s_a s_b.
SecondMoments = tuple[Array, Array, float, tuple[Array, Array]]


@final
@dataclass(frozen=True, eq=False)  # no slots: the exact moments are worked out when first asked for
class CovarianceStream:
    r"""Rows from :math:`N(0, \Sigma)`, :math:`\Sigma = \nu I + \sum_j\lambda_ja_ja_j^\top` over the active atoms.

    :math:`\log L_t = -\tfrac t2\log\det(2\pi\Sigma) - \tfrac12\operatorname{tr}(\Sigma^{-1}S_t)`.
    """

    is_density: ClassVar[bool] = True

    rows: RowSource
    bank: Bank
    noises: Array  # (m,), one for each deployment nuisance
    checkpoints: IntArray
    is_complex: bool
    table: Array  # (E, q) or, complex, (2 E, 2 q)
    moments: SecondMoments

    @property
    def n_keys(self) -> int:
        """The deployment keys of the bank."""
        return self.bank.n_deployment_keys

    def log_likelihood(self, keys: IntArray) -> Scores:
        """Prefix log likelihoods; the cost of a key does not depend on the number of rows."""
        atoms, variances, noises = self._parts(check_indices("keys", keys, self.n_keys))
        values, errors = np.empty((2, len(atoms), len(self.checkpoints)))
        counts = self.checkpoints.astype(np.float64)

        def score(part: slice) -> None:
            law = (atoms[part], variances[part], noises[part])
            filled = (values[part], errors[part])
            covariance_scores(self.table, *law, counts, self.moments, *filled)

        in_pieces(len(atoms), score, least=16)
        return Scores(values, errors)

    def enclosure(self, key: int, bits: int) -> list[arb]:
        """Prefix log likelihoods of one key as balls."""
        atoms, variances, noises = self._parts(check_indices("keys", [key], self.n_keys))
        active = atoms[0] >= 0
        law = (self.table[atoms[0, active]], variances[0, active], float(noises[0]))
        counts = self.checkpoints.tolist()
        return [covariance_enclosure(*law, s, t, bits) for (s,), t in zip(self._exact, counts, strict=True)]

    def _parts(self, keys: IntArray) -> tuple[IntArray, Array, Array]:
        parts = self.bank.deployment_parts(keys)
        noises = self.noises[parts.nuisance]
        if not self.is_complex:
            return parts.elements, parts.strengths, noises
        return doubled(parts.elements), np.repeat(parts.strengths / 2.0, 2, axis=1), noises

    @cached_property
    def _exact(self) -> ExactMoments:
        return exact_moments([self.rows], self.checkpoints, second_products)


def covariance_stream(
    bank: Bank, rows: RowSource, noises: ArrayLike, checkpoints: ArrayLike, *, is_complex: bool
) -> CovarianceStream:
    """The rows (N, q), read once and scored under every deployment key; strengths are variances of the sources."""
    table = atom_table(bank.states.elements, is_complex, has_phase=True)
    check_width(rows, table.shape[1])
    points = check_checkpoints(checkpoints, rows.n_rows)
    variances = check_noises(noises, is_complex, len(bank.deployment))
    (moments,) = prefix_moments([rows], points, second_products)
    return CovarianceStream(rows, bank, variances, points, is_complex, table, second_moments(moments, points))


def second_products(rows: Array) -> list[tuple[Array, Array]]:
    """Rows with themselves."""
    return [(rows, rows)]


def second_moments(moments: Moments, checkpoints: IntArray) -> SecondMoments:
    r"""The sums as the kernels read them, with a proof of the bounds.

    By Cauchy and Schwarz both the entry and the sum of absolute products are at most :math:`s_as_b` if :math:`s_a^2` is
    at least the exact diagonal entry.  With n rows a stored entry errs by u times itself and :math:`3(nu)^2s_as_b`, and
    underflow, which the least scale 2^-220 outweighs.
    """
    values, errors = moments.rounded()
    diagonal, e_diagonal = (np.diagonal(part, axis1=1, axis2=2) for part in (values, errors))
    scales = UP * np.sqrt(diagonal + e_diagonal) + 2.0**-220
    slack = 2.0 * U + 4.0 * (float(checkpoints[-1]) * U) ** 2
    traces = np.empty((2, len(values)))
    with ctx.workprec(320):
        for t in range(len(values)):
            traces[:, t] = ball(moments.enclosure(t).trace())
    return values, scales, slack, (traces[0], traces[1])


# Low-rank Gaussian log likelihoods of many keys.
#
# With :math:`\rho_j = \nu/\lambda_j`, the columns :math:`(a_j, \sqrt{\rho_j}e_j)` made orthogonal one after the other
# give :math:`\Sigma^{-1} = \tfrac1\nu(I - \sum_jd_j^{-1}w_jw_j^\top)` and
# :math:`\det\Sigma = \nu^q\prod_jd_j/\rho_j`: the factorisation of the small matrix of the Woodbury identity without
# forming it, which would square the condition number of coherent atoms.  :math:`w_j = a_j - \sum_{i<j}l_{ji}w_i` with
# :math:`l_{ji} = a_j^\top w_i/d_i`; the multipliers c of the atoms in w obey the same recursion, and
# :math:`d_j = |w_j|^2 + \sum_i\rho_ic_{ji}^2` adds only positive numbers.


@inner_njit()
def orthogonalise(
    atoms: Array, variances: Array, noise: float, w: tuple[Array, Array], c: tuple[Array, Array], d: tuple[Array, Array]
) -> tuple[float, float]:
    """Fill w (r, q), c (r, r) and d (r,) for atoms (r, q) as balls; returns the sum of log(d_j / rho_j)."""
    r, q = atoms.shape
    rho = np.empty(r)
    e_rho = np.empty(r)
    none = np.zeros(q)
    total = 0.0
    e_total = 0.0
    for j in range(r):
        rho[j], e_rho[j] = div(noise, 0.0, variances[j], 0.0)
        for a in range(q):
            w[0][j, a] = atoms[j, a]
            w[1][j, a] = 0.0
        for a in range(r):
            c[0][j, a] = 0.0
            c[1][j, a] = 0.0
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
        d[0][j] = v
        d[1][j] = e
        v, e = div(v, e, rho[j], e_rho[j])
        v, e = log(v, e)
        total, e_total = add(total, e_total, v, e)
    return total, e_total


@inner_njit()
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
    value = 0.0
    sigma = 0.0
    tau = 0.0
    for a in range(q):
        value += w[a] * image[a]
        sigma += abs(w[a]) * scales[a]
        tau += e_w[a] * scales[a]
    error = (slack + 1.03 * (2 * q + 3) * U) * sigma * sigma + 2.0 * sigma * tau + tau * tau
    # The sums above lose at most 2 q + 16 roundings.
    return value, error * (1.0 + 2.0 * U * (2 * q + 16)) + TINY


@cached_njit(nogil=True)
def covariance_scores(
    table: Array,
    elements: IntArray,
    variances: Array,
    noises: Array,
    counts: Array,
    known: SecondMoments,
    values: Array,
    errors: Array,
) -> None:
    """Log likelihoods of k keys at c checkpoints, each key computed alone.

    table: (E, q).  elements, variances: (k, r), padded with -1 and 0.  noises: (k,).  Fills values, errors (k, c).
    """
    moments, scales, slack, traces = known
    q = table.shape[1]
    most = elements.shape[1]
    for k in range(len(elements)):
        r = 0
        while r < most and elements[k, r] >= 0:
            r += 1
        atoms = np.empty((r, q))
        image = np.empty(q)
        for j in range(r):
            for a in range(q):  # a slice would compile the message of a shape error, for seconds
                atoms[j, a] = table[elements[k, j], a]
        w = np.empty((2, r, q))
        c = np.empty((2, r, r))
        d = np.empty((2, r))
        log_det, e_log_det = orthogonalise(atoms, variances[k], noises[k], (w[0], w[1]), (c[0], c[1]), (d[0], d[1]))
        v, e = log(noises[k], 0.0)
        v, e = add(v, e, LOG_TWO_PI, LOG_TWO_PI_ERROR)
        v, e = mul(float(q), 0.0, v, e)
        log_det, e_log_det = add(log_det, e_log_det, v, e)
        for t in range(len(counts)):
            rest = traces[0][t]
            e_rest = traces[1][t]
            for j in range(r):
                v, e = quadratic_form(moments[t], scales[t], slack, w[0, j], w[1, j], image)
                v, e = div(v, e, d[0, j], d[1, j])
                rest, e_rest = sub(rest, e_rest, v, e)
            rest, e_rest = div(rest, e_rest, noises[k], 0.0)
            v, e = mul(counts[t], 0.0, log_det, e_log_det)
            v, e = add(v, e, rest, e_rest)
            values[k, t], errors[k, t] = settle(-0.5 * v, 0.5 * e)


def drawn_log_likelihoods(covariance: Array, factors: Array, n_rows: int) -> Array:
    r"""(count,) :math:`-\tfrac n2\log\det(2\pi\Sigma) - \tfrac12|L^{-1}F|^2` of second moments :math:`FF^\top`.

    factors: F, (count, q, m).
    """
    lower = np.linalg.cholesky(covariance)
    count, size, width = factors.shape
    stacked = factors.transpose(1, 0, 2).reshape(size, count * width)
    white = solve_triangular(lower, stacked, lower=True).reshape(size, count, width)
    log_det = 2.0 * float(np.log(np.diag(lower)).sum()) + size * float(np.log(2.0 * np.pi))
    return np.asarray(-0.5 * (n_rows * log_det + np.sum(white**2, axis=(0, 2))))
