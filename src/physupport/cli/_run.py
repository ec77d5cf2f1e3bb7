"""`physupport run`: a project from its file to its report."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._errors import MisuseError
from ._app import INTERRUPTED, app
from ._map import show_lines, show_report
from ._run_progress import run_progress
from ._workers import use_workers

if TYPE_CHECKING:
    from ..workflow import Finished, Forecast, Project


@app.command()
def run(
    project: Annotated[Path, typer.Argument(help="The project file, or the folder with project.toml in it.")] = Path(
        "project.toml"
    ),
    level: Annotated[float | None, typer.Option(help="Instead of the level in the file.")] = None,
    budget: Annotated[
        str | None, typer.Option(help="Instead of the budget in the file: a share (0.75) or a number of queries (162).")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Instead of the seed in the file.")] = None,
    policy: Annotated[str | None, typer.Option(help="Instead of the policy in the file.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the report, instead of the one in the file; replaced as a whole.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Threads; all cores unless given. No number depends on it.")
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Allow the project to name a Python function, which is then run.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked and what it would cost; write nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no progress and no result, only errors.")] = False,
) -> None:
    """Answer the questions of a project file, and write the report: page, JSON and tables.

    Ctrl-C ends the questions, and the report says what is certified so far.

    Exit codes: 0, the report is written, whatever it says; 2, misuse, and nothing is written; 130, stopped before
    there was anything to report, and nothing is written.
    """
    use_workers(workers)
    given: dict[str, object] = {
        "level": level,
        "budget": None if budget is None else _budget(budget),
        "seed": seed,
        "policy": policy,
        "output.folder": None if out is None else str(out),
    }
    overrides = {key: value for key, value in given.items() if value is not None}
    try:
        with _named_by_option():
            loaded = _loaded(project, overrides)
            if dry_run:
                _dry_run(loaded, trust, as_json)
                return
            finished = run_and_tell(loaded, trust=trust, quiet=quiet)
    except KeyboardInterrupt:
        typer.echo("Stopped before there was anything to report; nothing was written.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        typer.echo(finished.result.report.json(), nl=False)
    elif not quiet:
        show_finished(finished)


def run_and_tell(project: "Project", *, trust: bool = False, quiet: bool = False) -> "Finished":
    """Run with a progress bar, and say on standard error what was noted on the way."""
    from ..workflow import run_project

    with run_progress(quiet) as told:
        finished = run_project(project, trust=trust, callback=told)
    if not quiet:
        for note in finished.assembled.notes:
            typer.echo(f"note: {note}", err=True)
    if finished.result.trace.ending.name == "STOPPED":
        typer.echo("Stopped: the report says what is certified so far.", err=True)
    return finished


def show_finished(finished: "Finished") -> None:
    """The map, what it means, and where the files are."""
    report = finished.result.report
    show_report(report)
    show_lines(sentence for sentence in finished.details.document["outcome"] if sentence != report.sentence)
    names = ", ".join(path.name for path in finished.files)
    typer.echo(f"\nWritten to {finished.folder}: {names}.")
    typer.echo(f"Open {finished.folder / 'report.html'} in a browser.")
    project = finished.assembled.project.path
    typer.echo(f"Check it: physupport verify {finished.folder / 'report.json'} --project {project}")


def _loaded(path: Path, overrides: dict[str, object]) -> "Project":
    from ..workflow import PROJECT_FILE, load_project

    return load_project(path / PROJECT_FILE if path.is_dir() else path, overrides)


@contextmanager
def _named_by_option() -> Iterator[None]:
    """Tell a key that was overridden by the option that did it."""
    try:
        yield
    except MisuseError as error:
        prefix, _, key = error.argument.partition(" ")
        if prefix != "override":
            raise
        option = "--out" if key == "output.folder" else f"--{key}"
        raise MisuseError(option, error.rule, error.value, error.remedy) from None


def _budget(text: str) -> int | float:
    """A whole number counts queries, a decimal one is a share."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise MisuseError("--budget", "be a number", repr(text)) from None


def _dry_run(project: "Project", trust: bool, as_json: bool) -> None:
    import json

    from ..workflow import assemble, forecast

    assembled = assemble(project, trust=trust)
    found: Forecast = forecast(assembled)
    if as_json:
        typer.echo(json.dumps(found.as_dict(), indent=2, allow_nan=False))
        return
    show_lines(f"- {sentence}" for sentence in [*found.sentences(), *assembled.notes])
