"""Likelihoods of rows that are linear in open coefficients, at the best of these, in ball arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from flint import acb, acb_mat, arb, arb_mat

from ..._typing import Array, Field
from ._ball import Ball
from ._bounded import Bounded
from ._cone import Cone
from ._nonnegative import Nonnegative
from ._source_covariance import cost_ball


@final
@dataclass(frozen=True, slots=True, eq=False)
class ExactRows:
    """Rows and the columns of one key, as numbers of the instrument, at the precision of the context."""

    rows: Field  # (T, q)
    columns: Field  # (q, r)
    has_mean: bool  # rows share their coefficients
    width: Ball | Nonnegative | None  # of columns that rows share
    cone: Cone | None  # of the one column that rows have in their own ways
    sigma: float | None
    bounds: Bounded | None = None  # of coefficients that rows share

    @property
    def parts(self) -> int:
        """Real coordinates of a number."""
        return 2 if np.iscomplexobj(self.rows) else 1

    def likelihood(self) -> arb:
        """Its log, by normal equations; everything where columns are dependent."""
        table = np.concatenate([self.rows.real, self.rows.imag], axis=1) if self.parts == 2 else self.rows
        energy, count = sum((arb(x) ** 2 for x in table.ravel().tolist()), arb(0)), len(table)
        if self.cone is not None:
            return self._scored(energy - count * self._held(self.cone))
        columns = _real_columns(self.columns, is_complex=self.parts == 2)
        if not columns.shape[1]:
            return self._scored(energy)
        matrix, rows, share = arb_mat(columns.tolist()), arb_mat(table.T.tolist()), 1
        if self.has_mean:
            rows, share = rows * arb_mat([[1]] * count), count
        if self.width is not None:
            mean = rows / arb(count).sqrt()
            whole = sum((x * x for x in mean.entries()), arb(0))
            return self._scored(energy - whole + self.width.enclosed(matrix, mean))
        products = matrix.transpose() * rows
        try:
            inverse = (matrix.transpose() * matrix).inv()
        except ZeroDivisionError:
            return arb(0, float("inf"))
        solved = inverse * products
        rise = arb(0) if self.bounds is None else self._risen(self.bounds, inverse, solved / count)
        return self._scored(energy - (products.transpose() * solved).trace() / share + count * rise)

    def _risen(self, bounds: Bounded, inverse: arb_mat, fitted: arb_mat) -> arb:
        """What bounds add to the squared distance of the mean; imaginary parts stand below all real ones."""
        below, bounded = inverse.nrows() // 2, range(len(bounds.low))
        parts = [(fitted[j, 0], fitted[j + below, 0] if self.parts == 2 else arb(0)) for j in bounded]
        return bounds.enclosed(parts, [inverse[j, j] for j in bounded])

    def _scored(self, energy: arb) -> arb:
        """Of a residual sum of squares."""
        n = arb(self.rows.size * self.parts)
        if self.sigma is None:
            return -n / 2 * ((2 * arb.pi() * energy / n).log() + 1)
        variance = arb(self.sigma) ** 2 / self.parts
        return -(n * (2 * arb.pi() * variance).log() + energy / variance) / 2

    def _held(self, cone: Cone) -> arb:
        """What a response within the angle holds of the mean second moments of the rows."""
        count, table = len(self.rows), _ball_matrix(self.rows.T)
        mu, _ = cone.best(self.rows.T @ self.rows.conj() / count)
        return cone.enclosed(table * table.conjugate().transpose() / count, mu)

    def random_likelihood(self) -> arb:
        """The same where coefficients are random, with one covariance that is open."""
        count, table = len(self.rows), _ball_matrix(self.rows.T)
        rest = sum((x.real**2 + x.imag**2 for x in table.entries()), arb(0)) / count
        (q, r), values = self.columns.shape, []
        if self.cone is not None:
            values = [self._held(self.cone)]
            rest -= values[0]
        elif r:
            adjoint = _ball_matrix(self.columns.conj().T)
            products = adjoint * table  # (r, T)
            try:
                solved = (adjoint * _ball_matrix(self.columns)).solve(products)
            except ZeroDivisionError:
                return arb(0, float("inf"))
            inside = solved * products.conjugate().transpose() / count  # of the eigenvalues that U* R U has
            values, rest = [value.real for value in inside.eig(multiple=True)], rest - inside.trace().real
        cost = cost_ball(values, rest, q - r, None if self.sigma is None else arb(self.sigma) ** 2)
        enclosed: arb = -(q * (2 * arb.pi() / self.parts).log() + cost) * count * self.parts / 2
        return enclosed


def _ball_matrix(values: Field) -> acb_mat:
    """Numbers as they are stored."""
    complex_rows = np.asarray(values, dtype=np.complex128).tolist()
    return acb_mat([[acb(x.real, x.imag) for x in row] for row in complex_rows])


def _real_columns(columns: Field, *, is_complex: bool) -> Array:
    """(q, r) columns whose real span is that of complex ones, real parts first."""
    if not is_complex:
        return np.asarray(columns, dtype=np.float64)
    turned: Sequence[Field] = [columns, 1j * columns]
    return np.concatenate([np.concatenate([part.real, part.imag]) for part in turned], axis=1)
