"""The trace of a document: its form, its chain of hashes, and the sets that it leads to."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from .._stored import Node, Refusal
from .._typing import Array, BoolArray, IntArray
from ..judges import Verdict
from ..report import trace_columns


@final
@dataclass(frozen=True, slots=True, eq=False)
class ReadTrace:
    """Queries in order with their verdicts."""

    size: int
    queries: IntArray  # (k,)
    codes: IntArray  # (k,)
    margins: Array  # (k, 2)

    def __len__(self) -> int:
        return len(self.queries)

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
        found = np.flatnonzero(self.queries == e)
        if not found.size:
            raise Refusal(f"explanation {e} is named but was never asked about")
        return int(found[0])

    def _with(self, verdict: Verdict, count: int) -> IntArray:
        queries: IntArray = self.queries[:count][self.codes[:count] == verdict]
        return queries


def read_trace(node: Node, size: int) -> ReadTrace:
    """Check what can be checked of a trace without knowing how it came about."""
    queries, codes, margins = trace_columns(node, size)
    for query, text in _contradictions(codes, margins):
        raise Refusal(f"the verdict on explanation {queries[query]} {text}")
    return ReadTrace(size, queries, codes, margins)


def _contradictions(codes: IntArray, margins: Array) -> Iterator[tuple[int, str]]:
    """Verdicts that their own margin does not prove.

    Rejected needs a number that is not negative, admissible one that is not positive: rounded outwards, the bound of a
    margin close to 0 may be 0 itself.
    """
    lower, upper = margins.T
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
