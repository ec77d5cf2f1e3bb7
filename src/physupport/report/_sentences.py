"""What a report says in sentences: each is made from the facts of the document, and is no part of it."""

from collections.abc import Mapping, Sequence

from ..banks import JOINT
from ..laws import LAWS
from ..questions import Label
from ._covers import placed_fields
from ._noise import why_withheld
from ._open import is_exhausted, why_open
from ._phrases import (
    Entry,
    above,
    among,
    below,
    cut,
    distance,
    explanation_words,
    gate_of,
    listed,
    plain,
    sentence_of,
    thing,
)


def field_sentences(document: Entry) -> tuple[str, ...]:
    """One for each field, in their order."""
    names = [entry["field"] for entry in document["fields"]]
    is_evidence, remedy = has_evidence(document), _remedy(document)
    withheld = why_withheld(document, is_best="the explanation that fits best is itself rejected")
    return tuple(
        _field_sentence(
            {
                **_in_order(entry, names),
                "is_evidence": is_evidence,
                "remedy": remedy,
                "vanishes": _vanishes(document, entry),
                "withheld": withheld,
            },
            document["question"]["kind"],
            document["outcome"],
        )
        for entry in placed_fields(document)
    )


def sharper_sentences(document: Entry) -> list[str]:
    """What would tell apart what witnesses hold together, where nobody can say how many more rows it takes."""
    if has_evidence(document):
        return []
    kind, remedy = document["question"]["kind"], _remedy(document).rstrip(",")
    open_fields = [entry for entry in document["fields"] if entry["witnesses"]]
    return [f"{_title(entry, kind)}: {remedy} would be needed to tell {_told(entry)}." for entry in open_fields]


def _told(entry: Entry) -> str:
    is_presence = entry["label"] == Label.SUPPORT_AMBIGUOUS
    rivals = _rivals(entry)
    return "whether anything is there" if is_presence else f"{'what is left' if rivals == 'them' else rivals} apart"


def has_evidence(document: Entry) -> bool:
    """Where no stream has a numerator, margins are not log evidence."""
    return all(stream["numerator"] for stream in document["protocol"]["streams"])


def _remedy(document: Entry) -> str:
    return _REMEDIES.get(str(gate_of(document).get("lacks")), _REMEDIES["rows"])


def _vanishes(document: Entry, entry: Entry) -> str:
    """What to know where a coefficient may be as small as one likes, so that no rows show that nothing is there."""
    laws = [stream["law"] for stream in document["protocol"]["streams"] if stream["name"] == "deployment"]
    if not laws or "absence_threshold" in entry["numbers"] or not (known := LAWS.get(laws[0].get("kind"))):
        return ""
    boxes = {name: (float(low), float(high)) for name, low, high in laws[0].get("coefficients", ())}
    low, high = boxes.get(entry["field"], (0.0, 0.0))
    if not known.is_linear or not low <= 0.0 <= high:
        return ""
    said = (
        " Its amount may be as small as one likes, so that more data can show that something is there, and never that"
    )
    instead = "; absence_threshold asks about a least amount instead" if "thresholds" in laws[0] else ""
    return f"{said} nothing is{instead}."


# What would tell more, by what a judge says it lacks.
_REMEDIES = {
    "rows": "more rows or less noise",
    "counts": "more counts, or channels in which they differ more,",
    "units": "replicates of more units",
    "units and share": "replicates of more units, and within a group a share of the level,",
}


def _in_order(entry: Entry, names: Sequence[str]) -> Entry:
    """The entry with what explanations say in the order of the fields: JSON objects have none of their own."""

    def ordered(named: Entry) -> Entry:
        says = named["says"]
        return {**named, "says": {name: says[name] for name in (*names, *sorted(says)) if name in says}}

    excluded = entry["excluded"]
    return {
        **entry,
        "witnesses": [*map(ordered, entry["witnesses"])],
        "excluded": None if excluded is None else ordered(excluded),
    }


def _field_sentence(entry: Entry, kind: str, outcome: Entry) -> str:
    """One field; kind is that of the question."""
    if entry["label"] == Label.EMPTY:
        return f"{_title(entry, kind)}: nothing can be said, because no explanation survives."
    if entry["certificate"] == "withheld":
        return f"{_title(entry, kind)}: no label is given, because {entry['withheld']}."
    if kind == "regional map":
        return _region_label(entry, outcome) + _kept_undecided(entry)
    if kind == "resolution":
        return _resolution_sentence(entry, outcome)
    cell = f" ({listed(entry['cell'])})" if entry["cell"] else ""
    reason = f" {sentence_of(why_open(outcome))}" if entry["label"] == Label.ABSTAIN else ""
    return f"{_title(entry, kind)}: {entry['label']}{cell}.{reason}{_separate(entry, 'To decide')}{_excluded(entry)}"


def _kept_undecided(entry: Entry) -> str:
    """What of a region is only kept because no verdict could be given."""
    names = [thing(part["name"]) for part in _kept(entry) if part["margin"][1] == "inf" or part["margin"][1] > 0.0]
    return f" Kept only because a verdict is INDETERMINATE: {cut(names)}." if names else ""


def _region_label(entry: Entry, outcome: Entry) -> str:
    title, cell, numbers = _title(entry, "regional map"), entry["cell"], entry["numbers"]
    match entry["label"]:
        case Label.FINE:
            return f"{title}: {_one_of(entry)}{_apart(entry)}.{_excluded(entry)}"
        case Label.GROUP:
            group = "" if entry["group"] in (None, entry["field"]) else f" (group {plain(entry['group'])})"
            if not entry["witnesses"]:
                more = "" if is_exhausted(outcome) else " More queries may say more."
                return f"{title}: {_one_of(entry)}{group}{_apart(entry)}.{more}{_excluded(entry)}"
            said = f"{title}: {_one_of(entry)}{group}{_apart(entry)}; the data cannot tell {_rivals(entry)} apart."
            return said + _separate(entry, "To separate them") + _excluded(entry)
        case Label.LOCAL_AMBIGUOUS:
            said = f"{title}: something is there, {_one_of(entry)}{_apart(entry)}; the data cannot tell"
            return f"{said} {_rivals(entry)} apart.{_separate(entry, 'To separate them')}"
        case Label.SUPPORT_AMBIGUOUS:
            said = f"{title}: {_one_of(entry)}{entry['within']}, or {_nothing(entry)}; the data cannot tell whether"
            return f"{said} anything is there.{entry['vanishes'] or _separate(entry, 'To decide')}"
        case Label.ABSENT:
            is_weak = numbers["possible_present"] and "absence_threshold" in numbers
            weak = f" of strength {numbers['absence_threshold']!r} or more" if is_weak else ""
            return f"{title}: nothing there{weak}.{_excluded(entry)}"
    nothing = _nothing(entry) if numbers["possible_absent"] else ""
    possible = " or ".join(filter(None, (f"{_one_of(entry)}{entry['within']}" if cell else "", nothing)))
    return f"{title}: open; possible is {possible}. {_why_open(numbers, outcome)}"


def _why_open(numbers: Mapping[str, float], outcome: Entry) -> str:
    """Why a region has none of the labels asked for: where witnesses contradict each other, no query can mend that."""
    # Where all that is possible there reaches the threshold, a witness of presence rules ABSENT out as well.
    reaches = numbers["possible_at_threshold"] == numbers["possible_present"]
    if numbers["witnessed_present"] and numbers["witnessed_absent"] and reaches:
        return (
            "Of the admissible explanations some have it and some lack it, so no query can show that something is "
            "there, or that nothing is. More rows or a question that asks for less may change this."
        )
    if numbers["witnessed_spread"] > numbers["tolerance"]:
        return (
            "Admissible explanations have elements there that lie farther apart than the tolerance, so no query can "
            f"make it FINE. {sentence_of(why_open(outcome))}"
        )
    return sentence_of(why_open(outcome))


def _resolution_sentence(entry: Entry, outcome: Entry) -> str:
    numbers, title = entry["numbers"], "Resolution"
    lower, upper = below(numbers["lower"]), above(numbers["upper"])
    between = lower if lower == upper else f"at least {lower} and at most {upper}"
    # One survivor alone spreads over nothing: what is bounded is the diameter of survivors and proposal.
    survivors = "what survives, together with the proposal,"
    match entry["label"]:
        case Label.FINE:
            return f"{title}: fine; {survivors} lies within {upper}.{_excluded(entry)}"
        case Label.GROUP:
            return f"{title}: a group; {survivors} spreads {between}.{_excluded(entry)}"
        case Label.AMBIGUOUS:
            said = f"{title}: ambiguous; {survivors} spreads at least {lower}, more than a group may."
            return said + _separate(entry, "To narrow it")
    return f"{title}: open; {survivors} spreads {between}. {sentence_of(why_open(outcome))}"


def _rivals(entry: Entry) -> str:
    """The elements that two witnesses have."""
    names = [str(witness["says"].get(entry["field"])) for witness in entry["witnesses"]]
    return "them" if sorted(names) == sorted(entry["cell"]) else " and ".join(map(plain, names))


def _separate(entry: Entry, opening: str) -> str:
    """What it takes to get rid of one of the witnesses."""
    witnesses: Sequence[Entry] = entry["witnesses"]
    if not witnesses:
        return ""
    if not entry["is_evidence"]:
        return f" {opening}, {entry['remedy']} would be needed."
    names = " or ".join(_explanation(witness, entry["field"]) for witness in witnesses)
    # An upper bound of the margin is the least that is missing; without a measured margin it says nothing.
    missing = min(-w["margin"][1] if isinstance(w["margin"][1], float) else 0.0 for w in witnesses)
    rise = f" by more than {below(missing)}" if missing > 0.0 else ""
    return f" {opening}, the log evidence against {names} must rise{rise}: more held-out rows or less noise."


def _excluded(entry: Entry) -> str:
    nearest = entry["excluded"]
    if nearest is None:
        return ""
    if not entry["is_evidence"]:
        # Draws stop as soon as they decide, so that most margins are equal, and none is known to be the nearest.
        return f" Every explanation that says otherwise is rejected, such as {_explanation(nearest, entry['field'])}."
    lower = nearest["margin"][0]
    is_told = isinstance(lower, float) and lower > 0.0
    margin = f", by a margin of at least {below(lower)}" if is_told else ""
    return (
        f" The nearest explanation that says otherwise, {_explanation(nearest, entry['field'])}, is rejected{margin}."
    )


def _explanation(named: Entry, field: str) -> str:
    return explanation_words(named["explanation"], named["says"], field)


def _title(entry: Entry, kind: str) -> str:
    if kind == "resolution":
        return "Resolution"
    name = plain(entry["field"])
    return f"Region {name}" if kind == "regional map" else name


def _one_of(entry: Entry) -> str:
    """What may be there: kept, the least evidence against it first, or not asked about."""
    kept = [part["name"] for part in _kept(entry) if part["name"] is not None]
    known = {*kept}
    others = [name for name in entry["cell"] if name not in known]
    if not kept or not others:
        unasked = " (not asked about)" if others and entry.get("set") else ""
        return f"{_among(entry, kept or others)}{unasked}"
    return f"{_among(entry, kept)} (kept) or {_among(entry, others)} (not asked about)"


def _among(entry: Entry, names: Sequence[str]) -> str:
    """Of sets of elements the only one in words; of cells, which are many, their number."""
    if entry["within"] and len(names) > 1:
        return f"one of {len(names)} cells"
    return among(names).replace(JOINT, " and ") if entry.get("is_set") and len(names) == 1 else among(names)


def _apart(entry: Entry) -> str:
    """How far what may be there lies apart, in the unit of the coordinates, where there are any."""
    extent = (entry.get("set") or {}).get("extent")
    if len(entry["cell"]) < 2 or (extent is None and entry["label"] != Label.FINE):
        return ""
    return f", at most {distance(entry['numbers']['possible_spread'], entry['unit'])} apart{entry['within']}"


def _nothing(entry: Entry) -> str:
    return "nothing (not asked about)" if None in (entry.get("set") or {}).get("not_asked", ()) else "nothing"


def _kept(entry: Entry) -> Sequence[Entry]:
    """Reports of before the set was told do not say which part of the cell is kept."""
    return entry["set"]["kept"] if entry.get("set") else ()
