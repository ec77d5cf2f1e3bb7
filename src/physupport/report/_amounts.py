"""Amounts of elements: the facts in a document, and what is said of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any, final

import numpy as np

from .._checks import check_positive
from .._codec import bound_json, described
from .._errors import Clause, MisuseError
from .._typing import BoolArray, IntArray
from ..banks import JOINT, UNLISTED, Bank
from ..judges import Amounts, Interval, Judge
from ..laws import Law, tells_strengths
from ._words import Entry, above, below, plain

# More explanations that are possible are not looked through for their elements.
_MOST_POSSIBLE = 1 << 20
_MOST_TOLD = 6
_MOST_FACTOR = 100.0

_UNITS = {"counts": "net counts", "coefficients": "", "strengths": ""}
_OPENINGS = {"counts": "Net counts", "coefficients": "Amounts", "strengths": "Strengths, of those listed"}
_REASONS = {
    "judge": "this judge gives none",
    "share": "no share of the level was set aside for them; judge_options = { amounts = 0.2 } does",
    "many": "too many explanations are left",
    "columns": "there are too many columns",
    "streams": "several streams are judged together",
    "rows": "every row has coefficients of its own",
    "complex": "the rows are complex",
    "noise": "the noise is not white",
    "error": "the responses are known up to an angle",
    "mix": "an element is a mix of several responses",
    "recorded": "the responses were counted themselves",
    "cover": "elements stand for whole cells",
    "withheld": "no label is given",
}


@final
@dataclass(frozen=True, slots=True)
class Amount:
    """The range of the amount of an element: simultaneously true with all labels and amounts of the report.

    low, high: of all that is possible; 0 is among it where an explanation without the element is.
    least, most: if the element is there.  Both are None if no single amount agrees with all parts of the data.
    """

    element: str
    field: str
    low: float
    high: float
    least: float | None
    most: float | None
    is_certain: bool  # every explanation that is possible has it
    unit: str

    @property
    def words(self) -> str:
        """The range, rounded outwards, with its unit."""
        return f"{_range(self.low, self.high, self.is_certain)} {self.unit}".rstrip()


def amounts_json(
    judge: Judge,
    bank: Bank | None,
    laws: Sequence[Law],
    possible: BoolArray,
    *,
    is_withheld: bool,
    is_cover: bool,
) -> dict[str, Any] | None:
    """The amounts of all elements that are possible; None without a library, and where nothing is possible.

    possible: (M,) flags.  Explanations that were not tested are taken as kept: their amounts are possible, too.
    """
    library = None if bank is None else bank.states.library
    if bank is None or library is None or not possible.any():
        return None
    reason = "withheld" if is_withheld else "cover" if is_cover else ""
    left = np.flatnonzero(possible)
    if not reason and len(left) > _MOST_POSSIBLE:
        reason = "many"
    if reason:
        return described("document", {"kind": "", "reason": reason, "elements": []})
    has_strengths = tells_strengths(laws)
    if has_strengths and all(len({*levels[levels > 0.0].tolist()}) < 2 for levels in bank.strengths.T):
        return None  # one strength of each is no news
    found = _strengths(bank, left) if has_strengths else judge.amounts(left)
    if found.reason:
        return described("document", {"kind": "", "reason": found.reason, "elements": []})
    counts = np.bincount(_elements(bank, left), minlength=len(library.ids))
    entries = []
    for number in np.flatnonzero(counts).tolist():
        name = library.ids[number]
        if library.regions[number] == UNLISTED:
            continue
        interval = found.intervals.get(name)
        ends = [None, None] if interval is None else [*map(bound_json, interval)]
        is_certain = bool(counts[number] == len(left))
        entries.append({"element": name, "field": library.regions[number], "ends": ends, "is_certain": is_certain})
    return described("document", {"kind": found.kind, "reason": "", "elements": entries})


def _elements(bank: Bank, explanations: IntArray) -> IntArray:
    """The numbers of the elements of explanations, each as often as an explanation has it."""
    keys, repeats = np.unique(bank.deployment_keys(explanations), return_counts=True)
    columns = bank.deployment_parts(keys).elements
    numbers = np.where(columns >= 0, bank.states.library_index[columns], -1)
    return np.asarray(np.repeat(numbers, repeats, axis=0)[np.repeat(numbers, repeats, axis=0) >= 0])


def _strengths(bank: Bank, kept: IntArray) -> Amounts:
    """The smallest and the largest strength of each element among explanations that state it."""
    parts = bank.deployment_parts(np.unique(bank.deployment_keys(kept)))
    assert bank.states.library is not None
    found: dict[str, tuple[float, float] | None] = {}
    numbers = bank.states.library_index[parts.elements]
    for number in np.unique(numbers[parts.elements >= 0]).tolist():
        strengths = parts.strengths[(numbers == number) & (parts.elements >= 0)]
        if number >= 0:
            found[bank.states.library.ids[number]] = float(strengths.min()), float(strengths.max())
    return Amounts("strengths", "", found)


def amounts_of(document: Entry, per: Mapping[str, float] | None = None) -> tuple[Amount, ...]:
    """The amounts of a document; per: net counts, or the coefficient, of one unit of some elements."""
    facts = document.get("amounts") or {"kind": "", "elements": []}
    names = [entry["element"] for entry in facts["elements"]]
    for name, size in (per or {}).items():
        if name not in names:
            raise MisuseError("per", "name elements that have an amount", repr(name), f"These are {names}.")
        check_positive(f"per[{name!r}]", size)
    return tuple(_amount(entry, facts["kind"], per or {}) for entry in facts["elements"])


def _amount(entry: Entry, kind: str, per: Mapping[str, float]) -> Amount:
    name = entry["element"]
    size = per.get(name, 1.0)
    least, most = (None if end is None else float(end) / size for end in entry["ends"])
    interval = None if least is None or most is None else (least, most)
    made = amount_of(name, entry["field"], interval, kind, is_certain=entry["is_certain"])
    return replace(made, unit="") if name in per else made


def amount_of(name: str, field: str, interval: Interval | None, kind: str, *, is_certain: bool) -> Amount:
    """The amount of an element from the interval of all explanations with it; is_certain: no other one is possible."""
    least, most = (None, None) if interval is None else interval
    ends = [end for end in (least, most, None if is_certain else 0.0) if end is not None]
    low, high = (min(ends), max(ends)) if ends else (0.0, inf)
    return Amount(name, field, low, high, least, most, is_certain, _UNITS[kind])


def fractions_of(amounts: Sequence[Amount], among: Sequence[str] | None = None) -> dict[str, tuple[float, float]]:
    """Bounds of the share that each element has in the sum of all, which add up to 1 in some choice within them.

    A share is smallest with the least amount of its element and the most of all others.
    """
    chosen = [amount for amount in amounts if among is None or amount.element in among]
    if any(amount.low < 0.0 for amount in chosen):
        rule = "be of amounts that cannot be negative"
        raise MisuseError("fractions", rule, Clause("some can be"), "Give coefficient = [0, inf] for the regions.")
    found = {}
    for amount in chosen:
        others = [other for other in chosen if other is not amount]
        most = sum(other.high for other in others)
        least = sum(other.low for other in others)
        low = 0.0 if amount.low == 0.0 or not isfinite(most) else amount.low / (amount.low + most)
        high = 1.0 if not isfinite(amount.high) or least == 0.0 else amount.high / (amount.high + least)
        found[amount.element] = (low, high)
    return found


def amounts_sentence(document: Entry) -> str:
    """One sentence with the amounts of all fields; empty without amounts."""
    parts = [*_parts(document)]
    if not parts:
        return ""
    more = f"; and {len(parts) - _MOST_TOLD} more" if len(parts) > _MOST_TOLD else ""
    return f"{_OPENINGS[document['amounts']['kind']]}: {'; '.join(parts[:_MOST_TOLD])}{more}."


def missing_sentence(document: Entry) -> str:
    """State why there are no amounts; empty where there are some, or nothing is possible."""
    reason = (document.get("amounts") or {}).get("reason")
    return f"No amounts are given, because {_REASONS[reason]}." if reason else ""


def field_amount(document: Entry, name: str) -> tuple[float, float, str] | None:
    """The range of the amount of whatever one field has, 0 where it may have nothing, and its unit.

    None if an explanation may have several elements of the field, whose amounts stand apart.
    """
    entry = next((entry for entry in document["fields"] if entry["field"] == name), None)
    own = [amount for amount in amounts_of(document) if amount.field == name]
    if entry is None or not own or any(JOINT in cell for cell in entry["cell"]):
        return None
    if len(own) == 1:
        return own[0].low, own[0].high, own[0].unit
    ends = [end for amount in own for end in (amount.least, amount.most) if end is not None]
    ends += [0.0] if entry["numbers"].get("possible_absent", 1.0) else []
    return (min(ends), max(ends), own[0].unit) if ends else None


def amount_remedy(document: Entry, name: str) -> dict[str, Any] | None:
    """Compute how many times the data would show an element that may be missing; None if the amounts do not tell.

    The half width of a range falls about as the root of the data; it must fall below the amount in its middle.  This is
    a forecast for an amount like that, without a guarantee.
    """
    own = [amount for amount in amounts_of(document) if amount.field == name]
    if len(own) != 1 or own[0].is_certain or own[0].least is None or own[0].most is None:
        return None
    (amount,) = own
    assert amount.least is not None
    assert amount.most is not None
    middle = 0.5 * (amount.least + amount.most)
    # A range that ends at 0, which bounds the coefficient, may have been cut: its upper end bounds the half width.
    half = amount.most if amount.least == 0.0 else 0.5 * (amount.most - amount.least)
    if not isfinite(half) or middle <= 0.0:
        return None
    times = max((half / middle) ** 2, 1.0)
    if times > _MOST_FACTOR:
        return None
    data = "counts" if document["amounts"]["kind"] == "counts" else "rows"
    return {"element": amount.element, "amount": middle, "unit": amount.unit, "times": times, "data": data}


def _parts(document: Entry) -> Iterator[str]:
    """The ranges that the sentence tells, field by field; of several elements at once each has its own."""
    every = amounts_of(document)
    for entry in document["fields"]:
        own = [amount for amount in every if amount.field == entry["field"]]
        whole = field_amount(document, entry["field"])
        if whole is not None:
            name = own[0].element if len(own) == 1 else entry["field"]
            which = "" if len(own) == 1 else ", whichever it is"
            is_there = own[0].is_certain if len(own) == 1 else not entry["numbers"].get("possible_absent", 1.0)
            yield f"{_before(name)} {_range(*whole[:2], is_there)}{which}"
        else:
            yield from (f"{_before(each.element)} {_range(each.low, each.high, each.is_certain)}" for each in own)


def _before(name: str) -> str:
    """A name before a number, with a colon where it ends in a number."""
    return f"{plain(name)}:" if name[-1:].isdigit() else plain(name)


def _range(low: float, high: float, is_there: bool) -> str:
    """Two ends in words, rounded outwards to three digits; is_there: an amount of 0 is excluded."""
    least, most = (f"{float(end):.10g}" for end in (below(low, 3), above(high, 3)))
    if not isfinite(high):
        return f"at least {least}" if isfinite(low) and low != 0.0 else "any"
    if not isfinite(low):
        return f"at most {most}"
    if low >= 0.0 and least == "0" and most != "0":
        return f"{'up to' if is_there else 'at most'} {most}"
    return least if least == most else f"{least} to {most}"
