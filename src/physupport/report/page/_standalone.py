"""A picture as a file of its own."""

from ..._errors import visible
from ..pictures import Picture
from ._draw import svg
from ._page import asset

_OPENING = "<svg "


def picture_svg(picture: Picture) -> str:
    """One SVG file, with the style sheet of pictures within; names in it are text, whatever they hold."""
    drawn = str(svg(picture, "picture"))
    style = f"<style><![CDATA[{asset('picture.css')}\n.picture {{ background: var(--paper); }}]]></style>"
    opened = drawn.replace(_OPENING, f'{_OPENING}xmlns="http://www.w3.org/2000/svg" ', 1)
    head, _, rest = opened.partition(">")
    return "\n".join(map(visible, f"{head}>{style}{rest}\n".split("\n")))
