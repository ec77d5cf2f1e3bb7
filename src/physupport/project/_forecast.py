"""The forecast of a run: what it would ask and cost; of the data, only proposal rows are looked at.

The work is bounded: what a run does with all explanations is tried with a few, and of a bank that would take long to
build only the numbers are told.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from math import sqrt
from time import perf_counter
from typing import final

import numpy as np

from .._errors import MisuseError
from .._typing import Array, IntArray
from ..aeb import RegionalPolicy, budget_queries
from ..analysis import AnalysisProtocol, ProposedStream, freeze
from ..analysis.diagnose import Misfit
from ..banks import bank_regions
from ..io import ArrayRows, Table, as_pairs, part_of
from ..questions import RegionalMap, RegionRule
from ._assemble import Assembled, assembled_of, project_bank, project_judge, project_plans, read_parts
from ._elements import Physical, check_size
from ._load import Project
from ._supports import BankCounts, most_active, project_supports
from ._tables import read_tables

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

# Numbers of a bank that is built: strengths of supports, sets of elements, and regions of explanations.
_MOST_STRENGTHS = 2**22
_MOST_SETS = 2**16
_MOST_COLUMNS = 2**23
# Explanations whose plausibility is worked out, numbers of rows that are looked at for that, and the longest it takes.
_MOST_RANKED = 2**18
_MOST_NUMBERS = 2**24
_MOST_SECONDS = 2.0
# Multiplications of one fit: a law with more takes too long to be tried even once.
_MOST_PRODUCTS = 5e7
# Explanations, rows and numbers of rows of a trial; the longest that it should take, and the least that a clock tells.
_MOST_TRIED = 1024
_MOST_ROWS = 2048
_MOST_SAMPLED = 2**20
_LONG_TRIAL = 0.5
_LONG_ENOUGH = 0.1


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
    n_laws: int | None  # None of a bank that was not built
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
    seconds: float | None  # None where too little could be tried
    memory_bytes: int
    notes: tuple[str, ...]
    protocol: str | None  # its hash, where that was worked out

    def sentences(self) -> list[str]:
        """Return the same as sentences."""
        settings = f" in {self.settings:,} settings of the parameters" if self.settings > 1 else ""
        nuisances = f", times {self.nuisances:,} nuisance settings" if self.nuisances > 1 else ""
        strengths = " with their strengths" if self.has_strengths else ""
        memory = f"About {_size(self.memory_bytes)}" if self.memory_bytes >= 1e6 else "Less than 1 MB"
        return [
            f"{_counted(self.explanations, 'explanation')}: {_counted(self.states, 'dictionary state')}{settings}, "
            f"times {_counted(self.supports, 'support')}{strengths}{nuisances}.",
            f"Question about: {_named(self.regions)}; at most {_counted(self.queries, 'query', 'queries')}.",
            *(sentence for stream in self.streams for sentence in (_stream_sentence(stream), *stream.doubts)),
            self._time(),
            f"{memory} of memory beyond the program itself and the files that are mapped.",
            "No number of a held-out row was used, and nothing was written.",
            *self.notes,
            _NO_HASH if self.protocol is None else f"{_HASH}: {self.protocol}.",
        ]

    def _time(self) -> str:
        if self.seconds is None:
            return "The computing time was not measured: the bank, or one of its laws, is too large for a dry run."
        return (
            f"About {_duration(self.seconds)}, measured with a few explanations on rows that the laws make and after "
            "compilation; what the queries find can make it less."
        )


_HASH = "The hash of the protocol, to be deposited before the held-out rows are read"
_NO_HASH = (
    "The hash of the protocol was not computed, because that needs all explanations: `--dry-run --hash` computes it."
)


def forecast(project: Project, *, has_hash: bool = False) -> Forecast:
    """Count, and measure how long a few explanations take.

    has_hash: build the whole bank and work out the hash of the protocol, even if that takes long.
    """
    counts = check_size(project)
    settings = project.settings
    queries = budget_queries(settings.budget, counts.explanations)
    asked = tuple(name for name, region in project.regions.items() if region.ask != "nothing")
    parameters = [len(each.points) for each in settings.parameters.values() if each.between is None]
    counted = Forecast(
        explanations=counts.explanations,
        states=counts.choices * counts.settings,
        settings=counts.settings if settings.cover is not None else int(np.prod(parameters)),
        supports=counts.supports,
        nuisances=counts.nuisances,
        regions=asked,
        has_strengths=any(region.strength is not None for region in settings.regions.values()),
        queries=queries,
        streams=(),
        seconds=None,
        memory_bytes=_memory(counts.explanations, len(asked), queries, ()),
        notes=(),
        protocol=None,
    )
    width = read_tables(project)["deployment"].values.shape[1]
    if not has_hash and counts.settings * counts.elements * width > _MOST_ANSWERS:
        return counted
    return _tried(project, counts, counted, has_hash=has_hash)


def _tried(project: Project, counts: BankCounts, counted: Forecast, *, has_hash: bool) -> Forecast:
    """The forecast with what the files of the project say, a trial, and the bank if it is cheap to build."""
    physical, tables = read_parts(project)
    n_atoms = sum(region.count[1] for region in project.regions.values())
    is_small = (
        counts.sets <= _MOST_SETS
        and counts.supports * n_atoms <= _MOST_STRENGTHS
        and counts.explanations * len(project.regions) <= _MOST_COLUMNS
    )
    built = assembled_of(project, physical, tables) if has_hash or is_small else None
    trial = _trial(project, physical, built, 1)
    if trial is None:
        return counted if built is None else replace(counted, notes=built.notes)
    with project.named_run():
        times = _seconds(project, physical, tables, built, counts, trial)
        protocol = trial if built is None else built.protocol
        proposes = any(protocol.judge.splits(plan.law) for plan in protocol.streams.values())
        numbers = sum(table.values.size for table in tables.values())
        is_few = counts.explanations <= _MOST_RANKED and numbers <= _MOST_NUMBERS
        is_cheap = not proposes or (is_few and times is not None and times[0] < _MOST_SECONDS)
        seal = None
        if built is not None and (has_hash or is_cheap):
            _check_finite(protocol, tables)
            seal = freeze(protocol, tables)
        proposed = {} if seal is None else {part.name: part for part in seal.parts}
        streams = tuple(_stream(protocol, name, tables[name], proposed.get(name)) for name in protocol.streams)
    if built is None:
        streams = tuple(replace(stream, n_laws=None) for stream in streams)
    return replace(
        counted,
        regions=counted.regions if built is None else built.question.regions,
        streams=streams,
        seconds=times and times[0] + counted.queries * (times[1] + _SECONDS_A_QUERY) + _SECONDS_A_REPORT,
        memory_bytes=_memory(counts.explanations, len(counted.regions), counted.queries, streams),
        notes=() if built is None else built.notes,
        protocol=None if seal is None else seal.digest,
    )


def _stream(protocol: AnalysisProtocol, name: str, table: Table, proposed: ProposedStream | None) -> StreamForecast:
    plan = protocol.streams[name]
    bank = protocol.checked_bank
    law = plan.law.completed(bank)
    split = protocol.split(name, len(table.values))
    rows = as_pairs(table.values) if law.is_complex else table.values
    doubts = [f"All {name} rows judge, so none of them was read."]
    if len(split.proposal):
        what = f"the {name} rows look as this law makes them"
        doubts = [f"Whether {what} was not tried: there are too many explanations for it."]
    if any(each.law.has_cells for each in protocol.streams.values()):
        doubts = [f"Whether the {name} rows fit was not tried: the middles of cells fit no rows."]
    elif len(split.proposal) and proposed is not None:
        doubts = [*_doubts(proposed)]
    return StreamForecast(
        name=name,
        file=str(table.source.path),
        shape=tuple(table.source.shape),
        law=law.name,
        proposal_rows=len(split.proposal),
        held_out_rows=len(split.held_out),
        checkpoints=tuple(plan.stops(len(split.held_out)).tolist()),
        n_laws=law.n_keys(bank),
        copied_bytes=0 if np.shares_memory(rows, table.values) else rows.nbytes,
        doubts=tuple(doubts),
    )


def _seconds(
    project: Project,
    physical: Physical,
    tables: Mapping[str, Table],
    built: Assembled | None,
    counts: BankCounts,
    few: AnalysisProtocol,
) -> tuple[float, float] | None:
    """Seconds until the first verdict, and for each after that, from trials on rows that the laws make.

    few: the protocol of the first trial.  Opening the judge also meets what it would refuse: no row of the data is
    needed for that.  None where one law takes too long.
    """
    active = most_active(project)
    if max(active, physical.n_channels) * active**2 > _MOST_PRODUCTS:
        return None
    _timed(few, tables)  # compiles
    first, each = _timed(few, tables)
    n_atoms = sum(region.count[1] for region in project.regions.values())
    most = min(_MOST_TRIED, max(4, counts.explanations // 4), max(4, int(_LONG_TRIAL / first)))
    more = _trial(project, physical, built, max(1, min(most, _MOST_STRENGTHS // n_atoms)))
    sizes = few.checked_bank.size, few.checked_bank.size if more is None else more.checked_bank.size
    an_explanation = first / sizes[0]
    if more is not None and sizes[1] > sizes[0]:
        opened, each = _timed(more, tables)
        an_explanation = max(0.0, opened - first) / (sizes[1] - sizes[0])
    laws = [plan.law for plan in few.streams.values()]
    rows = max(len(table.values) / _n_sampled(table) for table in tables.values())
    # With sufficient statistics an explanation costs the same for any number of rows.
    scored = 1.0 if all(law.has_statistics for law in laws) else rows
    reading = max(0.0, first - an_explanation * sizes[0])
    return reading * rows + an_explanation * scored * counts.explanations, each * scored


def _n_sampled(table: Table) -> int:
    """Rows of a stream that a trial has."""
    return max(1, min(len(table.values), _MOST_ROWS, _MOST_SAMPLED // int(table.values.shape[1])))


def _timed(protocol: AnalysisProtocol, tables: Mapping[str, Table]) -> tuple[float, float]:
    """Seconds until the first verdict of a protocol on rows of its first explanation, and for each after that."""
    bank = protocol.checked_bank
    rng = np.random.default_rng(0)
    rows = {
        name: plan.law.completed(bank).sample(bank, 0, rng, _n_sampled(tables[name]))
        for name, plan in protocol.streams.items()
    }
    start = perf_counter()
    judge = protocol.read(**rows).judge
    judge.verdicts(np.arange(1))
    opened = perf_counter() - start
    count = 1
    before = (0, 0.0)
    while True:  # more of them until the clock can tell
        start = perf_counter()
        judge.verdicts(_spread(bank.size, count))
        taken = perf_counter() - start
        if taken > _LONG_ENOUGH or count == bank.size:
            return opened, max(0.0, taken - before[1]) / (count - before[0])
        before = (count, taken)
        count = min(4 * count, bank.size)


def _trial(project: Project, physical: Physical, built: Assembled | None, most: int) -> AnalysisProtocol | None:
    """A protocol with the laws and the judge of a project, about so many explanations and for each noise as many.

    Its question is of no use.  None where no part of the bank can be tried.
    """
    if project.settings.elements.replicates is None:
        try:
            return _small_protocol(project, physical, most)
        except MisuseError:  # of what is left, such as two regions that differ in other elements
            pass
    # Replicates are of all elements.
    return built.protocol if built is not None and built.bank.size <= _MOST_TRIED else None


def _small_protocol(project: Project, physical: Physical, most: int) -> AnalysisProtocol:
    regions = project.regions
    counts = [region.count[1] for region in regions.values()]
    settings = _spread(1 if physical.settings is None else len(physical.settings.values), max(1, most // 16))
    # As many elements of each region as the number allows, and enough to give every region a set.
    allowed = int((most / len(settings)) ** (1.0 / sum(counts)))
    members = [physical.library.members(name) for name in regions]
    taken = [own[_spread(len(own), max(allowed, count))] for own, count in zip(members, counts, strict=True)]
    thinned = _part(physical, np.sort(np.concatenate(taken)), settings)
    supports = [*islice(project_supports(project, largest_first=True), most)]
    bank = project_bank(project, thinned, supports[:1])
    if most >= 2 * bank.size:
        bank = project_bank(project, thinned, supports[: most // bank.size])
    plans = project_plans(project, thinned, bank)
    return AnalysisProtocol(
        question=RegionalMap(bank_regions(bank), {next(iter(regions)): RegionRule(1.0)}),
        policy=RegionalPolicy(),
        level=project.settings.level,
        budget=1.0,
        bank=bank,
        streams=plans,
        seed=project.settings.seed,
        judge=project_judge(project, plans["deployment"].law, None),
    )


def _spread(count: int, most: int) -> IntArray:
    """At most so many of some numbers, equally many steps apart."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def _check_finite(protocol: AnalysisProtocol, tables: Mapping[str, Table]) -> None:
    """Point at a number that is not finite among the rows that propose, by its place in the file."""
    for name, table in tables.items():
        rows = protocol.split(name, len(table.values)).proposal[: _MOST_NUMBERS // table.values.shape[1]]
        values = part_of(table.values, rows)
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            row, column = bad[0].tolist()
            where = f"row {rows[row]}, column {table.channels[column]} (rows counted from 0)"
            raise MisuseError(f"{name} ({table.source.path})", "be finite", f"{values[row, column]} in {where}")


def _named(regions: tuple[str, ...]) -> str:
    more = f" and {len(regions) - _MOST_NAMED} more" if len(regions) > _MOST_NAMED else ""
    return ", ".join(regions[:_MOST_NAMED]) + more


def _part(physical: Physical, chosen: IntArray, settings: IntArray) -> Physical:
    """The bank of some elements in some settings."""
    library = physical.library
    count = len(physical.library.ids)
    grid = physical.settings
    columns = (settings[:, None] * count + chosen).reshape(-1)
    n_states = count * (1 if grid is None else len(grid.values))
    variants = physical.variants
    if variants is not None:
        variants = variants[:, :, np.append(columns, np.arange(n_states, variants.shape[2]))]  # and shared columns
    return replace(
        physical,
        library=replace(
            library,
            ids=tuple(library.ids[i] for i in chosen),
            regions=tuple(library.regions[i] for i in chosen),
            coordinates=library.coordinates[chosen],
            responses=library.responses[:, chosen],
            extents=None if library.extents is None else library.extents[chosen],
            variants=None if library.variants is None else library.variants[:, :, chosen],
        ),
        settings=None
        if grid is None
        else replace(grid, values=grid.values[settings], responses=grid.responses[settings][:, :, chosen]),
        variants=variants,
    )


# The explanation was chosen on the same rows, which makes them look better than they are: only what is plain is said.
_DOUBTED = 1e-6
_DEVIATIONS = 6.0


def _doubts(part: ProposedStream) -> Iterator[str]:
    """Sentences, none if the rows look as the explanation that they favour would have made them."""
    if part.best is None:
        return
    bank = part.bank
    few = part.split.proposal[:_MOST_ROWS]
    rows = np.asarray(part.table[few], dtype=np.float64)
    name = part.name
    best = f"those of the best explanation under the law {part.law.name}"
    made = part.law.sample(bank, part.best, np.random.default_rng(0), len(rows))
    seen = _strength_of_mean(rows)
    expected = _strength_of_mean(made)
    cosine = rows.mean(axis=0) @ made.mean(axis=0)
    if expected > _DEVIATIONS and seen < _DEVIATIONS:
        yield f"The {name} rows average to zero, but {best} do not: the coefficients may vary from row to row."
    elif expected > _DEVIATIONS and cosine < 0.0:
        yield f"The {name} rows point the other way than {best}: their sign may have been turned."
    with np.errstate(over="ignore", invalid="ignore"):
        energy = part.law.energy(bank, part.best, ArrayRows(part.table, few))
    misfit = None if energy is None else Misfit(name, part.best, *energy)
    if misfit is not None and misfit.probability < _DOUBTED:
        is_more = misfit.statistic > misfit.expected
        cause = "small, or something active is missing in the bank" if is_more else "large, or the rows were scaled"
        ratio = f"{misfit.statistic / misfit.expected:.3g} times the energy of {best}"
        yield f"The {name} rows have {ratio}: noise or strengths are too {cause}."


def _strength_of_mean(rows: Array) -> float:
    """The distance of the mean of rows from zero, in standard deviations of all channels together."""
    n, q = rows.shape
    spread = rows.var(axis=0)
    squares = n * np.divide(rows.mean(axis=0) ** 2, spread, out=np.zeros(q), where=spread > 0.0)
    return float((squares.sum() - q) / sqrt(2.0 * q))


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
    """Write a number with its noun in the right form."""
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"


def _duration(seconds: float) -> str:
    if seconds < 60.0:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60.0:.0f} minutes" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} hours"


def _size(count: int) -> str:
    unit, scale = ("kB", 1e3) if count < 1e6 else ("MB", 1e6) if count < 1e9 else ("GB", 1e9)
    return f"{count / scale:.3g} {unit}"
