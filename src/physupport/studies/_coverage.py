"""A study again on fresh seeds: how often its reports are false, against the level that bounds it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .._checks import check_count
from .._errors import MisuseError
from ._published import Line, Outcome, Progress
from ._tasks import JUDGED, load_study
from ._writing import draw_figures, read_table

if TYPE_CHECKING:
    from ._case import Reported

CONFIDENCE = 0.95
# The order of the label columns; both kinds of ambiguity of a region count as one.
LABELS = ("FINE", "GROUP", "AMBIGUOUS", "ABSENT", "ABSTAIN", "EMPTY")
POOLED = "all"  # in place of a scene, where all are counted together
EVENTS = {"false report": "is_false", "true explanation rejected": "is_truth_rejected"}
FIGURES = ("coverage", "labels")


def check_repeat(study: str, datasets: int, seed: int) -> str:
    """The name of the outcome, and of its folder; arguments that `repeat_study` refuses are refused here."""
    if study not in JUDGED:
        raise MisuseError("study", f"be one of {', '.join(JUDGED)}", study)
    check_count("datasets", datasets)
    check_count("seed", seed, 0)
    return f"coverage-{study}"


def repeat_study(study: str, datasets: int, seed: int = 0, jobs: int = 1, progress: Progress | None = None) -> Outcome:
    """A study on fresh data, its scenes in turn, and the exact interval of every rate that has a bound.

    The bound is that of (thm:on-bank-truth-validity): a false label has a probability of at most alpha.  A line agrees
    unless its whole interval lies above the level.  Data set i is the same for every number of data sets.
    """
    name = check_repeat(study, datasets, seed)
    reported = load_study(study).reports(fresh_seeds(datasets, seed), jobs, progress)
    coverage, rates = list(_coverage_rows(reported)), list(_rate_rows(reported))
    summary = {"study": study, "datasets": datasets, "seed": seed, "confidence": CONFIDENCE, "coverage": coverage}
    tables = {"reports": [asdict(report) for report in reported], "coverage": coverage, "labels": rates}
    lines = tuple(_line(row) for row in coverage if row["scene"] == POOLED)
    return Outcome(name, lines, summary, tables, FIGURES)


def fresh_seeds(count: int, seed: int) -> list[tuple[int, int]]:
    """A seed for the data and one for the split of each data set."""
    state = np.random.SeedSequence(seed).generate_state(2 * count, np.uint64)
    return [(int(data), int(split)) for data, split in state.reshape(count, 2)]


def exact_interval(count: int, trials: int) -> tuple[float, float]:
    """The Clopper-Pearson interval of a probability; its confidence is at least that stated, whatever the truth.

    >>> [round(end, 4) for end in exact_interval(0, 50)]
    [0.0, 0.0711]
    """
    from scipy.stats import binomtest  # slow to load, and studies are run without it

    interval = binomtest(count, trials).proportion_ci(CONFIDENCE, method="exact")
    return float(interval.low), float(interval.high)


def draw_coverage(folder: Path) -> list[Path]:
    """Rates against their levels, and how often each label is given."""
    from .figures import coverage_picture, label_rates_picture

    pooled = [row for row in read_table(folder, "coverage") if row["scene"] == POOLED]
    drawings = {
        "coverage": [coverage_picture(pooled)],
        "labels": [label_rates_picture(read_table(folder, "labels"))],
    }
    return draw_figures(folder, drawings)


def _coverage_rows(reported: "Sequence[Reported]") -> Iterator[dict[str, object]]:
    """A row for every profile and event, over all scenes and in each; an event of a field is one of its data set."""
    scenes = [POOLED, *dict.fromkeys(said.scene for said in reported)]
    profiles = dict.fromkeys((said.profile, said.level) for said in reported)
    for scene, (profile, level) in product(scenes, profiles):
        counted = [said for said in reported if said.profile == profile and scene in (POOLED, said.scene)]
        datasets = {said.data_seed for said in counted}
        for event, flag in EVENTS.items():
            hit = {said.data_seed for said in counted if getattr(said, flag)}
            low, high = exact_interval(len(hit), len(datasets))
            yield {
                "scene": scene,
                "profile": profile,
                "level": level,
                "event": event,
                "count": len(hit),
                "datasets": len(datasets),
                "rate": len(hit) / len(datasets),
                "lower": low,
                "upper": high,
            }


def _rate_rows(reported: "Sequence[Reported]") -> Iterator[dict[str, object]]:
    """A row for every scene, profile and field: the share of each label, and of reports without a witness."""
    for scene, profile, field in dict.fromkeys((said.scene, said.profile, said.field) for said in reported):
        counted = [said for said in reported if (said.scene, said.profile, said.field) == (scene, profile, field)]
        labels = ["AMBIGUOUS" if said.label.endswith("AMBIGUOUS") else said.label for said in counted]
        shares = {label: labels.count(label) / len(counted) for label in LABELS}
        unseen = {"no_witness": sum(said.has_no_witness for said in counted) / len(counted)}
        yield {"scene": scene, "profile": profile, "field": field, "datasets": len(counted)} | shares | unseen


def _line(row: dict[str, object]) -> Line:
    rate = f"{row['count']}/{row['datasets']}, between {row['lower']:.4f} and {row['upper']:.4f}"
    name = f"{row['event']}, {row['profile']}"
    return Line(name, f"at most {row['level']}", rate, float(str(row["lower"])) <= float(str(row["level"])))
