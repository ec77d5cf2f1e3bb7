"""A comparison of the judges on simulated rows, so that one is chosen before any row of the data is used."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import process_time
from typing import final

import numpy as np

from .._checks import check_count, check_open
from .._errors import MisuseError, misuse_named
from ..analysis import AnalysisProtocol
from ..judges import JUDGES, Verdict, make_judge
from ._assemble import JUDGE_KEYS, Assembled

# Explanations that every judge is asked about: all of a small bank, as many of a larger one.
_MOST_ASKED = 2048

Rows = dict[str, np.ndarray]


@final
@dataclass(frozen=True, slots=True)
class JudgeForecast:
    """One judge on rows that the laws of the project make, of explanations all over the bank.

    kept: share of the explanations that it leaves; elements, extent: how much it leaves of the first region that is
    asked about, and how far that lies apart in the unit of the coordinates; all in the mean.  possible: of how many
    elements, cells or sets of them, as `things` says.  why: of a judge that cannot be asked here, the reason; then
    nothing else is told.
    """

    judge: str
    data_sets: int
    kept: float | None = None
    elements: float | None = None
    extent: float | None = None
    truth_kept: int | None = None
    seconds: float | None = None
    why: str = ""
    region: str = ""
    possible: int = 0
    things: str = "elements"
    unit: str = ""

    def sentence(self) -> str:
        """Return the same as sentences."""
        if self.kept is None or self.elements is None:
            return f"{self.judge}: cannot be asked here; {self.why}"
        apart = f", {self.extent:.3g}{self.unit and ' '}{self.unit} apart at most" if self.extent else ""
        return (
            f"{self.judge}: would leave {100.0 * self.kept:.3g} % of the explanations, {self.elements:.3g} of the "
            f"{self.possible} {self.things} of {self.region}{apart} (means of {self.data_sets} simulated data sets; "
            f"the truth not rejected in {self.truth_kept} of them; {self.seconds:.2g} s each)"
        )


def compare_judges(assembled: Assembled, data_sets: int = 8, *, strength: float = 1.0) -> tuple[JudgeForecast, ...]:
    """Every judge on the same simulated rows, as many as the data have, of explanations spread over the bank.

    Strengths and noise are those of the bank; where coefficients are free they are `strength`, without a background,
    and an unknown noise is a tenth.  A judge that knows no laws but replicates gets a measured spectrum in turn, and
    the others of its unit are taken away.  Nothing of the data is used but the number of rows.
    """
    count = check_count("data_sets", data_sets)
    protocol = assembled.protocol
    bank = assembled.bank
    laws = {name: plan.law.completed(bank) for name, plan in protocol.streams.items()}
    scaled = replace(bank, strengths=check_open("strength", strength, 0.0, 1e15) * bank.strengths)
    if strength != 1.0 and not any(law.is_linear for law in laws.values()):
        raise MisuseError("strength", "be left out where the project has the strengths", strength)
    truths = np.linspace(0, bank.size - 1, count + 2)[1:-1].astype(np.int64)
    n_rows = {name: len(assembled.tables[name].values) for name in protocol.streams}
    data = []
    for number, truth in enumerate(truths.tolist()):
        rng = np.random.default_rng([0, number])
        rows = {
            name: law.sample(scaled if law.is_linear else bank, truth, rng, n_rows[name]) for name, law in laws.items()
        }
        data.append((truth, rows))
    forecasts = [_forecast(assembled, kind, data) for kind in JUDGES]
    # The one that says most first.
    return tuple(sorted(forecasts, key=lambda forecast: (forecast.kept is None, forecast.kept)))


def _forecast(assembled: Assembled, kind: str, data: list[tuple[int, Rows]]) -> JudgeForecast:
    protocol = assembled.protocol
    plans = protocol.streams
    try:
        with misuse_named(lambda name: JUDGE_KEYS.get(name, name)):
            judge = protocol.judge if kind == protocol.judge.kind else make_judge(kind, {})
            asked = replace(protocol, judge=judge)
            for name, plan in plans.items():
                judge.check_rows(plan.law, len(data[0][1][name]))
            start = process_time()
            runs = [_left(replace(asked, seed=seed), rows, truth) for seed, (truth, rows) in enumerate(data)]
    except MisuseError as error:
        return JudgeForecast(kind, len(data), why=str(error))
    kept, elements, extents, is_kept, fields = zip(*runs, strict=True)
    distances = [extent for extent in extents if extent is not None]
    settings, (region, possible) = assembled.project.settings, fields[0]
    is_one = region not in settings.regions or settings.regions[region].count == (1, 1)
    return JudgeForecast(
        kind,
        len(data),
        float(np.mean(kept)),
        float(np.mean(elements)),
        float(np.mean(distances)) if len(distances) == len(data) else None,
        int(sum(is_kept)),
        (process_time() - start) / len(data),
        region=region,
        possible=possible,
        things="sets of elements" if not is_one else "elements" if settings.cover is None else "cells",
        unit=settings.elements.unit,
    )


def _left(protocol: AnalysisProtocol, rows: Rows, truth: int) -> tuple[float, int, float | None, bool, tuple[str, int]]:
    """Judge one data set: the share left, the things left in the first field, their extent, and if the truth is left.

    At last the field itself, and how many things there are in it.  A judge may take its rows from what it was given.
    """
    rehearsed = protocol.judge.rehearsed(protocol.checked_bank, truth, np.random.default_rng(protocol.seed))
    if rehearsed is not None:
        judge, row, factor = rehearsed
        level = min(np.nextafter(protocol.level * float(factor), 1.0), 0.999)
        protocol = replace(protocol, judge=judge, level=level)
        rows = dict.fromkeys(rows, row)
    seal = protocol.read(**rows)
    size = seal.judge.size
    sample = np.unique([*np.linspace(0, size - 1, min(size, _MOST_ASKED)).astype(np.int64), truth])
    left = sample[seal.judge.verdicts(sample).codes != Verdict.REJECTED]
    field, column = next(iter(seal.question.says(left).items()))
    numbers = np.unique(column.numbers[column.numbers >= 0]).astype(np.int64)
    extent = seal.question.extent(0, numbers)
    return len(left) / len(sample), len(numbers), extent, truth in left, (field, len(column.names))


def comparison_notes(
    assembled: Assembled, forecasts: Sequence[JudgeForecast], strength: float = 1.0
) -> tuple[str, ...]:
    """Say what the rows of a comparison were made of, and what follows for this project."""
    settings = assembled.project.settings
    taken = [forecast.judge for forecast in forecasts if forecast.kept is not None]
    *made, last = filter(None, (_coefficients(assembled, strength), _noise(assembled), *_left_out(assembled)))
    made_with = " and ".join(filter(None, (", ".join(made), last)))
    notes = [f"Rows were made with {made_with}.", "Only the number of data rows was used, not their values."]
    if settings.elements.replicates is not None:
        notes += [
            "The judge conformal was tried on measured spectra of left-out units, other judges on rows with exactly "
            "the listed responses: only replicates show how far measured responses differ from these."
        ]
    if len(taken) > 1:
        now = "it names" if settings.judge else "without that, the run takes"
        notes.append(f"Name the judge in the file before the run: {now} {assembled.protocol.judge.kind}.")
    elif taken == [assembled.protocol.judge.kind]:
        notes.append("No other judge takes rows like these.")
    return tuple(notes)


def _coefficients(assembled: Assembled, strength: float) -> str:
    """State the strengths of the simulated sources."""
    law = assembled.protocol.streams["deployment"].law
    settings = assembled.project.settings
    if not law.is_linear:
        return "the strengths and the noise of the file"
    sizes = {
        name: " or ".join(f"{strength * mark:g}" for mark in region.marks) for name, region in settings.regions.items()
    }
    by_region = ", ".join(f"{size} in {name}" for name, size in sizes.items())
    is_alike = len({*sizes.values()}) == 1
    size = f"{next(iter(sizes.values())) if is_alike else by_region} (--strength)"
    if law.is_counted:
        counts = strength * float(np.abs(assembled.bank.states.elements).sum(axis=0).mean())
        return f"amounts of {size}, where 1 is about {counts / strength:.3g} counts"
    return f"coefficients of {'variance ' if settings.data.deployment.rows == 'random' else ''}{size}"


def _noise(assembled: Assembled) -> str:
    """State the noise of the simulated rows, unless it is stated already or rows are counts."""
    noise = assembled.project.settings.data.deployment.noise
    law = assembled.protocol.streams["deployment"].law
    if law.is_counted or not law.is_linear:
        return ""
    if noise is not None and noise.rows is not None:
        return "the covariance of the noise that is estimated"
    is_known = noise is not None and noise.known is not None
    return "the noise of the file" if is_known else "noise of deviation 0.1 where the file leaves it open"


def _left_out(assembled: Assembled) -> list[str]:
    """The parts of measured rows that simulated rows lack."""
    settings = assembled.project.settings
    elements = assembled.project.settings.elements
    has_width = elements.error or elements.counted or elements.tangents or elements.variants != "states"
    lacking = ["no background"] if settings.background is not None else []
    if has_width or settings.cover is not None:
        lacking.append("responses at the middle of what they may be")
    return lacking
