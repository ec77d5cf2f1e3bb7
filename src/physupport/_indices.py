"""Arrays of whole numbers, checked at the door."""

import numpy as np
from numpy.typing import ArrayLike

from ._errors import MisuseError
from ._typing import IntArray


def check_whole(name: str, value: ArrayLike, ndim: int = 1) -> IntArray:
    """An int64 array of the given number of axes; floats and booleans are refused, not rounded."""
    array = np.asarray(value)
    if array.size and array.dtype.kind not in "iu":
        raise MisuseError(name, "be whole numbers", f"values of type {array.dtype}")
    if array.ndim != ndim:
        raise MisuseError(name, f"have {ndim} axes", f"shape {array.shape}")
    return array.astype(np.int64)


def check_range(name: str, value: ArrayLike, size: int) -> IntArray:
    """An array (k,) of numbers from 0 to size - 1."""
    array = check_whole(name, value)
    outside = (array < 0) | (array >= size)
    if outside.any():
        where = int(np.argmax(outside))
        raise MisuseError(name, f"lie between 0 and {size - 1}", f"{array[where]} at position {where}")
    return array
