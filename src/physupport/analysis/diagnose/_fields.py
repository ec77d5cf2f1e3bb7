"""Every field of a question with its elements, the explanations behind them, and what would refine it."""

from typing import Any

import numpy as np

from ..._typing import Array
from ...banks import LibraryFamily
from ...judges import Verdict
from ...questions import Answer, AskedRegion, Label, RegionalMap, RegionalProgress, RegionState, Resolution
from ._asked import Asked
from ._coherence import coherence
from ._levels import LevelAnswers
from ._rivals import contradicts, rivals
from ._rows_needed import RowsNeeded

MOST_LISTED = 12  # explanations of an element
MOST_ENTRIES = 6000  # explanations of all elements together; elements of large libraries list fewer each
MOST_COHERENT = 60


def fields_json(
    asked: Asked, levels: tuple[LevelAnswers, ...], needed: tuple[RowsNeeded, ...], names: tuple[str, ...]
) -> list[dict[str, Any]]:
    """An entry for each answer of the run.  names: of the coordinates; x, y, z unless given."""
    answers, plug_in = asked.result.trace.answers, asked.result.plug_in
    tolerance = asked.question.delta_fine if isinstance(asked.question, Resolution) else None
    regions: list[dict[str, Any]] = [_NO_ELEMENTS | {"tolerance": tolerance}] * len(answers)
    if isinstance(asked.question, RegionalMap):
        regions = _regions_json(asked, asked.question, names)
    return [
        {
            "field": answer.field,
            **_said(answer),
            **regions[number],
            "plug_in": None if plug_in is None else _said(plug_in[number]),
            "refine": _refine(asked, number, answer, needed),
            "levels": [_level_json(each, number) for each in levels],
        }
        for number, answer in enumerate(answers)
    ]


_NO_ELEMENTS: dict[str, Any] = {
    "is_optional": False,
    "coordinate_names": [],
    "tolerance": None,
    "absence_threshold": None,
    "elements": [],
    "absent": None,
    "groups": [],
    "coherence": None,
    "notes": [],
}


def _said(answer: Answer) -> dict[str, Any]:
    return {"label": str(answer.label), "cell": list(answer.cell)}


def _level_json(found: LevelAnswers, number: int) -> dict[str, Any]:
    answer = found.answers[number]
    return {"level": found.level, **_said(answer), "or_nothing": dict(answer.numbers).get("possible_absent", 0.0) > 0.0}


def _regions_json(asked: Asked, question: RegionalMap, names: tuple[str, ...]) -> list[dict[str, Any]]:
    states = asked.progress.states if isinstance(asked.progress, RegionalProgress) else ()
    listed = _Listed(asked, question)
    return [
        {
            "is_optional": region.name in question.view.optional,
            "coordinate_names": _coordinate_names(question.view.coordinates(region.name), names),
            "tolerance": region.tolerance,
            "absence_threshold": region.threshold,
            "elements": _elements(question, region, states[j], listed, j),
            "absent": _counts(states[j], -1, listed, j) if region.name in question.view.optional else None,
            "groups": [[name, list(region.names(members))] for name, members in region.groups[:-1]],
            "coherence": region_coherence(asked, region, states[j]),
            "notes": _notes(asked, question, j, states[j]),
        }
        for j, region in enumerate(question.asked)
    ]


def _notes(asked: Asked, question: RegionalMap, j: int, state: RegionState) -> list[str]:
    """Why elements of a settled field are possible though nothing was found out about them."""
    region = question.asked[j]
    if region.name in asked.open_fields or not asked.admissible.size:
        return []
    trace = asked.result.trace
    undecided = question.slots(trace.queries[asked.of_code(Verdict.INDETERMINATE)])[:, j]
    names = [
        name
        for i, name in enumerate(region.elements)
        if not state.witnessed[i] and state.possible[i] > np.count_nonzero(undecided == i)
    ]
    if not names:
        return []
    is_one, more = len(names) == 1, len(names) - MOST_LISTED
    listed = ", ".join(names[:MOST_LISTED]) + (f" and {more} more" if more > 0 else "")
    is_final = region.is_finest or state.label in (Label.FINE, Label.ABSENT)
    it = "it" if is_one else "them"
    reason = f"no verdict on {it} would change the label" if is_final else "the label stays true whatever the verdict"
    return [
        f"{listed} {'is' if is_one else 'are'} possible, but {'was' if is_one else 'were'} not asked about further: "
        f"{reason}."
    ]


def _elements(
    question: RegionalMap, region: AskedRegion, state: RegionState, listed: "_Listed", j: int
) -> list[dict[str, Any]]:
    places = question.view.coordinates(region.name)
    return [
        {
            "id": name,
            "coordinates": [] if places is None else places[i].tolist(),
            **_counts(state, i, listed, j),
        }
        for i, name in enumerate(region.elements)
    ]


def _counts(state: RegionState, slot: int, listed: "_Listed", j: int) -> dict[str, Any]:
    witnessed, possible = int(state.witnessed[slot]), int(state.possible[slot])
    return {
        "state": "witnessed" if witnessed else "possible" if possible else "excluded",
        "n_witnessed": witnessed,
        "n_possible": possible,
        "explanations": listed.entries(j, slot),
    }


class _Listed:
    """Explanations in the order in which they are listed: admissible, undecided, not asked, rejected.

    The asked ones by their margin, the others by plausibility.
    """

    def __init__(self, asked: Asked, question: RegionalMap) -> None:
        trace = asked.result.trace
        ordered = {code: trace.queries[asked.of_code(code)] for code in Verdict}
        self._asked = asked
        self._order = np.concatenate(
            [ordered[Verdict.ADMISSIBLE], ordered[Verdict.INDETERMINATE], asked.unasked, ordered[Verdict.REJECTED]]
        )
        self._slots = question.slots(self._order)  # (k, regions)
        n_elements = sum(len(region.elements) + 1 for region in question.asked)
        self._most = max(1, min(MOST_LISTED, MOST_ENTRIES // n_elements))

    def entries(self, region: int, slot: int) -> list[dict[str, Any]]:
        found = self._order[self._slots[:, region] == slot][: self._most]
        return [self._asked.entry(e) for e in found.tolist()]


def _coordinate_names(places: Array | None, names: tuple[str, ...]) -> list[str]:
    count = 0 if places is None else places.shape[1]
    usual = ("x", "y", "z") if count <= 3 else tuple(f"x{i + 1}" for i in range(count))
    return list((names if len(names) == count else usual)[:count])


def region_coherence(asked: Asked, region: AskedRegion, state: RegionState) -> dict[str, Any] | None:
    """Between the elements of a region in the first setting, the possible ones first if there are too many."""
    states = asked.bank.states
    if not isinstance(states, LibraryFamily):
        return None
    ids = states.library.ids
    shown = (
        [i for i in range(len(region.elements)) if state.possible[i]] if len(region.elements) > MOST_COHERENT else []
    )
    chosen = sorted([*shown, *(i for i in range(len(region.elements)) if i not in shown)][:MOST_COHERENT])
    names = [region.elements[i] for i in chosen]
    if not {*names} <= {*ids}:
        return None
    return coherence_json(asked, [ids.index(name) for name in names])


def coherence_json(asked: Asked, elements: list[int]) -> dict[str, Any]:
    """Between elements of the library in the first setting."""
    states = asked.bank.states
    matrix = coherence(states.elements[:, elements], is_complex=is_complex(asked))
    return {"ids": list(states.names(elements)), "matrix": [[round(x, 6) for x in row] for row in matrix.tolist()]}


def is_complex(asked: Asked) -> bool:
    """Whether elements hold pairs (Re, Im)."""
    return any(part.law.is_complex for part in asked.result.seal.parts)


def _refine(asked: Asked, number: int, answer: Answer, needed: tuple[RowsNeeded, ...]) -> list[str]:
    sentences = [each.sentence for each in needed if each.field == answer.field]
    # What is settled, or contradicted by an admissible explanation, no query can make finer.
    if answer.field not in asked.open_fields or rivals(asked, number).size:
        return sentences
    trace = asked.result.trace
    undecided = np.concatenate([asked.unasked, trace.queries[trace.codes == Verdict.INDETERMINATE]])
    count = int(contradicts(asked, number, undecided).sum())
    if count:
        who = "1 explanation that contradicts" if count == 1 else f"{count} explanations that contradict"
        least = "At least " if len(asked.unasked) < trace.size - len(trace) else ""
        is_undecided = "is" if count == 1 else "are"
        can_ask = contradicts(asked, number, asked.unasked).any()
        what = (
            "more queries may settle this before more rows do"
            if can_ask
            else "asked about, but the arithmetic leaves it open, and more queries would not settle it"
        )
        sentences.append(f"{least}{who} explanation {asked.reference} here {is_undecided} not decided: {what}.")
    return sentences
