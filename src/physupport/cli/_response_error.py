"""`physupport response-error`: how far responses are off, measured from sources at known places."""

from typing import Annotated

import typer

from .._errors import visible
from ._app import app
from ._options import PROJECT_FILE, ProjectFile, Trust
from ._text import load_project_at, show_lines


@app.command("response-error")
def response_error(
    project: ProjectFile = PROJECT_FILE,
    sources: Annotated[
        str,
        typer.Option(help="CSV beside the project, a line a source: element, and its rows in columns or files."),
    ] = "sources.csv",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Measure only, and write nothing.")] = False,
    trust: Trust = False,
) -> None:
    """Measure the width of responses from sources at known places, and write it into the project file as `error`.

    Every other byte of the file stays; a picture, response-error.svg, is written beside it.  Exit codes: 0, measured;
    2, misuse, or a project whose law or judge does not take a width.
    """
    from ..project import response_error as measured, write_error

    loaded = load_project_at(project, trust=trust)
    widths = measured(loaded, sources)
    show_lines(widths.lines())
    if not dry_run:
        path, picture = write_error(loaded, widths)
        typer.echo(f"\nWritten: error = {widths.error:g} to {visible(str(path))}, and {visible(str(picture))}.")
