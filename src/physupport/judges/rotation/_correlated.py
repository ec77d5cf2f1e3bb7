r"""Noise that is correlated along the axis: cells of the correlation, and in each of them an exact rotation test.

An explanation with any correlation of a range is rejected if it is rejected in every cell of that range.  In a cell
about c the rows are whitened as if c were the correlation, and the test of white noise has a lower level a'.  If that
test loses a truth whose correlation r lies in the cell with probability at most a, so does the whole: the truth lies in
one of the cells, and no level is divided.

Let P be the law of the truth and R that of the same mean and innovations with the correlation c.  For every k > 1 and
any test that rejects with probability a' under R, Hoelder's inequality has

.. math:: P(\text{rejected}) \le e^{F_k/k}\,a'^{1-1/k},\qquad F_k = \log\int p^k\,r^{1-k}.

Means cancel in :math:`F_k`.  With :math:`\delta = r - c`, :math:`s = c + k\delta`, :math:`\kappa = k(k-1)\delta^2`,
:math:`\phi(x) = \log(1 - x^2)`, :math:`K(x) = 1 - xL + x^2J` the precision of one row (see
`laws._autoregressive`), :math:`kK(r) + (1-k)K(c) = K(s) - \kappa J` and, for T rows,

.. math:: F_k = \tfrac T2\bigl(k\phi(r) + (1-k)\phi(c) - \phi(s) + G(\kappa, s)\bigr),\qquad
    G = -\log\det(1 - \kappa JK(s)^{-1}J) = \sum_m\frac{\kappa^m}m\operatorname{tr}(JK(s)^{-1}J)^m.

As :math:`\phi` is concave, the first part grows with :math:`|\delta|` on either side.  The entries of
:math:`K(s)^{-1}` are :math:`s^{|i-j|}/(1-s^2)`: up to signs that no trace sees they grow with :math:`|s|`, so that G
grows with :math:`\kappa` and :math:`|s|`.  Over a cell of half width h it is at most its value at :math:`k(k-1)h^2` and
:math:`|c| + kh`, as long as this is below 1 and :math:`K - \kappa J` is positive there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Self, final

import numpy as np

from ..._errors import MisuseError
from ..._typing import Array, IntArray
from .._judge import Verdict, Verdicts
from ._judge import RotationJudge

# Of the level, the least at which a cell is judged.
_SHARE: Final = 0.5
_MOST_CELLS: Final = 2000
_GROWTH: Final = 1.15
# Values of k - 1; any of them bounds, and the best is taken.
_EXPONENTS: Final = np.geomspace(0.5, 300.0, 60)
_ROUNDING: Final = 1e-6


@final
@dataclass(frozen=True, slots=True, eq=False)
class CorrelationCells:
    """Intervals of correlations, and for each the bounds of log integrals, by which its level is lowered."""

    middles: Array  # (C,)
    bounds: Array  # (C, K) F_k; inf where there is no bound

    @classmethod
    def of(cls, ends: tuple[float, float], n_rows: int, n_channels: int, level: float) -> Self:
        """The fewest equal cells, in the inverse hyperbolic tangent, of which each is judged at half the level."""
        low, high = np.arctanh(ends)
        count = 1
        while count <= _MOST_CELLS:
            sides = np.tanh(np.linspace(low, high, count + 1))
            middles = 0.5 * (sides[1:] + sides[:-1])
            made = cls(middles, _bounds(middles, 0.5 * np.diff(sides), n_rows, n_channels))
            if made.levels(level).min() >= _SHARE * level:
                return made
            count = int(np.ceil(_GROWTH * count))
        rule = f"be narrow enough for {_MOST_CELLS} cells with {n_rows} rows of {n_channels} channels"
        remedy = "Give a narrower range, or fewer channels: as a window, or means of neighbours."
        raise MisuseError("noise.between", rule, [*ends], remedy)

    def levels(self, level: float) -> Array:
        """(C,) at which each cell is judged, so that a truth in it is lost with probability at most this level."""
        powers = 1.0 + _EXPONENTS
        logs = (powers * np.log(level) - self.bounds) / _EXPONENTS
        return np.asarray(np.exp(logs.max(axis=1)) * (1.0 - _ROUNDING))


def _bounds(middles: Array, halves: Array, n_rows: int, n_channels: int) -> Array:
    """(C, K) the largest F_k in each cell."""
    centre, half, k = np.abs(middles)[:, None], halves[:, None], 1.0 + _EXPONENTS
    kappa, outer = k * (k - 1.0) * half**2, centre + k * half

    def phi(x: Array) -> Array:
        return np.asarray(np.log1p(-(np.minimum(np.abs(x), 1.0 - _ROUNDING) ** 2)))

    sides = [k * phi(centre + step) + (1.0 - k) * phi(centre) - phi(centre + k * step) for step in (half, -half)]
    is_bounded = (outer < 1.0 - _ROUNDING) & np.ones(kappa.shape, dtype=np.bool_)
    pivot = np.ones(kappa.shape)  # of K(outer) - kappa J, one channel after the other
    logs = np.zeros(kappa.shape)
    for channel in range(1, n_channels):
        end = 1.0 if channel == n_channels - 1 else 1.0 + outer**2 - kappa
        pivot = np.where(is_bounded, end - outer**2 / pivot, 1.0)
        is_bounded &= pivot > _ROUNDING
        logs += np.log(np.where(is_bounded, pivot, 1.0))
    found = 0.5 * n_rows * (np.maximum(*sides) + phi(outer) - logs) * (1.0 + _ROUNDING)
    return np.asarray(np.where(is_bounded, np.maximum(found, 0.0), np.inf))


@final
@dataclass(frozen=True, slots=True, eq=False)
class CorrelatedJudge:
    """Rejects what every cell of the correlation rejects; cells that fit best are asked first, and one that keeps ends.

    The order of the cells comes from the rows, and no verdict depends on it.
    judge_at: the judge of a cell at its level, the same whenever it is asked for.
    """

    cells: CorrelationCells
    level: float
    judge_at: Callable[[int], RotationJudge]
    order: tuple[int, ...]

    @classmethod
    def of(
        cls,
        cells: CorrelationCells,
        level: float,
        judge_at: Callable[[float, float], RotationJudge],
        correlation: Callable[[int], float],
    ) -> Self:
        """judge_at: makes the judge of rows whitened with a correlation, at a level.

        correlation: the one that suits an explanation best.
        """
        levels = cells.levels(level)

        @cache
        def judge(cell: int) -> RotationJudge:
            return judge_at(float(cells.middles[cell]), float(levels[cell]))

        best = judge(int(levels.argmin())).best()  # the least level is refused at once if draws are too few for it
        away = np.abs(np.arctanh(cells.middles) - np.arctanh(correlation(best)))
        return cls(cells, level, judge, tuple(np.argsort(away, kind="stable").tolist()))

    def verdicts(self, explanations: IntArray, level: float) -> Verdicts:
        """The margin is the least of all cells up to the first that keeps."""
        levels = self.cells.levels(level)
        bounds = np.full((2, len(explanations)), np.inf)
        left = np.arange(len(explanations))
        for cell in self.order:
            judged = self.judge_at(cell).verdicts(explanations[left], float(levels[cell]))
            bounds[:, left] = np.minimum(bounds[:, left], [judged.lower, judged.upper])
            left = left[judged.codes != Verdict.ADMISSIBLE]
            if not left.size:
                break
        return Verdicts.measured(*bounds)

    def facts(self, possible: IntArray) -> dict[str, Any]:
        """Return the findings of the gate at the correlation that fits best; a best fit that any cell keeps is kept."""
        facts = self.judge_at(self.order[0]).facts(possible)
        if not facts["is_best_rejected"]:
            return facts
        is_rejected = bool(self.verdicts(np.array([facts["best"]]), self.level).codes[0] == Verdict.REJECTED)
        return facts | {"is_best_rejected": is_rejected, "is_withheld": is_rejected and len(possible) > 0}
