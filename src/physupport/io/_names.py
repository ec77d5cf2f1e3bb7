"""Names and units along an axis: brought into the order that is wanted, or refused with what is missing."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias
from unicodedata import category, name as character_name, normalize

import numpy as np

from .._errors import Clause, MisuseError
from .._typing import Array, IntArray

_PREFIXES: Final = {
    "": 1.0, "f": 1e-15, "p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3, "c": 1e-2, "k": 1e3, "M": 1e6, "G": 1e9,
}  # fmt: skip
_BASES: Final = ("eV", "V", "T", "T/m", "m", "Hz", "s", "A")
_ALIASES: Final = {
    "nanometer": "nm", "nanometre": "nm", "micrometer": "um", "micrometre": "um", "micron": "um", "millimeter": "mm",
    "millimetre": "mm", "centimeter": "cm", "centimetre": "cm", "meter": "m", "metre": "m", "volt": "V",
    "millivolt": "mV", "microvolt": "uV", "tesla": "T", "wavenumber": "cm-1", "1/cm": "cm-1", "cm^-1": "cm-1",
    "cm**-1": "cm-1", "second": "s", "millisecond": "ms",
}  # fmt: skip
_ANGSTROMS: Final = ("angstrom", "\u00e5")
_SQUARE: Final = re.compile(r"(.*\S)\s*(?:\*\*2|\^2|(?<=[A-Za-z])2)")


def measure(unit: str) -> tuple[str, float]:
    """The base of a unit and the factor to it; an unknown unit is its own base.

    >>> measure("mV"), measure("Micrometers"), measure("furlong")
    (('V', 0.001), ('m', 1e-06), ('furlong', 1.0))
    """
    text = normalize("NFKC", unit).strip().replace("\u03bc", "u").replace("\u2212", "-")
    word = text.lower().removesuffix("s") if len(text) > 2 else text
    if word.lower() in _ANGSTROMS:
        return "m", 1e-10
    text = _ALIASES.get(word, text)
    for prefix, factor in _PREFIXES.items():
        if text.startswith(prefix) and text[len(prefix) :] in _BASES:
            return text[len(prefix) :], factor
    return text, 1.0


def is_unit(text: str) -> bool:
    """True for a unit that is known here."""
    return measure(text)[0] in (*_BASES, "cm-1")


def same_unit(one: str, other: str) -> bool:
    """True unless both are given and differ."""
    return not one or not other or measure(one) == measure(other)


def root_unit(unit: str) -> str:
    """The unit of a deviation whose square this is, such as V of V^2; other units as they are."""
    found = _SQUARE.fullmatch(normalize("NFKC", unit).strip())
    return unit if found is None else found[1]


_MOST_TOLD: Final = 5  # names in a message
# Places that are this near to each other, in steps of their axis, are those of one channel: they may be rounded.
_NEAR: Final = 0.1
_PLACE: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\d\s+.-].*)?")

# Greek and Cyrillic letters, dashes and quotes that print as the ASCII characters below them.
_LOOK_ALIKE: Final = str.maketrans(
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοАВЕЅІЈКМНОРСТУХаеіјорсухѕ‐‑‒–—−’′",
    "ABEZHIKMNOPTYXoABESIJKMHOPCTYXaeijopcyxs------''",
)


class Axis(NamedTuple):
    """The kind of entries along an axis, and their names in the order that is wanted."""

    what: str  # such as "channels"
    names: Sequence[str] | None = None  # None where nobody names them
    source: str = ""  # who names them so, for messages


def composed(name: str) -> str:
    """A name as it is compared: characters composed, blanks around it dropped and others single."""
    return " ".join(normalize("NFC", name).split())


def looks(name: str) -> str:
    """A text that names share which look the same in print."""
    seen = (each for each in normalize("NFKC", name) if category(each) != "Cf")
    return " ".join("".join(seen).translate(_LOOK_ALIKE).split())


def check_apart(name: str, names: Sequence[str]) -> None:
    """Refuse two names that are equal, or that nobody could tell apart in print."""
    seen: dict[str, str] = {}
    for each in names:
        other = seen.setdefault(looks(each), each)
        if other is not each and other != each:
            told = f"{other!r} and {each!r}, which differ in {_difference(other, each)}"
            raise MisuseError(name, "have names that look different", told)


def _difference(one: str, other: str) -> str:
    """The characters that two texts of the same look do not share, by their names."""
    own = [each for each in (*one, *other) if each not in one or each not in other]
    return ", ".join(character_name(each, ascii(each)) for each in dict.fromkeys(own)) or "blanks or their order"


def place_of(name: str) -> tuple[float, str] | None:
    """The number that a name is, and its unit; None of other names.

    >>> place_of("400.5 nm"), place_of("7"), place_of("calcite")
    ((400.5, 'nm'), (7.0, ''), None)
    """
    found = _PLACE.fullmatch(name.strip())
    return None if found is None else (float(found[1]), (found[2] or "").strip())


def is_numbering(names: Sequence[str]) -> bool:
    """True for names that only count, from 0 or from 1 on."""
    return any([*names] == [str(first + i) for i in range(len(names))] for first in (0, 1))


def order_of(name: str, axis: Axis, given: Sequence[str] | None) -> IntArray | None:
    """(n,) where each wanted entry of an axis stands among the given ones; None where they are not named.

    Names match by what they say, places such as `400 nm` by their numbers, in whatever unit; names that only count say
    nothing.  Anything else is refused, with what is missing and what is unknown.
    """
    if given is None or axis.names is None:
        return None
    found = [*map(composed, given)]
    wanted = [*map(composed, axis.names)]
    if len({*found}) < len(found):
        twice = next(each for i, each in enumerate(found) if each in found[:i])
        raise MisuseError(name, f"have {axis.what} of distinct names", Clause(f"{twice!r} appears more than once"))
    if {*found} == {*wanted}:
        where = {each: i for i, each in enumerate(found)}
        return np.array([where[each] for each in wanted], dtype=np.int64)
    if len(found) == len(wanted) and is_numbering(found):
        return None
    places = _places(found)
    others = _places(wanted)
    if places is not None and others is not None and len(found) == len(wanted):
        return _order_of_places(name, axis, places, others)
    raise _unmatched(name, axis, found, wanted)


def matches(axis: Axis, given: Sequence[str] | None) -> bool:
    """True if these names are those of the axis, in whatever order."""
    try:
        return order_of("", axis, given) is not None
    except MisuseError:
        return False


Places: TypeAlias = tuple[Array, str]  # numbers and their unit


def _places(names: Sequence[str]) -> Places | None:
    """Numbers of one unit; None of other names."""
    read = [place for place in map(place_of, names) if place is not None]
    units = {unit for _, unit in read}
    if len(units) != 1 or len(read) < len(names):
        return None
    return np.array([number for number, _ in read]), units.pop()


def _order_of_places(name: str, axis: Axis, given: Places, wanted: Places) -> IntArray:
    """(n,) by the numbers, after conversion where both have a unit."""
    numbers, unit = given
    others, other_unit = wanted
    ratio = 1.0
    if unit and other_unit:
        base, factor = measure(unit)
        other, scale = measure(other_unit)
        if base != other:
            raise MisuseError(name, f"have its {axis.what} in the unit {other_unit}, as in {axis.source}", unit)
        ratio = factor / scale
    mine = np.argsort(ratio * numbers)
    theirs = np.argsort(others)
    apart = np.abs(ratio * numbers[mine] - others[theirs])
    step = np.diff(others[theirs]).min(initial=np.inf)
    near = _NEAR * step if np.isfinite(step) else _NEAR * abs(others[0])
    if apart.max() > near:
        worst = int(np.argmax(apart > near))
        told = f"{numbers[mine[worst]]:.7g} {unit}".rstrip()
        place = f"{others[theirs[worst]]:.7g} {other_unit}".rstrip()
        remedy = "" if unit and other_unit else "Give the units of both if they are not the same."
        raise MisuseError(name, f"have one of its {axis.what} at {place}, as in {axis.source}", told, remedy)
    order = np.empty(len(mine), dtype=np.int64)
    order[theirs] = mine
    return order


def _unmatched(name: str, axis: Axis, found: Sequence[str], wanted: Sequence[str]) -> MisuseError:
    """The refusal that names what is missing and what is unknown."""
    here = {*found}
    there = {*wanted}
    missing = [each for each in wanted if each not in here]
    unknown = [each for each in found if each not in there]
    parts = [f"{word} {_few(names)}" for word, names in (("no", missing), ("the unknown", unknown)) if names]
    alike = {looks(each): each for each in missing}
    twins = [(alike[looks(each)], each) for each in unknown if looks(each) in alike]
    remedy = f"{twins[0][0]!r} and {twins[0][1]!r} differ in {_difference(*twins[0])}." if twins else ""
    rule = f"name its {axis.what} as {axis.source} does"
    return MisuseError(name, rule, " and ".join(parts), remedy)


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_TOLD} more" if len(names) > _MOST_TOLD else ""
    return ", ".join(map(repr, names[:_MOST_TOLD])) + more
