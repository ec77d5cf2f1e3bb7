r"""Intervals of net counts: what evidence of counts leaves of one amount, all others at their best.

With f the log likelihood of a half and v its amount, every slope :math:`\lambda` bounds the likelihood at v:

.. math:: \sup_{x:\,x_j = v} f(x) \le \sup_x\{f(x) - \lambda x_j\} + \lambda v.

The supremum on the right is that of the same columns with another sum in column j, which the fits of the judge bound
from above.  Each slope gives a line, and the least of all lines is a concave bound of the likelihood: whatever slopes
were tried, the interval holds, and it is nearly as short as it can be once slopes were tried at its ends.
"""

from collections.abc import Callable, Sequence
from math import inf, isfinite, log, sqrt
from typing import NamedTuple

import numpy as np

from .._amounts import Interval, log_average, sublevel

# Slopes tried first, over the inverse square root of the counts; those at the ends are found from there.
_LADDER = (1.0, 5.0)
_ROUNDS = 3
_PARABOLA = 3  # heights that one goes through


class Part(NamedTuple):
    """One half of the counts: a lower bound of its numerator, its share of the exposure, and its counts in all."""

    log_mixture: float
    share: float
    total: float


Tilted = Callable[[int, float], float]  # of the number of a half and a slope, the bound of the tilted supremum


class _Lines:
    """The lines of one half: bounds of the likelihood at every amount."""

    def __init__(self, number: int, part: Part, tilted: Tilted) -> None:
        self.number = number
        self.part = part
        self.tilted = tilted
        self.heights: dict[float, float] = {}
        unit = 1.0 / sqrt(part.total + 1.0)
        for slope in (0.0, *(sign * step * unit for step in _LADDER for sign in (1.0, -1.0))):
            if slope > -1.0:
                self.add(slope)
        self._sort()

    def add(self, slope: float) -> float:
        """The height of the line at no counts."""
        if slope not in self.heights:
            self.heights[slope] = self.tilted(self.number, slope)
        return self.heights[slope]

    def _sort(self) -> None:
        known = sorted(slope for slope, height in self.heights.items() if isfinite(height))
        self.slopes = np.array(known)
        self.offsets = np.array([self.heights[slope] for slope in known])

    def log_evidence(self, amount: float) -> float:
        """A number at or below the log evidence of this half, with this many net counts in all."""
        if not len(self.slopes):
            return -inf
        return self.part.log_mixture - float((self.offsets + self.slopes * (self.part.share * amount)).min())

    def refine(self, amount: float) -> None:
        """Try the slope that is best for this amount by a parabola through the heights around the best one so far."""
        if len(self.slopes) < _PARABOLA:
            return
        at = self.part.share * amount
        place = int((self.offsets + self.slopes * at).argmin())
        first = min(max(place - 1, 0), len(self.slopes) - _PARABOLA)
        near = slice(first, first + _PARABOLA)
        (a, b, c), (fa, fb, fc) = self.slopes[near].tolist(), self.offsets[near].tolist()
        rise = (fb - fa) / (b - a)
        bend = ((fc - fb) / (c - b) - rise) / (c - a)
        if bend > 0.0:
            wanted = 0.5 * (a + b) - (rise + at) / (2.0 * bend)
            low = max(4.0 * float(self.slopes[0]), 0.5 * (float(self.slopes[0]) - 1.0))
            self.add(min(max(wanted, low), 4.0 * float(self.slopes[-1])))
            self._sort()


def net_counts(parts: Sequence[Part], tilted: Tilted, most: float) -> Interval | None:
    """The net counts, in all rows together, against which the log of the mean evidence is at most this; None if none.

    tilted: bounds of the suprema, see above.
    """
    lines = [_Lines(number, part, tilted) for number, part in enumerate(parts)]

    def value(amount: float) -> float:
        return log_average(np.array([each.log_evidence(amount) for each in lines]), is_mean=True)

    total = sum(part.total for part in parts) / max(sum(part.share for part in parts), log(2.0))
    found: Interval | None = (0.0, inf)
    for round_number in range(_ROUNDS + 1):
        found = sublevel(value, most, _middle(value, total), sqrt(total + 1.0), 0.0)
        if found is None or round_number == _ROUNDS:
            break
        for end in found:
            for each in lines:
                if 0.0 <= end < inf:
                    each.refine(end)
    return found


def _middle(value: Callable[[float], float], total: float) -> float:
    """Find the approximate minimum of the evidence among shares of all counts."""
    shares = np.linspace(0.0, 1.0, 65) ** 2
    return total * float(shares[int(np.argmin([value(total * share) for share in shares.tolist()]))])
