"""`physupport coverage`: a study on fresh seeds, and whether its level holds."""

from pathlib import Path
from typing import Annotated

import typer

from ._app import app
from ._study import DIFFERS, can_draw, study_progress, study_threads, table_console


@app.command()
def coverage(
    study: Annotated[str, typer.Option(help="four-region or global.")],
    datasets: Annotated[int, typer.Option(help="How many fresh data sets; the scenes of the study take turns.")],
    seed: Annotated[int, typer.Option(help="Where the fresh seeds come from.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the output.")] = Path("physupport-coverage"),
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores unless given. No number depends on it.")] = None,
) -> None:
    """Repeat a study on fresh data of known origin, and count false reports.

    A report is false if a FINE, GROUP or ABSENT in it does not hold for the explanation that generated the data. Its
    probability is at most the level. Written are a line for every report, the rates with exact intervals, over all
    scenes and in each, how often each label is given, how many reports are without a witness, and figures.

    Exit codes: 0, no interval lies above its level; 1, one does; 2, misuse.
    """
    threads = study_threads(jobs)
    from rich.table import Table

    from ..studies import check_repeat, draw_coverage, make_output, repeat_study, write_outcome

    # Before the first data set, so that a mistake costs no time.
    make_output(out, [check_repeat(study, datasets, seed)])
    console, draw = table_console(), draw_coverage if can_draw() else None
    with study_progress() as progress:
        outcome = repeat_study(study, datasets, seed, threads, progress(study))
    paths = write_outcome(outcome, out, draw)
    table = Table("rate", "guaranteed", "here, with its exact 95% interval", "agrees", box=None, pad_edge=False)
    for line in outcome.lines:
        table.add_row(line.name, line.published, line.here, "yes" if line.agrees else "NO")
    console.print(table)
    console.print(f"Written to {out / outcome.study}: {', '.join(path.name for path in paths)}.", soft_wrap=True)
    if not outcome.agrees:
        raise typer.Exit(DIFFERS)
