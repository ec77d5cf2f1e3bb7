"""What a document says of its trace: outcome, fields, sets and claims, each derived again."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._codec import bound
from .._stored import Node, Refusal
from .._typing import BoolArray, IntArray
from ..judges import Verdict
from ..questions import Said
from ._trace import ReadTrace
from ._view import Derived, Rules

_UNIVERSAL = ("FINE", "GROUP", "ABSENT")


def outcome_findings(outcome: Node, protocol: Node, trace: ReadTrace, rules: Rules, is_withheld: bool) -> Iterator[str]:
    """Status, ending and counts."""
    count = len(trace)
    possible, witnessed = trace.possible(count), trace.witnessed(count)
    is_certified = rules.is_certified(possible, witnessed)
    facts = {
        "queries": count,
        "witnessed": int(witnessed.sum()),
        "possible": int(possible.sum()),
        "indeterminate": int((trace.codes == Verdict.INDETERMINATE).sum()),
        "is_certified": is_certified,
        "status": _status(possible, witnessed, is_certified),
    }
    for name, value in (facts | ({"status": "WITHHELD"} if is_withheld else {})).items():
        if outcome[name] != value:
            yield f"the outcome says {name} = {outcome[name]}, but the trace gives {value}"
    if outcome["ending"] not in _endings(outcome, protocol, facts, trace):
        yield f"the ending {outcome['ending']} does not fit the trace"
    if not count <= outcome["budget"] <= trace.size:
        yield f"the budget {outcome['budget']} does not fit {count} queries of {trace.size} explanations"
    if count and _is_over(trace, count - 1, rules, protocol):
        yield "the last queries came after the run was over"


def _status(possible: BoolArray, witnessed: BoolArray, is_certified: bool) -> str:
    if not possible.any():
        return "EMPTY"
    return "REPORT" if is_certified and witnessed.any() else "ABSTAIN"


def _endings(outcome: Node, protocol: Node, facts: Node, trace: ReadTrace) -> tuple[str, ...]:
    """The endings that a run with these facts may have."""
    if facts["status"] == "EMPTY":
        return ("NO_SURVIVOR",)
    # Whether a policy had nothing left to ask, or someone stopped it, cannot be seen from a trace.
    spent = ("BUDGET",) if len(trace) == outcome["budget"] else ()
    is_over = facts["status"] == "REPORT" or (facts["is_certified"] and not protocol["until_witnessed"])
    if _is_for_set(protocol) and len(trace) < trace.size:
        return (*spent, "STOPPED")
    if facts["status"] == "REPORT":
        return ("CERTIFIED",)
    return (*spent, "STOPPED", "CERTIFIED" if is_over else "NOTHING_LEFT")


def _is_for_set(protocol: Node) -> bool:
    """Whether the run was to go on after the labels; reports of before there was a choice end with these."""
    return bool(protocol.get("stop", "label") == "set")


def _is_over(trace: ReadTrace, count: int, rules: Rules, protocol: Node) -> bool:
    possible, witnessed = trace.possible(count), trace.witnessed(count)
    if not possible.any() or _is_for_set(protocol):
        return not possible.any()
    return rules.is_certified(possible, witnessed) and (bool(witnessed.any()) or not protocol["until_witnessed"])


def field_findings(
    fields: Sequence[Node], protocol: Node, trace: ReadTrace, rules: Rules, is_withheld: bool
) -> Iterator[str]:
    """Labels and all that stands with them; reports of before a run said when to stop do not tell the set."""
    possible, witnessed = trace.possible(len(trace)), trace.witnessed(len(trace))
    derived = rules.derive(possible, witnessed)
    if [entry["field"] for entry in fields] != [field.field for field in derived]:
        yield "the fields are not those of the question"
        return
    for entry, field in zip(fields, derived, strict=True):
        if is_withheld:
            yield from _field_findings(entry, replace(field, label="ABSTAIN", group=None, certificate="withheld"))
            if entry["witnesses"] or entry["excluded"] is not None:
                yield f"{field.field}: explanations are named for a label that is withheld"
        else:
            yield from _field_findings(entry, field)
            yield from _witness_findings(entry, trace, rules, witnessed)
            yield from _excluded_findings(entry, trace, rules)
        if "stop" in protocol or "set" in entry:
            yield from _set_findings(entry, trace, rules)


def _field_findings(entry: Node, field: Derived) -> Iterator[str]:
    if entry["label"] != field.label:
        yield f"{field.field}: the report says {entry['label']}, but the trace gives {field.label}"
    stored = {"cell": tuple(entry["cell"]), "group": entry["group"], "certificate": entry["certificate"]}
    for name, value in stored.items():
        if value != getattr(field, name):
            yield f"{field.field}: the {name} is not what the trace gives"
    if entry["numbers"] != dict(field.numbers):
        yield f"{field.field}: the numbers are not what the trace gives"


def _witness_findings(entry: Node, trace: ReadTrace, rules: Rules, witnessed: BoolArray) -> Iterator[str]:
    chosen = []
    for witness in entry["witnesses"]:
        e = witness["explanation"]
        yield from _explanation_findings(entry, witness, trace, rules)
        if not witnessed[e]:
            yield f"{entry['field']}: explanation {e} is called a witness but was not found admissible"
        chosen.append(e)
    if len({*chosen}) < len(chosen) or not rules.force(entry["field"], entry["label"], chosen, witnessed):
        yield f"{entry['field']}: the witnesses do not show what the label needs"


def _set_findings(entry: Node, trace: ReadTrace, rules: Rules) -> Iterator[str]:
    """What is kept, by the least evidence against it, what was not asked about, and how far the kept lie apart."""
    column, stored = rules.column(entry["field"]), entry.get("set")
    if column is None or stored is None:
        if column is not None or "set" not in entry:
            yield f"{entry['field']}: the set of what is left is not told"
        return
    best = _least_evidence(column.numbers, trace)
    kept = [
        {"name": _name(column, number), "explanation": int(trace.queries[query]), "margin": trace.margin(query)}
        for number, query in best.items()
    ]
    if [{**each, "margin": [*map(bound, each["margin"])]} for each in stored["kept"]] != kept:
        yield f"{entry['field']}: what is kept is not what the trace gives"
    left = sorted({*np.delete(column.numbers, trace.queries).tolist()} - {*best}, key=lambda each: (each < 0, each))
    if stored["not_asked"] != [_name(column, number) for number in left]:
        yield f"{entry['field']}: what was not asked about is not what the trace gives"
    extents = (rules.extent, "extent", "kept", best), (rules.hull, "box", "possible", {*best, *left})
    for found, name, what, numbers in extents:
        if stored.get(name) != found(entry["field"], [number for number in numbers if number >= 0]):
            yield f"{entry['field']}: the {name} is not that of what is {what}"


def _least_evidence(numbers: IntArray, trace: ReadTrace) -> dict[int, int]:
    """Of each thing that is kept the query of the smallest upper bound, then of the lowest index, in this order."""
    best: dict[int, int] = {}
    worth = [*zip(trace.verdicts.upper.tolist(), trace.queries.tolist(), strict=True)]
    for query in np.flatnonzero(trace.codes != Verdict.REJECTED).tolist():
        number = int(numbers[trace.queries[query]])
        if number not in best or worth[query] < worth[best[number]]:
            best[number] = query
    return dict(sorted(best.items(), key=lambda item: worth[item[1]]))


def _name(column: Said, number: int) -> str | None:
    return None if number < 0 else column.names[number]


def _excluded_findings(entry: Node, trace: ReadTrace, rules: Rules) -> Iterator[str]:
    nearest = _nearest_excluded(entry["field"], entry["label"], trace, rules)
    stored = entry["excluded"]
    if (None if stored is None else stored["explanation"]) != nearest:
        yield f"{entry['field']}: the nearest excluded explanation is not the one named"
    elif stored is not None:
        yield from _explanation_findings(entry, stored, trace, rules)


def _nearest_excluded(field: str, label: str, trace: ReadTrace, rules: Rules) -> int | None:
    """Of the rejected explanations that would change the label, the one of least margin, then asked first."""
    rejected = np.flatnonzero(trace.codes == Verdict.REJECTED)
    if label not in _UNIVERSAL or not rejected.size:
        return None
    possible, witnessed = trace.possible(len(trace)), trace.witnessed(len(trace))
    order = rejected[np.argsort(trace.verdicts.lower[rejected], kind="stable")]
    explanations = trace.queries[order].tolist()
    kinds: dict[Any, int] = {}
    for e, kind in zip(explanations, rules.kinds(field, explanations), strict=True):
        kinds.setdefault(kind, e)
    return _first_of(lambda some: rules.changes(field, possible, witnessed, some), [*kinds.values()])


def _first_of(changes: Callable[[list[int]], bool], explanations: list[int]) -> int | None:
    """The first that changes a truth-level label alone.

    Such a label holds for all of U: what many together leave as it is, each of them does.  So halves are looked at.
    """
    if not explanations or not changes(explanations):
        return None
    if len(explanations) == 1:
        return explanations[0]
    half = len(explanations) // 2
    first = _first_of(changes, explanations[:half])
    return _first_of(changes, explanations[half:]) if first is None else first


def _explanation_findings(entry: Node, named: Node, trace: ReadTrace, rules: Rules) -> Iterator[str]:
    e = named["explanation"]
    margin = [bound(value) for value in named["margin"]]
    if margin != trace.margin(trace.place(e)):
        yield f"{entry['field']}: the margin of explanation {e} is not the one of the trace"
    if named["says"] != dict(rules.says(e)):
        yield f"{entry['field']}: explanation {e} says something else"


def budget_notes(outcome: Node, protocol: Node) -> Iterator[str]:
    """A budget that was raised is worth knowing, and no reason to refuse."""
    if outcome["budget"] > protocol["budget"]:
        raised = f"from {protocol['budget']} to {outcome['budget']}"
        yield f"the budget was raised {raised} after the protocol was frozen; labels are safe at any budget"


def check_digest(name: str, stored: object, derived: object) -> None:
    """Refuse a hash that is not the hash of the content."""
    if stored != derived:
        raise Refusal(f"the {name} does not match its hash")


def claim_findings(document: Node, trace: ReadTrace, rules: Rules, is_withheld: bool) -> Iterator[str]:
    """Claims, each from which explanations bear it out; reports of before there were any have none."""
    stored, claims = document.get("claims", []), rules.claims
    if [entry["claim"] for entry in stored] != [*claims]:
        yield "the claims are not those of the question"
        return
    possible, witnessed = trace.possible(len(trace)), trace.witnessed(len(trace))
    for entry in stored:
        holds = claims[entry["claim"]]
        sides = bool(holds[possible].any()), bool((~holds)[possible].any())
        both = [np.flatnonzero(mask & witnessed) for mask in (holds, ~holds)]
        is_open = all(side.size for side in both)
        value = "open" if is_open else "unknown"
        if not all(sides):
            value = "true" if sides[0] else "false" if sides[1] else "empty"
        value = "withheld" if is_withheld and value != "empty" else value
        witnesses = [int(side[0]) for side in both] if value == "open" else []
        if (entry["value"], entry["witnesses"]) != (value, witnesses):
            yield f"the claim {entry['claim']!r} is said to be {entry['value']}, but the trace gives {value}"
