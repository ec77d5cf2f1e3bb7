"""The parts of a document that follow from a trace: fields, claims, outcome and edges.

A run writes them, and `verify` writes them again to compare.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._checks import check_number
from .._codec import described
from .._errors import MisuseError
from .._typing import IntArray
from ..aeb import REJECTED, WITNESSED, Trace, staircase
from ..banks import UNLISTED, Bank, grid_edges
from ..io import RowSource
from ..judges import Judge, Verdict, Verdicts
from ..laws import Law, tells_strengths
from ..laws.alternatives import diagnosis
from ..questions import Answer, FieldValues, Label, Question, abridged, coarsened, column_of, withheld
from ._fields import joined

_BLOCK = 1 << 16
Gate = Mapping[str, Any] | None


def contents(
    trace: Trace,
    gate: Gate,
    bank: Bank | None,
    laws: Sequence[Law],
    contradiction: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Fields, claims, outcome and edges of a trace, as JSON holds them, and what each of several streams keeps.

    gate: what the judge says of the answer as a whole.  contradiction: what it says of streams that leave nothing.
    """
    parts: dict[str, Any] = {
        "fields": fields_json(trace, said_answers(trace, gate)),
        "claims": _claims(trace, is_withheld(gate), is_complete(gate)),
        "outcome": {
            "status": "WITHHELD" if is_withheld(gate) else trace.status.name,
            "ending": trace.ending.name,
            "is_certified": trace.is_certified,
            "queries": len(trace),
            "budget": trace.budget,
            "witnessed": trace.n_witnessed,
            "possible": trace.n_possible,
            "indeterminate": trace.n_indeterminate,
        },
        "edges": [],
    }
    if bank is not None:
        kept = trace.queries[trace.codes != Verdict.REJECTED]
        parts["edges"] = grid_edges(bank, np.sort(kept), has_strengths=tells_strengths(laws))
    if any(law.has_unlisted for law in laws):
        parts["complete"] = _if_complete(trace, gate)
    if contradiction is not None:
        streams = [
            {**each, "says": abridged(trace.question.says_of(each["nearest"]))} for each in contradiction["streams"]
        ]
        parts["contradiction"] = {**contradiction, "streams": streams}
    return described("document", parts)


def _if_complete(trace: Trace, gate: Gate) -> list[dict[str, object]]:
    """The answers if the library is complete: those of the explanations without anything unlisted.

    The truth is one explanation, so that these answers and those of all explanations are simultaneously true with
    probability at least 1 - level, these under the assumption that nothing unlisted is there.
    """
    marks = trace.brackets().column()
    said = trace.question.says(np.arange(trace.size)).get(UNLISTED)
    is_listed = np.ones(trace.size, dtype=np.bool_) if said is None else said.numbers < 0
    found = trace.question.answers((marks != REJECTED) & is_listed, (marks == WITNESSED) & is_listed)
    return [(withheld(answer) if is_withheld(gate) else answer).statement() for answer in found]


def unlisted_json(
    fields: Sequence[Mapping[str, Any]], laws: Sequence[Law], judge: Judge, bank: Bank | None
) -> dict[str, Any] | None:
    """Where something unlisted is, if the fields say that there is something; None for laws without the unlisted.

    Of counts it has a part in each interval; else it lies in one of the cells that are possible, each an element.
    """
    law = next((law for law in laws if law.has_unlisted), None)
    if law is None or bank is None:
        return None
    found = next((entry for entry in fields if entry["field"] == UNLISTED), None)
    is_there = found is not None and found["label"] in (Label.FINE, Label.GROUP)
    if law.is_counted:
        runs = judge.unlisted_runs() if is_there else []
        facts: dict[str, object] = {"intervals": [list(law.unlisted_interval(*run)) for run in runs]}
    else:
        library = bank.states.library
        assert library is not None
        names = [library.ids[number] for number in library.members(UNLISTED)]
        cells = {name: list(law.unlisted_interval(number, number)) for number, name in enumerate(names)}
        facts = {"intervals": joined(cells, found["cell"]) if found and is_there else [], "cells": cells}
    return described("document", {"unit": law.unlisted_unit} | facts)


def is_withheld(gate: Gate) -> bool:
    """True if the facts of the judge keep all labels back."""
    return bool(gate and gate["is_withheld"])


def is_complete(gate: Gate) -> bool:
    """False if something besides the explanations that the judge could reject is possible."""
    return bool((gate or {}).get("is_complete", True))


def staircase_json(
    question: Question, queries: IntArray, verdicts: Verdicts, judge: Judge, gate: Gate, *, is_cover: bool
) -> dict[str, Any] | None:
    """The answers at every error of the responses, from the verdicts of a run that asked about every explanation.

    None if the judge has no verdicts at other errors, if an explanation was not tested, if labels are withheld,
    and in a cover, whose cells are sized for exact responses.
    """
    if judge.error is None or len(queries) < question.n_explanations or is_withheld(gate) or is_cover:
        return None
    steps = staircase(judge, question, verdicts.rows(np.argsort(queries)))
    return described(
        "document", {"scale": judge.error_scale, "error": judge.error, "steps": [step.encode() for step in steps]}
    )


def diagnosis_json(
    parts: Mapping[str, Any], bank: Bank | None, streams: Iterable[tuple[Law, RowSource, bool]]
) -> dict[str, Any] | None:
    """Causes that would have to be true, where nothing fits or the judge rejects the best fit; None elsewhere.

    parts: outcome, gate and, if there is one, the staircase of a document, whose smallest error is certified.
    streams: the law of each, the rows that propose or, if all of them judge, all, and whether these are all.
    """
    gate = parts.get("gate") or {}
    if bank is None or (parts["outcome"]["status"] not in ("EMPTY", "WITHHELD") and not gate.get("is_best_rejected")):
        return None
    for law, rows, is_all in streams:
        found = diagnosis(law, bank, rows, is_all=is_all) if law.part == "deployment" else None
        if found is not None:
            has_error = parts.get("staircase", {}).get("scale", "noise") != "noise"
            return described("document", found | ({"error": None} if has_error else {}))
    return None


def said_answers(trace: Trace, gate: Gate) -> tuple[Answer, ...]:
    """The answers of the trace, coarsened or withheld where the facts of the judge say so."""
    if is_withheld(gate):
        return tuple(map(withheld, trace.answers))
    return trace.answers if is_complete(gate) else tuple(map(coarsened, trace.answers))


def fields_json(trace: Trace, answers: tuple[Answer, ...]) -> list[dict[str, Any]]:
    """An entry for each answer of a trace."""
    place = trace.places()
    rejected = np.flatnonzero(trace.codes == Verdict.REJECTED)
    entries = []
    _check_answers(answers, place)
    for answer, own, left in zip(answers, trace.answers, _sets(trace), strict=True):
        # Also of a label that was coarsened, the rejected explanation that came nearest to changing the finer one: of
        # the smallest lower bound of the margin, then asked first; none if the question says that none would.
        excluded = None
        if answer.label.is_truth_level and own.label.is_truth_level and rejected.size:
            changing = rejected[trace.question.excluded(own, trace.queries[rejected])]
            excluded = int(changing[np.argmin(trace.verdicts.lower[changing])]) if changing.size else None
        entry: dict[str, Any] = {
            "field": answer.field,
            "label": str(answer.label),
            "cell": list(answer.cell),
            "group": answer.group,
            "numbers": {name: float(value) for name, value in answer.numbers},
            "certificate": answer.certificate.kind,
            "witnesses": [_explanation(trace, int(place[e]), answer.field) for e in answer.certificate.witnesses],
            "excluded": None if excluded is None else _explanation(trace, excluded, answer.field),
            "set": left,
        }
        entries.append(entry)
    return entries


def _check_answers(answers: tuple[Answer, ...], place: IntArray) -> None:
    """Raise if a question of one's own answers what no document can hold."""
    fields = [answer.field for answer in answers]
    if len({*fields}) < len(fields):
        raise MisuseError("answers", "be about distinct fields", fields)
    for answer in answers:
        named = f"answer on {answer.field!r}"
        texts = (answer.field, *answer.cell, *(() if answer.group is None else (answer.group,)))
        if not all(isinstance(text, str) for text in texts):
            raise MisuseError(named, "name its field, cell and group by texts", texts)
        for name, value in answer.numbers:
            if not np.isfinite(check_number(f"{name} of the {named}", value)):
                raise MisuseError(f"{name} of the {named}", "be finite", value, "JSON has no other numbers.")
        strange = [e for e in answer.certificate.witnesses if not 0 <= e < len(place) or place[e] < 0]
        if strange:
            raise MisuseError(named, "name witnesses that were asked about", strange[0])


def _explanation(trace: Trace, query: int, field: str) -> dict[str, Any]:
    """An explanation with the bounds of its margin and what it says, of this field at least."""
    e = int(trace.queries[query])
    says = abridged(trace.question.says_of(e), field)
    return {"explanation": e, "margin": trace.verdicts.margin_json(query), "says": says}


def _sets(trace: Trace) -> list[dict[str, Any] | None]:
    """An entry for each answer; None where explanations say nothing of the field.

    kept: all that an explanation has which was tested and not rejected, with the one of the smallest upper bound
    of the margin, of equal ones the first of the bank; in the order of these bounds, and null where nothing is
    there.  not_asked: all that only explanations have which were not tested.  extent: the largest distance within
    what is kept.  box: where elements are cells, the smallest around all that is possible.
    """
    question = trace.question
    kept = np.flatnonzero(trace.codes != Verdict.REJECTED)
    kept = kept[np.lexsort((trace.queries[kept], trace.verdicts.upper[kept]))]
    said = question.says(trace.queries[kept])
    left = _unasked(trace)
    sets: list[dict[str, Any] | None] = []
    for number, answer in enumerate(trace.answers):
        column = column_of(answer.field, said)
        rest = column_of(answer.field, left)
        if column is None or rest is None:
            sets.append(None)
            continue
        numbers, first = np.unique(column.numbers, return_index=True)
        possible = np.union1d(numbers, rest.numbers)
        unasked = np.setdiff1d(rest.numbers, numbers)
        entry: dict[str, Any] = {
            "kept": [
                {
                    "name": _name(column, int(column.numbers[place])),
                    "explanation": int(trace.queries[kept[place]]),
                    "margin": trace.verdicts.margin_json(int(kept[place])),
                }
                for place in np.sort(first).tolist()
            ],
            # Nothing comes last.
            "not_asked": [_name(rest, int(n)) for n in [*unasked[unasked >= 0], *unasked[unasked < 0]]],
            "extent": question.extent(number, numbers[numbers >= 0]),
        }
        box = question.hull(number, possible[possible >= 0])
        sets.append(entry if box is None else entry | {"box": box})
    return sets


def _name(column: FieldValues, number: int) -> str | None:
    return None if number < 0 else column.names[number]


def _unasked(trace: Trace) -> dict[str, FieldValues]:
    """The statements of explanations that were not tested, each once, found a block at a time."""
    unasked = trace.brackets().unqueried()
    question = trace.question
    columns = {
        name: FieldValues(said.names, said.numbers[:0]) for name, said in question.says(trace.queries[:0]).items()
    }
    for start in range(0, len(unasked), _BLOCK):
        for name, said in question.says(unasked[start : start + _BLOCK]).items():
            columns[name] = FieldValues(said.names, np.union1d(columns[name].numbers, said.numbers))
    return columns


def _claims(trace: Trace, is_withheld: bool, is_complete: bool) -> list[dict[str, Any]]:
    """An entry for each claim: true or false of everything possible, open by two witnesses, or not yet known.

    is_complete: False where something else is possible, too, which has none of what is claimed: no claim is true then.
    """
    question = trace.question
    marks = trace.brackets().column()
    possible: dict[str, list[bool]] = {}
    witnesses: dict[str, list[int]] = {}  # the first that bears it out, and the first that does not
    for start in range(0, trace.size, _BLOCK):
        index = np.arange(start, min(start + _BLOCK, trace.size))
        for name, holds in question.claims(index).items():
            seen = possible.setdefault(name, [False, False])
            first = witnesses.setdefault(name, [-1, -1])
            for side, mask in enumerate((holds, ~holds)):
                seen[side] |= bool((mask & (marks[index] != REJECTED)).any())
                bearers = index[mask & (marks[index] == WITNESSED)]
                first[side] = int(bearers[0]) if first[side] < 0 and bearers.size else first[side]
    entries = []
    for name, (may_hold, fails) in possible.items():
        may_fail = fails or (may_hold and not is_complete)
        value = "true" if may_hold else "false"
        if may_hold and may_fail:
            value = "open" if min(witnesses[name]) >= 0 else "unknown"
        if not may_hold and not may_fail:
            value = "empty"
        value = "withheld" if is_withheld and value != "empty" else value
        entries.append({"claim": name, "value": value, "witnesses": witnesses[name] if value == "open" else []})
    return entries
