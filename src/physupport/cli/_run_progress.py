"""How far a run is, on standard error and on terminals only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..aeb import Tick

# Looking up the open regions takes longer than a query.
_SECONDS_BETWEEN = 0.1


@contextmanager
def run_progress(quiet: bool) -> "Iterator[Callable[[Tick], None] | None]":
    """A bar with the queries used, the budget and the open regions; gone when the run ends."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[open]}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("Reading and proposing", total=None, open="")
        last = 0.0

        def told(tick: "Tick") -> None:
            nonlocal last
            now = monotonic()
            if now - last < _SECONDS_BETWEEN and tick.used < tick.budget:
                return
            last, names = now, tick.open_fields()
            shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
            bar.update(task, description="Queries", completed=tick.used, total=tick.budget, open=f"open: {shown}")

        yield told
