"""The sentences about fields and claims: the short answer, and the long one with its reasons."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..banks import JOINT, TURN, UNLISTED, along_arc
from ..laws import LAWS
from ..questions import Label
from ._assumptions import UNFIT, besides, cells_words, is_exhausted, why_open, why_withheld
from ._words import (
    MOST_NAMES,
    Entry,
    above,
    below,
    between,
    cells_of,
    circle_of,
    cut,
    distance,
    explanation_words,
    gate_of,
    listed,
    place_words,
    places_of,
    plain,
    sentence_of,
    unit_of,
)

_FEW = 3  # named where more are counted
_MANY = 5  # answers that a sentence gathers
_PRESENT = (Label.FINE, Label.GROUP, Label.LOCAL_AMBIGUOUS)

# What a judge that ranks replicates lacks, where it says so; other remedies have numbers.
_UNITS = {
    "units": " Replicates of more units may separate them.",
    "units and share": " Replicates of more units may separate them. Within a group, `share` may help, too.",
}


def field_views(document: Entry) -> list[dict[str, Any]]:
    """The fields, each with what its sentences need of the rest of the document.

    kept, others: names of elements that may be there, those that were asked about with the least evidence against them
    first; elements that nothing could exclude are named apart, in `unless`.  cells, within: where cells lie that are
    possible, with their number, and as the end of a sentence; empty where elements are no cells.
    """
    gate = gate_of(document)
    cells = cells_of(document)
    unit = unit_of(document)
    kind = document["question"]["kind"]
    rules = document["protocol"]["question"]["regions"] if kind == "regional map" else ()
    sets = {rule["region"] for rule in rules if "count" in rule}
    found = besides(document)
    shared = {
        "kind": kind,
        "outcome": document["outcome"],
        "units": _UNITS.get(str(gate.get("lacks")), ""),
        "unit": unit,
        "places": places_of(document) if unit else {},
        "circle": circle_of(document),
        "is_evidence": has_evidence(document),
        "order": [entry["field"] for entry in document["fields"]],
        "withheld": why_withheld(document),
    }
    unlisted = document.get("unlisted")
    runs = (gate.get("calibration") or {"left": ()})["left"]
    learnt = {cell["name"] for run in runs for cell in run["cells"] if len(cell["low"]) == 1}
    views = []
    for entry in document["fields"]:
        extent, within = cells_words(document["protocol"], entry, cells)
        left = entry["set"] or {"kept": [], "not_asked": [], "extent": None}
        parts, unasked, names = left["kept"], left["not_asked"], entry["cell"]
        said = [name for name in names if name.replace(JOINT, " and ") not in gate.get("cannot_exclude", ())]
        if said and len(said) < len(names):
            names = said
            parts = [part for part in parts if part["name"] is None or part["name"] in said]
            unasked = [name for name in unasked if name is None or name in said]
        kept = dict.fromkeys(part["name"] for part in parts if part["name"] is not None)
        views.append(
            entry
            | shared
            | {
                "is_set": entry["field"] in sets,
                "cells": extent,
                "within": within,
                "cell": names,
                "parts": parts,
                "not_asked": unasked,
                "extent": left["extent"],
                "kept": [*kept],
                "others": [name for name in names if name not in kept],
                "unless": f", unless it is {found}" if found and entry["label"] in _PRESENT else "",
                "vanishes": _vanishes(document, entry),
                "is_interval": bool(names) and learnt.issuperset(names),
                "unlisted": unlisted if entry["field"] == UNLISTED else None,
            }
        )
    return views


def has_evidence(document: Entry) -> bool:
    """True if margins are log evidence: every stream has a numerator."""
    return all(stream["numerator"] for stream in document["protocol"]["streams"])


def _vanishes(document: Entry, entry: Entry) -> str:
    """A note for coefficients that may be arbitrarily small: no rows can then show absence."""
    laws = [stream["law"] for stream in document["protocol"]["streams"] if stream["name"] == "deployment"]
    if not laws or "absence_threshold" in entry["numbers"] or not (known := LAWS.get(laws[0].get("kind"))):
        return ""
    boxes = {name: (float(low), float(high)) for name, low, high in laws[0].get("coefficients", ())}
    low, high = boxes.get(entry["field"], (0.0, 0.0))
    if not known.is_linear or not low <= 0.0 <= high:
        return ""
    # The regions of a learnt dictionary follow from the calibration rows and have no options of their own.
    has_threshold = "thresholds" in laws[0] and not gate_of(document).get("calibration")
    instead = "; set absence_threshold to ask about a least amount" if has_threshold else ""
    return f" Its amount may be arbitrarily small, so data can show its presence but never its absence{instead}."


def answers(document: Entry) -> tuple[str, ...]:
    """One sentence for each field, in their order; why, and how sure, is said elsewhere."""
    return tuple(map(answer, field_views(document)))


def gathered_answers(document: Entry) -> tuple[str, ...]:
    """Sentences that gather many regions: what is there, what is undecided, where nothing is; none for few."""
    views = [view for view in field_views(document) if view["kind"] == "regional map" and view["unlisted"] is None]
    if len(views) < _MANY or document["outcome"]["status"] != "REPORT":
        return ()
    parts: dict[str, list[str]] = {"There": [], "Undecided": [], "Nothing there": []}
    for view in views:
        parts[_gathered_under(view)].append(plain(view["field"]))
    if all(view["is_interval"] for view in views):  # their names are numbers, and stand in the answers that follow
        parts = {title: [f"{len(names)} of {len(views)} intervals"] for title, names in parts.items() if names}
        return (" ".join(f"{title}: {names[0]}." for title, names in parts.items()),)
    silent = parts["Nothing there"]
    if len(silent) > _FEW and len(silent) < len(views):
        parts["Nothing there"] = [f"the {len(silent)} others"]
    elif len(silent) == len(views):
        parts["Nothing there"] = [f"all {len(silent)}"]
    return (" ".join(f"{title}: {_joined(names, 'and')}." for title, names in parts.items() if names),)


def _gathered_under(view: Entry) -> str:
    """Which part of the sentence a region belongs to; what carries a condition is undecided."""
    is_plain = not view["unless"] and view["certificate"] != "withheld"
    if is_plain and view["label"] in _PRESENT:
        return "There"
    return "Nothing there" if is_plain and _region(view) == "nothing is there" else "Undecided"


def field_sentences(document: Entry) -> tuple[str, ...]:
    """One for each field, in their order, with its reasons."""
    return tuple(map(sentence, field_views(document)))


def answer(view: Entry) -> str:
    """The short sentence of a field."""
    name = "Resolution" if view["kind"] == "resolution" else plain(view["field"])
    name = "along the axis" if name == "axis" else name
    said = f"{_said(view)}{view['unless']}."
    is_named = view["label"] == Label.FINE and said.casefold().startswith(f"{name} is there".casefold())
    return f"{name[:1].upper()}{name[1:]}{said[len(name) :] if is_named else f': {said}'}"


def _said(view: Entry) -> str:
    if view["label"] == Label.EMPTY:
        return "no answer, because no explanation considered fits these data"
    if view["certificate"] == "withheld":
        return f"no answer, because {view['withheld'] or UNFIT}"
    if view["unlisted"] is not None:
        return _unlisted(view)
    if view["kind"] == "regional map":
        return _region(view) + _not_asked(view)
    if view["kind"] == "resolution":
        known = {Label.FINE: "fine", Label.GROUP: "a group", Label.AMBIGUOUS: "cannot be told with these data"}
        return f"{known.get(view['label'], 'not settled yet')}, within {above(view['numbers']['upper'])}"
    return f"{view['label']} {_either(view, view['cell'])}".rstrip()


def _region(view: Entry) -> str:
    names = [*view["kept"], *view["others"]]
    numbers = view["numbers"]
    match view["label"]:
        case Label.FINE | Label.GROUP | Label.LOCAL_AMBIGUOUS:
            return _present(view, names)
        case Label.SUPPORT_AMBIGUOUS if [plain(each).casefold() for each in names] == [plain(view["field"]).casefold()]:
            return "presence is undecided"
        case Label.SUPPORT_AMBIGUOUS:
            what = _either(view, names) + (_where(view, names) if len(names) == 1 or len(names) > MOST_NAMES else "")
            where = "within " if view["cells"] else ""
            return f"presence is undecided; if something is there, it is {where}{what}"
        case Label.ABSENT:
            is_weak = numbers["possible_present"] and "absence_threshold" in numbers
            return f"nothing as strong as {numbers['absence_threshold']:g} is there" if is_weak else "nothing is there"
    choices = _either(view, [*names, "nothing"] if numbers["possible_absent"] else names)
    return f"no answer yet; {choices} is possible" if choices else "no answer yet"


def _unlisted(view: Entry) -> str:
    """Say whether something is there that the library lacks, and where."""
    if view["label"] in (Label.FINE, Label.GROUP):
        return f"something is there that the library lacks{_unlisted_where(view)}"
    if view["label"] == Label.SUPPORT_AMBIGUOUS:
        return "the data allow something that the library lacks, but do not require it"
    return "no answer yet"


def _unlisted_where(view: Entry) -> str:
    """The intervals of something unlisted: one that it lies in, or each of which it has a part in."""
    unlisted = view["unlisted"]
    unit = f" {unlisted['unit']}" if unlisted["unit"] else ""
    cells = unlisted.get("cells")
    found = unlisted["intervals"] if cells is None else joined(cells, view["cell"])
    ends = [(below(low), above(high)) for low, high in found]
    where = [f"at {low}" if low == high else f"between {low} and {high}" for low, high in ends]
    if not where:
        return ""
    if cells is None:
        return f", with a part {' and one '.join(where)}{unit}"
    if len(where) > MOST_NAMES:
        return f", in one of {len(where)} intervals from {ends[0][0]} to {ends[-1][1]}{unit}"
    return f", {' or '.join(where)}{unit}"


def joined(cells: Mapping[str, Sequence[float]], names: Sequence[str]) -> list[list[float]]:
    """The intervals that cells of these names make, those that meet joined; points stay apart."""
    parts: list[list[float]] = []
    for low, high in sorted(tuple(cells[name]) for name in names if name in cells):
        if parts and low < high and low <= parts[-1][1]:
            parts[-1][1] = max(high, parts[-1][1])
        else:
            parts.append([low, high])
    return parts


def _not_asked(view: Entry) -> str:
    """The possible elements that were not tested: their names if they are few, else their number."""
    unasked = view["not_asked"]
    if not unasked or view["label"] == Label.ABSENT:
        return ""
    if view["cells"]:
        cells = len(unasked) - unasked.count(None)
        parts = [f"{cells} of these cells"] if cells else []
        return f" (not tested: {' and '.join(parts + ['nothing'] * (None in unasked))})"
    if len(unasked) > _FEW:
        return f" ({len(unasked)} {'sets' if view['is_set'] else 'of these'} not tested)"
    names = ["nothing" if name is None else name.replace(JOINT, " with ") for name in unasked]
    return f" (not tested: {', '.join(map(plain, names))})"


def _present(view: Entry, names: Sequence[str]) -> str:
    """State that something is present, and which elements it may be."""
    # Only witnesses show that the data cannot tell; what was not tested may still go.
    which = ", and these data cannot tell which" if view["witnesses"] else ""
    group = "" if view["group"] in (None, view["field"]) else plain(view["group"])
    if view["cells"]:
        return f"{group and f'{group}, '}within {view['cells']}" + which.replace("which", "where")
    if view["is_interval"] and not view["is_set"]:
        where = "" if names == [view["field"]] else f", in {_joined(names, 'or')}"
        return f"a source is there{where}{which}"
    if view["is_set"] and len(names) > 1:
        return _of_sets([[_placed(view, part) for part in name.split(JOINT)] for name in names]) + which
    either = _either(view, names)
    where = _where(view, names)
    if len(names) == 1:
        return f"{either} {'are' if JOINT in names[0] and view['is_set'] else 'is'} there{where}"
    if view["label"] == Label.FINE:
        return either + where
    if group:
        return f"{group} ({either}{where}){which}"
    is_counted = len(names) > MOST_NAMES and where
    return f"{either}{where}{which}" if is_counted else f"{either}{where}; one of them is there{which}"


def _of_sets(sets: Sequence[Sequence[str]]) -> str:
    """The elements that all of several possible sets have, and those that only some have."""
    common = [name for name in sets[0] if all(name in names for names in sets)]
    others = list(dict.fromkeys(name for names in sets for name in names if name not in common))
    if not common:
        return f"at least one of {_joined(others, 'and')} is there"
    if all(len(names) > len(common) for names in sets):
        return f"{_joined(common, 'and')}; also at least one of these: {_joined(others, 'or')}"
    return f"{_joined(common, 'and')}; perhaps also {_joined(others, 'or')}"


def _placed(view: Entry, name: str) -> str:
    """A name with its place on a line in brackets."""
    place = view["places"].get(name, ())
    return f"{name} ({place_words(place)} {plain(view['unit'])})" if len(place) == 1 else name


def _either(view: Entry, names: Sequence[str]) -> str:
    """One of them; of very many their number, if it is said how far they lie apart; of cells all of them together."""
    if view["cells"]:
        return " or ".join([view["cells"], *(name for name in names if name == "nothing")])
    if len(names) > MOST_NAMES and _where(view, names):
        return f"one of {len(names)} elements"
    # Of several elements at once both words are needed: a and b, a, or b.
    return _joined([name.replace(JOINT, " and ") if view["is_set"] else name for name in names], "or")


def _joined(names: Sequence[str], word: str) -> str:
    shown = [*map(plain, names[:MOST_NAMES])]
    if len(names) > MOST_NAMES:
        return f"{', '.join(shown)} {word} {len(names) - MOST_NAMES} more"
    return f"{', '.join(shown[:-1])} {word} {shown[-1]}" if len(shown) > 1 else "".join(shown)


def _where(view: Entry, names: Sequence[str]) -> str:
    """State the place of one element, the ends of several on a line, or their largest distance, with the unit."""
    places = [view["places"][name] for name in names if name in view["places"]]
    if view["cells"]:
        return ""
    if places and len(places) == len(names):  # elements, and not sets of these, with a unit
        if len(names) == 1:
            is_named = place_words([abs(value) for value in places[0]]) in names[0].split()
            return "" if is_named else f", at {place_words(places[0])} {plain(view['unit'])}"
        if len(places[0]) == 1:
            values = [place[0] for place in places]
            if view["circle"].issuperset(names) and max(arc := along_arc(values).tolist()) > max(values):
                ends = place_words([min(arc)]), place_words([max(arc) - TURN])
                return f", on the arc from {' to '.join(ends)} {plain(view['unit'])}"
            return f", between {between(values)} {plain(view['unit'])}"
    if len(names) < 2 or view["extent"] is None or not view["unit"]:
        return ""
    return f", at most {distance(view['numbers']['possible_spread'], view['unit'], 3)} apart"


def sentence(view: Entry) -> str:
    """The long sentence of a field, with its reasons."""
    title = _title(view)
    if view["label"] == Label.EMPTY:
        return f"{title}: no statement is possible, because every explanation is rejected."
    if view["certificate"] == "withheld":
        why = view["withheld"] or "even the best-fitting explanation is rejected"
        return f"{title}: no label is given, because {why}."
    if view["unlisted"] is not None:
        return f"{title}: {_unlisted(view)}.{_excluded(view) if Label(view['label']).is_truth_level else ''}"
    if view["kind"] == "regional map":
        undecided = [
            "nothing there" if part["name"] is None else plain(part["name"])
            for part in view["parts"]
            if float(part["margin"][1]) > 0.0
        ]
        only = f" Not rejected only because a verdict is INDETERMINATE: {cut(undecided)}." if undecided else ""
        return f"{title}: {_region_reasons(view)}{only}"
    if view["kind"] == "resolution":
        return f"{title}: {_resolution_reasons(view)}"
    cell = f" ({listed(view['cell'])})" if view["cell"] else ""
    reason = f" {sentence_of(why_open(view['outcome']))}" if view["label"] == Label.ABSTAIN else ""
    return f"{title}: {view['label']}{cell}.{reason}{_separate(view, 'To decide')}{_excluded(view)}"


def _title(entry: Entry) -> str:
    names = {"resolution": "Resolution", "regional map": f"Region {plain(entry['field'])}"}
    return names.get(entry["kind"], plain(entry["field"]))


def _region_reasons(view: Entry) -> str:
    numbers = view["numbers"]
    which = _one_of(view) + _spread_words(view)
    nothing = "nothing (not tested)" if None in view["not_asked"] else "nothing"
    match view["label"]:
        case Label.FINE:
            return f"{which}.{_excluded(view)}"
        case Label.GROUP:
            group = "" if view["group"] in (None, view["field"]) else f" (group {plain(view['group'])})"
            said = f"{_one_of(view)}{group}{_spread_words(view)}"
            if not view["witnesses"]:
                more = "" if is_exhausted(view["outcome"]) else " More queries may say more."
                return f"{said}.{more}{_excluded(view)}"
            told_apart = f"; the data cannot tell {_rivals(view)} apart."
            return said + told_apart + _separate(view, "To separate them") + _excluded(view)
        case Label.LOCAL_AMBIGUOUS:
            said = f"something is there, {which}; the data cannot tell {_rivals(view)} apart."
            return said + _separate(view, "To separate them")
        case Label.SUPPORT_AMBIGUOUS:
            said = f"{_one_of(view)}{view['within']}, or {nothing}; the data cannot tell whether anything is there."
            return said + (view["vanishes"] or _separate(view, "To decide"))
        case Label.ABSENT:
            is_weak = numbers["possible_present"] and "absence_threshold" in numbers
            weak = f" of strength {numbers['absence_threshold']!r} or more" if is_weak else ""
            return f"nothing there{weak}.{_excluded(view)}"
    parts = [f"{_one_of(view)}{view['within']}"] if view["cell"] else []
    possible = " or ".join([*parts, nothing] if numbers["possible_absent"] else parts)
    return f"open; possible is {possible}. {_why_open(numbers, view['outcome'])}"


def _why_open(numbers: Mapping[str, float], outcome: Entry) -> str:
    """State why a region has none of the requested labels; if witnesses contradict each other, no query helps."""
    # Where all that is possible there reaches the threshold, a witness of presence rules ABSENT out as well.
    reaches = numbers["possible_at_threshold"] == numbers["possible_present"]
    if numbers["witnessed_present"] and numbers["witnessed_absent"] and reaches:
        return (
            "Some admissible explanations contain it and others do not, so no query can show presence or absence. "
            "More rows or a question that asks for less may change this."
        )
    is_wide = numbers["witnessed_spread"] > numbers["tolerance"]
    far = "Admissible explanations have elements that lie farther apart than the tolerance, so no query can "
    return (f"{far}make it FINE. " if is_wide else "") + sentence_of(why_open(outcome))


def _resolution_reasons(view: Entry) -> str:
    lower = below(view["numbers"]["lower"])
    upper = above(view["numbers"]["upper"])
    spread = lower if lower == upper else f"at least {lower} and at most {upper}"
    # One survivor alone spreads over nothing: what is bounded is the diameter of survivors and proposal.
    survivors = "the set of the remaining explanations and the proposal"
    match view["label"]:
        case Label.FINE:
            return f"fine; {survivors} lies within {upper}.{_excluded(view)}"
        case Label.GROUP:
            return f"a group; {survivors} spreads {spread}.{_excluded(view)}"
        case Label.AMBIGUOUS:
            said = f"ambiguous; {survivors} spreads at least {lower}, more than a group may."
            return said + _separate(view, "To narrow it")
    return f"open; {survivors} spreads {spread}. {sentence_of(why_open(view['outcome']))}"


def _rivals(entry: Entry) -> str:
    """The elements that two witnesses have."""
    names = [str(witness["says"].get(entry["field"])) for witness in entry["witnesses"]]
    return "them" if sorted(names) == sorted(entry["cell"]) else " and ".join(map(plain, names))


def _separate(view: Entry, opening: str) -> str:
    """The evidence that it takes to reject one of the witnesses."""
    witnesses: Sequence[Entry] = view["witnesses"]
    if not witnesses:
        return ""
    if not view["is_evidence"]:
        return str(view["units"])
    names = " or ".join(_explanation(witness, view) for witness in witnesses)
    # An upper bound of the margin is the least that is missing; an infinite one says nothing.
    missing = min(0.0 if witness["margin"][1] in _INFINITE else -witness["margin"][1] for witness in witnesses)
    rise = f" by more than {below(missing)}" if missing > 0.0 else ""
    return f" {opening}, the log evidence against {names} must rise{rise}: more held-out rows or less noise."


_INFINITE = ("inf", "-inf")


def _excluded(view: Entry) -> str:
    nearest = view["excluded"]
    if nearest is None:
        return ""
    named = _explanation(nearest, view)
    if not view["is_evidence"]:
        # Draws stop as soon as they decide, so that most margins are equal, and none is known to be the nearest.
        return f" Every explanation with another answer is rejected, such as {named}."
    lower = nearest["margin"][0]
    margin = "" if lower in _INFINITE or lower <= 0.0 else f", by a margin of at least {below(lower)}"
    return f" The strongest explanation with another answer, {named}, is rejected{margin}."


def _explanation(named: Entry, view: Entry) -> str:
    """An explanation with what it says in the order of the fields: JSON objects have none of their own."""
    says = named["says"]
    ordered = {name: says[name] for name in (*view["order"], *sorted(says)) if name in says}
    return explanation_words(named["explanation"], ordered, view["field"])


def _one_of(view: Entry) -> str:
    """The elements that may be there: kept, the least evidence against them first, or not tested."""
    kept = view["kept"]
    others = view["others"]
    if not kept or not others:
        unasked = " (not tested)" if others and view["set"] else ""
        return f"{_among(view, kept or others)}{unasked}"
    return f"{_among(view, kept)} (not rejected) or {_among(view, others)} (not tested)"


def _among(view: Entry, names: Sequence[str]) -> str:
    """One of several names; a single set in words, and many cells by their number."""
    if len(names) == 1:
        return plain(names[0]).replace(JOINT, " and ") if view["is_set"] else plain(names[0])
    return f"one of {len(names)} cells" if view["within"] and len(names) > 1 else f"one of {listed(names)}"


def _spread_words(view: Entry) -> str:
    """State the largest distance between possible elements, in the unit of the coordinates, and other possibilities."""
    if len(view["cell"]) < 2 or (view["extent"] is None and view["label"] != Label.FINE):
        return str(view["unless"])
    if not view["unit"]:
        return f"{view['within']}{view['unless']}"
    spread = distance(view["numbers"]["possible_spread"], view["unit"])
    return f", at most {spread} apart{view['within']}{view['unless']}"


_CLAIMED = {
    "any": ("At least one of {} is there.", "None of {} is there."),
    "all": ("All of {} are there.", "Not all of {} are there."),
    "exactly_one": ("Exactly one of {} is there.", "Not exactly one of {} is there."),
    "one": ("{} is there.", "{} is not there."),
}


def claims_in_words(document: Entry) -> list[tuple[str, str]]:
    """Each claim in short, by its name, and in a full sentence, which is empty where the claim has no value."""
    asked = {name: (kind, of) for name, kind, of in document["protocol"]["question"].get("claims", ())}
    told = []
    for entry in document.get("claims", ()):
        if entry["claim"] not in asked:
            continue
        kind, of = asked[entry["claim"]]
        # Of one thing all kinds say the same.
        yes, no = (text.format(listed(of)) for text in _CLAIMED[kind if len(of) > 1 else "one"])
        opening = ""
        match entry["value"]:
            case "true":
                said = full = yes
            case "false":
                said = full = no
            case "unknown":
                instead = besides(document)
                why = f"Not certain, as {instead} may be there instead" if instead else "Not yet known"
                said = full = f"{why}: {yes}"
            case "open":
                opening = "these data cannot tell whether "
                said = yes
                # The steps of a staircase keep no witnesses.
                shown = (
                    "" if not entry["witnesses"] else " Explanation {} agrees, {} does not.".format(*entry["witnesses"])
                )
                full = f"The data cannot tell whether this holds: {yes}{shown}"
            case value:
                opening = "no answer, because "
                nothing_fits = "no explanation considered fits these data"
                said = f"{nothing_fits if value == 'empty' else why_withheld(document) or UNFIT}."
                full = ""
        # Within a sentence, but where it opens with the name of a thing.
        said = said[:1].lower() + said[1:] if len(of) > 1 and full else said
        name = plain(str(entry["claim"]))
        told.append((f"{name[:1].upper()}{name[1:]}: {opening}{said}", full))
    return told


def claim_answers(document: Entry) -> tuple[str, ...]:
    """One short sentence for each claim, by its name."""
    return tuple([short for short, _ in claims_in_words(document)])
