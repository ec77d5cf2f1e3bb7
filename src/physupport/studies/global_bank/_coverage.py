"""The global study on fresh seeds."""

from collections.abc import Callable, Sequence

from .._coverage import Reported
from . import _design as design
from ._case import Case
from ._study import examine_all

BUDGET = 0.75  # at the full budget no report abstains
CHUNK = 24  # data sets held in memory at a time


def reports(
    seeds: Sequence[tuple[int, int]], jobs: int = 1, progress: Callable[[int, int], None] | None = None
) -> list[Reported]:
    """Conditions in turn; one report a profile."""
    planned = [(design.CONDITIONS[i % len(design.CONDITIONS)], *pair) for i, pair in enumerate(seeds)]
    found: list[Reported] = []
    for start in range(0, len(planned), CHUNK):
        chunk = planned[start : start + CHUNK]
        cases = examine_all(chunk, jobs, _part(progress, start, len(chunk), len(planned)))[1]
        splits = dict(seeds[start : start + CHUNK])
        found += [_reported(case, splits[case.data_seed]) for case in cases]
    return found


def _part(
    progress: Callable[[int, int], None] | None, start: int, count: int, total: int
) -> Callable[[int, int], None] | None:
    """Progress within one chunk as progress within all of them, in hundredths of a data set."""
    if progress is None:
        return None
    return lambda done, whole: progress(100 * start + 100 * count * done // whole, 100 * total)


def _reported(case: Case, split_seed: int) -> Reported:
    trace = case.at(BUDGET)
    return Reported(
        scene=case.condition.name,
        data_seed=case.data_seed,
        split_seed=split_seed,
        profile=case.profile.name,
        level=case.profile.level,
        field="resolution",
        label=trace.answers[0].label.value,
        is_false=case.is_false(BUDGET),
        is_truth_rejected=not case.is_truth_kept,
        has_no_witness=not trace.n_witnessed,
    )
