r"""How much of second moments responses hold that are known up to an angle, where rows have coefficients of their own.

One response.  Likelihoods of one response h of norm 1 depend on second moments R through :math:`u = h^*Rh` and
:math:`\operatorname{tr}R` alone, and grow with u where h explains more than noise would.  So the best h with
:math:`|a^*h|^2 \ge 1 - \epsilon^2` is the one of the largest u, a search along one number: for every :math:`\mu`
above all eigenvalues of R, :math:`x = (\mu - R)^{-1}a` has

.. math:: \max u \le \mu - (1 - \epsilon^2)/a^*x,

as :math:`\mu` is the largest eigenvalue of :math:`R + aa^*/a^*x`; and x itself, where it lies within the angle, has
:math:`u = \mu - a^*x/x^*x`.  The angle of x falls from that of the leading eigenvector to 0 as :math:`\mu` grows, and
where its sine is :math:`\epsilon` both agree.  If the leading eigenvector lies within the angle, they agree as
:math:`\mu` falls to its eigenvalue.  The bound is what counts: whatever the search did, a response within the angle
is no more likely than it says.

Several of them, beside background.  With unit columns N, of which column j may move by :math:`d_j`,
:math:`|d_j| \le e_j`, a mean :math:`(N + D)c` is at most :math:`\sum_je_j|c_j|` from :math:`Nc`, and that is at most
:math:`\eta|Nc|` with :math:`\eta^2 = \sum_{ij}e_ie_j|(N^*N)^{-1}_{ij}|`.  So all of the moved span lies within an angle
to the span of N whose sine is :math:`\eta`.  Orthonormal X in it have
:math:`\operatorname{tr}X^*P^\perp X \le k\eta^2`, :math:`P^\perp` the projection beside the span of N, and so
the k largest eigenvalues of R within it add up to at most

.. math:: G_k = \min_{t\ge0}\Big(\sum_{i\le k}\lambda_i(R - tP^\perp) + tk\eta^2\Big).

The cost of rows with random coefficients falls in each eigenvalue :math:`\mu` within the span as :math:`\log\mu -
\mu/s` does above s, which is concave.  So it is never less than with :math:`\mu_k = G_k - G_{k-1}`, which majorise
all others weakly, and decrease, as :math:`G_k` is concave in k where all k share their values of t.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import copysign, exp, log
from typing import Self, final

import numpy as np
from flint import acb_mat, arb

from ..._typing import Array, Field
from ._widths import TOLERANCE, ball_matrix

_EPS = float(np.finfo(np.float64).eps)
# Halvings of the search: the bracket ends within rounding.
_STEPS = 64


@final
@dataclass(frozen=True, slots=True, eq=False)
class Cone:
    """One response that is known up to an angle; eps from 1 on is any response."""

    atom: Field  # (q,) of norm 1
    eps: float

    @classmethod
    def of(cls, column: Field, radius: float) -> Self:
        """The cone of a column, and of how far it may be off."""
        size = float(np.linalg.norm(column))
        return cls(column / size, min(radius / size, 1.0))

    def best(self, moments: Field) -> tuple[float, Field]:
        """The mu of the search for second moments (q, q), and the response (q,) of norm 1 that it finds."""
        values, vectors = np.linalg.eigh(moments)
        along = vectors.conj().T @ self.atom
        squares = np.abs(along) ** 2
        top = float(values[-1])
        least = 1.0 - self.eps**2
        size = max(float(values.sum()), np.finfo(np.float64).tiny)
        # Above the error of the eigenvalues, and where the angle is less than eps for sure.
        low = 1024.0 * _EPS * len(values) * size
        high = size / max(self.eps, 1e-8)
        for _ in range(_STEPS):
            middle = np.sqrt(low * high)
            low, high = (low, middle) if _cosine(squares, top + middle - values) >= least else (middle, high)
        mu = top + high
        response = vectors @ (along / (mu - values))
        return mu, np.asarray(response / np.linalg.norm(response))

    def gain(self, moments: Field) -> tuple[float, float]:
        """The least upper bound of u, and the error of that by rounding, which is that of a change of the moments."""
        mu, _ = self.best(moments)
        held = float((self.atom.conj() @ np.linalg.solve(mu * np.eye(len(moments)) - moments, self.atom)).real)
        size = max(float(np.trace(moments).real), mu)  # mu is large for small angles, and cancels
        return mu - (1.0 - self.eps**2) / held, 64.0 * _EPS * (len(moments) + 8) * size

    def enclosed(self, moments: acb_mat, mu: float) -> arb:
        """The same in a ball; everything where mu may be no more than an eigenvalue."""
        q = len(self.atom)
        atom = ball_matrix(self.atom[:, None])
        shifted = arb(mu) * acb_mat(q, q, [int(i == j) for i in range(q) for j in range(q)]) - moments
        if not _is_positive(shifted):
            return arb(0, float("inf"))
        whole, held = (_product(other, atom) for other in (atom, shifted.solve(atom)))
        bound: arb = mu - (1 - arb(self.eps) ** 2) * whole / held
        return bound


def _cosine(squares: Array, gaps: Array) -> float:
    """Squared cosine between the response and x, as mu and its distances from the eigenvalues have it."""
    return float((squares / gaps).sum() ** 2 / (squares / gaps**2).sum())


# Values of t above 0 at first, in equal ratios, and how many more are tried for each k: G is a convex function of t, so
# that the vertex of a parabola through the best of them and its neighbours comes near its minimum soon.
_FIRST = np.linspace(0.0, 1.0, 10)
_REFINED = 4
# The logarithm of a first neighbour that is 0 is taken to lie this far below that of the next.
_NEAR_0 = 5.0
# A vertex keeps this share of the smaller interval away from the best value, so that intervals shrink.
_APART = 0.05


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tilted:
    """A span that is known up to an angle; from a sine of 1 on it is any span of this dimension."""

    basis: Field  # (q, m)
    sine: float

    @classmethod
    def of(cls, columns: Field, radii: Array) -> Self:
        """The span of columns (q, m) that may be off by these radii (m,)."""
        norms = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
        left, values, right = np.linalg.svd(columns / norms, full_matrices=False)
        if columns.shape[1] > len(columns) or not values.min(initial=1.0) > TOLERANCE:
            return cls(left, 1.0)
        inverse = np.abs((right.conj().T / values**2) @ right)
        scaled = radii / norms
        return cls(left, min(float(np.sqrt(scaled @ inverse @ scaled)) * (1.0 + 1e-6), 1.0))

    def gains(self, moments: Field) -> tuple[Array, float, Field]:
        """(m,) the most that the largest eigenvalues add up to, one after the other, how far off, and the best span."""
        (q, m) = self.basis.shape
        beside = np.eye(q) - self.basis @ self.basis.conj().T
        size = float(np.trace(moments).real)
        counts = np.arange(1, m + 1)
        tried = np.zeros(1)  # the best of a span that may be any
        if self.sine < 1.0:
            tried = np.append(tried, 1e-4 * max(size, 1e-300) * (1e6 / max(self.sine, 1e-6)) ** _FIRST)
        known = list[float]()
        sums = list[list[float]]()
        for number in range(1 + _REFINED if self.sine < 1.0 else 1):
            if number:
                tried = np.array(sorted({_vertex(known, each) for each in zip(*sums, strict=True)} - {*known}))
            values = np.linalg.eigvalsh(moments - tried[:, None, None] * beside)[:, ::-1][:, :m]
            found = np.cumsum(values, axis=1) + tried[:, None] * counts * self.sine**2
            for t, sum_of in zip(tried.tolist(), found.tolist(), strict=True):
                place = bisect_left(known, t)
                known.insert(place, t)
                sums.insert(place, sum_of)
        table = np.array(sums)
        least = table.min(axis=0)
        best = table.argmin(axis=0)
        off = 64.0 * _EPS * (q + 8) * m * (size + known[best.max()])
        vectors = np.linalg.eigh(moments - known[best[-1]] * beside)[1]
        return np.maximum(np.diff(least, prepend=0.0), 0.0), off, np.asarray(vectors[:, ::-1][:, :m])


def _vertex(known: Sequence[float], sums: Sequence[float]) -> float:
    """The t at the vertex of the parabola through the best value and its neighbours, over the logarithm of t.

    known: at least three values of t that increase.
    """
    best = sums.index(min(sums))
    i = min(max(best, 1), len(known) - 2)
    centre = log(known[i])
    left = centre - log(known[i - 1]) if known[i - 1] > 0.0 else _NEAR_0
    right = log(known[i + 1]) - centre
    falls = (sums[i] - sums[i - 1]) / left
    rises = (sums[i + 1] - sums[i]) / right
    if best != i or not rises > falls:  # at an end, or flat
        return exp(centre + (-0.5 * left if best < i else 0.5 * right))
    away = 0.5 * (falls * right + rises * left) / (falls - rises)
    away = min(max(away, -0.9 * left), 0.9 * right)
    least = _APART * min(left, right)
    return exp(centre + (away if abs(away) > least else copysign(least, away)))


def span_sine(columns: Field, radii: Array) -> float:
    """The sine of the angle by which the span of columns (q, m) may be off; 1 is any span."""
    return Tilted.of(columns, radii).sine


def _product(left: acb_mat, right: acb_mat) -> arb:
    return (right.conjugate().transpose() * left)[0, 0].real


def _is_positive(matrix: acb_mat) -> bool:
    """True if a Hermitian matrix is positive definite for sure: its pivots are, in balls."""
    n = matrix.nrows()
    rows = [[matrix[i, j] for j in range(n)] for i in range(n)]
    for k in range(n):
        pivot = rows[k][k].real
        if not pivot > 0:
            return False
        for i in range(k + 1, n):
            factor = rows[i][k] / pivot
            rows[i] = [entry - factor * other for entry, other in zip(rows[i], rows[k], strict=True)]
    return True
