"""What the commands about the studies share: threads, progress, tables, and whether there are figures."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
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


def table_console() -> "Console":
    """Standard output; where no terminal sets a width, a row of a table is one line."""
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = _WIDE
    return console


@contextmanager
def study_progress(name: str) -> "Iterator[Callable[[int, int], None] | None]":
    """A bar on standard error, on terminals only, gone when the study ends."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
