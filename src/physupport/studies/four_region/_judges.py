"""The data sets of the four-region study under two judges: how many explanations each leaves, and the labels."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import mean

import numpy as np

from ...aeb import RegionalPolicy
from ...analysis import AnalysisProtocol, Seal, StreamPlan
from ...judges import Verdict
from ...judges.simulation import BySimulation
from ...questions import exhaustive_answers
from .._published import Line, Outcome
from .._tasks import kernel_threads, split_seed
from . import _design as design
from ._case import examine, study_rows

NOTE = "The judge of the paper, evidence, remains the default of this study."


def compare(outcome: Outcome, jobs: int, progress: Callable[[int, int], None] | None = None) -> Outcome:
    """The outcome with what evidence and simulation leave of the bank, beside each other."""
    planned, rows = [(scene, seed) for scene in design.SCENES for seed in scene.seeds], []
    with kernel_threads(jobs):
        for done, case in enumerate(planned, 1):
            seals = {"evidence": examine(*case).seal, "simulation": simulation_seal(*case)}
            rows += [_row(*case, name, seal) for name, seal in seals.items()]
            if progress is not None:
                progress(done, len(planned))
    return replace(outcome, lines=(*outcome.lines, *_lines(rows)), tables={**outcome.tables, "judges": rows})


def simulation_seal(scene: design.Scene, data_seed: int) -> Seal:
    """All rows of a data set, to be judged by simulation."""
    calibration, deployment = study_rows(scene, data_seed)
    plans = {
        "calibration": StreamPlan("latent", design.SHARES[0]),
        "deployment": StreamPlan("covariance", design.SHARES[1]),
    }
    protocol = AnalysisProtocol(
        design.study_question(),
        RegionalPolicy(),
        design.LEVEL,
        design.BUDGET,
        design.study_bank(),
        plans,
        seed=split_seed(data_seed),
        judge=BySimulation("ratio"),
    )
    return protocol.read(calibration=calibration, deployment=deployment)


def _row(scene: design.Scene, data_seed: int, judge: str, seal: Seal) -> dict[str, object]:
    codes = seal.verdicts().codes
    kept = np.flatnonzero(codes != Verdict.REJECTED)
    labels = {answer.field: answer.label.value for answer in exhaustive_answers(seal.question, codes)}
    is_kept = design.true_explanation(scene) in kept
    return {"data_seed": data_seed, "judge": judge, "retained": len(kept), "truth_kept": is_kept} | {
        region: labels[region] for region in design.PLACES
    }


def _lines(rows: list[dict[str, object]]) -> Iterator[Line]:
    retained = {
        name: mean(int(str(row["retained"])) for row in rows if row["judge"] == name)
        for name in ("evidence", "simulation")
    }
    there, here = (f"{retained[name]:.1f} by {name}" for name in ("evidence", "simulation"))
    yield Line("explanations retained, mean", there, here, True, NOTE)
