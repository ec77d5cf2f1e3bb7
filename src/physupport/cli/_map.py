"""`physupport map`: the question of a project asked of every signal of an image or a recording."""

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from .. import maps, project as projects
from .._errors import Clause, MisuseError, misuse_named, visible
from . import _later
from ._app import PROJECT_FILE, ProjectArgument, Quiet, Threads, Trust, use_threads
from ._project import run_and_tell, show_finished
from ._text import (
    SIGNAL,
    Status,
    ended_with,
    load_counted,
    load_project_at,
    rows_at,
    run_progress,
    show_lines,
    signal_rows,
)

if TYPE_CHECKING:
    from ..maps import SignalMap, Signals
    from ..project import Assembled, Project

_WRITABLE = "be a folder that can be made and written to"
_STAYS = "Finished blocks are kept: repeat the call to continue."
_SIGNALS = "Array of signals, channels along its last axis; the image or the rows of data.deployment else."
_CHANNELS = "Axis that runs over channels, by name or number; the last unless given."
_REPEATS = "Axis that runs over repeated rows of a signal, by name or number, if one does."
_OUT = "Folder of the map, instead of the one in the file; one begun is continued."
_RATE = "Largest expected share of false statements over the map, in a second layer."
_SIGNAL = "Report on one signal only, such as 3,17, with its page; into the same folder."
_SCHEDULER = "local, or the address of a Dask scheduler, which has 5 seconds to answer. No byte depends on it."

MAP_OPTIONS = {name: f"--{name}" for name in ("signals", "channels", "repeats", "rate", "scheduler", "out")} | {
    "override output.map": "--out"
}


def map_(
    project: ProjectArgument = PROJECT_FILE,
    signals: Annotated[Path | None, typer.Option(help=_SIGNALS)] = None,
    member: Annotated[str | None, typer.Option(help="Which array of that file.")] = None,
    channels: Annotated[str | None, typer.Option(help=_CHANNELS)] = None,
    repeats: Annotated[str | None, typer.Option(help=_REPEATS)] = None,
    out: Annotated[Path | None, typer.Option(help=_OUT)] = None,
    level: Annotated[
        float | None, typer.Option(help="Level for each signal by itself; that of the file if not given.")
    ] = None,
    rate: Annotated[float | None, typer.Option(help=_RATE)] = None,
    signal: Annotated[str | None, typer.Option(help=_SIGNAL)] = None,
    scheduler: Annotated[str | None, typer.Option(help=_SCHEDULER)] = None,
    workers: Threads = None,
    trust: Trust = False,
    quiet: Quiet = False,
) -> None:
    """Label every signal with the question of a project, by the judge of its deployment rows.

    A map that is stopped, by whatever, is continued by the same command.  Exit codes: 0, the map is written; 2, misuse.
    """
    use_threads(workers, "--workers")
    options: dict[str, object] = {"level": level, "output.map": None if out is None else str(out)}
    overrides = {key: value for key, value in options.items() if value is not None}
    loaded = load_counted(project, overrides, trust=trust)
    assembled = projects.assemble(loaded)
    mapped = _signals(assembled, signals, channels, repeats, member)
    if signal is not None and loaded.channels.window is not None:
        remedy = "Save the row of the signal in a file of its own, and run the project with it."
        raise MisuseError("--signal", "be left out in a project with a window", repr(signal), remedy)
    if signal is not None:
        _report_one(loaded, overrides, mapped, signal, quiet)
        return
    with run_progress(quiet) as status:
        result, is_small = _mapped(assembled, mapped, rate, scheduler, status)
    if not quiet:
        show_lines(result.lines())
        small = "; map.npz, the same in one file; map.html, its page; map.csv; map.img for ENVI" if is_small else ""
        typer.echo(f"\nWritten to {visible(str(loaded.map_folder))}: map.json; map.zarr, arrays in chunks{small}.")


def _mapped(
    assembled: "Assembled", signals: "Signals", rate: float | None, scheduler: str | None, status: Status
) -> "tuple[SignalMap, bool]":
    """Make the map in its folder, with its page unless it is large; True if it is not."""
    folder = assembled.project.map_folder
    inside = f"{folder}{os.sep}"  # files in it are told by their names
    calibration = assembled.tables.get("calibration")
    with (
        ended_with("Stopped. Finished blocks are kept: repeat the command to continue."),
        assembled.project.named_run(),
        misuse_named(lambda name: f"--out: {name}" if name.startswith(inside) else MAP_OPTIONS.get(name, name)),
    ):
        status.stage("Tables of the bank")
        rows = None if calibration is None else calibration.values
        protocol = maps.MapProtocol.of(assembled.protocol, rate, calibration=rows, repeats=signals.repeats)
        result = maps.map_signals(signals, protocol, folder, scheduler=scheduler, progress=_progress(status))
    is_small = signals.count <= maps.MOST_SIGNALS
    if is_small:
        try:
            status.stage("Amounts")
            amounts = result.amounts(signals, protocol.judge)
            title = assembled.project.title
            maps.write_map_page(folder / "map.html", result, signals, title, protocol.judge, amounts)
            result.save(folder / "map.npz")
            result.to_csv(folder / "map.csv", amounts)
            result.to_envi(folder / "map.img", result.regions[0])
        except OSError as error:
            raise MisuseError(
                "--out", _WRITABLE, Clause(f"{error.filename} is not ({error.strerror})"), _STAYS
            ) from None
    return result, is_small


def _signals(
    assembled: "Assembled", path: Path | None, channels: str | None, repeats: str | None, member: str | None
) -> "Signals":
    """Those of a file, or every deployment row of the project; channels have the names that the project gives them."""
    table = assembled.tables["deployment"]
    known = assembled.project.channels
    spec = assembled.project.settings.data.deployment
    own = assembled.project.file("data.deployment.file", spec.file)
    is_image = len(table.source.shape) > 2 or own.suffix.lower() == ".hdr"
    if path is None and not is_image:
        return maps.Signals(table.values, ("row",), {}, table.source.unit, table.channels)
    if path is None:
        path = own
        member = member or spec.member
        channels = channels or (None if spec.channels is None or own.suffix.lower() == ".hdr" else str(spec.channels))
    given = maps.as_signals(path, channels=channels, repeats=repeats, member=member)
    if known.window is not None and given.channels == len(known.window):
        given = given.in_order(known.names).within(known.window)
    given = given.in_order(assembled.bank.channels)
    assembled.project.channels.check_unit("signals", given.unit)
    is_named = bool(given.bands) or given.channels != len(table.channels)
    return replace(given, unit=given.unit or table.source.unit, bands=given.bands if is_named else table.channels)


def _progress(status: Status) -> Callable[[int, int], None]:
    """Blocks done, and the time that the others will take at the speed so far."""
    started: list[tuple[float, int]] = []

    def show(done: int, total: int) -> None:
        now = monotonic()
        if not started or done <= started[0][1]:
            started[:] = [(now, done)]
        begun, first = started[0]
        left = (now - begun) / (done - first) * (total - done) if done > first else 0.0
        status.show("Blocks", done, total, f"about {timedelta(seconds=round(left))} left")

    return show


def _report_one(project: "Project", overrides: dict[str, object], signals: "Signals", text: str, quiet: bool) -> None:
    """The report of one signal in full, as `run` makes it of these rows, which stay beside it for `verify`."""
    rows = signals.at(_index(text, signals.shape))
    folder = project.map_folder / f"{SIGNAL}{text.replace(',', '-')}"
    path = signal_rows(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Records name the channels where other files of the project have these in another order.
        is_moved = project.channels.moved
        kind = [(name, rows.dtype) for name in signals.bands]
        _later.files.write_whole(path, _later.files.npy_bytes(rows.view(kind).reshape(-1) if is_moved else rows))
    except OSError as error:
        raise MisuseError("--out", _WRITABLE, Clause(f"{folder} is not ({error})")) from None
    given = overrides | {"output.folder": str(folder), "title": f"{project.title}, signal {text}", **rows_at(path)}
    finished, _ = run_and_tell(load_project_at(project.path, given, trust=project.is_trusted), quiet=quiet)
    if not quiet:
        show_finished(finished)


def _index(text: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    try:
        index = tuple(int(part) for part in text.split(","))
    except ValueError:
        index = ()
    if len(index) != len(shape) or not all(0 <= i < length for i, length in zip(index, shape, strict=True)):
        raise MisuseError("--signal", f"be {len(shape)} whole numbers within the shape {shape}", repr(text))
    return index
