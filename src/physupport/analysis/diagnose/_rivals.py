"""Which explanations keep a field from being finer."""

import numpy as np

from ..._typing import BoolArray, IntArray
from ...questions import Sides
from ._asked import Asked


def sides(asked: Asked, field: int) -> Sides | None:
    """Those of a field as the reference sees it; None for a question that does not tell."""
    return asked.predicates.sides(field, asked.reference)


def contradicts(asked: Asked, field: int, index: IntArray) -> BoolArray:
    """(k,) whether explanations say of a field what cannot stand beside the reference in its finest statement."""
    known = sides(asked, field)
    return np.zeros(len(index), dtype=np.bool_) if known is None or not index.size else known.contradict(index)


def rivals(asked: Asked, field: int) -> IntArray:
    """The admissible explanations that contradict the reference on a field, or, beside it, each other."""
    known, admissible = sides(asked, field), asked.admissible
    if known is None or not admissible.size:
        return admissible[:0]
    theirs = known.of(admissible)
    distinct = np.unique(theirs)
    beside = distinct[~known.apart[known.reference][distinct]]
    split = beside[known.apart[np.ix_(beside, beside)].any(axis=1)]
    is_rival: BoolArray = known.apart[known.reference][theirs] | np.isin(theirs, split)
    return admissible[is_rival]
