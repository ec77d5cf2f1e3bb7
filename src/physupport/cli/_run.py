"""`physupport run`: a project from its file to its report, and how far it is."""

import shlex
from pathlib import Path
from signal import SIGINT, SIGTERM
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._errors import MisuseError, misuse_named, visible
from ._app import app, exit_code
from ._options import PROJECT_FILE, ProjectFile, Quiet, Trust, Workers
from ._progress import run_progress, stopped_by_signal
from ._text import load_counted, show_lines, show_report
from ._workers import use_workers

if TYPE_CHECKING:
    from ..project import Finished, Forecast, Project


@app.command()
def run(
    project: ProjectFile = PROJECT_FILE,
    level: Annotated[float | None, typer.Option(help="Instead of the level in the file.")] = None,
    budget: Annotated[
        str | None, typer.Option(help="Instead of the budget in the file: a share (0.75) or a number of queries (162).")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Instead of the seed in the file.")] = None,
    policy: Annotated[str | None, typer.Option(help="Instead of the policy in the file.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the report, instead of the one in the file; replaced as a whole.")
    ] = None,
    workers: Workers = None,
    trust: Trust = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on from the report in the folder, with the same protocol and perhaps another budget."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked and what it would cost; write nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Answer the questions of a project file, and write the report: page, JSON and tables.

    Ctrl-C ends the questions, and the report says what is certified so far; --resume goes on from there.  SIGTERM, as
    batch systems send it, does the same, and the exit code tells of it.

    Exit codes: 0, the report is written, whatever it says; 2, misuse, and nothing is written; 130, stopped by Ctrl-C
    before there was anything to report, and nothing is written; 143, stopped by SIGTERM, the report written if there
    was anything to report.
    """
    use_workers(workers)
    if resume and dry_run:
        raise MisuseError("--resume", "come without --dry-run", "both")
    options: dict[str, object] = {
        "level": level,
        "budget": None if budget is None else _budget(budget),
        "seed": seed,
        "policy": policy,
        "output.folder": None if out is None else str(out),
    }
    overrides = {key: value for key, value in options.items() if value is not None}
    try:
        with misuse_named(_option):
            loaded = load_counted(project, overrides, trust=trust)
            if dry_run:
                _dry_run(loaded, as_json)
                return
            finished, number = run_and_tell(loaded, resume=resume, quiet=quiet)
    except KeyboardInterrupt as error:
        typer.echo("Stopped before there was anything to report; nothing was written.", err=True)
        raise typer.Exit(exit_code(*error.args or (SIGINT,))) from None
    if as_json:
        typer.echo(finished.result.report.json(), nl=False)
    elif not quiet:
        show_finished(finished)
    if number == SIGTERM:
        raise typer.Exit(exit_code(number))


def run_and_tell(project: "Project", *, resume: bool = False, quiet: bool = False) -> "tuple[Finished, int]":
    """Run with progress, and say on standard error what was read and noted; with the signal that ended it, or 0."""
    from ..project import run_project

    with run_progress(quiet) as status, stopped_by_signal(status.query) as stop:
        finished = run_project(project, resume=resume, callback=stop, stage=status.stage)
    if not quiet:
        for entry in finished.details.document["inputs"]:
            typer.echo(f"read: {visible(_read_line(entry))}", err=True)
        for note in finished.assembled.notes:
            typer.echo(f"note: {visible(note)}", err=True)
    if finished.result.trace.ending.name == "STOPPED":
        typer.echo("Stopped: the report says what is certified so far.", err=True)
    return finished, stop.number


def _read_line(entry: dict[str, Any]) -> str:
    """One input: what it is for, its file, its shape and unit, and its hash."""
    member = f", member {entry['member']}" if entry["member"] else ""
    shape = f", {' x '.join(map(str, entry['shape']))}" if entry["shape"] else ""
    unit = f", unit {entry['unit']}" if entry["unit"] else ""
    what = "file" if entry["proposal_rows"] is None else "rows"
    return (
        f"{entry['stream']}: {entry['path']}{member}{shape}, {entry['dtype']}{unit}, "
        f"SHA-256 of the {what} {entry['sha256']}"
    )


def show_finished(finished: "Finished") -> None:
    """The map, what it means, and where the files are."""
    report = finished.result.report
    show_report(report, finished.details)
    show_lines(finished.details.notes)
    names = ", ".join(path.name for path in finished.files)
    typer.echo(f"\nWritten to {visible(str(finished.folder))}: {names}.")
    typer.echo(f"Open {visible(str(finished.folder / 'report.html'))} in a browser.")
    project = finished.assembled.project
    command = ["physupport", "verify", str(finished.folder / "report.json"), "--project", str(project.path)]
    if "data.deployment.file" in project.overridden:  # a check with the project's own would refuse it
        command += ["--deployment", project.settings.data.deployment.file]
    typer.echo(f"Check it: {visible(shlex.join(command))}")


def _option(argument: str) -> str:
    """The option that overrode a key."""
    prefix, _, key = argument.partition(" ")
    if prefix != "override":
        return argument
    return "--out" if key == "output.folder" else f"--{key}"


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


def _dry_run(project: "Project", as_json: bool) -> None:
    import json
    from dataclasses import replace
    from time import process_time

    from ..analysis import freeze
    from ..project import assemble, forecast

    assembled = assemble(project)
    started = process_time()  # to start the program and read the files, which a run does again
    estimate: Forecast = forecast(assembled)
    estimate = replace(estimate, seconds=estimate.seconds + started)
    if not as_json:  # before the hash, which may take its time
        show_lines(f"- {sentence}" for sentence in [*estimate.sentences(), *assembled.notes])
    with assembled.named():
        protocol = freeze(assembled.protocol, assembled.tables).digest
    if as_json:
        typer.echo(json.dumps(estimate.as_dict() | {"protocol": protocol}, indent=2, allow_nan=False))
    else:
        show_lines([f"- The hash of the protocol, to be deposited before the held-out rows are read: {protocol}."])
