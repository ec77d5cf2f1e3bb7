"""Data sets of known origin under a frozen protocol: what each allows, and how often fresh reports are false."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from .._checks import check_count
from .._errors import MisuseError
from ..aeb import Trace, budget_queries
from ..analysis import Seal
from ..judges import Verdict
from ..questions import Answer, Label, exhaustive_answers, plugin_answers
from ._figures import draw_label_rates, draw_rates, write_figures
from ._outcome import JUDGED, Line, Outcome, Progress, load_study, read_table

CONFIDENCE = 0.95
# The order of the label columns; both kinds of ambiguity of a region count as one.
LABELS = ("FINE", "GROUP", "AMBIGUOUS", "ABSENT", "ABSTAIN", "EMPTY")
POOLED = "all"  # in place of a scene, where all are counted together
EVENTS = {"false report": "is_false", "true explanation rejected": "is_truth_rejected"}
FIGURES = ("coverage", "labels")


Row = dict[str, Any]  # of a table
Reported = Row  # one field of one report on one fresh data set, whose true explanation is in the bank


@final
@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One data set under one frozen protocol: asked as the protocol says, and asked in full."""

    scene: str
    data_seed: int
    profile: str
    seal: Seal
    truth: int  # the explanation that generated the data
    trace: Trace
    codes: NDArray[np.uint8]  # (M,) verdicts on the whole bank
    exhaustive: tuple[Answer, ...]

    @classmethod
    def judged(cls, scene: str, data_seed: int, profile: str, seal: Seal, truth: int) -> "Case":
        """Have the whole bank judged, then ask; a run sees the verdicts that it asks for and no others."""
        codes = seal.verdicts().codes
        return cls(scene, data_seed, profile, seal, truth, seal.run(), codes, exhaustive_answers(seal.question, codes))

    @property
    def labels(self) -> dict[str, Label]:
        """The labels that the run reports, by field."""
        return labels_of(self.trace.answers)

    @property
    def exhaustive_labels(self) -> dict[str, Label]:
        """The labels that all verdicts allow, by field."""
        return labels_of(self.exhaustive)

    @property
    def n_survivors(self) -> int:
        """Admissible explanations of the whole bank."""
        return int((self.codes == Verdict.ADMISSIBLE).sum())

    @property
    def is_truth_kept(self) -> bool:
        """True if the explanation that generated the data is admissible."""
        return bool(self.codes[self.truth] == Verdict.ADMISSIBLE)

    def at(self, budget: float) -> Trace:
        """The trace of a run with this share of the bank as budget."""
        return self.trace.at(budget_queries(budget, self.trace.size))

    def false_fields(self, trace: Trace) -> tuple[str, ...]:
        """Fields about which a report says something that is not true of the data's origin."""
        true = plugin_answers(self.seal.question, self.truth, self.trace.size)
        return tuple(said.field for said, fact in zip(trace.answers, true, strict=True) if _is_false(said, fact))

    def reported(self, trace: Trace) -> list[Reported]:
        """A report, field by field.

        is_false: a FINE, GROUP or ABSENT does not hold for the explanation that generated the data.  has_no_witness:
        nothing was found admissible within the budget, so that the report as a whole abstains.
        """
        false = self.false_fields(trace)
        return [
            {
                "scene": self.scene,
                "data_seed": self.data_seed,
                "split_seed": self.seal.protocol.seed,
                "profile": self.profile,
                "level": self.seal.protocol.level,
                "field": answer.field,
                "label": answer.label.value,
                "is_false": answer.field in false,
                "is_truth_rejected": not self.is_truth_kept,
                "has_no_witness": not trace.n_witnessed,
            }
            for answer in trace.answers
        ]


def labels_of(answers: Sequence[Answer]) -> dict[str, Label]:
    """Field -> its label."""
    return {answer.field: answer.label for answer in answers}


def _is_false(said: Answer, fact: Answer) -> bool:
    """True if a statement about the truth leaves it out; fact: the answer if nothing but the truth survives."""
    if not said.label.is_truth_level:
        return False
    if Label.ABSENT in (said.label, fact.label):
        return said.label is not fact.label
    return not {*fact.cell} <= {*said.cell}


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
    coverage = list(_coverage_rows(reported))
    summary = {"study": study, "datasets": datasets, "seed": seed, "confidence": CONFIDENCE, "coverage": coverage}
    tables = {"reports": reported, "coverage": coverage, "labels": list(_rate_rows(reported))}
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
    tail = (1.0 - CONFIDENCE) / 2.0
    low = float(betaincinv(count, trials - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, trials - count, 1.0 - tail)) if count < trials else 1.0
    return low, high


def draw_coverage(folder: Path) -> list[Path]:
    """Rates against their levels, and how often each label is given."""
    pooled = [row for row in read_table(folder, "coverage") if row["scene"] == POOLED]
    labels = read_table(folder, "labels")
    return write_figures(
        folder,
        {
            "coverage": [(65.0 + 19.5 * len(pooled), partial(draw_rates, rows=pooled))],
            "labels": [(65.0 + 19.5 * len(labels), partial(draw_label_rates, rows=labels))],
        },
    )


def _coverage_rows(reported: Sequence[Reported]) -> Iterator[Row]:
    """A row for every profile and event, over all scenes and in each; an event of a field is one of its data set."""
    scenes = [POOLED, *dict.fromkeys(said["scene"] for said in reported)]
    profiles = dict.fromkeys((said["profile"], said["level"]) for said in reported)
    for scene, (profile, level) in product(scenes, profiles):
        counted = [said for said in reported if said["profile"] == profile and scene in (POOLED, said["scene"])]
        datasets = {said["data_seed"] for said in counted}
        for event, flag in EVENTS.items():
            hit = {said["data_seed"] for said in counted if said[flag]}
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


def _rate_rows(reported: Sequence[Reported]) -> Iterator[Row]:
    """A row for every scene, profile and field: the share of each label, and of reports without a witness."""
    for scene, profile, field in dict.fromkeys((said["scene"], said["profile"], said["field"]) for said in reported):
        counted = [
            said for said in reported if (said["scene"], said["profile"], said["field"]) == (scene, profile, field)
        ]
        labels = ["AMBIGUOUS" if said["label"].endswith("AMBIGUOUS") else said["label"] for said in counted]
        shares = {label: labels.count(label) / len(counted) for label in LABELS}
        unseen = {"no_witness": sum(said["has_no_witness"] for said in counted) / len(counted)}
        yield {"scene": scene, "profile": profile, "field": field, "datasets": len(counted)} | shares | unseen


def _line(row: Row) -> Line:
    rate = f"{row['count']}/{row['datasets']}, between {row['lower']:.4f} and {row['upper']:.4f}"
    name = f"{row['event']}, {row['profile']}"
    return Line(name, f"at most {row['level']}", rate, row["lower"] <= row["level"])
