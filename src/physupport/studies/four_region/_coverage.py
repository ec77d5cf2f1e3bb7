"""The four-region study on fresh seeds."""

from collections.abc import Callable, Sequence

from .._coverage import Reported
from . import _design as design
from ._case import examine


def reports(
    seeds: Sequence[tuple[int, int]], jobs: int = 1, progress: Callable[[int, int], None] | None = None
) -> list[Reported]:
    """Scenes in turn; four regions each.  The scoring of a data set already uses every core, whatever jobs says."""
    del jobs
    found: list[Reported] = []
    for i, (data_seed, split_seed) in enumerate(seeds):
        scene = design.SCENES[i % len(design.SCENES)]
        case = examine(scene, data_seed, split_seed)
        false = case.false_regions()
        found += [
            Reported(
                scene=scene.name,
                data_seed=data_seed,
                split_seed=split_seed,
                profile="regional map",
                level=design.LEVEL,
                field=answer.field,
                label=answer.label.value,
                is_false=answer.field in false,
                is_truth_rejected=not case.is_truth_kept,
            )
            for answer in case.trace.answers
        ]
        if progress is not None:
            progress(i + 1, len(seeds))
    return found
