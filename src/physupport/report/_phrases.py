"""Names, lists and numbers as sentences write them."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, Final

from .._codec import real

# An entry of a document, as JSON gives it.
Entry = Mapping[str, Any]

MOST_NAMES = 12

# Labels in a few words, which stand beside the code.
_PLAIN: Final = {
    "FINE": "located",
    "GROUP": "there: one of a group",
    "SUPPORT_AMBIGUOUS": "present or not: undecided",
    "LOCAL_AMBIGUOUS": "there, but where: undecided",
    "AMBIGUOUS": "undecided",
    "ABSENT": "nothing there",
    "ABSTAIN": "no answer yet",
    "EMPTY": "nothing fits",
}


# Of elements that are names alone, as minerals are: they are nowhere.
_NAMED = {"FINE": "identified", "LOCAL_AMBIGUOUS": "there, but which: undecided"}

# Of the resolution of a block, which is about a distance and not about what is there.
_RESOLVED = {"FINE": "resolved", "GROUP": "resolved to a group", "AMBIGUOUS": "not resolved"}


def in_words(label: str, numbers: Mapping[str, float], *, has_places: bool = True, withheld: str = "") -> str:
    """A label in a few words; empty of labels of one's own.

    numbers: those of its field.  withheld: why no label is given, where that is so.
    """
    if withheld:
        return f"no answer, because {withheld}"
    if label == "ABSENT" and numbers.get("possible_present") and "absence_threshold" in numbers:
        return f"nothing as strong as {numbers['absence_threshold']:g}"
    special = _RESOLVED if "upper" in numbers else {} if has_places else _NAMED
    return (_PLAIN | special).get(label, "")


def has_places(entry: Entry) -> bool:
    """Whether there are distances between the elements of a field; of names alone there are none.

    Reports of before the set was told do not say, and are taken to have them.
    """
    return not entry.get("set") or entry["set"]["extent"] is not None


def among(names: Sequence[str]) -> str:
    """One of several, or the only one."""
    return plain(names[0]) if len(names) == 1 else f"one of {listed(names)}"


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Names with commas; of very many the first.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    return cut([*map(plain, names)], most)


def cut(parts: Sequence[str], most: int = MOST_NAMES) -> str:
    """Parts with commas, at most so many."""
    return ", ".join(parts) if len(parts) <= most else f"{', '.join(parts[:most])} and {len(parts) - most} more"


def plain(name: str) -> str:
    """A name on one line: line ends and other characters that do not print are written as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name)


def thing(name: str | None) -> str:
    """What an explanation has somewhere."""
    return "nothing there" if name is None else plain(name)


# So many regions of an explanation are named; of more, only those that it has.
_MOST_REGIONS = 6


def explanation_words(explanation: int, says: Mapping[str, str | None], field: str = "") -> str:
    """An explanation and what it says; of many regions, the one in question and the first ones that it has.

    >>> explanation_words(5, {"A": "A1", "B": None})
    'explanation 5 (A: A1, B: nothing)'
    """
    told = [*says.items()]
    if len(told) > _MOST_REGIONS:
        told = [(name, says[name]) for name in says if name == field]
        told += [(name, value) for name, value in says.items() if value is not None and name != field]
    parts = [f"{plain(name)}: {'nothing' if value is None else plain(value)}" for name, value in told]
    listed = cut(parts, _MOST_REGIONS) or ("nothing anywhere" if says else "")
    return f"explanation {explanation}" + (f" ({listed})" if listed else "")


def sentence_of(text: str) -> str:
    """The text as the beginning of a sentence."""
    return text[0].upper() + text[1:]


def confidence(level: float) -> str:
    """1 - level without rounding, which would make a certainty of it."""
    return str(1 - Decimal(repr(level))) if level >= 1e-6 else f"1 - {level!r}"


def below(value: float) -> str:
    """A lower bound in four digits."""
    return _rounded(value, ROUND_FLOOR)


def above(value: float) -> str:
    """An upper bound in four digits."""
    return _rounded(value, ROUND_CEILING)


def _rounded(value: float, direction: str, digits: int = 4) -> str:
    # Twelve digits first: 0.1 + 0.2 is a rounding error above 0.3, and not a reason to say 0.3001.
    exact = Decimal(f"{value:.12g}")
    return f"{float(Context(prec=digits, rounding=direction).create_decimal(exact)):.{digits}g}"


def gate_of(document: Entry) -> Entry:
    """What the judge says of the answer as a whole; empty where it says nothing."""
    return document.get("gate") or {}


def regions_of_sets(document: Entry) -> set[str]:
    """The regions in which several elements may be at once, so that names are those of sets."""
    rules = document["protocol"]["question"].get("regions", ())
    return {rule["region"] for rule in rules if isinstance(rule, dict) and "count" in rule}


def distance(value: float, unit: str, digits: int = 4) -> str:
    """An upper bound of a distance, with its unit if there is one."""
    return f"{_rounded(value, ROUND_CEILING, digits)} {plain(unit)}".rstrip()


def between(values: Sequence[float]) -> str:
    """The smallest and the largest of several numbers, rounded outwards.

    >>> between([34.641, 34.7, 35.018])
    '34.641 and 35.018'
    """
    return f"{_rounded(min(values), ROUND_FLOOR, 6)} and {_rounded(max(values), ROUND_CEILING, 6)}"


def place_words(place: Sequence[float]) -> str:
    """A number, or several in brackets."""
    numbers = ", ".join(f"{value:.6g}" for value in place)
    return numbers if len(place) == 1 else f"({numbers})"


def coordinate_names(count: int, unit: str, names: Sequence[str] = ()) -> list[str]:
    """So many coordinates with their unit, where it was said; x, y, z unless as many names are given.

    >>> coordinate_names(2, "mm"), coordinate_names(1, "", ["angle"])
    (['x (mm)', 'y (mm)'], ['angle'])
    """
    usual = ("x", "y", "z")[:count] if count <= 3 else tuple(f"x{i + 1}" for i in range(count))
    return [f"{name} ({unit})" if unit else name for name in (names if len(names) == count else usual)]


def unit_of(document: Entry) -> str:
    """The unit of the coordinates of the elements; empty where nobody said it."""
    return str(_library(document).get("unit", ""))


def places_of(document: Entry) -> dict[str, list[float]]:
    """Where each element lies, by its name; empty where that is not told, or where elements are cells."""
    library = _library(document)
    if "coordinates" not in library or "extents" in library:
        return {}
    places = real(library["coordinates"], None, None)
    return dict(zip(library["ids"], places.tolist(), strict=True)) if places.shape[1] else {}


def cells_of(document: Entry) -> dict[str, list[tuple[float, float]]]:
    """Ends of every coordinate of each element that is a cell, by its name; empty where elements are no cells."""
    library = _library(document)
    if "extents" not in library:
        return {}
    places, halves = (real(library[name], None, None) for name in ("coordinates", "extents"))
    ends = zip((places - halves).tolist(), (places + halves).tolist(), strict=True)
    return {name: [*zip(*both, strict=True)] for name, both in zip(library["ids"], ends, strict=True)}


def element_places(document: Entry) -> set[str]:
    """What a judge calls elements of the bank, and columns that all dictionaries share, where it looks along them."""
    library = _library(document)
    columns = {name: real(library[name], None, None).shape[1] for name in ("shared", "elements") if name in library}
    names = [*library.get("ids", ()), *(f"shared {k}" for k in range(columns.get("shared", 0)))]
    return {f"element {name}" for name in (*names, *(f"element {k}" for k in range(columns.get("elements", 0))))}


def _library(document: Entry) -> Entry:
    states: Entry = (document.get("bank") or {}).get("states", {})
    library: Entry = states.get("base", states)
    return library


def count_of_queries(count: int) -> str:
    """A number with its noun."""
    return "1 query" if count == 1 else f"{count} queries"


def probability(p: float) -> str:
    """A p-value."""
    return f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"
