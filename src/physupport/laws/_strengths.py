"""What rows say of strengths that explanations have."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._typing import Array, BoolArray

if TYPE_CHECKING:
    from ._law import Law


class Strength(NamedTuple):
    """Whether rows are as strong as one explanation says: a p-value of all its atoms, and how the worst is off."""

    p: float
    is_weaker: bool = False  # the rows are weaker than the explanation says

    @classmethod
    def of(cls, p_values: Array, is_weaker: BoolArray) -> "Strength":
        """Of atoms (r,): the smallest p-value times their number, at most 1, which is valid whatever they share."""
        if not len(p_values):
            return cls(1.0)
        worst = int(np.argmin(p_values))
        return cls(float(min(1.0, len(p_values) * p_values[worst])), bool(is_weaker[worst]))


# From an explanation to what the rows say of its strengths.
StrengthsSeen = Callable[[int], Strength]


def tells_strengths(laws: "Sequence[Law]") -> bool:
    """Whether rows of one of them are as strong as explanations say."""
    return any(law.part == "deployment" and law.has_strengths for law in laws)
