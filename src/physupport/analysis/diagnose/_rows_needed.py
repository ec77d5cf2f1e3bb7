"""Which explanations keep a field from being finer."""

from dataclasses import dataclass
from math import ceil, isfinite, isnan
from typing import Literal, final

import numpy as np

from ..._typing import Array, BoolArray, IntArray
from ...banks import Bank
from ...laws import Law
from ...local.rates import MOST_ROWS
from ...questions import Sides
from .._result import Result


def sides(result: Result, field: int) -> Sides | None:
    """Those of a field as the reference sees it; None for a question that does not tell."""
    return result.predicates.sides(field, result.reference)


def contradicts(result: Result, field: int, index: IntArray) -> BoolArray:
    """(k,) whether explanations say of a field what cannot stand beside the reference in its finest statement."""
    known = sides(result, field)
    return np.zeros(len(index), dtype=np.bool_) if known is None or not index.size else known.contradict(index)


def rivals(result: Result, field: int) -> IntArray:
    """The admissible explanations that contradict the reference on a field, or, beside it, each other."""
    known, admissible = sides(result, field), result.admissible
    if known is None or not admissible.size:
        return admissible[:0]
    theirs = known.of(admissible)
    distinct = np.unique(theirs)
    beside = distinct[~known.beside(distinct)]
    split = beside[known.apart(beside, beside).any(axis=1)]
    is_rival: BoolArray = known.beside(theirs) | np.isin(theirs, split)
    return admissible[is_rival]


def middle(lower: Array, upper: Array) -> Array:
    """The middle of proven bounds, which are far closer together than anything read from it; NaN if unbounded."""
    is_bounded = np.isfinite(lower) & np.isfinite(upper)
    low, high = np.where(is_bounded, lower, 0.0), np.where(is_bounded, upper, 0.0)
    return np.where(is_bounded, low + (high - low) / 2.0, np.nan)


# A divergence this small a row is what rounding leaves of two laws that are equal.
_EQUAL = 1e-24

Basis = Literal["closed form", "average"]


@final
@dataclass(frozen=True, slots=True)
class RowsNeeded:
    """What it takes, in one stream, to reject the hardest of the explanations that must go for a field to be finer.

    rival: that one.  n_rivals: those expected to be rejected by then, among the admissible ones that contradict the
    reference, or each other; of two that contradict each other alone, the easier one has to go.
    rate: log evidence that one held-out row adds against the rival: the Kullback-Leibler divergence of its law from
    that of the reference, in closed form for covariances and given means; the average over the held-out rows so far for
    the other laws.
    rows: further held-out rows, missing / rate rounded up; 0 if only the proposal was at fault, None if no number of
    rows is expected to do, or if the rate cannot be computed and is NaN.
    """

    field: str
    stream: str
    reference: int
    rival: int
    n_rivals: int
    rate: float
    missing: float
    rows: int | None
    measured: int | None  # rows to measure, of which the split holds out that many
    basis: Basis
    sentence: str


def rows_needed(result: Result) -> tuple[RowsNeeded, ...]:
    """For every field and stream, the rows expected to reject what keeps the field from being finer.

    The reference is that of `misfit`.  If it makes the rows and is what a run with more of them proposes, log evidence
    against a rival grows by the divergence of their laws a row; what is missing is the threshold less the log
    likelihood ratio of reference to rival over the held-out rows so far.  These are expectations, not guarantees, and
    each stream is taken on its own.  Nothing is given for a field on whose finest statement the reference and all
    admissible explanations agree, nor where rows are judged without an e-process.
    """
    if not result.has_evidence:
        return ()
    fields = [answer.field for answer in result.trace.answers]
    return tuple(
        needed
        for number, field in enumerate(fields)
        if (against := rivals(result, number)).size and (known := sides(result, number)) is not None
        for needed in _field_rows(result, field, against, known)
    )


def _field_rows(result: Result, field: str, against: IntArray, known: Sides) -> list[RowsNeeded]:
    path = result.seal.evidence.along_path(np.append(against, result.reference))
    final = middle(path.lower[:, -1], path.upper[:, -1])  # (k + 1,)
    threshold = -np.log(result.seal.protocol.run_level)
    # The numerator drops out of the difference: what counts is how far the rows so far prefer the reference.
    missing = np.maximum(np.nan_to_num(threshold - (final[:-1] - final[-1]), nan=threshold), 0.0)
    return [_stream_rows(result, field, number, against, missing, known) for number in range(len(result.seal.parts))]


def _stream_rows(
    result: Result, field: str, stream: int, against: IntArray, missing: Array, known: Sides
) -> RowsNeeded:
    part = result.seal.parts[stream]
    keys_of = part.law.keys(result.bank)
    key, keys = int(keys_of(result.reference)[0]), keys_of(against)
    distinct, where = np.unique(keys, return_inverse=True)
    closed = _closed(part.law, result.bank, key, distinct)
    basis: Basis = "average" if closed is None else "closed form"
    rates = (_average(result, stream, key, distinct) if closed is None else closed)[where]
    needed = np.where(rates > _EQUAL, missing / np.where(rates > _EQUAL, rates, 1.0), np.inf)
    needed[missing == 0.0] = 0.0
    hardest = last_to_go(needed, known.of(against), known)
    n_rivals = int(np.count_nonzero(needed <= needed[hardest]))
    rows = ceil(needed[hardest]) if needed[hardest] <= MOST_ROWS else None
    if rows == 0 and missing[hardest] > 0.0:
        rows = 1  # a single row adds more than double precision can hold
    measured = None if rows is None else ceil(rows / (1.0 - part.plan.fraction))
    words = _Words(result, field, part.name, int(against[hardest]), n_rivals, basis)
    rate, lack = float(rates[hardest]), float(missing[hardest])
    sentence = words.none(rate, bool(keys[hardest] == key)) if rows is None else words.some(rows, measured, rate, lack)
    return RowsNeeded(
        field,
        part.name,
        result.reference,
        int(against[hardest]),
        n_rivals,
        rate,
        lack,
        rows,
        measured,
        basis,
        sentence,
    )


def last_to_go(needed: Array, theirs: IntArray, known: Sides) -> int:
    r"""The rival after whose rejection what is left agrees with the reference on the finest statement.

    A side goes with the last of its explanations, after :math:`n_s = \max_e n_e` rows, and that of the reference never;
    no two that are apart are left after :math:`\max_{s,t\ \mathrm{apart}}\min(n_s, n_t)`.
    needed: (k,) rows that reject each rival, inf if no number does.  theirs: (k,) sides.
    """
    distinct, where = np.unique(theirs, return_inverse=True)
    rows = np.full(len(distinct), -np.inf)
    np.maximum.at(rows, where, needed)
    # A rival is never on the side of the reference, which stands here as one more that stays.
    apart = known.apart(np.append(distinct, known.reference), distinct)  # (s + 1, s)
    both = np.where(apart, np.minimum(np.append(rows, np.inf)[:, None], rows), -np.inf)
    one, other = np.unravel_index(np.argmax(both), both.shape)
    side = other if one == len(distinct) or rows[other] <= rows[one] else one
    last: IntArray = np.flatnonzero((where == side) & (needed == rows[side]))
    return int(last[0])


def _closed(law: Law, bank: Bank, key: int, keys: IntArray) -> Array | None:
    """(k,) divergences, if the law has them; NaN if it is too near to singular for double precision."""
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return law.divergences(bank, key, keys)
    except np.linalg.LinAlgError:
        return np.where(keys == key, 0.0, np.nan)


def _average(result: Result, stream: int, key: int, keys: IntArray) -> Array:
    """(k,) mean over the held-out rows of the log likelihood ratio of the reference to each key; 0 for its own."""
    both = np.unique(np.append(keys, key))
    ratio = result.seal.evidence.ratio(stream, both)
    against = dict(zip(both.tolist(), middle(ratio.lower[:, -1], ratio.upper[:, -1]).tolist(), strict=True))
    n_rows = int(result.seal.parts[stream].checkpoints[-1])
    rates = np.array([against[k] - against[key] for k in keys.tolist()]) / n_rows
    return np.where(np.isfinite(rates), rates, 0.0)


@final
@dataclass(frozen=True, slots=True)
class _Words:
    result: Result
    field: str
    stream: str
    rival: int
    n_rivals: int
    basis: Basis

    def some(self, rows: int, measured: int | None, rate: float, missing: float) -> str:
        if not rows:
            return (
                f"The held-out rows so far would rule out {self.result.named(self.rival)} if explanation "
                f"{self.result.reference} had been proposed: a larger share of proposal rows, or more rows, may do."
            )
        added = f"{rate:.3g}" if isfinite(rate) else "more than double precision can hold,"
        how = "in closed form" if self.basis == "closed form" else "on average over the held-out rows so far"
        hardest = "" if self.n_rivals == 1 else f", the hardest of {self.n_rivals} to rule out,"
        return (
            f"About {rows} more held-out {self.stream} {'row' if rows == 1 else 'rows'} ({measured} measured at this "
            f"split) would be expected to rule out {self.result.named(self.rival)}{hardest} in favour of explanation "
            f"{self.result.reference}: {missing:.3g} of log evidence is missing and a row adds {added} {how}. This "
            f"is an expectation, not a guarantee."
        )

    def none(self, rate: float, is_same: bool) -> str:
        if isnan(rate):
            return (
                f"How many more {self.stream} rows would be expected to rule out {self.result.named(self.rival)} "
                f"cannot be computed: its noise and its strengths are too many powers of ten apart for double "
                f"precision."
            )
        opening = f"No number of {self.stream} rows is expected to rule out {self.result.named(self.rival)}: "
        part = next(p for p in self.result.seal.parts if p.name == self.stream)
        if is_same and part.law.part == "calibration":
            return (
                f"{opening}it has the same dictionary state and calibration nuisance as explanation "
                f"{self.result.reference}, and calibration rows do not tell what is active."
            )
        if is_same or (self.basis == "closed form" and rate <= _EQUAL):
            return (
                f"{opening}it gives the {self.stream} rows the same law as explanation {self.result.reference}, to all "
                f"digits of double precision."
            )
        if rate <= 0.0:
            return f"{opening}the held-out rows so far do not favour explanation {self.result.reference} on average."
        return f"{opening}a row adds {rate:.3g} of log evidence, so more than {MOST_ROWS:.0e} would be needed."
