"""Numbers and names as the page writes them."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import prod

from .._phrases import Entry, listed
from ..pictures._words import number

_MOST_CHANNELS = 12  # that are named

# What a label means, for readers who meet it for the first time.
LABELS = {
    "FINE": "one answer: everything still possible lies within the tolerance",
    "GROUP": "there, but known only up to a group",
    "SUPPORT_AMBIGUOUS": "the data allow both something and nothing there",
    "LOCAL_AMBIGUOUS": "there, but the data allow elements far apart",
    "AMBIGUOUS": "the data allow readings farther apart than a group",
    "ABSENT": "nothing there, by every explanation still possible",
    "ABSTAIN": "left open: no label that was asked for has its certificate",
    "EMPTY": "nothing can be said: no explanation survives",
}

# What the numbers of a field are; those of one's own questions keep their names.
NUMBERS = {
    "possible_spread": "largest distance between elements still possible",
    "extent": "largest distance between elements that are kept",
    "witnessed_spread": "largest distance between witnessed elements",
    "tolerance": "tolerance, the largest distance that is still FINE",
    "possible_present": "possible explanations with something there",
    "possible_absent": "possible explanations with nothing there",
    "possible_at_threshold": "possible explanations with something as strong as the threshold there",
    "witnessed_present": "witnessed explanations with something there",
    "witnessed_absent": "witnessed explanations with nothing there",
    "absence_threshold": "threshold, from which on something counts as there",
    "lower": "diameter of what survives, at least",
    "upper": "diameter of what survives, at most",
}

# The same of ABSENT, where strengths below a threshold do not count.
BELOW_THRESHOLD = "nothing there, or nothing as strong as the threshold, by every explanation still possible"

STATUSES = {
    "REPORT": "certified",
    "ABSTAIN": "left open as a whole",
    "EMPTY": "no explanation survives",
    "WITHHELD": "labels withheld",
}


def more_words(shown: int, listed: int, total: int) -> str:
    """How many explanations of an element are not shown, and how many of these the details have; empty if all are.

    >>> more_words(6, 12, 12), more_words(6, 12, 15)
    ('6 more in the details file', '9 more, 6 of them in the details file')
    """
    if total <= shown:
        return ""
    where = "" if listed == total else f", {listed - shown or 'none'} of them"
    return f"{total - shown} more{where} in the details file"


def judge_line(judge: Entry | None) -> str:
    """Who judged, with what was chosen for it, and what that assumes; empty where a report does not say.

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
    """What is proven of a margin: a bound on the side that decides, or both where neither does.

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
    """What an explanation says: the regions in which it has something.

    >>> says({"A": "A1", "C": None})
    'A: A1'
    """
    present = [f"{region}: {name}" for region, name in content.items() if name is not None]
    if not present:
        return "nothing anywhere" if content else "—"
    return "; ".join(present[:most]) + (f"; and {len(present) - most} more" if len(present) > most else "")


def figures(numbers: Mapping[str, float]) -> list[tuple[str, float]]:
    """The numbers of a field with their meaning; without a threshold that of the strong ones says nothing new."""
    return [
        (NUMBERS.get(name, name.replace("_", " ")), value)
        for name, value in numbers.items()
        if name != "possible_at_threshold" or "absence_threshold" in numbers
    ]


def choices(field: Entry) -> str:
    """What is possible at a level.

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
    shown, rows = entry["channels"][:_MOST_CHANNELS], entry["proposal_rows"] + entry["held_out_rows"]
    more = max(len(entry["channels"]), prod(entry["shape"]) // max(1, rows)) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def settings(content: Mapping[str, float]) -> str:
    """Calibration parameters with their values.

    >>> settings({"width": 0.9, "gain": 0.0})
    'width 0.9, gain 0'
    """
    return ", ".join(f"{name} {number(value)}" for name, value in content.items())
