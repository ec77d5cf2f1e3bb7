r"""How far rows lie from means whose responses are known up to an angle.

A response h with :math:`\sin\angle(h, a) \le \epsilon` is, up to a factor, a + d with :math:`|d| \le \epsilon|a|`, and
every such a + d is one.  So means are :math:`Ax + B\beta + d` with :math:`|d| \le \sum_je_j|x_j|`,
:math:`e_j = \epsilon|a_j|`, and the nearest is at distance :math:`\max(0, \min_{x,\beta}|z - Ax - B\beta| -
\sum_je_j|x_j|)`.  As :math:`|x_j|` is the largest of :math:`s_jx_j` over numbers s of modulus 1, the minimum is the
least over s of convex ones, each with a closed form: with :math:`\hat x` the coefficients of least squares, R their
residual and G the products of all columns,

.. math:: \rho(s) = R\sqrt{1 - g} - \mathrm{Re}\langle es, \hat x\rangle,\qquad g = (es)^*G^{-1}(es),

and minus infinity from g = 1 on: there the ball holds everything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Self, final

import numpy as np
from flint import arb, arb_mat

from ..._typing import Array, Field

_EPS = float(np.finfo(np.float64).eps)
# Directions of columns with less than this are rounding.
_TOLERANCE = 1e-8
# More elements of either sign at once have too many combinations; they are bounded as phases are.
_MOST_SIGNS = 8
# From here on g counts as 1.
_MOST_G = 1.0 - 1e-6


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ball:
    """Columns of an explanation that are known up to an angle, and those of the background, whose radius is 0.

    Where signs are not listed, as they cannot be of complex coefficients, g and the product are the largest that any
    choice might have, and the distance is exceeded by none: it can only keep.  Of one element it is exact.
    """

    radii: Array  # (r,) e
    signs: Array | None  # (S, r) that coefficients may have

    @classmethod
    def of(cls, radii: Array, low: Array, high: Array, is_complex: bool) -> Self:
        """Of coefficients within bounds, of which the signs are used."""
        ends = zip(radii, low, high, strict=True)
        signs = [(1.0,) if a >= 0.0 or not e else (-1.0,) if b <= 0.0 else (1.0, -1.0) for e, a, b in ends]
        if is_complex or sum(map(len, signs)) - len(signs) > _MOST_SIGNS:
            return cls(radii, None)
        return cls(radii, np.array([*product(*signs)]).reshape(-1, len(signs)))

    def energies(self, rows: Field, columns: Field) -> tuple[Array, Array]:
        """(c,) squared distances of rows (c, q) from the means of columns (q, r), and how far each may be off."""
        norms = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
        left, values, right = np.linalg.svd(columns / norms, full_matrices=False)
        is_kept = values > _TOLERANCE
        left, values, right = left[:, is_kept], values[is_kept], right[is_kept]
        along, sizes = rows @ left.conj(), np.linalg.norm(rows, axis=1)
        residuals = np.linalg.norm(rows - along @ left.T, axis=1)
        turned, fitted = self._turned(self.radii / norms), (along / values) @ right.conj()
        g = self._products((right.conj().T / values**2) @ right, turned)
        beside = self._products(np.eye(len(norms)) - right.conj().T @ right, turned)
        radius, least = float(np.abs(turned[0]).sum()), float(values.min(initial=1.0))
        unit = 32.0 * _EPS * (sum(columns.shape) + 8)
        off_g = unit * radius**2 / least**4
        left_over = 1.0 - float(g.max()) - off_g
        # A radius beside all that columns span up to rounding is one of a ball that holds everything.
        if not left_over > 1.0 - _MOST_G or beside.max() > _TOLERANCE * radius**2:
            return 0.5 * residuals**2, (0.5 + unit / least) * sizes**2
        reached = residuals[:, None] * np.sqrt(1.0 - g) - self._real(fitted) @ turned.T
        distances = np.maximum(reached.min(axis=1), 0.0)
        off = sizes * (unit * (1.0 / least + radius / least**2) + 0.5 * off_g / np.sqrt(left_over))
        return distances**2, off * (2.0 * distances + off)

    def nearest(self, target: Field, columns: Field) -> Field:
        """(q,) the mean that lies nearest to a target, with phases as least squares have them where none are listed."""
        fitted, inverse = np.linalg.lstsq(columns, target, rcond=None)[0], np.linalg.pinv(columns.conj().T @ columns)
        residual = float(np.linalg.norm(target - columns @ fitted))
        phases = np.where(fitted == 0.0, 1.0, fitted / np.maximum(np.abs(fitted), 1e-300))[None]
        turned = self.radii * (phases if self.signs is None else self.signs)
        g = np.einsum("si,ij,sj->s", turned.conj(), inverse, turned).real
        reached = residual * np.sqrt(np.maximum(1.0 - g, 0.0)) - (turned.conj() @ fitted).real
        best = int(np.where(g < _MOST_G, reached, -np.inf).argmin())
        if g[best] >= _MOST_G or reached[best] <= 0.0:
            return target
        away = target - columns @ (fitted + residual / np.sqrt(1.0 - g[best]) * (inverse @ turned[best]))
        return np.asarray(target - reached[best] * away / np.linalg.norm(away))

    def enclosed(self, matrix: arb_mat, target: arb_mat) -> arb:
        """The squared distance of a target (q, 1) in a ball, everything where g may be 1, or columns dependent.

        matrix: (q, r) columns; of complex ones real parts, and then those of i times them.
        """
        n, products = len(self.radii), matrix.transpose() * target
        try:
            inverse = (matrix.transpose() * matrix).inv()
        except ZeroDivisionError:
            return arb(0, float("inf"))
        fitted = inverse * products
        residual = (target.transpose() * target - products.transpose() * fitted)[0, 0]
        inverses = [[self._entry(inverse, i, j, n) for j in range(n)] for i in range(n)]
        coefficients = [self._entry(fitted, i, 0, n) for i in range(n)]
        pieces = [_reached(signs, residual, coefficients, inverses) for signs in self._turned(self.radii).tolist()]
        least = pieces[0]
        for piece in pieces[1:]:
            least = least.min(piece)
        nearest: arb = least.max(arb(0))
        return nearest * nearest

    def _products(self, matrix: Field, turned: Array) -> Array:
        """(S,) with every choice of signs on both sides."""
        return np.asarray(np.einsum("si,ij,sj->s", turned, self._real(matrix), turned))

    def _turned(self, radii: Array) -> Array:
        """(S, r) radii with their signs."""
        return np.asarray(radii * (np.ones((1, len(radii))) if self.signs is None else self.signs))

    def _real(self, numbers: Field) -> Array:
        """Moduli where signs are not listed."""
        return np.asarray(np.abs(numbers) if self.signs is None else numbers.real)

    def _entry(self, matrix: arb_mat, i: int, j: int, n: int) -> arb:
        """The same of an entry in balls, whose imaginary part is n rows below."""
        if self.signs is not None:
            return matrix[i, j]
        below = arb(0) if matrix.nrows() == n else matrix[i + n, j]
        return (matrix[i, j] * matrix[i, j] + below * below).sqrt()


def _reached(turned: Sequence[float], residual: arb, fitted: Sequence[arb], inverse: Sequence[Sequence[arb]]) -> arb:
    """Rho of one choice of signs."""
    radii = [arb(e) for e in turned]
    along = [sum((a * e for a, e in zip(row, radii, strict=True)), arb(0)) for row in inverse]
    left = 1 - sum((e * a for e, a in zip(radii, along, strict=True)), arb(0))
    if not left > 0:
        return arb(0, float("inf"))
    # A residual that is 0 up to its error has a root, too.
    return (residual.max(arb(0)) * left).sqrt() - sum((e * x for e, x in zip(radii, fitted, strict=True)), arb(0))
