"""Pictures as escaped SVG: roles become classes, so that the style sheet alone decides how a picture looks."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby, pairwise
from typing import final

from markupsafe import Markup, escape

from ..._errors import visible
from ..pictures._model import MOST_NUMBERED, SHEET, Axis, Key, Mark, Panel, Picture, Shares, spread_apart


def tag(name: str, *content: str, **attributes: str | float | None) -> Markup:
    """One element; names are written with `_` for `-`, and texts are escaped.

    >>> str(tag("text", "a < b", x=1.25, class_="note", text_anchor="end"))
    '<text x="1.25" class="note" text-anchor="end">a &lt; b</text>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value if isinstance(value, str) else coordinate(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = Markup("").join(content)
    return Markup(f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>")


def coordinate(value: float) -> str:
    """A number to a hundredth of a pixel, without trailing zeros."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _disc(radius: float) -> str:
    """A circle as a path around its place."""
    turn = f"a{radius} {radius} 0 1 0 "
    return f"m{-radius} 0{turn}{2 * radius} 0{turn}{-2 * radius} 0z"


# Paths around the place of a sign, and around (6, 6) of the sign of a label, those of solid parts first.
_SIGNS = {
    "kept": _disc(5.5),
    "not-asked": _disc(4.75),
    "excluded": "m-3.25-3.25l6.5 6.5m0-6.5l-6.5 6.5",
    "plug-in": "m-4.5-14h9l-4.5 6.5z",
    "series-0": _disc(4),
    "series-1": "m-3.5-3.5h7v7h-7z",
    "series-2": "m0-4.5l4.5 4.5l-4.5 4.5l-4.5-4.5z",
}
_LABEL_SIGNS = {
    "certain": (_disc(4.5), ""),
    "absent": ("", f"{_disc(4)}m-.5 4.5l9-9"),
    "group": (f"m-2.8 0{_disc(2.7)}m8.3 0{_disc(2.7)}", ""),
    "ambiguous": ("m0-4.5a4.5 4.5 0 0 1 0 9z", _disc(4.25)),
    "open": ("", _disc(4.25)),
    "empty": ("", "m-4-4l8 8m0-8l-8 8"),
}


def point_sign(sign: str, x: float, y: float, title: str = "") -> Markup:
    """A sign at its place, with a hint."""
    content = (tag("title", title),) if title else ()
    return tag("path", *content, d=f"M{x:.1f} {y:.1f}{_SIGNS[sign]}", class_=sign)


def label_sign(kind: str, x: float = 0.0, y: float = 0.0) -> Markup:
    """The sign before a label: disc, struck ring, two discs, half disc, ring, cross; at (x, y) within a picture."""
    parts = zip(("solid", "outline"), _LABEL_SIGNS[kind], strict=True)
    content = (tag("path", d=f"M6 6{path}", class_=name) for name, path in parts if path)
    return _small(12, 12, *content, class_=f"sign {kind}", x=x or None, y=y or None)


def key_sign(sign: str, y: float = 8.0) -> Markup:
    """A sign for a legend; the plug-in triangle needs the room above."""
    return _small(16, 16, point_sign(sign, 8.0, y))


def line_key(key: Key) -> Markup:
    """A piece of line for a legend, a bar, or the sign of a series."""
    if key.kind == "points":
        return key_sign(key.role)
    if key.kind == "columns":
        return _small(28, 12, tag("rect", y=1.5, width=28, height=9, class_=key.role))
    return _small(28, 12, tag("path", d="M0 6h28", class_=_classes(key.role, key.dash)))


def _small(width: float, height: float, *content: Markup, class_: str = "sign", **place: float | None) -> Markup:
    return tag("svg", *content, class_=class_, viewBox=f"0 0 {width} {height}", aria_hidden="true", width=width,
               height=height, **place)  # fmt: skip


def _classes(role: str, dash: int | None = None) -> str:
    return f"curve {role}" if dash is None else f"curve {role} dash-{dash}"


# height of a strip, and from there to the panel
_STRIP = 30.0
_GAP = 30.0
_SHADES = 12
_MOST_TITLED = 200  # signs with a hint each; more are one path
_LINE = 15.0  # from one name beside a curve to the next
_BAR = 0.66  # thickness of a bar, in lanes


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

    def places(self, mark: Mark, ys: Sequence[float]) -> list[tuple[float, float]]:
        """The places of a mark in pixels, at these heights; a stepped line omits points on one level."""
        places = [(self.x(x, mark.shares), self.y(y, mark.shares)) for x, y in zip(mark.xs, ys, strict=True)]
        if not mark.is_stepped:
            return places
        turns = [[(x, before), (x, y)] for (_, before), (x, y) in pairwise(places) if y != before]
        return [places[0], *(place for turn in turns for place in turn), places[-1]]


def svg(drawn: Picture, key: str) -> Markup:
    """The picture as one element, which a screen reader reads as title and description.  key: distinct on the page."""
    left, right, top, bottom = drawn.margins
    width, height = drawn.size
    box = _Box(drawn.panel, left, width - right, top, height - bottom)
    parts: list[Markup] = []
    if drawn.strip is not None:
        parts += _panel(_Box(drawn.strip, left, box.right, top, top + _STRIP))
        box = _Box(drawn.panel, left, box.right, top + _STRIP + _GAP, box.bottom)
    return tag(
        "svg",
        tag("title", drawn.title, id=f"{key}-title"),
        tag("desc", drawn.description, id=f"{key}-desc"),
        *parts,
        *_panel(box),
        class_="picture",
        role="img",
        aria_labelledby=f"{key}-title",
        aria_describedby=f"{key}-desc",
        viewBox=f"0 0 {coordinate(width)} {coordinate(height)}",
        width=width,
        height=height,
    )


def _panel(box: _Box) -> Iterator[Markup]:
    yield from _horizontal_axis(box.panel.x, box)
    yield from _vertical_axis(box.panel.y, box)
    for mark in sorted(box.panel.marks, key=lambda mark: mark.depth):  # equals keep their order
        yield from _DRAWN[mark.kind](mark, box)
    ends = [mark for mark in box.panel.marks if mark.kind == "end"]
    places = spread_apart([box.y(end.place[1]) for end in ends], _LINE, box.top, box.bottom)
    for end, y in zip(ends, places, strict=True):
        if end.texts[1]:
            ((x, own),) = box.places(end, end.ys)
            yield tag("path", d=f"M{x + 4:.1f} {own:.1f}L{box.right + 8} {y:.1f}", class_="leader")
        yield _text(*end.texts, x=box.right + 12, y=y + 4, class_=f"end {end.role}")


def _horizontal_axis(axis: Axis, box: _Box) -> Iterator[Markup]:
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
    if axis.name:
        x = (box.left + box.right) / 2
        y = box.bottom + 20 + 16 * n_lines
        yield tag("text", axis.name, x=x, y=y, class_="axis-name", text_anchor="middle")


def _vertical_axis(axis: Axis, box: _Box) -> Iterator[Markup]:
    for tick in axis.ticks:
        y = box.y(tick.value)
        if axis.has_grid:
            yield tag("path", d=f"M{box.left} {y:.1f}H{box.right}", class_="grid")
        yield _text(tick.text, tick.title, x=box.left - 6, y=y + 4, class_="axis-text", text_anchor="end")
    if axis.name:
        yield tag("text", axis.name, x=box.left, y=box.top - 8, class_="axis-name")


def _text(text: str, title: str, **attributes: str | float) -> Markup:
    return tag("text", *((tag("title", title), text) if title else (text,)), **attributes)


def _points(mark: Mark, box: _Box) -> Iterator[Markup]:
    places = box.places(mark, mark.ys)
    if len(places) <= _MOST_TITLED:
        titles = mark.texts or [""] * len(places)
        yield from (point_sign(mark.role, *place, title) for place, title in zip(places, titles, strict=True))
        return
    # Nobody points at one of so many: one path of small dots; a ring is a disc upon a disc.
    path = "".join(f"M{x} {y}h0" for x, y in sorted({(round(x), round(y)) for x, y in places}))
    yield tag("path", d=path, class_=f"dots {mark.role}-dots")
    if mark.role == "not-asked":
        yield tag("path", d=path, class_="dots inner-dots")


def _line(mark: Mark, box: _Box) -> Iterator[Markup]:
    places = box.places(mark, mark.ys)
    pieces = [[*run] for is_known, run in groupby(places, lambda place: not math.isnan(place[1])) if is_known]
    path = "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in piece) for piece in pieces)
    if path:
        yield tag("path", d=path, class_=_classes(mark.role, mark.dash))
    if mark.has_points:
        yield from (tag("circle", cx=x, cy=y, r=2.2, class_=f"point {mark.role}") for run in pieces for x, y in run)


def _area(mark: Mark, box: _Box) -> Iterator[Markup]:
    corners = [*box.places(mark, mark.ys), *reversed(box.places(mark, mark.lower))]
    yield tag("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in corners), class_=mark.role)


def _bars(mark: Mark, box: _Box) -> Iterator[Markup]:
    half = _BAR / 2
    for x, y in zip(mark.xs, mark.ys, strict=True):
        left, right = (x - half, x + half) if mark.kind == "columns" else (0.0, x)
        low, high = sorted((0.0, y)) if mark.kind == "columns" else (y - half, y + half)
        size = {"width": box.x(right) - box.x(left), "height": box.y(low) - box.y(high)}
        yield tag("rect", x=box.x(left), y=box.y(high), class_=mark.role, **size)


def _words(mark: Mark, box: _Box) -> Iterator[Markup]:
    ((x, y),) = box.places(mark, mark.ys)
    yield _text(*mark.texts, x=x, y=max(12.0, y + 4 - mark.lift), class_=mark.role, text_anchor=mark.anchor)


def _label(mark: Mark, box: _Box) -> Iterator[Markup]:
    ((x, y),) = box.places(mark, mark.ys)
    yield label_sign(mark.role, x, y - 6 - mark.lift)
    yield tag("text", *mark.texts, x=x + 18, y=y + 4 - mark.lift, class_=f"label-text {mark.role}")


def _cells(mark: Mark, box: _Box) -> Iterator[Markup]:
    """One path a shade: cells of equal shade in a row are one piece; behind numbers the darkest stays light."""
    side = (box.right - box.left) / len(mark.cells)
    has_numbers = len(mark.cells) <= MOST_NUMBERED
    paths: dict[int, list[str]] = {}
    for i, row in enumerate(mark.cells):
        start = 0
        for shade, run in groupby(round(_SHADES * min(1.0, abs(value))) for value in row):
            width = len([*run])
            place = f"M{box.left + start * side:.1f} {box.top + i * side:.1f}"
            paths.setdefault(shade, []).append(f"{place}h{width * side:.1f}v{side:.1f}h{-width * side:.1f}z")
            start += width
    for shade, pieces in sorted(paths.items()):
        if shade:
            opacity = (0.55 if has_numbers else 1.0) * shade / _SHADES
            yield tag("path", d="".join(pieces), class_=mark.role, fill_opacity=opacity)
    for i, row in enumerate(mark.cells if has_numbers else ()):
        for j, value in enumerate(row):
            yield tag("text", f"{value:.2f}", x=box.x(j), y=box.y(i) + 4, class_="cell-text", text_anchor="middle")
    yield tag("rect", x=box.left, y=box.top, width=box.right - box.left, height=box.bottom - box.top, class_="frame")


_DRAWN = {
    "points": _points, "line": _line, "area": _area, "bars": _bars, "columns": _bars, "text": _words, "label": _label,
    "cells": _cells, "end": lambda *_: iter(()),  # all ends are placed together
}  # fmt: skip
_OPENING = "<svg "


def asset(name: str) -> str:
    """The text of a template, a style sheet or a script of the page."""
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def picture_svg(picture: Picture) -> str:
    """One SVG file, with the style sheet of pictures within; names in it are text, whatever they hold."""
    drawn = str(svg(picture, "picture"))
    style = f"<style><![CDATA[{SHEET}\n.picture {{ background: var(--paper); }}]]></style>"
    opened = drawn.replace(_OPENING, f'{_OPENING}xmlns="http://www.w3.org/2000/svg" ', 1)
    head, _, rest = opened.partition(">")
    return "\n".join(map(visible, f"{head}>{style}{rest}\n".split("\n")))
