"""Certified verdicts from evidence, and the law that fits the proposal rows best."""

from collections.abc import Callable
from functools import partial

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike

from .._checks import check_count, check_indices, check_open
from .._errors import Clause, MisuseError
from .._typing import IntArray
from ..laws import Scores, Stream
from ._evidence import (
    BLOCK,
    FLOAT_BITS,
    Bounds,
    Evidence,
    ball_bounds,
    score_bounds,
    sum_down,
    sum_up,
    threshold_ball,
    threshold_bounds,
)
from ._judge import Codes, Verdict, Verdicts

FIRST_BITS = 64
MOST_BITS = 1024


def verdicts(
    evidence: Evidence, indices: ArrayLike, level: float, *, most_bits: int = MOST_BITS, block: int = BLOCK
) -> Verdicts:
    r"""Verdicts (k,) on explanations (k,) at a level.

    Rejected if :math:`\max_k E_k(e) > 1/\alpha` (eq:candidate-rejection-threshold), admissible if not, each only when
    proven: by float64 bounds, or else in ball arithmetic at 64, 128, ... up to most_bits bits. An explanation that
    made the data is rejected with probability at most alpha (cor:eprocess-retention, eq:on-bank-truth-retention).
    Bounds are those of the margin :math:`m(e) = \max_k\log E_k(e) + \log\alpha` (eq:supp-log-e-margin).

    Explanations are judged block by block; a second call at another level scores no key again.
    """
    chosen = check_indices("indices", indices, evidence.size)
    check_open("level", level, 0.0, 1.0)
    check_count("most_bits", most_bits)
    parts = [
        decided(evidence.log_evidence(part), level, partial(_ball, evidence, part), most_bits)
        for part in _blocks(chosen, check_count("block", block))
    ]
    return Verdicts.joined(parts)


def _ball(evidence: Evidence, indices: IntArray, row: int, bits: int) -> arb:
    return evidence.ball(int(indices[row]), bits)


def _blocks(values: IntArray, size: int) -> list[IntArray]:
    """Consecutive parts of at most this size; one empty part of nothing."""
    return [values[start : start + size] for start in range(0, max(1, len(values)), size)]


def compared(bounds: Bounds, level: float) -> Verdicts:
    """Log evidence (k,) against the threshold, open where the float64 bounds straddle it."""
    least, most = threshold_bounds(level)
    is_decided = [bounds.lower > most, bounds.upper <= least]
    codes = np.select(is_decided, [Verdict.REJECTED, Verdict.ADMISSIBLE], Verdict.INDETERMINATE).astype(np.uint8)
    return _measured(codes, bounds, level, np.full(len(codes), FLOAT_BITS, dtype=np.int64))


def decided(bounds: Bounds, level: float, ball: Callable[[int, int], arb], most_bits: int = MOST_BITS) -> Verdicts:
    """The same; rows left open are refined by ball(row, bits)."""
    first = compared(bounds, level)
    rows = np.flatnonzero(first.codes == Verdict.INDETERMINATE).tolist()
    if not rows:
        return first
    codes = first.codes
    bits = np.full(len(first), FLOAT_BITS, dtype=np.int64)
    lower = bounds.lower.copy()
    upper = bounds.upper.copy()
    for row in rows:
        precision = FIRST_BITS
        while precision <= most_bits and codes[row] == Verdict.INDETERMINATE:
            refined = ball(row, precision)
            threshold = threshold_ball(level, precision)
            # A comparison of balls is true only if it holds for all their points.
            if refined > threshold:
                codes[row] = Verdict.REJECTED
            elif refined <= threshold:
                codes[row] = Verdict.ADMISSIBLE
            below, above = ball_bounds(refined)
            lower[row] = max(lower[row], below)
            upper[row] = min(upper[row], above)
            bits[row] = precision
            precision *= 2
    return _measured(codes, Bounds(lower, upper), level, bits)


def _measured(codes: Codes, bounds: Bounds, level: float, bits: IntArray) -> Verdicts:
    """Add bounds (k,) of the margins to the verdicts."""
    least, most = threshold_bounds(level)
    lower = sum_down(bounds.lower, np.array(-most))
    upper = sum_up(bounds.upper, np.array(-least))
    # Balls may have proven a sign that the difference of two rounded bounds leaves open.
    lower = np.where(codes == Verdict.REJECTED, np.maximum(lower, 0.0), lower)
    return Verdicts(codes, lower, np.where(codes == Verdict.ADMISSIBLE, np.minimum(upper, 0.0), upper), bits)


# Exact ties stay tied at every precision, and a proposal is valid whichever of them wins: this is enough to tell
# apart what differs at all.
TIE_BITS = 256


def best_keys(
    stream: Stream, keys: ArrayLike | None = None, *, scores: Scores | None = None, most_bits: int = TIE_BITS
) -> IntArray:
    """The keys with the largest log likelihood at the last checkpoint, in increasing order.

    There are several if the highest precision allowed cannot tell them apart; callers take the first.

    stream: over proposal rows only.  keys: distinct candidates, all of the stream's if left out.  scores: those of the
    candidates in increasing order, where they are at hand.

    Keys whose float64 bounds overlap the best are compared by enclosures at 64, 128, ... up to most_bits bits.
    """
    candidates = _candidates(stream, keys)
    parts = [stream.log_likelihood(part) for part in _blocks(candidates, BLOCK)] if scores is None else [scores]
    bounds = [score_bounds("the proposal stream", part) for part in parts]
    lower, upper = (np.concatenate([part[side][:, -1] for part in bounds]) for side in (0, 1))
    left = candidates[upper >= lower.max()]
    bits = FIRST_BITS
    while len(left) > 1 and bits <= most_bits:
        balls = [stream.enclosure(int(key), bits)[-1] for key in left]
        with ctx.workprec(bits):  # the ends of a ball are rounded, too
            left = _not_below(left, balls)
        bits *= 2
    return np.sort(left)


def best_explanation(
    stream: Stream, size: int, keys_of: Callable[[IntArray], IntArray], *, scores: Scores | None = None
) -> tuple[int, int]:
    """The explanation with the largest log likelihood of the proposal rows, and its key; of equal ones the lowest.

    Explanations with one key are one law and are scored once.  keys_of: explanation indices (k,) to keys (k,).  scores:
    those of all keys that explanations have, in increasing order, where they are at hand.
    """
    first = np.full(stream.n_keys, size, dtype=np.int64)  # lowest explanation of each key
    for part in _blocks(np.arange(check_count("size", size)), BLOCK):
        keys = check_indices("keys", keys_of(part), stream.n_keys)
        np.minimum.at(first, keys, part)
    tied = best_keys(stream, np.flatnonzero(first < size), scores=scores)
    winner = int(tied[np.argmin(first[tied])])
    return int(first[winner]), winner


def _candidates(stream: Stream, keys: ArrayLike | None) -> IntArray:
    if keys is None:
        return np.arange(stream.n_keys)
    candidates = np.unique(check_indices("keys", keys, stream.n_keys))
    if len(candidates) == 0:
        raise MisuseError("keys", "hold at least one key", Clause("there is none"))
    return candidates


def _not_below(keys: IntArray, balls: list[arb]) -> IntArray:
    """Keys whose ball is not proven to lie below the ball that reaches furthest at its lower end."""
    best = balls[0]
    for ball in balls[1:]:
        if ball.lower() > best.lower():
            best = ball
    return keys[[not ball < best for ball in balls]]
