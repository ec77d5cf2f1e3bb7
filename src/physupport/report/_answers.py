"""The answer in plain words: one short sentence a field, which is all that many readers want."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..banks import JOINT
from ..questions import Label
from ._phrases import MOST_NAMES, above, plain, regions_of_sets

Entry = Mapping[str, Any]


def answers(document: Entry) -> tuple[str, ...]:
    """One sentence for each field, in their order; why, and how sure, is said elsewhere."""
    kind, counted = document["question"]["kind"], regions_of_sets(document)
    told = ((_name(entry, kind), entry["field"] in counted, _said(entry, kind)) for entry in document["fields"])
    # Of several elements at once both words are needed: a and b, a, or b.
    return tuple(f"{name}: {said.replace(JOINT, ' and ') if is_set else said}." for name, is_set, said in told)


def _name(entry: Entry, kind: str) -> str:
    name = "Resolution" if kind == "resolution" else plain(entry["field"])
    return name[:1].upper() + name[1:]


def _said(entry: Entry, kind: str) -> str:
    if entry["label"] == Label.EMPTY:
        return "no answer, because nothing in the bank fits these data"
    if entry["certificate"] == "withheld":
        return "no answer, because not even the best explanation in the bank fits these data"
    if kind == "regional map":
        return _region(entry)
    if kind == "resolution":
        return f"{_RESOLUTIONS.get(entry['label'], 'not settled yet')}, within {above(entry['numbers']['upper'])}"
    return f"{entry['label']} {_either(entry['cell'])}".rstrip()


_RESOLUTIONS = {Label.FINE: "fine", Label.GROUP: "a group", Label.AMBIGUOUS: "cannot be told with these data"}


def _region(entry: Entry) -> str:
    names, numbers = _possible(entry), entry["numbers"]
    either = _either(names)
    match entry["label"]:
        case Label.FINE:
            return either + _apart(entry, names)
        case Label.GROUP | Label.LOCAL_AMBIGUOUS:
            if len(names) == 1:
                return either
            # Only witnesses show that the data cannot tell; what was not asked about may still go.
            which = ", and these data cannot tell which" if entry["witnesses"] else ""
            return f"{either}{_apart(entry, names)}; one of them is there{which}"
        case Label.SUPPORT_AMBIGUOUS:
            return f"present or not is undecided; if something is there, it is {either}"
        case Label.ABSENT:
            is_weak = numbers["possible_present"] and "absence_threshold" in numbers
            return f"nothing as strong as {numbers['absence_threshold']:g} is there" if is_weak else "nothing is there"
    choices = _either([*names, "nothing"] if numbers["possible_absent"] else names)
    return f"no answer yet; {choices} is possible" if choices else "no answer yet"


def _possible(entry: Entry) -> Sequence[str]:
    """What may be there, what least speaks against first."""
    kept = [each["name"] for each in (entry.get("set") or {"kept": ()})["kept"] if each["name"] is not None]
    known = {*kept}
    return [*kept, *(name for name in entry["cell"] if name not in known)]


def _either(names: Sequence[str]) -> str:
    shown = [*map(plain, names[:MOST_NAMES])]
    if len(names) > MOST_NAMES:
        return f"{', '.join(shown)} or one of {len(names) - MOST_NAMES} more"
    return f"{', '.join(shown[:-1])} or {shown[-1]}" if len(shown) > 1 else "".join(shown)


def _apart(entry: Entry, names: Sequence[str]) -> str:
    extent = (entry.get("set") or {}).get("extent")
    if len(names) < 2 or extent is None:
        return ""
    return f", at most {above(entry['numbers']['possible_spread'])} apart"
