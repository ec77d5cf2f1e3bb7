"""The data sets of the global study under two judges: what each leaves of the orientations at one level."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from statistics import mean
from time import thread_time

import numpy as np

from ...aeb import EndpointPolicy
from ...analysis import AnalysisProtocol, Seal, StreamPlan
from ...judges import Verdict, Verdicts
from ...judges.simulation import BySimulation
from ...questions import Resolution
from .._published import JUDGES_NOTE, Line, Outcome, Progress, judges_line
from .._tasks import Task, finished, split_seed
from . import _design as design
from ._case import STREAM, study_rows, study_seals

LEVEL = 0.077  # of the balanced profile


def compare(outcome: Outcome, jobs: int, progress: Progress | None = None) -> Outcome:
    """The outcome with the diameters that evidence and simulation leave, beside each other."""
    planned = [(condition, seed) for condition in design.CONDITIONS for seed in condition.seeds]
    tasks = [Task(partial(_both, *case), case[0].n_rows) for case in planned]
    made = {i: [*_rows(*planned[i], *pair)] for i, pair in finished(tasks, jobs, progress)}
    rows = [row for i in range(len(planned)) for row in made[i]]
    return replace(outcome, lines=(*outcome.lines, *_lines(rows)), tables={**outcome.tables, "diameters": rows})


def simulation_seal(condition: design.Condition, data_seed: int) -> Seal:
    """All rows of a data set, to be judged by simulation; orientations are the coordinate, and none is proposed."""
    bank, distances = design.study_bank(condition), design.place_distances(condition.scale)
    protocol = AnalysisProtocol(
        Resolution.of_states(bank, distances, np.zeros(len(distances)), delta_fine=0.0, delta_group=0.0),
        EndpointPolicy(),
        LEVEL,
        budget=1.0,
        bank=bank,
        streams={STREAM: StreamPlan("latent", design.SHARE)},
        seed=split_seed(data_seed),
        judge=BySimulation(),
    )
    return protocol.read(calibration=study_rows(condition, data_seed))


Timed = tuple[float, Verdicts | Seal]


def _both(condition: design.Condition, data_seed: int) -> tuple[Timed, Timed]:
    """CPU seconds of each judge, and what it leaves to do: evidence may need balls, which threads must not share."""
    start = thread_time()
    levels = [profile.level for profile in design.PROFILES]
    seal = study_seals(condition, data_seed)[levels.index(LEVEL)]
    middle = thread_time()
    verdicts = simulation_seal(condition, data_seed).verdicts()
    return (middle - start, seal), (thread_time() - middle, verdicts)


def _rows(condition: design.Condition, data_seed: int, *judged: Timed) -> Iterator[dict[str, object]]:
    for name, (seconds, result) in zip(("evidence", "simulation"), judged, strict=True):
        verdicts = result.verdicts() if isinstance(result, Seal) else result
        kept = np.flatnonzero(verdicts.codes != Verdict.REJECTED)
        yield {
            "condition": condition.name,
            "data_seed": data_seed,
            "level": LEVEL,
            "judge": name,
            "diameter_over_shell": diameter_over_shell(condition, kept),
            "truth_kept": design.true_explanation(condition) in kept,
            "cpu_seconds": round(seconds, 2),
        }


def diameter_over_shell(condition: design.Condition, kept: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    """The largest distance of orientations that explanations (k,) still have, over that of the whole grid."""
    distances = design.place_distances(condition.scale)
    places = np.unique(design.study_bank(condition).split(kept).state)
    return float(distances[np.ix_(places, places)].max(initial=0.0) / distances.max())


def _lines(rows: list[dict[str, object]]) -> Iterator[Line]:
    for number, condition in enumerate(design.CONDITIONS):
        means = {name: _mean(rows, condition=condition.name, judge=name) for name in ("evidence", "simulation")}
        shown = {name: f"{value:.3f}" for name, value in means.items()}
        name = f"{condition.name}: mean diameter over the shell's at {LEVEL}"
        yield judges_line(name, shown, "" if number else JUDGES_NOTE)


def _mean(rows: list[dict[str, object]], **wanted: str) -> float:
    chosen: list[Mapping[str, object]] = [row for row in rows if wanted.items() <= row.items()]
    return mean(float(str(row["diameter_over_shell"])) for row in chosen)
