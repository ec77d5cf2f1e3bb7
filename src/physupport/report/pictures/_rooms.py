"""Where a picture stands, and what fits there: round ticks, places for names."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from ._model import Axis, Tick
from ._words import number


@final
@dataclass(frozen=True, slots=True)
class Room:
    """A width in pixels or points, about how many ticks fit, and how many letters a name may have."""

    key: str
    width: float
    n_ticks: int
    letters: int
    most_points: int  # of one curve; more are closer than the eye can tell
    is_paper: bool = False  # no text around the picture explains it


WIDE = Room("wide", 1000.0, 8, 20, 500)
COMPACT = Room("compact", 366.0, 5, 12, 200)  # for small screens
SMALL = Room("small", 240.0, 3, 14, 120)  # one of many side by side
COLUMN = Room("column", 241.2, 6, 14, 5000, is_paper=True)  # 85 mm, of a journal


def numbered(low: float, high: float, count: int, **others: Any) -> Axis:  # noqa: ANN401
    """An axis with about so many round numbers.  others: fields of the axis."""
    values = round_values(low, high, count)
    texts = [number(value) for value in values]
    if len({*texts}) < len(texts):  # values that differ by less than the usual digits tell
        texts = [f"{value:.10g}" for value in values]
    return Axis(low, high, [Tick(value, text) for value, text in zip(values, texts, strict=True)], **others)


def counting(high: float, count: int, **others: Any) -> Axis:  # noqa: ANN401
    """An axis from zero with whole numbers, large ones as 200k or 3M."""
    values = [value for value in round_values(0.0, high, count) if value == int(value)]
    return Axis(0.0, high, [Tick(value, _short(value)) for value in values], **others)


def _short(value: float) -> str:
    for size, sign in ((1e6, "M"), (1e3, "k")):
        if value >= 10.0 * size or (value >= size and value % size == 0.0):
            return f"{number(value / size)}{sign}"
    return number(value, 7)


def bent(low: float, high: float, bend: float, count: int, **others: Any) -> Axis:  # noqa: ANN401
    """An axis that is logarithmic beyond `bend`, a little longer than its values at both ends."""
    values = bent_values(low, high, bend, count)
    bottom, top = math.asinh(low / bend), math.asinh(high / bend)
    pad = 0.05 * (top - bottom)
    ticks = [Tick(value, number(value)) for value in values]
    return Axis(bend * math.sinh(bottom - pad), bend * math.sinh(top + pad), ticks, bend=bend, **others)


def logarithmic(low: float, high: float, **others: Any) -> Axis:  # noqa: ANN401
    """A logarithmic axis with powers of ten, a little longer than its values at both ends.

    >>> [tick.text for tick in logarithmic(2e-9, 3e-7).ticks]
    ['10⁻⁸', '10⁻⁷']
    """
    room = (high / low) ** 0.05
    powers = range(math.ceil(math.log10(low / room)), math.floor(math.log10(high * room)) + 1)
    ticks = [Tick(10.0**power, f"10{str(power).translate(_RAISED)}") for power in powers]
    return Axis(low / room, high * room, ticks, is_log=True, **others)


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def padded(values: Sequence[float], share: float = 0.05) -> tuple[float, float]:
    """Limits that leave room on both sides."""
    low, high = min(values), max(values)
    pad = share * (high - low) or 0.5
    return low - pad, high + pad


def round_values(low: float, high: float, count: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between two values.

    >>> round_values(0.08, 0.98, 5)
    [0.2, 0.4, 0.6, 0.8]
    """
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step)))
    return [round(k * step, digits) + 0.0 for k in range(first, last + 1)]


def bent_values(low: float, high: float, bend: float, count: int) -> list[float]:
    """Zero and round values from about the bend on, few enough to be read on a logarithmic scale.

    >>> bent_values(-20.0, 900.0, 3.0, 5)
    [-10.0, 0.0, 10.0, 100.0]
    """
    decades = range(math.floor(math.log10(bend)), math.ceil(math.log10(max(-low, high))) + 1)
    every = max(1, math.ceil(len(decades) / count))
    within = (1.0, 3.0) if 2 * len(decades) <= count + 1 else (1.0,)
    sizes = [m * 10.0**k for k in decades if (k - decades[-1]) % every == 0 for m in within if m * 10.0**k >= bend]
    return [value for value in (*(-size for size in reversed(sizes)), 0.0, *sizes) if low <= value <= high]


def spread_apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places near the wanted ones, in their order, at least `gap` apart as far as the room allows.

    >>> spread_apart([10.0, 12.0, 40.0], 10.0, 0.0, 100.0)
    [10.0, 20.0, 40.0]
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    gap = min(gap, (high - low) / max(1, len(wanted) - 1))
    placed = [0.0] * len(wanted)
    reached = low - gap
    for i in order:
        reached = placed[i] = max(wanted[i], reached + gap)
    limit = high + gap
    for i in reversed(order):
        limit = placed[i] = min(placed[i], limit - gap)
    return placed
