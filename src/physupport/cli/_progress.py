"""How far a run is: a bar on a terminal, a line now and then elsewhere; and how a signal ends it."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING

import typer

from .._errors import visible

if TYPE_CHECKING:
    from rich.console import Console

    from ..aeb import Tick

# Looking up the open regions takes longer than a query; and nobody wants a log of bars.
_SECONDS_BETWEEN, _SECONDS_BETWEEN_LINES = 0.1, 30.0
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
        """Another part of the run begins."""
        self.part, self.budget, self.more = part, None, ""
        self.changed(self)

    def query(self, tick: "Tick") -> None:
        """A query was answered."""
        now = monotonic()
        self._first = self._first or now
        if now - self._last < _SECONDS_BETWEEN and tick.used < tick.budget:
            return
        names, left = tick.open_fields(), (now - self._first) * (tick.budget / tick.used - 1.0)
        listed = visible(", ".join(names[:_MOST_NAMED])) + (", ..." if len(names) > _MOST_NAMED else "")
        self._last, self.part, self.used, self.budget = now, "Queries", tick.used, tick.budget
        self.more = f"at most {timedelta(seconds=round(left))} left; open: {listed}"
        self.changed(self)

    def line(self) -> str:
        """For a log."""
        return self.part if self.budget is None else f"{self.part}: {self.used} of {self.budget}, {self.more}"


@contextmanager
def run_progress(quiet: bool) -> Iterator[Status]:
    """What a run tells where it is; the bar is gone when the run ends, the lines stay."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet:
        yield Status()
    elif console.is_terminal:
        with _bar(console) as changed:
            yield Status(changed)
    else:
        status, done = Status(), Event()
        lines = Thread(target=_write_lines, args=(status, done), daemon=True)
        lines.start()
        try:
            yield status
        finally:
            done.set()
            lines.join()


@contextmanager
def _bar(console: "Console") -> Iterator[Callable[[Status], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, TextColumn("{task.fields[more]}", markup=False), console=console, transient=True) as bar:
        task = bar.add_task("Starting", total=None, more="")

        def changed(status: Status) -> None:
            bar.update(task, description=status.part, completed=status.used, total=status.budget, more=status.more)

        yield changed


def _write_lines(status: Status, done: Event) -> None:
    while not done.wait(_SECONDS_BETWEEN_LINES):
        typer.echo(status.line(), err=True)


@dataclass
class Stop:
    """What to call after every query: from the first one on a signal ends the questions, and never loses an answer."""

    listener: "Callable[[Tick], None]"
    number: int = 0  # of the signal that ended them
    _is_asked: bool = False

    def __call__(self, tick: "Tick") -> bool:
        self._is_asked = True
        self.listener(tick)
        return not self.number

    def interrupt(self, number: int, _frame: object) -> None:
        """The signal itself."""
        if not self._is_asked:
            raise KeyboardInterrupt(number)
        self.number = number


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C raises `KeyboardInterrupt`, for who has something to say then; elsewhere it ends the program at once."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def ended_with(line: str) -> Iterator[None]:
    """Ctrl-C ends the program at once, as elsewhere, with this line: nothing waits for what is computed meanwhile."""

    def end(number: int, _frame: object) -> None:
        typer.echo(line, err=True)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    before = signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def stopped_by_signal(listener: "Callable[[Tick], None]") -> Iterator[Stop]:
    """Ctrl-C and SIGTERM, as batch systems send it, end the questions; as they were afterwards."""
    stop = Stop(listener)
    before = {number: signal.signal(number, stop.interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
