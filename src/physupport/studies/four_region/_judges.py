"""The data sets of the four-region study under two judges: how many explanations each leaves, and the labels."""

from dataclasses import replace
from statistics import mean

import numpy as np

from ...aeb import RegionalPolicy
from ...analysis import Seal
from ...judges import Verdict
from ...judges.simulation import BySimulation
from ...questions import exhaustive_answers
from .._published import JUDGES_NOTE, Line, Outcome, Progress, judges_line
from .._tasks import one_by_one, split_seed
from . import _design as design
from ._case import examine, sealed


def compare(outcome: Outcome, jobs: int, progress: Progress | None = None) -> Outcome:
    """The outcome with what evidence and simulation leave of the bank, beside each other."""
    planned = [(scene, seed) for scene in design.SCENES for seed in scene.seeds]
    rows = [row for pair in one_by_one(planned, _rows, jobs, progress) for row in pair]
    return replace(outcome, lines=(*outcome.lines, _line(rows)), tables={**outcome.tables, "judges": rows})


def simulation_seal(scene: design.Scene, data_seed: int) -> Seal:
    """All rows of a data set, to be judged by simulation."""
    return sealed(scene, data_seed, RegionalPolicy(), seed=split_seed(data_seed), judge=BySimulation())


def _rows(case: tuple[design.Scene, int]) -> list[dict[str, object]]:
    seals = {"evidence": examine(*case).seal, "simulation": simulation_seal(*case)}
    return [_row(*case, name, seal) for name, seal in seals.items()]


def _row(scene: design.Scene, data_seed: int, judge: str, seal: Seal) -> dict[str, object]:
    codes = seal.verdicts().codes
    kept = np.flatnonzero(codes != Verdict.REJECTED)
    labels = {answer.field: answer.label.value for answer in exhaustive_answers(seal.question, codes)}
    is_kept = design.true_explanation(scene) in kept
    return {"data_seed": data_seed, "judge": judge, "retained": len(kept), "truth_kept": is_kept} | {
        region: labels[region] for region in design.PLACES
    }


def _line(rows: list[dict[str, object]]) -> Line:
    retained = {
        name: mean(int(str(row["retained"])) for row in rows if row["judge"] == name)
        for name in ("evidence", "simulation")
    }
    shown = {name: f"{count:.1f}" for name, count in retained.items()}
    return judges_line("explanations retained, mean", shown, JUDGES_NOTE)
