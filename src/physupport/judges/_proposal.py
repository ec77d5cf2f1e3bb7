"""Which member of a bank predicts the proposal rows best; ties are found by proof, not by rounding."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike

from .._arrays import check_indices
from .._checks import check_count
from .._errors import MisuseError
from .._typing import IntArray
from ..laws import Scores, Stream
from ._by_evidence import FIRST_BITS
from ._evidence import BLOCK, blocks
from ._scored import score_bounds

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
