"""Verdicts as columns: a code for each explanation, and proven bounds of the margin that decided it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import final

import numpy as np
from numpy.typing import NDArray

from .._errors import MisuseError
from .._typing import Array, BoolArray, IntArray

Codes = NDArray[np.uint8]


class Verdict(IntEnum):
    """What the held-out rows say of an explanation at a level."""

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

    def at_level(self, column: int) -> "Verdicts":
        """(k,) those at one of several levels."""
        return Verdicts(self.codes[:, column], self.lower[:, column], self.upper[:, column], self.bits)

    def margins(self) -> Array:
        """Both bounds side by side, (k, 2) of (k,) columns."""
        return np.stack([self.lower, self.upper], axis=-1)

    def are_proven(self) -> BoolArray:
        """Whether the bounds prove each verdict; bounds that are NaN prove nothing."""
        codes, lower, upper = self.codes, self.lower, self.upper
        known = [codes == Verdict.ADMISSIBLE, codes == Verdict.REJECTED, codes == Verdict.INDETERMINATE]
        proven = [upper <= 0.0, (lower >= 0.0) & (upper > 0.0), (lower <= 0.0) & (upper > 0.0)]
        return np.asarray(np.select(known, proven, False) & (lower <= upper))

    def check(self, explanations: IntArray, argument: str) -> None:
        """Refuse codes that are none, and bounds that prove something else."""
        wrong = np.flatnonzero(~self.are_proven())
        if not wrong.size:
            return
        row = int(wrong[0])
        code, about = self.codes[row].item(), f"for explanation {explanations[row]}"
        if code not in CODES:
            raise MisuseError("verdict", f"be one of the codes {CODES}", f"{code!r} {about}")
        rule = "prove their verdicts, and those of an indeterminate one leave both open"
        raise MisuseError(
            argument, rule, f"{[float(self.lower[row]), float(self.upper[row])]} with code {code} {about}"
        )
