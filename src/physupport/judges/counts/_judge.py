"""The judge of counts: evidence of composite Poisson explanations, averaged over splits of the data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, final

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_indices, check_open, read_only
from ..._codec import rows_seed
from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...laws import Law, in_pieces
from .._by_evidence import AverageJudge
from .._decide import decided
from .._evidence import Bounds, log_mean, sum_down, sum_up
from .._judge import Verdict, Verdicts
from .._specs import MOST_SPLITS, JudgeSpec, Sealed, register
from ._bands import fit_bands
from ._fit import MOST_STEPS, fit_all, log_mixture, log_supremum
from ._halves import SPLITS, CountTable, Half, Opponents, check_counts, check_exposure, halves, opponents

# Widths, in channels, of the corrections that make free opponents on an ordered axis.
WIDTHS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
# In log likelihood: what is worse than this much is neither an opponent nor retained.
_FAR = 60.0
# Fits that are worth a thread.
_PIECE = 16
# Channels of the windows in which a misfit is looked for.
_WINDOWS = (1, 2, 4, 8, 16, 32)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """One half, judged: its counts, the opponents that the other half chose, and how well all explanations fit."""

    counts: Array  # (q,)
    opponents: Opponents
    log_sup: Array  # (M, 2) bounds
    log_mixture: tuple[float, float]


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
    trials: tuple[_Trial, ...] = field(init=False)
    log_evidence: Bounds = field(init=False)  # (M,) each

    def __post_init__(self) -> None:
        check_open("level", self.level, 0.0, 1.0)
        trials: list[_Trial] = []
        for pair in halves(self.rows, self.exposure, self.spec.split, self.spec.n_splits, self.seed):
            trials += _trials(self.table, self.widths, pair)
        object.__setattr__(self, "trials", tuple(trials))
        object.__setattr__(self, "log_evidence", _log_evidence(trials, [trial.log_sup for trial in trials]))

    def log_evidence_within(self, band: tuple[Array, Array], chosen: IntArray) -> Bounds:
        """The log evidence (k,) against explanations with responses anywhere in a band (q, E)."""
        table = replace(self.table, band=band)
        return _log_evidence(self.trials, [_suprema(table, trial.counts, chosen) for trial in self.trials])

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
        amounts, _ = _fitted(self.table, counts, np.array([e]))
        means = self.table.means(e, amounts[0]) + 1.0 / len(counts)
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
        members = self.table.members[e]
        active = members[members >= 0]
        columns = self.table.columns[active]
        with ctx.workprec(bits):
            total = arb(0)
            for trial in self.trials:
                if self.table.ends is None:
                    amounts, _ = _fitted(self.table, trial.counts, np.array([e]))  # to the end
                    supremum = log_supremum(columns, trial.counts, amounts[0, : len(active)], bits)
                else:  # no more bits narrow what the fit leaves open
                    supremum = arb(trial.log_sup[e, 0]).union(arb(trial.log_sup[e, 1]))
                total += (log_mixture(trial.opponents, trial.counts, bits) - supremum).exp()
            return (total / len(self.trials)).log()


def _trials(table: CountTable, widths: tuple[float, ...], pair: tuple[Half, Half]) -> list[_Trial]:
    """Both halves of a split: the fits to each are its suprema, and opponents of the other."""
    fits = [_fits(table, half.counts) for half in pair]
    trials = []
    for judging, proposing in ((0, 1), (1, 0)):
        amounts, log_sup = fits[proposing]
        against = opponents(table, amounts, log_sup[:, 0], pair[proposing], pair[judging].exposure, widths)
        counts = pair[judging].counts
        exact = fits[judging][1]
        suprema = exact if table.ends is None else _suprema(table, counts, np.arange(table.size))
        trials.append(_Trial(read_only(counts), against, suprema, against.log_bounds(counts)))
    return trials


def _suprema(table: CountTable, counts: Array, chosen: IntArray) -> Array:
    """(k, 2) bounds of the largest log likelihood of explanations (k,), with responses anywhere within their bands."""
    assert table.ends is not None
    members = table.members[chosen]
    seen = counts > 0.0
    lower, upper = (np.ascontiguousarray(end[:, seen]) for end in table.ends)
    unseen = np.ascontiguousarray(table.ends[0][:, ~seen]).sum(axis=1) * (1.0 - 2.0**-40)  # not too large
    sums = table.ends[1].sum(axis=1)
    bounds = np.empty((len(members), 2))

    def work(part: slice) -> None:
        fit_bands(lower, upper, unseen, sums, counts[seen], members[part], MOST_STEPS, bounds[part])

    in_pieces(len(members), work, _PIECE)
    return bounds


def _log_evidence(trials: Sequence[_Trial], suprema: Sequence[Array]) -> Bounds:
    """(k,) the log of the mean over all halves, of suprema (k, 2) in each."""
    lower = [sum_down(np.full(len(s), t.log_mixture[0]), -s[:, 1]) for t, s in zip(trials, suprema, strict=True)]
    upper = [sum_up(np.full(len(s), t.log_mixture[1]), -s[:, 0]) for t, s in zip(trials, suprema, strict=True)]
    return log_mean(Bounds(np.array(lower), np.array(upper)))


def _fits(table: CountTable, counts: Array) -> tuple[Array, Array]:
    """Amounts (M, r) and bounds (M, 2) of every explanation.

    Those with most columns come first: whatever is far below the best of them is fitted no further than to know that.
    """
    sizes = (table.members >= 0).sum(axis=1)
    first = np.flatnonzero(sizes == sizes.max())
    smaller = np.flatnonzero(sizes < sizes.max())
    amounts = np.empty(table.members.shape)
    bounds = np.empty((table.size, 2))
    amounts[first], bounds[first] = _fitted(table, counts, first, -np.inf)
    amounts[smaller], bounds[smaller] = _fitted(table, counts, smaller, float(bounds[first, 0].max()) - _FAR)
    return amounts, bounds


def _fitted(table: CountTable, counts: Array, chosen: IntArray, floor: float = -np.inf) -> tuple[Array, Array]:
    """(k, r) and (k, 2) of some, each by itself, on as many threads as there are."""
    seen = counts > 0.0
    members = table.members[chosen]
    amounts = np.empty(members.shape)
    bounds = np.empty((len(members), 2))
    columns = np.ascontiguousarray(table.columns[:, seen])

    def work(part: slice) -> None:
        fit_all(columns, table.sums, counts[seen], members[part], MOST_STEPS, floor, amounts[part], bounds[part])

    in_pieces(len(members), work, _PIECE)
    return amounts, bounds


@register
@final
@dataclass(frozen=True, slots=True)
class ByCounts(JudgeSpec):
    """Have counts judged by evidence on halves of the data, with amounts and background unknown.

    n_splits: the number of times that the counts are split in halves.  Each half is judged against opponents that the
    other half chose; evidence is the mean over all halves.  All rows of that stream judge; halves come from
    `Sealed.draws_seed`.  The evidence of other streams at their end is multiplied with that of the counts: the product
    of independent e-values is one.
    """

    kind: ClassVar[str] = "counts"
    are_e_values: ClassVar[bool] = True
    has_common_numerator: ClassVar[bool] = True
    has_facts: ClassVar[bool] = True
    withholds: ClassVar[bool] = True
    fact_names: ClassVar[tuple[str, ...]] = ("best", "is_best_rejected", "level", "findings", "lacks")

    rule: ClassVar[str] = "be 'counts' only where one stream has rows that count"
    remedy: ClassVar[str] = ", or leave judge out"

    split: str = "thin"
    n_splits: int = 4

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise MisuseError("split", f"be one of {sorted(SPLITS)}", repr(self.split))
        check_count("splits", self.n_splits, 1, MOST_SPLITS)

    def judge(
        self,
        table: CountTable,
        rows: ArrayLike,
        level: float,
        *,
        seed: int = 0,
        exposure: ArrayLike | None = None,
        widths: Sequence[float] = WIDTHS,
    ) -> CountJudge:
        """The judge of rows (T, q) of counts, or one row (q,), with the exposure of each, asked directly.

        seed: the coins come from it and from the counts, so that it may serve any number of data sets.  widths: of the
        free opponents, in channels, 0 for channels without order; none for a judge that can never say that nothing
        fits.
        """
        counts = check_counts(rows, table.columns.shape[1])
        checked = check_array("widths", widths, (None,))
        if (checked < 0.0).any():
            raise MisuseError("widths", "be numbers of channels, none negative", checked.tolist())
        coins = rows_seed(check_count("seed", seed, 0), counts)
        times = check_exposure(exposure, len(counts))
        return CountJudge(self, table, counts, times, level, coins, tuple(checked.tolist()))

    def encode(self) -> dict[str, object]:
        """All that is fixed beforehand."""
        return {
            "judge": self.kind,
            "assumes": "counts are independent and Poisson, and their means no less than 0 in any part",
            "split": self.split,
            "n_splits": self.n_splits,
        }

    def splits(self, law: Law) -> bool:
        """Counts are split here, not by the protocol."""
        return not law.is_counted

    def open(self, sealed: Sealed) -> AverageJudge:
        """The tables of the bank, and the evidence of the other streams; reads the rows."""
        stream, design, evidence = sealed.divided(self)
        table = CountTable(design.columns, design.active, design.background, design.band)
        rows = check_counts(np.concatenate([*stream.rows.blocks()]), len(design.columns))
        exposure = check_exposure(design.exposure, len(rows))
        judge = CountJudge(self, table, rows, exposure, sealed.level, sealed.draws_seed)

        def keys_of(explanations: IntArray) -> IntArray:
            return np.asarray(stream.keys_of(explanations) // len(design.deviations))

        facts = partial(_facts, judge, keys_of, sealed.size)
        own = (judge.log_evidence, judge.ball, evidence, self, facts)
        if design.error_size is None or evidence is not None:  # other streams have exact responses
            return AverageJudge(sealed.size, sealed.level, keys_of, *own)

        def log_evidence_at(error: float, keys: IntArray) -> Bounds:
            band = design.widened(error).band
            assert band is not None
            return judge.log_evidence_within(band, keys)

        return AverageJudge(sealed.size, sealed.level, keys_of, *own, design.error, design.error_scale, log_evidence_at)


def _facts(
    judge: CountJudge, keys_of: Callable[[IntArray], IntArray], size: int, possible: IntArray
) -> dict[str, object]:
    """The best fit, whether it is rejected, and where it is worst."""
    evidence = judge.log_evidence.lower
    key = int(evidence.argmin())
    is_rejected = bool(judge.verdicts(np.array([key])).codes[0] == Verdict.REJECTED)
    finding = {"part": "channels", "place": judge.worst(key), "p": float(np.exp(-max(evidence[key], 0.0)))}
    return {
        "best": int(np.argmax(keys_of(np.arange(size)) == key)),
        "is_best_rejected": is_rejected,
        "is_withheld": is_rejected and len(possible) > 0,
        "level": judge.level,
        "findings": [finding],
        "lacks": "counts",
    }
