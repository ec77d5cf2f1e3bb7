"""Rejecting all explanations of a dictionary state at once, where the calibration rows alone suffice."""

from dataclasses import dataclass
from typing import final

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike

from .._arrays import check_indices
from .._checks import check_count
from .._errors import MisuseError
from .._typing import IntArray
from ._by_evidence import MOST_BITS, decided, verdicts
from ._evidence import BLOCK, Evidence, blocks, largest
from ._judge import Verdict, Verdicts
from ._scored import Bounds, check_levels


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
    chosen, at = check_indices("keys", keys, evidence.factors[factor].stream.n_keys), check_levels(levels)
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
    chosen, at = check_indices("indices", indices, evidence.size), check_levels(levels)
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
