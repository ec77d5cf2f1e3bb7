"""Escaped SVG elements.

Colours are classes, never attributes, so that the style sheet alone decides how a picture looks on paper and at night.
"""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, final


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
