r"""Amounts that are not rejected: intervals of the coefficients of explanations, at the level of the labels.

An explanation whose amount of an element is held at v is an explanation like any other.  Evidence against it has the
same numerator, so that the truth, with its own amounts, is rejected with probability at most the level.  The values of
v that are not rejected contain the true amount whenever the truth is kept: intervals of all elements are simultaneously
true with all labels, at no cost.  The logarithm of the largest likelihood is concave in v, so evidence is convex in v
along every part of the rows, and so are a mean and a maximum of parts: the values that are left form an interval.  Any
convex lower bound of the evidence leaves a larger interval.

Judges without a common numerator invert a test of the coefficients at a share of the level instead.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, final

import numpy as np

from .._typing import Array, IntArray
from ..banks import UNLISTED
from ..laws import Design

# Intervals that are computed for one report; each costs about a millisecond, or fifty of counts.
MOST_INTERVALS = 2000
# Ends are found to within this share of the interval, and always taken outwards.
_NEAR = 1e-4
_DOUBLINGS = 200
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
_SEARCHES = 60
_SECTIONS = 300  # after so many triplings an interval shrinks to the rounding of its ends
# Of a log of evidence: far more than the rounding of the sums here.
_SUM_ERROR = 1e-9

Interval = tuple[float, float]


@final
@dataclass(frozen=True, slots=True)
class Amounts:
    """The intervals of a judge, or why it has none.

    kind: "counts", "coefficients" or "strengths".  reason: empty, or a code that `report` turns into words.
    intervals: of each element, the smallest and the largest amount that any explanation with it allows; None where
    every amount is rejected.
    """

    kind: str = ""
    reason: str = ""
    intervals: Mapping[str, Interval | None] = field(default_factory=dict)


class Asked(NamedTuple):
    """An explanation with the columns of each element, as `gathered` asks about it."""

    key: int
    columns: Mapping[str, tuple[int, ...]]
    beside: float  # log evidence of other streams against it
    whole: frozenset[int] = frozenset()  # all its columns, those of something unlisted included


def sublevel(
    value: Callable[[float], float], most: float, middle: float, scale: float, least: float
) -> Interval | None:
    """The interval from `least` on where a convex function is at most `most`, ends taken outwards; None if it is empty.

    middle, scale: where to look first, and how far from there.  Where the search ends at a value that is no number, it
    proves nothing, and the interval has no ends.
    """
    inside = max(middle, least)
    if not value(inside) <= most:
        inside = _minimum(value, inside, scale, least)
        found = value(inside)
        if not found < np.inf:
            return least, np.inf
        if found > most:
            return None
    low = least if least > -np.inf and value(least) <= most else _end(value, most, inside, -scale, least)
    return low, _end(value, most, inside, scale, np.inf)


def _minimum(value: Callable[[float], float], start: float, scale: float, least: float) -> float:
    """Find the approximate minimum of a convex function by golden sections around the start."""
    low = max(start - scale, least)
    high = start + scale
    for _ in range(_SEARCHES):
        if value(low) > value(low + 0.1 * (high - low)) or low <= least:
            break
        low = max(low - 2.0 * (high - low), least)
    for _ in range(_SEARCHES):
        if value(high) > value(high - 0.1 * (high - low)):
            break
        high += 2.0 * (high - low)
    for _ in range(_SECTIONS):
        left = high - _GOLDEN * (high - low)
        right = low + _GOLDEN * (high - low)
        if not low < left < right < high:  # as near as numbers allow
            break
        if value(left) <= value(right):
            high = right
        else:
            low = left
    return 0.5 * (low + high)


def _end(value: Callable[[float], float], most: float, inside: float, step: float, limit: float) -> float:
    """The first value beyond the end of the interval, in the direction of the step; infinite if there is no end."""
    outside = inside
    for _ in range(_DOUBLINGS):
        outside += step
        if step < 0.0 and outside <= limit:
            outside = limit
            break
        if value(outside) > most:
            break
        inside = outside
        step *= 2.0
    else:
        return float(np.copysign(np.inf, step))
    width = abs(outside - inside)
    while abs(outside - inside) > _NEAR * width:
        middle = 0.5 * (inside + outside)
        if middle in (inside, outside):  # as near as numbers allow
            break
        if value(middle) > most:
            outside = middle
        else:
            inside = middle
    return outside


def log_average(logs: Array, *, is_mean: bool) -> float:
    """A number at or below the log of the mean of parts, or of the largest, from bounds (P,) below their logs."""
    if not is_mean:
        return float(logs.max())
    total = float(np.logaddexp.reduce(logs)) - float(np.log(len(logs)))
    return total - _SUM_ERROR * (1.0 + abs(total)) if np.isfinite(total) else total


def gathered(
    kind: str,
    asked: Iterable[Asked],
    interval: Callable[[int, tuple[int, ...], float], Interval | None],
    *,
    nests: bool,
) -> Amounts:
    """The union of the intervals over explanations, element by element.

    interval: of one key and the columns of one element, with the log evidence of other streams.
    nests: True if an explanation within another one has no less evidence against it, at every amount: those within
    another one are left out then, as its intervals hold theirs.
    """
    distinct: dict[int, Asked] = {}
    for each in asked:
        if each.key not in distinct or each.beside < distinct[each.key].beside:
            distinct[each.key] = each
    kept = [*distinct.values()]
    if nests and len(kept) <= MOST_INTERVALS:
        kept = [
            each for each in kept if not any(each.whole < other.whole and other.beside <= each.beside for other in kept)
        ]
    if sum(len(each.columns) for each in kept) > MOST_INTERVALS:
        return Amounts(kind, "many")
    found: dict[str, Interval | None] = {}
    for each in kept:
        for name, columns in each.columns.items():
            found[name] = union(found.get(name), interval(each.key, columns, each.beside))
    return Amounts(kind, "", found)


def union(one: Interval | None, other: Interval | None) -> Interval | None:
    """The smallest interval that holds both, of which None is empty."""
    if one is None or other is None:
        return other if one is None else one
    return min(one[0], other[0]), max(one[1], other[1])


def columns_by_name(active: Sequence[int], names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The columns of each element among the active ones."""
    found: dict[str, tuple[int, ...]] = {}
    for column in active:
        found[names[column]] = (*found.get(names[column], ()), column)
    return found


def active_of(supports: IntArray, row: int) -> list[int]:
    """The columns of a row of supports, which -1 fills up."""
    return [int(column) for column in supports[row] if column >= 0]


def amounts_reason(design: Design, names: Sequence[str]) -> str:
    """The code of the reason why coefficients of a design are no amounts; empty if they are amounts.

    names: of the columns of one explanation.
    """
    if design.rows != "same mean":
        return "rows"
    if np.iscomplexobj(design.columns):
        return "complex"
    if design.noise_shape is not None or design.bands > 1:
        return "noise"
    if design.radii is not None and design.radii.any():
        return "error"
    return "mix" if design.cells is None and len({*names}) < len(names) else ""


def listed_columns(design: Design, active: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """The column of each listed element: derivatives along its parameters are none."""
    owned = [] if design.cells is None else [column for column in active if np.isfinite(design.cells[1][column])]
    found = columns_by_name([column for column in active if column not in owned], design.names)
    return {name: columns for name, columns in found.items() if name != UNLISTED}
