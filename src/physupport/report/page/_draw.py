"""Pictures as SVG: roles become classes, and places pixels."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, groupby, pairwise
from typing import assert_never, final

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
)
from ..pictures._rooms import spread_apart
from ._svg import SERIES, Svg, dots, key_sign, label_sign, picture, point_sign, tag

_STRIP, _GAP = 30.0, 30.0  # height of a strip, and from there to the panel
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
    axis, n_lines = box.panel.x, 1
    for k, tick in enumerate(axis.ticks):
        x, lines = box.x(tick.value), tick.text.split("\n")
        n_lines = len(lines)
        if axis.has_grid:
            yield tag("path", d=f"M{x:.1f} {box.top:.1f}V{box.bottom:.1f}", class_="grid")
        anchor = ("start" if k == 0 else "end") if axis.is_flush else "middle"
        for j, text in enumerate(lines):
            yield tag("text", text, x=x, y=box.bottom + 16 * (j + 1), class_="axis-text", text_anchor=anchor)
    for j, name in enumerate(axis.rows):
        yield tag("text", name, x=box.left - 8, y=box.bottom + 16 * (j + 1), class_="axis-name", text_anchor="end")
    if axis.name:
        x, y = (box.left + box.right) / 2, box.bottom + 20 + 16 * n_lines
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
            x, y = box.x(mark.x, mark.shares), max(12.0, box.y(mark.y, mark.shares) - (mark.lift or -4.0))
            yield tag("text", mark.text, x=x, y=y, class_=mark.role, text_anchor=mark.anchor)
        case Label():
            x, y = box.x(mark.x, "x"), box.y(mark.y) + 4 - mark.lift
            yield label_sign(mark.kind, x, y - 10)
            yield tag("text", mark.label, x=x + 18, y=y, class_=f"label-text {mark.kind}")
        case Cells():
            yield from _cells(mark, box)
        case End():
            pass  # all of them are placed together
        case _:
            assert_never(mark)


def _bars(mark: Bars, box: _Box) -> Iterator[Svg]:
    half, starts = mark.thickness / 2, mark.starts or [0.0] * len(mark.places)
    for place, length, start in zip(mark.places, mark.lengths, starts, strict=True):
        across, along = (place - half, place + half), sorted((start, start + length))
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
    side, darkest = (box.right - box.left) / len(mark.values), 0.55 if mark.has_numbers else 1.0
    paths: dict[int, list[str]] = {}
    for i, row in enumerate(mark.values):
        start = 0
        for shade, run in groupby(round(_SHADES * min(1.0, abs(value))) for value in row):
            count = len([*run])
            place, width = f"M{box.left + start * side:.1f} {box.top + i * side:.1f}", count * side
            paths.setdefault(shade, []).append(f"{place}h{width:.1f}v{side:.1f}h{-width:.1f}z")
            start += count
    for shade, pieces in sorted(paths.items()):
        if shade:
            yield tag("path", d="".join(pieces), class_="shade", fill_opacity=darkest * shade / _SHADES)
    for i, j in ((i, j) for i in range(len(mark.values)) for j in range(len(mark.values)) if mark.has_numbers):
        yield tag("text", f"{mark.values[i][j]:.2f}", x=box.x(j), y=box.y(i) + 4, class_="cell-text",
                  text_anchor="middle")  # fmt: skip
    yield tag("rect", x=box.left, y=box.top, width=box.right - box.left, height=box.bottom - box.top, class_="frame")
