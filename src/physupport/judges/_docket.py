"""Verdicts as a run asks for them: one explanation at a time, while the judge decides about many at once."""

from typing import final

import numpy as np

from .._checks import check_count
from .._errors import MisuseError
from .._typing import IntArray
from ._judge import Judge
from ._verdicts import Verdicts

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
        explanations, found = self.judge.ahead(e, count)
        row = np.flatnonzero(explanations == e)
        if len(found) != len(explanations) or not row.size:
            raise MisuseError("judge", f"give a verdict on explanation {e}", f"{len(found)} on {explanations.tolist()}")
        found.rows(row).check(explanations[row], "margins of the judge")
        is_kept = found.are_proven() & (self._codes[explanations] == UNKNOWN)
        self._keep(explanations[is_kept], found.rows(is_kept))
        return int(self._codes[e])

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """Verdicts (k,), asking the judge for those that it has not given."""
        new = np.unique(explanations[self._codes[explanations] == UNKNOWN])
        if new.size:
            found = self.judge.verdicts(new)
            found.check(new, "margins of the judge")
            self._keep(new, found)
        return Verdicts(self._codes[explanations], self._lower[explanations], self._upper[explanations])

    def _keep(self, explanations: IntArray, found: Verdicts) -> None:
        self._lower[explanations], self._upper[explanations] = found.lower, found.upper
        self._codes[explanations] = found.codes
