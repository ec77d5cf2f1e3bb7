"""`physupport verify`: a second opinion on a saved report."""

from pathlib import Path
from typing import Annotated

import typer

from .._errors import MisuseError
from ._app import app
from ._files import read_text
from ._verify_data import read_data

REFUSED = 3


@app.command()
def verify(
    report: Annotated[str, typer.Argument(help="A saved report (JSON); - reads it from standard input.")],
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="The rows of a stream, as calibration=FILE (.npy, .npz, .csv, .mat, .h5); or an .npz file with the "
            "table of each stream under its name.  May be given again."
        ),
    ] = None,
    project: Annotated[
        Path | None, typer.Option(help="A project file: the rows are read as it says, instead of --data.")
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(help="The hash of the protocol, as it was known before the data were read.")
    ] = None,
) -> None:
    """Derive every label of a report again from its trace, and, with data, score every verdict again.

    Exit codes: 0, verified; 3, refused, one line for each finding; 2, misuse.
    """
    from ..verify import verify as check

    if data and project is not None:
        raise MisuseError("--project", "come without --data", project)
    text = read_text("report", report)
    rows = read_data(text, data, project) if data or project is not None else None
    found = check(text, rows, protocol=protocol)
    for line in found.findings:
        typer.echo(f"refused: {line}", err=True)
    for line in found.notes:
        typer.echo(f"note: {line}", err=True)
    if not found.is_verified:
        raise typer.Exit(REFUSED)
    scored = ", every verdict from the rows." if rows is not None else "."
    typer.echo(f"verified: every label follows from the trace{scored}")
