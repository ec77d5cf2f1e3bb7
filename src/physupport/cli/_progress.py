"""How far a run is: a bar on a terminal, a line now and then elsewhere; and how a signal ends it."""

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event, Thread
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .._errors import visible

if TYPE_CHECKING:
    from ..aeb import Tick

# Looking up the open regions takes longer than a query; and nobody wants a log of bars.
_SECONDS_BETWEEN = 0.1
_SECONDS_BETWEEN_LINES = 30.0
_MOST_NAMED = 4


@dataclass
class Status:
    """Where a run is, as one line; what else it is shown on is told of every change."""

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
