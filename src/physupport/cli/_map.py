"""`physupport map`: the question of a project asked of every signal of an image or a recording."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from .._errors import MisuseError, misuse_named, visible
from ._app import app
from ._options import PROJECT_FILE, ProjectFile, Quiet, Trust, Workers
from ._progress import Status, run_progress
from ._text import load_project_at, show_lines, show_report
from ._workers import use_workers

if TYPE_CHECKING:
    from ..maps import Signals
    from ..project import Assembled


@app.command("map")
def map_(
    project: ProjectFile = PROJECT_FILE,
    signals: Annotated[
        Path | None,
        typer.Option(help="Array of signals, channels along its last axis; the deployment rows of the project else."),
    ] = None,
    member: Annotated[str | None, typer.Option(help="Which array of that file.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the map; one that was begun is continued.")] = Path("map"),
    level: Annotated[float | None, typer.Option(help="Of each signal by itself; else that in the file.")] = None,
    rate: Annotated[
        float | None, typer.Option(help="Largest expected share of false statements over the map, in a second layer.")
    ] = None,
    signal: Annotated[
        str | None, typer.Option(help="Report on one signal only, such as 3,17, with its page; into the same folder.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="local, or the address of a Dask scheduler. No byte depends on it.")
    ] = None,
    workers: Workers = None,
    trust: Trust = False,
    quiet: Quiet = False,
) -> None:
    """Label every signal with the question of a project, whose rows are judged by rotation.

    A map that is stopped, by whatever, is continued by the same command.  Exit codes: 0, the map is written; 2, misuse.
    """
    from ..maps import MOST_SIGNALS, MapProtocol, as_signals, map_signals, write_map_page
    from ..project import assemble

    use_workers(workers)
    loaded = load_project_at(project, {} if level is None else {"level": level}, trust=trust)
    assembled = assemble(loaded)
    table = assembled.tables["deployment"]
    given = as_signals(table.values if signals is None else signals, member=member)
    if signal is not None:
        _report_one(assembled, given, signal, out, quiet)
        return
    with run_progress(quiet) as status, misuse_named(lambda name: "--out" if name == "out" else name):
        status.stage("Tables of the bank")
        found = map_signals(
            given, MapProtocol.of(assembled.protocol, rate), out, scheduler=scheduler, progress=_progress(status)
        )
    has_page = given.count <= MOST_SIGNALS
    if has_page:
        write_map_page(out / "map.html", found, given, assembled.title)
    if not quiet:
        show_lines(found.lines())
        page = ", and map.html, its page" if has_page else ""
        typer.echo(f"\nWritten to {visible(str(out))}: map.json, arrays{page}.")


def _progress(status: Status) -> Callable[[int, int], None]:
    """Blocks done, and the time that the others will take at the speed so far."""
    started: list[tuple[float, int]] = []

    def told(done: int, total: int) -> None:
        now = monotonic()
        if not started or done <= started[0][1]:
            started[:] = [(now, done)]
        begun, first = started[0]
        left = (now - begun) / (done - first) * (total - done) if done > first else 0.0
        status.part, status.used, status.budget = "Blocks", done, total
        status.more = f"about {timedelta(seconds=round(left))} left"
        status.changed(status)

    return told


def _report_one(assembled: "Assembled", signals: "Signals", text: str, out: Path, quiet: bool) -> None:
    """The report of one signal in full, with its page, as `run` would make it of this row."""
    from ..analysis import analyse
    from ..analysis.diagnose import diagnose
    from ..report.page import write_page

    row = signals.at(_index(text, signals.shape))
    result = analyse(assembled.protocol, {"deployment": row[None]})
    folder = out / f"signal-{text.replace(',', '-')}"
    folder.mkdir(parents=True, exist_ok=True)
    names = assembled.project.settings.elements.coordinates
    write_page(folder / "report.html", result.report, diagnose(result, title=f"signal {text}", coordinate_names=names))
    (folder / "report.json").write_text(result.report.json(), encoding="utf-8", newline="")
    if not quiet:
        show_report(result.report)
        typer.echo(f"\nWritten to {visible(str(folder))}: report.html, report.json.")


def _index(text: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    try:
        index = tuple(int(part) for part in text.split(","))
    except ValueError:
        index = ()
    if len(index) != len(shape) or not all(0 <= i < length for i, length in zip(index, shape, strict=True)):
        raise MisuseError("--signal", f"be {len(shape)} whole numbers within the shape {shape}", repr(text))
    return index
