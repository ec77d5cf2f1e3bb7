"""Text that the commands read from files and show on a terminal, and how far a run is: a bar or a line now and then."""

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from .. import project as projects
from .._errors import Clause, MisuseError, visible
from ._app import PROJECT_FILE

if TYPE_CHECKING:
    from ..aeb import Tick
    from ..project import Project
    from ..report import Details, FieldReport, Report


def report_path(path: str) -> str:
    """A report, which may be named by its folder; - is standard input."""
    return str(Path(path) / "report.json") if path != "-" and os.path.isdir(path) else path


def load_project_at(path: Path, overrides: "dict[str, object] | None" = None, *, trust: bool = False) -> "Project":
    """The project of a file, which may be named by its folder."""
    # Unlike the method of a path, this function takes a name that no file can have for what is not there.
    return projects.load_project(path / PROJECT_FILE if os.path.isdir(path) else path, overrides, trust=trust)


def load_counted(path: Path, overrides: "dict[str, object] | None" = None, *, trust: bool = False) -> "Project":
    """The same of who will build its bank; one too large is refused before anything is loaded to build it with."""
    loaded = load_project_at(path, overrides, trust=trust)
    projects.check_size(loaded)
    return loaded


def save_report(report: "Report", path: Path, option: str = "--out") -> None:
    """Write the JSON of a report, and the folder for it; option: the one that names the place."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        report.save(path)
    except OSError as error:
        raise MisuseError(
            option, "be a folder that can be written", Clause(f"{path.parent} cannot ({error.strerror})")
        ) from None


SIGNAL = "signal-"  # how folders of reports on signals of a map begin


def signal_rows(folder: Path) -> Path:
    """The path of the rows of a signal of a map, beside the folder of its report."""
    return folder.with_name(f"{folder.name}.npy")


def rows_at(path: Path) -> dict[str, object]:
    """Overrides by which a project reads its deployment rows from such a file."""
    given = {"file": str(path.absolute()), "channels": 1, "member": None, "header": None}
    return {f"data.deployment.{key}": value for key, value in given.items()}


def check_ends(name: str, path: Path) -> None:
    """Refuse what may never end; what is not there, or is a folder, is told by who opens it."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise MisuseError(name, "be a file", "a device or a pipe")


# Characters of standard input, which may never end either, and of what is read at once.
_MOST_TEXT = 2**28
_PIECE = 2**20


def _standard_input(name: str) -> str:
    pieces: list[str] = []
    stream = typer.get_text_stream("stdin")
    while piece := stream.read(_PIECE):
        pieces.append(piece)
        if len(pieces) * _PIECE > _MOST_TEXT:
            rule = f"have at most {_MOST_TEXT:,} characters on standard input"
            raise MisuseError(name, rule, Clause("it has more"), "Name the file instead.")
    return "".join(pieces)


def read_text(name: str, path: str) -> str:
    """The text of a file; - is standard input."""
    try:
        if path == "-":
            return _standard_input(name)
        check_ends(f"{name} {path}", Path(path))
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MisuseError(f"{name} {path}", "be a readable text file", error) from None


_MOST_SHOWN = 8


def show_report(report: "Report", details: "Details | None" = None) -> None:
    """The answers, the map as a table, then why, and how sure it is.  details: may cast doubt on all of it."""
    console = Console(highlight=False, markup=False)
    width = None if console.is_terminal else 10_000
    named = str if details is None else details.named
    show_lines(map(named, report.opening(() if details is None else details.doubts)))
    console.print()
    table = Table("region", "label", "in words", "what may be there", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for answer in report.fields:
        table.add_row(Text(visible(answer.field)), str(answer.label), answer.plain, Text(visible(_cell(answer))))
    console.print(table, width=width)
    console.print()
    show_lines([f"- {said}" for said in (*(answer.sentence for answer in report.fields), named(report.sentence))])
    show_lines(report.text().split("\n")[-1:])


def _cell(field: "FieldReport") -> str:
    """The names kept, the first few of many, least evidence against them first; and those not tested."""
    if field.label == "EMPTY":
        return "no explanation survives"
    if field.within:
        n_unasked = len([name for name in field.not_asked if name is not None])
        nothing = " or nothing" if field.numbers.get("possible_absent") else ""
        return f"{field.within}{nothing}" + (f"; not tested: {n_unasked} of these" if n_unasked else "")
    has_set = bool(field.kept or field.not_asked)  # reports of before it was told have the cell alone
    kept = [name for name in field.kept if name is not None] if has_set else field.cell
    named = f" (group {field.group})" if field.group and len(field.cell) > 1 else ""
    is_absent = None in field.kept if has_set else bool(field.numbers.get("possible_absent"))
    shown = " or ".join(filter(None, (few(kept), "nothing" if is_absent else "")))
    unasked = few([name or "nothing" for name in field.not_asked])
    said = f"{shown or ('none tested remains' if unasked else 'nothing')}{named}"
    return f"{said}; not tested: {unasked}" if unasked else said


def few(names: "Sequence[str]", most: int = _MOST_SHOWN) -> str:
    """The first of many names, and how many there are in all."""
    more = f", ... ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def show_lines(lines: Iterable[str]) -> None:
    """Lines that break at words on a terminal, and nowhere elsewhere."""
    console = Console(highlight=False, markup=False)
    for line in lines:
        console.print(Text(visible(line)), soft_wrap=not console.is_terminal)


# Looking up the open regions takes longer than a query; and nobody wants a log of bars.
_SECONDS_BETWEEN = 0.1
_SECONDS_BETWEEN_LINES = 30.0
_MOST_NAMED = 4


@dataclass
class Status:
    """Show the progress of a run as one line, and notify other displays of every change."""

    changed: "Callable[[Status], None]" = field(default=lambda _: None)
    part: str = "Starting"
    used: int = 0
    budget: int | None = None  # None while nothing is counted
    more: str = ""
    _first: float = 0.0
    _last: float = 0.0

    def stage(self, part: str) -> None:
        """Begin another part of the run."""
        self.show(part, self.used, None, "")

    def show(self, part: str, used: int, budget: int | None, more: str) -> None:
        """Set what is shown."""
        self.part = part
        self.used = used
        self.budget = budget
        self.more = more
        self.changed(self)

    def query(self, tick: "Tick") -> None:
        """Show that a query was answered, unless the last one was shown a moment ago."""
        now = monotonic()
        self._first = self._first or now
        if now - self._last < _SECONDS_BETWEEN and tick.used < tick.budget:
            return
        self._last = now
        names = tick.open_fields()
        left = (now - self._first) * (tick.budget / tick.used - 1.0)
        listed = visible(", ".join(names[:_MOST_NAMED])) + (", ..." if len(names) > _MOST_NAMED else "")
        more = f"at most {timedelta(seconds=round(left))} left; open: {listed}"
        self.show("Queries", tick.used, tick.budget, more)

    def line(self) -> str:
        """The line of a log."""
        return self.part if self.budget is None else f"{self.part}: {self.used} of {self.budget}, {self.more}"


@contextmanager
def run_progress(quiet: bool) -> Iterator[Status]:
    """Show where a run is: a bar that is gone when the run ends on a terminal, lines that stay elsewhere."""
    console = Console(stderr=True)
    status = Status()
    if quiet:
        yield status
    elif console.is_terminal:
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        more = TextColumn("{task.fields[more]}", markup=False)
        with Progress(*columns, more, console=console, transient=True) as bar:
            task = bar.add_task("Starting", total=None, more="")
            status.changed = lambda now: bar.update(
                task, description=now.part, completed=now.used, total=now.budget, more=now.more
            )
            yield status
    else:
        done = Event()
        lines = Thread(target=_write_lines, args=(status, done), daemon=True)
        lines.start()
        try:
            yield status
        finally:
            done.set()
            lines.join()


def _write_lines(status: Status, done: Event) -> None:
    while not done.wait(_SECONDS_BETWEEN_LINES):
        typer.echo(status.line(), err=True)


@dataclass
class Stop:
    """Called after every query: from the first one on a signal ends the questions, and loses no answer."""

    listener: "Callable[[Tick], None]"
    number: int = 0  # of the signal that ended them
    _is_asked: bool = False

    def __call__(self, tick: "Tick") -> bool:
        self._is_asked = True
        self.listener(tick)
        return not self.number

    def interrupt(self, number: int, _frame: object) -> None:
        """Handle the signal."""
        if not self._is_asked:
            raise KeyboardInterrupt(number)
        self.number = number


_Handler = Callable[[int, FrameType | None], object]


@contextmanager
def _handled(handler: _Handler, *numbers: signal.Signals) -> Iterator[None]:
    """Let a function handle signals; afterwards they are handled as before."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def interruptible() -> AbstractContextManager[None]:
    """Let Ctrl-C raise `KeyboardInterrupt`; elsewhere it ends the program at once."""
    return _handled(signal.default_int_handler, signal.SIGINT)


def ended_with(line: str) -> AbstractContextManager[None]:
    """Let Ctrl-C end the program at once, as elsewhere, but with this line."""

    def end(number: int, _frame: object) -> None:
        typer.echo(line, err=True)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    return _handled(end, signal.SIGINT)


@contextmanager
def stopped_by_signal(listener: "Callable[[Tick], None]") -> Iterator[Stop]:
    """Let Ctrl-C and SIGTERM, as batch systems send it, end the questions."""
    stop = Stop(listener)
    with _handled(stop.interrupt, signal.SIGINT, signal.SIGTERM):
        yield stop
