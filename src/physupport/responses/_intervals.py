"""Enclosures and second-order jets of formulas over boxes: arrays of bounds, rounded outwards."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from .._typing import Array

# Far more than the functions of numpy are off, a few units in the last place.
_FUNCTION_ERROR = 1e-14
# Relative, four times the rounding of a sum or product; and more than what numbers too small for that are off.
_ROUNDING, _TINY = 2.0**-51, float(np.finfo(np.float64).tiny)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Enclosure:
    """Numbers between two bounds, entry by entry; what is not defined everywhere in between has bounds without end."""

    low: Array
    high: Array

    @classmethod
    def between(cls, low: Array, high: Array) -> "Enclosure":
        """The bounds, each further out than a rounding; NaN, which only infinite bounds lead to, is without end."""
        lower, upper = low - (_ROUNDING * np.abs(low) + _TINY), high + (_ROUNDING * np.abs(high) + _TINY)
        if np.isnan(lower.sum() + upper.sum()):
            return cls(np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper))
        return cls(lower, upper)

    @classmethod
    def of(cls, value: "Enclosure | Array | float") -> "Enclosure":
        """A number is between itself and itself."""
        return value if isinstance(value, Enclosure) else cls(np.asarray(value), np.asarray(value))

    def __add__(self, other: "Enclosure") -> "Enclosure":
        return Enclosure.between(self.low + other.low, self.high + other.high)

    def __mul__(self, other: "Enclosure") -> "Enclosure":
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        lowest, highest = np.minimum(*ends[:2]), np.maximum(*ends[:2])
        for end in ends[2:]:
            lowest, highest = np.minimum(lowest, end), np.maximum(highest, end)
        return Enclosure.between(lowest, highest)

    def scaled(self, factor: float) -> "Enclosure":
        """Times a number."""
        return self * Enclosure.of(factor)

    def power(self, n: int) -> "Enclosure":
        """To a whole power; of even ones nothing is below 0."""
        if n < 0:
            return self.power(-n).reciprocal()
        ends = self._widened(self.low**n), self._widened(self.high**n)
        low, high = np.minimum(ends[0].low, ends[1].low), np.maximum(ends[0].high, ends[1].high)
        holds_zero = (self.low <= 0.0) & (self.high >= 0.0)
        return Enclosure(np.where(holds_zero & (n % 2 == 0) & (n > 0), 0.0, low), high)

    def reciprocal(self) -> "Enclosure":
        """One over it; without end where it may be 0."""
        holds_zero = (self.low <= 0.0) & (self.high >= 0.0)
        inverse = Enclosure.between(1.0 / self.high, 1.0 / self.low)
        return Enclosure(np.where(holds_zero, -np.inf, inverse.low), np.where(holds_zero, np.inf, inverse.high))

    def rising(self, function: Callable[[Array], Array]) -> "Enclosure":
        """A function that rises; where it is not defined, without end."""
        return Enclosure(self._widened(function(self.low)).low, self._widened(function(self.high)).high)

    def wave(self, turns: float) -> "Enclosure":
        """The sine of it and so many quarter turns more: 1 and -1 where a crest or a trough may lie in between."""
        low, high = self.low + turns * (np.pi / 2.0), self.high + turns * (np.pi / 2.0)
        slack = _FUNCTION_ERROR * (1.0 + np.abs(low) + np.abs(high))
        ends = np.sin(low), np.sin(high)

        def meets(phase: float) -> Array:
            first, last = (low - slack - phase) / (2.0 * np.pi), (high + slack - phase) / (2.0 * np.pi)
            return np.asarray(np.floor(last) >= np.ceil(first))

        lowest, highest = np.minimum(*ends) - slack, np.maximum(*ends) + slack
        return Enclosure(
            np.where(meets(-np.pi / 2.0), -1.0, np.maximum(np.nan_to_num(lowest, nan=-1.0), -1.0)),
            np.where(meets(np.pi / 2.0), 1.0, np.minimum(np.nan_to_num(highest, nan=1.0), 1.0)),
        )

    @staticmethod
    def _widened(value: Array) -> "Enclosure":
        off = _FUNCTION_ERROR * np.abs(value) + _TINY
        return Enclosure.between(value - off, value + off)

    @property
    def largest(self) -> Array:
        """Of the absolute values."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def smallest(self) -> Array:
        """Of the absolute values."""
        return np.maximum(np.maximum(self.low, -self.high), 0.0)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Jet:
    """A number with its d first and (d, d) second derivatives, all of them intervals."""

    value: Enclosure
    first: tuple[Enclosure, ...]
    second: tuple[tuple[Enclosure, ...], ...]  # row k has the columns 0 .. k

    @classmethod
    def constant(cls, value: Enclosure, d: int) -> "Jet":
        """What does not depend on the variables."""
        zero = Enclosure.of(0.0)
        return cls(value, (zero,) * d, tuple((zero,) * (k + 1) for k in range(d)))

    @classmethod
    def variable(cls, value: Enclosure, number: int, d: int) -> "Jet":
        """One of the variables themselves."""
        still = cls.constant(value, d)
        first = tuple(Enclosure.of(float(k == number)) for k in range(d))
        return cls(value, first, still.second)

    def __add__(self, other: "Jet") -> "Jet":
        first = tuple(a + b for a, b in zip(self.first, other.first, strict=True))
        rows = zip(self.second, other.second, strict=True)
        return Jet(self.value + other.value, first, tuple(tuple(map(Enclosure.__add__, a, b)) for a, b in rows))

    def __mul__(self, other: "Jet") -> "Jet":
        a, b = self.value, other.value
        first = tuple(a * y + b * x for x, y in zip(self.first, other.first, strict=True))
        second = tuple(
            tuple(
                a * other.second[k][m]
                + b * self.second[k][m]
                + self.first[k] * other.first[m]
                + self.first[m] * other.first[k]
                for m in range(k + 1)
            )
            for k in range(len(first))
        )
        return Jet(a * b, first, second)

    def chained(self, value: Enclosure, slope: Enclosure, bend: Enclosure) -> "Jet":
        """A function of it, with the first two derivatives of the function."""
        second = tuple(
            tuple(bend * self.first[k] * self.first[m] + slope * self.second[k][m] for m in range(k + 1))
            for k in range(len(self.first))
        )
        return Jet(value, tuple(slope * derivative for derivative in self.first), second)

    def power(self, n: int) -> "Jet":
        """To a whole power."""
        x = self.value
        slope = x.power(n - 1).scaled(n) if n else Enclosure.of(0.0)
        bend = x.power(n - 2).scaled(n * (n - 1)) if n * (n - 1) else Enclosure.of(0.0)
        return self.chained(x.power(n), slope, bend)

    def exp(self) -> "Jet":
        """The exponential, which is its own derivative; never below 0."""
        value = self.value.rising(np.exp)
        value = Enclosure(np.maximum(value.low, 0.0), value.high)
        return self.chained(value, value, value)

    def log(self) -> "Jet":
        """The natural logarithm."""
        inverse = self.value.reciprocal()
        return self.chained(self.value.rising(np.log), inverse, inverse.power(2).scaled(-1.0))

    def sqrt(self) -> "Jet":
        """The square root."""
        root = self.value.rising(np.sqrt)
        slope = root.reciprocal().scaled(0.5)
        return self.chained(root, slope, (slope * self.value.reciprocal()).scaled(-0.5))

    def sin(self) -> "Jet":
        """The sine."""
        value = self.value.wave(0.0)
        return self.chained(value, self.value.wave(1.0), value.scaled(-1.0))

    def cos(self) -> "Jet":
        """The cosine."""
        value = self.value.wave(1.0)
        return self.chained(value, self.value.wave(0.0).scaled(-1.0), value.scaled(-1.0))
