"""Strengths and noise anywhere between two values, in cells that are small enough."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, floor, log
from typing import NamedTuple, final

import numpy as np

from .._checks import check_array
from .._errors import MisuseError
from .._typing import Array
from ._cells import MOST_CELLS, ROUNDING
from ._moved import Moved, Scaled, shift


class RangeSizes(NamedTuple):
    """What a change of the noise, and of the strength of an element, does to all rows: `size` of a `Range` of each."""

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
        """How messages call it."""
        return "the range of the noise" if self.region is None else f"the range of the strength of {self.region!r}"

    @property
    def half(self) -> float:
        """From the middle of a cell to its ends: a length, or the logarithm of a ratio."""
        return (self.high - self.low if self.is_shift else log(self.high) - log(self.low)) / (2.0 * self.count)

    @property
    def values(self) -> Array:
        """(count,) the middles, on the scale of the cells."""
        along = self.half * (2.0 * np.arange(self.count) + 1.0)
        return np.asarray(self.low + along if self.is_shift else np.exp(log(self.low) + along))

    def cell_of(self, value: float) -> int:
        """The cell that a value of the range lies in."""
        if not self.low * (1.0 - ROUNDING) <= value <= self.high * (1.0 + ROUNDING):
            raise MisuseError("value", f"lie between {self.low:g} and {self.high:g}", value)
        along = value - self.low if self.is_shift else log(value) - log(self.low)
        return min(max(floor(along / (2.0 * self.half)), 0), self.count - 1)


def range_steps(ranges: Sequence[Range], active: int) -> tuple[Moved | Scaled, ...]:
    """By how much rows move within the cells of ranges: of strengths, and then of the noise."""
    kinds = [each for each in ranges if each.region is not None], [each for each in ranges if each.region is None]
    return tuple(_together(kind, active) for kind in kinds if kind)


def _together(ranges: Sequence[Range], active: int) -> Moved | Scaled:
    """Strengths of all elements that are active at once, each as far off as any may be."""
    size, half = max(each.size for each in ranges), max(each.half for each in ranges) * (1.0 + ROUNDING)
    moving = min(active, sum(each.most for each in ranges))
    return shift(moving * size * half) if ranges[0].is_shift else Scaled(size, exp(half), moving)


def with_counts(ranges: Sequence[Range], active: int, eta: float) -> tuple[Range, ...]:
    """The same ranges, all of strengths or all of noise, in as few cells as move rows by at most eta."""

    def fitting(number: int) -> Callable[[int], bool]:
        # As if all others had cells of the same length, of which the longest counts.
        def fits(count: int) -> bool:
            alike = [replace(ranges[number], count=count, most=each.most) for each in ranges]
            try:
                return _together(alike, active).eta <= eta
            except OverflowError:  # farther than a number can say
                return False

        return fits

    return tuple(replace(each, count=_least(each.title, fitting(k))) for k, each in enumerate(ranges))


def _least(title: str, fits: Callable[[int], bool]) -> int:
    """The least count that fits, where all larger ones do, too."""
    high = 1
    while not fits(high):
        high *= 2
        if high > MOST_CELLS:
            remedy = "Make it smaller, or allow a larger eta."
            raise MisuseError(title, f"need at most {MOST_CELLS} cells", f"{high} or more", remedy)
    low = high // 2  # does not fit, or is 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def checked_ends(name: str, ends: Sequence[float]) -> tuple[float, float]:
    """Two numbers above 0, the lower one first."""
    low, high = check_array(name, ends, (2,)).tolist()
    if not 0.0 < low < high:
        raise MisuseError(name, "be (low, high) above 0 with low below high", [low, high])
    return low, high
