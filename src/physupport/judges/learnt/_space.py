r"""The space of the atoms of a dictionary, from calibration rows with any codes and a noise level that nobody knows.

Rows are :math:`y_i = Dc_i + \sigma\varepsilon_i` with n atoms in q channels, n < q, codes c that may be anything, and
white Gaussian noise.  R is the mean of :math:`y_iy_i^T` over all N rows, with eigenvalues
:math:`\lambda_1\ge\dots\ge\lambda_n` and, below these, :math:`\mu_1\ge\dots\ge\mu_{q-n}`; V and U hold their vectors.
S is the span of D, P projects on it, and Q = 1 - P.  Given PY, the residuals QY are white, whatever the codes are.  So
with probability at least 1 - level all of these hold together:

1. :math:`K = |QRP(PRP)^{-1/2}|_F^2 \le \kappa = \sigma^2\chi^2_{n(q-n)}/N`: the residuals, regressed on PY.
2. :math:`|QRQ| \le b = \sigma^2(1 + \sqrt{(q-n)/N} + \dots)^2`: the largest singular value of a normal matrix.
3. :math:`\sigma^2 \le \mu_{q-n}/(\sqrt{1-n/N} - \sqrt{q/N} - \dots)^2`.  A rotation of the rows puts all codes
   into n of them, so that :math:`NR` is at least the second moment of N - n rows of noise.
4. :math:`N\operatorname{tr}(QRQ)/\sigma^2` is at least a quantile of :math:`\chi^2_{N(q-n)}`.

Let N be an orthonormal basis of the complement of S, and :math:`X = N^TV`.  From
:math:`X\Lambda - (N^TRN)X = N^TRPV` and :math:`|R^{1/2}PV\Lambda^{-1/2}| \le 1 + \sqrt b|X\Lambda^{-1/2}|` follows

.. math:: |X\Lambda^{1/2}|_F \le \sqrt\kappa\,/\,(1 - b/\lambda_n - \sqrt{\kappa b}/\lambda_n).

If :math:`|X| < 1`, S is the graph :math:`\{Vx + UGx\}` of a matrix G with
:math:`|G|\le g = |X|/\sqrt{1-|X|^2}`, and K is exactly
:math:`|(1+GG^T)^{-1/2}(\mathrm MG - G\Lambda)(\Lambda + G^T\mathrm MG)^{-1/2}|_F^2`, with M the diagonal of the
:math:`\mu`.  Hence

.. math:: \sum_{jk}G_{jk}^2\frac{(\lambda_k-\mu_j)^2}{\lambda_k} \le h^2 = \kappa(1+g^2)(1+\mu_1g^2/\lambda_n),

and :math:`\operatorname{tr}QRQ \le \sum\mu_j + h^2/(1-\mu_1/\lambda_n)^2`, which with 4 makes the bound of
:math:`\sigma^2` sharp.  An atom a of the dictionary lies in S: with :math:`x = V^Ta` and :math:`u = U^Ta`, u = Gx, so
that by the inequality of Cauchy and Schwarz

.. math:: \sum_ju_j^2\Big/\sum_k\frac{x_k^2\lambda_k}{(\lambda_k-\mu_j)^2} \le h^2.

A response that breaks this is no atom of the dictionary.  Vectors that the space holds together have
:math:`GX_0 = U_0`, with their coordinates as columns.  With weights :math:`w_{jk} = \lambda_k/(\lambda_k-\mu_j)^2`,
their diagonal matrices :math:`W_j` and any dual :math:`\Lambda`,

.. math:: h \ge \operatorname{tr}(\Lambda^TU_0)\big/\big(\textstyle\sum_j\Lambda_jX_0^TW_jX_0\Lambda_j^T\big)^{1/2},

of one vector the inequality above.  Vectors that are off by radii :math:`r_i` change the numerator by at most
:math:`\sum_i|\Lambda_{\cdot i}|r_i(1+g)`.

The normals of S are :math:`d = Uy - VG^Ty`, with any y.  Of a vector v with :math:`x = V^Tv` and :math:`u = U^Tv`,

.. math:: d^Tv \ge y^Tu - h\,\big(\textstyle\sum_{jk}y_j^2w_{jk}x_k^2\big)^{1/2},

so that one y may show that :math:`d^Tv > 0` for many v, whatever G is.

The bound holds for all responses at once, so that any number of places is excluded together.  If :math:`\lambda_n`
does not stand out of the noise, nothing is excluded.
"""

from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Final, final

import numpy as np
from scipy.stats import chi2

from ..._checks import check_array, check_count, check_open
from ..._errors import MisuseError
from ..._typing import Array

# Parts of the level for the four statements.
_SHARES: Final = (0.8, 0.1, 0.05, 0.05)
# More than all rounding of eigenvectors and sums, as a part of h and of the norm of a response.
_ROUNDING: Final = 1e-9
# Of a system of equations that may be singular; any dual vector bounds.
_RIDGE: Final = 1e-12
# Of the number of rows, when more of them are thought of.
_MOST_DOUBLINGS: Final = 24
# Refinements of the bound of the noise, each of which is valid.
_STEPS: Final = 6
# Choices of normals that are tried, and how much weight the worst vector gains in each.
_TRIES: Final = 60
_LEARNS: Final = 0.05


@final
@dataclass(frozen=True, slots=True, eq=False)
class SignalSpace:
    """Bounds that calibration rows set to the span of n atoms; all hold with probability at least 1 - level."""

    n_atoms: int
    n_rows: int
    level: float
    values: Array  # (q,) eigenvalues of the mean second moment, the largest first
    vectors: Array  # (q, q) their vectors
    width: float  # h, infinite if the smallest of n eigenvalues does not stand out of the noise
    tilt: float  # a bound of |G|
    noise: float  # an upper bound of the standard deviation of the noise
    is_exceeded: bool  # more than n atoms, or noise that is not white: some law of the rows is no such dictionary

    @property
    def is_resolved(self) -> bool:
        """True if every one of the n directions stands out of the noise."""
        return self.width < inf

    def distances(self, vectors: Array, radii: Array) -> Array:
        """(P,) the least :math:`|H|/h` at which the space can hold m vectors of each of P sets; above 1 it holds none.

        vectors: (m, q, P), or (q, P) of single ones, of any length.  radii: (m, P), how far each may be off.
        """
        sets = vectors[None] if vectors.ndim == 2 else vectors
        if not self.is_resolved:
            return np.zeros(sets.shape[2])
        strong = self.values[: self.n_atoms]
        weak = self.values[self.n_atoms :]
        inside = np.einsum("qk,mqp->pmk", self.vectors[:, : self.n_atoms], sets)
        outside = np.einsum("qj,mqp->pmj", self.vectors[:, self.n_atoms :], sets)
        weights = strong / (strong - weak[:, None]) ** 2  # (q - n, n)
        grams = np.einsum("pmk,jk,plk->pjml", inside, weights, inside)
        grams += _RIDGE * np.einsum("pjmm->pj", grams)[..., None, None] * np.eye(len(sets))
        duals = np.linalg.solve(grams, outside.swapaxes(1, 2)[..., None])[..., 0]  # (P, q - n, m)
        squares = np.einsum("pjm,pjml,pjl->p", duals, grams, duals)
        attained = np.einsum("pjm,pmj->p", duals, outside)
        off = np.reshape(radii, (len(sets), -1)) + _ROUNDING * np.linalg.norm(sets, axis=1)  # (m, P)
        lost = (np.linalg.norm(duals, axis=1) * off.T).sum(axis=1) * (1.0 + self.tilt)
        with np.errstate(divide="ignore", invalid="ignore"):
            least = np.where(squares > 0.0, (attained - lost) / np.sqrt(squares), 0.0)
        return np.asarray(np.maximum(least, 0.0) / self.width)

    def normal(self, low: Array, high: Array) -> Array | None:
        """(q - n,) a y whose normals have products above 0 with all vectors of P boxes, (q, P) their ends, or None.

        Any y is valid; it is looked for by giving weight to the vector that is worst in units of its bound.
        """
        if not (self.is_resolved and np.isfinite(low).all() and np.isfinite(high).all()):
            return None
        (strong, weak) = np.split(self.values, [self.n_atoms])
        (inner, outer) = np.split(self.vectors.T, [self.n_atoms])
        middle = 0.5 * low + 0.5 * high
        reach = 0.5 * (high - low) + _ROUNDING * np.linalg.norm(middle, axis=0)
        outside = outer @ middle  # (q - n, P)
        inside = np.abs(inner @ middle) + np.abs(inner) @ reach  # (n, P)
        costs = (strong / (strong - weak[:, None]) ** 2) @ inside**2  # (q - n, P)
        share = np.full(middle.shape[1], 1.0 / middle.shape[1])
        for _ in range(_TRIES):
            y = (outside @ share) / (costs @ share)
            excess = y @ outside - np.abs(y @ outer) @ reach - self.width * np.sqrt(y**2 @ costs)
            if (excess > 0.0).all():
                return np.asarray(y)
            share = (1.0 - _LEARNS) * share
            share[np.argmin(excess / np.sqrt(y**2 @ costs))] += _LEARNS
        return None


def signal_space(rows: Array, n_atoms: int, level: float) -> SignalSpace:
    """Bound the span of the atoms of a dictionary from calibration rows (N, q), all of which judge."""
    table = check_array("calibration", rows, (None, None))
    (n_rows, q) = table.shape
    n = check_count("n_atoms", n_atoms)
    check_open("level", level, 0.0, 1.0)
    if n_rows < 2 * q:
        raise MisuseError("calibration", f"have at least {2 * q} rows for {q} channels", n_rows)
    values, vectors = np.linalg.eigh(table.T @ table / n_rows)
    values = np.maximum(values[::-1], 0.0)
    vectors = vectors[:, ::-1]
    if n >= q:
        return SignalSpace(n, n_rows, level, values, vectors, inf, inf, inf, False)
    return _bounded(values, vectors, n, n_rows, level)


def rows_needed(space: SignalSpace) -> int | None:
    """About how many rows like these would let the space of the atoms stand out; None if no number of them would."""
    n = space.n_atoms
    if n >= len(space.values):
        return None
    noise2 = float(space.values[n:].mean())
    values = np.append(space.values[:n], np.full(len(space.values) - n, noise2))
    for doublings in range(_MOST_DOUBLINGS):
        count = space.n_rows << doublings
        if _bounded(values, space.vectors, n, count, space.level).is_resolved:
            return count
    return None


def _bounded(values: Array, vectors: Array, n: int, n_rows: int, level: float) -> SignalSpace:
    """The bounds that follow from eigenvalues, the largest first."""
    q = len(values)
    strong = float(values[n - 1])
    weak = values[n:]
    first, second, third, fourth = (share * level for share in _SHARES)
    room = sqrt(1.0 - n / n_rows) - sqrt(q / n_rows) - sqrt(-2.0 * log(third) / n_rows)
    noise2 = float(weak[-1]) / room**2 if room > 0.0 else inf
    spread = (1.0 + sqrt((q - n) / n_rows) + sqrt(-2.0 * log(second) / n_rows)) ** 2
    is_exceeded = float(weak[0]) > noise2 * spread
    regression = float(chi2.isf(first, n * (q - n))) / n_rows
    energy = float(chi2.ppf(fourth, n_rows * (q - n))) / n_rows
    width = inf
    tilt = inf
    for _ in range(_STEPS):
        kappa = regression * noise2
        b = spread * noise2
        left = 1.0 - b / strong - sqrt(kappa * b) / strong if strong > 0.0 else 0.0
        tilt2 = kappa / (left**2 * strong) if left > 0.0 else inf  # of |X|
        if not tilt2 < 1.0 or weak[0] >= strong:
            break
        g2 = tilt2 / (1.0 - tilt2)
        tilt = sqrt(g2)
        width = sqrt(kappa * (1.0 + g2) * (1.0 + float(weak[0]) * g2 / strong))
        trace = float(weak.sum()) + width**2 / (1.0 - float(weak[0]) / strong) ** 2
        noise2 = min(noise2, trace / energy)
    return SignalSpace(n, n_rows, level, values, vectors, width * (1.0 + _ROUNDING), tilt, sqrt(noise2), is_exceeded)
