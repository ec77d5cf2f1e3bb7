"""Sentences about what would change an answer, with numbers: what to measure, calibrate or state next."""

from collections.abc import Iterator, Mapping
from math import ceil, floor, log10
from typing import Any

from ..banks import JOINT
from ..questions import Label
from ._width import error_size, within
from ._words import Entry, above, listed, number, plain

_MOST_TIMES = 1000.0
_MOST_EACH = 3  # of a field
_MOST_TOLD = 9  # in all
_OPEN = (Label.GROUP, Label.SUPPORT_AMBIGUOUS, Label.LOCAL_AMBIGUOUS, Label.AMBIGUOUS)
_ONE_SIDED = 0.7  # of deviations, the share of their sum that has one sign


def remedy_sentences(details: Mapping[str, Any]) -> list[str]:
    """The two or three changes that would help each answer most, those of the first fields first."""
    fields: list[Entry] = details.get("fields") or []
    said = [*_empty_sentences(details)]
    endless = [field for field in fields if [_is_endless(fact) for fact in field.get("remedies") or ()] == [True]]
    for field in (each for each in fields if each not in endless):
        name = plain(field["field"]) if len(fields) > 1 else ""
        said += [f"{name}: {text}" if name else text for text in field_remedies(field)]
    last = [_endless(endless)] if endless else []
    if unknown := [field["field"] for field in fields if field["label"] in _OPEN and not field.get("remedies")]:
        last.append(
            f"{listed(unknown)}: how much more data would help cannot be forecast here. More rows or less noise make "
            f"answers finer."
        )
    return [*said[: _MOST_TOLD - len(last)], *last]


def _is_endless(fact: Entry) -> bool:
    """True of a pair with nothing there, at an amount that may be as small as one likes."""
    return fact["kind"] == "data" and _is_hopeless(fact) and "nothing" in fact["pair"]


def field_remedies(field: Entry) -> list[str]:
    """The changes that would make one label finer; where nothing is known to help, one sentence that says so."""
    facts = field.get("remedies") or ()
    said = [_WORDS[fact["kind"]](fact) for fact in facts if not _is_hopeless(fact)]
    if not said:
        said = [_hopeless(fact) for fact in facts]
    return said[:_MOST_EACH]


def _is_hopeless(fact: Entry) -> bool:
    """True of a pair that no reasonable amount of data parts."""
    return fact["kind"] == "data" and (fact["times"] is None or fact["times"] > _MOST_TIMES)


def _endless(fields: list[Entry]) -> str:
    """State the effect of more data on amounts that may be arbitrarily small."""
    data = fields[0]["remedies"][0]["data"]
    return (
        f"{listed([field['field'] for field in fields])}: with 4 times the {data}, the most that may be there would be "
        f"about half as much. No number of {data} shows that nothing is there, unless `absence_threshold` states a "
        f"least amount."
    )


def _units(fact: Entry) -> str:
    is_enough = fact["now"] >= fact["needed"]
    more = f"easure at least {fact['needed']} units of each element; the fewest are {fact['now']} now."
    if not fact["is_shared"]:
        rest = "." if is_enough else f", and m{more}"
        return (
            "To tell elements apart that are kept together, spend half of the error probability on that, `[elements] "
            f"replicate_share = 0.5`{rest}"
        )
    if is_enough:
        return "Every element has enough units. Measure channels in which those that are kept differ more."
    return f"M{more}"


def _hopeless(fact: Entry) -> str:
    first, second = _pair(fact)
    many = "More" if fact["times"] is None else f"Even {_MOST_TIMES:g} times the"
    return (
        f"{many} {fact['data']} are not expected to part {first} from {second} at the fitted amounts. Measure channels "
        f"in which they differ more, or calibrate the responses more exactly."
    )


def _pair(fact: Entry) -> tuple[str, str]:
    first, second = (plain(name) for name in fact["pair"])
    return first, second


def _more_data(fact: Entry) -> str:
    first, second = _pair(fact)
    parted = f"part {first} from {second}"
    if "nothing" in (first, second):
        parted = f"exclude {second}" if first == "nothing" else f"show that {first} is there"
    times = f"{float(above(fact['times'], 2)):.10g}"
    where = fact["channels"]
    best = ""
    if where is not None and where["n"] < where["of"]:
        best = f"; half of their difference lies in {_run(where)}"
    return f"About {times} times the {fact['data']} in all would be expected to {parted}{best}."


def _more_of_amount(fact: Entry) -> str:
    size = f"{float(above(fact['amount'], 2)):.10g} {fact['unit']}".rstrip()
    times = f"{float(above(fact['times'] + 0.05, 2)):.10g}"
    what = f"{size} of {plain(fact['element'])}"
    return f"If there is about {what}, about {times} times the {fact['data']} would be expected to show it."


def _parameter(fact: Entry) -> str:
    # Rounded inwards, to a hundredth of the interval: beyond it nothing is known of the label.
    digits = max(2 - floor(log10(fact["within"])), 0)
    scale = 10.0**digits
    low = ceil((fact["value"] - fact["within"]) * scale - 1e-6) / scale
    high = floor((fact["value"] + fact["within"]) * scale + 1e-6) / scale
    name = plain(fact["parameter"])
    return f"If {name} lies between {low:.15g} and {high:.15g}, {_label(fact)}: a calibration of {name} can show that."


def _responses(fact: Entry) -> str:
    return f"If responses are right {within(fact['scale'], fact['error'])}, {_label(fact)}."


def _label(fact: Entry) -> str:
    """The finer answer, within a sentence."""
    names = [name.replace(JOINT, " and ") for name in fact["cell"]]
    if fact["label"] == Label.ABSENT:
        return "nothing is there"
    if not names:
        return f"the answer is {fact['label']}"
    return f"{plain(names[0])} is there" if len(names) == 1 else f"one of {listed(names)} is there"


def _empty_sentences(details: Mapping[str, Any]) -> Iterator[str]:
    for fact in details.get("remedies", ()):
        if fact["kind"] == "error":
            size = error_size(fact["scale"], fact["error"], above)
            how = "" if fact["is_proven"] else ", by a search without a guarantee"
            yield (
                f"Something fits from an error of the responses of {size} on{how}: state it as `error`, or calibrate "
                f"the responses better than that and add what the library lacks."
            )
        else:
            lean = fact["lean"]
            side = " above" if lean > _ONE_SIDED else " below" if lean < -_ONE_SIDED else " off"
            yield (
                f"Half of what the best fit misses is in {_run(fact)}, where the rows lie "
                f"{number(fact['deviations'], 2)} standard deviations{side} it: look there, or leave these channels "
                f"out."
            )


def _run(where: Entry) -> str:
    """A run of channels by name, with how many there are."""
    if where["n"] == 1:
        return f"channel {plain(where['first'])}"
    return f"channels {plain(where['first'])} to {plain(where['last'])} ({where['n']} of {where['of']})"


_WORDS = {
    "data": _more_data,
    "amount": _more_of_amount,
    "parameter": _parameter,
    "responses": _responses,
    "units": _units,
}
