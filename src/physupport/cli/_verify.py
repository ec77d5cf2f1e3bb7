"""`physupport verify`: a second opinion on a saved report."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._errors import MisuseError
from ._app import REFUSED, app
from ._files import read_text, report_path
from ._verify_data import project_notes, read_data
from ._visible import visible

if TYPE_CHECKING:
    from ..verify import Verification


@app.command()
def verify(
    report: Annotated[
        str,
        typer.Argument(help="A saved report (JSON), or the folder with report.json in it; - reads standard input."),
    ],
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="The rows of a stream, as calibration=FILE (.npy, .npz, .csv, .mat, .h5); or an .npz file with the "
            "table of each stream under its name, rows first.  May be given again."
        ),
    ] = None,
    project: Annotated[
        Path | None, typer.Option(help="A project file: the rows are read as it says, instead of --data.")
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(help="The hash of the protocol, as it was known before the data were read.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Derive every label of a report again from its trace, and, with data, score every verdict again.

    Exit codes: 0, verified; 3, refused, one line for each finding; 2, misuse.
    """
    from ..verify import verify as check

    if data and project is not None:
        raise MisuseError("--project", "come without --data", project)
    text = read_text("report", report_path(report))
    rows = read_data(text, data, project) if data or project is not None else None
    found = check(text, rows, protocol=protocol)
    if project is not None and found.is_verified:
        found = replace(found, notes=(*found.notes, *project_notes(text, project)))
    if as_json:
        typer.echo(_json(found, rows is not None))
    else:
        _show(found, rows is not None)
    if not found.is_verified:
        raise typer.Exit(REFUSED)


def _json(found: "Verification", is_scored: bool) -> str:
    import json

    told = {
        "verified": found.is_verified,
        "rows_scored": is_scored,
        "findings": list(found.findings),
        "notes": list(found.notes),
    }
    return json.dumps(told, indent=2)


def _show(found: "Verification", is_scored: bool) -> None:
    for line in found.findings:
        typer.echo(f"refused: {visible(line)}", err=True)
    for line in found.notes:
        typer.echo(f"note: {visible(line)}", err=True)
    if found.is_verified:
        scored = ", every verdict from the rows." if is_scored else "."
        typer.echo(f"verified: every label follows from the trace{scored}")
