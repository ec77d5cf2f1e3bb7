"""The global study as a whole: eighteen data sets, 54 traces, and every count that the paper prints about them."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median

from ...laws import BernoulliGaussian, calibration_mixture
from ...questions import Comparison, Label, compare
from .._case import Case, Reported
from .._published import Line, Outcome, Progress, number_line, word_line
from .._tasks import Task, finished
from .._writing import draw_figures, read_table
from . import _design as design
from ._case import judge, point_of, study_seals

FIGURES = ("status", "recovery")
REPORTED_BUDGET = 0.75  # of fresh data: at the full budget no report abstains

Planned = Sequence[tuple[design.Condition, int, int | None]]  # condition, seeds of the data and of the split


def run(jobs: int = 1, progress: Progress | None = None) -> Outcome:
    """The eighteen data sets, as many at a time as jobs."""
    planned = [(condition, seed, None) for condition in design.CONDITIONS for seed in condition.seeds]
    by_number = dict(examined(planned, jobs, progress))
    groups = [by_number[i] for i in range(len(planned))]
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
    tasks = [Task(partial(study_seals, *case), size) for case, size in zip(planned, sizes, strict=True)]
    for i, seals in finished(tasks, jobs, progress):
        yield i, judge(planned[i][0], planned[i][1], seals)


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
    """Each published count."""
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
    return compare(case.at(budget).answers[0], case.exhaustive[0])


def _fraction(case: Case, budget: float) -> Fraction:
    return Fraction(len(case.at(budget)), case.trace.size)


def _median(cases: list[Case], budget: float) -> Fraction:
    return Fraction(median(_fraction(case, budget) for case in cases))


def _recovered(cases: list[Case], budget: float, label: Label) -> str:
    row = _recovery_row(cases, budget, label)
    return f"{row['recovered']}/{row['traces']}"


def _trace_rows(case: Case) -> Iterable[dict[str, object]]:
    for budget in design.BUDGETS:
        trace = case.at(budget)
        (answer,) = trace.answers
        yield {
            "condition": case.scene,
            "data_seed": case.data_seed,
            "profile": case.profile,
            "budget": budget,
            "queries": len(trace),
            "label": answer.label.value,
            "lower": answer.number("lower"),
            "upper": answer.number("upper"),
            "exhaustive_label": case.exhaustive[0].label.value,
            "exhaustive_diameter": case.exhaustive[0].number("upper"),
            "survivors": case.n_survivors,
        }


def _proposal_row(condition: design.Condition, case: Case) -> dict[str, object]:
    """The proposed law, and the log likelihood that it gives to the proposal rows."""
    point, (part,) = point_of(case.seal.proposed), case.seal.parts
    mixture = calibration_mixture(BernoulliGaussian(point.p), point.atoms, point.noise)
    return {
        "condition": case.scene,
        "data_seed": case.data_seed,
        "phi": design.turn_of(condition.scale, point.atoms),
        "p": point.p,
        "nu": point.noise,
        "log_likelihood": float(mixture.log_density(part.table[part.split.proposal]).sum()),
    }


def _status_row(cases: list[Case], budget: float) -> dict[str, object]:
    kinds = [_comparison(case, budget) for case in cases]
    counts: dict[str, object] = {kind.value.replace(" ", "_"): kinds.count(kind) for kind in Comparison}
    return {"budget": budget} | counts


def _recovery_row(cases: list[Case], budget: float, label: Label) -> dict[str, object]:
    wanted = [case for case in cases if case.exhaustive[0].label is label]
    recovered = sum(_label(case, budget) is label for case in wanted)
    return {"budget": budget, "reference": label.value, "recovered": recovered, "traces": len(wanted)}


def _summary(cases: list[Case]) -> dict[str, object]:
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
    from ..figures import recovery_picture, status_picture

    drawings = {
        "status": [status_picture(read_table(folder, "status"))],
        "recovery": [recovery_picture(read_table(folder, "recovery"))],
    }
    return draw_figures(folder, drawings)
