"""`physupport reproduce`: the paper's studies from their seeds, next to what the paper printed."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._app import app

if TYPE_CHECKING:
    from rich.console import Console

    from ..studies import Outcome

DIFFERS = 1


@app.command()
def reproduce(
    study: Annotated[str, typer.Argument(help="mechanism, four-region, global, or all.")],
    out: Annotated[Path, typer.Option(help="Folder for the output; each study gets a folder of its own in it.")],
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores unless given. No number depends on it.")] = None,
) -> None:
    """Run a study of the paper from its seeds, and compare every printed number.

    Writes summary.json, CSV tables and figures (PNG and PDF).

    Exit codes: 0, every published statement is met; 1, one is not; 2, misuse.
    """
    # Many products of tiny matrices: threads of BLAS would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from rich.console import Console

    from .._checks import check_count
    from ..studies import STUDIES, load_study, make_folder, write_outcome

    workers = _cores() if jobs is None else check_count("jobs", jobs)
    console, outcomes, drawn = Console(highlight=False, markup=False), [], _can_draw()
    # Names and folder are looked at before the first run, so that a mistake costs no time.
    studies = {name: load_study(name) for name in (STUDIES if study == "all" else [study])}
    make_folder(out)
    for name, module in studies.items():
        with _progress(name) as progress:
            outcome = module.run(workers, progress)
        made = write_outcome(outcome, out, module.draw if drawn else None)
        _show(console, outcome)
        console.print(f"Written to {out / outcome.study}: {', '.join(path.name for path in made)}.\n", soft_wrap=True)
        outcomes.append(outcome)
    if not drawn:
        typer.echo('No figures: matplotlib is not installed (pip install "physupport[plot]").', err=True)
    missed = [f"{each.study}: {line.name}" for each in outcomes for line in each.lines if not line.is_met]
    for line in missed:
        typer.echo(f"not as published: {line}", err=True)
    if missed:
        raise typer.Exit(DIFFERS)


def _cores() -> int:
    """Cores that this process may use."""
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _can_draw() -> bool:
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None


@contextmanager
def _progress(name: str) -> "Iterator[Callable[[int, int], None]]":
    """A bar on standard error, gone when the study ends."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _show(console: "Console", outcome: "Outcome") -> None:
    """The comparison as a table; remarks follow it, so that the columns stay narrow."""
    from rich.table import Table

    table = Table(outcome.study, "published", "here", "agrees", box=None, pad_edge=False)
    for line in outcome.lines:
        table.add_row(
            line.name, line.published, line.here, "yes" if line.agrees else "no, known" if line.is_known else "NO"
        )
    console.print(table)
    for line in outcome.lines:
        if line.note:
            console.print(f"- {line.name}: {line.note}", soft_wrap=not console.is_terminal)
