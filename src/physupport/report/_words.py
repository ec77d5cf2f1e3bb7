"""Names, lists and numbers as sentences, pictures and the page write them."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import prod
from typing import Any, Final

import numpy as np

from .._codec import real
from ..banks import closes_circle

# An entry of a document, as JSON gives it.
Entry = Mapping[str, Any]

MOST_NAMES = 12
# Fewer places are rather a list; steps of a grid are equal but for rounding.
_LEAST_GRID = 5
_EVEN = 1e-6

# Labels in a few words, which stand beside the code.
_PLAIN: Final = {
    "FINE": "located",
    "GROUP": "present: one of a group",
    "SUPPORT_AMBIGUOUS": "presence undecided",
    "LOCAL_AMBIGUOUS": "present, place undecided",
    "AMBIGUOUS": "undecided",
    "ABSENT": "nothing there",
    "ABSTAIN": "no answer yet",
    "EMPTY": "nothing fits",
}


# Of elements that are names alone, as minerals are: they are nowhere.
_NAMED = {"FINE": "identified", "LOCAL_AMBIGUOUS": "present, element undecided"}

# Of the resolution of a block, which is about a distance and not about what is there.
_RESOLVED = {"FINE": "resolved", "GROUP": "resolved to a group", "AMBIGUOUS": "not resolved"}


def in_words(label: str, numbers: Mapping[str, float], *, has_places: bool = True, withheld: str = "") -> str:
    """Describe a label in a few words; empty for labels of user-defined questions.

    numbers: those of its field.  withheld: why no label is given, where that is so.
    """
    if withheld:
        return f"no answer, because {withheld}"
    if label == "ABSENT" and numbers.get("possible_present") and "absence_threshold" in numbers:
        return f"nothing as strong as {numbers['absence_threshold']:g}"
    special = _RESOLVED if "upper" in numbers else {} if has_places else _NAMED
    return (_PLAIN | special).get(label, "")


def has_places(entry: Entry) -> bool:
    """True if there are distances between the elements of a field; names alone have none.

    Reports of before the set was told do not say, and are taken to have them.
    """
    return not entry.get("set") or entry["set"]["extent"] is not None


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
    listed = ", ".join(parts[:_MOST_REGIONS]) + (" and more" if len(parts) > _MOST_REGIONS else "")
    listed = listed or ("nothing anywhere" if says else "")
    return f"explanation {explanation}" + (f" ({listed})" if listed else "")


def sentence_of(text: str) -> str:
    """The text as the beginning of a sentence."""
    return text[0].upper() + text[1:]


def confidence(level: float) -> str:
    """1 - level without rounding, which would make a certainty of it."""
    return str(1 - Decimal(repr(level))) if level >= 1e-6 else f"1 - {level!r}"


def below(value: float, digits: int = 4) -> str:
    """A lower bound in four digits, or as many as given."""
    return _rounded(value, ROUND_FLOOR, digits)


def above(value: float, digits: int = 4) -> str:
    """An upper bound in four digits, or as many as given."""
    return _rounded(value, ROUND_CEILING, digits)


def _rounded(value: float, direction: str, digits: int = 4) -> str:
    # Twelve digits first: 0.1 + 0.2 is a rounding error above 0.3, and not a reason to say 0.3001.
    exact = Decimal(f"{value:.12g}")
    return f"{float(Context(prec=digits, rounding=direction).create_decimal(exact)):.{digits}g}"


def gate_of(document: Entry) -> Entry:
    """The facts of the judge about the answer as a whole; empty if there are none."""
    return document.get("gate") or {}


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
    """The names of coordinates with their unit, if known; x, y, z unless as many names are given.

    >>> coordinate_names(2, "mm"), coordinate_names(1, "", ["angle"])
    (['x (mm)', 'y (mm)'], ['angle'])
    """
    usual = ("x", "y", "z")[:count] if count <= 3 else tuple(f"x{i + 1}" for i in range(count))
    return [f"{name} ({unit})" if unit else name for name in (names if len(names) == count else usual)]


def unit_of(document: Entry) -> str:
    """The unit of the coordinates of the elements; empty where nobody said it."""
    return str(library_of(document).get("unit", ""))


def places_of(document: Entry) -> dict[str, list[float]]:
    """The place of each element by its name; empty if unknown, or if elements are cells."""
    library = library_of(document)
    if "coordinates" not in library or "extents" in library:
        return {}
    places = real(library["coordinates"], None, None)
    return dict(zip(library["ids"], places.tolist(), strict=True)) if places.shape[1] else {}


def circle_of(document: Entry) -> set[str]:
    """The names of the elements of regions whose directions close a circle."""
    places = places_of(document)
    library = library_of(document)
    regions: dict[str, list[str]] = {}
    for name, region in zip(library.get("ids", ()) if places else (), library.get("regions", ()), strict=False):
        regions.setdefault(region, []).append(name)
    circles = (
        names for names in regions.values() if closes_circle([places[name] for name in names], unit_of(document))
    )
    return {name for names in circles for name in names}


def is_grid(document: Entry) -> bool:
    """True if the elements are all points of a grid of directions or places with equal steps."""
    places = np.array([*places_of(document).values()])
    if unit_of(document) not in ("degrees", "m") or len(places) < _LEAST_GRID:
        return False
    axes = [np.unique(column) for column in places.T]
    steps = [np.diff(axis) for axis in axes if len(axis) > 1]
    is_even = all(np.ptp(step) <= _EVEN * step.min() for step in steps)
    return is_even and len(np.unique(places, axis=0)) == prod(map(len, axes))


def cells_of(document: Entry) -> dict[str, list[tuple[float, float]]]:
    """Ends of every coordinate of each element that is a cell, by its name; empty where elements are no cells."""
    library = library_of(document)
    if "extents" not in library:
        return {}
    places, halves = (real(library[name], None, None) for name in ("coordinates", "extents"))
    ends = zip((places - halves).tolist(), (places + halves).tolist(), strict=True)
    return {name: [*zip(*both, strict=True)] for name, both in zip(library["ids"], ends, strict=True)}


def element_places(document: Entry) -> set[str]:
    """The names that a judge gives to elements of the bank, and to columns that all dictionaries share."""
    library = library_of(document)
    columns = {name: real(library[name], None, None).shape[1] for name in ("shared", "elements") if name in library}
    names = [*library.get("ids", ()), *(f"shared {k}" for k in range(columns.get("shared", 0)))]
    return {f"element {name}" for name in (*names, *(f"element {k}" for k in range(columns.get("elements", 0))))}


def library_of(document: Entry) -> Entry:
    """The library of the bank, as the document has it; empty without one."""
    states: Entry = (document.get("bank") or {}).get("states", {})
    library: Entry = states.get("base", states)
    return library


def count_of_queries(count: int) -> str:
    """A number with its noun."""
    return "1 query" if count == 1 else f"{count} queries"


def probability(p: float) -> str:
    """A p-value."""
    return f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"


def kind_of(label: str) -> str:
    """The family of a label, which decides its sign and colour: certain, absent, group, ...."""
    if label in ("FINE", "REPORT"):
        return "certain"
    if label.endswith("AMBIGUOUS"):
        return "ambiguous"
    return label.lower() if label in ("ABSENT", "GROUP", "EMPTY") else "open"


def label_words(label: str) -> str:
    """A label as words.

    >>> label_words("SUPPORT_AMBIGUOUS")
    'support ambiguous'
    """
    return label.replace("_", " ").lower()


def number(value: float | str | None, digits: int = 4) -> str:
    """A number in four digits with a true minus sign; a dash where there is none.

    >>> number(-2.54659), number(35223.4), number("-inf"), number(None)
    ('−2.547', '35223', '−∞', '—')
    """
    if value is None:
        return "—"
    if isinstance(value, str):
        text = value.replace("inf", "∞")
    else:
        is_long = 10.0**digits <= abs(value) < 1e7  # whole numbers are easier to read than powers of ten
        text = f"{value:.0f}" if is_long else f"{value:.{digits}g}"
    return text.replace("-", "−")


def grouped(count: int) -> str:
    """A count with a space between thousands.

    >>> grouped(1234567)
    '1 234 567'
    """
    return f"{count:,}".replace(",", " ")


def counted(count: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "query"), counted(4, "explanation")
    ('1 query', '4 explanations')
    """
    return f"{grouped(count)} {noun}" + ("" if count == 1 else "s")


def shortened(name: str, most: int = 24) -> str:
    """A name that fits beside a picture, cut in the middle, since many differ at the end alone.

    >>> shortened("mineral of kind 17", 12)
    'minera…nd 17'
    """
    tail = (most - 1) // 2
    return name if len(name) <= most else f"{name[: most - 1 - tail]}…{name[-tail:]}"


def setting_words(setting: Mapping[str, float]) -> list[str]:
    """Calibration parameters with their values.

    >>> setting_words({"width": 0.9, "gain": 0.0})
    ['width 0.9', 'gain 0']
    """
    return [f"{shortened(name, 16)} {number(value)}" for name, value in setting.items()]


_MOST_CHANNELS = 12  # that are named

# What a label means, for readers who meet it for the first time.
LABELS = {
    "FINE": "one answer: everything still possible lies within the tolerance",
    "GROUP": "there, but known only up to a group",
    "SUPPORT_AMBIGUOUS": "the data allow both something and nothing there",
    "LOCAL_AMBIGUOUS": "there, but the data allow elements far apart",
    "AMBIGUOUS": "the data allow readings farther apart than a group",
    "ABSENT": "nothing there, by every explanation still possible",
    "ABSTAIN": "left open: no requested label has its certificate",
    "EMPTY": "no statement is possible: every explanation is rejected",
}

# What the numbers of a field are; those of one's own questions keep their names.
NUMBERS = {
    "possible_spread": "largest distance between elements still possible",
    "extent": "largest distance between elements that are not rejected",
    "witnessed_spread": "largest distance between witnessed elements",
    "tolerance": "tolerance, the largest distance that is still FINE",
    "possible_present": "possible explanations with something there",
    "possible_absent": "possible explanations with nothing there",
    "possible_at_threshold": "possible explanations with something as strong as the threshold there",
    "witnessed_present": "witnessed explanations with something there",
    "witnessed_absent": "witnessed explanations with nothing there",
    "absence_threshold": "threshold, from which on something counts as there",
    "lower": "diameter of the remaining set, at least",
    "upper": "diameter of the remaining set, at most",
}

# The same of ABSENT, where strengths below a threshold do not count.
BELOW_THRESHOLD = "nothing there, or nothing as strong as the threshold, by every explanation still possible"

STATUSES = {
    "REPORT": "every answer is settled",
    "ABSTAIN": "left open as a whole",
    "EMPTY": "no explanation survives",
    "WITHHELD": "labels withheld",
}


def more_words(shown: int, listed: int, total: int) -> str:
    """State how many explanations of an element are not shown, and how many of these the details contain.

    >>> more_words(6, 12, 12), more_words(6, 12, 15)
    ('6 more in the details file', '9 more, 6 of them in the details file')
    """
    if total <= shown:
        return ""
    where = "" if listed == total else f", {listed - shown or 'none'} of them"
    return f"{total - shown} more{where} in the details file"


def judge_line(judge: Entry | None) -> str:
    """Describe the judge, its options and its assumptions; empty if a report does not name it.

    >>> judge_line({"judge": "simulation", "assumes": "rows are independent", "statistic": "score", "draws": 399})
    'simulation (statistic score, draws 399); assumed: rows are independent'
    """
    if not judge:
        return ""
    told = {name: value for name, value in judge.items() if name not in ("judge", "assumes")}
    chosen = [
        f"{name.replace('_', ' ')} {value}" for name, value in told.items() if isinstance(value, str | int | float)
    ]
    options = f" ({', '.join(chosen)})" if chosen else ""
    assumes = judge.get("assumes")
    return f"{judge.get('judge')}{options}" + (f"; assumed: {assumes}" if assumes else "")


def percent(level: float) -> str:
    r"""A probability in per cent, with all its digits.

    >>> percent(0.077), percent(1e-07)
    ('7.7\xa0%', '0.00001\xa0%')
    """
    exact = Decimal(repr(level)) * 100
    return f"{exact.normalize():f}\xa0%"


def margin(verdict: str, bounds: Sequence[float | str] | None) -> str:
    """The proven bound of a margin on the side that decides, or both bounds where neither does.

    Bounds are rounded outwards, so that the text is as true as the numbers.

    >>> margin("REJECTED", [12.97711, 12.97712]), margin("ADMISSIBLE", [-2.5639, -2.5638])
    ('≥ 12.97', '≤ −2.563')
    """
    if bounds is None:
        return "—"
    lower, upper = (_outwards(bound, way) for bound, way in zip(bounds, (ROUND_FLOOR, ROUND_CEILING), strict=True))
    if verdict == "REJECTED":
        return f"≥ {lower}"
    return f"≤ {upper}" if verdict == "ADMISSIBLE" else f"{lower} to {upper}"


def _outwards(bound: float | str, direction: str) -> str:
    if isinstance(bound, str):
        return number(bound)
    return number(float(Context(prec=4, rounding=direction).create_decimal(Decimal(bound))))


def says(content: Mapping[str, str | None], most: int = 8) -> str:
    """The regions in which an explanation has something, with its elements.

    >>> says({"A": "A1", "C": None})
    'A: A1'
    """
    present = [f"{region}: {name}" for region, name in content.items() if name is not None]
    if not present:
        return "nothing anywhere" if content else "—"
    return "; ".join(present[:most]) + ("; and more" if len(present) > most else "")


def figures(numbers: Mapping[str, float]) -> list[tuple[str, float]]:
    """The numbers of a field with their meaning; without a threshold that of the strong ones says nothing new."""
    return [
        (NUMBERS.get(name, name.replace("_", " ")), value)
        for name, value in numbers.items()
        if name != "possible_at_threshold" or "absence_threshold" in numbers
    ]


def choices(field: Entry) -> str:
    """The elements that are possible at a level.

    >>> choices({"label": "SUPPORT_AMBIGUOUS", "cell": ["C1", "C2"], "or_nothing": True})
    'C1, C2, or nothing'
    """
    if field["label"] == "EMPTY":
        return "no explanation survives"
    nothing = ["nothing"] if field["or_nothing"] else []
    return ", or ".join([listed(field["cell"], 6), *nothing] if field["cell"] else nothing) or "—"


def channels(entry: Entry) -> str:
    """The first channels of an input, and how many more it has, of which not all need be named.

    >>> channels({"channels": ["a", "b"], "shape": [3, 20], "proposal_rows": 1, "held_out_rows": 2})
    'a, b and 18 more'
    """
    shown = entry["channels"][:_MOST_CHANNELS]
    rows = entry["proposal_rows"] + entry["held_out_rows"]
    more = max(len(entry["channels"]), prod(entry["shape"]) // max(1, rows)) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def settings(content: Mapping[str, float]) -> str:
    """Calibration parameters with their values.

    >>> settings({"width": 0.9, "gain": 0.0})
    'width 0.9, gain 0'
    """
    return ", ".join(f"{name} {number(value)}" for name, value in content.items())
