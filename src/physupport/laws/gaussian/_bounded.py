r"""How much farther rows lie from means whose coefficients are held to bounds.

With :math:`\hat x` the coefficients of least squares and G the products of all columns, a mean whose coefficient j is
x leaves :math:`|x - \hat x_j|^2/(G^{-1})_{jj}` more than the best, at least, whatever the others are.  So where it is
held to a set, residuals rise by the squared distance from that set over :math:`(G^{-1})_{jj}`.  Of several bounds the
largest rise counts: exact where one coefficient is bounded, and else never too much, so that it can only keep.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, final

import numpy as np
from flint import arb

from ..._typing import Array, Field, IntArray
from .._design import RANK_TOLERANCE, Design

_EPS = float(np.finfo(np.float64).eps)


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
        """Of active columns; None where nothing is said of them."""
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
        smallest, count = float(values.min(initial=1.0)), len(self.low)
        if columns.shape[1] > len(columns) or not smallest > RANK_TOLERANCE:
            return np.zeros(len(means)), np.zeros(len(means))
        inverse = np.linalg.pinv(columns / norms)[:count]  # (k, q)
        spreads, fitted = np.linalg.norm(inverse, axis=1) / norms[:count], means @ inverse.T / norms[:count]
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
        up, down = self.least[j] - fitted.real, self.least[j] + fitted.real
        sides = [side for side, is_open in zip((up, down), self._sides(j), strict=True) if is_open]
        nearest = self.least[j] - np.abs(fitted) if len(sides) == 2 else sides[0]
        return np.asarray(np.maximum(nearest, 0.0))

    def _sides(self, j: int) -> tuple[bool, bool]:
        """Whether coefficients above 0, and below, reach the least absolute value; both where neither does."""
        sides = bool(self.high[j] >= self.least[j]), bool(self.low[j] <= -self.least[j])
        return sides if any(sides) else (True, True)

    def enclosed(self, fitted: Sequence[tuple[arb, arb]], inverse: Sequence[arb]) -> arb:
        """The rise in balls, of real and imaginary parts of coefficients and of the diagonal of G's inverse."""
        rises = [arb(0)]
        for j, (real, _) in enumerate(fitted):
            ends = [arb(end) - real for end in self.low[j : j + 1] if np.isfinite(end)]
            ends += [real - arb(end) for end in self.high[j : j + 1] if np.isfinite(end)]
            rises += [_square(end) / inverse[j] for end in ends]
        for group in self.groups:
            least = [_square(self._below_ball(j, *fitted[j])) / inverse[j] for j in group]
            rises.append(_smallest(least))
        return -_smallest([-rise for rise in rises])

    def _below_ball(self, j: int, real: arb, imaginary: arb) -> arb:
        least, (is_up, is_down) = arb(self.least[j]), self._sides(j)
        if is_up and is_down:
            return least - (real * real + imaginary * imaginary).sqrt()
        return least - real if is_up else least + real


def _square(distance: arb) -> arb:
    """Of what is above 0 of it."""
    above: arb = distance.max(arb(0))
    return above * above


def _smallest(values: Sequence[arb]) -> arb:
    least = values[0]
    for value in values[1:]:
        least = least.min(value)
    return least
