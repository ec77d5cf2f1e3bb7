"""The four-region study on fresh seeds."""

from collections.abc import Callable, Sequence

from .._coverage import Reported
from .._tasks import kernel_threads
from . import _design as design
from ._case import Case, examine


def reports(
    seeds: Sequence[tuple[int, int]], jobs: int = 1, progress: Callable[[int, int], None] | None = None
) -> list[Reported]:
    """Scenes in turn; four regions each.  Data sets come one by one, the scoring of each on jobs threads."""
    found: list[Reported] = []
    with kernel_threads(jobs):
        for i, (data_seed, split_seed) in enumerate(seeds):
            case = examine(design.SCENES[i % len(design.SCENES)], data_seed, split_seed)
            found += _reported(case, split_seed)
            if progress is not None:
                progress(i + 1, len(seeds))
    return found


def _reported(case: Case, split_seed: int) -> list[Reported]:
    false = case.false_regions()
    return [
        Reported(
            scene=case.scene.name,
            data_seed=case.data_seed,
            split_seed=split_seed,
            profile="regional map",
            level=design.LEVEL,
            field=answer.field,
            label=answer.label.value,
            is_false=answer.field in false,
            is_truth_rejected=not case.is_truth_kept,
            has_no_witness=not case.trace.n_witnessed,
        )
        for answer in case.trace.answers
    ]
