r"""How much of second moments one response holds that is known up to an angle, in rows with coefficients of their own.

Likelihoods of one response h of norm 1 depend on second moments R through :math:`u = h^*Rh` and
:math:`\operatorname{tr}R` alone, and grow with u where h explains more than noise would.  So the best h with
:math:`|a^*h|^2 \ge 1 - \epsilon^2` is the one of the largest u, a search along one number: for every :math:`\mu` above
all eigenvalues of R, :math:`x = (\mu - R)^{-1}a` has

.. math:: \max u \le \mu - (1 - \epsilon^2)/a^*x,

as :math:`\mu` is the largest eigenvalue of :math:`R + aa^*/a^*x`; and x itself, where it lies within the angle, has
:math:`u = \mu - a^*x/x^*x`.  The angle of x falls from that of the leading eigenvector to 0 as :math:`\mu` grows, and
where its sine is :math:`\epsilon` both agree.  If the leading eigenvector lies within the angle, they agree as
:math:`\mu` falls to its eigenvalue.  The bound is what counts: whatever the search did, a response within the angle is
no more likely than it says.
"""

from dataclasses import dataclass
from typing import Self, final

import numpy as np
from flint import acb_mat, arb

from ..._typing import Array, Field

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
        """Of a column, and how far it may be off."""
        size = float(np.linalg.norm(column))
        return cls(column / size, min(radius / size, 1.0))

    def best(self, moments: Field) -> tuple[float, Field]:
        """The mu of the search for second moments (q, q), and the response (q,) of norm 1 that it finds."""
        values, vectors = np.linalg.eigh(moments)
        along = vectors.conj().T @ self.atom
        squares, top, least = np.abs(along) ** 2, float(values[-1]), 1.0 - self.eps**2
        size = max(float(values.sum()), np.finfo(np.float64).tiny)
        # Above the error of the eigenvalues, and where the angle is less than eps for sure.
        low, high = 1024.0 * _EPS * len(values) * size, size / max(self.eps, 1e-8)
        for _ in range(_STEPS):
            middle = np.sqrt(low * high)
            low, high = (low, middle) if _cosine(squares, top + middle - values) >= least else (middle, high)
        mu = top + high
        response = vectors @ (along / (mu - values))
        return mu, np.asarray(response / np.linalg.norm(response))

    def gain(self, moments: Field) -> tuple[float, float]:
        """What u cannot exceed, and the error of that by rounding, which is that of a change of the moments."""
        mu, _ = self.best(moments)
        held = float((self.atom.conj() @ np.linalg.solve(mu * np.eye(len(moments)) - moments, self.atom)).real)
        size = max(float(np.trace(moments).real), mu)  # mu is large for small angles, and cancels
        return mu - (1.0 - self.eps**2) / held, 64.0 * _EPS * (len(moments) + 8) * size

    def enclosed(self, moments: acb_mat, mu: float) -> arb:
        """The same in a ball; everything where mu may be no more than an eigenvalue."""
        q, atom = len(self.atom), _column(self.atom)
        shifted = arb(mu) * acb_mat(q, q, [int(i == j) for i in range(q) for j in range(q)]) - moments
        if not _is_positive(shifted):
            return arb(0, float("inf"))
        whole, held = (_product(other, atom) for other in (atom, shifted.solve(atom)))
        bound: arb = mu - (1 - arb(self.eps) ** 2) * whole / held
        return bound


def _cosine(squares: Array, gaps: Array) -> float:
    """Squared cosine between the response and x, as mu and its distances from the eigenvalues have it."""
    return float((squares / gaps).sum() ** 2 / (squares / gaps**2).sum())


def _column(values: Field) -> acb_mat:
    numbers = np.asarray(values, dtype=np.complex128).tolist()
    return acb_mat(len(numbers), 1, numbers)


def _product(left: acb_mat, right: acb_mat) -> arb:
    return (right.conjugate().transpose() * left)[0, 0].real


def _is_positive(matrix: acb_mat) -> bool:
    """Whether a Hermitian matrix is positive definite for sure: its pivots are, in balls."""
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
