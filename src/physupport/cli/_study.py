"""What the commands about the studies share: threads, progress, tables, and whether there are figures."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ._workers import use_workers

if TYPE_CHECKING:
    from rich.console import Console

DIFFERS = 1
_WIDE = 1000  # columns, more than any table has


def study_threads(jobs: int | None) -> int:
    """Set the threads of the kernels, and say how many tasks may run at once: all cores unless given."""
    use_workers(jobs, "--jobs")
    if jobs is not None:
        return jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def can_draw() -> bool:
    """Whether there will be figures; says so if not."""
    if find_spec("matplotlib") is not None:
        return True
    typer.echo('No figures: matplotlib is not installed (pip install "physupport[plot]").', err=True)
    return False


Draw = Callable[[Path], object]


@contextmanager
def drawn_aside(threads: int) -> Iterator[Callable[[Draw], Draw]]:
    """Have figures drawn by a process of its own, if there is a core for it, while studies go on in this one.

    A thread would not do: drawing holds the interpreter, which every kernel needs for a moment when it ends.
    """
    if threads == 1:
        yield lambda draw: draw
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as the new process inherits it: Ctrl-C is told once
        try:
            pool.submit(_load_figures)
        finally:
            signal.signal(signal.SIGINT, before)
        yield lambda draw: lambda folder: pool.submit(draw, folder).result()


def _load_figures() -> None:
    """Slow, and therefore done before there is anything to draw."""
    from matplotlib.backends import backend_pdf

    from ..studies import figures

    del backend_pdf, figures


def table_console() -> "Console":
    """Standard output; where no terminal sets a width, a row of a table is one line."""
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = _WIDE
    return console


Progress = Callable[[int, int], None] | None


@contextmanager
def study_progress() -> Iterator[Callable[[str], Progress]]:
    """A bar for each name on standard error, on terminals only, gone at the end."""
    from rich.console import Console
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with Bars(console=console, transient=True) as bars:

        def bar(name: str) -> Progress:
            task = bars.add_task(name, total=None)
            return lambda done, total: bars.update(task, completed=done, total=total)

        yield bar
