"""What each judge would leave of rows like these, so that one is chosen before looking: no row of the data is used."""

from dataclasses import asdict, dataclass, replace
from time import process_time
from typing import final

import numpy as np

from .._checks import check_count, check_open
from .._errors import MisuseError
from .._typing import IntArray
from ..analysis import AnalysisProtocol
from ..judges import JUDGE_MAKERS, Verdict, check_rows, make_judge
from ..questions import predicates
from ._assemble import Assembled

# Explanations that every judge is asked about: all of a small bank, as many of a larger one.
_MOST_ASKED = 2048

Rows = dict[str, np.ndarray]


@final
@dataclass(frozen=True, slots=True)
class JudgeForecast:
    """One judge on rows that the laws of the project make, of explanations all over the bank.

    kept: share of the explanations that it leaves; elements, extent: how much it leaves of the first field, and how far
    that lies apart in the unit of the coordinates; all in the mean.  why: of a judge that cannot be asked here, the
    reason; then nothing else is told.
    """

    judge: str
    data_sets: int
    kept: float | None = None
    elements: float | None = None
    extent: float | None = None
    truth_kept: int | None = None
    seconds: float | None = None
    why: str = ""

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)

    def sentence(self) -> str:
        """The same in words."""
        if self.kept is None or self.elements is None:
            return f"{self.judge}: cannot be asked here; {self.why}"
        apart = "" if self.extent is None else f", {self.extent:.3g} apart at most"
        return (
            f"{self.judge}: would leave {100.0 * self.kept:.3g} % of the explanations, {self.elements:.3g} things in "
            f"the first region{apart} (means of {self.data_sets} simulated data sets; the truth kept in "
            f"{self.truth_kept}; {self.seconds:.2g} s each)"
        )


def compare_judges(
    assembled: Assembled, data_sets: int = 8, seed: int = 0, strength: float = 1.0
) -> tuple[JudgeForecast, ...]:
    """Every judge on the same simulated rows, as many as the data have, of explanations spread over the bank.

    Strengths and noise are those of the bank; where coefficients are free they are `strength`, without a background,
    and an unknown noise is a tenth.  A judge that knows no laws but replicates gets a measured spectrum in turn, and
    the others of its unit are taken away.  Nothing of the data is used but the number of rows.
    """
    count, protocol, bank = check_count("data_sets", data_sets), assembled.protocol, assembled.bank
    scaled = replace(bank, strengths=check_open("strength", strength, 0.0, 1e15) * bank.strengths)
    truths = np.linspace(0, bank.size - 1, count + 2)[1:-1].astype(np.int64)
    n_rows = {name: len(assembled.tables[name].values) for name in protocol.streams}
    made = []
    for number, truth in enumerate(truths.tolist()):
        rng = np.random.default_rng([seed, number])
        laws = {name: plan.law.completed(bank) for name, plan in protocol.streams.items()}
        rows = {
            name: law.sample(scaled if law.is_linear else bank, truth, rng, n_rows[name]) for name, law in laws.items()
        }
        made.append((truth, rows))
    forecasts = [_forecast(protocol, kind, made) for kind in JUDGE_MAKERS]
    return tuple(
        sorted(forecasts, key=lambda forecast: (forecast.kept is None, forecast.kept))
    )  # the one that says most first


def _forecast(protocol: AnalysisProtocol, kind: str, made: list[tuple[int, Rows]]) -> JudgeForecast:
    try:
        judge = make_judge(kind, {}) if protocol.judge.encode()["judge"] != kind else protocol.judge
        for name, plan in protocol.streams.items():
            check_rows(judge, plan.law, len(made[0][1][name]))
        start = process_time()
        runs = []
        for seed, (truth, rows) in enumerate(made):
            runs.append(_left(*_rehearsed(replace(protocol, judge=judge, seed=seed), truth, rows), truth))
    except MisuseError as error:
        return JudgeForecast(kind, len(made), why=str(error))
    kept, elements, extents, is_kept = zip(*runs, strict=True)
    told = [extent for extent in extents if extent is not None]
    return JudgeForecast(
        kind,
        len(made),
        float(np.mean(kept)),
        float(np.mean(elements)),
        float(np.mean(told)) if len(told) == len(made) else None,
        int(sum(is_kept)),
        (process_time() - start) / len(made),
    )


def _rehearsed(protocol: AnalysisProtocol, truth: int, rows: Rows) -> tuple[AnalysisProtocol, Rows]:
    """Protocol and rows of one data set; a judge with `rehearsed` takes rows from what it was given beforehand."""
    if not hasattr(protocol.judge, "rehearsed"):
        return protocol, rows
    judge, row, factor = protocol.judge.rehearsed(protocol.bank, truth, np.random.default_rng(protocol.seed))
    level = min(np.nextafter(protocol.level * float(factor), 1.0), 0.999)
    return replace(protocol, judge=judge, level=level), dict.fromkeys(rows, row)


def _left(protocol: AnalysisProtocol, rows: Rows, truth: int) -> tuple[float, int, float | None, bool]:
    """Of one data set: the share left, how many things in the first field, their extent, and whether the truth is."""
    seal = protocol.read(**rows)
    sample = _sample(seal.judge.size, truth)
    left = sample[seal.judge.verdicts(sample).codes != Verdict.REJECTED]
    question = predicates(seal.question)
    said = next(iter(question.says(left).values()), None)
    numbers = np.unique([] if said is None else said.numbers[said.numbers >= 0]).astype(np.int64)
    return len(left) / len(sample), len(numbers), question.extent(0, numbers), bool((left == truth).any())


def _sample(size: int, truth: int) -> IntArray:
    """(k,) all, or equally many steps apart, with the truth."""
    if size <= _MOST_ASKED:
        return np.arange(size)
    return np.unique([*np.linspace(0, size - 1, _MOST_ASKED).astype(np.int64), truth])
