"""Pictures as text: escaped SVG elements, scales and ticks.

Colours are classes, never attributes, so that the style sheet alone decides how a picture looks on paper and at night.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import final


@final
class Svg(str):
    """Markup that is already escaped; templates insert it as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        """What jinja2 asks for before it would escape."""
        return self


def tag(name: str, *content: str, **attributes: str | float | None) -> Svg:
    """One element; names are written with `_` for `-`, and texts are escaped.

    >>> tag("text", "a < b", x=1.25, class_="note", text_anchor="end")
    '<text x="1.25" class="note" text-anchor="end">a &lt; b</text>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(coordinate(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(part if isinstance(part, Svg) else escape(part) for part in content)
    return Svg(f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>")


def joined(parts: Sequence[Svg]) -> Svg:
    """Elements one after the other."""
    return Svg("".join(parts))


def coordinate(value: str | float) -> str:
    """A number to a hundredth of a pixel, without trailing zeros; texts as they are."""
    if isinstance(value, str):
        return value
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def picture(key: str, size: tuple[float, float], title: str, description: str, content: Sequence[Svg]) -> Svg:
    """A picture that a screen reader reads as its title and description.  key: distinct on the page."""
    width, height = size
    return tag(
        "svg",
        tag("title", title, id=f"{key}-title"),
        tag("desc", description, id=f"{key}-desc"),
        *content,
        class_="picture",
        role="img",
        aria_labelledby=f"{key}-title",
        aria_describedby=f"{key}-desc",
        viewBox=f"0 0 {coordinate(width)} {coordinate(height)}",
        width=width,
        height=height,
    )


def polyline(points: Sequence[tuple[float, float]], class_: str) -> Svg:
    """A line through points, each to a tenth of a pixel."""
    return tag("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=class_)


@final
@dataclass(frozen=True, slots=True)
class Scale:
    """Values between lower and upper onto pixels between start and end.

    bend: None is linear; a number b makes it asinh(value / b), linear up to about b and logarithmic beyond.
    """

    lower: float
    upper: float
    start: float
    end: float
    bend: float | None = None

    def __call__(self, value: float) -> float:
        low, high = self._bent(self.lower), self._bent(self.upper)
        share = 0.5 if high == low else (self._bent(value) - low) / (high - low)
        return self.start + share * (self.end - self.start)

    def _bent(self, value: float) -> float:
        return value if self.bend is None else math.asinh(value / self.bend)

    def ticks(self, count: int = 5) -> list[float]:
        """Round values, about so many of them."""
        if self.bend is None:
            return round_values(self.lower, self.upper, count)
        reach = max(abs(self.lower), abs(self.upper))
        decades = range(math.floor(math.log10(self.bend)), math.ceil(math.log10(reach)) + 1)
        every = max(1, math.ceil(len(decades) / count))
        within = (1.0, 3.0) if 2 * len(decades) <= count + 2 else (1.0,)
        sizes = [m * 10.0**k for k in decades if (k - decades[-1]) % every == 0 for m in within]
        return [v for v in (*(-s for s in reversed(sizes)), 0.0, *sizes) if self.lower <= v <= self.upper]


def round_values(lower: float, upper: float, count: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between two values.

    >>> round_values(0.08, 0.98, 5)
    [0.2, 0.4, 0.6, 0.8]
    """
    if not upper > lower:
        return [lower]
    rough = (upper - lower) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
    first, last = math.ceil(lower / step - 1e-9), math.floor(upper / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step)))
    return [round(k * step, digits) + 0.0 for k in range(first, last + 1)]


def spread_apart(wanted: Sequence[float], gap: float, lower: float, upper: float) -> list[float]:
    """Places near the wanted ones, in their order, at least `gap` apart as far as the room allows.

    >>> spread_apart([10.0, 12.0, 40.0], 10.0, 0.0, 100.0)
    [10.0, 20.0, 40.0]
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    gap = min(gap, (upper - lower) / max(1, len(wanted) - 1))
    placed = [0.0] * len(wanted)
    reached = lower - gap
    for i in order:
        reached = placed[i] = max(wanted[i], reached + gap)
    limit = upper + gap
    for i in reversed(order):
        limit = placed[i] = min(placed[i], limit - gap)
    return placed
