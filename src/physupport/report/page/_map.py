"""The retained elements on their physical axis, or in the plane of their first two coordinates."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from ._glyphs import element_sign, label_sign, plug_in_sign
from ._svg import Scale, Svg, picture, tag
from ._words import Entry, counted, listed, number, shortened

_MOST_NAMED = 24  # region names that a plane has room for


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """Where things stand in a map, in pixels."""

    key: str
    name: float
    label: float
    lift: float  # of name and label above the lane
    left: float
    right: float
    nothing: float
    width: float
    step: float
    n_ticks: int
    letters: int
    plane: tuple[float, float]


# Columns in line with the list of fields below the picture.
WIDE = Layout("wide", 24, 192, 0, 384, 892, 956, 1000, 34, 8, 20, (1000, 480))
# For small screens: names stand above their lanes.
COMPACT = Layout("compact", 0, 150, 22, 8, 296, 336, 366, 54, 5, 18, (366, 380))


def map_pictures(fields: Sequence[Entry], layout: Layout) -> list[Svg]:
    """One picture for each set of coordinates; fields without elements are not drawn."""
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for entry in fields:
        if entry["elements"]:
            groups.setdefault(tuple(entry["coordinate_names"]), []).append(entry)
    return [
        (_plane if len(names) > 1 else _lanes)(f"map-{layout.key}-{i}", names, group, layout)
        for i, (names, group) in enumerate(groups.items())
    ]


def element_title(element: Entry) -> str:
    """A name with its state, as a hint."""
    counts = f"explanations witnessed {element['n_witnessed']}, possible {element['n_possible']}"
    return f"{element['id']}: {element['state']}; {counts}"


def absent_part(absent: Entry) -> dict[str, Any]:
    """The counts of `nothing there` in the form of an element."""
    state = "witnessed" if absent["n_witnessed"] else "possible" if absent["n_possible"] else "excluded"
    return {"id": "nothing there", "coordinates": [], **absent, "state": state}


def _lanes(key: str, names: Sequence[str], fields: Sequence[Entry], layout: Layout) -> Svg:
    """A lane for each field above a common axis, with a column for `nothing there`."""
    step = layout.step if len(fields) <= 16 else 0.8 * layout.step
    top, bottom = 26.0, 26.0 + step * len(fields)
    scale = _padded([x for entry in fields for x, _ in _placed(entry)], layout.left, layout.right)
    parts: list[Svg] = []
    if any(entry["absent"] is not None for entry in fields):
        parts.append(tag("text", "nothing", x=layout.nothing, y=12, class_="axis-text", text_anchor="middle"))
    parts += _axis(scale, names[0] if names else "order in the library", (top, bottom), layout.n_ticks)
    for i, entry in enumerate(fields):
        parts += _lane(entry, scale, top + step * (i + 0.5) + layout.lift / 2, layout)
    return picture(key, (layout.width, bottom + 44), _title(fields), _description(fields), parts)


def _axis(scale: Scale, name: str, span: tuple[float, float], count: int) -> Iterator[Svg]:
    top, bottom = span
    for value in scale.ticks(count):
        yield tag("path", d=f"M{scale(value):.1f} {top}V{bottom:.1f}", class_="grid")
        yield tag("text", number(value), x=scale(value), y=bottom + 16, class_="axis-text", text_anchor="middle")
    middle = (scale.start + scale.end) / 2
    yield tag("text", shortened(name, 40), x=middle, y=bottom + 36, class_="axis-name", text_anchor="middle")


def _lane(entry: Entry, scale: Scale, y: float, layout: Layout) -> Iterator[Svg]:
    name, text_y = shortened(entry["field"], layout.letters), y + 4 - layout.lift
    yield tag("text", tag("title", entry["field"]), name, x=layout.name, y=text_y, class_="name")
    yield label_sign(entry["kind"], layout.label, text_y - 10)
    yield tag("text", entry["label"], x=layout.label + 18, y=text_y, class_=f"label-text {entry['kind']}")
    yield tag("path", d=f"M{layout.left} {y:.1f}H{layout.right}", class_="lane")
    placed = _placed(entry)
    kept = [scale(x) for x, element in placed if element["state"] != "excluded"]
    if len(kept) > 1:
        low, high = min(kept), max(kept)
        yield tag("rect", x=low - 9, y=y - 9, width=high - low + 18, height=18, rx=9, class_="cell")
    for x, element in sorted(placed, key=lambda pair: pair[1]["state"] != "excluded"):
        yield element_sign(element["state"], scale(x), y, element_title(element))
    if entry["absent"] is not None:
        absent = absent_part(entry["absent"])
        yield element_sign(absent["state"], layout.nothing, y, element_title(absent))
    places = {element["id"]: scale(x) for x, element in placed}
    yield from _plug_in(entry["plug_in"], places, y, layout.nothing)


def _plug_in(found: Entry | None, places: Mapping[str, float], y: float, nothing: float) -> Iterator[Svg]:
    if found is None:
        return
    title = f"A point-valued method: {found['label']} {listed(found['cell'])}".rstrip()
    yield from (plug_in_sign(places[name], y, title) for name in found["cell"] if name in places)
    if found["label"] == "ABSENT":
        yield plug_in_sign(nothing, y, title)


def _placed(entry: Entry) -> list[tuple[float, Any]]:
    """First coordinate, or the running number of elements that have none."""
    return [
        (float(element["coordinates"][0]) if element["coordinates"] else float(i), element)
        for i, element in enumerate(entry["elements"])
    ]


def _plane(key: str, names: Sequence[str], fields: Sequence[Entry], layout: Layout) -> Svg:
    """The first two coordinates; a region is named at its topmost element."""
    width, height = layout.plane
    left, right, top, bottom = 52.0, width - 16, 16.0, height - 52
    points = [element["coordinates"] for entry in fields for element in entry["elements"]]
    horizontal = _padded([float(point[0]) for point in points], left, right)
    vertical = _padded([float(point[1]) for point in points], bottom, top)
    parts = [*_axis(horizontal, names[0], (top, bottom), layout.n_ticks)]
    for value in vertical.ticks(6):
        y = vertical(value)
        parts.append(tag("path", d=f"M{left} {y:.1f}H{right}", class_="grid"))
        parts.append(tag("text", number(value), x=left - 8, y=y + 4, class_="axis-text", text_anchor="end"))
    turn = f"translate(12 {(top + bottom) / 2:.1f}) rotate(-90)"
    parts.append(tag("text", shortened(names[1], 30), transform=turn, class_="axis-name", text_anchor="middle"))
    for entry in fields:
        parts += _plane_field(entry, horizontal, vertical, len(fields) <= _MOST_NAMED)
    note = f" The first two of {len(names)} coordinates are drawn." if len(names) > 2 else ""
    return picture(key, (width, height), _title(fields), _description(fields) + note, parts)


def _plane_field(entry: Entry, horizontal: Scale, vertical: Scale, is_named: bool) -> Iterator[Svg]:
    said = () if entry["plug_in"] is None else entry["plug_in"]["cell"]
    elements = sorted(entry["elements"], key=lambda element: element["state"] != "excluded")
    places = [
        (vertical(float(element["coordinates"][1])), horizontal(float(element["coordinates"][0])))
        for element in elements
    ]
    middle_y, middle_x = (sum(values) / len(places) for values in zip(*places, strict=True))
    # Spokes show which elements belong together.
    spokes = "".join(f"M{middle_x:.1f} {middle_y:.1f}L{x:.1f} {y:.1f}" for y, x in places)
    yield tag("path", d=spokes, class_="lane")
    for element, (y, x) in zip(elements, places, strict=True):
        yield element_sign(element["state"], x, y, f"{entry['field']}, {element_title(element)}")
        if element["id"] in said:
            yield plug_in_sign(x, y, f"A point-valued method: {entry['plug_in']['label']}")
    if is_named:
        y, x = min(places)
        yield tag(
            "text", shortened(entry["field"], 16), x=x, y=max(12.0, y - 16), class_="name halo", text_anchor="middle"
        )


def _padded(values: Sequence[float], start: float, end: float) -> Scale:
    low, high = min(values), max(values)
    pad = 0.05 * (high - low) or 0.5
    return Scale(low - pad, high + pad, start, end)


def _title(fields: Sequence[Entry]) -> str:
    return f"Elements that are still possible in {counted(len(fields), 'field')}"


def _description(fields: Sequence[Entry]) -> str:
    most = 12
    said = "; ".join(f"{entry['field']}: {entry['label']}, {_kept(entry)}" for entry in fields[:most])
    more = (
        f" And {counted(len(fields) - most, 'field')} more, which the list below holds." if len(fields) > most else ""
    )
    return f"{said}.{more}"


def _kept(entry: Entry) -> str:
    names = [element["id"] for element in entry["elements"] if element["state"] != "excluded"]
    return f"possible {listed(names, 6)}" if names else "no element possible"
