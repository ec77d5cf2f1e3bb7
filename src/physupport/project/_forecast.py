"""The forecast of a run: what it would ask and cost; of the data, only proposal rows are looked at.

The work is bounded: what a run does with all explanations is tried with a few, and of a bank that would take long to
build only the numbers are told.
"""

from dataclasses import asdict, dataclass
from typing import final

import numpy as np

from ..aeb import budget_queries
from ..report._words import cut
from ._load import Project
from ._size import check_size
from ._tables import read_tables
from ._tried import Parts, StreamForecast

# Numbers of the answers of all elements in all settings that are worked out.
_MOST_ANSWERS = 2**22

# Measured: a query once its laws are scored, with its place in the report; and a report with its page.
_SECONDS_A_QUERY = 4.5e-5
_SECONDS_A_REPORT = 0.25

# Which rows propose and which judge, as 8-byte numbers, and the sorted copies with which that is checked.
_BYTES_A_ROW = 40

# Columns of 8 bytes that propose, order and judge, and of 4 bytes for each region.
_COLUMNS = 8
_COLUMNS_A_REGION = 3
_MOST_NAMED = 20  # regions that a sentence names


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
    seconds: float | None  # None where too little could be tried
    memory_bytes: int
    notes: tuple[str, ...]
    protocol: str | None  # its hash, where that was worked out

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
            f"Asked about: {cut(self.regions, _MOST_NAMED)}; at most {_counted(self.queries, 'query', 'queries')}.",
            *(sentence for stream in self.streams for sentence in (_stream_sentence(stream), *stream.doubts)),
            self._time(),
            f"{_size_words(self.memory_bytes)} of memory beyond the program itself and the files that are mapped.",
            "No number of a held-out row was used, and nothing was written.",
            *self.notes,
            _NO_HASH if self.protocol is None else f"{_HASH}: {self.protocol}.",
        ]

    def _time(self) -> str:
        if self.seconds is None:
            return "How long it takes was not tried: the bank, or one of its laws, is too large for a dry run."
        return (
            f"About {_duration(self.seconds)}, measured on {self._tried_on()} and after compilation; what the queries "
            "find can make it less."
        )

    def _tried_on(self) -> str:
        """The rows that seconds were measured on."""
        proposing = ["proposal rows with a few laws"] if any(stream.proposal_rows for stream in self.streams) else []
        judging = ["rows that the laws make"] if any(not stream.proposal_rows for stream in self.streams) else []
        return " and on ".join([*proposing, *judging])


_HASH = "The hash of the protocol, to be deposited before the held-out rows are read"
_NO_HASH = (
    "The hash of the protocol was not worked out, as that takes all explanations: `--dry-run --hash` does it, however "
    "long it takes."
)


def forecast(project: Project, *, has_hash: bool = False) -> Forecast:
    """Count, and measure how long a few explanations take.

    has_hash: build the whole bank and work out the hash of the protocol, even if that takes long.
    """
    counts = check_size(project)
    settings = project.settings
    queries = budget_queries(settings.budget, counts.explanations)
    parts = None
    if has_hash or counts.settings * counts.elements * _width(project) <= _MOST_ANSWERS:
        parts = Parts.read(project, counts, is_built=has_hash)
    streams = () if parts is None else parts.streams(queries)
    times = [each.seconds for each in streams if each.seconds is not None]
    is_timed = bool(streams) and len(times) == len(streams)
    built = None if parts is None else parts.assembled
    asked = tuple(name for name, region in settings.regions.items() if region.ask != "nothing")
    parameters = [len(each.points) for each in settings.parameters.values() if each.between is None]
    return Forecast(
        explanations=counts.explanations,
        states=counts.choices * counts.settings,
        settings=counts.settings if settings.cover is not None else int(np.prod(parameters)),
        supports=counts.supports,
        nuisances=counts.nuisances,
        regions=asked if built is None else built.question.regions,
        has_strengths=any(region.strength is not None for region in settings.regions.values()),
        queries=queries,
        streams=streams,
        seconds=sum(times) + queries * _SECONDS_A_QUERY + _SECONDS_A_REPORT if is_timed else None,
        memory_bytes=_memory(counts.explanations, len(asked), queries, streams),
        notes=() if built is None else built.notes,
        protocol=None if parts is None else parts.digest(is_wanted=has_hash, streams=streams),
    )


def _width(project: Project) -> int:
    """Numbers of a deployment row."""
    return int(read_tables(project)["deployment"].values.shape[1])


def _memory(size: int, n_regions: int, queries: int, streams: tuple[StreamForecast, ...]) -> int:
    """Bytes of columns of the bank, of scores, and of rows."""
    columns = 8 * _COLUMNS + 4 * _COLUMNS_A_REGION * n_regions
    laws = [size if stream.n_laws is None else stream.n_laws for stream in streams]
    scored = sum(16 * min(n, queries) * len(each.checkpoints) for n, each in zip(laws, streams, strict=True))
    rows = sum(_BYTES_A_ROW * (each.proposal_rows + each.held_out_rows) + each.copied_bytes for each in streams)
    return columns * size + scored + rows


def _stream_sentence(stream: StreamForecast) -> str:
    shape = " x ".join(map(str, stream.shape))
    copied = f" Its numbers are copied once, {_size(stream.copied_bytes)}." if stream.copied_bytes else ""
    rows = f"all {stream.held_out_rows:,} rows judge at once" if stream.held_out_rows > 1 else "its one row judges"
    if stream.proposal_rows:
        rows = (
            f"{stream.proposal_rows:,} rows propose and {stream.held_out_rows:,} judge, looked at after "
            f"{', '.join(map(str, stream.checkpoints))}"
        )
    laws = "" if stream.n_laws is None else f", {_counted(stream.n_laws, 'distinct law')}"
    return f"{stream.name.capitalize()}: {stream.file} ({shape}), law {stream.law}{laws}; {rows}.{copied}"


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
