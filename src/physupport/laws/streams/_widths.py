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
from functools import reduce
from itertools import product
from typing import NamedTuple, Self, final

import numpy as np
from flint import acb_mat, arb, arb_mat

from ..._typing import Array, BoolArray, Field, IntArray
from .._design import RANK_TOLERANCE, Design
from .._nonnegative import nonnegative_coefficients

_EPS = float(np.finfo(np.float64).eps)
# Directions of columns with less than this are rounding.
TOLERANCE = 1e-8
# More elements of either sign at once have too many combinations; they are bounded as phases are.
_MOST_SIGNS = 8
# From here on g counts as 1.
_MOST_G = 1.0 - 1e-6


def ball_matrix(values: Field) -> acb_mat:
    """Numbers as they are stored."""
    return acb_mat(np.asarray(values, dtype=np.complex128).tolist())


def square(vector: arb_mat) -> arb:
    """The sum of the squares of all entries."""
    return sum((x * x for x in vector.entries()), arb(0))


def normal_equations(matrix: arb_mat, rows: arb_mat) -> tuple[arb, arb_mat, arb_mat]:
    """Squares of rows (q, k) within columns (q, r), their coefficients (r, k), and the inverse of the products (r, r).

    Dependent columns raise ZeroDivisionError.
    """
    products = matrix.transpose() * rows
    inverse = (matrix.transpose() * matrix).inv()
    fitted = inverse * products
    return (products.transpose() * fitted).trace(), fitted, inverse


class _Reach(NamedTuple):
    """Rho of rows (c,) for choices of signs (S,)."""

    distances: Array  # (c, S)
    off: Array  # (c,) how far these may be off
    coefficients: Field  # (c, S, r) of the nearest means


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ball:
    """Columns of an explanation that are known up to an angle, and those of the background, whose radius is 0.

    Where signs are not listed, as they cannot be of complex coefficients, g and the product are the largest that any
    choice might have, and the distance is exceeded by none: it can only keep.  Of one element it is exact.
    """

    radii: Array  # (r,) e
    signs: Array | None  # (S, r) that coefficients may have
    bounds: "Bounded | None" = None  # that coefficients are held to, where signs are listed

    @classmethod
    def of(cls, radii: Array, low: Array, high: Array, is_complex: bool, bounds: "Bounded | None" = None) -> Self:
        """The ball of coefficients within these ends, of which the signs are used."""
        ends = zip(radii, low, high, strict=True)
        signs = [(1.0,) if a >= 0.0 or not e else (-1.0,) if b <= 0.0 else (1.0, -1.0) for e, a, b in ends]
        if is_complex or sum(map(len, signs)) - len(signs) > _MOST_SIGNS:
            return cls(radii, None)
        return cls(radii, np.array([*product(*signs)]).reshape(-1, len(signs)), bounds)

    def energies(self, rows: Field, columns: Field) -> tuple[Array, Array]:
        """(c,) squared distances of rows (c, q) from the means of columns (q, r), and how far each may be off."""
        reach = self._reach(rows, columns, self._turned(self.radii))
        if reach is None:
            norms = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
            left, values, _ = np.linalg.svd(columns / norms, full_matrices=False)
            left = left[:, values > TOLERANCE]
            least = float(values[values > TOLERANCE].min(initial=1.0))
            residuals = np.linalg.norm(rows - (rows @ left.conj()) @ left.T, axis=1)
            unit = 32.0 * _EPS * (sum(columns.shape) + 8)
            return 0.5 * residuals**2, (0.5 + unit / least) * (rows * rows.conj()).real.sum(axis=1)
        reached, off = reach.distances, reach.off
        if self.bounds is not None and self.signs is not None:
            reached, off = self._bounded(self.bounds, reach, rows.real, columns.real)
        distances = np.maximum(reached.min(axis=1), 0.0)
        return distances**2, off * (2.0 * distances + off)

    def _reach(self, rows: Field, columns: Field, signed: Array) -> "_Reach | None":
        """Rho for radii (S, r) with their signs; None where the ball may hold everything.

        A radius beside all that columns span up to rounding is one of a ball that holds everything, too.
        """
        norms = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
        left, values, right = np.linalg.svd(columns / norms, full_matrices=False)
        is_kept = values > TOLERANCE
        left = left[:, is_kept]
        values = values[is_kept]
        right = right[is_kept]
        along = rows @ left.conj()
        sizes = np.linalg.norm(rows, axis=1)
        residuals = np.linalg.norm(rows - along @ left.T, axis=1)
        turned = signed / norms
        fitted = (along / values) @ right.conj()
        inverse = (right.conj().T / values**2) @ right
        g = self._products(inverse, turned)
        beside = self._products(np.eye(len(norms)) - right.conj().T @ right, turned)
        radius = float(np.abs(turned[0]).sum())
        least = float(values.min(initial=1.0))
        unit = 32.0 * _EPS * (sum(columns.shape) + 8)
        off_g = unit * radius**2 / least**4
        left_over = 1.0 - float(g.max()) - off_g
        if not left_over > 1.0 - _MOST_G or beside.max() > TOLERANCE * radius**2:
            return None
        reached = residuals[:, None] * np.sqrt(1.0 - g) - self._real(fitted) @ turned.T
        off = sizes * (unit * (1.0 / least + radius / least**2) + 0.5 * off_g / np.sqrt(left_over))
        away = (residuals[:, None] / np.sqrt(1.0 - g))[:, :, None] * (turned @ inverse.conj())[None]
        return _Reach(reached, off, (fitted[:, None] + away) / norms)

    def _bounded(self, bounds: "Bounded", reach: "_Reach", rows: Array, columns: Array) -> tuple[Array, Array]:
        """(c, S) Rho where coefficients are held to bounds, and how far each may be off.

        Rho is least over a convex function, so that under one bound that its minimum breaks it is least on the bound.
        Of several bounds the one that adds most counts, and of several of which one has to hold the one that adds
        least: exact where one is broken, else never too much.
        """
        signed = self._turned(self.radii)
        signs = np.where(signed < 0.0, -1.0, 1.0)
        off = reach.off
        size = np.linalg.norm(rows, axis=1)[:, None]

        def held(j: int, end: float, side: float) -> Array:
            nonlocal off
            is_kept = side * (reach.coefficients[:, :, j].real - end) >= -TOLERANCE * (size + abs(end))
            if is_kept.all():
                return reach.distances
            rest = self._reach(rows - end * columns[:, j], np.delete(columns, j, axis=1), np.delete(signed, j, axis=1))
            if rest is None:
                return reach.distances
            off = np.maximum(off, rest.off)
            return np.where(is_kept, reach.distances, np.maximum(reach.distances, rest.distances - signed[:, j] * end))

        alternatives = [[held(j, end, 1.0)] for j, end in enumerate(bounds.low) if np.isfinite(end)]
        alternatives += [[held(j, end, -1.0)] for j, end in enumerate(bounds.high) if np.isfinite(end)]
        for group in bounds.groups:
            sides = []
            for j in group:
                up, down = (held(j, side * bounds.least[j], side) for side in (1.0, -1.0))
                if self.radii[j] > 0.0:  # each choice of signs has one side
                    sides.append(np.where(signs[:, j] > 0.0, up, down))
                else:
                    sides += [each for each, is_open in zip((up, down), bounds.sides(j), strict=True) if is_open]
            alternatives.append(sides)
        reached = reach.distances
        for one_of in alternatives:
            reached = np.maximum(reached, np.min(one_of, axis=0))
        return reached, off

    def nearest(self, target: Field, columns: Field) -> Field:
        """(q,) the mean that lies nearest to a target, with phases as least squares have them where none are listed."""
        fitted = np.linalg.lstsq(columns, target, rcond=None)[0]
        inverse = np.linalg.pinv(columns.conj().T @ columns)
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
        n = len(self.radii)
        try:
            explained, fitted, inverse = normal_equations(matrix, target)
        except ZeroDivisionError:
            return arb(0, float("inf"))
        residual = (target.transpose() * target)[0, 0] - explained
        inverses = [[self._entry(inverse, i, j, n) for j in range(n)] for i in range(n)]
        coefficients = [self._entry(fitted, i, 0, n) for i in range(n)]
        pieces = [_reached(signs, residual, coefficients, inverses) for signs in self._turned(self.radii).tolist()]
        least = _positive_square(reduce(arb.min, pieces))
        # What bounds add stays open here.
        return least if self.bounds is None else least.union(square(target))

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


# How much farther rows lie from means whose coefficients are held to bounds.
#
# With :math:`\hat x` the coefficients of least squares and G the products of all columns, a mean whose coefficient j is
# x leaves :math:`|x - \hat x_j|^2/(G^{-1})_{jj}` more than the best, at least, whatever the others are.  So where it is
# held to a set, residuals rise by the squared distance from that set over :math:`(G^{-1})_{jj}`.  Of several bounds the
# largest rise counts: exact where one coefficient is bounded, and else never too much, so that it can only keep.


@final
@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """The first columns of an explanation have coefficients within bounds, those of the background any.

    Of columns with the same number one has a coefficient of its least absolute value or more, where that is above 0.
    """

    low: Array  # (k,)
    high: Array  # (k,)
    least: Array  # (k,)
    numbers: IntArray  # (k,)

    @classmethod
    def of(cls, design: Design, active: IntArray) -> Self | None:
        """The bounds of active columns; None where there are none."""
        numbers = np.arange(len(design.least)) if design.together is None else design.together
        bounds = cls(design.low[active], design.high[active], design.least[active], numbers[active])
        is_bounded = np.isfinite(bounds.low) | np.isfinite(bounds.high) | (bounds.least > 0.0)
        return bounds if is_bounded.any() else None

    @property
    def groups(self) -> list[list[int]]:
        """Columns of which one reaches its least absolute value."""
        strong = np.flatnonzero(self.least > 0.0)
        return [strong[self.numbers[strong] == number].tolist() for number in np.unique(self.numbers[strong])]

    def rises(self, means: Field, columns: Field) -> tuple[Array, Array]:
        """(c,) how much the squared distance of means (c, q) from columns (q, r) rises, and how far that may be off."""
        norms = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
        values = np.linalg.svd(columns / norms, compute_uv=False)
        smallest = float(values.min(initial=1.0))
        count = len(self.low)
        if columns.shape[1] > len(columns) or not smallest > RANK_TOLERANCE:
            return np.zeros(len(means)), np.zeros(len(means))
        inverse = np.linalg.pinv(columns / norms)[:count]  # (k, q)
        spreads = np.linalg.norm(inverse, axis=1) / norms[:count]
        fitted = means @ inverse.T / norms[:count]
        outside = np.maximum(np.maximum(self.low - fitted.real, fitted.real - self.high), 0.0) / spreads  # (c, k)
        below = np.stack([self._below(j, fitted[:, j]) for j in range(count)], axis=1) / spreads
        distances = [*outside.T, *(below[:, group].min(axis=1) for group in self.groups)]
        farthest = np.max(distances, axis=0)
        unit = 32.0 * _EPS * (sum(columns.shape) + 8) / smallest**2
        sizes = np.linalg.norm(means, axis=1) + np.abs(distances).max(axis=0) + below.max(axis=1, initial=0.0)
        return farthest**2, unit * sizes * (2.0 * farthest + unit * sizes)

    def _below(self, j: int, fitted: Field) -> Array:
        """(c,) how far fitted numbers are from the least absolute value of column j; bounds say on which side."""
        if not self.least[j] > 0.0:
            return np.zeros(len(fitted))
        up = self.least[j] - fitted.real
        down = self.least[j] + fitted.real
        sides = [side for side, is_open in zip((up, down), self.sides(j), strict=True) if is_open]
        nearest = self.least[j] - np.abs(fitted) if len(sides) == 2 else sides[0]
        return np.asarray(np.maximum(nearest, 0.0))

    def sides(self, j: int) -> tuple[bool, bool]:
        """True if coefficients above 0, and below, reach the least absolute value; both where neither does."""
        sides = bool(self.high[j] >= self.least[j]), bool(self.low[j] <= -self.least[j])
        return sides if any(sides) else (True, True)

    def enclosed(self, fitted: Sequence[tuple[arb, arb]], inverse: Sequence[arb]) -> arb:
        """The rise in balls, of real and imaginary parts of coefficients and of the diagonal of G's inverse."""
        rises = [arb(0)]
        for j, (real, _) in enumerate(fitted):
            ends = [arb(end) - real for end in self.low[j : j + 1] if np.isfinite(end)]
            ends += [real - arb(end) for end in self.high[j : j + 1] if np.isfinite(end)]
            rises += [_positive_square(end) / inverse[j] for end in ends]
        for group in self.groups:
            least = [_positive_square(self._below_ball(j, *fitted[j])) / inverse[j] for j in group]
            rises.append(reduce(arb.min, least))
        return reduce(arb.max, rises)

    def _below_ball(self, j: int, real: arb, imaginary: arb) -> arb:
        least = arb(self.least[j])
        (is_up, is_down) = self.sides(j)
        if is_up and is_down:
            return least - (real * real + imaginary * imaginary).sqrt()
        return least - real if is_up else least + real


def _positive_square(distance: arb) -> arb:
    """The square of a distance, 0 if it is negative."""
    above: arb = distance.max(arb(0))
    return above * above


# How far rows lie from mixtures without negative parts: least squares over :math:`x \ge 0`, with background free.
#
# With w the residual of any :math:`x \ge 0`, every other :math:`x' \ge 0` leaves at least :math:`|w|^2 + 2w\cdot Ax -
# 2\sum_jx'_j(w\cdot a_j)_+ - 2|w\cdot B\beta'|`.  The best mixture is no longer than the row, so its coefficients of
# unit columns are at most :math:`|z|/\sigma`, with :math:`\sigma` the least singular value: what a solver leaves undone
# is an error, not evidence.


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
        squares = (left**2).sum(axis=1)
        sizes = (rows**2).sum(axis=1)
        if columns.shape[1] > len(columns) or not values.min(initial=1.0) > TOLERANCE:
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
        return energy if is_proven else least.union(energy) if is_reached else least.union(square(target))

    def _solved(self, target: Field, columns: Field) -> Array:
        """(r,) coefficients, near enough: free ones of the chosen columns, where none of them is negative."""
        basis, _ = np.linalg.qr(columns[:, self.count :])
        first = columns[:, : self.count] - basis @ (basis.T @ columns[:, : self.count])
        chosen = nonnegative_coefficients(first, target - basis @ (basis.T @ target))
        is_used = np.append(chosen > 0.0, np.ones(columns.shape[1] - self.count, np.bool_))
        solved = np.zeros(columns.shape[1])
        solved[is_used] = np.linalg.lstsq(columns[:, is_used], target, rcond=None)[0]
        if solved[: self.count].min(initial=0.0) >= 0.0:
            return solved
        rest = np.linalg.lstsq(columns[:, self.count :], target - columns[:, : self.count] @ chosen, rcond=None)[0]
        return np.append(chosen, rest)


def _solved_balls(matrix: arb_mat, target: arb_mat, is_chosen: BoolArray) -> tuple[arb, dict[int, arb], arb_mat]:
    """Squared distance, coefficients by column, and what is left of the target, of free coefficients."""
    chosen = np.flatnonzero(is_chosen).tolist()
    if not chosen:
        return square(target), {}, target
    columns = arb_mat([[row[j] for j in chosen] for row in matrix.tolist()])
    solved = (columns.transpose() * columns).solve(columns.transpose() * target)
    left = target - columns * solved
    return square(left), dict(zip(chosen, solved.entries(), strict=True)), left
