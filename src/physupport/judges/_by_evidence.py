"""The first judge: evidence, certified. An explanation is decided only where its exact margin has a proven sign."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self, final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from .._arrays import check_indices
from .._checks import check_count, check_open
from .._errors import MisuseError
from .._typing import Array, IntArray
from ..banks import Bank
from ..laws import Law
from ._evidence import BLOCK, Evidence, blocks
from ._judge import Codes, Judge, Verdict, Verdicts, block_around
from ._noise import NOISE_FACTS, NoiseTester, check_share, decoded_share, with_noise_test
from ._scored import FLOAT_BITS, Bounds, ball_bounds, check_levels, sum_down, sum_up, threshold_ball, threshold_bounds
from ._specs import Sealed

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
    chosen, at = check_indices("indices", indices, evidence.size), check_levels(levels)
    check_count("most_bits", most_bits)
    parts, done = [], 0
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


@final
@dataclass(frozen=True, slots=True, eq=False)
class EvidenceJudge:
    """Certified verdicts of an e-process at one level."""

    evidence: Evidence
    level: float

    def __post_init__(self) -> None:
        check_open("level", self.level, 0.0, 1.0)

    @property
    def size(self) -> int:
        """The size of the bank."""
        return self.evidence.size

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """Scores the keys of these explanations, unless earlier ones shared them."""
        return verdicts(self.evidence, explanations, self.level).at_level(0)

    def ahead(self, e: int, count: int) -> tuple[IntArray, Verdicts]:
        """The block of explanations around e, as far as float64 decides it; balls are for what is asked alone."""
        near, bounds = self.evidence.along(e, block_around(e, count, self.size))
        near_verdicts = compared(bounds, np.array([self.level])).at_level(0)
        is_decided = near_verdicts.codes != _OPEN
        near, near_verdicts = near[is_decided], near_verdicts.rows(is_decided)
        if e in near:
            return near, near_verdicts
        single = np.array([e])
        return np.append(near, single), Verdicts.joined([near_verdicts, self.verdicts(single)])

    def encode(self) -> dict[str, object]:
        """What every evidence has; streams, checkpoints and numerators stand with the streams."""
        return ByEvidence().encode()


@final
@dataclass(frozen=True, slots=True)
class ByEvidence(NoiseTester):
    """Have the streams of a protocol judged by their evidence, at the level of the protocol.

    noise: share of the level at which a noise that is stated is tested (`NoiseTested`); unless it is given, a protocol
    sets it where a law states one that rows can refute, and where none does leaves it out.
    """

    has_common_numerator: ClassVar[bool] = True
    fact_names: ClassVar[tuple[str, ...]] = NOISE_FACTS

    noise: float | None = None

    def __post_init__(self) -> None:
        check_share(self.noise)

    def completed(self, bank: Bank, laws: Sequence[Law]) -> Self:
        """With the test of the noise where a law states one."""
        return replace(self, noise=self.share_for(bank, laws))

    def encode(self) -> dict[str, object]:
        """The kind; streams, checkpoints and numerators stand with the streams."""
        return {
            "judge": "evidence",
            "assumes": "streams are independent, and so are the rows of each, with the law of the explanation",
            **({} if self.noise is None else {"noise": float(self.noise)}),
        }

    def splits(self, law: Law) -> bool:  # noqa: ARG002
        """Proposal rows choose the numerator."""
        return True

    def check_rows(self, law: Law, n_rows: int) -> None:
        """Rows of a linear law are divided, which takes two; other laws are refused where shares are checked."""
        if law.is_linear and n_rows < 2:
            remedy = 'Take split = "fission" where the noise is known, or judge = "rotation" where responses are exact.'
            raise MisuseError("split", "not be 'rows' for a single row", f"{n_rows} row", remedy)

    def open(self, sealed: Sealed) -> Judge:
        """The judge."""
        return with_noise_test(EvidenceJudge(sealed.evidence, sealed.level), sealed, self.noise)


def decoded_evidence(content: Mapping[str, object]) -> ByEvidence:
    """Nothing but the kind counts: the assumption is said in words, which may be improved."""
    if content.keys() - {"noise"} != ByEvidence().encode().keys():
        raise MisuseError("judge", "be written with the names judge and assumes", sorted(content))
    return ByEvidence(decoded_share(content))


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
    codes, bits = first.codes, np.full(len(first), FLOAT_BITS, dtype=np.int64)
    rows = np.flatnonzero((codes == _OPEN).any(axis=1)).tolist()
    if not rows:
        return first
    lower, upper = bounds.lower.copy(), bounds.upper.copy()
    for row in rows:
        precision = FIRST_BITS
        while precision <= most_bits and np.any(codes[row] == _OPEN):
            refined = ball(row, precision)
            _settle(codes[row], levels, refined, precision)
            below, above = ball_bounds(refined)
            lower[row], upper[row], bits[row] = max(lower[row], below), min(upper[row], above), precision
            precision *= 2
    return _measured(codes, Bounds(lower, upper), levels, bits)


def _decided(evidence: Evidence, indices: IntArray, levels: Array, most_bits: int) -> Verdicts:
    def ball(row: int, bits: int) -> arb:
        return evidence.ball(int(indices[row]), bits)

    return decided(evidence.along_path(indices).peak(), levels, ball, most_bits)


def _measured(codes: Codes, bounds: Bounds, levels: Array, bits: IntArray) -> Verdicts:
    """With bounds (k, l) of the margins."""
    least, most = threshold_bounds(levels)
    lower, upper = sum_down(bounds.lower[:, None], -most), sum_up(bounds.upper[:, None], -least)
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


UNKNOWN = 255
# A judge may look ahead to a share of as many as were asked before, so that little is done in vain, within these.
_LEAST_AHEAD, _MOST_AHEAD, _SHARE = 64, 4096, 8


@final
class Docket:
    """Verdicts that a judge has given, kept by explanation.

    A run reads those that it asks for and nothing else: what the judge decided ahead saves time and changes no trace.
    """

    __slots__ = ("_codes", "_lower", "_upper", "judge", "size")

    def __init__(self, judge: Judge) -> None:
        self.judge, self.size = judge, check_count("size of the judge", judge.size)
        self._codes = np.full(self.size, UNKNOWN, dtype=np.uint8)
        self._lower, self._upper = np.empty(self.size), np.empty(self.size)

    @property
    def codes(self) -> memoryview:
        """(M,) kept up to date; one entry of a memory view is a plain number at a third of the price."""
        return self._codes.data

    def look_up(self, e: int, n_asked: int) -> int:
        """The code of an explanation that is not known yet; verdicts that came along are kept if proven."""
        count = min(max(n_asked // _SHARE, _LEAST_AHEAD), _MOST_AHEAD)
        explanations, verdicts = self.judge.ahead(e, count)
        row = np.flatnonzero(check_indices("explanations ahead", explanations, self.size) == e)
        if len(verdicts) != len(explanations) or not row.size or len(np.unique(explanations)) < len(explanations):
            value = f"{len(verdicts)} on {explanations.tolist()}"
            raise MisuseError("judge", f"give a verdict on explanation {e}", value)
        verdicts.rows(row).check(explanations[row], "margins of the judge")
        is_kept = verdicts.are_proven() & (self._codes[explanations] == UNKNOWN)
        self._keep(explanations[is_kept], verdicts.rows(is_kept))
        return int(self._codes[e])

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """Verdicts (k,), asking the judge for those that it has not given."""
        new = np.unique(explanations[self._codes[explanations] == UNKNOWN])
        if new.size:
            fresh = self.judge.verdicts(new)
            fresh.check(new, "margins of the judge")
            self._keep(new, fresh)
        return Verdicts(self._codes[explanations], self._lower[explanations], self._upper[explanations])

    def _keep(self, explanations: IntArray, verdicts: Verdicts) -> None:
        self._lower[explanations], self._upper[explanations] = verdicts.lower, verdicts.upper
        self._codes[explanations] = verdicts.codes
