"""`physupport coverage`: a study on fresh seeds, and whether its level holds."""

from pathlib import Path
from typing import Annotated

import typer

from ._app import app
from ._reproduce import DIFFERS, _can_draw, _cores, _progress


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
    probability is at most the level. Written are a line for every report, the rates with exact intervals, how often
    each label is given, and figures.

    Exit codes: 0, no interval lies above its level; 1, one does; 2, misuse.
    """
    import os

    # Before NumPy is loaded: its products are small here, and threads of its own would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from rich.console import Console
    from rich.table import Table

    from .._checks import check_count
    from ..studies import draw_coverage, repeat_study, write_outcome

    workers = _cores() if jobs is None else check_count("jobs", jobs)
    with _progress(study) as progress:
        outcome = repeat_study(study, datasets, seed, workers, progress)
    made = write_outcome(outcome, out, draw_coverage if _can_draw() else None)
    console = Console(highlight=False, markup=False)
    table = Table("rate", "guaranteed", "here, with its exact 95% interval", "agrees", box=None, pad_edge=False)
    for line in outcome.lines:
        table.add_row(line.name, line.published, line.here, "yes" if line.agrees else "NO")
    console.print(table)
    console.print(f"Written to {out / outcome.study}: {', '.join(path.name for path in made)}.", soft_wrap=True)
    if not outcome.agrees:
        raise typer.Exit(DIFFERS)
