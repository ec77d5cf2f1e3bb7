"""How far laws of rows are apart, what a level becomes over such a distance, and ranges of strengths and noise."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import exp, expm1, log, log1p, sqrt
from typing import NamedTuple, final

import numpy as np
import scipy  # its parts are loaded where they are used: most analyses have no cells

from .._checks import check_array, check_open
from .._errors import Clause, MisuseError
from .._typing import Array

MOST_CELLS = 2**20
# Relative, of distances and levels: far more than functions, roots and sums are off.
ROUNDING = 1e-9


class Moved(NamedTuple):
    r"""How far the law of all rows moves: its divergence of Kullback and Leibler from the law before, at most.

    is_shift: true if the rows are Gaussian and only their mean moves, by :math:`\eta = \sqrt{2\kappa}` of the noise.
    """

    kappa: float
    is_shift: bool

    @property
    def eta(self) -> float:
        """The shift that has this divergence."""
        return sqrt(2.0 * self.kappa)

    def times(self, factor: float) -> "Moved":
        """Multiply all moves by a factor."""
        return self._replace(kappa=self.kappa * factor**2)

    def level(self, alpha: float) -> float:
        r"""The level a' of the law before at which any test has level alpha under the law after.

        Of a shift :math:`a' = \Phi(\Phi^{-1}(\alpha) - \eta)`, by Neyman and Pearson.  Else the smaller root of
        :math:`\mathrm{kl}(\alpha\,\|\,a') = \kappa`: what a test says has no larger divergence than the rows.
        """
        asked = check_open("alpha", alpha, 0.0, 1.0)
        if self.kappa == 0.0:
            return asked
        if self.is_shift:
            below = float(scipy.special.ndtr(scipy.special.ndtri(asked) - self.eta))
            return _without_rounding(asked, below)
        return _without_rounding(asked, _lower_root(asked, self.kappa))


def shift(moves: float) -> Moved:
    """A move of the mean of Gaussian rows, in units of the noise."""
    return Moved(0.5 * moves**2, is_shift=True)


class Scaled(NamedTuple):
    r"""How far the law of all rows moves where normal numbers of mean 0 behind them change their variances.

    groups: sets of so many numbers each; those of a set are of one variance, which changes by a factor of its own
    between 1 / ratio and ratio.  Rows are made of these numbers by what does not change, so that no test of rows tells
    more than one of the numbers.
    """

    numbers: float
    ratio: float
    groups: int = 1

    @property
    def eta(self) -> float:
        r"""The shift that has the largest divergence, :math:`\sqrt{n(\rho - 1 - \log\rho)}` for n numbers in all."""
        far = log(self.ratio)
        # Of nearly equal numbers the difference would be rounding alone.
        excess = expm1(far) - far if far > 1e-4 else 0.5 * far**2 * (1.0 + far)
        return sqrt(self.groups * self.numbers * excess)

    def level(self, alpha: float) -> float:
        r"""The level a' of the law before at which any test has level alpha under the law after.

        Of n numbers whose variances grow by :math:`\rho` the best test rejects where their squares are large:
        :math:`a' = Q_n(\rho Q_n^{-1}(\alpha))` with :math:`Q_n(x) = P(\chi^2_n > x)`; if they shrink, where small.
        Smaller factors are no easier to see: a number times c, with noise of variance :math:`1 - c^2` added, stays what
        it was under the law before, and its factor comes down to any between.  Sets that grow and sets that shrink are
        two moves, one after the other, and the worst number of each counts.
        """
        asked = check_open("alpha", alpha, 0.0, 1.0)
        if self.ratio == 1.0:
            return asked
        least = asked
        for growing in range(self.groups + 1):
            before = asked
            if growing:
                half = 0.5 * growing * self.numbers
                quantile = float(scipy.special.gammainccinv(half, before))
                before = float(scipy.special.gammaincc(half, self.ratio * quantile))
            if growing < self.groups:
                half = 0.5 * (self.groups - growing) * self.numbers
                quantile = float(scipy.special.gammaincinv(half, before))
                before = float(scipy.special.gammainc(half, quantile / self.ratio))
            least = min(least, before)
        return _without_rounding(asked, least)


def _without_rounding(asked: float, before: float) -> float:
    """The level before, less what is rounded; raises if no level is left."""
    if before <= 0.0:
        remedy = "Allow cells a smaller eta."
        raise MisuseError("alpha", "leave some level after the moves within cells", Clause(f"it is {asked:g}"), remedy)
    return before * (1.0 - ROUNDING)


def _lower_root(b: float, kappa: float) -> float:
    """The a below b with kl(b || a) = kappa, on the scale of log a."""

    def beyond(log_a: float) -> float:
        a = exp(log_a)
        return b * (log(b) - log_a) + (1.0 - b) * (log1p(-b) - log1p(-a)) - kappa

    # kl(b || a) is at least b log(b / a) + (1 - b) log(1 - b).
    lowest = log(b) - (kappa - (1.0 - b) * log1p(-b)) / b - 1.0
    return exp(float(scipy.optimize.brentq(beyond, lowest, log(b), xtol=1e-14)))


class RangeSizes(NamedTuple):
    """The effect of the noise, and of the strength of an element, on all rows: `size` of a `Range` of each."""

    noise: float
    strength: float
    is_shift: bool  # whether a strength shifts the mean; else it is a variance, as the noise is


@final
@dataclass(frozen=True, slots=True)
class Range:
    """A nuisance between two values, in cells of equal length, or of equal ratio where it is a variance.

    size: of a shift, how far a change by 1 shifts the mean of all rows, in units of the noise; of a variance, how many
    normal numbers have it.  most: elements that have it at once.
    """

    region: str | None  # whose strength it is; None: the noise
    low: float
    high: float
    count: int
    size: float
    is_shift: bool
    most: int = 1

    @property
    def title(self) -> str:
        """The name of the range in messages."""
        return "the range of the noise" if self.region is None else f"the range of the strength of {self.region!r}"

    @property
    def half(self) -> float:
        """The half width of a cell: a length, or the logarithm of a ratio."""
        return (self.high - self.low if self.is_shift else log(self.high) - log(self.low)) / (2.0 * self.count)

    @property
    def values(self) -> Array:
        """(count,) the middles, on the scale of the cells."""
        along = self.half * (2.0 * np.arange(self.count) + 1.0)
        return np.asarray(self.low + along if self.is_shift else np.exp(log(self.low) + along))


def range_steps(ranges: Sequence[Range], active: int) -> tuple[Moved | Scaled, ...]:
    """Bound the change of rows within the cells of ranges: of strengths, and then of the noise."""
    strengths = [each for each in ranges if each.region is not None]
    noises = [each for each in ranges if each.region is None]
    return tuple(_together(kind, active) for kind in (strengths, noises) if kind)


def _together(ranges: Sequence[Range], active: int) -> Moved | Scaled:
    """The move of the strengths of all elements that are active at once, each as far off as any may be."""
    size = max(each.size for each in ranges)
    half = max(each.half for each in ranges) * (1.0 + ROUNDING)
    moving = min(active, sum(each.most for each in ranges))
    return shift(moving * size * half) if ranges[0].is_shift else Scaled(size, exp(half), moving)


def with_counts(ranges: Sequence[Range], active: int, eta: float) -> tuple[Range, ...]:
    """The same ranges, all of strengths or all of noise, in as few cells as move rows by at most eta."""

    def fits(own: Range, count: int) -> bool:
        # As if all others had cells of the same length, of which the longest counts.
        alike = [replace(own, count=count, most=each.most) for each in ranges]
        try:
            return _together(alike, active).eta <= eta
        except OverflowError:  # farther than a number can say
            return False

    found = []
    for own in ranges:
        if not fits(own, MOST_CELLS):
            remedy = "Make it smaller, or allow a larger eta."
            raise MisuseError(own.title, f"need at most {MOST_CELLS} cells", f"{2 * MOST_CELLS} or more", remedy)
        # All counts above one that fits do, too.
        count = bisect_left(range(1, MOST_CELLS), True, key=partial(fits, own)) + 1
        found.append(replace(own, count=count))
    return tuple(found)


def checked_ends(name: str, ends: Sequence[float]) -> tuple[float, float]:
    """Two numbers above 0, the lower one first."""
    low, high = check_array(name, ends, (2,)).tolist()
    if not 0.0 < low < high:
        raise MisuseError(name, "be (low, high) above 0 with low below high", [low, high])
    return low, high
