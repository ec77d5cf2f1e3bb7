"""The picture model: marks in the units of the data, roles instead of colours, and axes with round numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

from .._words import number

# Which coordinates of a mark are shares of the axes, 0 at their left and lower end, instead of values.
Shares = Literal["", "x", "xy"]
Anchor = Literal["start", "middle", "end"]


@final
@dataclass(frozen=True, slots=True)
class Tick:
    """A value with its text, of one line or several; the title is what was shortened."""

    value: float
    text: str
    title: str = ""


@final
@dataclass(frozen=True, slots=True)
class Axis:
    """Values from low to high; low lies at the left or the bottom, also where it is the larger one.

    bend: None is linear; a number b makes it asinh(value / b), linear up to about b and logarithmic beyond.
    rows: names of the lines of the ticks' texts.  is_named: the ticks are names, not numbers; such stand `lift` pixels
    above their places in a column of their own that starts at the share `column`, if it is given.  is_flush: the
    outermost texts do not stand out.
    """

    low: float
    high: float
    ticks: Sequence[Tick] = ()
    name: str = ""
    bend: float | None = None
    rows: Sequence[str] = ()
    has_grid: bool = False
    is_named: bool = False
    is_flush: bool = False
    column: float | None = None
    lift: float = 0.0

    def share(self, value: float) -> float:
        """0 at low, 1 at high.

        >>> Axis(0.0, 100.0, bend=1.0).share(10.0) > Axis(0.0, 100.0).share(10.0)
        True
        """
        low = self._bent(self.low)
        high = self._bent(self.high)
        return 0.5 if high == low else (self._bent(value) - low) / (high - low)

    def _bent(self, value: float) -> float:
        return value if self.bend is None else math.asinh(value / self.bend)


@final
@dataclass(frozen=True, slots=True)
class Points:
    """Signs: a kept disc, a not-asked ring, an excluded cross, or plug-in, a triangle pointing down to its place.

    Of several series each has a sign of its own, series-0 to series-4; hollow lies upon them.  titles:
    hints, one a point or none at all.
    """

    sign: str
    xs: Sequence[float]
    ys: Sequence[float]
    titles: Sequence[str] = ()
    shares: Shares = ""


@final
@dataclass(frozen=True, slots=True)
class Line:
    """Through points; NaN breaks it.  is_stepped: a value holds until the next.  dash: 0 is none; name: in its key."""

    xs: Sequence[float]
    ys: Sequence[float]
    role: str
    dash: int | None = None
    name: str = ""
    is_stepped: bool = False
    has_points: bool = False
    depth: int = 2  # larger ones lie on top


@final
@dataclass(frozen=True, slots=True)
class Area:
    """Between two curves."""

    xs: Sequence[float]
    lower: Sequence[float]
    upper: Sequence[float]
    role: str
    is_stepped: bool = False


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """A level right across the axes; its text, if any, takes the place of the ticks near it."""

    y: float
    role: str
    text: str = ""


@final
@dataclass(frozen=True, slots=True)
class Bars:
    """To the right, one a lane, or upright; from zero, or from where the parts before them end.

    thickness: in units of the axis along which they stand.
    """

    places: Sequence[float]
    lengths: Sequence[float]
    role: str
    name: str
    starts: Sequence[float] = ()
    thickness: float = 0.62
    is_upright: bool = False


@final
@dataclass(frozen=True, slots=True)
class Text:
    """Words, lifted above their place by so many pixels or points."""

    x: float
    y: float
    text: str
    role: str
    anchor: Anchor = "start"
    shares: Shares = ""
    lift: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class Label:
    """The label of a field with the sign of its kind.  x: a share."""

    x: float
    y: float
    label: str
    kind: str
    lift: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class End:
    """A name beside the axes at the end of a curve; all of them are moved apart, so that they can be read."""

    x: float
    y: float
    text: str
    role: str
    title: str = ""
    has_leader: bool = False


@final
@dataclass(frozen=True, slots=True)
class Cells:
    """A matrix of values from 0 to 1, cell (i, j) around x = j, y = i; few of them carry their numbers."""

    values: Sequence[Sequence[float]]
    has_numbers: bool
    name: str


Mark = Points | Line | Area | Rule | Bars | Text | Label | End | Cells


@final
@dataclass(frozen=True, slots=True)
class Key:
    """An entry of the legend: sign, bar or line of a role, its name, and the state of what is so named."""

    role: str
    text: str
    note: str = ""
    dash: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Panel:
    """Two axes and what is drawn between them.  is_dense: so much that signs and letters must be small."""

    x: Axis
    y: Axis
    marks: Sequence[Mark]
    is_dense: bool = False


@final
@dataclass(frozen=True, slots=True)
class Picture:
    """A panel, perhaps with a low strip above that shares its horizontal axis, in so many pixels or points.

    title, description: what a reader hears who cannot see it.  margins: left, right, top and bottom of the panel and
    its strip, for a renderer that cannot measure texts.  notes: what stands below where no text around the picture
    says it.  is_equal: one unit is as long on both axes.
    """

    title: str
    description: str
    size: tuple[float, float]
    margins: tuple[float, float, float, float]
    panel: Panel
    strip: Panel | None = None
    keys: Sequence[Key] = ()
    heading: str = ""
    notes: Sequence[str] = ()
    is_equal: bool = False


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
    bottom = math.asinh(low / bend)
    top = math.asinh(high / bend)
    pad = 0.05 * (top - bottom)
    ticks = [Tick(value, number(value)) for value in values]
    return Axis(bend * math.sinh(bottom - pad), bend * math.sinh(top + pad), ticks, bend=bend, **others)


def padded(values: Sequence[float], share: float = 0.05) -> tuple[float, float]:
    """Limits that leave room on both sides."""
    low = min(values)
    high = max(values)
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
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
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
