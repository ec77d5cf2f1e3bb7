"""The trace of a document, as far as it can be checked without knowing how it came about."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from .._stored import Node, Refusal
from .._typing import BoolArray, IntArray
from ..judges import Verdict, Verdicts
from ..report import trace_columns


@final
@dataclass(frozen=True, slots=True, eq=False)
class ReadTrace:
    """Queries in order with their verdicts."""

    size: int
    queries: IntArray  # (k,)
    verdicts: Verdicts  # (k,)

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def codes(self) -> NDArray[np.uint8]:
        """(k,) of the verdicts."""
        return self.verdicts.codes

    def margin(self, query: int) -> list[float]:
        """Both bounds."""
        return [float(self.verdicts.lower[query]), float(self.verdicts.upper[query])]

    def possible(self, count: int) -> BoolArray:
        """(M,) U after this many queries."""
        mask = np.ones(self.size, dtype=np.bool_)
        mask[self._with(Verdict.REJECTED, count)] = False
        return mask

    def witnessed(self, count: int) -> BoolArray:
        """(M,) L after this many queries."""
        mask = np.zeros(self.size, dtype=np.bool_)
        mask[self._with(Verdict.ADMISSIBLE, count)] = True
        return mask

    def place(self, e: int) -> int:
        """At which query an explanation was asked about."""
        queries = np.flatnonzero(self.queries == e)
        if not queries.size:
            raise Refusal(f"explanation {e} is named but was never asked about")
        return int(queries[0])

    def _with(self, verdict: Verdict, count: int) -> IntArray:
        queries: IntArray = self.queries[:count][self.codes[:count] == verdict]
        return queries


def read_trace(node: Node, size: int) -> ReadTrace:
    """Check what can be checked of a trace without knowing how it came about."""
    queries, verdicts = trace_columns(node, size)
    for query, text in _contradictions(verdicts):
        raise Refusal(f"the verdict on explanation {queries[query]} {text}")
    return ReadTrace(size, queries, verdicts)


def _contradictions(verdicts: Verdicts) -> Iterator[tuple[int, str]]:
    """Verdicts that their own margin does not prove.

    Rejected needs a number that is not negative, admissible one that is not positive: rounded outwards, the bound of a
    margin close to 0 may be 0 itself.
    """
    codes, lower, upper = verdicts.codes, verdicts.lower, verdicts.upper
    for text, is_wrong in {
        "has bounds of its margin in the wrong order": ~(lower <= upper),
        "is REJECTED although its margin does not prove it": (codes == Verdict.REJECTED)
        & ~((lower >= 0.0) & (upper > 0.0)),
        "is ADMISSIBLE although its margin does not prove it": (codes == Verdict.ADMISSIBLE) & ~(upper <= 0.0),
        "is INDETERMINATE although its margin has a sign": (codes == Verdict.INDETERMINATE)
        & ((lower > 0.0) | (upper <= 0.0)),
    }.items():
        if is_wrong.any():
            yield int(np.argmax(is_wrong)), text
