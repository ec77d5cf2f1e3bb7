"""`physupport next`: which measurement to make next."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from .. import analysis, project as projects
from .._errors import visible
from ._app import PROJECT_FILE, ProjectArgument, Trust
from ._text import load_counted, show_lines


def next_(
    project: ProjectArgument = PROJECT_FILE,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
    trust: Trust = False,
) -> None:
    """Say which measurement of the project file, [[next]], would decide the open label at least cost.

    The project is run on its rows, and nothing is written.  The answer names the two explanations that hold the label
    back, the measurement that parts them, and how long it is expected to take; `watch` judges its rows at the level of
    all looks, whatever was chosen.  Exit codes: 0; 2, misuse.
    """
    assembled = projects.assemble(load_counted(project, trust=trust))
    offered = projects.candidates(assembled)
    with assembled.project.named_run():
        result = analysis.analyse(assembled.protocol, assembled.tables)
        answer = result.next(offered)
    if as_json:
        finite = {name: seconds if seconds < float("inf") else None for name, seconds in answer.seconds}
        typer.echo(json.dumps(asdict(answer) | {"seconds": finite, "sentence": answer.sentence}, indent=2))
        return
    show_lines(result.report.opening())
    typer.echo("")
    typer.echo(visible(answer.sentence))
    for name, seconds in answer.seconds:
        typer.echo(visible(f"- {name}: {'does not part them' if seconds == float('inf') else f'{seconds:.3g} s'}"))
