"""Escaped SVG elements.

Colours are classes, never attributes, so that the style sheet alone decides how a picture looks on paper and at night.
"""

from collections.abc import Sequence
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
