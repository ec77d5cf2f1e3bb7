"""The four-region study: what is said about places when the dictionary itself is uncertain."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from ..aeb import Ending, RegionalPolicy
from ..analysis import Seal
from ..judges import Verdict
from ..judges.simulation import BySimulation
from ..questions import Answer, Comparison, Label, compare_all, exhaustive_answers, plugin_answers
from . import _four_region as design
from ._case import Case, Reported, Row, labels_of
from ._figures import Drawing, draw_coherence, draw_plugin, draw_regional_map, draw_responses, write_figures
from ._four_region import (
    BUDGET as BUDGET,
    CALIBRATION_NOISE as CALIBRATION_NOISE,
    DEPLOYMENT_NOISE as DEPLOYMENT_NOISE,
    LAW as LAW,
    LEVEL as LEVEL,
    N_SENSORS as N_SENSORS,
    SCENES as SCENES,
    SHARES as SHARES,
    STRENGTHS as STRENGTHS,
    examine as examine,
    library as library,
    spare_atom as spare_atom,
    study_rows as study_rows,
)
from ._outcome import (
    JUDGES_NOTE,
    Line,
    Outcome,
    Progress,
    judges_line,
    one_by_one,
    read_table,
    split_seed,
    word_line,
)

METHODS = ("AEB", "exhaustive", "plug-in")
FIGURES = ("responses", "coherence", "weak-c-map", "plug-in")


def run(jobs: int = 1, progress: Progress | None = None) -> Outcome:
    """The fifteen data sets, and what the paper says of them."""
    cases = [*examined([(scene, seed, None) for scene in design.SCENES for seed in scene.seeds], jobs, progress)]
    tables = {
        "cases": [_case_row(case) for case in cases],
        "maps": [row for case in cases for row in _map_rows(case)],
        "plugin": _plugin_rows(cases),
        "library": _library_rows(),
    }
    return Outcome("four-region", tuple(_lines(cases)), _summary(cases), tables, FIGURES)


def reports(seeds: Sequence[tuple[int, int]], jobs: int = 1, progress: Progress | None = None) -> list[Reported]:
    """Scenes in turn; four regions each."""
    planned = [(design.SCENES[i % len(design.SCENES)], *pair) for i, pair in enumerate(seeds)]
    return [row for case in examined(planned, jobs, progress) for row in case.reported(case.trace)]


def examined(
    planned: Sequence[tuple[design.Scene, int, int | None]], jobs: int, progress: Progress | None = None
) -> Iterator[Case]:
    """Cases of (scene, seed of the data, seed of the split)."""
    return one_by_one(planned, lambda case: design.examine(*case), jobs, progress)


def plug_in(case: Case) -> tuple[Answer, ...]:
    """Answers of a method that takes the deployment proposal for the truth."""
    return plugin_answers(case.seal.question, case.seal.proposed.best["deployment"], case.trace.size)


def _lines(cases: list[Case]) -> Iterable[Line]:
    """Compare each published count; the denominators are those of the paper's completed profiles."""
    main = [case for case in cases if case.scene != "D-present"]
    controls = [case for case in cases if case.scene == "D-present"]
    full = [case for case in main if case.n_survivors]
    weak = [case for case in full if case.scene == "weak-C"]
    fine = [case for case in full if case.exhaustive_labels["A"] is Label.FINE]
    absent = [case for case in full if case.exhaustive_labels["D"] is Label.ABSENT]

    yield _count("nonempty exhaustive profiles", "14/15", [case.n_survivors > 0 for case in cases])
    yield _count("of these, main scenes", "11/12", [case.n_survivors > 0 for case in main])
    yield _count("of these, D-present controls", "3/3", [case.n_survivors > 0 for case in controls])
    yield _count("A fine", "10/11", [case.labels["A"] is Label.FINE for case in fine])
    missed = [case for case in fine if case.labels["A"] is not Label.FINE]
    yield _count("A not fine: abstains", "1/1", [case.labels["A"] is Label.ABSTAIN for case in missed])
    yield _count("B group", "5/5", [case.labels["B"] is Label.GROUP for case in weak])
    yield _count("C ambiguous", "5/5", [case.labels["C"] is Label.SUPPORT_AMBIGUOUS for case in weak])
    yield _count("D absent", "10/10", [case.labels["D"] is Label.ABSENT for case in absent])
    yield _count("D-present: false absence of D", "0/3", [case.labels["D"] is Label.ABSENT for case in controls])
    present = [case.exhaustive_labels["D"] in (Label.FINE, Label.GROUP) for case in controls]
    yield _count("D-present: exhaustive D present", "3/3", present)
    at_cap = [len(case.trace) == 162 and case.trace.ending is Ending.BUDGET for case in controls]
    yield _count("D-present: 162 queries, the cap", "3/3", at_cap)
    yield _count("D-present: nothing witnessed", "3/3", [not case.trace.n_witnessed for case in controls])
    yield _count("plug-in: unsupported fine B", "5/5", [_is_too_fine(case) for case in weak])
    yield from _certainty_lines(weak)
    yield word_line("median queries of 216", "148", f"{median(len(case.trace) for case in cases):g}")
    stopped = "2026091015: 162 queries, 0 witnessed, 54 possible"
    empty = [(case.data_seed, case.trace) for case in cases if not case.n_survivors]
    here = [
        f"{seed}: {len(run)} queries, {run.n_witnessed} witnessed, {run.n_possible} possible" for seed, run in empty
    ]
    yield word_line("the empty profile", stopped, "; ".join(here) or "none")


def _count(name: str, published: str, flags: list[bool]) -> Line:
    return word_line(name, published, f"{sum(flags)}/{len(flags)}")


def _certainty_lines(weak: list[Case]) -> Iterator[Line]:
    """The plug-in is certain about C where the data are not; the paper prints one of the two ways as the whole."""
    absent, present = (sum(_false_certainty(case) is label for case in weak) for label in (Label.ABSENT, Label.FINE))
    yield word_line("plug-in: false certainty about C", "5/5", f"{absent + present}/{len(weak)}")
    counts = f"absence {absent}, presence {present}"
    said = "One sentence and two captions of the paper say absence in all 5"
    note = f"{said}; from its own seeds it is absence in 2 and presence in 3."
    is_known = (absent, present) == (2, 3)
    yield Line("plug-in: what it is certain of", "absence 5", counts, (absent, present) == (5, 0), note, is_known)


def _is_too_fine(case: Case) -> bool:
    """True if the plug-in localises B where all the verdicts together leave a group."""
    return labels_of(plug_in(case))["B"] is Label.FINE and case.exhaustive_labels["B"] is Label.GROUP


def _false_certainty(case: Case) -> Label | None:
    """The certain label of the plug-in for C where all the verdicts together leave it open."""
    return labels_of(plug_in(case))["C"] if case.exhaustive_labels["C"] is Label.SUPPORT_AMBIGUOUS else None


def _methods(case: Case) -> dict[str, tuple[Answer, ...]]:
    """The answers of each method."""
    return dict(zip(METHODS, (case.trace.answers, case.exhaustive, plug_in(case)), strict=True))


def _case_row(case: Case) -> Row:
    return {
        "scene": case.scene,
        "data_seed": case.data_seed,
        "queries": len(case.trace),
        "stop": case.trace.ending.name,
        "witnessed": case.trace.n_witnessed,
    } | {
        f"{method.lower().replace('-', '')}_{answer.field}": answer.label.value
        for method, answers in _methods(case).items()
        for answer in answers
    }


def _map_rows(case: Case) -> list[Row]:
    """A row for every method and region: the label, and the places still possible."""
    return [
        {
            "scene": case.scene,
            "data_seed": case.data_seed,
            "method": method,
            "region": answer.field,
            "label": answer.label.value,
            "places": " ".join(name.split()[1] for name in answer.cell),
        }
        for method, answers in _methods(case).items()
        for answer in answers
    ]


def _plugin_rows(cases: list[Case]) -> list[Row]:
    """Counts of statements of each method that all verdicts do not allow, over the nonempty weak-C data sets."""
    weak = [case for case in cases if case.scene == "weak-C" and case.n_survivors]
    unsafe = [dict(zip("ABCD", compare_all(case.trace.answers, case.exhaustive), strict=True)) for case in weak]
    rows: list[Row] = []
    for region, label in (("B", Label.FINE), ("C", Label.ABSENT), ("C", Label.FINE)):
        wrong = [_is_too_fine(case) if region == "B" else _false_certainty(case) is label for case in weak]
        aeb = [
            kinds[region] is Comparison.UNSAFE and case.labels[region] is label
            for case, kinds in zip(weak, unsafe, strict=True)
        ]
        finding = {"region": region, "label": label.value, "datasets": len(weak)}
        rows += [finding | {"method": "plug-in", "count": sum(wrong)}, finding | {"method": "AEB", "count": sum(aeb)}]
    return rows


def _library_rows() -> list[Row]:
    known = design.library()
    return [
        {"region": region, "place": float(known.coordinates[e, 0]), "sensor": t, "response": float(value)}
        for e, region in enumerate(known.regions)
        for t, value in enumerate(known.responses[:, e])
    ]


def _summary(cases: list[Case]) -> Row:
    compared = [kind for case in cases for kind in compare_all(case.trace.answers, case.exhaustive)]
    return {
        "datasets": len(cases),
        "explanations": design.study_bank().size,
        "level": design.LEVEL,
        "budget": design.BUDGET,
        "nonempty": sum(case.n_survivors > 0 for case in cases),
        "median_queries": float(median(len(case.trace) for case in cases)),
        "unsafe_labels": sum(kind is Comparison.UNSAFE for kind in compared),
        "false_labels": sum(len(case.false_fields(case.trace)) for case in cases),
        "truth_kept": sum(case.is_truth_kept for case in cases),
    }


def draw(folder: Path) -> list[Path]:
    """Responses, coherence, a representative map of weak C, and what the plug-in says too much."""
    library = read_table(folder, "library")
    maps = read_table(folder, "maps")
    plugin = read_table(folder, "plugin")
    drawings: dict[str, list[Drawing]] = {
        "responses": [(200.0, partial(draw_responses, rows=library))],
        "coherence": [(216.0, partial(draw_coherence, rows=library))],
        "weak-c-map": [(180.0, partial(draw_regional_map, rows=representative(maps), library=library))],
        "plug-in": [(137.0, partial(draw_plugin, rows=plugin))],
    }
    return write_figures(folder, drawings)


def representative(maps: list[dict[str, str]]) -> list[dict[str, str]]:
    """The first weak-C data set of which the plug-in denies C; the others differ in what it is certain of."""
    seeds = [
        row["data_seed"]
        for row in maps
        if (row["scene"], row["method"], row["region"], row["label"]) == ("weak-C", "plug-in", "C", "ABSENT")
    ]
    return [row for row in maps if row["data_seed"] == seeds[0]]


def compare(outcome: Outcome, jobs: int, progress: Progress | None = None) -> Outcome:
    """The outcome with the explanations that evidence and simulation leave of the bank, beside each other."""
    planned = [(scene, seed) for scene in design.SCENES for seed in scene.seeds]
    rows = [row for pair in one_by_one(planned, _judge_rows, jobs, progress) for row in pair]
    line = judges_line("explanations retained, mean", rows, "retained", 1, JUDGES_NOTE)
    return replace(outcome, lines=(*outcome.lines, line), tables={**outcome.tables, "judges": rows})


def simulation_seal(scene: design.Scene, data_seed: int) -> Seal:
    """All rows of a data set, to be judged by simulation."""
    return design.sealed(scene, data_seed, RegionalPolicy(), seed=split_seed(data_seed), judge=BySimulation())


def _judge_rows(case: tuple[design.Scene, int]) -> list[Row]:
    scene, data_seed = case
    rows = []
    for judge, seal in (("evidence", design.examine(*case).seal), ("simulation", simulation_seal(*case))):
        codes = seal.verdicts().codes
        kept = np.flatnonzero(codes != Verdict.REJECTED)
        is_kept = design.true_explanation(scene) in kept
        row = {"data_seed": data_seed, "judge": judge, "retained": len(kept), "truth_kept": is_kept}
        labels = labels_of(exhaustive_answers(seal.question, codes))
        rows.append(row | {region: labels[region].value for region in design.PLACES})
    return rows
