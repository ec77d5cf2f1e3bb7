"""A study again on fresh seeds: how often its reports are false, against the level that bounds it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import final

import numpy as np

from .._checks import check_count
from .._errors import MisuseError
from ._published import Line, Outcome
from ._writing import read_table, save_figure

CONFIDENCE = 0.95
COVERED = {"four-region": "four_region", "global": "global_bank"}
# The order of the label columns; both kinds of ambiguity of a region count as one.
LABELS = ("FINE", "GROUP", "AMBIGUOUS", "ABSENT", "ABSTAIN", "EMPTY")
EVENTS = {"false report": "is_false", "true explanation rejected": "is_truth_rejected"}
FIGURES = ("coverage", "labels")

Progress = Callable[[int, int], None]


@final
@dataclass(frozen=True, slots=True)
class Reported:
    """One field of one report on one fresh data set; the true explanation is a member of the bank."""

    scene: str
    data_seed: int
    split_seed: int
    profile: str
    level: float
    field: str
    label: str
    is_false: bool  # a FINE, GROUP or ABSENT that does not hold for the explanation that generated the data
    is_truth_rejected: bool


def repeat_study(study: str, datasets: int, seed: int = 0, jobs: int = 1, progress: Progress | None = None) -> Outcome:
    """A study on fresh data, its scenes in turn, and the exact interval of every rate that has a bound.

    The bound is that of (thm:on-bank-truth-validity): a false label has a probability of at most alpha.  A line agrees
    unless its whole interval lies above the level.  Data set i is the same for every number of data sets.
    """
    if study not in COVERED:
        raise MisuseError("study", f"be one of {', '.join(COVERED)}", study)
    count = check_count("datasets", datasets)
    module = import_module(f".{COVERED[study]}._coverage", __package__)
    reported: list[Reported] = module.reports(fresh_seeds(count, seed), jobs, progress)
    coverage, rates = list(_coverage_rows(reported)), list(_rate_rows(reported))
    summary = {"study": study, "datasets": count, "seed": seed, "confidence": CONFIDENCE, "coverage": coverage}
    tables = {"reports": [asdict(each) for each in reported], "coverage": coverage, "labels": rates}
    return Outcome(f"coverage-{study}", tuple(map(_line, coverage)), summary, tables, FIGURES)


def fresh_seeds(count: int, seed: int) -> list[tuple[int, int]]:
    """A seed for the data and one for the split of each data set."""
    state = np.random.SeedSequence(check_count("seed", seed, 0)).generate_state(2 * count, np.uint64)
    return [(int(data), int(split)) for data, split in state.reshape(count, 2)]


def exact_interval(count: int, trials: int) -> tuple[float, float]:
    """The Clopper-Pearson interval of a probability; its confidence is at least that stated, whatever the truth.

    >>> [round(end, 4) for end in exact_interval(0, 50)]
    [0.0, 0.0711]
    """
    from scipy.stats import binomtest  # slow to load, and studies are run without it

    found = binomtest(count, trials).proportion_ci(CONFIDENCE, method="exact")
    return float(found.low), float(found.high)


def draw_coverage(folder: Path) -> list[Path]:
    """Rates against their levels, and how often each label is given."""
    from matplotlib.figure import Figure

    from ..plots import plot_coverage, plot_label_rates

    made = []
    for name, plot in {"coverage": plot_coverage, "labels": plot_label_rates}.items():
        rows = read_table(folder, name)
        figure = Figure(figsize=(3.4, 0.9 + 0.27 * len(rows)), layout="constrained")
        plot(rows, figure.subplots())
        made += save_figure(figure, folder, name)
    return made


def _coverage_rows(reported: Sequence[Reported]) -> Iterator[dict[str, object]]:
    """A row for every profile and event; an event happens to a data set if it happens in one of its fields."""
    for profile, level in dict.fromkeys((each.profile, each.level) for each in reported):
        mine = [each for each in reported if each.profile == profile]
        datasets = {each.data_seed for each in mine}
        for event, flag in EVENTS.items():
            hit = {each.data_seed for each in mine if getattr(each, flag)}
            low, high = exact_interval(len(hit), len(datasets))
            yield {
                "profile": profile,
                "level": level,
                "event": event,
                "count": len(hit),
                "datasets": len(datasets),
                "rate": len(hit) / len(datasets),
                "lower": low,
                "upper": high,
            }


def _rate_rows(reported: Sequence[Reported]) -> Iterator[dict[str, object]]:
    """A row for every scene, profile and field: the share of each label."""
    for scene, profile, field in dict.fromkeys((each.scene, each.profile, each.field) for each in reported):
        labels = [
            "AMBIGUOUS" if each.label.endswith("AMBIGUOUS") else each.label
            for each in reported
            if (each.scene, each.profile, each.field) == (scene, profile, field)
        ]
        shares = {label: labels.count(label) / len(labels) for label in LABELS}
        yield {"scene": scene, "profile": profile, "field": field, "datasets": len(labels)} | shares


def _line(row: dict[str, object]) -> Line:
    here = f"{row['count']}/{row['datasets']}, between {row['lower']:.4f} and {row['upper']:.4f}"
    name = f"{row['event']}, {row['profile']}"
    return Line(name, f"at most {row['level']}", here, float(str(row["lower"])) <= float(str(row["level"])))
