"""Verdicts from evidence, certified; the best law of the proposal rows; and verdicts on whole dictionary states."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike

from .._arrays import check_indices
from .._checks import check_count
from .._errors import MisuseError
from .._typing import Array, IntArray
from ..laws import Scores, Stream
from ._evidence import BLOCK, Evidence, blocks, largest
from ._judge import Codes, Verdict, Verdicts
from ._scored import (
    FLOAT_BITS,
    Bounds,
    ball_bounds,
    check_levels,
    score_bounds,
    sum_down,
    sum_up,
    threshold_ball,
    threshold_bounds,
)

FIRST_BITS = 64
MOST_BITS = 1024
Progress = Callable[[int, int], None]
_OPEN = np.uint8(Verdict.INDETERMINATE)


def verdicts(
    evidence: Evidence,
    indices: ArrayLike,
    levels: ArrayLike,
    *,
    most_bits: int = MOST_BITS,
    block: int = BLOCK,
    progress: Progress | None = None,
) -> Verdicts:
    r"""Verdicts (k, l) on explanations (k,) at one or more levels, all from one scoring.

    Rejected if :math:`\max_k E_k(e) > 1/\alpha` (eq:candidate-rejection-threshold), admissible if not, each only when
    proven: by float64 bounds, or else in ball arithmetic at 64, 128, ... up to most_bits bits. An explanation that
    made the data is rejected with probability at most alpha (cor:eprocess-retention, eq:on-bank-truth-retention).
    Bounds are those of the margin :math:`m(e) = \max_k\log E_k(e) + \log\alpha` (eq:supp-log-e-margin).

    Works through the explanations block by block; progress(done, total) is called after each.
    """
    chosen = check_indices("indices", indices, evidence.size)
    at = check_levels(levels)
    check_count("most_bits", most_bits)
    parts = []
    done = 0
    for part in blocks(chosen, check_count("block", block)):
        parts.append(_decided(evidence, part, at, most_bits))
        done += len(part)
        if progress is not None:
            progress(done, len(chosen))
    return Verdicts.joined(parts)


def product_verdicts(
    log_e: Bounds, keys: IntArray, ball: Callable[[int, int], arb], log_e_beside: Bounds, level: float
) -> Verdicts:
    """Verdicts (k,) from e-values of keys (k,), times the final evidence of independent streams: an e-value again.

    log_e: of the e-values of all keys.  ball: encloses that of a key, with so many bits.  log_e_beside: (k,).
    """
    bounds = Bounds(sum_down(log_e.lower[keys], log_e_beside.lower), sum_up(log_e.upper[keys], log_e_beside.upper))

    def product(row: int, bits: int) -> arb:
        ends = [arb(float(end[row])) for end in log_e_beside]
        return ball(int(keys[row]), bits) + ends[0].union(ends[1])

    return decided(bounds, np.array([level]), product, MOST_BITS).at_level(0)


def compared(bounds: Bounds, levels: Array) -> Verdicts:
    """Log evidence (k,) against every threshold: verdicts (k, l), open where the float64 bounds straddle it."""
    least, most = threshold_bounds(levels)
    codes = np.full((len(bounds.lower), len(levels)), _OPEN, dtype=np.uint8)
    codes[bounds.lower[:, None] > most] = Verdict.REJECTED
    codes[bounds.upper[:, None] <= least] = Verdict.ADMISSIBLE
    return _measured(codes, bounds, levels, np.full(len(codes), FLOAT_BITS, dtype=np.int64))


def decided(bounds: Bounds, levels: Array, ball: Callable[[int, int], arb], most_bits: int) -> Verdicts:
    """The same; rows left open are refined by ball(row, bits)."""
    first = compared(bounds, levels)
    codes = first.codes
    bits = np.full(len(first), FLOAT_BITS, dtype=np.int64)
    rows = np.flatnonzero((codes == _OPEN).any(axis=1)).tolist()
    if not rows:
        return first
    lower = bounds.lower.copy()
    upper = bounds.upper.copy()
    for row in rows:
        precision = FIRST_BITS
        while precision <= most_bits and np.any(codes[row] == _OPEN):
            refined = ball(row, precision)
            _settle(codes[row], levels, refined, precision)
            below, above = ball_bounds(refined)
            lower[row] = max(lower[row], below)
            upper[row] = min(upper[row], above)
            bits[row] = precision
            precision *= 2
    return _measured(codes, Bounds(lower, upper), levels, bits)


def _decided(evidence: Evidence, indices: IntArray, levels: Array, most_bits: int) -> Verdicts:
    def ball(row: int, bits: int) -> arb:
        return evidence.ball(int(indices[row]), bits)

    return decided(evidence.along_path(indices).peak(), levels, ball, most_bits)


def _measured(codes: Codes, bounds: Bounds, levels: Array, bits: IntArray) -> Verdicts:
    """With bounds (k, l) of the margins."""
    least, most = threshold_bounds(levels)
    lower = sum_down(bounds.lower[:, None], -most)
    upper = sum_up(bounds.upper[:, None], -least)
    # Balls may have proven a sign that the difference of two rounded bounds leaves open.
    lower = np.where(codes == Verdict.REJECTED, np.maximum(lower, 0.0), lower)
    return Verdicts(codes, lower, np.where(codes == Verdict.ADMISSIBLE, np.minimum(upper, 0.0), upper), bits)


def _settle(codes: Codes, levels: Array, log_evidence: arb, bits: int) -> None:
    """Decide the open entries of one row (l,) that a ball decides, in place."""
    for column in np.flatnonzero(codes == Verdict.INDETERMINATE).tolist():
        threshold = threshold_ball(float(levels[column]), bits)
        # A comparison of balls is true only if it holds for all their points.
        if log_evidence > threshold:
            codes[column] = Verdict.REJECTED
        elif log_evidence <= threshold:
            codes[column] = Verdict.ADMISSIBLE


# Exact ties stay tied at every precision, and a proposal is valid whichever of them wins: this is enough to tell
# apart what differs at all.
TIE_BITS = 256


@final
@dataclass(frozen=True, slots=True, eq=False)
class BestKey:
    """The key of the largest log likelihood of all proposal rows, and those not proven to be below it."""

    key: int
    tied: IntArray  # (m,) increasing; the key and every key that no precision allowed could tell from it


@final
@dataclass(frozen=True, slots=True)
class BestExplanation:
    """The explanation of lowest index whose key has the largest log likelihood of all proposal rows."""

    index: int
    key: int


def best_key(
    stream: Stream, keys: ArrayLike | None = None, *, scores: Scores | None = None, most_bits: int = TIE_BITS
) -> BestKey:
    """The key with the largest log likelihood at the last checkpoint; of equal ones the lowest.

    stream: over proposal rows only.  keys: distinct candidates, all of the stream's if left out.  scores: those of the
    candidates in increasing order, where they are at hand.

    Keys whose float64 bounds overlap the best are compared by enclosures at 64, 128, ... up to most_bits bits.
    """
    candidates = _candidates(stream, keys)
    parts = [stream.log_likelihood(part) for part in blocks(candidates, BLOCK)] if scores is None else [scores]
    bounds = [score_bounds("the proposal stream", part) for part in parts]
    lower, upper = (np.concatenate([part[side][:, -1] for part in bounds]) for side in (0, 1))
    left = candidates[upper >= lower.max()]
    bits = FIRST_BITS
    while len(left) > 1 and bits <= most_bits:
        balls = [stream.enclosure(int(key), bits)[-1] for key in left]
        with ctx.workprec(bits):  # the ends of a ball are rounded, too
            left = _not_below(left, balls)
        bits *= 2
    return BestKey(int(left.min()), np.sort(left))


def best_explanation(
    stream: Stream, size: int, keys_of: Callable[[IntArray], IntArray], *, scores: Scores | None = None
) -> BestExplanation:
    """The explanation with the largest log likelihood of the proposal rows; of equal ones the lowest index.

    Explanations with one key are one law and are scored once.  keys_of: explanation indices (k,) to keys (k,).  scores:
    those of all keys that explanations have, in increasing order, where they are at hand.
    """
    first = np.full(stream.n_keys, size, dtype=np.int64)  # lowest explanation of each key
    for part in blocks(np.arange(check_count("size", size)), BLOCK):
        keys = check_indices("keys", keys_of(part), stream.n_keys)
        np.minimum.at(first, keys, part)
    tied = best_key(stream, np.flatnonzero(first < size), scores=scores).tied
    winner = int(tied[np.argmin(first[tied])])
    return BestExplanation(int(first[winner]), winner)


def _candidates(stream: Stream, keys: ArrayLike | None) -> IntArray:
    if keys is None:
        return np.arange(stream.n_keys)
    candidates = np.unique(check_indices("keys", keys, stream.n_keys))
    if len(candidates) == 0:
        raise MisuseError("keys", "hold at least one key", "none")
    return candidates


def _not_below(keys: IntArray, balls: list[arb]) -> IntArray:
    """Keys whose ball is not proven to lie below the ball that reaches furthest at its lower end."""
    best = balls[0]
    for ball in balls[1:]:
        if ball.lower() > best.lower():
            best = ball
    return keys[[not ball < best for ball in balls]]


@final
@dataclass(frozen=True, slots=True)
class QueryCount:
    """What was asked: explanations one by one, the count of the paper, and states rejected or not as a whole."""

    logical: int
    state: int = 0

    def __add__(self, other: "QueryCount") -> "QueryCount":
        return QueryCount(self.logical + other.logical, self.state + other.state)


def key_verdicts(
    evidence: Evidence, factor: int, keys: ArrayLike, levels: ArrayLike, *, most_bits: int = MOST_BITS
) -> Verdicts:
    """What the steps at which only this factor's stream has begun say of its keys, (k, l).

    There the evidence of all explanations with a key is one number, so if it crosses 1/alpha all of them are rejected
    by this one evaluation; if not, nothing is said of any of them, which is INDETERMINATE.  The margin of each is at
    least that of the factor alone.  Each distinct key counts as a state query, not as queries of explanations.
    """
    check_count("factor", factor, 0, len(evidence.factors) - 1)
    chosen = check_indices("keys", keys, evidence.factors[factor].stream.n_keys)
    at = check_levels(levels)
    steps = _lone_steps(evidence, factor)
    distinct, where = np.unique(chosen, return_inverse=True)
    ratio = evidence.ratio(factor, distinct)
    bounds = Bounds(ratio.lower[:, steps], ratio.upper[:, steps]).peak()

    def ball(row: int, bits: int) -> arb:
        balls = evidence.ratio_balls(factor, int(distinct[row]), bits)
        with ctx.workprec(bits):
            return largest([balls[step] for step in steps.tolist()])

    by_key = decided(bounds, at, ball, most_bits).rows(where)
    is_rejected = by_key.codes == Verdict.REJECTED
    codes = np.where(is_rejected, by_key.codes, np.uint8(Verdict.INDETERMINATE))
    lower = np.where(is_rejected, by_key.lower, np.minimum(by_key.lower, 0.0))
    return Verdicts(codes, lower, np.full(lower.shape, np.inf), by_key.bits)


def verdicts_by_state(
    evidence: Evidence,
    indices: ArrayLike,
    levels: ArrayLike,
    *,
    factor: int = 0,
    block: int = BLOCK,
) -> tuple[Verdicts, QueryCount]:
    """The verdicts of `verdicts`, asking every key of one factor first and then the explanations it leaves.

    The codes are the same. Of an explanation that its key rejects at all levels only this much is known: the upper
    bound of its margin is inf.
    """
    chosen = check_indices("indices", indices, evidence.size)
    at = check_levels(levels)
    check_count("factor", factor, 0, len(evidence.factors) - 1)
    parts: list[Verdicts] = []
    asked_keys: set[int] = set()
    n_logical = 0
    for part in blocks(chosen, check_count("block", block)):
        keys = evidence.factors[factor].keys(part)
        asked_keys.update(np.unique(keys).tolist())
        states = key_verdicts(evidence, factor, keys, at)
        left = np.asarray(~(states.codes == Verdict.REJECTED).all(axis=1))
        rest = verdicts(evidence, part[left], at)
        # The explanations left have verdicts of their own, the others are rejected by their keys.
        order = np.argsort(np.concatenate([np.flatnonzero(~left), np.flatnonzero(left)]))
        parts.append(Verdicts.joined([states.rows(~left), rest]).rows(order))
        n_logical += len(rest)
    # A key that comes again in a later block was asked before.
    return Verdicts.joined(parts), QueryCount(n_logical, len(asked_keys))


def _lone_steps(evidence: Evidence, factor: int) -> IntArray:
    """Columns of `Evidence.ratio` at which no other stream has begun."""
    begun = evidence.path.steps >= 0  # (steps, factors)
    lone = begun[:, factor] & (begun.sum(axis=1) == 1)
    if not lone.any():
        name = evidence.factors[factor].name
        raise MisuseError("factor", "be read alone at some step of the path", f"{name}, which never is")
    return np.unique(evidence.path.steps[lone, factor] + 1)
