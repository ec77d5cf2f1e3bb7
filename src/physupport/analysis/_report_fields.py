"""The fields of a report: each label with the explanations behind it."""

from typing import Any

import numpy as np

from .._checks import check_number
from .._codec import bound_json
from .._errors import MisuseError
from .._typing import BoolArray, IntArray
from ..aeb import Trace
from ..judges import Verdict
from ..questions import Answer, Label, RegionalMap, Resolution
from ..report import field_sentence


def fields_json(trace: Trace, kind: str, outcome: dict[str, Any]) -> list[dict[str, Any]]:
    """An entry for each answer of a trace."""
    place = {e: k for k, e in enumerate(trace.queries.tolist())}
    entries = []
    _check_answers(trace.answers, place)
    for answer in trace.answers:
        excluded = nearest_excluded(trace, answer)
        entry: dict[str, Any] = {
            "field": answer.field,
            "label": str(answer.label),
            "cell": list(answer.cell),
            "group": answer.group,
            "numbers": {name: float(value) for name, value in answer.numbers},
            "certificate": answer.certificate.kind,
            "witnesses": [_explanation(trace, place[e]) for e in answer.certificate.witnesses],
            "excluded": None if excluded is None else _explanation(trace, excluded),
        }
        entries.append(entry | {"sentence": field_sentence(entry, kind, outcome)})
    return entries


def _check_answers(answers: tuple[Answer, ...], place: dict[int, int]) -> None:
    """What a question of one's own may say; those of this package say nothing else."""
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
        strange = [e for e in answer.certificate.witnesses if e not in place]
        if strange:
            raise MisuseError(named, "name witnesses that were asked about", strange[0])


def nearest_excluded(trace: Trace, answer: Answer) -> int | None:
    """The query of the rejected explanation that came closest to changing a truth-level label or its group.

    Closest: smallest lower bound of the margin, then asked first.  None if no rejected one would change anything, and
    for questions of one's own, whose predicates are not known here.
    """
    rejected = np.flatnonzero(trace.codes == Verdict.REJECTED)
    if not answer.label.is_truth_level or not rejected.size:
        return None
    question, explanations = trace.question, trace.queries[rejected]
    if isinstance(question, RegionalMap):
        changes = _changes_region(question, answer, explanations)
    elif isinstance(question, Resolution):
        changes = _changes_resolution(question, answer, explanations)
    else:
        return None
    found = rejected[changes]
    return int(found[np.argmin(trace.margins[found, 0])]) if found.size else None


def _changes_region(question: RegionalMap, answer: Answer, explanations: IntArray) -> BoolArray:
    """(k,) whether the label or its group would be another if this one were possible as well."""
    number = question.regions.index(answer.field)
    region, slots = question.asked[number], question.slots(explanations)[:, number]
    if answer.label is Label.ABSENT:
        view = question.view
        strengths = view.strengths(explanations)[:, view.regions.index(region.name)]
        return np.asarray((slots >= 0) & (strengths >= (region.threshold or 0.0)))
    if answer.label is Label.FINE:
        cell = [region.elements.index(name) for name in answer.cell]
        outside = region.distances[:, cell].max(axis=1) > region.tolerance  # (m,)
    else:
        members = dict(region.groups)[str(answer.group)]
        outside = np.array([not members >> i & 1 for i in range(len(region.elements))])
    return np.append(outside, True)[slots]  # absence is -1, the last entry


def _changes_resolution(question: Resolution, answer: Answer, explanations: IntArray) -> BoolArray:
    """(k,) whether the diameter would exceed what the label allows."""
    kept = [question.names.index(name) for name in answer.cell]
    reach = np.maximum(question.distances[:, kept].max(axis=1), question.proposal_distances)  # (P,)
    allowed = question.delta_fine if answer.label is Label.FINE else question.delta_group
    return np.asarray(reach[question.places[explanations]] > allowed)


def _explanation(trace: Trace, query: int) -> dict[str, Any]:
    """An explanation with the bounds of its margin and what it says."""
    e = int(trace.queries[query])
    margin = [bound_json(bound) for bound in trace.margins[query].tolist()]
    return {"explanation": e, "margin": margin, "says": _says(trace, e)}


def _says(trace: Trace, e: int) -> dict[str, str | None]:
    question = trace.question
    if isinstance(question, RegionalMap):
        slots = question.slots([e])[0].tolist()
        return {
            region.name: region.elements[slot] if slot >= 0 else None
            for region, slot in zip(question.asked, slots, strict=True)
        }
    if isinstance(question, Resolution):
        return {"place": question.names[int(question.places[e])]}
    return {}
