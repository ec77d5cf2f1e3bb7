"""The parts of a project that a dry run reads and builds, and what it tries with a few explanations."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import comb, prod, sqrt
from time import perf_counter
from typing import final

import numpy as np
from numpy.typing import NDArray

from .._errors import MisuseError, misuse_named
from .._typing import Array, IntArray
from ..aeb import RegionalPolicy
from ..analysis import AnalysisProtocol, ProposedStream, freeze
from ..analysis.diagnose import Misfit
from ..banks import Bank, bank_regions
from ..io import ArrayRows, SplitRows, Table, as_pairs, part_of
from ..laws import Law
from ..questions import RegionalMap, RegionRule
from ._assemble import Assembled, assembled_of, project_bank, project_judge, project_plans, read_parts, run_name
from ._elements import BankCounts, Physical
from ._load import Project
from ._supports import largest_supports, most_active

# The explanation was chosen on the same rows, which makes them look better than they are: only what is plain is said.
_DOUBTED = 1e-6
_DEVIATIONS = 6.0
_MOST_ROWS = 2048


def law_doubts(part: ProposedStream, bank: Bank) -> Iterator[str]:
    """Sentences, none if the rows look as the explanation that they favour would have made them."""
    if part.best is None:
        return
    few = part.split.proposal[:_MOST_ROWS]
    rows = np.asarray(part.table[few], dtype=np.float64)
    name = part.name
    best = f"those of the best explanation under the law {part.law.name}"
    made = part.law.sample(bank, part.best, np.random.default_rng(0), len(rows))
    seen = _strength_of_mean(rows)
    expected = _strength_of_mean(made)
    cosine = rows.mean(axis=0) @ made.mean(axis=0)
    if expected > _DEVIATIONS and seen < _DEVIATIONS:
        yield f"The {name} rows average to zero, {best} do not: their coefficients may vary from row to row."
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
    """How many standard deviations the mean of rows is off zero, all channels together."""
    n, q = rows.shape
    spread = rows.var(axis=0)
    squares = n * np.divide(rows.mean(axis=0) ** 2, spread, out=np.zeros(q), where=spread > 0.0)
    return float((squares.sum() - q) / sqrt(2.0 * q))


def trial_protocol(project: Project, physical: Physical, most: int) -> AnalysisProtocol:
    """A protocol with the laws and the judge of a project, about so many explanations and for each noise as many.

    Its question is of no use.
    """
    thinned = _thinned(project, physical, most)
    supports = [*islice(largest_supports(project), max(1, most // _size(project, thinned)))]
    bank = project_bank(project, thinned, supports)
    rules = {next(iter(project.settings.regions)): RegionRule(1.0)}
    plans = project_plans(project, thinned, bank)
    _, judge = project_judge(project, plans["deployment"].law, None)
    return AnalysisProtocol(
        question=RegionalMap(bank_regions(bank), rules),
        policy=RegionalPolicy(),
        level=project.settings.level,
        budget=1.0,
        bank=bank,
        streams=plans,
        seed=project.settings.seed,
        judge=judge,
    )


def _thinned(project: Project, physical: Physical, most: int) -> Physical:
    """Fewer settings, and as many elements of each region, equally many steps apart, as the number allows."""
    n_settings = 1 if physical.settings is None else len(physical.settings.values)
    settings = _spread(n_settings, max(1, most // 16))
    allowed = max(1, most // len(settings))
    members = {name: physical.library.members(name) for name in project.settings.regions}
    counts = {name: region.count for name, region in project.settings.regions.items()}
    taken = {name: high for name, (_, high) in counts.items()}  # the fewest that give every region a set
    growing = [name for name, numbers in members.items() if len(numbers) > taken[name]]
    while growing:
        for name in [*growing]:
            more = taken | {name: min(2 * taken[name], len(members[name]))}
            if prod(_n_sets(more[other], *counts[other]) for other in more) > allowed:
                growing.remove(name)
                continue
            taken = more
            if taken[name] == len(members[name]):
                growing.remove(name)
    chosen = np.sort(np.concatenate([members[name][_spread(len(members[name]), taken[name])] for name in members]))
    return _part(physical, chosen, settings)


def _n_sets(n: int, low: int, high: int) -> int:
    return sum(comb(n, size) for size in range(low, high + 1))


def _spread(count: int, most: int) -> IntArray:
    """At most so many of some numbers, equally many steps apart."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def _size(project: Project, physical: Physical) -> int:
    """Explanations of one support."""
    sets = [
        _n_sets(len(physical.library.members(name)), *region.count) for name, region in project.settings.regions.items()
    ]
    return prod(sets) * (1 if physical.settings is None else len(physical.settings.values))


def _part(physical: Physical, chosen: IntArray, settings: IntArray) -> Physical:
    """Some elements in some settings."""
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


# Numbers of a bank that are held at once: strengths of supports, sets of elements, and regions of explanations.
_MOST_STRENGTHS = 2**22
_MOST_SETS = 2**16
_MOST_COLUMNS = 2**23
# Explanations whose plausibility is worked out, and numbers of rows that are looked at for that.
_MOST_RANKED = 2**18
_MOST_NUMBERS = 2**24
# Multiplications of one fit: a law with more takes too long to be tried even once.
_MOST_PRODUCTS = 5e7
# Explanations that a judge is tried on, ever more of them until the clock can tell.
_MOST_TRIED = 1024
_TIMES_MORE = 64
_LONG_TRIAL = 0.5

# Rows, and numbers of these, that are scored to measure the speed, under a law and then more until the clock can tell.
_MOST_SAMPLED = 2**20
_LONG_ENOUGH = 0.1

# The longest that the laws of a stream are tried on the proposal rows for.
_MOST_SECONDS = 2.0


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
    seconds: float | None  # to score both kinds of rows; None where that was not tried
    copied_bytes: int  # of what is not used where it lies
    doubts: tuple[str, ...]  # what in the proposal rows speaks against the law
    is_ranked: bool  # whether all explanations can be scored on the rows that propose in little time


@final
@dataclass(frozen=True, eq=False)  # no slots: a small protocol is made once
class Parts:
    """The parts of a project that a dry run reads, and the protocol if it is cheap to build."""

    project: Project
    counts: BankCounts
    physical: Physical
    tables: Mapping[str, Table]
    assembled: Assembled | None

    @classmethod
    def read(cls, project: Project, counts: BankCounts, *, is_built: bool) -> "Parts":
        """is_built: build the bank, however large it is."""
        physical, tables = read_parts(project)
        n_atoms = sum(region.count[1] for region in project.settings.regions.values())
        is_small = (
            counts.sets <= _MOST_SETS
            and counts.supports * n_atoms <= _MOST_STRENGTHS
            and counts.explanations * len(project.settings.regions) <= _MOST_COLUMNS
        )
        assembled = assembled_of(project, physical, tables) if is_built or is_small else None
        return cls(project, counts, physical, tables, assembled)

    @cached_property
    def small(self) -> AnalysisProtocol | None:
        """A protocol about as many explanations as are tried at most; None where no part of a bank can be tried."""
        return self._small(self._most_tried)

    @property
    def _most_tried(self) -> int:
        """Explanations of a trial: fewer where each has a strength of many regions."""
        n_atoms = sum(region.count[1] for region in self.project.settings.regions.values())
        return max(1, min(_MOST_TRIED, _MOST_STRENGTHS // n_atoms))

    def _small(self, most: int) -> AnalysisProtocol | None:
        if self.assembled is not None and self.counts.explanations <= most:
            return self.assembled.protocol
        if self.project.settings.elements.replicates is not None:
            return None  # they are of all elements
        try:
            return trial_protocol(self.project, self.physical, most)
        except MisuseError:  # of what is left, such as two regions that differ in other elements
            return None

    def streams(self, queries: int) -> tuple[StreamForecast, ...]:
        """One after the other; none where nothing can be tried."""
        small = self.small
        if small is None:
            return ()
        with misuse_named(lambda argument: run_name(self.project, self.tables, argument)):
            return tuple(self._stream(small, name, queries) for name in small.streams)

    def digest(self, *, is_wanted: bool, streams: tuple[StreamForecast, ...]) -> str | None:
        """The hash of the protocol, if it is cheap or wanted; rows that propose rank all explanations for it."""
        is_cheap = bool(streams) and all(stream.is_ranked for stream in streams)
        if self.assembled is None or not (is_wanted or is_cheap):
            return None
        with self.assembled.named():
            return freeze(self.assembled.protocol, self.tables).digest

    @property
    def _is_heavy(self) -> bool:
        """True if one law takes too long."""
        active = most_active(self.project)
        return max(active, self.physical.n_channels) * active**2 > _MOST_PRODUCTS

    def _stream(self, small: AnalysisProtocol, name: str, queries: int) -> StreamForecast:
        table = self.tables[name]
        plan = small.streams[name]
        bank = _bank(small)
        law = plan.law.completed(bank)
        split = small.split(name, len(table.values))
        rows = as_pairs(table.values) if law.is_complex else table.values
        n_laws = None if self.assembled is None else law.n_keys(self.assembled.bank)
        seconds: float | None = None
        is_ranked = not len(split.proposal)
        doubts: tuple[str, ...] = (_unseen(name) if is_ranked else _untried(name),)
        if not self._is_heavy:
            if len(split.proposal):
                seconds, doubts, is_ranked = self._tried(small, name, law, rows, split, queries)
            else:
                seconds = self._judging(queries)
        return StreamForecast(
            name=name,
            file=str(table.source.path),
            shape=tuple(table.source.shape),
            law=law.name,
            proposal_rows=len(split.proposal),
            held_out_rows=len(split.held_out),
            checkpoints=tuple(plan.stops(len(split.held_out)).tolist()),
            n_laws=n_laws,
            seconds=seconds,
            copied_bytes=0 if np.shares_memory(rows, table.values) else rows.nbytes,
            doubts=doubts,
            is_ranked=is_ranked,
        )

    def _tried(
        self,
        small: AnalysisProtocol,
        name: str,
        law: Law,
        rows: NDArray[np.generic],
        split: SplitRows,
        queries: int,
    ) -> tuple[float, tuple[str, ...], bool]:
        """Seconds to score all rows, what speaks against their law, and whether all laws could be scored for that."""
        bank = _bank(small)
        few = split.proposal[: _few(rows.shape[1])]
        _check_finite(name, self.tables[name], split.proposal[: max(1, _MOST_NUMBERS // rows.shape[1])])
        built = self.assembled
        n_laws = self.counts.explanations if built is None else law.n_keys(built.bank)
        a_row, a_key = _measured(law, bank, ArrayRows(rows, few), law.n_keys(bank))
        proposal = len(split.proposal)
        held_out = len(split.held_out)
        # With sufficient statistics a key costs the same for any number of rows.
        relative = (1.0, 1.0) if law.has_statistics else (proposal / len(few), held_out / len(few))
        proposing = a_key * n_laws * relative[0]
        judging = a_key * min(n_laws, queries) * relative[1]
        is_few = self.counts.explanations <= _MOST_RANKED and rows.size <= _MOST_NUMBERS
        is_ranked = built is not None and is_few and proposing < _MOST_SECONDS
        doubts: tuple[str, ...] = (_untried(name),)
        if built is not None and is_ranked:
            doubts = tuple(law_doubts(built.protocol.propose(name, rows), built.bank))
        return a_row * (proposal + held_out) + proposing + judging, doubts, is_ranked

    def _judging(self, queries: int) -> float | None:
        """Seconds for so many verdicts of a judge to whom all rows speak, measured on rows that the laws make.

        Opening the judge on these also meets what it would refuse: no row of the data is needed for that.
        """
        size = self.counts.explanations
        before = None
        most = 1 if self.project.settings.elements.replicates is None else self._most_tried
        while (small := self._small(most)) is not None:
            if before is None:
                self._asked(small)  # compiles
            tried = self._asked(small)
            more = tried.opening(before)
            # As many as should take no longer than this, by what those before took.
            further = min(
                _TIMES_MORE * tried.size, self._most_tried, size, tried.size + int(_LONG_TRIAL / max(more, 1e-6))
            )
            further = min(4 * tried.size, size) if before is None else further
            if further < 2 * tried.size:
                return tried.opened + more * (size - tried.size) + tried.each * min(size, queries)
            before = tried
            most = further
        return None

    def _asked(self, small: AnalysisProtocol) -> "_Asked":
        bank = _bank(small)
        rng = np.random.default_rng(0)
        laws = {name: plan.law.completed(bank) for name, plan in small.streams.items()}
        counts = {name: min(len(self.tables[name].values), _few(law.width(bank))) for name, law in laws.items()}
        rows = {name: law.sample(bank, 0, rng, counts[name]) for name, law in laws.items()}
        start = perf_counter()
        judge = small.read(**rows).judge
        judge.verdicts(np.arange(1))
        opened = perf_counter() - start

        def ask(count: int) -> None:
            judge.verdicts(np.unique(np.linspace(0, bank.size - 1, count).astype(np.int64)))

        return _Asked(bank.size, opened, _seconds_each(ask, bank.size))


@final
@dataclass(frozen=True, slots=True)
class _Asked:
    """How long a judge took with so many explanations."""

    size: int
    opened: float  # seconds until the first verdict
    each: float  # a verdict after that

    def opening(self, before: "_Asked | None") -> float:
        """Seconds that one explanation more takes until the first verdict; before: with fewer of them."""
        if before is None or before.size >= self.size:
            return self.opened / self.size
        return max(0.0, self.opened - before.opened) / (self.size - before.size)


def _bank(protocol: AnalysisProtocol) -> Bank:
    if protocol.bank is None:
        raise MisuseError("protocol", "have a bank", "none")
    return protocol.bank


def _few(width: int) -> int:
    """Rows that are scored to measure the speed."""
    return max(2, min(_MOST_ROWS, _MOST_SAMPLED // width))


def _measured(law: Law, bank: Bank, rows: ArrayRows, n_laws: int) -> tuple[float, float]:
    """Seconds to read a row, and to score a key; the first time is not counted, because it compiles."""
    law.stream(bank, rows, [rows.n_rows]).log_likelihood(np.arange(1))
    start = perf_counter()
    stream = law.stream(bank, rows, [rows.n_rows])
    read = perf_counter() - start
    return read / rows.n_rows, _seconds_each(lambda count: stream.log_likelihood(np.arange(count)), n_laws)


def _seconds_each(work: Callable[[int], object], most: int) -> float:
    """Seconds that one thing more takes, measured on one, and then on more until the clock can tell."""
    count = 1
    before = (0, 0.0)
    while True:
        start = perf_counter()
        work(count)
        taken = perf_counter() - start
        if taken > _LONG_ENOUGH or count == most:
            return max(0.0, taken - before[1]) / (count - before[0])
        count, before = min(4 * count, most), (count, taken)


def _unseen(name: str) -> str:
    return f"All {name} rows judge, so that none was looked at."


def _untried(name: str) -> str:
    return f"Whether the {name} rows look as this law makes them was not tried: there are too many explanations for it."


def _check_finite(name: str, table: Table, order: IntArray) -> None:
    """Point at a number that is not finite among these rows, by its place in the file."""
    step = _few(table.values.shape[1])
    for start in range(0, len(order), step):
        rows = order[start : start + step]
        values = part_of(table.values, rows)
        bad = np.argwhere(~np.isfinite(values.astype(np.complex128)))
        if len(bad):
            row = int(rows[bad[0, 0]])
            column = int(bad[0, 1])
            where = f"row {row}, column {table.channels[column]} (rows counted from 0)"
            number = f"{values[bad[0, 0], column]} in {where}"
            raise MisuseError(f"{name} ({table.source.path})", "be finite", number)
