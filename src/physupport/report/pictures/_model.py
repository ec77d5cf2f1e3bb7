"""The picture model: marks in the units of the data, roles instead of colours, and axes with round numbers.

Two loops over the marks draw it.  The page writes SVG, which needs no other package, takes its colours from a style
sheet and has hints; the plots draw on axes of matplotlib, to which anything can be added, for paper and notebooks.
The style sheet says how each role looks: pages carry it and plots read it.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, final

from .._words import number

Kind = Literal["points", "line", "area", "bars", "columns", "text", "label", "end", "cells"]
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
    is_named: the ticks are names, not numbers.  is_flush: the outermost texts do not stand out.
    """

    low: float
    high: float
    ticks: Sequence[Tick] = ()
    name: str = ""
    bend: float | None = None
    has_grid: bool = False
    is_named: bool = False
    is_flush: bool = False

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
class Mark:
    """One thing that is drawn, at places (xs, ys), in the style of its role.

    points: a sign at each place, with hints as texts, one a point or none at all.  The roles are kept, a disc;
    not-asked, a ring; excluded, a cross; plug-in, a triangle pointing down to its place; and series-0 to series-2.
    line: through the places; NaN breaks it.  area: between the curves `lower` and ys.  is_stepped: a value holds until
    the next.
    bars: to the right, ys are their lanes and xs their lengths; columns: upright, at xs, to the heights ys.
    text: words, lifted above their place by so many pixels or points, with a hint as a second text.
    label: the label of a field with the sign of its kind, which is the role.
    end: a name beside the axes at the end of a curve; all of them are moved apart, so that they can be read.  With a
    hint as a second text a line leads to it.
    cells: a matrix of values from 0 to 1, cell (i, j) around x = j, y = i; few of them carry their numbers.
    """

    kind: Kind
    role: str
    xs: Sequence[float] = ()
    ys: Sequence[float] = ()
    texts: Sequence[str] = ()
    shares: Shares = ""
    depth: int = 2  # larger ones lie on top
    name: str = ""  # in a legend
    dash: int | None = None  # 0 is none
    lower: Sequence[float] = ()
    cells: Sequence[Sequence[float]] = ()
    is_stepped: bool = False
    has_points: bool = False
    anchor: Anchor = "start"
    lift: float = 0.0

    @property
    def place(self) -> tuple[float, float]:
        """The place of a mark that has one."""
        return self.xs[0], self.ys[0]


MOST_NUMBERED = 8  # rows of a matrix whose cells carry their numbers


def level(y: float, role: str) -> Mark:
    """A line right across the axes."""
    return Mark("line", role, (0.0, 1.0), (y, y), shares="x", depth=1)


def words(role: str, x: float, y: float, text: str, title: str = "", **others: Any) -> Mark:  # noqa: ANN401
    """A text with its hint.  others: fields of the mark."""
    return Mark("text", role, (x,), (y,), (text, title), depth=6, **others)


@final
@dataclass(frozen=True, slots=True)
class Key:
    """An entry of the legend: sign, bar or line of a role, its name, and the state of what is so named."""

    role: str
    text: str
    note: str = ""
    dash: int | None = None
    kind: Kind = "line"


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


SHEET = files(__package__).joinpath("picture.css").read_text(encoding="utf-8")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_DECLARATION = re.compile(r"([\w-]+): ([^;]+)")
_VARIABLE = re.compile(r"var\((--[\w-]+)\)")


@cache
def style_of(*classes: str) -> dict[str, str]:
    """The declarations of the sheet for an element of these classes, with the colours of light paper.

    Of two rules the one with more classes counts, of equal ones the later.

    >>> style_of("curve", "threshold")
    {'fill': 'none', 'stroke-width': '1.25', 'stroke-linejoin': 'round', 'stroke': '#b0261c'}
    """
    style: dict[str, str] = {}
    for names, declared in _rules():
        if names <= {*classes}:
            style |= declared
    return {key: style["color"] if value == "currentColor" else value for key, value in style.items()}


@cache
def _rules() -> list[tuple[frozenset[str], dict[str, str]]]:
    """The classes of every selector of classes and what it declares, those of the fewest classes first."""
    parts = [(selectors, dict(_DECLARATION.findall(body))) for selectors, body in _RULE.findall(SHEET)]
    colors = parts[0][1]
    rules = []
    for selectors, declared in parts[1:]:
        resolved = {key: _VARIABLE.sub(lambda match: colors[match[1]], value) for key, value in declared.items()}
        for selector in selectors.split(","):
            *_, last = selector.split()  # ancestors tell where on a page
            if last.startswith("."):
                rules.append((frozenset(last[1:].split(".")), resolved))
    return sorted(rules, key=lambda rule: len(rule[0]))
