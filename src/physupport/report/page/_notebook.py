"""Reports in notebooks: pictures that carry their own style, and a table with the colours of the page."""

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._codec import real
from ...banks import JOINT
from .. import pictures
from .._words import coordinate_names, distance, kind_of, listed, unit_of
from ..pictures import WIDE, Picture
from ..pictures._style import style_of
from ._svg import picture_svg

if TYPE_CHECKING:
    from .._report import FieldReport

_MOST_PICTURES = 3


def pictures_html(document: Mapping[str, Any]) -> str:
    """The pictures of what is left and of the measured row with its fits, as far as a document has them.

    fields: as details have them.  rows: likewise, or null.
    """
    sets = pictures.map_pictures(document.get("fields", ()), WIDE)
    drawn = [picture for planes in sets for picture in planes][:_MOST_PICTURES]
    rows = document.get("rows")
    drawn += [pictures.rows_picture(rows, WIDE)] if rows and rows["fits"] else []
    return "".join(map(_image, drawn))


def _image(picture: Picture) -> str:
    """An image on paper of its own: neither the style of a notebook nor that of the page reaches the other."""
    content = base64.b64encode(picture_svg(picture).encode()).decode("ascii")
    keys = " · ".join(escape(key.text) for key in picture.keys)
    legend = f"<br><small>{keys}</small><br>" if picture.strip is not None else ""
    size = f'width="{picture.size[0]:.0f}"'
    return f'<img alt="{escape(picture.title)}" {size} src="data:image/svg+xml;base64,{content}">{legend}'


def table_html(fields: "Sequence[FieldReport]", unit: str) -> str:
    """A row for each field: label in its colour with plain words, what may be there, and how far that lies apart."""
    rows = "".join(
        f"<tr><td>{escape(field.field)}</td>"
        f'<td style="color:{_color(field.label)};font-weight:600">{field.label}</td>'
        f"<td>{field.plain}</td><td>{escape(field.within or listed(field.cell))}</td>"
        f"<td>{'' if field.extent is None else escape(distance(field.extent, unit, 3))}</td></tr>"
        for field in fields
    )
    head = "".join(f"<th>{name}</th>" for name in ("region", "label", "in words", "what may be there", "at most apart"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _color(label: str) -> str:
    return style_of(kind_of(label))["color"]


def report_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a report as pictures take them; none where the report does not tell places of its elements."""
    states = (document["bank"] or {}).get("states", {})
    library = states.get("base", states)
    if "coordinates" not in library:
        return {}
    places = real(library["coordinates"], None, None)
    ids = np.array(library["ids"])
    regions = np.array(library["regions"])
    names = coordinate_names(places.shape[1], unit_of(document))
    return {
        "fields": [
            _field(entry, names, [*zip(ids[chosen].tolist(), places[chosen].tolist(), strict=True)])
            for entry in document["fields"]
            if entry.get("set") and (chosen := regions == entry["field"]).any()
        ]
    }


def _field(entry: Mapping[str, Any], names: Sequence[str], elements: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    left = entry["set"]
    kept = {name for part in left["kept"] for name in (part["name"] or "").split(JOINT)}
    unasked = {name for joint in left["not_asked"] for name in (joint or "").split(JOINT)} - kept
    states = ("kept" if name in kept else "not asked" if name in unasked else "excluded" for name, _ in elements)
    counts = {"n_kept": 0, "n_not_asked": 0}
    told = zip(elements, states, strict=True)
    return {
        "field": entry["field"], "label": entry["label"], "coordinate_names": [*names], "plug_in": None, "absent": None,
        "elements": [{"id": name, "coordinates": place, "state": state, **counts} for (name, place), state in told],
    }  # fmt: skip
