"""`physupport demo`: a measured spectrum of a steel, from its project file to its page."""

from pathlib import Path
from typing import Annotated

import typer

from ._app import app
from ._run import run_and_tell, show_finished
from ._workers import use_workers


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the example and its report.")] = Path("physupport-demo"),
) -> None:
    """Write an example project, run it, and show its answer: `init` and `run` in one.

    Arsenic or lead in a steel under X-rays?  The spectrum is measured.

    A project that is in the folder already is run as it is.
    """
    use_workers(None)
    typer.echo("A few seconds; the first run on a machine compiles for a little longer.", err=True)
    from ..project import PROJECT_FILE, load_project, write_example

    path = out / PROJECT_FILE
    if path.exists():
        typer.echo(f"Running {path} as it is.\n")
    else:
        files = write_example(out, "xrf")
        typer.echo(f"Example written to {out}: {', '.join(file.name for file in files)}.\n")
    finished, _ = run_and_tell(load_project(path))
    show_finished(finished)
    typer.echo(f"Next: change {path} and run it again, with physupport run {out}.")
