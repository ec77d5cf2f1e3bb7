"""Two answers beside each other: every difference with the field that has it."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

DIGITS = 9  # that numbers agree in
_ABSOLUTE = 1e-14  # what is no more than rounding agrees with 0
# Bounds of one number that are as close as this only have to overlap: another way to add up may move both.
_NARROW = 1e-6

# With other draws a verdict may differ whose p-value is within a factor of e^1.5 of the threshold, or the evidence of
# random splits, of which there may be one, within e^4; or whose bounds, which say how far draws were counted, reach as
# near as half their width.  Of a map so many signals may differ; those of splits are not compared.
_NEAR = 1.5
_NEAR_OF_SPLITS = 4.0
_SHARE = 0.5
_SIGNALS = 0.35
_SPLITS = ("evidence of splits", "counts")
# What a searched optimum agrees in where the last bits of sums are others.
_SEARCHED_DIGITS = 6


def rounded(value):
    """Numbers as they are stored: two digits more than are compared."""
    match value:
        case float() if isfinite(value):
            short = float(f"{value:.{DIGITS + 2}g}")
            return int(short) if short.is_integer() and abs(short) < 1e15 else short
        case float():
            return repr(value)
        case dict():
            return {key: rounded(each) for key, each in value.items()}
        case list() | tuple():
            return [rounded(each) for each in value]
        case _:
            return value


def differences(stored: dict, found: dict, *, is_loose: bool = False) -> Iterator[str]:
    """Lines that name a field, what was stored and what was found; none if the answers agree.

    is_loose: draws may be others, and so may the last bits of sums, as on another processor: the order of the queries
    is not compared, and a verdict that rests on draws only where it is far from its threshold.
    """
    found = rounded(found)
    if is_loose and {"asked"} <= {*stored} & {*found}:
        yield from _loose_report(stored, found)
    elif is_loose and {"kept"} <= {*stored} & {*found}:
        yield from _loose_map(stored, found)
    else:
        yield from _Numbers(_SEARCHED_DIGITS if is_loose else DIGITS).report(stored, found)


@dataclass(frozen=True)
class _Numbers:
    """Values compared, numbers to so many digits."""

    digits: int

    def report(self, stored, found):
        for key in sorted({*stored, *found} - {"is_drawn"}):
            if key == "margins" and key in stored and key in found:
                yield from self.margins(stored, found)
            else:
                yield from self.unequal(key, stored.get(key), found.get(key))

    def unequal(self, path, stored, found):
        match stored, found:
            case dict(), dict():
                for key in sorted({*stored, *found}):
                    yield from self.unequal(f"{path}.{key}", stored.get(key), found.get(key))
            case list(), list() if len(stored) == len(found):
                for i, (one, other) in enumerate(zip(stored, found, strict=True)):
                    yield from self.unequal(f"{path}[{i}]", one, other)
            case _ if not self.agree(stored, found):
                yield f"{path}: {_shown(stored)} was stored, {_shown(found)} is found"

    def agree(self, one, other):
        if not _is_number(one) or not _is_number(other):
            return type(one) is type(other) and one == other
        return abs(one - other) <= 10.0**-self.digits * max(abs(one), abs(other)) + _ABSOLUTE

    def margins(self, stored, found):
        """Both ends agree, or two narrow pairs of bounds overlap; who is not tested is named by `asked`."""
        theirs = dict(zip(found["asked"], found["margins"], strict=True))
        for explanation, margin in zip(stored["asked"], stored["margins"], strict=True):
            other = theirs.get(explanation, margin)
            if not all(map(self.agree, margin, other)) and not _overlap(margin, other):
                yield f"margins of explanation {explanation}: {margin} was stored, {other} is found"


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value):
    text = repr(value)
    return text if len(text) < 120 else f"{text[:100]}... ({len(text)} characters)"


def _overlap(one, other):
    ends = [*one, *other]
    if not all(map(_is_number, ends)):
        return False
    widest = _NARROW * (1.0 + max(map(abs, ends)))
    return max(one[1] - one[0], other[1] - other[0]) <= widest and max(one[0], other[0]) <= min(one[1], other[1])


# -------------------------------------------------------------------------------- other draws, or the last bits of sums


def _loose_report(stored, found):
    numbers = _Numbers(_SEARCHED_DIGITS)
    for key in ("judge", "level", "regions"):
        yield from numbers.unequal(key, stored[key], found[key])
    theirs = dict(zip(found["asked"], zip(found["codes"], found["margins"], strict=True), strict=True))
    near = _NEAR_OF_SPLITS if stored["judge"] in _SPLITS else _NEAR
    is_same = True
    for explanation, code, margin in zip(stored["asked"], stored["codes"], stored["margins"], strict=True):
        other_code, other = theirs.get(explanation, ("", margin))
        is_same &= code == other_code
        is_drawn = stored["is_drawn"] and (_is_near(margin, near) or _is_near(other, near))
        if other_code and code != other_code and not is_drawn:
            yield f"codes of explanation {explanation}: {code} {margin} was stored, {other_code} {other} is found"
    if not stored["is_drawn"]:
        yield from numbers.margins(stored, found)
    if is_same and stored["gate"].get("is_withheld") == found["gate"].get("is_withheld"):
        for field, said in stored["fields"].items():
            for key in ("label", "cell", "group", "not_asked", "extent", "box"):
                yield from numbers.unequal(f"fields.{field}.{key}", said[key], found["fields"].get(field, {}).get(key))


def _is_near(margin, near):
    """True if other draws could have given the margin the other sign."""
    if not all(map(_is_number, margin)):
        return False
    nearest = min(map(abs, margin))
    return nearest <= max(near, _SHARE * (margin[1] - margin[0]))


def _loose_map(stored, found):
    numbers = _Numbers(_SEARCHED_DIGITS)
    for key in () if stored["judge"] in (*_SPLITS, "evidence by fission") else ("label", "kept"):
        if len(stored[key]) != len(found[key]):
            yield from numbers.unequal(key, stored[key], found[key])
            continue
        others = sum(one != two for one, two in zip(stored[key], found[key], strict=True))
        if others > (max(1, _SIGNALS * len(stored[key])) if stored["is_drawn"] else 0):
            yield f"{key}: {others} of {len(stored[key])} signals have another one"
