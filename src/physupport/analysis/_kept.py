"""The set that a run leaves of each field, what is kept by its verdict and what was not asked about; and the claims."""

from typing import Any

import numpy as np

from .._typing import IntArray
from ..aeb import Trace
from ..aeb._trace import REJECTED, WITNESSED
from ..judges import Verdict
from ..questions import Said, column_of, predicates

_BLOCK = 1 << 16


def sets_json(trace: Trace) -> list[dict[str, Any] | None]:
    """An entry for each answer; None where explanations say nothing of the field.

    kept: all that an explanation has which was asked about and not rejected, with the one of the smallest upper bound
    of the margin, of equal ones the first of the bank; in the order of these bounds, and null where nothing is
    there.  not_asked: all that only explanations have which were not asked about.  extent: the largest distance within
    what is kept.  box: where elements are cells, the smallest around all that is possible.
    """
    question = predicates(trace.question)
    kept = np.flatnonzero(trace.codes != Verdict.REJECTED)
    kept = kept[np.lexsort((trace.queries[kept], trace.verdicts.upper[kept]))]
    said, left = question.says(trace.queries[kept]), _unasked(trace)
    sets: list[dict[str, Any] | None] = []
    for number, answer in enumerate(trace.answers):
        column, rest = column_of(answer.field, said), column_of(answer.field, left)
        if column is None or rest is None:
            sets.append(None)
            continue
        numbers, first = np.unique(column.numbers, return_index=True)
        possible = np.union1d(numbers, rest.numbers)
        box = question.hull(number, possible[possible >= 0])
        sets.append(
            {
                "kept": [_element(trace, column, kept, place) for place in np.sort(first).tolist()],
                "not_asked": _named(rest, np.setdiff1d(rest.numbers, numbers)),
                "extent": question.extent(number, numbers[numbers >= 0]),
                **({} if box is None else {"box": box}),
            }
        )
    return sets


def _element(trace: Trace, column: Said, kept: IntArray, place: int) -> dict[str, Any]:
    query, number = int(kept[place]), int(column.numbers[place])
    margin = trace.verdicts.margin_json(query)
    name = None if number < 0 else column.names[number]
    return {"name": name, "explanation": int(trace.queries[query]), "margin": margin}


def _named(column: Said, numbers: IntArray) -> list[str | None]:
    """Names in their order, nothing as the last."""
    return [None if number < 0 else column.names[number] for number in [*numbers[numbers >= 0], *numbers[numbers < 0]]]


def _unasked(trace: Trace) -> dict[str, Said]:
    """What explanations that were not asked about say, each thing once; a block at a time."""
    unasked, question = trace.brackets().unqueried(), predicates(trace.question)
    columns = {name: Said(said.names, said.numbers[:0]) for name, said in question.says(trace.queries[:0]).items()}
    for start in range(0, len(unasked), _BLOCK):
        for name, said in question.says(unasked[start : start + _BLOCK]).items():
            columns[name] = Said(said.names, np.union1d(columns[name].numbers, said.numbers))
    return columns


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
                bearers = index[mask & (marks[index] == WITNESSED)]
                first[side] = int(bearers[0]) if first[side] < 0 and bearers.size else first[side]
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
