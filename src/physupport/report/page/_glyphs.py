"""Signs that differ in shape as well as in colour."""

from ._svg import Svg, joined, tag


def element_sign(state: str, x: float, y: float, title: str = "") -> Svg:
    """Witnessed is a disc, possible a ring, excluded a cross."""
    content = (tag("title", title),) if title else ()
    if state == "witnessed":
        return tag("circle", *content, cx=x, cy=y, r=5.5, class_="witnessed")
    if state == "possible":
        return tag("circle", *content, cx=x, cy=y, r=4.75, class_="possible")
    arm = 3.25
    path = f"M{x - arm:.1f} {y - arm:.1f}l{2 * arm} {2 * arm}m0 {-2 * arm}l{-2 * arm} {2 * arm}"
    return tag("path", *content, d=path, class_="excluded")


def plug_in_sign(x: float, y: float, title: str = "") -> Svg:
    """A triangle that points down to what a point-valued method says."""
    content = (tag("title", title),) if title else ()
    return tag("path", *content, d=f"M{x - 4.5:.1f} {y - 14:.1f}h9l-4.5 6.5z", class_="plug-in-sign")


def label_sign(kind: str, x: float = 0.0, y: float = 0.0) -> Svg:
    """The sign before a label: disc, struck ring, two discs, half disc, ring, cross; at (x, y) within a picture."""
    match kind:
        case "certain":
            content = [tag("circle", cx=6, cy=6, r=4.5, class_="solid")]
        case "absent":
            content = [tag("circle", cx=6, cy=6, r=4, class_="outline"), tag("path", d="M1.5 10.5l9-9",
                       class_="outline")]  # fmt: skip
        case "group":
            content = [tag("circle", cx=3.2, cy=6, r=2.7, class_="solid"), tag("circle", cx=8.8, cy=6, r=2.7,
                       class_="solid")]  # fmt: skip
        case "ambiguous":
            content = [tag("circle", cx=6, cy=6, r=4.25, class_="outline"), tag("path", d="M6 1.5a4.5 4.5 0 0 1 0 9z",
                       class_="solid")]  # fmt: skip
        case "open":
            content = [tag("circle", cx=6, cy=6, r=4.25, class_="outline")]
        case _:
            content = [tag("path", d="M2 2l8 8m0-8l-8 8", class_="outline")]
    place = {"x": x or None, "y": y or None, "width": 12, "height": 12}
    return tag("svg", joined(content), class_=f"sign {kind}", viewBox="0 0 12 12", aria_hidden="true", **place)


def key_sign(sign: Svg) -> Svg:
    """A sign drawn around (8, 8) for a legend; the plug-in triangle needs the room above."""
    return tag("svg", sign, class_="sign", viewBox="0 0 16 16", width=16, height=16, aria_hidden="true")


def line_key(class_: str) -> Svg:
    """A piece of line for a legend."""
    line = tag("path", d="M0 6h28", class_=class_)
    return tag("svg", line, class_="sign", viewBox="0 0 28 12", width=28, height=12, aria_hidden="true")
