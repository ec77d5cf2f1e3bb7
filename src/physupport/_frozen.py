"""What a protocol is frozen with must not change under it: arrays are copied, and the copies are read-only."""

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

T = TypeVar("T", bound=np.generic)


def read_only(array: NDArray[T]) -> NDArray[T]:
    """A copy that nobody can write to."""
    copied = np.array(array)
    copied.flags.writeable = False
    return copied


def read_only_of(value: ArrayLike) -> NDArray[np.generic]:
    """The same of anything that can become an array; what its entries may be is checked where they are used."""
    return read_only(np.asarray(value))
