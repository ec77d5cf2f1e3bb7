"""The picture model: marks in the units of the data, roles instead of colours.

A role is a name that the style sheet of the page and the styles of the plots both know.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

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

    bend: None is linear; a number b makes it asinh(value / b), linear up to about b and logarithmic beyond.  is_log:
    logarithmic throughout, of positive values.
    rows: names of the lines of the ticks' texts.  is_named: the ticks are names, not numbers; such stand `lift` pixels
    above their places in a column of their own that starts at the share `column`, if it is given.  is_flush: the
    outermost texts do not stand out.
    """

    low: float
    high: float
    ticks: Sequence[Tick] = ()
    name: str = ""
    bend: float | None = None
    is_log: bool = False
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
        low, high = self._bent(self.low), self._bent(self.high)
        return 0.5 if high == low else (self._bent(value) - low) / (high - low)

    def _bent(self, value: float) -> float:
        if self.is_log:
            return math.log(value)
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
