"""The four-region study: what is said about places when the dictionary itself is uncertain."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean, median

import numpy as np

from ..aeb import Ending, RegionalPolicy
from ..analysis import Seal
from ..judges import Verdict
from ..judges.simulation import BySimulation
from ..questions import Answer, Comparison, Label, compare_all, exhaustive_answers, plugin_answers
from . import _four_region as design
from ._case import Case, Reported
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
    """Each published count; the denominators are those of the paper's completed profiles."""
    main = [case for case in cases if case.scene != "D-present"]
    controls = [case for case in cases if case.scene == "D-present"]
    full = [case for case in main if case.n_survivors]
    weak = [case for case in full if case.scene == "weak-C"]
    empty = [_stop_words(case) for case in cases if not case.n_survivors]
    fine = [case for case in full if _exhaustive(case, "A") is Label.FINE]
    absent = [case for case in full if _exhaustive(case, "D") is Label.ABSENT]

    yield _count("nonempty exhaustive profiles", "14/15", [case.n_survivors > 0 for case in cases])
    yield _count("of these, main scenes", "11/12", [case.n_survivors > 0 for case in main])
    yield _count("of these, D-present controls", "3/3", [case.n_survivors > 0 for case in controls])
    yield _count("A fine", "10/11", [_asked(case, "A") is Label.FINE for case in fine])
    missed = [case for case in fine if _asked(case, "A") is not Label.FINE]
    yield _count("A not fine: abstains", "1/1", [_asked(case, "A") is Label.ABSTAIN for case in missed])
    yield _count("B group", "5/5", [_asked(case, "B") is Label.GROUP for case in weak])
    yield _count("C ambiguous", "5/5", [_asked(case, "C") is Label.SUPPORT_AMBIGUOUS for case in weak])
    yield _count("D absent", "10/10", [_asked(case, "D") is Label.ABSENT for case in absent])
    yield _count("D-present: false absence of D", "0/3", [_asked(case, "D") is Label.ABSENT for case in controls])
    present = [_exhaustive(case, "D") in (Label.FINE, Label.GROUP) for case in controls]
    yield _count("D-present: exhaustive D present", "3/3", present)
    yield _count("D-present: 162 queries, the cap", "3/3", [_is_at_cap(case) for case in controls])
    yield _count("D-present: nothing witnessed", "3/3", [not case.trace.n_witnessed for case in controls])
    yield _count("plug-in: unsupported fine B", "5/5", [_is_too_fine(case) for case in weak])
    yield from _certainty_lines(weak)
    yield word_line("median queries of 216", "148", f"{median(len(case.trace) for case in cases):g}")
    stopped = "2026091015: 162 queries, 0 witnessed, 54 possible"
    yield word_line("the empty profile", stopped, "; ".join(empty) or "none")


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


def _is_at_cap(case: Case) -> bool:
    return len(case.trace) == 162 and case.trace.ending is Ending.BUDGET


def _stop_words(case: Case) -> str:
    trace = case.trace
    return f"{case.data_seed}: {len(trace)} queries, {trace.n_witnessed} witnessed, {trace.n_possible} possible"


def _label(answers: tuple[Answer, ...], region: str) -> Label:
    return next(answer.label for answer in answers if answer.field == region)


def _asked(case: Case, region: str) -> Label:
    return _label(case.trace.answers, region)


def _exhaustive(case: Case, region: str) -> Label:
    return _label(case.exhaustive, region)


def _is_too_fine(case: Case) -> bool:
    """True if the plug-in localises B where all the verdicts together leave a group."""
    return _label(plug_in(case), "B") is Label.FINE and _exhaustive(case, "B") is Label.GROUP


def _false_certainty(case: Case) -> Label | None:
    """The certain label of the plug-in for C where all the verdicts together leave it open."""
    return _label(plug_in(case), "C") if _exhaustive(case, "C") is Label.SUPPORT_AMBIGUOUS else None


def _case_row(case: Case) -> dict[str, object]:
    answers = {"aeb": case.trace.answers, "exhaustive": case.exhaustive, "plugin": plug_in(case)}
    return {
        "scene": case.scene,
        "data_seed": case.data_seed,
        "queries": len(case.trace),
        "stop": case.trace.ending.name,
        "witnessed": case.trace.n_witnessed,
    } | {f"{name}_{answer.field}": answer.label.value for name, said in answers.items() for answer in said}


def _map_rows(case: Case) -> Iterable[dict[str, object]]:
    """A row for every method and region: the label, and the places still possible."""
    for method, answers in zip(METHODS, (case.trace.answers, case.exhaustive, plug_in(case)), strict=True):
        for answer in answers:
            yield {
                "scene": case.scene,
                "data_seed": case.data_seed,
                "method": method,
                "region": answer.field,
                "label": answer.label.value,
                "places": " ".join(name.split()[1] for name in answer.cell),
            }


def _plugin_rows(cases: list[Case]) -> list[dict[str, object]]:
    """Counts of statements of each method that all verdicts do not allow, over the nonempty weak-C data sets."""
    weak = [case for case in cases if case.scene == "weak-C" and case.n_survivors]
    unsafe = [dict(zip("ABCD", compare_all(case.trace.answers, case.exhaustive), strict=True)) for case in weak]
    rows: list[dict[str, object]] = []
    for region, label in (("B", Label.FINE), ("C", Label.ABSENT), ("C", Label.FINE)):
        wrong = [_is_too_fine(case) if region == "B" else _false_certainty(case) is label for case in weak]
        aeb = [
            kinds[region] is Comparison.UNSAFE and _asked(case, region) is label
            for case, kinds in zip(weak, unsafe, strict=True)
        ]
        finding: dict[str, object] = {"region": region, "label": label.value, "datasets": len(weak)}
        rows += [finding | {"method": "plug-in", "count": sum(wrong)}, finding | {"method": "AEB", "count": sum(aeb)}]
    return rows


def _library_rows() -> list[dict[str, object]]:
    known = design.library()
    return [
        {"region": region, "place": float(known.coordinates[e, 0]), "sensor": t, "response": float(value)}
        for e, region in enumerate(known.regions)
        for t, value in enumerate(known.responses[:, e])
    ]


def _summary(cases: list[Case]) -> dict[str, object]:
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
    return replace(outcome, lines=(*outcome.lines, _judges_line(rows)), tables={**outcome.tables, "judges": rows})


def simulation_seal(scene: design.Scene, data_seed: int) -> Seal:
    """All rows of a data set, to be judged by simulation."""
    return design.sealed(scene, data_seed, RegionalPolicy(), seed=split_seed(data_seed), judge=BySimulation())


def _judge_rows(case: tuple[design.Scene, int]) -> list[dict[str, object]]:
    seals = {"evidence": design.examine(*case).seal, "simulation": simulation_seal(*case)}
    return [_judge_row(*case, name, seal) for name, seal in seals.items()]


def _judge_row(scene: design.Scene, data_seed: int, judge: str, seal: Seal) -> dict[str, object]:
    codes = seal.verdicts().codes
    kept = np.flatnonzero(codes != Verdict.REJECTED)
    labels = {answer.field: answer.label.value for answer in exhaustive_answers(seal.question, codes)}
    is_kept = design.true_explanation(scene) in kept
    return {"data_seed": data_seed, "judge": judge, "retained": len(kept), "truth_kept": is_kept} | {
        region: labels[region] for region in design.PLACES
    }


def _judges_line(rows: list[dict[str, object]]) -> Line:
    retained = {
        name: mean(int(str(row["retained"])) for row in rows if row["judge"] == name)
        for name in ("evidence", "simulation")
    }
    shown = {name: f"{count:.1f}" for name, count in retained.items()}
    return judges_line("explanations retained, mean", shown, JUDGES_NOTE)
