"""`physupport init`, `run`, `demo` and `response-error`: a project from its file to its report."""

import json
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from signal import SIGINT, SIGTERM
from time import process_time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import project as projects, report as reports
from .._errors import Clause, MisuseError, visible
from ._app import PROJECT_FILE, ProjectArgument, Quiet, Threads, Trust, exit_code, use_threads
from ._text import load_counted, load_project_at, run_progress, show_lines, show_report, stopped_by_signal

if TYPE_CHECKING:
    from ..project import Finished, Project

_EXAMPLE = (
    "four-region (a line of sensors, every key explained), array (directions, complex), eeg (one topography, amplitude "
    "and noise unknown), raman or soil (measured spectra, judged by replicates), xrf (measured counts), map (an image "
    "of many signals), learnt (a dictionary learnt from calibration rows)."
)
_LIBRARY = "With --spectrum: folder with a spectrum a file, or with a folder of replicates for each element."
_SPECTRUM = "With --from-library: file of the spectrum."
_BUDGET = "Instead of the budget in the file: a share (0.75) or a number of queries (162)."
_OUT = "Folder for the report, instead of the one in the file; replaced as a whole."
_RESUME = "Go on from the report in the folder, with the same protocol and perhaps another budget."
_DRY_RUN = "Forecast the queries, time and memory of the run; write nothing."
_JSON = "Print what may be said, and what may not, as JSON; show --json prints the whole report."
_HASH = "With --dry-run: work out the hash of the protocol, even of a bank that takes long to build."
_SOURCES = "CSV beside the project, a line a source: element, and its rows in columns or files."

# Keys of the project file that options of `run` override.
_KEYS = {"level": "level", "budget": "budget", "seed": "seed", "policy": "policy", "output.folder": "out"}
RUN_OPTIONS = {f"override {key}": f"--{option}" for key, option in _KEYS.items()}


def _examples(begun: str) -> list[str]:
    """The names of examples that begin so, for shells."""
    return [name for name in projects.EXAMPLES if name.startswith(begun)]


def init(
    folder: Annotated[Path, typer.Argument(help="Target folder; created if it is missing.")] = Path(),
    example: Annotated[str, typer.Option(help=_EXAMPLE, autocompletion=_examples)] = "four-region",
    from_library: Annotated[Path | None, typer.Option(help=_LIBRARY)] = None,
    spectrum: Annotated[Path | None, typer.Option(help=_SPECTRUM)] = None,
) -> None:
    """Write an example project, a commented project.toml and its data; or the project file of a spectrum of your own.

    No file that is there already is touched.
    """
    use_threads(None, "--workers")
    if from_library is not None or spectrum is not None:
        if from_library is None or spectrum is None:
            raise MisuseError("--from-library", "come with --spectrum", Clause("only one of the two is given"))
        path = projects.write_spectral_project(folder, spectrum, from_library)
        typer.echo(f"Written to {folder}: {path.name}.")
        typer.echo("Next: physupport run" + ("" if folder == Path() else f" {folder}"))
        return
    files = projects.write_example(folder, example)
    typer.echo(f"Written to {folder}: {', '.join(path.name for path in files)}.")
    where = "" if folder == Path() else f" {folder}"
    signals = [path for path in files if path.name == "image.npy"]
    typer.echo(f"Next: physupport map{where} --signals {signals[0]}" if signals else f"Next: physupport run{where}")


def run(
    project: ProjectArgument = PROJECT_FILE,
    level: Annotated[float | None, typer.Option(help="Instead of the level in the file.")] = None,
    budget: Annotated[str | None, typer.Option(help=_BUDGET)] = None,
    seed: Annotated[int | None, typer.Option(help="Instead of the seed in the file.")] = None,
    policy: Annotated[str | None, typer.Option(help="Instead of the policy in the file.")] = None,
    out: Annotated[Path | None, typer.Option(help=_OUT)] = None,
    workers: Threads = None,
    trust: Trust = False,
    resume: Annotated[bool, typer.Option("--resume", help=_RESUME)] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help=_DRY_RUN)] = False,
    with_hash: Annotated[bool, typer.Option("--hash", help=_HASH)] = False,
    as_json: Annotated[bool, typer.Option("--json", help=_JSON)] = False,
    quiet: Quiet = False,
) -> None:
    """Answer the questions of a project file, and write the report: page, JSON and tables.

    Ctrl-C ends the questions, and the report says what is certified so far; --resume goes on from there.  SIGTERM, as
    batch systems send it, does the same, and the exit code tells of it.

    Exit codes: 0, the report is written, whatever it says; 2, misuse, and nothing is written; 130, stopped by Ctrl-C
    before there was anything to report, and nothing is written; 143, stopped by SIGTERM, the report written if there
    was anything to report.
    """
    use_threads(workers, "--workers")
    if resume and dry_run:
        raise MisuseError("--resume", "come without --dry-run", Clause("both are given"))
    if with_hash and not dry_run:
        raise MisuseError("--hash", "come with --dry-run", Clause("this is a run, whose report has the hash"))
    given = (level, _budget(budget), seed, policy, None if out is None else str(out))
    overrides: dict[str, object] = {k: value for k, value in zip(_KEYS, given, strict=True) if value is not None}
    try:
        loaded = load_counted(project, overrides, trust=trust)
        if dry_run:
            _dry_run(loaded, as_json=as_json, has_hash=with_hash)
            return
        finished, number = run_and_tell(loaded, resume=resume, quiet=quiet)
    except KeyboardInterrupt as error:
        typer.echo("Stopped before there was anything to report; nothing was written.", err=True)
        raise typer.Exit(exit_code(*error.args or (SIGINT,))) from None
    if as_json:
        typer.echo(json.dumps(reports.short_answer(finished.result.report), indent=2))
        if not quiet:
            _show_inputs(finished)
    elif not quiet:
        show_finished(finished)
    if number == SIGTERM:
        raise typer.Exit(exit_code(number))


def _budget(text: str | None) -> int | float | None:
    """The budget as it is given: a whole number counts queries, a decimal one is a share."""
    for kind in (int, float):
        try:
            return None if text is None else kind(text)
        except ValueError:
            pass
    raise MisuseError("--budget", "be a number", repr(text))


def _dry_run(project: "Project", *, as_json: bool, has_hash: bool) -> None:
    started = process_time()  # to start the program, which a run does again
    estimate = projects.forecast(project, has_hash=has_hash)
    if estimate.seconds is not None:
        estimate = replace(estimate, seconds=estimate.seconds + started)
    if as_json:
        typer.echo(json.dumps(asdict(estimate), indent=2, allow_nan=False))
    else:
        show_lines(f"- {sentence}" for sentence in estimate.sentences())


def run_and_tell(project: "Project", *, resume: bool = False, quiet: bool = False) -> "tuple[Finished, int]":
    """Run with progress; with the signal that ended it, or 0."""
    run_project = projects.run_project  # loaded before signals are handled: imports turn them into other exceptions
    with run_progress(quiet) as status, stopped_by_signal(status.query) as stop:
        finished = run_project(project, resume=resume, callback=stop, stage=status.stage)
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


def _show_inputs(finished: "Finished") -> None:
    """Say on standard error what was read, with hashes, and what was noted."""
    for entry in finished.details.document["inputs"]:
        typer.echo(f"read: {visible(_read_line(entry))}", err=True)
    for note in finished.assembled.notes:
        typer.echo(f"note: {visible(note)}", err=True)


def show_finished(finished: "Finished") -> None:
    """Show the answer, what it means, what was read, and where the files are."""
    show_report(finished.result.report, finished.details)
    show_lines(finished.details.notes)
    if remedies := finished.details.remedies:
        show_lines(["", "What now:", *(f"- {text}" for text in remedies)])
    _show_inputs(finished)
    names = ", ".join(path.name for path in finished.files)
    typer.echo(f"\nWritten to {visible(str(finished.folder))}: {names}.")
    typer.echo(f"Open {visible(str(finished.folder / 'report.html'))} in a browser.")
    project = finished.assembled.project
    command = ["physupport", "verify", str(finished.folder / "report.json"), "--project", str(project.path)]
    if "data.deployment.file" in project.overridden:  # a check with the project's own would refuse it
        command += ["--deployment", project.settings.data.deployment.file]
    typer.echo(f"Check it: {visible(shlex.join(command))}")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the example and its report.")] = Path("physupport-demo"),
) -> None:
    """Write an example project, run it, and show its answer: `init` and `run` in one.

    Arsenic or lead in a steel under X-rays?  The spectrum is measured.

    A project that is in the folder already is run as it is.
    """
    use_threads(None, "--workers")
    typer.echo("A few seconds; the first run on a machine compiles for a little longer.", err=True)
    path = out / PROJECT_FILE
    source = f"The project in {out} was run as it was."
    if not path.exists():
        files = projects.write_example(out, "xrf")
        source = f"Example written to {out}: {', '.join(file.name for file in files)}."
    finished, _ = run_and_tell(projects.load_project(path))
    show_finished(finished)
    typer.echo(source)
    typer.echo(f"Next: change {path} and run it again, with physupport run {out}.")


def response_error(
    project: ProjectArgument = PROJECT_FILE,
    sources: Annotated[str, typer.Option(help=_SOURCES)] = "sources.csv",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Measure only, and write nothing.")] = False,
    trust: Trust = False,
) -> None:
    """Measure the width of responses from sources at known places, and write it into the project file as `error`.

    Every other byte of the file stays; a picture, response-error.svg, is written beside it.  Exit codes: 0, measured;
    2, misuse, or a project whose law or judge does not take a width.
    """
    loaded = load_project_at(project, trust=trust)
    widths = projects.response_error(loaded, sources)
    show_lines(widths.lines())
    if not dry_run:
        path, picture = projects.write_error(loaded, widths)
        typer.echo(f"\nWritten: error = {widths.error:g} to {visible(str(path))}, and {visible(str(picture))}.")
