"""The global study: how much of a bank must be asked about to say what all of it would say."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np

from .._typing import IntArray
from ..aeb import EndpointPolicy
from ..analysis import AnalysisProtocol, Seal, StreamPlan
from ..judges import Verdict
from ..judges.simulation import BySimulation
from ..laws import BernoulliGaussian, calibration_mixture
from ..questions import Comparison, Label, Resolution, compare as compare_answers
from . import _global_bank as design
from ._case import Case, Reported, Row
from ._figures import Drawing, draw_recovery, draw_status, write_figures
from ._global_bank import CONDITIONS as CONDITIONS
from ._outcome import (
    JUDGES_NOTE,
    Line,
    Outcome,
    Progress,
    finished,
    judges_line,
    number_line,
    one_by_one,
    read_table,
    split_seed,
    word_line,
)

FIGURES = ("status", "recovery")
REPORTED_BUDGET = 0.75  # of fresh data: at the full budget no report abstains
JUDGED_LEVEL = 0.077  # of the balanced profile, for the comparison of judges

Planned = Sequence[tuple[design.Condition, int, int | None]]  # condition, seeds of the data and of the split


def run(jobs: int = 1, progress: Progress | None = None) -> Outcome:
    """The eighteen data sets, as many at a time as jobs."""
    planned = [(condition, seed, None) for condition in design.CONDITIONS for seed in condition.seeds]
    groups = [group for _, group in sorted(examined(planned, jobs, progress))]
    cases = [case for group in groups for case in group]
    tables = {
        "traces": [row for case in cases for row in _trace_rows(case)],
        "proposals": [_proposal_row(case[0], group[0]) for case, group in zip(planned, groups, strict=True)],
        "status": [_status_row(cases, budget) for budget in design.BUDGETS],
        "recovery": [_recovery_row(cases, budget, label) for budget in design.BUDGETS for label in _REFERENCES],
    }
    return Outcome("global", tuple(_lines(cases)), _summary(cases), tables, FIGURES)


def examined(planned: Planned, jobs: int, progress: Progress | None = None) -> Iterator[tuple[int, list[Case]]]:
    """The number of each data set and its cases, a profile each, as they are done.

    Proposing and scoring, nearly all of the work, is shared out to threads.
    """
    # The banks are made here, each once, and not by several threads at a time.
    sizes = [condition.n_rows * design.study_bank(condition).size for condition, _, _ in planned]
    tasks = [(partial(design.study_seals, *case), size) for case, size in zip(planned, sizes, strict=True)]
    for i, seals in finished(tasks, jobs, progress):
        yield i, design.judge(planned[i][0], planned[i][1], seals)


def reports(seeds: Sequence[tuple[int, int]], jobs: int = 1, progress: Progress | None = None) -> list[Reported]:
    """Conditions in turn; one report a profile."""
    planned = [(design.CONDITIONS[i % len(design.CONDITIONS)], *pair) for i, pair in enumerate(seeds)]
    rows = {
        i: [row for case in cases for row in case.reported(case.at(REPORTED_BUDGET))]
        for i, cases in examined(planned, jobs, progress)
    }
    return [row for i in range(len(planned)) for row in rows[i]]


_REFERENCES = (Label.AMBIGUOUS, Label.GROUP, Label.FINE)


def _lines(cases: list[Case]) -> Iterable[Line]:
    """Compare each published count."""
    for label, published in zip(_REFERENCES, ("34", "13", "7"), strict=True):
        count = sum(case.exhaustive[0].label is label for case in cases)
        yield word_line(f"exhaustive label {label.value}", published, str(count))
    printed = {0.50: ("41/54", "33/34", "0/7"), 0.75: ("54/54", "34/34", "5/7")}
    for budget, (substantive, ambiguous, fine) in printed.items():
        said = [_label(case, budget) is not Label.ABSTAIN for case in cases]
        yield word_line(f"budget {budget:.2f}: substantive", substantive, f"{sum(said)}/{len(said)}")
        yield word_line(f"budget {budget:.2f}: ambiguous", ambiguous, _recovered(cases, budget, Label.AMBIGUOUS))
        yield word_line(f"budget {budget:.2f}: fine", fine, _recovered(cases, budget, Label.FINE))
        unsafe = _status_row(cases, budget)["unsafe"]
        yield word_line(f"budget {budget:.2f}: unsafe", "0/54", f"{unsafe}/{len(cases)}")
        yield number_line(f"budget {budget:.2f}: median queried fraction", "0.209", float(_median(cases, budget)))
        yield word_line(f"budget {budget:.2f}: the same exactly", "214/1025", str(_median(cases, budget)))
    fine_ones = [case for case in cases if case.exhaustive[0].label is Label.FINE]
    coarser = [case for case in fine_ones if _label(case, 0.75) is not Label.FINE]
    safe = sum(_comparison(case, 0.75) is Comparison.SAFE_COARSENING for case in coarser)
    yield word_line("budget 0.75: fine ones safely coarsened", "2/2", f"{safe}/{len(coarser)}")
    equal = sum(_label(case, 1.0) is case.exhaustive[0].label for case in cases)
    yield word_line("budget 1.00: exhaustive label", "54/54", f"{equal}/{len(cases)}")
    unsafe_anywhere = sum(_comparison(case, f) is Comparison.UNSAFE for case in cases for f in design.BUDGETS)
    yield word_line("unsafe at any of the six budgets", "0", str(unsafe_anywhere))
    ended = sorted(_fraction(case, 1.0) for case in cases)
    yield word_line("traces that end within 0.50", "34", str(sum(fraction <= Fraction(1, 2) for fraction in ended)))
    middle = ", ".join(f"{fraction * 1025}/1025" for fraction in ended[26:28])
    yield word_line("27th and 28th queried fraction", "201/1025, 227/1025", middle)


def _label(case: Case, budget: float) -> Label:
    return case.at(budget).answers[0].label


def _comparison(case: Case, budget: float) -> Comparison:
    return compare_answers(case.at(budget).answers[0], case.exhaustive[0])


def _fraction(case: Case, budget: float) -> Fraction:
    return Fraction(len(case.at(budget)), case.trace.size)


def _median(cases: list[Case], budget: float) -> Fraction:
    return Fraction(median(_fraction(case, budget) for case in cases))


def _recovered(cases: list[Case], budget: float, label: Label) -> str:
    row = _recovery_row(cases, budget, label)
    return f"{row['recovered']}/{row['traces']}"


def _trace_rows(case: Case) -> Iterable[Row]:
    for budget in design.BUDGETS:
        trace = case.at(budget)
        (answer,) = trace.answers
        yield {
            "condition": case.scene,
            "data_seed": case.data_seed,
            "profile": case.profile,
            "budget": budget,
            "queries": len(trace),
            "witnessed": trace.n_witnessed,
            "label": answer.label.value,
            "lower": answer.number("lower"),
            "upper": answer.number("upper"),
            "exhaustive_label": case.exhaustive[0].label.value,
            "exhaustive_diameter": case.exhaustive[0].number("upper"),
            "survivors": case.n_survivors,
        }


def _proposal_row(condition: design.Condition, case: Case) -> Row:
    """The proposed law, and the log likelihood that it gives to the proposal rows."""
    point = design.point_of(case.seal.proposed)
    (part,) = case.seal.parts
    mixture = calibration_mixture(BernoulliGaussian(point["p"]), point["atoms"], point["noise"])
    return {
        "condition": case.scene,
        "data_seed": case.data_seed,
        "phi": design.turn_of(condition.scale, point["atoms"]),
        "p": point["p"],
        "nu": point["noise"],
        "log_likelihood": float(mixture.log_density(part.table[part.split.proposal]).sum()),
    }


def _status_row(cases: list[Case], budget: float) -> Row:
    kinds = [_comparison(case, budget) for case in cases]
    counts = {kind.value.replace(" ", "_"): kinds.count(kind) for kind in Comparison}
    return {"budget": budget} | counts


def _recovery_row(cases: list[Case], budget: float, label: Label) -> Row:
    wanted = [case for case in cases if case.exhaustive[0].label is label]
    recovered = sum(_label(case, budget) is label for case in wanted)
    return {"budget": budget, "reference": label.value, "recovered": recovered, "traces": len(wanted)}


def _summary(cases: list[Case]) -> Row:
    return {
        "datasets": len(cases) // len(design.PROFILES),
        "traces": len(cases),
        "explanations": {condition.name: design.study_bank(condition).size for condition in design.CONDITIONS},
        "levels": {profile.name: profile.level for profile in design.PROFILES},
        "median_fraction": {f"{budget:.2f}": float(_median(cases, budget)) for budget in design.BUDGETS},
        "unsafe": {f"{budget:.2f}": _status_row(cases, budget)["unsafe"] for budget in design.BUDGETS},
        "truth_kept": sum(case.is_truth_kept for case in cases),
    }


def draw(folder: Path) -> list[Path]:
    """Status over the six budgets, and recovery at the two that the paper shows."""
    drawings: dict[str, list[Drawing]] = {
        "status": [(173.0, partial(draw_status, rows=read_table(folder, "status")))],
        "recovery": [(173.0, partial(draw_recovery, rows=read_table(folder, "recovery")))],
    }
    return write_figures(folder, drawings)


def compare(outcome: Outcome, jobs: int, progress: Progress | None = None) -> Outcome:
    """The outcome with the diameters that evidence and simulation leave, beside each other."""
    planned = [(condition, seed) for condition in design.CONDITIONS for seed in condition.seeds]
    rows = [row for pair in one_by_one(planned, _judge_rows, jobs, progress) for row in pair]
    lines = [
        judges_line(
            f"{condition.name}: mean diameter over the shell's at {JUDGED_LEVEL}",
            [row for row in rows if row["condition"] == condition.name],
            "diameter_over_shell",
            3,
            "" if number else JUDGES_NOTE,
        )
        for number, condition in enumerate(design.CONDITIONS)
    ]
    return replace(outcome, lines=(*outcome.lines, *lines), tables={**outcome.tables, "diameters": rows})


def evidence_seal(condition: design.Condition, data_seed: int) -> Seal:
    """The rows of a data set, to be judged by evidence, as in the balanced profile."""
    levels = [profile.level for profile in design.PROFILES]
    return design.study_seals(condition, data_seed)[levels.index(JUDGED_LEVEL)]


def simulation_seal(condition: design.Condition, data_seed: int) -> Seal:
    """All rows of a data set, to be judged by simulation; orientations are the coordinate, and none is proposed."""
    bank = design.study_bank(condition)
    distances = design.place_distances(condition.scale)
    protocol = AnalysisProtocol(
        Resolution.of_states(bank, distances, np.zeros(len(distances)), delta_fine=0.0, delta_group=0.0),
        EndpointPolicy(),
        JUDGED_LEVEL,
        budget=1.0,
        bank=bank,
        streams={design.STREAM: StreamPlan("latent", design.SHARE)},
        seed=split_seed(data_seed),
        judge=BySimulation(),
    )
    return protocol.read(calibration=design.study_rows(condition, data_seed))


def _judge_rows(case: tuple[design.Condition, int]) -> list[Row]:
    condition, data_seed = case
    rows = []
    for name, freeze in (("evidence", evidence_seal), ("simulation", simulation_seal)):
        start = process_time()
        kept = np.flatnonzero(freeze(condition, data_seed).verdicts().codes != Verdict.REJECTED)
        rows.append(
            {
                "condition": condition.name,
                "data_seed": data_seed,
                "level": JUDGED_LEVEL,
                "judge": name,
                "diameter_over_shell": diameter_over_shell(condition, kept),
                "truth_kept": design.true_explanation(condition) in kept,
                "cpu_seconds": round(process_time() - start, 2),
            }
        )
    return rows


def diameter_over_shell(condition: design.Condition, kept: IntArray) -> float:
    """The largest distance of orientations that explanations (k,) still have, over that of the whole grid."""
    distances = design.place_distances(condition.scale)
    places = np.unique(design.study_bank(condition).split(kept).state)
    return float(distances[np.ix_(places, places)].max(initial=0.0) / distances.max())
