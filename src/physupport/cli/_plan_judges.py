"""What each judge would resolve with the rows of a project, before any is looked at."""

import json
from pathlib import Path

import typer

from .._errors import misuse_named
from ._text import load_counted, show_lines


def show_judges(project: Path, as_json: bool, trust: bool, strength: float) -> None:
    """A line for every judge, or JSON."""
    loaded = load_counted(project, {}, trust=trust)
    from ..project import assemble, compare_judges, comparison_notes

    with misuse_named(lambda argument: "--strength" if argument == "strength" else argument):
        assembled = assemble(loaded)
        forecasts = compare_judges(assembled, strength=strength)
    if as_json:
        typer.echo(json.dumps([forecast.as_dict() for forecast in forecasts], indent=2, allow_nan=False))
        return
    show_lines(f"- {forecast.sentence()}" for forecast in forecasts)
    show_lines([" ".join(comparison_notes(assembled, forecasts, strength))])
