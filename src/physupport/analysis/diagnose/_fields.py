"""Every field of a question with its elements, the explanations behind them, and what would refine it."""

from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias, final

import numpy as np

from ..._typing import IntArray
from ...aeb._trace import INDETERMINATE, REJECTED, WITNESSED
from ...banks import JOINT
from ...judges import Verdict
from ...questions import Answer, FieldElements
from ...report._phrases import coordinate_names
from .._result import Result
from ._coherence import coherence
from ._levels import LevelAnswers
from ._rows_needed import RowsNeeded, contradicts, rivals

MOST_LISTED = 12  # explanations of an element
MOST_ENTRIES = 6000  # explanations of all elements together; elements of large libraries list fewer each
MOST_COHERENT = 60
_BLOCK = 1 << 16

# Explanations of each element by its number, -1 for none of them.
_Entries: TypeAlias = dict[int, list[dict[str, Any]]]


def fields_json(
    result: Result, levels: tuple[LevelAnswers, ...], needed: tuple[RowsNeeded, ...], names: tuple[str, ...]
) -> list[dict[str, Any]]:
    """An entry for each answer of the run.  names: of the coordinates; x, y, z unless given."""
    answers, plug_in = result.answers, result.plug_in
    shown = [result.predicates.elements(number) for number in range(len(answers))]
    listed = _Listed(result, tuple(answer.field for answer, field in zip(answers, shown, strict=True) if field.names))
    counts = _Counts.of_fields(result)
    return [
        {
            "field": answer.field,
            **_said(answer),
            **_shown_json(result, answer, shown[number], counts, listed, names),
            "plug_in": None if plug_in is None else _said(plug_in[number], shown[number]),
            "refine": _refine(result, number, answer, needed),
            "levels": [_level_json(level, number) for level in levels],
        }
        for number, answer in enumerate(answers)
    ]


def _said(answer: Answer, shown: FieldElements | None = None) -> dict[str, Any]:
    """Label and cell; with `shown`, the elements of the sets in it."""
    cell = list(answer.cell)
    if shown is not None and shown.sets is not None:
        cell = list(dict.fromkeys(name for joint in cell for name in joint.split(JOINT)))
    return {"label": str(answer.label), "cell": cell}


def _level_json(answers: LevelAnswers, number: int) -> dict[str, Any]:
    answer = answers.answers[number]
    return {
        "level": answers.level,
        **_said(answer),
        "or_nothing": dict(answer.numbers).get("possible_absent", 0.0) > 0.0,
    }


def _shown_json(
    result: Result,
    answer: Answer,
    shown: FieldElements,
    counted: "dict[str, _Counts]",
    listed: "_Listed",
    names: tuple[str, ...],
) -> dict[str, Any]:
    count, library = 0 if shown.coordinates is None else shown.coordinates.shape[1], result.bank.states.library
    entry: dict[str, Any] = {
        "is_optional": shown.is_optional,
        "coordinate_names": coordinate_names(count, "" if library is None else library.unit or "", names),
        "tolerance": shown.tolerance,
        "absence_threshold": shown.threshold,
        "groups": [[name, list(members)] for name, members in shown.groups],
        "is_settled": answer.field not in result.open_fields and bool(result.admissible.size),
        "is_finest": shown.is_finest,
    }
    if not shown.names:
        return entry | {"elements": [], "absent": None, "coherence": None}
    counts, explanations = counted[answer.field].of_elements(shown), listed.of_field(answer.field, shown)
    return entry | {
        "elements": _elements(shown, counts, explanations),
        "absent": counts.json(-1, explanations) if shown.is_optional else None,
        "coherence": field_coherence(result, shown.names, counts.possible),
    }


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Counts:
    """How many explanations have each element, the last entry for none of them."""

    possible: IntArray  # (m + 1,)
    witnessed: IntArray
    undecided: IntArray
    all: IntArray

    @classmethod
    def of_fields(cls, result: Result) -> "dict[str, _Counts]":
        """Those of everything that explanations say something of."""
        marks, tables = result.trace.brackets().column(), dict[str, IntArray]()
        for start in range(0, len(marks), _BLOCK):
            block = marks[start : start + _BLOCK]
            for name, said in result.predicates.says(np.arange(start, start + len(block))).items():
                shape = len(said.names) + 1, INDETERMINATE + 1
                numbers = said.numbers % shape[0]  # nothing is -1, the last entry
                counts = np.bincount(numbers * shape[1] + block, minlength=shape[0] * shape[1]).reshape(shape)
                tables[name] = counts + tables.get(name, 0)
        return {
            name: cls(total - table[:, REJECTED], table[:, WITNESSED], table[:, INDETERMINATE], total)
            for name, table, total in ((name, table, table.sum(axis=1)) for name, table in tables.items())
        }

    def of_elements(self, shown: FieldElements) -> "_Counts":
        """Those of elements, where sets of these were counted: of every set that has the element."""
        if shown.sets is None:
            return self
        size = len(shown.names)
        totals = (
            np.bincount(shown.sets.ravel() + 1, np.repeat(counts[:-1], shown.sets.shape[1]), size + 1)[1:]
            for counts in (self.possible, self.witnessed, self.undecided, self.all)
        )
        absent = self.possible[-1], self.witnessed[-1], self.undecided[-1], self.all[-1]
        return _Counts(*(np.append(t, a).astype(np.int64) for t, a in zip(totals, absent, strict=True)))

    def json(self, number: int, explanations: _Entries) -> dict[str, Any]:
        """One element."""
        kept, possible = int(self.witnessed[number] + self.undecided[number]), int(self.possible[number])
        return {
            "state": "kept" if kept else "not asked" if possible else "excluded",
            "n_kept": kept,
            "n_not_asked": possible - kept,
            "n_explanations": int(self.all[number]),
            "explanations": explanations.get(number, []),
        }


def _elements(shown: FieldElements, counts: _Counts, explanations: _Entries) -> list[dict[str, Any]]:
    places = shown.coordinates
    return [
        {"id": name, "coordinates": [] if places is None else places[i].tolist(), **counts.json(i, explanations)}
        for i, name in enumerate(shown.names)
    ]


class _Listed:
    """Explanations in the order in which they are listed: admissible, undecided, not result, rejected.

    The asked ones by their margin, the others by plausibility.
    """

    def __init__(self, result: Result, fields: tuple[str, ...]) -> None:
        undecided, rejected = result.of_code(Verdict.INDETERMINATE), result.of_code(Verdict.REJECTED)
        self._result = result
        self._order = np.concatenate([result.admissible, undecided, result.unasked, rejected])
        self._said = result.predicates.says(self._order)
        n_elements = sum(min(len(self._said[field].names), MOST_ENTRIES) + 1 for field in fields)
        self._most = max(1, min(MOST_LISTED, MOST_ENTRIES // max(n_elements, 1)))

    def of_field(self, field: str, shown: FieldElements) -> _Entries:
        """The first explanations of each element of a field, also where they have it in a set."""
        numbers, listed = self._said[field].numbers, self._order
        if shown.sets is not None:
            has = np.vstack([shown.sets, np.full(shown.sets.shape[1], -1)])[numbers]  # (k, r); nothing is -1
            is_there = has >= 0
            is_there[:, 0] |= numbers < 0
            numbers, listed = has[is_there], np.repeat(listed, is_there.sum(axis=1))
        order = np.argsort(numbers, kind="stable")
        present, starts = np.unique(numbers[order], return_index=True)
        first = [part[: self._most] for part in np.split(listed[order], starts[1:])]
        entries = iter(self._result.entries(np.concatenate(first)))
        return {number: [*islice(entries, len(part))] for number, part in zip(present.tolist(), first, strict=True)}


def field_coherence(result: Result, names: tuple[str, ...], possible: IntArray) -> dict[str, Any] | None:
    """Between the elements of a field in the first setting, the possible ones first if there are too many."""
    library = result.bank.states.library
    if library is None:
        return None
    order = np.argsort(possible[: len(names)] == 0, kind="stable")[:MOST_COHERENT]
    chosen, number = [names[i] for i in sorted(order.tolist())], {name: i for i, name in enumerate(library.ids)}
    return coherence_json(result, [number[name] for name in chosen]) if {*chosen} <= {*number} else None


def coherence_json(result: Result, elements: list[int]) -> dict[str, Any]:
    """Between elements of the library in the first setting."""
    states = result.bank.states
    matrix = coherence(states.elements[:, elements], is_complex=is_complex(result))
    return {"ids": list(states.names(elements)), "matrix": [[round(x, 6) for x in row] for row in matrix.tolist()]}


def is_complex(result: Result) -> bool:
    """Whether elements hold pairs (Re, Im)."""
    return any(part.law.is_complex for part in result.seal.parts)


def _refine(result: Result, number: int, answer: Answer, needed: tuple[RowsNeeded, ...]) -> list[dict[str, Any]]:
    facts = [rows.json() for rows in needed if rows.field == answer.field]
    # What is settled, or contradicted by an admissible explanation, no query can make finer.
    if answer.field not in result.open_fields or rivals(result, number).size:
        return facts
    trace = result.trace
    undecided = np.concatenate([result.unasked, trace.queries[trace.codes == Verdict.INDETERMINATE]])
    count = int(contradicts(result, number, undecided).sum())
    if count:
        facts.append(
            {
                "undecided": count,  # explanations that contradict the reference
                "reference": result.reference,
                "is_exact": len(result.unasked) >= trace.size - len(trace),  # of very many not all are looked at
                "can_ask": bool(contradicts(result, number, result.unasked).any()),
            }
        )
    return facts
