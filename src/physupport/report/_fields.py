"""The sentences about fields and claims: the short answer, and the long one with its reasons."""

from collections.abc import Mapping, Sequence

from ..banks import JOINT
from ..laws import LAWS
from ..questions import Label
from ._assumptions import (
    UNFIT,
    besides,
    is_exhausted,
    is_presence,
    placed_fields,
    unless,
    why_open,
    why_withheld,
    without_stuck,
)
from ._words import (
    MOST_NAMES,
    Entry,
    above,
    among,
    below,
    between,
    cut,
    distance,
    explanation_words,
    gate_of,
    listed,
    place_words,
    places_of,
    plain,
    sentence_of,
    thing,
)

_FEW = 3  # named where more are counted


def answers(document: Entry) -> tuple[str, ...]:
    """One sentence for each field, in their order; why, and how sure, is said elsewhere."""
    kind = document["question"]["kind"]
    places = places_of(document)
    withheld = why_withheld(document, is_best=UNFIT)
    apart = unless(document)
    return tuple(
        f"{_name(entry, kind)}: {_said({**entry, 'places': places if entry['unit'] else {}}, kind, withheld)}"
        f"{apart if is_presence(entry) else ''}."
        for entry in (without_stuck(document, each) for each in placed_fields(document))
    )


def _name(entry: Entry, kind: str) -> str:
    name = "Resolution" if kind == "resolution" else plain(entry["field"])
    return name[:1].upper() + name[1:]


def _said(entry: Entry, kind: str, withheld: str) -> str:
    if entry["label"] == Label.EMPTY:
        return "no answer, because nothing in the bank fits these data"
    if entry["certificate"] == "withheld":
        return f"no answer, because {withheld}"
    if kind == "regional map":
        return _region(entry) + _not_asked(entry)
    if kind == "resolution":
        return f"{_RESOLUTIONS.get(entry['label'], 'not settled yet')}, within {above(entry['numbers']['upper'])}"
    return f"{entry['label']} {_either(entry, entry['cell'])}".rstrip()


_RESOLUTIONS = {Label.FINE: "fine", Label.GROUP: "a group", Label.AMBIGUOUS: "cannot be told with these data"}


def _region(entry: Entry) -> str:
    names = _possible(entry)
    numbers = entry["numbers"]
    match entry["label"]:
        case Label.FINE | Label.GROUP | Label.LOCAL_AMBIGUOUS:
            return _present(entry, names)
        case Label.SUPPORT_AMBIGUOUS:
            what = _either(entry, names) + (_where(entry, names) if len(names) == 1 or len(names) > MOST_NAMES else "")
            where = "within " if entry["cells"] else ""
            return f"present or not is undecided; if something is there, it is {where}{what}"
        case Label.ABSENT:
            is_weak = numbers["possible_present"] and "absence_threshold" in numbers
            return f"nothing as strong as {numbers['absence_threshold']:g} is there" if is_weak else "nothing is there"
    choices = _either(entry, [*names, "nothing"] if numbers["possible_absent"] else names)
    return f"no answer yet; {choices} is possible" if choices else "no answer yet"


def _not_asked(entry: Entry) -> str:
    """The possible elements that were not asked about: their names if they are few, else their number."""
    unasked = (entry.get("set") or {}).get("not_asked", ())
    if not unasked or entry["label"] == Label.ABSENT:
        return ""
    if entry["cells"]:
        cells = [name for name in unasked if name is not None]
        parts = [f"{len(cells)} of these cells"] if cells else []
        return f" (not asked about: {' and '.join(parts + ['nothing'] * (None in unasked))})"
    if len(unasked) > _FEW:
        return f" ({len(unasked)} {'sets' if entry['is_set'] else 'of these'} not asked about)"
    names = ["nothing" if name is None else name.replace(JOINT, " with ") for name in unasked]
    return f" (not asked about: {', '.join(map(plain, names))})"


def _present(entry: Entry, names: Sequence[str]) -> str:
    """Something is there: which, as far as that is known."""
    # Only witnesses show that the data cannot tell; what was not asked about may still go.
    which = ", and these data cannot tell which" if entry["witnesses"] else ""
    if entry["cells"]:
        group = "" if entry["group"] in (None, entry["field"]) else f"{plain(entry['group'])}, "
        return f"{group}within {entry['cells']}" + which.replace("which", "where")
    if entry["is_set"] and len(names) > 1:
        return _of_sets([name.split(JOINT) for name in names]) + which
    either = _either(entry, names)
    if len(names) == 1:
        return f"{either} {'are' if JOINT in names[0] and entry['is_set'] else 'is'} there{_where(entry, names)}"
    either += _where(entry, names)
    if entry["label"] == Label.FINE:
        return either
    if entry["group"] in (None, entry["field"]):
        return f"{either}{which}" if _is_counted(entry, names) else f"{either}; one of them is there{which}"
    return f"{plain(entry['group'])} ({either}){which}"


def _of_sets(sets: Sequence[Sequence[str]]) -> str:
    """The elements that all of several possible sets have, and those that only some have."""
    common = [name for name in sets[0] if all(name in names for names in sets)]
    others = list(dict.fromkeys(name for names in sets for name in names if name not in common))
    rest = _joined(others, "and")
    if not common:
        return f"at least one of {rest} is there"
    is_more = all(len(names) > len(common) for names in sets)
    return f"{_joined(common, 'and')}; " + (f"also at least one of {rest}" if is_more else f"perhaps also {rest}")


def _possible(entry: Entry) -> Sequence[str]:
    """The elements that may be there, the one with the least evidence against it first."""
    kept = [part["name"] for part in (entry.get("set") or {"kept": ()})["kept"] if part["name"] is not None]
    known = {*kept}
    return [*kept, *(name for name in entry["cell"] if name not in known)]


def _either(entry: Entry, names: Sequence[str]) -> str:
    """One of them; of very many their number, if it is said how far they lie apart; of cells all of them together."""
    if entry["cells"]:
        return " or ".join([entry["cells"], *(name for name in names if name == "nothing")])
    if _is_counted(entry, names):
        return f"one of {len(names)} elements"
    # Of several elements at once both words are needed: a and b, a, or b.
    return _joined([name.replace(JOINT, " and ") if entry["is_set"] else name for name in names], "or")


def _is_counted(entry: Entry, names: Sequence[str]) -> bool:
    """True if the elements are too many to be named, so that their number and distance are given."""
    return len(names) > MOST_NAMES and bool(_where(entry, names))


def _joined(names: Sequence[str], word: str) -> str:
    shown = [*map(plain, names[:MOST_NAMES])]
    if len(names) > MOST_NAMES:
        return f"{', '.join(shown)} {word} {len(names) - MOST_NAMES} more"
    return f"{', '.join(shown[:-1])} {word} {shown[-1]}" if len(shown) > 1 else "".join(shown)


def _where(entry: Entry, names: Sequence[str]) -> str:
    """Where one lies, between which ends several on a line do, or how far they lie apart; with their unit."""
    places = [entry["places"][name] for name in names if name in entry["places"]]
    if entry["cells"]:
        return ""
    if len(places) < len(names):  # sets of elements, or no unit
        return _apart(entry, names)
    if len(names) == 1:
        return f", at {place_words(places[0])} {plain(entry['unit'])}"
    if len(places[0]) == 1:
        return f", between {between([place[0] for place in places])} {plain(entry['unit'])}"
    return _apart(entry, names)


def _apart(entry: Entry, names: Sequence[str]) -> str:
    """How far they lie apart, where somebody said what the coordinates are measured in."""
    extent = (entry.get("set") or {}).get("extent")
    if len(names) < 2 or extent is None or not entry["unit"]:
        return ""
    return f", at most {distance(entry['numbers']['possible_spread'], entry['unit'], 3)} apart"


def field_sentences(document: Entry) -> tuple[str, ...]:
    """One for each field, in their order."""
    names = [entry["field"] for entry in document["fields"]]
    is_evidence = has_evidence(document)
    remedy = _remedy(document)
    withheld = why_withheld(document, is_best="the explanation that fits best is itself rejected")
    apart = unless(document)
    return tuple(
        _field_sentence(
            {
                **_in_order(entry, names),
                "is_evidence": is_evidence,
                "remedy": remedy,
                "vanishes": _vanishes(document, entry),
                "withheld": withheld,
                "unless": apart,
            },
            document["question"]["kind"],
            document["outcome"],
        )
        for entry in (without_stuck(document, each) for each in placed_fields(document))
    )


def sharper_sentences(document: Entry) -> list[str]:
    """The remedies that would separate the witnesses, where the number of rows that it takes is unknown."""
    if has_evidence(document):
        return []
    kind = document["question"]["kind"]
    remedy = _remedy(document).rstrip(",")
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
    """A note for coefficients that may be as small as one likes: no rows can then show absence."""
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
    """The elements of a region that are kept only because their verdict is indeterminate."""
    names = [thing(part["name"]) for part in _kept(entry) if part["margin"][1] == "inf" or part["margin"][1] > 0.0]
    return f" Kept only because a verdict is INDETERMINATE: {cut(names)}." if names else ""


def _region_label(entry: Entry, outcome: Entry) -> str:
    title = _title(entry, "regional map")
    cell = entry["cell"]
    numbers = entry["numbers"]
    match entry["label"]:
        case Label.FINE:
            return f"{title}: {_one_of(entry)}{_spread_words(entry)}.{_excluded(entry)}"
        case Label.GROUP:
            group = "" if entry["group"] in (None, entry["field"]) else f" (group {plain(entry['group'])})"
            if not entry["witnesses"]:
                more = "" if is_exhausted(outcome) else " More queries may say more."
                return f"{title}: {_one_of(entry)}{group}{_spread_words(entry)}.{more}{_excluded(entry)}"
            said = (
                f"{title}: {_one_of(entry)}{group}{_spread_words(entry)}; the data cannot tell {_rivals(entry)} apart."
            )
            return said + _separate(entry, "To separate them") + _excluded(entry)
        case Label.LOCAL_AMBIGUOUS:
            said = f"{title}: something is there, {_one_of(entry)}{_spread_words(entry)}; the data cannot tell"
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
    numbers = entry["numbers"]
    title = "Resolution"
    lower = below(numbers["lower"])
    upper = above(numbers["upper"])
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
    """The evidence that it takes to reject one of the witnesses."""
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
    """The elements that may be there: kept, the least evidence against them first, or not asked about."""
    kept = [part["name"] for part in _kept(entry) if part["name"] is not None]
    known = {*kept}
    others = [name for name in entry["cell"] if name not in known]
    if not kept or not others:
        unasked = " (not asked about)" if others and entry.get("set") else ""
        return f"{_among(entry, kept or others)}{unasked}"
    return f"{_among(entry, kept)} (kept) or {_among(entry, others)} (not asked about)"


def _among(entry: Entry, names: Sequence[str]) -> str:
    """One of several names; a single set in words, and many cells by their number."""
    if entry["within"] and len(names) > 1:
        return f"one of {len(names)} cells"
    return among(names).replace(JOINT, " and ") if entry.get("is_set") and len(names) == 1 else among(names)


def _spread_words(entry: Entry) -> str:
    """How far what may be there lies apart, in the unit of the coordinates, if any, and what else may be there."""
    extent = (entry.get("set") or {}).get("extent")
    if len(entry["cell"]) < 2 or (extent is None and entry["label"] != Label.FINE):
        return str(entry["unless"])
    spread = distance(entry["numbers"]["possible_spread"], entry["unit"])
    return f", at most {spread} apart{entry['within']}{entry['unless']}"


def _nothing(entry: Entry) -> str:
    return "nothing (not asked about)" if None in (entry.get("set") or {}).get("not_asked", ()) else "nothing"


def _kept(entry: Entry) -> Sequence[Entry]:
    """Reports of before the set was told do not say which part of the cell is kept."""
    return entry["set"]["kept"] if entry.get("set") else ()


_CLAIMED = {
    "any": ("At least one of {} is there.", "None of {} is there."),
    "all": ("All of {} are there.", "Not all of {} are there."),
    "exactly_one": ("Exactly one of {} is there.", "Not exactly one of {} is there."),
    "one": ("{} is there.", "{} is not there."),
}


def claims_of(document: Entry) -> list[tuple[Entry, str, str]]:
    """Each claim with its kind and what it names."""
    claims = document["protocol"]["question"].get("claims", ())
    # Of one thing all kinds say the same.
    kinds = {name: (kind if len(of) > 1 else "one", listed(of)) for name, kind, of in claims}
    told = [{**entry, "besides": besides(document)} for entry in document.get("claims", ())]
    return [(entry, *kinds[entry["claim"]]) for entry in told if entry["claim"] in kinds]


def claim_sentence(claim: tuple[Entry, str, str]) -> str:
    """The value of a claim in a full sentence; empty where it has none."""
    entry, kind, of = claim
    yes, no = (text.format(of) for text in _CLAIMED[kind])
    match entry["value"]:
        case "true":
            return yes
        case "false":
            return no
        case "open":
            one, other = entry["witnesses"]
            return f"The data cannot tell whether this holds: {yes} Explanation {one} says so, {other} does not."
        case "unknown":
            if entry["besides"]:
                return f"Not certain, as {entry['besides']} may be there instead: {yes}"
            return f"Not yet known: {yes}"
    return ""


def claim_answers(document: Entry) -> tuple[str, ...]:
    """One short sentence for each claim, by its name."""
    withheld = why_withheld(document, is_best=UNFIT)
    told = ((plain(str(claim[0]["claim"])), _claim_answer(claim, withheld)) for claim in claims_of(document))
    return tuple(f"{name[:1].upper()}{name[1:]}: {said}" for name, said in told)


def _claim_answer(claim: tuple[Entry, str, str], withheld: str) -> str:
    entry, kind, of = claim
    if entry["value"] in ("empty", "withheld"):
        why = "nothing in the bank fits these data" if entry["value"] == "empty" else withheld
        return f"no answer, because {why}."
    if entry["value"] == "open":
        return f"these data cannot tell whether {_continued(kind, _CLAIMED[kind][0].format(of))}"
    return _continued(kind, claim_sentence(claim))


def _continued(kind: str, said: str) -> str:
    """Within a sentence; the name of one thing stays as it is."""
    return said if kind == "one" else said[:1].lower() + said[1:]
