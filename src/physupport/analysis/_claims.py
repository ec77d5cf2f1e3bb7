"""The claims of a question after a run."""

from typing import Any

import numpy as np

from ..aeb import Trace
from ..aeb._trace import REJECTED, WITNESSED
from ..questions import predicates

_BLOCK = 1 << 16


def claims_json(trace: Trace, is_withheld: bool) -> list[dict[str, Any]]:
    """An entry for each claim: true or false of everything possible, open by two witnesses, or not yet known."""
    question, marks = predicates(trace.question), trace.brackets().column()
    possible: dict[str, list[bool]] = {}
    witnesses: dict[str, list[int]] = {}  # the first that bears it out, and the first that does not
    for start in range(0, trace.size, _BLOCK):
        index = np.arange(start, min(start + _BLOCK, trace.size))
        for name, holds in question.claims(index).items():
            seen, first = possible.setdefault(name, [False, False]), witnesses.setdefault(name, [-1, -1])
            for side, mask in enumerate((holds, ~holds)):
                seen[side] |= bool((mask & (marks[index] != REJECTED)).any())
                found = index[mask & (marks[index] == WITNESSED)]
                first[side] = int(found[0]) if first[side] < 0 and found.size else first[side]
    return [_entry(name, possible[name], witnesses[name], is_withheld) for name in possible]


def _entry(name: str, possible: list[bool], first: list[int], is_withheld: bool) -> dict[str, Any]:
    may_hold, may_fail = possible
    value = "true" if may_hold else "false"
    if may_hold and may_fail:
        value = "open" if min(first) >= 0 else "unknown"
    if not may_hold and not may_fail:
        value = "empty"
    value = "withheld" if is_withheld and value != "empty" else value
    return {"claim": name, "value": value, "witnesses": first if value == "open" else []}
