"""`physupport reproduce`: the paper's studies from their seeds, next to what the paper printed."""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._app import app
from ._study import DIFFERS, can_draw, drawn_aside, study_progress, study_threads, table_console

if TYPE_CHECKING:
    from rich.console import Console

    from ..studies import Outcome


@app.command()
def reproduce(
    study: Annotated[str, typer.Argument(help="mechanism, four-region, global, or all.")],
    out: Annotated[Path, typer.Option(help="Folder for the output; each study gets a folder of its own in it.")],
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores unless given. No number depends on it.")] = None,
    judge: Annotated[
        str, typer.Option(help="evidence, as in the paper; simulation adds what that judge says.")
    ] = "evidence",
) -> None:
    """Run a study of the paper from its seeds, and compare every printed number.

    Writes summary.json, CSV tables and figures (PNG and PDF).  With --judge simulation also what that judge says of
    the same data, in global/diameters.csv and four-region/judges.csv.

    Exit codes: 0, every published statement is met; 1, one is not; 2, misuse.
    """
    threads = study_threads(jobs)
    from ..studies import JUDGED, STUDIES, check_judge, check_study, load_study, make_output, write_outcome

    # Names and folder are looked at before the first run, so that a mistake costs no time.
    names = [*STUDIES] if study == "all" else [check_study(study)]
    check_judge(judge, names)
    make_output(out, names)
    is_drawn = can_draw()
    with drawn_aside(threads if is_drawn else 1) as aside, study_progress() as progress, ThreadPoolExecutor(2) as pool:

        def finish(name: str) -> "tuple[Outcome, Future[list[Path]]]":
            """Run a study; its figures are drawn while others run."""
            module = load_study(name)
            outcome = module.run(threads, progress(name))
            if judge != "evidence":
                outcome = module.compare(outcome, threads, progress(f"{name}, {judge}"))
            return outcome, pool.submit(write_outcome, outcome, out, aside(module.draw) if is_drawn else None)

        # Studies that judge need balls, which have one precision for all threads: they stay in this one.
        beside = {name: pool.submit(finish, name) for name in names if jobs is None and name not in JUDGED}
        here = {name: finish(name) for name in names if name not in beside}
        finished = here | {name: future.result() for name, future in beside.items()}
    console, outcomes = table_console(), [finished[name][0] for name in names]
    for name in names:
        outcome, written = finished[name]
        _show(console, outcome, out, written.result())
    missed = [f"{each.study}: {line.name}" for each in outcomes for line in each.lines if not line.is_met]
    for line in missed:
        typer.echo(f"not as published: {line}", err=True)
    if missed:
        raise typer.Exit(DIFFERS)


def _show(console: "Console", outcome: "Outcome", out: Path, paths: list[Path]) -> None:
    """The comparison as a table; remarks follow it, so that the columns stay narrow, and then what was written."""
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
    console.print(f"Written to {out / outcome.study}: {', '.join(path.name for path in paths)}.\n", soft_wrap=True)
