"""Who gives the verdicts: one explanation at a time, so that a run can know of nothing else."""

from dataclasses import dataclass
from typing import NamedTuple, NoReturn, Protocol, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_array, check_open
from .._errors import MisuseError
from .._frozen import read_only
from .._typing import Array
from ._evidence import Evidence
from ._verdicts import Verdict, verdicts


class Ruling(NamedTuple):
    """A verdict code, and bounds of the margin :math:`m(e)` behind it (eq:supp-log-e-margin)."""

    code: int
    lower: float
    upper: float


class Judge(Protocol):
    """Decides about the explanations of one bank from held-out data that nothing else looks at."""

    @property
    def size(self) -> int:
        """Explanations are 0 .. size - 1."""

    def verdict(self, e: int) -> Ruling:
        """The verdict on one explanation; the same whenever it is asked.

        The bounds prove it: REJECTED needs 0 <= lower and 0 < upper, ADMISSIBLE upper <= 0, and an INDETERMINATE margin
        may have either sign, lower <= 0 < upper.  A run refuses anything else.
        """


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

    def verdict(self, e: int) -> Ruling:
        """Scores the keys of this explanation, unless an earlier one shared them."""
        found = verdicts(self.evidence, np.array([e]), self.level).at(0)
        return Ruling(int(found.verdict), *found.margin)


@final
@dataclass(frozen=True, slots=True, eq=False)
class TableJudge:
    """Verdicts that are known already: an earlier exhaustive scoring, or an invented one to try a policy on.

    Without margins each verdict has the margin bounds that its code alone implies.
    """

    codes: NDArray[np.uint8]  # (M,) Verdict codes
    margins: Array | None = None  # (M, 2)

    def __post_init__(self) -> None:
        codes = np.array(self.codes)
        known = [int(code) for code in Verdict]
        if codes.ndim != 1 or not codes.size or codes.dtype.kind not in "iu" or not np.isin(codes, known).all():
            raise MisuseError("codes", f"be one row of the codes {known}, not empty", f"{codes.dtype} {codes.shape}")
        object.__setattr__(self, "codes", read_only(codes.astype(np.uint8)))
        if self.margins is not None:
            object.__setattr__(self, "margins", read_only(_check_margins(self.margins, codes)))

    @property
    def size(self) -> int:
        """Rows of the table."""
        return len(self.codes)

    def verdict(self, e: int) -> Ruling:
        """Looks it up."""
        code = int(self.codes[e])
        if self.margins is None:
            return _UNMEASURED[code]
        return Ruling(code, float(self.margins[e, 0]), float(self.margins[e, 1]))


_UNMEASURED = (Ruling(0, -np.inf, 0.0), Ruling(1, 0.0, np.inf), Ruling(2, -np.inf, np.inf))


def _check_margins(value: ArrayLike, codes: NDArray[np.integer]) -> Array:
    """(size, 2); unlike other arrays, bounds may be infinite.  They must prove the verdicts, as `verify` demands."""
    bounds = np.array(value, dtype=np.float64)
    check_array("margins", np.where(np.isinf(bounds), 0.0, bounds), (len(codes), 2))
    if (bounds[:, 0] > bounds[:, 1]).any():
        raise MisuseError("margins", "have lower bounds at most their upper bounds", "a lower one above")
    lower, upper = bounds.T
    is_proven = np.select(
        [codes == Verdict.REJECTED, codes == Verdict.ADMISSIBLE],
        [(lower >= 0.0) & (upper > 0.0), upper <= 0.0],
        (lower <= 0.0) & (upper > 0.0),
    )
    wrong = np.flatnonzero(~is_proven)
    if wrong.size:
        raise MisuseError("margins", _PROVEN, f"{bounds[wrong[0]].tolist()} for explanation {wrong[0]}")
    return bounds


_PROVEN = "prove their verdicts, and those of an indeterminate one leave both open"


def refuse_ruling(e: int, ruling: Ruling) -> NoReturn:
    """Say what is wrong with a ruling: a code that is none, or bounds that prove something else."""
    code, lower, upper = ruling
    if code not in [int(known) for known in Verdict]:
        raise MisuseError("verdict", f"be one of the codes {[int(known) for known in Verdict]}", repr(code))
    raise MisuseError("margins of the judge", _PROVEN, f"{[lower, upper]} with code {code} for explanation {e}")
