"""Pictures as escaped SVG: roles become classes, so that the style sheet alone decides how a picture looks."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import compress, groupby, pairwise
from typing import Any, assert_never, final

from ..._errors import visible
from ..pictures._model import (
    Area,
    Axis,
    Bars,
    Cells,
    End,
    Key,
    Label,
    Line,
    Mark,
    Panel,
    Picture,
    Points,
    Rule,
    Shares,
    Text as Words,
    spread_apart,
)


@final
class Svg(str):
    """Markup that is already escaped; templates insert it as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        """The markup itself: jinja2 calls this before it would escape."""
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


# The parts of the sign of a label: circles at x with radius and class, and paths with their class.
_PARTS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "certain": ((6, 4.5, "solid"),),
    "absent": ((6, 4, "outline"), ("M1.5 10.5l9-9", "outline")),
    "group": ((3.2, 2.7, "solid"), (8.8, 2.7, "solid")),
    "ambiguous": ((6, 4.25, "outline"), ("M6 1.5a4.5 4.5 0 0 1 0 9z", "solid")),
    "open": ((6, 4.25, "outline"),),
    "empty": (("M2 2l8 8m0-8l-8 8", "outline"),),
}


# Around their place: disc, square, diamond, cross, triangle, and a diamond upon others.
SERIES = {
    "series-0": "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "series-1": "m-3.5-3.5h7v7h-7z",
    "series-2": "m0-4.5l4.5 4.5l-4.5 4.5l-4.5-4.5z",
    "series-3": "m-4-4l8 8m0-8l-8 8",
    "series-4": "m0-4.5l4.5 8h-9z",
    "hollow": "m0-4.5l4.5 4.5l-4.5 4.5l-4.5-4.5z",
}


def point_sign(sign: str, x: float, y: float, title: str = "") -> Svg:
    """Kept is a disc, not asked a ring, excluded a cross; a triangle points down to what a plug-in says.

    Series have shapes of their own.
    """
    content = (tag("title", title),) if title else ()
    if sign in SERIES:
        return tag("path", *content, d=f"M{x:.1f} {y:.1f}{SERIES[sign]}", class_=sign)
    if sign in ("kept", "not-asked"):
        return tag("circle", *content, cx=x, cy=y, r=5.5 if sign == "kept" else 4.75, class_=sign)
    if sign == "plug-in":
        return tag("path", *content, d=f"M{x - 4.5:.1f} {y - 14:.1f}h9l-4.5 6.5z", class_="plug-in-sign")
    arm = 3.25
    path = f"M{x - arm:.1f} {y - arm:.1f}l{2 * arm} {2 * arm}m0 {-2 * arm}l{-2 * arm} {2 * arm}"
    return tag("path", *content, d=path, class_="excluded")


def dots(sign: str, places: Sequence[tuple[float, float]]) -> Iterator[Svg]:
    """Very many of one sign as one path, small, faint where excluded; a ring is a disc upon a disc."""
    path = "".join(f"M{x:g} {y:g}h0" for x, y in sorted({(round(x, 1), round(y, 1)) for x, y in places}))
    yield tag("path", d=path, class_=f"dots {sign}-dots")
    if sign == "not-asked":
        yield tag("path", d=path, class_="dots inner-dots")


def label_sign(kind: str, x: float = 0.0, y: float = 0.0) -> Svg:
    """The sign before a label: disc, struck ring, two discs, half disc, ring, cross; at (x, y) within a picture."""
    content = "".join(
        tag("circle", cx=part[0], cy=6, r=part[1], class_=part[2])
        if len(part) == 3
        else tag("path", d=part[0], class_=part[1])
        for part in _PARTS[kind]
    )
    place = {"x": x or None, "y": y or None, "width": 12, "height": 12}
    return tag("svg", Svg(content), class_=f"sign {kind}", viewBox="0 0 12 12", aria_hidden="true", **place)


def key_sign(sign: Svg) -> Svg:
    """A sign drawn around (8, 8) for a legend; the plug-in triangle needs the room above."""
    return tag("svg", sign, class_="sign", viewBox="0 0 16 16", width=16, height=16, aria_hidden="true")


# height of a strip, and from there to the panel
_STRIP = 30.0
_GAP = 30.0
_SHADES = 12
_MOST_TITLED = 200  # signs with a hint each; more are one path
_LINE = 15.0  # from one name beside a curve to the next


@final
@dataclass(frozen=True, slots=True)
class _Box:
    """A panel and where its axes stand, in pixels."""

    panel: Panel
    left: float
    right: float
    top: float
    bottom: float

    def x(self, value: float, shares: Shares = "") -> float:
        share = value if shares else self.panel.x.share(value)
        return self.left + share * (self.right - self.left)

    def y(self, value: float, shares: Shares = "") -> float:
        share = value if shares == "xy" else self.panel.y.share(value)
        return self.bottom - share * (self.bottom - self.top)


def svg(drawn: Picture, key: str) -> Svg:
    """The picture as one element.  key: distinct on the page."""
    left, right, top, bottom = drawn.margins
    width, height = drawn.size
    box = _Box(drawn.panel, left, width - right, top, height - bottom)
    parts: list[Svg] = []
    if drawn.strip is not None:
        parts += _panel(_Box(drawn.strip, left, box.right, top, top + _STRIP))
        box = _Box(drawn.panel, left, box.right, top + _STRIP + _GAP, box.bottom)
    return picture(key, drawn.size, drawn.title, drawn.description, [*parts, *_panel(box)])


def line_key(key: Key) -> Svg:
    """A piece of line for a legend, or the sign of a series."""
    if key.role in SERIES:
        return key_sign(point_sign(key.role, 8, 8))
    line = tag("path", d="M0 6h28", class_=_classes(key.role, key.dash))
    return tag("svg", line, class_="sign", viewBox="0 0 28 12", width=28, height=12, aria_hidden="true")


def _classes(role: str, dash: int | None = None) -> str:
    return f"curve {role}" if dash is None else f"curve {role} dash-{dash}"


def _panel(box: _Box) -> Iterator[Svg]:
    marks = box.panel.marks
    is_behind = [isinstance(mark, Area | Cells) for mark in marks]
    for mark in compress(marks, is_behind):
        yield from _mark(mark, box)
    yield from _horizontal_axis(box)
    yield from _vertical_axis(box, [box.y(mark.y) for mark in marks if isinstance(mark, Rule) and mark.text])
    # A sort that keeps the order of equals: lines by their depth, then everything else.
    for mark in sorted((mark for mark in marks if not isinstance(mark, Area | Cells)), key=_depth):
        yield from _mark(mark, box)
    ends = [mark for mark in marks if isinstance(mark, End)]
    places = spread_apart([box.y(end.y) for end in ends], _LINE, box.top, box.bottom)
    for end, y in zip(ends, places, strict=True):
        yield from _end(end, y, box)


def _depth(mark: Mark) -> int:
    return mark.depth if isinstance(mark, Line) else 0 if isinstance(mark, Rule) else 9


def _horizontal_axis(box: _Box) -> Iterator[Svg]:
    axis = box.panel.x
    n_lines = 1
    for k, tick in enumerate(axis.ticks):
        x = box.x(tick.value)
        lines = tick.text.split("\n")
        n_lines = len(lines)
        if axis.has_grid:
            yield tag("path", d=f"M{x:.1f} {box.top:.1f}V{box.bottom:.1f}", class_="grid")
        anchor = ("start" if k == 0 else "end") if axis.is_flush else "middle"
        for j, text in enumerate(lines):
            yield tag("text", text, x=x, y=box.bottom + 16 * (j + 1), class_="axis-text", text_anchor=anchor)
    for j, name in enumerate(axis.rows):
        yield tag("text", name, x=box.left - 8, y=box.bottom + 16 * (j + 1), class_="axis-name", text_anchor="end")
    if axis.name:
        x = (box.left + box.right) / 2
        y = box.bottom + 20 + 16 * n_lines
        yield tag("text", axis.name, x=x, y=y, class_="axis-name", text_anchor="middle")


def _vertical_axis(box: _Box, taken: Sequence[float]) -> Iterator[Svg]:
    """taken: where other texts stand, so that ticks would run into them."""
    axis = box.panel.y
    for tick in axis.ticks:
        y = box.y(tick.value)
        if any(abs(y - other) < 12 for other in taken):
            continue
        if axis.has_grid:
            yield tag("path", d=f"M{box.left} {y:.1f}H{box.right}", class_="grid")
        yield _tick_text(axis, tick.text, tick.title, box, y + 4)
    if axis.name:
        yield tag("text", axis.name, x=box.left, y=box.top - 8, class_="axis-name")


def _tick_text(axis: Axis, text: str, title: str, box: _Box, y: float) -> Svg:
    content = (tag("title", title), text) if title else (text,)
    if axis.column is None:
        return tag("text", *content, x=box.left - 6, y=y, class_="axis-text", text_anchor="end")
    return tag("text", *content, x=box.x(axis.column, "x"), y=y - axis.lift, class_="name")


def _mark(mark: Mark, box: _Box) -> Iterator[Svg]:
    match mark:
        case Points():
            yield from _points(mark, box)
        case Line():
            yield from _line(mark, box)
        case Area():
            corners = [*_corners(mark.xs, mark.upper, box, mark.is_stepped),
                       *reversed(_corners(mark.xs, mark.lower, box, mark.is_stepped))]  # fmt: skip
            yield tag("polygon", points=_joined(corners), class_=mark.role)
        case Rule():
            y = box.y(mark.y)
            yield tag("path", d=f"M{box.left} {y:.1f}H{box.right}", class_=_classes(mark.role))
            if mark.text:
                class_ = f"axis-text {mark.role}-text"
                yield tag("text", mark.text, x=box.left - 8, y=y + 4, class_=class_, text_anchor="end")
        case Bars():
            yield from _bars(mark, box)
        case Words():
            x = box.x(mark.x, mark.shares)
            y = max(12.0, box.y(mark.y, mark.shares) - (mark.lift or -4.0))
            yield tag("text", mark.text, x=x, y=y, class_=mark.role, text_anchor=mark.anchor)
        case Label():
            x = box.x(mark.x, "x")
            y = box.y(mark.y) + 4 - mark.lift
            yield label_sign(mark.kind, x, y - 10)
            yield tag("text", mark.label, x=x + 18, y=y, class_=f"label-text {mark.kind}")
        case Cells():
            yield from _cells(mark, box)
        case End():
            pass  # all of them are placed together
        case _:
            assert_never(mark)


def _bars(mark: Bars, box: _Box) -> Iterator[Svg]:
    half = mark.thickness / 2
    starts = mark.starts or [0.0] * len(mark.places)
    for place, length, start in zip(mark.places, mark.lengths, starts, strict=True):
        across = (place - half, place + half)
        along = sorted((start, start + length))
        (left, right), (low, high) = (across, along) if mark.is_upright else (along, across)
        size = {"width": box.x(right) - box.x(left), "height": box.y(low) - box.y(high)}
        yield tag("rect", x=box.x(left), y=box.y(high), class_=mark.role, **size)


def _points(mark: Points, box: _Box) -> Iterator[Svg]:
    places = [(box.x(x, mark.shares), box.y(y, mark.shares)) for x, y in zip(mark.xs, mark.ys, strict=True)]
    if len(places) > _MOST_TITLED:  # nobody points at one of so many
        yield from dots(mark.sign, places)
        return
    titles = mark.titles or [""] * len(places)
    yield from (point_sign(mark.sign, *place, title) for place, title in zip(places, titles, strict=True))


def _line(mark: Line, box: _Box) -> Iterator[Svg]:
    places = _corners(mark.xs, mark.ys, box, mark.is_stepped)
    pieces = [[*run] for is_known, run in groupby(places, lambda place: not math.isnan(place[1])) if is_known]
    path = "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in piece) for piece in pieces)
    if path:
        yield tag("path", d=path, class_=_classes(mark.role, mark.dash))
    if mark.has_points:
        yield from (tag("circle", cx=x, cy=y, r=2.2, class_=f"point {mark.role}") for run in pieces for x, y in run)


def _corners(xs: Sequence[float], ys: Sequence[float], box: _Box, is_stepped: bool) -> list[tuple[float, float]]:
    """In pixels; of steps, points on one level are left out."""
    places = [(box.x(x), box.y(y)) for x, y in zip(xs, ys, strict=True)]
    if not is_stepped:
        return places
    turns = [[(x, before), (x, y)] for (_, before), (x, y) in pairwise(places) if y != before]
    return [places[0], *(place for turn in turns for place in turn), places[-1]]


def _joined(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _end(end: End, y: float, box: _Box) -> Iterator[Svg]:
    if end.has_leader:
        place = f"M{box.x(end.x) + 4:.1f} {box.y(end.y):.1f}L{box.right + 8} {y:.1f}"
        yield tag("path", d=place, class_="leader")
    content = (tag("title", end.title), end.text) if end.title else (end.text,)
    yield tag("text", *content, x=box.right + 12, y=y + 4, class_=f"end {end.role}")


def _cells(mark: Cells, box: _Box) -> Iterator[Svg]:
    """One path a shade: cells of equal shade in a row are one piece; behind numbers the darkest stays light."""
    side = (box.right - box.left) / len(mark.values)
    darkest = 0.55 if mark.has_numbers else 1.0
    paths: dict[int, list[str]] = {}
    for i, row in enumerate(mark.values):
        start = 0
        for shade, run in groupby(round(_SHADES * min(1.0, abs(value))) for value in row):
            count = len([*run])
            place = f"M{box.left + start * side:.1f} {box.top + i * side:.1f}"
            width = count * side
            paths.setdefault(shade, []).append(f"{place}h{width:.1f}v{side:.1f}h{-width:.1f}z")
            start += count
    for shade, pieces in sorted(paths.items()):
        if shade:
            yield tag("path", d="".join(pieces), class_="shade", fill_opacity=darkest * shade / _SHADES)
    for i, j in ((i, j) for i in range(len(mark.values)) for j in range(len(mark.values)) if mark.has_numbers):
        yield tag("text", f"{mark.values[i][j]:.2f}", x=box.x(j), y=box.y(i) + 4, class_="cell-text",
                  text_anchor="middle")  # fmt: skip
    yield tag("rect", x=box.left, y=box.top, width=box.right - box.left, height=box.bottom - box.top, class_="frame")


_OPENING = "<svg "


def asset(name: str) -> str:
    """The text of a template, a style sheet or a script of the page."""
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def picture_svg(picture: Picture) -> str:
    """One SVG file, with the style sheet of pictures within; names in it are text, whatever they hold."""
    drawn = str(svg(picture, "picture"))
    style = f"<style><![CDATA[{asset('picture.css')}\n.picture {{ background: var(--paper); }}]]></style>"
    opened = drawn.replace(_OPENING, f'{_OPENING}xmlns="http://www.w3.org/2000/svg" ', 1)
    head, _, rest = opened.partition(">")
    return "\n".join(map(visible, f"{head}>{style}{rest}\n".split("\n")))
