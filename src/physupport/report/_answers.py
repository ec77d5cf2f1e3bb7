"""The answer in plain words: one short sentence a field, which is all that many readers want."""

from collections.abc import Sequence

from ..banks import JOINT
from ..questions import Label
from ._covers import placed_fields
from ._noise import UNFIT, why_withheld
from ._phrases import MOST_NAMES, Entry, above, between, distance, place_words, places_of, plain

_FEW = 3  # named where more are counted


def answers(document: Entry) -> tuple[str, ...]:
    """One sentence for each field, in their order; why, and how sure, is said elsewhere."""
    kind, places = document["question"]["kind"], places_of(document)
    withheld = why_withheld(document, is_best=UNFIT)
    return tuple(
        f"{_name(entry, kind)}: {_said({**entry, 'places': places if entry['unit'] else {}}, kind, withheld)}."
        for entry in placed_fields(document)
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
    names, numbers = _possible(entry), entry["numbers"]
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
    """What of all this is possible for want of a verdict, not by one; by name if there is little of it."""
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
    """What several sets of elements share, of which one is there: what all of them have, and what only some."""
    common = [name for name in sets[0] if all(name in names for names in sets)]
    others = list(dict.fromkeys(name for names in sets for name in names if name not in common))
    rest = _joined(others, "and")
    if not common:
        return f"at least one of {rest} is there"
    is_more = all(len(names) > len(common) for names in sets)
    return f"{_joined(common, 'and')}; " + (f"also at least one of {rest}" if is_more else f"perhaps also {rest}")


def _possible(entry: Entry) -> Sequence[str]:
    """What may be there, what least speaks against first."""
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
    """Whether elements are told by their number and how far they lie apart, being too many to be named."""
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
