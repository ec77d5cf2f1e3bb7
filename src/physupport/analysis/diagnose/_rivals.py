"""Which explanations keep a field from being finer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from ..._typing import BoolArray, IntArray
from ...questions import AskedRegion, RegionalMap, Resolution
from ._asked import Asked


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """What can be said of a field as numbers, and which of these cannot stand in one finest statement.

    The statement is the one that the reference would have alone.  If it has something in the region, FINE: elements
    are apart if they lie farther from each other than the tolerance, and each of them from nothing.  If it has nothing,
    or, where absence under a threshold is asked for, nothing as strong as the threshold, ABSENT: what is apart is
    something there, or something as strong.  Of a resolution: places farther apart than a fine diameter.
    """

    reference: int
    apart: BoolArray  # (s, s), symmetric
    of: Callable[[IntArray], IntArray]  # explanations -> sides


def sides(asked: Asked, field: int) -> Sides | None:
    """Those of a field; None for a question of one's own, of which nothing is known."""
    question = asked.question
    if isinstance(question, RegionalMap):
        return _region_sides(asked, question, field)
    if isinstance(question, Resolution):
        apart = question.distances > question.delta_fine
        return Sides(int(question.places[asked.reference]), apart, lambda index: question.places[index])
    return None


def contradicts(asked: Asked, field: int, index: IntArray) -> BoolArray:
    """(k,) whether explanations say of a field what cannot stand beside the reference in its finest statement."""
    found = sides(asked, field)
    if found is None or not index.size:
        return np.zeros(len(index), dtype=np.bool_)
    return np.asarray(found.apart[found.reference][found.of(index)])


def rivals(asked: Asked, field: int) -> IntArray:
    """The admissible explanations that contradict the reference on a field, or, beside it, each other."""
    found, admissible = sides(asked, field), asked.admissible
    if found is None or not admissible.size:
        return admissible[:0]
    theirs = found.of(admissible)
    distinct = np.unique(theirs)
    beside = distinct[~found.apart[found.reference][distinct]]
    split = beside[found.apart[np.ix_(beside, beside)].any(axis=1)]
    is_rival: BoolArray = found.apart[found.reference][theirs] | np.isin(theirs, split)
    return admissible[is_rival]


def _region_sides(asked: Asked, question: RegionalMap, field: int) -> Sides:
    region, first = question.asked[field], np.array([asked.reference])
    reaches = _reaching(question, region)
    if reaches is not None and not reaches(first)[0]:
        return Sides(0, ~np.eye(2, dtype=np.bool_), reaches)
    # Absence is -1, the last entry.
    apart = np.pad(region.distances > region.tolerance, (0, 1), constant_values=True)
    apart[-1, -1] = False
    return Sides(int(question.slots(first)[0, field]), apart, lambda index: question.slots(index)[:, field])


def _reaching(question: RegionalMap, region: AskedRegion) -> Callable[[IntArray], IntArray] | None:
    """Explanations -> 1 if the region is as strong as the threshold, else 0; None where that is not asked for."""
    threshold, column = region.threshold, question.view.regions.index(region.name)
    if threshold is None or "absence" not in region.asks:
        return None
    return lambda index: np.asarray(question.view.strengths(index)[:, column] >= threshold, dtype=np.int64)
