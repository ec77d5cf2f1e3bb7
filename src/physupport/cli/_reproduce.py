"""`physupport reproduce`: the paper's studies from their seeds, next to what the paper printed."""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._app import app
from ._study import DIFFERS, can_draw, study_progress, study_threads, table_console

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
    from ..studies import STUDIES, check_judge, load_study, make_output, write_outcome

    # Names and folder are looked at before the first run, so that a mistake costs no time.
    studies = {name: load_study(name) for name in (STUDIES if study == "all" else [study])}
    check_judge(judge, studies)
    make_output(out, studies)
    console, outcomes, is_drawn = table_console(), [], can_draw()
    written: list[Future[list[Path]]] = []
    # Figures are drawn while the next study runs, whose kernels let go of the interpreter.
    with ThreadPoolExecutor(1) as writer:
        for name, module in studies.items():
            with study_progress(name) as progress:
                outcomes.append(module.run(threads, progress))
            if judge != "evidence":
                with study_progress(f"{name}, {judge}") as progress:
                    outcomes[-1] = module.compare(outcomes[-1], threads, progress)
            written.append(writer.submit(write_outcome, outcomes[-1], out, module.draw if is_drawn else None))
            if len(written) > 1:
                _show(console, outcomes[-2], out, written[-2].result())
        _show(console, outcomes[-1], out, written[-1].result())
    missed = [f"{each.study}: {line.name}" for each in outcomes for line in each.lines if not line.is_met]
    for line in missed:
        typer.echo(f"not as published: {line}", err=True)
    if missed:
        raise typer.Exit(DIFFERS)


def _show(console: "Console", outcome: "Outcome", out: Path, made: list[Path]) -> None:
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
    console.print(f"Written to {out / outcome.study}: {', '.join(path.name for path in made)}.\n", soft_wrap=True)
