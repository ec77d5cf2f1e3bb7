"""The global study as a whole: eighteen data sets, 54 traces, and every count that the paper prints about them."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median

from ...questions import Comparison, Label, compare
from .._published import Line, Outcome, number_line, word_line
from .._tasks import Task, kernel_threads, run_tasks
from .._writing import draw_figures, read_table
from . import _design as design
from ._case import Case, Proposal, examine, make_proposal

FIGURES = ("status", "recovery")


def run(jobs: int = 1, progress: Callable[[int, int], None] | None = None) -> Outcome:
    """Proposals on jobs threads; then the scoring, data set after data set, each on as many."""
    planned = [(condition, seed, None) for condition in design.CONDITIONS for seed in condition.seeds]
    proposals, cases = examine_all(planned, jobs, progress)
    tables = {
        "traces": [row for case in cases for row in _trace_rows(case)],
        "proposals": [_proposal_row(proposal) for proposal in proposals],
        "status": [_status_row(cases, budget) for budget in design.BUDGETS],
        "recovery": [_recovery_row(cases, budget, label) for budget in design.BUDGETS for label in _REFERENCES],
    }
    return Outcome("global", tuple(_lines(cases)), _summary(cases), tables, FIGURES)


def examine_all(
    planned: Sequence[tuple[design.Condition, int, int | None]],
    jobs: int,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[Proposal], list[Case]]:
    """Proposals and cases of (condition, data seed, seed of the split), in this order."""
    sizes = [condition.n_rows for condition, _, _ in planned]
    whole = 5 * sum(sizes)  # finding a proposal takes about four times as long as scoring the bank
    tasks = [Task(partial(make_proposal, *each), 4 * size) for each, size in zip(planned, sizes, strict=True)]
    told = None if progress is None else lambda done, _: progress(done, whole)
    proposals = run_tasks(tasks, jobs, told)
    cases: list[Case] = []
    done = whole - sum(sizes)
    with kernel_threads(jobs):
        for proposal, size in zip(proposals, sizes, strict=True):
            cases += examine(proposal)
            done += size
            if progress is not None:
                progress(done, whole)
    return proposals, cases


_REFERENCES = (Label.AMBIGUOUS, Label.GROUP, Label.FINE)


def _lines(cases: list[Case]) -> Iterable[Line]:
    """Each published count."""
    for label, published in zip(_REFERENCES, ("34", "13", "7"), strict=True):
        count = sum(case.exhaustive.label is label for case in cases)
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
    coarser = [case for case in cases if case.exhaustive.label is Label.FINE and _label(case, 0.75) is not Label.FINE]
    safe = sum(_comparison(case, 0.75) is Comparison.SAFE_COARSENING for case in coarser)
    yield word_line("budget 0.75: fine ones safely coarsened", "2/2", f"{safe}/{len(coarser)}")
    equal = sum(_label(case, 1.0) is case.exhaustive.label for case in cases)
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
    return compare(case.at(budget).answers[0], case.exhaustive)


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
            "condition": case.condition.name,
            "data_seed": case.data_seed,
            "profile": case.profile.name,
            "budget": budget,
            "queries": len(trace),
            "label": answer.label.value,
            "lower": answer.number("lower"),
            "upper": answer.number("upper"),
            "exhaustive_label": case.exhaustive.label.value,
            "exhaustive_diameter": case.exhaustive.number("upper"),
            "survivors": case.n_survivors,
        }


def _proposal_row(proposal: Proposal) -> dict[str, object]:
    return {
        "condition": proposal.condition.name,
        "data_seed": proposal.data_seed,
        "phi": proposal.angle,
        "p": proposal.point.p,
        "nu": proposal.point.noise,
        "log_likelihood": proposal.log_likelihood,
    }


def _status_row(cases: list[Case], budget: float) -> dict[str, object]:
    found = [_comparison(case, budget) for case in cases]
    counts: dict[str, object] = {each.value.replace(" ", "_"): found.count(each) for each in Comparison}
    return {"budget": budget} | counts


def _recovery_row(cases: list[Case], budget: float, label: Label) -> dict[str, object]:
    wanted = [case for case in cases if case.exhaustive.label is label]
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
    from ..figures import plot_recovery, plot_status

    drawings = {
        "status": (2.4, lambda page: plot_status(read_table(folder, "status"), page.subplots())),
        "recovery": (2.4, lambda page: plot_recovery(read_table(folder, "recovery"), page.subplots())),
    }
    return draw_figures(folder, drawings)
