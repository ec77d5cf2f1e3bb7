"""What each judge would resolve with the rows of a project, before any is looked at."""

import json
from pathlib import Path

import typer

from .._errors import misuse_named
from ._text import load_project_at, show_lines


def show_judges(project: Path, as_json: bool, trust: bool, strength: float) -> None:
    """A line for every judge, or JSON."""
    from ..project import assemble, compare_judges

    with misuse_named(lambda argument: "--strength" if argument == "strength" else argument):
        found = compare_judges(assemble(load_project_at(project, {}, trust=trust)), strength=strength)
    if as_json:
        typer.echo(json.dumps([each.as_dict() for each in found], indent=2, allow_nan=False))
        return
    show_lines(f"- {each.sentence()}" for each in found)
    told = (
        f"Rows were made with the strengths and noise of the file, free coefficients of {strength:g} (--strength) "
        "without a background, and an unknown noise of 0.1; conformal judged measured spectra of other units."
    )
    show_lines([told, "No row of the data was used, only their number. Name the judge in the file before the run."])
