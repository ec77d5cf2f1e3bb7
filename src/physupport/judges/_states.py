"""Rejecting all explanations of a dictionary state at once, where the calibration rows alone suffice."""

from dataclasses import dataclass
from typing import final

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike

from .._checks import check_count
from .._errors import MisuseError
from .._indices import check_range
from .._typing import Array, BoolArray, IntArray
from ._evidence import BLOCK, Evidence, LogEvidence, blocks, largest
from ._intervals import check_levels
from ._verdicts import MOST_BITS, Decision, Progress, QueryCount, Verdict, Verdicts, decide, joined, verdicts


@final
@dataclass(frozen=True, slots=True, eq=False)
class KeyVerdicts:
    """Whether one factor alone rejects every explanation with a key; if not, nothing is said of any of them."""

    keys: IntArray  # (k,)
    levels: Array  # (l,)
    is_rejected: BoolArray  # (k, l)
    log_evidence: LogEvidence  # (k,) of the factor alone
    bits: IntArray  # (k,)
    count: QueryCount


def key_verdicts(
    evidence: Evidence, factor: int, keys: ArrayLike, levels: ArrayLike, *, most_bits: int = MOST_BITS
) -> KeyVerdicts:
    """What the steps at which only this factor's stream has begun say of its keys.

    There the evidence of all explanations with a key is one number, so if it crosses 1/alpha all of them are rejected
    by this one evaluation. Counted as state queries, not as queries of explanations.
    """
    check_count("factor", factor, 0, len(evidence.factors) - 1)
    chosen, at = check_range("keys", keys, evidence.factors[factor].stream.n_keys), check_levels(levels)
    steps = _lone_steps(evidence, factor)
    distinct, where = np.unique(chosen, return_inverse=True)
    ratio = evidence.ratio(factor, distinct)
    bounds = LogEvidence(ratio.lower[:, steps], ratio.upper[:, steps]).peak()

    def ball(row: int, bits: int) -> arb:
        balls = evidence.ratio_balls(factor, int(distinct[row]), bits)
        with ctx.workprec(bits):
            return largest([balls[step] for step in steps.tolist()])

    decision = decide(bounds, at, ball, most_bits)
    log_evidence = LogEvidence(decision.bounds.lower[where], decision.bounds.upper[where])
    is_rejected = (decision.codes == Verdict.REJECTED)[where]
    return KeyVerdicts(chosen, at, is_rejected, log_evidence, decision.bits[where], QueryCount(0, len(distinct)))


def verdicts_by_state(
    evidence: Evidence,
    indices: ArrayLike,
    levels: ArrayLike,
    *,
    factor: int = 0,
    most_bits: int = MOST_BITS,
    block: int = BLOCK,
    progress: Progress | None = None,
) -> Verdicts:
    """The verdicts of `verdicts`, asking every key of one factor first and then the explanations it leaves.

    The codes are the same. Of an explanation that its key rejects at all levels only this much evidence is known: the
    upper bound of its log evidence is inf.
    """
    chosen, at = check_range("indices", indices, evidence.size), check_levels(levels)
    check_count("factor", factor, 0, len(evidence.factors) - 1)
    parts: list[Decision] = []
    asked: set[int] = set()
    count, done = QueryCount(0), 0
    for part in blocks(chosen, check_count("block", block)):
        keys = evidence.factors[factor].keys(part)
        asked.update(np.unique(keys).tolist())
        states = key_verdicts(evidence, factor, keys, at, most_bits=most_bits)
        left = np.asarray(~states.is_rejected.all(axis=1))
        rest = verdicts(evidence, part[left], at, most_bits=most_bits)
        parts.append(_merged(states, left, rest))
        count, done = count + rest.count, done + len(part)
        if progress is not None:
            progress(done, len(chosen))
    # A key that comes again in a later block was asked before.
    return joined(chosen, at, parts, count + QueryCount(0, len(asked)))


def _lone_steps(evidence: Evidence, factor: int) -> IntArray:
    """Columns of `Evidence.ratio` at which no other stream has begun."""
    begun = evidence.path.steps >= 0  # (steps, factors)
    lone = begun[:, factor] & (begun.sum(axis=1) == 1)
    if not lone.any():
        name = evidence.factors[factor].name
        raise MisuseError("factor", "be read alone at some step of the path", f"{name}, which never is")
    return np.unique(evidence.path.steps[lone, factor] + 1)


def _merged(states: KeyVerdicts, left: BoolArray, rest: Verdicts) -> Decision:
    """Decisions of one block: the explanations left have their own, the others are rejected by their keys."""
    lower, upper = states.log_evidence.lower.copy(), np.full(len(left), np.inf)
    lower[left], upper[left] = rest.log_evidence.lower, rest.log_evidence.upper
    codes = np.full((len(left), len(states.levels)), Verdict.REJECTED, dtype=np.int8)
    codes[left] = rest.codes
    bits = states.bits.copy()
    bits[left] = rest.bits
    return Decision(codes, LogEvidence(lower, upper), bits)
