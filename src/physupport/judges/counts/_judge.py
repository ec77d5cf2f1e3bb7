"""The judge of counts: evidence of composite Poisson explanations, averaged over splits of the data."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import log
from typing import Any, ClassVar, final

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_indices, check_open, read_only
from ..._codec import rows_seed
from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...banks import UNLISTED
from ...laws import Design, Law
from .._amounts import Amounts, Asked, Interval, columns_by_name, gathered
from .._by_evidence import AverageJudge
from .._cells import extents, parameter_facts, search
from .._decide import compared, decided
from .._evidence import Bounds, threshold_bounds
from .._judge import Verdict, Verdicts
from .._specs import MOST_SPLITS, JudgeSpec, Sealed, register
from ._cells import CellEvidence, best_point
from ._fit import log_mixture, log_supremum
from ._halves import (
    SPLITS,
    CountTable,
    Half,
    Opponents,
    check_counts,
    check_exposure,
    halves,
    library_halves,
    opponents,
)
from ._many import Half as Columns, decisive_suprema, has_many_columns, log_evidence
from ._net_counts import Part, net_counts
from ._suprema import fits_of, fitted, shared_fit, suprema_of, suprema_within

# Widths, in channels, of the corrections that make free opponents on an ordered axis.
WIDTHS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
# By how much a fit has to be beyond what decides, before it stops: far more than its rounding.
_DECIDED = 0.01
# Runs of generic columns that are looked for: each costs some twenty fits.
_MOST_RUNS = 6
# Channels of the windows in which a misfit is looked for.
_WINDOWS = (1, 2, 4, 8, 16, 32)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """One half, judged: its counts, the opponents that the other half chose, and how well all explanations fit."""

    counts: Array  # (q,)
    library: Array | None  # (C, q) the half of the recorded responses that belongs to it
    opponents: Opponents
    log_sup: Array  # (M, 2) bounds
    log_mixture: tuple[float, float]
    amounts: Array | None = None  # (E,) of the largest explanation, where there are many columns
    point: Array | None = None  # (d,) of the parameters, that fits the other half best
    share: float = 0.5  # of the whole exposure


@final
@dataclass(frozen=True, slots=True, eq=False)
class CountJudge:
    r"""Rejects an explanation that made the counts with probability at most its level, whatever its amounts.

    Counts are independent and Poisson.  For each half y of each split, with q a mixture fixed on the other half,
    :math:`E = q(y) / \sup_{x\ge0} p_x(y)` has expectation at most 1 under the explanation, and so has the mean over
    all halves of all splits; it is rejected if that is above 1 / level.  The supremum is bounded from above
    (`log_bounds`), in ball arithmetic where float64 leaves the verdict open: a fit that stalls can keep, never lose.

    All explanations share a numerator, so one whose columns are among those of another has no less evidence against it.
    """

    spec: "ByCounts"
    table: CountTable
    rows: IntArray  # (T, q)
    exposure: Array  # (T,)
    level: float
    seed: int  # of the coins, which must belong to these rows alone
    widths: tuple[float, ...] = WIDTHS  # of the free opponents, 0 for channels without order
    is_alone: bool = True  # no evidence of other streams is multiplied with its own
    trials: tuple[_Trial, ...] = field(init=False)
    log_evidence: Bounds = field(init=False)  # (M,) each
    cells: CellEvidence | None = field(init=False)  # of a table with parameters anywhere in a box
    points: Array | None = field(init=False)  # (M, d) with the least evidence met, NaN where none was asked about
    n_asked: IntArray | None = field(init=False)  # (M,) cells and points

    def __post_init__(self) -> None:
        check_open("level", self.level, 0.0, 1.0)
        trials: list[_Trial] = []
        count = self.spec.n_splits
        recorded = self.table.recorded
        libraries = [None] * count if recorded is None else library_halves(recorded, count, self.seed)
        pairs = halves(self.rows, self.exposure, self.spec.split, count, self.seed)
        for pair, library in zip(pairs, libraries, strict=True):
            trials += self._trials_of_many(pair) if self.has_many else _trials(self.table, self.widths, pair, library)
        object.__setattr__(self, "trials", tuple(trials))
        if self.has_many:
            suprema = self._suprema(self.table.ends, self.table.members)
            trials = [replace(trial, log_sup=bounds) for trial, bounds in zip(trials, suprema, strict=True)]
            object.__setattr__(self, "trials", tuple(trials))
        for name in ("cells", "points", "n_asked"):
            object.__setattr__(self, name, None)
        if self.table.family is None:
            object.__setattr__(self, "log_evidence", self._evidence([trial.log_sup for trial in trials]))
        else:
            self._search()

    @property
    def has_many(self) -> bool:
        """True if there are so many columns that fits stop where their bounds decide."""
        return self.is_alone and self.table.family is None and has_many_columns(self.table)

    def _trials_of_many(self, pair: tuple[Half, Half]) -> list[_Trial]:
        """Both halves of a split, without suprema yet: one fit to each chooses the opponents of the other."""
        table = self.table
        shared_fits = [shared_fit(table, half.counts) for half in pair]
        fits = [fit for fit, _ in shared_fits]
        values = [value for _, value in shared_fits]
        trials = []
        for judging, proposing in ((0, 1), (1, 0)):
            shared = np.where(table.members >= 0, fits[proposing][table.members], 0.0)
            exposure = pair[judging].exposure
            against = opponents(table, shared, values[proposing], pair[proposing], exposure, self.widths)
            counts = read_only(pair[judging].counts)
            nothing = np.empty((0, 2))
            mixture = against.log_bounds(counts)
            trials.append(_Trial(counts, None, against, nothing, mixture, fits[judging], share=_share(pair, judging)))
        return trials

    def _suprema(self, ends: tuple[Array, Array] | None, members: IntArray) -> list[Array]:
        """Bounds (k, 2) of the suprema of columns (k, r) in each half, with responses anywhere between the ends."""
        if not self.has_many:
            return [suprema_of(self.table, ends, trial.counts, trial.library, members) for trial in self.trials]
        low, high = (self.table.columns, self.table.columns) if ends is None else ends
        parts = []
        for trial in self.trials:
            assert trial.amounts is not None
            parts.append((Columns.of((low, high), trial.counts), trial.log_mixture, trial.amounts))
        return decisive_suprema(parts, members, self.level)

    def _evidence(self, suprema: Sequence[Array]) -> Bounds:
        """(k,) the log of the mean over all halves, of suprema (k, 2) in each."""
        return log_evidence([trial.log_mixture for trial in self.trials], suprema)

    def _search(self) -> None:
        """Ask about the box of every explanation, the largest first.

        All have one numerator, so that the evidence against an explanation is no less than that against one that holds
        it: those within a rejected one are not tested.
        """
        table = self.table
        first = np.median([trial.point for trial in self.trials if trial.point is not None], axis=0)
        cells = CellEvidence(table, self._between, threshold_bounds(self.level)[1], first)
        members = [frozenset(row[row >= 0].tolist()) for row in table.members]
        lower, upper = np.full((2, table.size), np.inf)
        points = np.full((table.size, len(first)), np.nan)
        n_asked = np.zeros(table.size, dtype=np.int64)
        rejected: list[int] = []
        for e in sorted(range(table.size), key=lambda e: -len(members[e])):
            holder = next((other for other in rejected if members[e] <= members[other]), None)
            if holder is not None:
                lower[e] = lower[holder]
                continue
            found = search(cells, e)
            lower[e], upper[e], n_asked[e] = found.lower, found.upper, found.n_asked
            if found.point is not None:
                points[e] = found.point
            if found.lower > cells.threshold:
                rejected.append(e)
        object.__setattr__(self, "log_evidence", Bounds(lower, upper))
        for name, value in (("cells", cells), ("points", points), ("n_asked", n_asked)):
            object.__setattr__(self, name, value)

    def _between(self, ends: tuple[Array, Array], members: IntArray) -> Bounds:
        """The log evidence (k,) against columns (k, r) with responses anywhere between ends (E + b, q)."""
        return self._evidence(self._suprema(ends, members))

    def log_evidence_within(self, band: tuple[Array, Array], chosen: IntArray) -> Bounds:
        """Bounds (k,) of the log evidence against explanations with responses anywhere in a band (q, E).

        They are as narrow as a verdict needs: evidence above the number of halves over the level in one half rejects
        whatever the others say, and evidence of at most 1 / level in each half keeps.
        """
        ends = self.table.ends_of(band)
        if self.has_many:
            return self._evidence(self._suprema(ends, self.table.members[chosen]))
        suprema = np.tile([-np.inf, np.inf], (len(self.trials), len(chosen), 1))
        is_open = np.ones(len(chosen), dtype=np.bool_)
        for trial, bounds in zip(self.trials, suprema, strict=True):
            lower, upper = (end + log(self.level) for end in trial.log_mixture)
            rejects = lower - log(len(self.trials)) - _DECIDED
            asked = self.table.members[chosen[is_open]]
            bounds[is_open] = suprema_within(
                self.table, ends, trial.counts, trial.library, asked, (rejects, upper + _DECIDED)
            )
            is_open &= bounds[:, 1] > rejects
        return self._evidence([*suprema])

    def interval(self, key: int, columns: tuple[int, ...], most: float) -> Interval | None:
        """The net counts of some columns of an explanation against which the log evidence is at most this."""
        ends = self.table.ends
        if self.cells is not None:
            ends = self.table.cell_ends(extents(self.cells, [key]))

        members = self.table.members[[key]]
        chosen = list(columns)

        def tilted(number: int, slope: float) -> float:
            counts = self.trials[number].counts
            if ends is not None:
                tilt = np.zeros(len(self.table.columns))
                tilt[chosen] = slope * self.table.sums[chosen]
                return float(suprema_within(self.table, ends, counts, None, members, tilt=tilt)[0, 1])
            sums = self.table.sums.copy()
            sums[chosen] *= 1.0 + slope
            upper = float(fitted(self.table, counts, members, sums=sums)[1][0, 1])
            return upper + 2.0**-50 * float(counts.sum())  # the product above is rounded

        parts = [Part(t.log_mixture[0], t.share, float(t.counts.sum())) for t in self.trials]
        return net_counts(parts, tilted, most)

    def unlisted_runs(self, generic: IntArray) -> list[tuple[int, int]]:
        """Disjoint runs of generic columns (G,), each as short as it can be at either end: see `Judge.unlisted_runs`.

        The longer the run that is left out, the more is rejected, so that bisection finds its ends: the first column up
        to which all are needed, then a run around it, and the ends of this, each with the other fixed.
        """
        holders = np.flatnonzero((self.table.members == generic[0]).any(axis=1))
        listed = [frozenset(self.table.supports[e]) for e in holders.tolist()]
        is_largest = [not any(own < other for other in listed) for own in listed]
        members = self.table.members[holders[is_largest]]

        def is_needed(first: int, last: int) -> bool:
            """True if all explanations without the generic columns first to last are rejected."""
            left = np.where(np.isin(members, generic[first : last + 1]), -1, members)
            evidence = self._evidence(self._suprema(self.table.ends, left))
            return bool((compared(evidence, self.level).codes == Verdict.REJECTED).all())

        runs = list[tuple[int, int]]()
        start = 0
        while len(runs) < _MOST_RUNS and start < len(generic) and is_needed(start, len(generic) - 1):
            end = len(generic) - 1
            centre = start + bisect_left(range(start, end), True, key=lambda last: is_needed(start, last))
            reach = range(centre - start)
            half = bisect_left(reach, True, key=lambda k: is_needed(centre - k, min(centre + k, end)))
            first = centre - half
            last = min(centre + half, end)
            first += bisect_left(range(first + 1, centre + 1), True, key=lambda begin: not is_needed(begin, last))
            last = centre + bisect_left(range(centre, last), True, key=lambda stop: is_needed(first, stop))
            runs.append((first, last))
            start = last + 1
        return runs

    @property
    def size(self) -> int:
        """The explanations of the table."""
        return self.table.size

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """The margin is the log of the mean evidence over 1 / level."""
        chosen = check_indices("explanations", explanations, self.size)
        bounds = Bounds(self.log_evidence.lower[chosen], self.log_evidence.upper[chosen])
        return decided(bounds, self.level, lambda row, bits: self.ball(int(chosen[row]), bits))

    def worst(self, e: int) -> str:
        """The channels where an explanation, fitted to all counts, is farthest off in standard deviations."""
        counts = self.rows.sum(axis=0).astype(np.float64)
        table = self.table
        if self.points is not None and not np.isnan(self.points[e]).any():
            table = table.moved(self.points[e])
        amounts, _ = fitted(table, counts, table.members[[e]])
        means = table.means(e, amounts[0]) + 1.0 / len(counts)
        sums = np.concatenate([[[0.0, 0.0]], np.cumsum(np.stack([counts - means, means], axis=1), axis=0)])
        farthest = (0.0, 0, 1)
        for width in _WINDOWS[: 1 + int(np.log2(len(counts)))]:
            residual, mean = (sums[width:] - sums[:-width]).T
            scores = np.abs(residual) / np.sqrt(mean)
            farthest = max(farthest, (float(scores.max()), int(scores.argmax()), width))
        _, start, width = farthest
        return f"channel {start}" if width == 1 else f"channels {start} to {start + width - 1}"

    def ball(self, e: int, bits: int) -> arb:
        """Encloses the log of the mean evidence."""
        if self.cells is not None:  # no more bits narrow what the search leaves open
            with ctx.workprec(bits):
                return arb(self.log_evidence.lower[e]).union(arb(self.log_evidence.upper[e]))
        members = self.table.members[e]
        active = members[members >= 0]
        columns = self.table.columns[active]
        with ctx.workprec(bits):
            total = arb(0)
            for trial in self.trials:
                if not self.table.has_width:
                    amounts, _ = fitted(self.table, trial.counts, self.table.members[[e]])  # to the end
                    supremum = log_supremum(columns, trial.counts, amounts[0, : len(active)], bits)
                else:  # no more bits narrow what the fit leaves open
                    supremum = arb(trial.log_sup[e, 0]).union(arb(trial.log_sup[e, 1]))
                total += (log_mixture(trial.opponents, trial.counts, bits) - supremum).exp()
            return (total / len(self.trials)).log()


def _trials(
    table: CountTable, widths: tuple[float, ...], pair: tuple[Half, Half], libraries: tuple[Array, Array] | None
) -> list[_Trial]:
    """Both halves of a split: the fits to each are its suprema, and opponents of the other.

    libraries: the halves of the recorded responses.  Each belongs to one half of the counts, so that opponents do not
    depend on the half that judges.
    """
    tables = [table] * 2 if libraries is None else [table.estimated(library) for library in libraries]
    points = [None if table.family is None else best_point(table, half.counts) for half in pair]
    tables = [own if point is None else own.moved(point) for own, point in zip(tables, points, strict=True)]
    fits = [fits_of(own, half.counts) for own, half in zip(tables, pair, strict=True)]
    trials = []
    for judging, proposing in ((0, 1), (1, 0)):
        amounts, log_sup = fits[proposing]
        exposure = pair[judging].exposure
        against = opponents(tables[proposing], amounts, log_sup[:, 0], pair[proposing], exposure, widths)
        counts = pair[judging].counts
        library = None if libraries is None else libraries[judging]
        suprema = fits[judging][1]
        if table.has_width:
            suprema = suprema_within(table, table.ends, counts, library, table.members)
        own = against, suprema, against.log_bounds(counts)
        share = _share(pair, judging)
        trials.append(_Trial(read_only(counts), library, *own, point=points[proposing], share=share))
    return trials


def _share(pair: tuple[Half, Half], judging: int) -> float:
    """The share of the whole exposure that one half has."""
    return pair[judging].exposure / (pair[0].exposure + pair[1].exposure)


@register
@final
@dataclass(frozen=True, slots=True)
class ByCounts(JudgeSpec):
    """Have counts judged by evidence on halves of the data, with amounts and background unknown.

    n_splits: the number of times that the counts are split in halves.  Each half is judged against opponents that the
    other half chose; evidence is the mean over all halves.  widths: of the free opponents, in channels; 0 takes the
    counts of the other half as they are, which suits few wide channels.  All rows of that stream judge; halves come
    from `Sealed.draws_seed`.  The evidence of other streams at their end is multiplied with that of the counts: the
    product of independent e-values is one.
    """

    kind: ClassVar[str] = "counts"
    are_e_values: ClassVar[bool] = True
    has_common_numerator: ClassVar[bool] = True
    has_facts: ClassVar[bool] = True
    withholds: ClassVar[bool] = True
    fact_names: ClassVar[tuple[str, ...]] = ("best", "is_best_rejected", "level", "findings", "lacks", "zero_rows")

    rule: ClassVar[str] = "be 'counts' only where one stream has rows that count"
    remedy: ClassVar[str] = ", or leave judge out"

    split: str = "thin"
    n_splits: int = 4
    widths: Sequence[float] = WIDTHS

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise MisuseError("split", f"be one of {sorted(SPLITS)}", repr(self.split))
        check_count("splits", self.n_splits, 1, MOST_SPLITS)
        object.__setattr__(self, "widths", _check_widths(self.widths))

    def judge(
        self,
        table: CountTable,
        rows: ArrayLike,
        level: float,
        *,
        seed: int = 0,
        exposure: ArrayLike | None = None,
        widths: Sequence[float] | None = None,
    ) -> CountJudge:
        """The judge of rows (T, q) of counts, or one row (q,), with the exposure of each, asked directly.

        seed: the coins come from it and from the counts, so that it may serve any number of data sets.  widths: of the
        free opponents, those of the specification unless given; none for a judge that can never say that nothing fits.
        """
        counts = check_counts(rows, table.columns.shape[1])
        chosen = self.widths if widths is None else _check_widths(widths)
        coins = rows_seed(check_count("seed", seed, 0), counts)
        times = check_exposure(exposure, len(counts))
        return CountJudge(self, table, counts, times, level, coins, tuple(chosen))

    def encode(self) -> dict[str, object]:
        """The options that are fixed before held-out rows are read."""
        content: dict[str, object] = {
            "judge": self.kind,
            "assumes": "counts are independent and Poisson, and their means no less than 0 in any part",
            "split": self.split,
            "n_splits": self.n_splits,
        }
        return content if tuple(self.widths) == WIDTHS else content | {"widths": [*self.widths]}

    def splits(self, law: Law) -> bool:
        """Counts are split here, not by the protocol."""
        return not law.is_counted

    def open(self, sealed: Sealed) -> AverageJudge:
        """The tables of the bank, and the evidence of the other streams; reads the rows."""
        stream, design, evidence = sealed.divided(self)
        table = CountTable(
            design.columns, design.active, design.background, design.band, design.recorded, design.family
        )
        rows = check_counts(np.concatenate([*stream.rows.blocks()]), len(design.columns))
        exposure = check_exposure(design.exposure, len(rows))
        alone = evidence is None
        judge = CountJudge(self, table, rows, exposure, sealed.level, sealed.draws_seed, tuple(self.widths), alone)

        def keys_of(explanations: IntArray) -> IntArray:
            return np.asarray(stream.keys_of(explanations) // len(design.deviations))

        facts = partial(_facts, judge, keys_of, sealed.size)
        own = (judge.log_evidence, judge.ball, evidence, self, facts)
        generic = np.arange(design.columns.shape[1])[design.columns.shape[1] - design.n_generic :]
        find_runs = partial(judge.unlisted_runs, generic) if len(generic) and evidence is None else None
        find_amounts = partial(_amounts, judge, design)
        further: dict[str, Any] = {"find_runs": find_runs, "find_amounts": find_amounts}
        if design.error_size is None or evidence is not None:  # other streams have exact responses
            return AverageJudge(sealed.size, sealed.level, keys_of, *own, **further)

        def log_evidence_at(error: float, keys: IntArray) -> Bounds:
            band = design.widened(error).band
            assert band is not None
            return judge.log_evidence_within(band, keys)

        errors = (design.error, design.error_scale, log_evidence_at)
        return AverageJudge(sealed.size, sealed.level, keys_of, *own, *errors, **further)


def _amounts(judge: CountJudge, design: Design, keys: IntArray, beside: Array) -> Amounts:
    """The net counts of all elements that evidence does not reject."""
    if judge.table.recorded is not None:
        return Amounts(reason="recorded")
    if has_many_columns(judge.table):
        return Amounts(reason="columns")
    most = threshold_bounds(judge.level)[1]
    asked = []
    for key, other in zip(keys.tolist(), beside.tolist(), strict=True):
        listed = [column for column in judge.table.supports[key] if design.names[column] != UNLISTED]
        whole = frozenset(judge.table.supports[key])
        asked.append(Asked(key, columns_by_name(listed, design.names), other, whole))
    return gathered("counts", asked, lambda key, columns, other: judge.interval(key, columns, most - other), nests=True)


def _check_widths(widths: Sequence[float]) -> tuple[float, ...]:
    checked = check_array("widths", widths, (None,))
    if (checked < 0.0).any():
        raise MisuseError("widths", "be numbers of channels, none negative", checked.tolist())
    return tuple(checked.tolist())


def _facts(
    judge: CountJudge, keys_of: Callable[[IntArray], IntArray], size: int, possible: IntArray
) -> dict[str, object]:
    """The best fit, whether it is rejected, and where it is worst."""
    evidence = judge.log_evidence.lower
    key = int(evidence.argmin())
    is_rejected = bool(judge.verdicts(np.array([key])).codes[0] == Verdict.REJECTED)
    finding = {"part": "channels", "place": judge.worst(key), "p": float(np.exp(-max(evidence[key], 0.0)))}
    return _cell_facts(judge, np.unique(keys_of(possible))) | {
        "best": int(np.argmax(keys_of(np.arange(size)) == key)),
        "is_best_rejected": is_rejected,
        "is_withheld": is_rejected and len(possible) > 0,
        "level": judge.level,
        "findings": [finding],
        "lacks": "counts",
        "zero_rows": int((~judge.rows.any(axis=1)).sum()),
    }


def _cell_facts(judge: CountJudge, possible: IntArray) -> dict[str, object]:
    """The extents of every parameter that the explanations left allow, and how many cells and points were asked about.

    Those within another one that is left are left out, as it allows for all that they allow for.
    """
    if judge.cells is None or judge.n_asked is None:
        return {}
    members = [frozenset(judge.table.supports[key]) for key in possible.tolist()]
    largest = [
        key for key, own in zip(possible.tolist(), members, strict=True) if not any(own < other for other in members)
    ]
    return parameter_facts([(judge.cells, largest)], int(judge.n_asked.sum()))
