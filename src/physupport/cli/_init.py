"""`physupport init`: an example project to run and to change."""

from pathlib import Path
from typing import Annotated

import typer

from .._errors import misuse_named
from ._app import app
from ._workers import use_workers


def _examples(begun: str) -> list[str]:
    """For shells: the names that begin so."""
    from ..project import EXAMPLES

    return [name for name in EXAMPLES if name.startswith(begun)]


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Where to; made if it is not there.")] = Path(),
    example: Annotated[
        str,
        typer.Option(
            help="four-region (a line of sensors, every key explained), array (directions, complex), eeg (one "
            "topography, amplitude and noise unknown), raman or soil (measured spectra, judged by replicates), xrf "
            "(measured counts), map (an image of many signals).",
            autocompletion=_examples,
        ),
    ] = "four-region",
) -> None:
    """Write an example project: a commented project.toml and its data.

    No file that is there already is touched.
    """
    use_workers(None)
    from ..project import write_example

    with misuse_named(lambda argument: "--example" if argument == "example" else argument):
        files = write_example(folder, example)
    typer.echo(f"Written to {folder}: {', '.join(path.name for path in files)}.")
    where = "" if folder == Path() else f" {folder}"
    signals = [path for path in files if path.name == "image.npy"]
    typer.echo(f"Next: physupport map{where} --signals {signals[0]}" if signals else f"Next: physupport run{where}")
