r"""How far rows lie from mixtures without negative parts: least squares over :math:`x \ge 0`, with background free.

With w the residual of any :math:`x \ge 0`, every other :math:`x' \ge 0` leaves at least :math:`|w|^2 + 2w\cdot Ax -
2\sum_jx'_j(w\cdot a_j)_+ - 2|w\cdot B\beta'|`.  The best mixture is no longer than the row, so its coefficients of unit
columns are at most :math:`|z|/\sigma`, with :math:`\sigma` the least singular value: what a solver leaves undone is an
error, not evidence.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from flint import arb, arb_mat
from scipy.optimize import nnls

from ..._typing import Array, BoolArray, Field

_EPS = float(np.finfo(np.float64).eps)
_TOLERANCE = 1e-8


@final
@dataclass(frozen=True, slots=True)
class Nonnegative:
    """The first columns of an explanation have coefficients that are not negative, the others any."""

    count: int

    def energies(self, rows: Field, columns: Field) -> tuple[Array, Array]:
        """(c,) squared distances of rows (c, q) from the mixtures of columns (q, r), and how far each may be off."""
        unit = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
        values = np.linalg.svd(unit, compute_uv=False)
        left = np.array([row - unit @ self._solved(row, unit) for row in rows])
        squares, sizes = (left**2).sum(axis=1), (rows**2).sum(axis=1)
        if columns.shape[1] > len(columns) or not values.min(initial=1.0) > _TOLERANCE:
            return 0.5 * squares, 0.5 * squares + 64.0 * _EPS * len(columns) * sizes
        slopes = left @ unit
        undone = np.maximum(slopes[:, : self.count], 0.0).sum(axis=1) + np.abs(slopes[:, self.count :]).sum(axis=1)
        along = np.abs(np.einsum("cq,cq->c", left, rows - left))
        scale = 1.0 / float(values.min(initial=1.0))
        rounding = 64.0 * _EPS * (sum(columns.shape) + 8) * scale * sizes
        return squares, 2.0 * undone * scale * np.sqrt(sizes) + 2.0 * along + rounding

    def nearest(self, target: Field, columns: Field) -> Field:
        """(q,) the mixture that lies nearest to a target."""
        return np.asarray(columns @ self._solved(target, columns))

    def enclosed(self, matrix: arb_mat, target: arb_mat) -> arb:
        """The squared distance of a target (q, 1) in a ball.

        That of free coefficients of those columns that float64 chose, where these are above 0 and no other column would
        lower it, for sure; else anything from the distance of free coefficients of all columns on.
        """
        columns = np.array([[float(x.mid()) for x in row] for row in matrix.tolist()])
        is_chosen = self._solved(np.array([float(x.mid()) for x in target.entries()]), columns) != 0.0
        is_chosen[self.count :] = True
        try:
            energy, fitted, left = _solved_balls(matrix, target, is_chosen)
            least = _solved_balls(matrix, target, np.ones_like(is_chosen))[0]
        except ZeroDivisionError:
            return arb(0, float("inf"))
        slopes = (matrix.transpose() * left).entries()
        first = range(self.count)
        is_proven = all(fitted[j] > 0 if is_chosen[j] else slopes[j] < 0 for j in first)
        is_reached = all(fitted[j] >= 0 for j in first if is_chosen[j])
        return energy if is_proven else least.union(energy) if is_reached else least.union(_square(target))

    def _solved(self, target: Field, columns: Field) -> Array:
        """(r,) coefficients, near enough."""
        basis, _ = np.linalg.qr(columns[:, self.count :])
        first = columns[:, : self.count] - basis @ (basis.T @ columns[:, : self.count])
        chosen = nnls(first, target - basis @ (basis.T @ target))[0]
        rest = np.linalg.lstsq(columns[:, self.count :], target - columns[:, : self.count] @ chosen, rcond=None)[0]
        return np.append(chosen, rest)


def _solved_balls(matrix: arb_mat, target: arb_mat, is_chosen: BoolArray) -> tuple[arb, dict[int, arb], arb_mat]:
    """Squared distance, coefficients by column, and what is left of the target, of free coefficients."""
    chosen = np.flatnonzero(is_chosen).tolist()
    if not chosen:
        return _square(target), {}, target
    columns = arb_mat([[row[j] for j in chosen] for row in matrix.tolist()])
    solved = (columns.transpose() * columns).solve(columns.transpose() * target)
    left = target - columns * solved
    return _square(left), dict(zip(chosen, solved.entries(), strict=True)), left


def _square(vector: arb_mat) -> arb:
    return sum((x * x for x in vector.entries()), arb(0))
