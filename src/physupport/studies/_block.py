"""The block that the mechanism study and the global one turn."""

from typing import Final

import numpy as np

from ..local.rates import balanced_dictionary
from ..local.shell import Frame, LocalDictionary

ACTIVE: Final = (0, 1)

# The first two vertices have their sum on the first axis, about which the block turns.
FRAME: Final = Frame.standard(4, np.array([[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]) / np.sqrt(3.0))


def balanced(scale: float) -> LocalDictionary:
    """The block at angle 0 and its separated atom; atoms (4, 5)."""
    return balanced_dictionary(FRAME, scale)
