"""Certified verdicts: an explanation is rejected, or admitted, only where the exact margin has a proven sign."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from .._checks import check_count
from .._indices import check_range
from .._typing import Array, IntArray
from ._evidence import BLOCK, Evidence, LogEvidence, blocks
from ._intervals import FLOAT_BITS, ball_bounds, check_levels, sum_down, sum_up, threshold_ball, threshold_bounds

FIRST_BITS = 64
MOST_BITS = 1024
Progress = Callable[[int, int], None]
Codes = NDArray[np.int8]


class Verdict(IntEnum):
    """What the held-out rows say of an explanation at a level."""

    ADMISSIBLE = 0  # its evidence is proven never to cross 1/alpha
    REJECTED = 1  # its evidence is proven to cross 1/alpha
    INDETERMINATE = 2  # not decided at the allowed precision: it stays possible and is no witness


@final
@dataclass(frozen=True, slots=True)
class QueryCount:
    """What was asked: explanations one by one, the count of the paper, and states rejected or not as a whole."""

    logical: int
    state: int = 0

    def __add__(self, other: "QueryCount") -> "QueryCount":
        return QueryCount(self.logical + other.logical, self.state + other.state)


@final
@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one explanation at one level, with bounds of its margin (eq:supp-log-e-margin)."""

    index: int
    level: float
    verdict: Verdict
    margin: tuple[float, float]
    bits: int


@final
@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """Verdicts on k explanations at l levels, all from one scoring."""

    indices: IntArray  # (k,)
    levels: Array  # (l,)
    codes: Codes  # (k, l) Verdict
    log_evidence: LogEvidence  # (k,), the tightest bounds found
    bits: IntArray  # (k,) precision at which the last question was settled or given up; 53 is float64
    count: QueryCount

    def margins(self) -> tuple[Array, Array]:
        r"""Lower and upper bounds (k, l) of :math:`m(e) = \max_k\log E_k(e) + \log\alpha` (eq:supp-log-e-margin)."""
        least, most = threshold_bounds(self.levels)
        lower = sum_down(self.log_evidence.lower[:, None], -most)
        upper = sum_up(self.log_evidence.upper[:, None], -least)
        # Balls may have proven a sign that the difference of two rounded bounds leaves open.
        lower = np.where(self.codes == Verdict.REJECTED, np.maximum(lower, 0.0), lower)
        return lower, np.where(self.codes == Verdict.ADMISSIBLE, np.minimum(upper, 0.0), upper)

    def at(self, row: int, column: int = 0) -> Judgement:
        """The verdict in one row at one level."""
        lower, upper = self.margins()
        verdict = Verdict(int(self.codes[row, column]))
        margin = float(lower[row, column]), float(upper[row, column])
        return Judgement(int(self.indices[row]), float(self.levels[column]), verdict, margin, int(self.bits[row]))


def verdicts(
    evidence: Evidence,
    indices: ArrayLike,
    levels: ArrayLike,
    *,
    most_bits: int = MOST_BITS,
    block: int = BLOCK,
    progress: Progress | None = None,
) -> Verdicts:
    r"""Verdicts on explanations (k,) at one or more levels.

    Rejected if :math:`\max_k E_k(e) > 1/\alpha` (eq:candidate-rejection-threshold), admissible if not, each only when
    proven: by float64 bounds, or else in ball arithmetic at 64, 128, ... up to most_bits bits. An explanation that
    made the data is rejected with probability at most alpha (cor:eprocess-retention, eq:on-bank-truth-retention).

    Works through the explanations block by block; progress(done, total) is called after each.
    """
    chosen, at = check_range("indices", indices, evidence.size), check_levels(levels)
    check_count("most_bits", most_bits)
    parts, done = [], 0
    for part in blocks(chosen, check_count("block", block)):
        parts.append(_decide_explanations(evidence, part, at, most_bits))
        done += len(part)
        if progress is not None:
            progress(done, len(chosen))
    return joined(chosen, at, parts, QueryCount(len(chosen)))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What bounds and balls decide: codes (k, l), the bounds after any refinement, and the precision it took."""

    codes: Codes
    bounds: LogEvidence
    bits: IntArray


def decide(bounds: LogEvidence, levels: Array, ball: Callable[[int, int], arb], most_bits: int) -> Decision:
    """Compare log evidence with every threshold; rows left open are refined by ball(row, bits)."""
    lower, upper = bounds.lower.copy(), bounds.upper.copy()
    least, most = threshold_bounds(levels)
    open_code = np.int8(Verdict.INDETERMINATE)
    codes = np.full((len(lower), len(levels)), open_code, dtype=np.int8)
    codes[lower[:, None] > most] = Verdict.REJECTED
    codes[upper[:, None] <= least] = Verdict.ADMISSIBLE
    bits = np.full(len(lower), FLOAT_BITS, dtype=np.int64)
    for row in np.flatnonzero((codes == open_code).any(axis=1)).tolist():
        precision = FIRST_BITS
        while precision <= most_bits and np.any(codes[row] == open_code):
            refined = ball(row, precision)
            _settle(codes[row], levels, refined, precision)
            below, above = ball_bounds(refined)
            lower[row], upper[row], bits[row] = max(lower[row], below), min(upper[row], above), precision
            precision *= 2
    return Decision(codes, LogEvidence(lower, upper), bits)


def _decide_explanations(evidence: Evidence, indices: IntArray, levels: Array, most_bits: int) -> Decision:
    def ball(row: int, bits: int) -> arb:
        return evidence.ball(int(indices[row]), bits)

    return decide(evidence.along_path(indices).peak(), levels, ball, most_bits)


def joined(indices: IntArray, levels: Array, parts: list[Decision], count: QueryCount) -> Verdicts:
    """The decisions of consecutive blocks as one."""
    lower, upper = (np.concatenate([getattr(part.bounds, side) for part in parts]) for side in ("lower", "upper"))
    codes, bits = np.concatenate([part.codes for part in parts]), np.concatenate([part.bits for part in parts])
    return Verdicts(indices, levels, codes, LogEvidence(lower, upper), bits, count)


def _settle(codes: Codes, levels: Array, log_evidence: arb, bits: int) -> None:
    """Decide the open entries of one row (l,) that a ball decides, in place."""
    for column in np.flatnonzero(codes == Verdict.INDETERMINATE).tolist():
        threshold = threshold_ball(float(levels[column]), bits)
        # A comparison of balls is true only if it holds for all their points.
        if log_evidence > threshold:
            codes[column] = Verdict.REJECTED
        elif log_evidence <= threshold:
            codes[column] = Verdict.ADMISSIBLE
