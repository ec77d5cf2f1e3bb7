"""Which explanations keep a field from being finer, and the rows that would be expected to reject them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import ceil, isnan
from typing import Any, Literal, final

import numpy as np

from ..._codec import bound_json
from ..._typing import Array, BoolArray, IntArray
from ...banks import Bank
from ...laws import Law
from ...local.planning import MOST_ROWS
from ...questions import Contradictions, abridged
from ...report import refine_sentence
from .._analyse import Result


def sides(result: Result, field: int) -> Contradictions | None:
    """Those of a field as the reference sees it; None for a question that does not tell."""
    return result.question.contradictions(field, result.reference)


def contradicts(result: Result, field: int, index: IntArray) -> BoolArray:
    """(k,) whether explanations say of a field what cannot stand beside the reference in its finest statement."""
    known = sides(result, field)
    return np.zeros(len(index), dtype=np.bool_) if known is None or not index.size else known.contradict(index)


def rivals(result: Result, field: int) -> IntArray:
    """The admissible explanations that contradict the reference on a field, or, beside it, each other."""
    known = sides(result, field)
    admissible = result.admissible
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
    low = np.where(is_bounded, lower, 0.0)
    high = np.where(is_bounded, upper, 0.0)
    return np.where(is_bounded, low + (high - low) / 2.0, np.nan)


# A divergence this small a row is what rounding leaves of two laws that are equal.
_EQUAL = 1e-24

Basis = Literal["closed form", "average"]


@final
@dataclass(frozen=True, slots=True)
class RowsNeeded:
    """The rows of one stream that reject the hardest of the explanations that must go for a field to be finer.

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
    part: str  # of what the law of the stream tells: calibration or deployment
    is_same_key: bool  # the rival differs from the reference in nothing that the stream looks at
    is_same_law: bool  # it gives the rows the same law, to all digits of double precision
    says: Mapping[str, str | None]  # what the rival says

    def json(self) -> dict[str, Any]:
        """The facts as details hold them: a rate beyond double precision is `inf`, one that is not known null."""
        rate = None if isnan(self.rate) else bound_json(self.rate)
        facts = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "field"}
        return facts | {"rate": rate, "says": abridged(self.says, self.field)}

    @property
    def sentence(self) -> str:
        """Return the same as a sentence."""
        return refine_sentence(self.json())


def rows_needed(result: Result) -> tuple[RowsNeeded, ...]:
    """Estimate, for every field and stream, the rows needed to reject what prevents a finer label.

    The reference is that of `misfit`.  If it makes the rows and is what a run with more of them proposes, log evidence
    against a rival grows by the divergence of their laws a row; what is missing is the threshold less the log
    likelihood ratio of reference to rival over the held-out rows so far.  These are expectations, not guarantees, and
    each stream is taken on its own.  Nothing is given for a field on whose finest statement the reference and all
    admissible explanations agree, nor where rows are judged without an e-process.
    """
    if not result.has_evidence:
        return ()
    names = [answer.field for answer in result.trace.answers]
    return tuple(
        needed
        for number, field in enumerate(names)
        if (against := rivals(result, number)).size and (known := sides(result, number)) is not None
        for needed in _field_rows(result, field, against, known)
    )


def _field_rows(result: Result, field: str, against: IntArray, known: Contradictions) -> list[RowsNeeded]:
    path = result.seal.evidence.along_path(np.append(against, result.reference))
    final = middle(path.lower[:, -1], path.upper[:, -1])  # (k + 1,)
    threshold = -np.log(result.seal.protocol.run_level)
    # The numerator drops out of the difference: what counts is how far the rows so far prefer the reference.
    missing = np.maximum(np.nan_to_num(threshold - (final[:-1] - final[-1]), nan=threshold), 0.0)
    return [_stream_rows(result, field, number, against, missing, known) for number in range(len(result.seal.parts))]


def _stream_rows(
    result: Result, field: str, stream: int, against: IntArray, missing: Array, known: Contradictions
) -> RowsNeeded:
    part = result.seal.parts[stream]
    keys_of = part.law.keys(result.bank)
    key = int(keys_of(result.reference)[0])
    keys = keys_of(against)
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
    rate = float(rates[hardest])
    is_same_key = bool(keys[hardest] == key)
    return RowsNeeded(
        field=field,
        stream=part.name,
        reference=result.reference,
        rival=int(against[hardest]),
        n_rivals=n_rivals,
        rate=rate,
        missing=float(missing[hardest]),
        rows=rows,
        measured=measured,
        basis=basis,
        part=part.law.part,
        is_same_key=is_same_key,
        is_same_law=is_same_key or (closed is not None and rate <= _EQUAL),
        says=result.says(int(against[hardest])),
    )


def last_to_go(needed: Array, theirs: IntArray, known: Contradictions) -> int:
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
    ratio = result.seal.evidence.factors[stream].ratio(both)
    against = dict(zip(both.tolist(), middle(ratio.lower[:, -1], ratio.upper[:, -1]).tolist(), strict=True))
    n_rows = int(result.seal.parts[stream].checkpoints[-1])
    rates = np.array([against[k] - against[key] for k in keys.tolist()]) / n_rows
    return np.where(np.isfinite(rates), rates, 0.0)
