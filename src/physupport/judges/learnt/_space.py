r"""The space of the atoms of a dictionary, from calibration rows with any codes and a noise level that nobody knows.

Rows are :math:`y_i = Dc_i + \sigma\varepsilon_i` with n atoms in q channels, n < q, codes c that may be anything, and
white Gaussian noise.  R is the mean of :math:`y_iy_i^*` over all N rows, with eigenvalues
:math:`\lambda_1\ge\dots\ge\lambda_n` and, below these, :math:`\mu_1\ge\dots\ge\mu_{q-n}`; V and U hold their vectors.
S is the span of D, P projects on it, and Q = 1 - P.  Real rows have :math:`\beta = 1`.  Complex rows, with circular
noise of :math:`E|\varepsilon|^2 = 1` in every channel, have :math:`\beta = 2`, and a normal number squared is
:math:`\chi^2_\beta/\beta`.  Given PY, the residuals QY are white, whatever the codes are.  So with probability at least
1 - level all of these hold together:

1. :math:`K = |QRP(PRP)^{-1/2}|_F^2 \le \kappa = \sigma^2\chi^2_{\beta n(q-n)}/\beta N`: residuals, regressed on PY.
2. :math:`|QRQ| \le b`, :math:`\sigma^2/N` times the square of the largest singular value of normal numbers.
   Reflections from both sides make such a matrix m x N bidiagonal, with :math:`\chi_{\beta(N-i)}/\sqrt\beta` and
   beside them :math:`\chi_{\beta(m-1-i)}/\sqrt\beta`.  Its singular values are at most the largest of the first plus
   the largest of the others, and at least the smallest less the largest of the others.
3. :math:`N\mu_{q-n}/\sigma^2` is at least the square of the smallest of q x (N - n).  A rotation of the rows puts all
   codes into n of them, so that :math:`NR` is at least the second moment of N - n rows of noise.
4. :math:`\beta N\operatorname{tr}(QRQ)/\sigma^2` is between two quantiles of :math:`\chi^2_{\beta N(q-n)}`.
5. With :math:`v = (P(R - \sigma^2)P)^{-1}w` on S, :math:`|QRv|^2 \le \kappa_mv^*Rv` for all w in the span of any m of
   the atoms, :math:`\kappa_m = \sigma^2\chi^2_{\beta m(q-n)}/\beta N`: v is known from PY, and there are
   :math:`\binom nm` choices.

Let N be an orthonormal basis of the complement of S, and :math:`X = N^*V`.  From
:math:`X\Lambda - (N^*RN)X = N^*RPV` and :math:`|R^{1/2}PV\Lambda^{-1/2}| \le 1 + \sqrt b|X\Lambda^{-1/2}|` follows

.. math:: |X\Lambda^{1/2}|_F \le \sqrt\kappa\,/\,(1 - b/\lambda_n - \sqrt{\kappa b}/\lambda_n).

If :math:`|X| < 1`, S is the graph :math:`\{Vx + UGx\}` of a matrix G with
:math:`|G|\le g = |X|/\sqrt{1-|X|^2}`, and K is exactly
:math:`|(1+GG^*)^{-1/2}(\mathrm MG - G\Lambda)(\Lambda + G^*\mathrm MG)^{-1/2}|_F^2`, with M the diagonal of the
:math:`\mu`.  Hence

.. math:: \sum_{jk}|G_{jk}|^2\frac{(\lambda_k-\mu_j)^2}{\lambda_k} \le h^2 = \kappa(1+g^2)(1+\mu_1g^2/\lambda_n),

and :math:`\operatorname{tr}QRQ` is between :math:`\sum\mu_j` and :math:`\sum\mu_j + h^2/(1-\mu_1/\lambda_n)^2`, which
with 4 confines :math:`\sigma^2` to a short interval.

**Atoms.**  Let w be an atom, or in the span of m of them, :math:`x = V^*w` and :math:`u = U^*w`.  With 5,
:math:`(R - \sigma^2)v = w + e`, where :math:`e = QRv`, :math:`v = Vp + Ur` and :math:`e = Vf + Ud`.  S being a graph,
:math:`r = Gp` and :math:`f = -G^*d`.  With :math:`\varrho^2 = \sum\lambda_k|p_k|^2` this makes
:math:`|r| \le h\varrho/(\lambda_n-\mu_1)`, :math:`|e| \le \epsilon\varrho` with
:math:`\epsilon^2 = \kappa_m(1 + \mu_1h^2/(\lambda_n-\mu_1)^2)`, and :math:`|f| \le g\epsilon\varrho`.  From
:math:`(\lambda_k-\sigma^2)p_k = x_k + f_k` and :math:`(\mu_j-\sigma^2)r_j = u_j + d_j` follows

.. math:: |u| \le a_m\Big(\sum_k\frac{|x_k|^2\lambda_k}{(\lambda_k-\sigma^2)^2}\Big)^{1/2},\qquad
   a_m = \frac{\epsilon + \Delta h/(\lambda_n-\mu_1)}{1 - cg\epsilon},

with :math:`c = \sqrt{\lambda_n}/(\lambda_n-\sigma^2)` and :math:`\Delta = \max_j|\mu_j-\sigma^2|`, at the worst end
of the interval of :math:`\sigma^2`.  A vector that breaks this is no such combination; of vectors that are off by radii
:math:`r_i`, with coefficients :math:`\alpha_i`, the left side loses at most :math:`\sum|\alpha_i|r_i` and the sum on
the right gains at most c times as much.

The normals of S are :math:`d = Uy - VG^*y`, with any y.  Of a vector v with :math:`x = V^*v` and :math:`u = U^*v`,

.. math:: \operatorname{Re}d^*v \ge \operatorname{Re}y^*u - h\,\big(\textstyle\sum_{jk}|y_j|^2w_{jk}|x_k|^2\big)^{1/2},
   \qquad w_{jk} = \lambda_k/(\lambda_k-\mu_j)^2,

so that one y may show that this is above 0 for many v, whatever G is.

All bounds are of the atoms alone, so that any number of other places is excluded at no cost.  If :math:`\lambda_n`
does not stand out of the noise, nothing is excluded.
"""

from dataclasses import dataclass
from math import comb, inf, sqrt
from typing import Final, final

import numpy as np
from scipy.stats import chi2

from ..._checks import check_columns, check_count, check_open
from ..._errors import MisuseError
from ..._typing import Array, Field

# Parts of the level for the statements 1 to 4, of which the last has two sides, and for sets of 1, 2 and 3 atoms.
_SHARES: Final = (0.15, 0.05, 0.05, 0.05)
_ATOM_SHARES: Final = (0.5, 0.15, 0.05)
# More than all rounding of eigenvectors and sums, as a part of h and of the norm of a response.
_ROUNDING: Final = 1e-9
# The least variance of noise that rounding leaves as it is, as a part of the largest eigenvalue.
_LEAST_NOISE: Final = 1e-11
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
    vectors: Field  # (q, q) their vectors
    width: float  # h, infinite if the smallest of n eigenvalues does not stand out of the noise
    widths: tuple[float, ...]  # a_m of one atom, of two and of three
    noise: float  # an upper bound of the standard deviation of the noise
    is_exceeded: bool  # more than n atoms, or noise that is not white: some law of the rows is no such dictionary

    @property
    def is_resolved(self) -> bool:
        """True if every one of the n directions stands out of the noise."""
        return self.widths[0] < inf

    def distances(self, vectors: Field, radii: Array) -> Array:
        r"""(P,) the largest :math:`|u|` of sets of m vectors in units of its bound; above 1 no m atoms span them.

        vectors: (m, q, P), or (q, P) of single ones, of any length.  radii: (m, P), how far each may be off.
        """
        sets = vectors[None] if vectors.ndim == 2 else vectors
        if not self.is_resolved:
            return np.zeros(sets.shape[2])
        if len(sets) > self.n_atoms:
            return np.full(sets.shape[2], inf)
        strong = self.values[: self.n_atoms]
        width = self.widths[len(sets) - 1]
        if width == inf:
            return np.zeros(sets.shape[2])
        weights = strong / (strong - self.noise**2) ** 2
        inside = np.einsum("qk,mqp->pkm", self.vectors[:, : self.n_atoms].conj(), sets) * np.sqrt(weights)[:, None]
        outside = np.einsum("qj,mqp->pjm", self.vectors[:, self.n_atoms :].conj(), sets)
        mixed = _mixed(inside, outside)  # (P, m)
        attained = np.linalg.norm(np.einsum("pjm,pm->pj", outside, mixed), axis=1)
        allowed = width * np.linalg.norm(np.einsum("pkm,pm->pk", inside, mixed), axis=1)
        off = np.reshape(radii, (len(sets), -1)) + _ROUNDING * np.linalg.norm(sets, axis=1)  # (m, P)
        lost = (np.abs(mixed) * off.T).sum(axis=1) * (1.0 + width * float(np.sqrt(weights.max())))
        with np.errstate(divide="ignore", invalid="ignore"):
            least = np.where(allowed > 0.0, (attained - lost) / allowed, 0.0)
        return np.asarray(np.maximum(least, 0.0))

    def normal(self, low: Field, high: Field) -> Field | None:
        """(q - n,) a y whose normals have products above 0 with all vectors of P boxes, (q, P) their ends, or None.

        Any y is valid; it is looked for by giving weight to the vector that is worst in units of its bound.
        """
        if not (self.is_resolved and np.isfinite(low).all() and np.isfinite(high).all()):
            return None
        (strong, weak) = np.split(self.values, [self.n_atoms])
        (inner, outer) = np.split(self.vectors.T, [self.n_atoms])
        middle = 0.5 * low + 0.5 * high
        half = 0.5 * (high - low)
        reach = np.hypot(half.real, half.imag) + _ROUNDING * np.linalg.norm(middle, axis=0)
        outside = outer.conj() @ middle  # (q - n, P)
        inside = np.abs(inner.conj() @ middle) + np.abs(inner) @ reach  # (n, P)
        costs = (strong / (strong - weak[:, None]) ** 2) @ inside**2  # (q - n, P)
        share = np.full(middle.shape[1], 1.0 / middle.shape[1])
        for _ in range(_TRIES):
            y = (outside @ share) / (costs @ share)
            allowed = np.sqrt(np.abs(y) ** 2 @ costs)
            excess = (y.conj() @ outside).real - np.abs(y @ outer) @ reach - self.width * allowed
            if (excess > 0.0).all():
                return np.asarray(y)
            share = (1.0 - _LEARNS) * share
            share[np.argmin(excess / allowed)] += _LEARNS
        return None


def _mixed(inside: Field, outside: Field) -> Field:
    """(P, m) the coefficients with the largest outside (P, j, m) for their inside (P, k, m), but for rounding."""
    gram = np.einsum("pkm,pkl->pml", inside.conj(), inside)
    scale = np.einsum("pmm->p", gram).real + np.finfo(np.float64).tiny
    gram = gram + _RIDGE * scale[:, None, None] * np.eye(gram.shape[1])
    half = np.linalg.inv(np.linalg.cholesky(gram))
    across = outside @ half.conj().swapaxes(1, 2)
    _, directions = np.linalg.eigh(across.conj().swapaxes(1, 2) @ across)
    return np.asarray(np.einsum("plm,pl->pm", half.conj(), directions[:, :, -1]))


def signal_space(rows: Field, n_atoms: int, level: float) -> SignalSpace:
    """Bound the span of the atoms of a dictionary from calibration rows (N, q), all of which judge."""
    table = check_columns("calibration", rows, None)
    (n_rows, q) = table.shape
    n = check_count("n_atoms", n_atoms)
    check_open("level", level, 0.0, 1.0)
    if n_rows < 2 * q:
        raise MisuseError("calibration", f"have at least {2 * q} rows for {q} channels", n_rows)
    values, vectors = np.linalg.eigh(table.T @ table.conj() / n_rows)
    values = np.maximum(values[::-1], 0.0)
    vectors = vectors[:, ::-1]
    if n >= q:
        return SignalSpace(n, n_rows, level, values, vectors, inf, (inf,), inf, False)
    if values[n] <= _LEAST_NOISE * values[0]:
        rule = "have noise of more than some millionths of the signals, as rounding is no white noise"
        remedy = "Add white normal noise of a hundred-thousandth of their size."
        raise MisuseError(
            "calibration", rule, f"{float(np.sqrt(values[n] / max(values[0], 1e-300))):.1g} of them", remedy
        )
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


def _singular(m: int, n_rows: int, parts: int, level: float) -> tuple[float, float]:
    """Bounds of the singular values of m x n_rows normal numbers, the lower and the upper one each at the level."""
    share = level / (2 * m)
    beside = sqrt(chi2.isf(share, parts * (m - 1)) / parts) if m > 1 else 0.0
    least = sqrt(chi2.ppf(share, parts * (n_rows - m + 1)) / parts) - beside
    return max(least, 0.0), sqrt(chi2.isf(share, parts * n_rows) / parts) + beside


def _bounded(values: Array, vectors: Field, n: int, n_rows: int, level: float) -> SignalSpace:
    """The bounds that follow from eigenvalues, the largest first."""
    q = len(values)
    parts = 2 if np.iscomplexobj(vectors) else 1
    strong = float(values[n - 1])
    weak = values[n:]
    first, second, third, fourth = (share * level for share in _SHARES)
    least, _ = _singular(q, n_rows - n, parts, third)
    noise2 = float(weak[-1]) * n_rows / least**2 if least > 0.0 else inf
    spread = _singular(q - n, n_rows, parts, second)[1] ** 2 / n_rows
    is_exceeded = float(weak[0]) > noise2 * spread
    regression = float(chi2.isf(first, parts * n * (q - n))) / (parts * n_rows)
    energies = np.asarray(chi2.ppf([0.5 * fourth, 1.0 - 0.5 * fourth], parts * n_rows * (q - n))) / (parts * n_rows)
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
        noise2 = min(noise2, trace / float(energies[0]))
    widths: tuple[float, ...] = (inf,)
    if width < inf and noise2 < strong:
        off = max(float(weak[0]) - float(weak.sum() / energies[1]), noise2 - float(weak[-1]))
        ratio = width / (strong - float(weak[0]))
        slope = sqrt(strong) / (strong - noise2)
        widths = tuple(
            _atom_width(noise2 * quantile * (1.0 + float(weak[0]) * ratio**2), off * ratio, slope * tilt)
            for quantile in _atom_quantiles(n, n_rows, q, parts, level)
        )
    return SignalSpace(n, n_rows, level, values, vectors, width * (1.0 + _ROUNDING), widths, sqrt(noise2), is_exceeded)


def _atom_quantiles(n: int, n_rows: int, q: int, parts: int, level: float) -> list[float]:
    """Bounds of the residuals of the combinations of one atom, of two and of three, in units of the noise variance."""
    shares = _ATOM_SHARES[: min(n, len(_ATOM_SHARES))]
    return [
        float(chi2.isf(share * level / comb(n, m), parts * m * (q - n))) / (parts * n_rows)
        for m, share in enumerate(shares, 1)
    ]


def _atom_width(epsilon2: float, shift: float, slope: float) -> float:
    """The bound a of |u| in units of its right side."""
    epsilon = sqrt(epsilon2)
    return (epsilon + shift) / (1.0 - slope * epsilon) * (1.0 + _ROUNDING) if slope * epsilon < 1.0 else inf
