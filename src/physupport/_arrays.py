"""Arrays that nobody can change any more, and arrays of whole numbers, checked at the door."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._errors import MisuseError
from ._typing import IntArray

Entry = TypeVar("Entry", bound=np.generic)


def read_only(value: ArrayLike, dtype: type[np.generic] | None = None) -> NDArray[Any]:
    """A copy that nobody can write to: what a protocol is frozen with must not change under it.

    What the entries may be is checked where they are used.  Axes keep their order in memory unless a type is given.
    """
    copied = np.array(value, dtype=dtype, order="K" if dtype is None else "C")
    copied.flags.writeable = False
    return copied


def read_only_view(array: NDArray[Entry]) -> NDArray[Entry]:
    """The same memory, through which nobody can write: what its owner changes is seen."""
    view = array.view()
    view.flags.writeable = False
    return view


def check_whole(name: str, value: ArrayLike, ndim: int = 1) -> IntArray:
    """An int64 array of the given number of axes; floats and booleans are refused, not rounded."""
    array = np.asarray(value)
    if array.size and array.dtype.kind not in "iu":
        raise MisuseError(name, "be whole numbers", f"values of type {array.dtype}")
    if array.ndim != ndim:
        raise MisuseError(name, f"have {ndim} axes", f"shape {array.shape}")
    return array.astype(np.int64)


def check_indices(name: str, value: ArrayLike, count: int, *, least: int = 0, place: str = "at position") -> IntArray:
    """(k,) whole numbers from least to count - 1; a single number counts as k = 1.

    place: how a message says where a wrong one stands.
    """
    array = np.atleast_1d(np.asarray(value))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise MisuseError(name, "be a list of whole numbers", f"{array.dtype} of shape {array.shape}")
    outside = (array < least) | (array >= count)
    if outside.any():
        where = int(outside.argmax())
        raise MisuseError(name, f"lie from {least} to {count - 1}", f"{array[where]} {place} {where}")
    return array.astype(np.int64, copy=False)


def check_order(name: str, value: ArrayLike, count: int) -> IntArray:
    """(k,) distinct whole numbers from 0 to count - 1."""
    order = check_indices(name, value, count)
    again = np.bincount(order, minlength=1) > 1
    if again.any():
        raise MisuseError(name, "be distinct", f"{int(again.argmax())} more than once")
    return order
