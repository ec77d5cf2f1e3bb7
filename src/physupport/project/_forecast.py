"""What a run would ask and cost, said before it happens; of the data, only proposal rows are looked at."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import final

import numpy as np
from numpy.typing import NDArray

from .._errors import MisuseError
from .._typing import IntArray
from ..aeb import budget_queries
from ..analysis import StreamPlan
from ..banks import Bank
from ..io import ArrayRows, SplitRows, Table, as_pairs, part_of
from ..laws import Law
from ._assemble import Assembled
from ._fit import law_doubts

# Rows that are scored to measure the speed, under a few laws and then more until the clock can tell.
_MOST_ROWS, _FEW_KEYS, _LONG_ENOUGH = 2048, 32, 0.02

# Measured: a query once its laws are scored, with its place in the report; and a report with its page.
_SECONDS_A_QUERY, _SECONDS_A_REPORT = 4.5e-5, 0.25

# The longest that the laws of a stream are tried on the proposal rows for.
_MOST_SECONDS = 10.0

# Which rows propose and which judge, as 8-byte numbers, and the sorted copies with which that is checked.
_BYTES_A_ROW = 40

# Columns of 8 bytes that propose, order and judge, and of 4 bytes for each region.
_COLUMNS, _COLUMNS_A_REGION = 8, 3


@final
@dataclass(frozen=True, slots=True)
class StreamForecast:
    """One stream: what made its rows, how many there are of each kind, and how many laws they are scored under."""

    name: str
    file: str
    shape: tuple[int, ...]
    law: str
    proposal_rows: int
    held_out_rows: int
    checkpoints: tuple[int, ...]
    n_laws: int
    seconds: float  # to score both kinds of rows
    copied_bytes: int  # of what is not used where it lies
    doubts: tuple[str, ...]  # what in the proposal rows speaks against the law


@final
@dataclass(frozen=True, slots=True)
class Forecast:
    """Sizes that follow from the project alone, and estimates of time and memory."""

    explanations: int
    states: int
    settings: int
    supports: int
    nuisances: int
    regions: tuple[str, ...]
    has_strengths: bool
    queries: int
    streams: tuple[StreamForecast, ...]
    seconds: float
    memory_bytes: int

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)

    def sentences(self) -> list[str]:
        """The same in words."""
        settings = f" in {self.settings:,} settings of the parameters" if self.settings > 1 else ""
        nuisances = f", times {self.nuisances:,} nuisance settings" if self.nuisances > 1 else ""
        strengths = " with their strengths" if self.has_strengths else ""
        return [
            f"{_counted(self.explanations, 'explanation')}: {_counted(self.states, 'dictionary state')}{settings}, "
            f"times {_counted(self.supports, 'support')}{strengths}{nuisances}.",
            f"Asked about: {', '.join(self.regions)}; at most {_counted(self.queries, 'query', 'queries')}.",
            *(sentence for stream in self.streams for sentence in (_stream_sentence(stream), *stream.doubts)),
            f"About {_duration(self.seconds)}, measured on {self._tried_on()} and after compilation; what the queries "
            "find can make it less.",
            f"{_size_words(self.memory_bytes)} of memory beyond the program itself and the files that are mapped.",
            "No number of a held-out row was used, and nothing was written.",
        ]

    def _tried_on(self) -> str:
        """The rows that seconds were measured on."""
        proposing = ["proposal rows with a few laws"] if any(stream.proposal_rows for stream in self.streams) else []
        judging = ["rows that the laws make"] if any(not stream.proposal_rows for stream in self.streams) else []
        return " and on ".join([*proposing, *judging])


def forecast(assembled: Assembled) -> Forecast:
    """Count, and measure how long a few laws take on proposal rows."""
    bank, protocol = assembled.bank, assembled.protocol
    queries = budget_queries(protocol.budget, bank.size)
    counts = [len(assembled.tables[name].values) for name in protocol.streams]
    with assembled.named():
        streams = tuple(
            _stream_forecast(assembled, name, plan, protocol.split(name, count), queries)
            for (name, plan), count in zip(protocol.streams.items(), counts, strict=True)
        )
    columns = 8 * _COLUMNS + 4 * _COLUMNS_A_REGION * len(assembled.question.regions)
    scored = sum(16 * min(stream.n_laws, queries) * len(stream.checkpoints) for stream in streams)
    rows = sum(_BYTES_A_ROW * count + stream.copied_bytes for count, stream in zip(counts, streams, strict=True))
    parameters = assembled.project.settings.parameters
    return Forecast(
        explanations=bank.size,
        states=bank.states.n_states,
        settings=int(np.prod([len(parameter.points) for parameter in parameters.values() if parameter.between is None]))
        * (1 if protocol.cover is None else int(protocol.cover.counts.prod())),
        supports=bank.n_supports,
        nuisances=len(bank.calibration) * len(bank.deployment),
        regions=assembled.question.regions,
        has_strengths=any(region.strength is not None for region in assembled.project.settings.regions.values()),
        queries=queries,
        streams=streams,
        seconds=sum(stream.seconds for stream in streams) + queries * _SECONDS_A_QUERY + _SECONDS_A_REPORT,
        memory_bytes=columns * bank.size + scored + rows,
    )


def _stream_forecast(
    assembled: Assembled, name: str, plan: StreamPlan, split: SplitRows, queries: int
) -> StreamForecast:
    bank, table = assembled.bank, assembled.tables[name]
    law = plan.law.completed(bank)
    n_laws, rows = law.n_keys(bank), as_pairs(table.values) if law.is_complex else table.values
    proposal, held_out = len(split.proposal), len(split.held_out)
    if proposal:
        seconds, doubts = _tried(assembled, name, law, rows, split, queries)
    else:
        seconds, doubts = _judging(assembled, queries), (_unseen(name),)
    return StreamForecast(
        name=name,
        file=str(table.source.path),
        shape=tuple(table.source.shape),
        law=law.name,
        proposal_rows=proposal,
        held_out_rows=held_out,
        checkpoints=tuple(plan.stops(held_out).tolist()),
        n_laws=n_laws,
        seconds=seconds,
        copied_bytes=0 if np.shares_memory(rows, table.values) else rows.nbytes,
        doubts=doubts,
    )


def _tried(
    assembled: Assembled, name: str, law: Law, rows: NDArray[np.generic], split: SplitRows, queries: int
) -> tuple[float, tuple[str, ...]]:
    """Seconds to score all rows, and what speaks against their law, after a few laws on proposal rows."""
    bank, few = assembled.bank, split.proposal[:_MOST_ROWS]
    _check_finite(name, assembled.tables[name], split.proposal)
    n_laws = law.n_keys(bank)
    a_row, a_key = _measured(law, bank, ArrayRows(rows, few), n_laws)
    proposal, held_out = len(split.proposal), len(split.held_out)
    # With sufficient statistics a key costs the same for any number of rows.
    relative = (1.0, 1.0) if law.has_statistics else (proposal / len(few), held_out / len(few))
    proposing, judging = a_key * n_laws * relative[0], a_key * min(n_laws, queries) * relative[1]
    is_tried = proposing < _MOST_SECONDS
    doubts = tuple(law_doubts(assembled.protocol.propose(name, rows), bank)) if is_tried else (_untried(name),)
    return a_row * (proposal + held_out) + proposing + judging, doubts


def _judging(assembled: Assembled, queries: int) -> float:
    """Seconds for so many verdicts of a judge to whom all rows speak, measured on rows that the laws themselves make.

    Opening the judge on these also meets what it would refuse: no row of the data is needed for that.
    """
    protocol, bank, rng = assembled.protocol, assembled.bank, np.random.default_rng(0)
    rows = {
        name: plan.law.completed(bank).sample(bank, 0, rng, min(len(assembled.tables[name].values), _MOST_ROWS))
        for name, plan in protocol.streams.items()
    }
    start = perf_counter()
    judge = protocol.read(**rows).judge
    judge.verdicts(np.arange(1))  # compiles, too, which makes the first part of the estimate one from above
    opened = perf_counter() - start

    def ask(count: int) -> None:
        judge.verdicts(np.unique(np.linspace(0, bank.size - 1, count).astype(np.int64)))

    return opened + _seconds_each(ask, bank.size) * min(bank.size, queries)


def _measured(law: Law, bank: Bank, rows: ArrayRows, n_laws: int) -> tuple[float, float]:
    """Seconds to read a row, and to score a key; the first time is not counted, because it compiles."""
    law.stream(bank, rows, [rows.n_rows]).log_likelihood(np.arange(1))
    start = perf_counter()
    stream = law.stream(bank, rows, [rows.n_rows])
    read = perf_counter() - start
    return read / rows.n_rows, _seconds_each(lambda count: stream.log_likelihood(np.arange(count)), n_laws)


def _seconds_each(work: Callable[[int], object], most: int) -> float:
    """Seconds that work on one thing takes, measured on a few of them, and then on more until the clock can tell."""
    count = min(most, _FEW_KEYS)
    while True:
        start = perf_counter()
        work(count)
        taken = perf_counter() - start
        if taken > _LONG_ENOUGH or count == most:
            return taken / count
        count = min(4 * count, most)


def _unseen(name: str) -> str:
    return f"All {name} rows judge, so that none was looked at."


def _untried(name: str) -> str:
    return f"Whether the {name} rows look as this law makes them was not tried: there are too many explanations for it."


def _check_finite(name: str, table: Table, order: IntArray) -> None:
    """Point at a number that is not finite among these rows, by its place in the file."""
    for start in range(0, len(order), _MOST_ROWS):
        rows = order[start : start + _MOST_ROWS]
        values = part_of(table.values, rows)
        bad = np.argwhere(~np.isfinite(values.astype(np.complex128)))
        if len(bad):
            row, column = int(rows[bad[0, 0]]), int(bad[0, 1])
            where = f"row {row}, column {table.channels[column]} (rows counted from 0)"
            number = f"{values[bad[0, 0], column]} in {where}"
            raise MisuseError(f"{name} ({table.source.path})", "be finite", number)


def _stream_sentence(stream: StreamForecast) -> str:
    shape = " x ".join(map(str, stream.shape))
    copied = f" Its numbers are copied once, {_size(stream.copied_bytes)}." if stream.copied_bytes else ""
    rows = f"all {stream.held_out_rows:,} rows judge at once" if stream.held_out_rows > 1 else "its one row judges"
    if stream.proposal_rows:
        rows = (
            f"{stream.proposal_rows:,} rows propose and {stream.held_out_rows:,} judge, looked at after "
            f"{', '.join(map(str, stream.checkpoints))}"
        )
    laws = _counted(stream.n_laws, "distinct law")
    return f"{stream.name.capitalize()}: {stream.file} ({shape}), law {stream.law}, {laws}; {rows}.{copied}"


def _counted(count: int, noun: str, several: str = "") -> str:
    """So many of a thing."""
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"


def _duration(seconds: float) -> str:
    if seconds < 60.0:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60.0:.0f} minutes" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} hours"


def _size_words(count: int) -> str:
    return f"About {_size(count)}" if count >= 1e6 else "Less than 1 MB"


def _size(count: int) -> str:
    unit, scale = ("kB", 1e3) if count < 1e6 else ("MB", 1e6) if count < 1e9 else ("GB", 1e9)
    return f"{count / scale:.3g} {unit}"
