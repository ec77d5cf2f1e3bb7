"""`physupport show`: a saved report as a map and sentences, as JSON, or as a page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._errors import MisuseError, misuse_named
from ._app import REFUSED, app
from ._files import read_text, report_path
from ._map import show_report
from ._visible import visible

if TYPE_CHECKING:
    from ..report import Report


@app.command()
def show(
    report: Annotated[
        str,
        typer.Argument(help="A saved report (JSON), or the folder with report.json in it; - reads standard input."),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole report as JSON.")] = False,
    html: Annotated[
        Path | None,
        typer.Option(help="Write the page into this file; details.json must lie beside the report."),
    ] = None,
) -> None:
    """Show what a saved report says: the map, a sentence for each region, and the outcome.

    Only the hash of the content is checked here: `physupport verify` checks the content.

    Exit codes: 0; 2, misuse; 3, the report was changed after it was written.
    """
    report = report_path(report)
    found = _loaded(report)
    if not found.is_unchanged:
        changed = "this report was changed after it was written; physupport verify says where"
        typer.echo(f"physupport: {visible(report)}: {changed}.", err=True)
        raise typer.Exit(REFUSED)
    if html is not None:
        _write_page(found, report, html)
        typer.echo(f"Page written to {html}.", err=True)
    if as_json:
        typer.echo(found.json(), nl=False)
    elif html is None:
        show_report(found)


def _loaded(path: str) -> "Report":
    from ..report import Report

    text = read_text("report", path)
    with misuse_named(lambda argument: f"report {path}: {argument}"):
        return Report.from_json(text)


def _write_page(report: "Report", path: str, html: Path) -> None:
    from ..report import Details
    from ..report.page import write_page

    beside = Path(path).parent / "details.json"
    if path == "-" or not beside.is_file():
        raise MisuseError("--html", "come with details.json beside the report", f"none at {beside}")
    details = Details.load(beside)
    if html.is_dir() or not html.parent.is_dir():
        raise MisuseError("--html", "name a file in a folder that exists", repr(str(html)))
    write_page(html, report, details)
