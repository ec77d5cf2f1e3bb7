"""One self-contained HTML file, and reports in notebooks.

No request leaves the file, and it may be opened, mailed and printed.  Pictures in notebooks carry their own style.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._codec import pieces_hash, real
from ..._errors import MisuseError, visible
from ..._files import write_whole
from ...banks import JOINT
from .. import pictures
from .._diagnosis import LEVELS_NOTE
from .._words import (
    channels,
    choices,
    coordinate_names,
    counted,
    distance,
    figures,
    kind_of,
    listed,
    margin,
    number,
    says,
    sentence_of,
    settings,
    unit_of,
)
from ..pictures import WIDE, Picture
from ..pictures._map import STATES, sign_of
from ..pictures._model import SHEET, style_of
from ._svg import asset, key_sign, label_sign, line_key, picture_svg
from ._view import glossed, page_view, term, words_in

if TYPE_CHECKING:
    from jinja2 import Environment

    from .._diagnosis import Details
    from .._report import FieldReport, Report


def page_html(report: "Report", details: "Details") -> str:
    """The page of a report; every name in it is shown as text, whatever it holds."""
    if details.document["report"] != report.digests["document"]:
        value = f"those of {details.document['report']}"
        raise MisuseError("details", f"belong to the report {report.digests['document']}", value)
    css = SHEET + asset("page.css")
    script = asset("page.js")
    text = _environment().get_template("page.html.j2").render(
        page_view(report.document, details.document),
        report=report.document,
        details=details.document,
        css=css,
        script=script,
        policy=_policy(css, script),
        data=embedded_json(_data(report, details)),
    )  # fmt: skip
    # Names come from anywhere: what a browser would obey and not show is written as an escape.
    return "\n".join(map(visible, text.split("\n")))


def write_page(path: str | Path, report: "Report", details: "Details") -> None:
    """Write the page as UTF-8; line ends are the same everywhere, because hashes of its parts stand in it."""
    write_whole(Path(path), page_html(report, details).encode("utf-8"))


def embedded_json(value: object) -> str:
    r"""JSON that no text within can end early: what HTML could read as a tag is written as an escape.

    >>> embedded_json({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data(report: "Report", details: "Details") -> dict[str, Any]:
    """The statements of the page as data; trace, bank and data of the pictures stay in files of their own."""
    said = {name: report.document[name] for name in ("fields", "outcome", "digests")}
    return {"format": "physupport page", "version": 1, "title": details.document["title"], **said}


def _policy(css: str, script: str) -> str:
    """A Content-Security-Policy: this style, this script, and nothing from anywhere."""
    style, code = (base64.b64encode(bytes.fromhex(pieces_hash(text))).decode("ascii") for text in (css, script))
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{code}'; base-uri 'none'; "
        f"form-action 'none'"
    )


@cache  # to compile the template takes longer than to fill it
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (
        channels, choices, counted, figures, glossed, label_sign, line_key, listed, margin, number, says, settings,
        sentence_of, term,
    )  # fmt: skip
    environment.filters.update({function.__name__: function for function in filters})
    environment.globals.update(
        states={state: key_sign(sign_of(state)) for state in STATES},
        plug_in_key=key_sign("plug-in", 18.0),
        words_in=words_in,
        levels_note=LEVELS_NOTE,
    )
    return environment


_MOST_PICTURES = 3


def pictures_html(document: Mapping[str, Any]) -> str:
    """The pictures of what is left and of the measured row with its fits, as far as a document has them.

    fields: as details have them.  rows: likewise, or null.
    """
    sets = pictures.map_pictures(document.get("fields", ()), WIDE)
    drawn = [picture for planes in sets for picture in planes][:_MOST_PICTURES]
    rows = document.get("rows")
    spectrum = document.get("spectrum")
    drawn += [pictures.spectrum_picture(spectrum, WIDE)] if spectrum else []
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
