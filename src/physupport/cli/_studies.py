"""`physupport reproduce` and `coverage`: the paper's studies from their seeds, and on fresh ones."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress as Bars
from rich.table import Table

from .. import studies
from ._app import DIFFERS, DIFFERS_AS_KNOWN, Threads, use_threads

if TYPE_CHECKING:
    from ..studies import Outcome

_WIDE = 1000  # columns, more than any table has
_JUDGE = "evidence, as in the paper; simulation adds the results of that judge."

Draw = Callable[[Path], object]
Progress = Callable[[int, int], None] | None


def reproduce(
    study: Annotated[str, typer.Argument(help="mechanism, four-region, global, or all.")],
    out: Annotated[Path, typer.Option(help="Folder for the output; each study gets a folder of its own in it.")],
    jobs: Threads = None,
    judge: Annotated[str, typer.Option(help=_JUDGE)] = "evidence",
) -> None:
    """Run a study of the paper from its seeds, and compare every printed number.

    Writes summary.json, CSV tables and figures (PNG and PDF).  With --judge simulation also what that judge says of
    the same data, in global/diameters.csv and four-region/judges.csv.

    Exit codes: 0, every published statement is met; 1, one is not; 2, misuse; 4, the only statements that are not met
    are those that the paper's own seeds contradict.
    """
    threads = _threads(jobs)
    # Names and folder are looked at before the first run, so that a mistake costs no time.
    names = [*studies.STUDIES] if study == "all" else [studies.check_study(study)]
    studies.check_judge(judge, names)
    studies.make_output(out, names)
    is_drawn = _can_draw()
    with drawn_aside(threads if is_drawn else 1) as aside, _progress() as progress, ThreadPoolExecutor(2) as pool:

        def finish(name: str) -> "tuple[Outcome, Future[list[Path]]]":
            """Run a study; its figures are drawn while others run."""
            module = studies.load_study(name)
            outcome = module.run(threads, progress(name))
            if judge != "evidence":
                outcome = module.compare(outcome, threads, progress(f"{name}, {judge}"))
            return outcome, pool.submit(studies.write_outcome, outcome, out, aside(module.draw) if is_drawn else None)

        # Studies that judge need balls, which have one precision for all threads: they stay in this one.
        beside = {name: pool.submit(finish, name) for name in names if jobs is None and name not in studies.JUDGED}
        here = {name: finish(name) for name in names if name not in beside}
        finished = here | {name: future.result() for name, future in beside.items()}
    for name in names:
        outcome, written = finished[name]
        _show(outcome, (outcome.study, "published", "here", "agrees"), out, written.result())
    missed = [(name, line) for name in names for line in finished[name][0].lines if not line.agrees]
    for name, line in missed:
        typer.echo(f"not as published{', as known' if line.is_known else ''}: {name}: {line.name}", err=True)
    if missed:
        raise typer.Exit(DIFFERS_AS_KNOWN if all(line.is_known for _, line in missed) else DIFFERS)


def coverage(
    study: Annotated[str, typer.Option(help="four-region or global.")],
    datasets: Annotated[int, typer.Option(help="Number of fresh data sets; the scenes of the study alternate.")],
    seed: Annotated[int, typer.Option(help="Seed from which the fresh seeds are drawn.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the output.")] = Path("physupport-coverage"),
    jobs: Threads = None,
) -> None:
    """Repeat a study on fresh data of known origin, and count false reports.

    A report is false if a FINE, GROUP or ABSENT in it does not hold for the explanation that generated the data. Its
    probability is at most the level. Written are a line for every report, the rates with exact intervals, over all
    scenes and in each, how often each label is given, how many reports are without a witness, and figures.

    Exit codes: 0, no interval lies above its level; 1, one does; 2, misuse.
    """
    threads = _threads(jobs)
    # Before the first data set, so that a mistake costs no time.
    studies.make_output(out, [studies.check_repeat(study, datasets, seed)])
    draw = studies.draw_coverage if _can_draw() else None
    with _progress() as progress:
        outcome = studies.repeat_study(study, datasets, seed, threads, progress(study))
    paths = studies.write_outcome(outcome, out, draw)
    _show(outcome, ("rate", "guaranteed", "here, with its exact 95% interval", "agrees"), out, paths)
    if not outcome.agrees:
        raise typer.Exit(DIFFERS)


def _threads(jobs: int | None) -> int:
    """Set the threads of the kernels, and say how many tasks may run at once: all cores unless given."""
    use_threads(jobs, "--jobs")
    if jobs is not None:
        return jobs
    # Of the cores, those that this process may use, where the system tells.
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _can_draw() -> bool:
    """True if there will be figures; says so if not."""
    if find_spec("matplotlib") is not None:
        return True
    typer.echo('No figures: matplotlib is not installed (pip install "physupport[plot]").', err=True)
    return False


@contextmanager
def drawn_aside(threads: int) -> Iterator[Callable[[Draw], Draw]]:
    """Have figures drawn by a process of its own, if there is a core for it, while studies go on in this one.

    A thread would not do: drawing holds the interpreter, which every kernel needs for a moment when it ends.
    """
    if threads == 1:
        yield lambda draw: draw
        return
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as the new process inherits it: Ctrl-C is told once
        try:
            pool.submit(_load_figures)
        finally:
            signal.signal(signal.SIGINT, before)
        yield lambda draw: lambda folder: pool.submit(draw, folder).result()


def _load_figures() -> None:
    """Import what draws, which is slow, before there is anything to draw."""
    import_module("matplotlib.backends.backend_pdf")
    import_module("physupport.report.plots").draw  # noqa: B018  its name is loaded when it is asked for


@contextmanager
def _progress() -> Iterator[Callable[[str], Progress]]:
    """A bar for each name on standard error, on terminals only, gone at the end."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with Bars(console=console, transient=True) as bars:

        def bar(name: str) -> Progress:
            task = bars.add_task(name, total=None)
            return lambda done, total: bars.update(task, completed=done, total=total)

        yield bar


def _show(outcome: "Outcome", heads: tuple[str, ...], out: Path, paths: list[Path]) -> None:
    """Show a comparison as a table; remarks follow it, so that the columns stay narrow, and then what was written."""
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:  # where no terminal sets a width, a row of a table is one line
        console.width = _WIDE
    table = Table(*heads, box=None, pad_edge=False)
    for line in outcome.lines:
        agrees = "yes" if line.agrees else "no, known" if line.is_known else "NO"
        table.add_row(line.name, line.published, line.here, agrees)
    console.print(table)
    for line in outcome.lines:
        if line.note:
            console.print(f"- {line.name}: {line.note}", soft_wrap=not console.is_terminal)
    console.print(f"Written to {out / outcome.study}: {', '.join(path.name for path in paths)}.\n", soft_wrap=True)
