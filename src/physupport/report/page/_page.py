"""One self-contained HTML file: no request leaves it, and it may be opened, mailed and printed."""

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._errors import MisuseError, visible
from ..._files import write_whole
from ..._hashes import pieces_hash
from .._diagnosis import LEVELS_NOTE
from .._words import channels, choices, counted, figures, listed, margin, number, says, settings
from ..pictures._map import STATES, sign_of
from ..pictures._style import SHEET
from ._glossary import glossed, term, words_in
from ._svg import asset, key_sign, label_sign, line_key
from ._view import page_view

if TYPE_CHECKING:
    from jinja2 import Environment

    from .._details import Details
    from .._report import Report


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
        term,
    )  # fmt: skip
    environment.filters.update({function.__name__: function for function in filters})
    environment.globals.update(
        states={state: key_sign(sign_of(state)) for state in STATES},
        plug_in_key=key_sign("plug-in", 18.0),
        words_in=words_in,
        levels_note=LEVELS_NOTE,
    )
    return environment
