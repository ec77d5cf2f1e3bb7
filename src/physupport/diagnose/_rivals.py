"""Which explanations keep a field from being finer."""

import numpy as np

from .._typing import BoolArray, IntArray
from ..coarsen import RegionalMap, Resolution
from ._asked import Asked


def contradicts(asked: Asked, field: int, index: IntArray) -> BoolArray:
    """(k,) whether explanations say of a field what cannot stand beside the reference in one FINE statement.

    Of a region: another answer to whether something is there, or an element farther away than the tolerance.  Of a
    resolution: a place farther away than a fine diameter.  Of a question of one's own nothing is known.
    """
    question = asked.question
    if isinstance(question, RegionalMap):
        region = question.asked[field]
        here = int(question.slots([asked.reference])[0, field])
        slots = question.slots(index)[:, field]
        if here < 0:
            return np.asarray(slots >= 0)
        # Absence is -1, the last entry.
        return np.append(region.distances[here] > region.tolerance, True)[slots]
    if isinstance(question, Resolution):
        here = int(question.places[asked.reference])
        return np.asarray(question.distances[here][question.places[index]] > question.delta_fine)
    return np.zeros(len(index), dtype=np.bool_)


def rivals(asked: Asked, field: int) -> IntArray:
    """The admissible explanations that contradict the reference on a field."""
    found = asked.admissible
    return found[contradicts(asked, field, found)] if found.size else found
