"""Verdicts as columns, the contract of a judge, and the two simplest: a table, and judges of independent streams."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from math import prod
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_array, check_count, check_indices, read_only
from .._codec import bound_json
from .._errors import Clause, MisuseError
from .._typing import Array, BoolArray, IntArray
from ._amounts import Amounts

if TYPE_CHECKING:
    from ._specs import JudgeSpec

Codes = NDArray[np.uint8]


class Verdict(IntEnum):
    """The verdict of the held-out rows on an explanation at a level."""

    ADMISSIBLE = 0  # its margin is proven not to be positive
    REJECTED = 1  # its margin is proven to be positive
    INDETERMINATE = 2  # not decided at the allowed precision: it stays possible and is no witness


CODES = [int(verdict) for verdict in Verdict]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """Verdicts on k explanations, (k,) columns, or (k, l) at l levels.

    The margin is what the judge compares with 0, for evidence :math:`m(e)` (eq:supp-log-e-margin).  Its bounds prove
    the verdict: REJECTED needs 0 <= lower and 0 < upper, ADMISSIBLE upper <= 0, and an INDETERMINATE margin may have
    either sign, lower <= 0 < upper.
    """

    codes: Codes
    lower: Array
    upper: Array
    bits: IntArray | None = None  # (k,) precision at which the last was settled or given up; 53 is float64

    @classmethod
    def unmeasured(cls, codes: Codes) -> "Verdicts":
        """Verdicts with the bounds that the codes alone imply."""
        lower = np.where(codes == Verdict.REJECTED, 0.0, -np.inf)
        return cls(codes, lower, np.where(codes == Verdict.ADMISSIBLE, 0.0, np.inf))

    @classmethod
    def measured(cls, lower: Array, upper: Array) -> "Verdicts":
        """The verdicts that bounds (k,) of the margins prove."""
        decided = [lower > 0.0, upper <= 0.0]
        codes = np.select(decided, [Verdict.REJECTED, Verdict.ADMISSIBLE], Verdict.INDETERMINATE)
        return cls(codes.astype(np.uint8), lower, upper)

    @classmethod
    def joined(cls, parts: Sequence["Verdicts"]) -> "Verdicts":
        """Consecutive parts as one."""
        bits = [part.bits for part in parts if part.bits is not None]
        return cls(
            np.concatenate([part.codes for part in parts]),
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
            np.concatenate(bits) if len(bits) == len(parts) else None,
        )

    def __len__(self) -> int:
        return len(self.codes)

    def rows(self, chosen: IntArray | BoolArray | slice) -> "Verdicts":
        """Those of some of the explanations."""
        bits = None if self.bits is None else self.bits[chosen]
        return Verdicts(self.codes[chosen], self.lower[chosen], self.upper[chosen], bits)

    def margins(self) -> Array:
        """Both bounds side by side, (k, 2) of (k,) columns."""
        return np.stack([self.lower, self.upper], axis=-1)

    def margin_json(self, row: int) -> list[float | str]:
        """Both bounds of one margin, as documents hold them."""
        return [bound_json(self.lower[row]), bound_json(self.upper[row])]

    def are_proven(self) -> BoolArray:
        """True where the bounds prove the verdict; bounds that are NaN prove nothing."""
        codes = self.codes
        lower = self.lower
        upper = self.upper
        known = [codes == Verdict.ADMISSIBLE, codes == Verdict.REJECTED, codes == Verdict.INDETERMINATE]
        proven = [upper <= 0.0, (lower >= 0.0) & (upper > 0.0), (lower <= 0.0) & (upper > 0.0)]
        return np.asarray(np.select(known, proven, False) & (lower <= upper))

    def check(self, explanations: IntArray, argument: str) -> None:
        """Refuse codes that are none, and bounds that prove something else."""
        wrong = np.flatnonzero(~self.are_proven())
        if not wrong.size:
            return
        row = int(wrong[0])
        code = self.codes[row].item()
        about = f"for explanation {explanations[row]}"
        if code not in CODES:
            raise MisuseError("verdict", f"be one of the codes {CODES}", f"{code!r} {about}")
        rule = "prove their verdicts, and those of an indeterminate one leave both open"
        raise MisuseError(
            argument, rule, f"{[float(self.lower[row]), float(self.upper[row])]} with code {code} {about}"
        )


class Judge:
    """An opened judge: rejects an explanation that made the data with probability at most its level.

    That is all that anybody may rely on.  A judge inherits the defaults below and gives `size`, `level` and `verdicts`.
    """

    __slots__ = ()
    # True if verdicts on a block of neighbours cost little more than one verdict.
    judges_blocks: ClassVar[bool] = False

    if TYPE_CHECKING:  # attributes or properties of the judge

        @property
        def size(self) -> int:
            """Explanations are 0 .. size - 1."""

        @property
        def level(self) -> float | None:
            """The probability; None if the judge does not know it and the level of the protocol is taken."""

        @property
        def spec(self) -> "JudgeSpec":
            """The specification that opened the judge."""

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """Verdicts (k,) on explanations (k,); the same whenever and with whatever others one is asked.

        Their bounds prove them, see `Verdicts`; a run refuses anything else.
        """
        raise NotImplementedError

    def ahead(self, e: int, count: int) -> tuple[IntArray, Verdicts]:
        """The verdict on e and, up to about this count, on others that cost little more once e is known.

        Nothing about the others may make this fail, as their data were not asked for.
        """
        near = block_around(e, count, self.size) if self.judges_blocks else np.array([e])
        return near, self.verdicts(near)

    @property
    def error(self) -> float | None:
        """The error of responses that `verdicts` allow for; None if the judge has no `verdicts_at` (default)."""
        return None

    @property
    def error_scale(self) -> str:
        """The unit of the error, as in `Design.error_scale`; empty if there is no error (default)."""
        return ""

    def refutes(self, possible: IntArray, error: float) -> bool:  # noqa: ARG002
        """True if rows refute these explanations at an error, so that labels are withheld (default: False)."""
        return False

    def verdicts_at(self, error: float, explanations: IntArray) -> Verdicts:
        """Verdicts (k,) if responses are right to within this error, be it smaller or larger than that of the judge.

        Evidence has the same numerator at every error, and an explanation with a larger error contains the one with a
        smaller error.  So the truth is rejected at its own error, or at any larger one, with probability at most the
        level, and the statements at all errors are simultaneously true with probability at least 1 - level.
        """
        raise NotImplementedError

    def amounts(self, possible: IntArray) -> Amounts:  # noqa: ARG002
        """The intervals of the amounts of all elements under these explanations (default: none).

        The true amounts lie in them whenever the judge keeps the truth, or at a share of the level that was set aside
        before the rows were read.  Either way they are simultaneously true with all labels at the level of the judge.
        """
        return Amounts(reason="judge")

    def unlisted_runs(self) -> list[tuple[int, int]]:
        """Runs (first, last) of generic columns, in each of which something unlisted has a part (default: none).

        All explanations with the other generic columns alone are rejected.  Numerators are the same, and the truth is
        rejected with probability at most the level, so all runs are right together with all labels.
        """
        return []

    def facts(self, possible: IntArray) -> dict[str, object] | None:  # noqa: ARG002
        """Facts about the answer as a whole, if these explanations are possible at the end of a run (default: none).

        `is_withheld` keeps all labels back, as what is left may be left by accident, or could not have been rejected.
        `is_complete` is False where something besides the explanations that could be rejected is possible, so that
        nothing is FINE and no claim is certain.  `lacks` names what more would refine the answer, `rows` unless given.
        """
        return None

    def encode(self) -> dict[str, object]:
        """The judge as a frozen protocol describes it (default: its specification)."""
        return self.spec.encode()


def block_around(e: int, count: int, size: int) -> IntArray:
    """Explanations from a multiple of the count on, e among them: whoever asks near e later meets the same block."""
    start = e // count * count
    return np.arange(start, min(start + count, size))


UNKNOWN = 255
# A judge may look ahead to a share of as many as were asked before, so that little is done in vain, within these.
_LEAST_AHEAD = 64
_MOST_AHEAD = 4096
_SHARE_AHEAD = 8


@final
class VerdictCache:
    """Verdicts that a judge has given, by explanation.

    A run reads those that it asks for and nothing else: what the judge decided ahead saves time and changes no trace.
    """

    __slots__ = ("_codes", "_lower", "_upper", "judge", "size")

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.size = check_count("size of the judge", judge.size)
        self._codes = np.full(self.size, UNKNOWN, dtype=np.uint8)
        self._lower = np.empty(self.size)
        self._upper = np.empty(self.size)

    @property
    def codes(self) -> memoryview:
        """(M,) codes so far; one entry of a memory view is a plain number at a third of the price."""
        return self._codes.data

    def look_up(self, e: int, n_asked: int) -> int:
        """The code of an explanation that is not known yet; verdicts that came along are kept if proven."""
        count = min(max(n_asked // _SHARE_AHEAD, _LEAST_AHEAD), _MOST_AHEAD)
        explanations, verdicts = self.judge.ahead(e, count)
        row = np.flatnonzero(check_indices("explanations ahead", explanations, self.size) == e)
        if len(verdicts) != len(explanations) or not row.size or len(np.unique(explanations)) < len(explanations):
            value = f"{len(verdicts)} on {explanations.tolist()}"
            raise MisuseError("judge", f"give a verdict on explanation {e}", value)
        verdicts.rows(row).check(explanations[row], "margins of the judge")
        is_new = verdicts.are_proven() & (self._codes[explanations] == UNKNOWN)
        self._store(explanations[is_new], verdicts.rows(is_new))
        return int(self._codes[e])

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """Verdicts (k,), asking the judge for those that it has not given."""
        new = np.unique(explanations[self._codes[explanations] == UNKNOWN])
        if new.size:
            fresh = self.judge.verdicts(new)
            fresh.check(new, "margins of the judge")
            self._store(new, fresh)
        return Verdicts(self._codes[explanations], self._lower[explanations], self._upper[explanations])

    def _store(self, explanations: IntArray, verdicts: Verdicts) -> None:
        self._lower[explanations] = verdicts.lower
        self._upper[explanations] = verdicts.upper
        self._codes[explanations] = verdicts.codes


_TABLE: dict[str, object] = {"judge": "table", "assumes": "the verdicts of the table come from a valid judge"}


@final
@dataclass(frozen=True, slots=True, eq=False)
class TableJudge(Judge):
    """Verdicts that are known already: an earlier exhaustive scoring, or an invented one to try a policy on.

    Without margins each verdict has the margin bounds that its code alone implies.  content: what it writes into a
    protocol about itself.
    """

    judges_blocks: ClassVar[bool] = True

    codes: NDArray[np.uint8]  # (M,) Verdict codes
    margins: Array | None = None  # (M, 2)
    level: float | None = None
    content: Mapping[str, object] = field(default_factory=_TABLE.copy)

    def __post_init__(self) -> None:
        codes = np.array(self.codes)
        if codes.ndim != 1 or not codes.size or codes.dtype.kind not in "iu" or not np.isin(codes, CODES).all():
            raise MisuseError("codes", f"be one row of the codes {CODES}, not empty", f"{codes.dtype} {codes.shape}")
        object.__setattr__(self, "codes", read_only(codes.astype(np.uint8)))
        if self.margins is not None:
            object.__setattr__(self, "margins", read_only(_check_margins(self.margins, self.codes)))

    @property
    def size(self) -> int:
        """Rows of the table."""
        return len(self.codes)

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """Looks them up."""
        if self.margins is None:
            return Verdicts.unmeasured(self.codes[explanations])
        return Verdicts(self.codes[explanations], self.margins[explanations, 0], self.margins[explanations, 1])

    def encode(self) -> dict[str, object]:
        """The definition of the table of verdicts, without the verdicts, which are held-out data."""
        return dict(self.content)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Panel(Judge):
    r"""Judges of independent streams: retained by all, so the level is :math:`1 - \prod_i (1 - \alpha_i)`.

    An explanation that made the data is retained by each with probability at least :math:`1 - \alpha_i`, independently
    of the others if the judges look at independent rows.
    """

    judges: tuple[Judge, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "judges", tuple(self.judges))
        sizes = {judge.size for judge in self.judges}
        if len(sizes) != 1:
            raise MisuseError("judges", "decide about the explanations of one bank", f"sizes {sorted(sizes)}")
        if any(judge.level is None for judge in self.judges):
            raise MisuseError("judges", "know their levels", Clause("one does not"))

    @property
    def size(self) -> int:
        """The size of the bank."""
        return self.judges[0].size

    @property
    def level(self) -> float:
        """The level of all judges together."""
        return 1.0 - prod(1.0 - (judge.level or 0.0) for judge in self.judges)

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """The margin is the largest of all margins: one judge that rejects suffices, and admitting takes them all."""
        parts = [judge.verdicts(explanations) for judge in self.judges]
        lower = np.max([part.lower for part in parts], axis=0)
        upper = np.max([part.upper for part in parts], axis=0)
        codes = np.array([part.codes for part in parts])  # (judges, k)
        is_rejected = (codes == Verdict.REJECTED).any(axis=0)
        is_open = (codes == Verdict.INDETERMINATE).any(axis=0)
        merged = np.select([is_rejected, is_open], [Verdict.REJECTED, Verdict.INDETERMINATE], Verdict.ADMISSIBLE)
        return Verdicts(merged.astype(np.uint8), lower, upper)

    def encode(self) -> dict[str, object]:
        """The judges in their order."""
        members = [{"level": judge.level} | judge.encode() for judge in self.judges]
        return {"judge": "panel", "assumes": "the judges look at independent rows", "members": members}


def _check_margins(value: ArrayLike, codes: NDArray[np.uint8]) -> Array:
    """(size, 2); unlike other arrays, bounds may be infinite.  They must prove the verdicts, as `verify` demands."""
    bounds = np.array(value, dtype=np.float64)
    check_array("margins", np.where(np.isinf(bounds), 0.0, bounds), (len(codes), 2))
    if (bounds[:, 0] > bounds[:, 1]).any():
        raise MisuseError("margins", "have lower bounds at most their upper bounds", Clause("one lies above"))
    Verdicts(codes, bounds[:, 0], bounds[:, 1]).check(np.arange(len(codes)), "margins")
    return bounds
