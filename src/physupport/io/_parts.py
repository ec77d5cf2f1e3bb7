"""Parts of arrays in files, read by calls that return short where a file became shorter.

Whoever reads a memory map of what is gone is ended by the system, and no check beforehand is in time for certain.  So
maps say where numbers lie in their file, and the numbers that are used are read from there.
"""

import os
from itertools import repeat
from mmap import mmap
from pathlib import Path
from typing import Any, Final, Literal, final
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from .._errors import MisuseError
from .._typing import IntArray

# Bytes of a table of which rows in any order are read at once, and of a gap between rows that is read with them.
MOST_AT_ONCE: Final = 2**26
_GAP: Final = 2**12


@final
class MappedFile(np.memmap[Any, Any]):
    """A memory map that keeps its file open; a copy of it has none."""

    descriptor: int = -1


def map_file(
    path: Path, dtype: np.dtype[Any] | str, offset: int, shape: tuple[int, ...], order: Literal["C", "F"] = "C"
) -> NDArray[Any]:
    """The numbers that begin at this place of a file, not read here."""
    with path.open("rb") as file:
        mapped = MappedFile(file, dtype, "r", offset, shape, order)
        mapped.descriptor = os.dup(file.fileno())
    finalize(mapped, os.close, mapped.descriptor)
    return mapped


def part_of(values: NDArray[Any], where: "slice | tuple[slice, ...] | IntArray" = slice(None)) -> NDArray[Any]:
    """values[where], for slices or for (k,) numbers of rows; of a file that was mapped here, as a copy.

    Refuses a file that has become shorter.
    """
    held = _owner(values)
    if not isinstance(held, MappedFile) or held.descriptor < 0 or not hasattr(os, "pread"):
        return check_uncut(values)[where]  # no map, or one of somebody else's
    if isinstance(where, np.ndarray):
        return _rows(held, values, where) if where.size else np.empty((0, *values.shape[1:]), values.dtype)
    view = values[where]
    return _copied(held, view) if view.size else np.empty(view.shape, view.dtype)


def check_uncut(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Refuse a memory map of a file that became shorter: whoever reads what is gone is ended by the system.

    To be called right before a part of it is read.
    """
    held = _owner(values)
    mapped: object = held.base
    if isinstance(held, np.memmap) and isinstance(mapped, mmap) and mapped.size() < held.offset + held.nbytes:
        raise MisuseError(f"file {held.filename}", "keep its length while it is in use", f"{mapped.size():,} bytes")
    return values


def _owner(values: NDArray[Any]) -> NDArray[Any]:
    """The array that all views lead to."""
    return _owner(values.base) if isinstance(values.base, np.ndarray) else values


def _copied(held: MappedFile, view: NDArray[Any]) -> NDArray[Any]:
    """A view of the map, read in as few pieces as hold little else."""
    low, high, first = _bounds(view)
    if high - low <= 2 * view.nbytes:
        begins = np.arange(low, high, MOST_AT_ONCE)  # the system reads no more than 2 GiB in a call
        data = _read(held, begins, np.minimum(high - begins, MOST_AT_ONCE))
        return np.ndarray(view.shape, view.dtype, data, first - low, view.strides)
    axis = int(np.argmax(np.abs(view.strides) * (np.array(view.shape) > 1)))
    parts = np.split(view, view.shape[axis], axis)
    return np.concatenate([_copied(held, each) for each in parts], axis, dtype=view.dtype)


def _rows(held: MappedFile, view: NDArray[Any], order: IntArray) -> NDArray[Any]:
    """(k, q) rows in any order; those that lie near each other are read in one piece."""
    low, high, first = _bounds(view[:1])
    width = high - low
    if width > 2 * view[0].nbytes:  # channels lie apart
        columns = [_rows(held, view[:, j : j + 1], order) for j in range(view.shape[1])]
        return np.concatenate(columns, axis=1, dtype=view.dtype)
    starts = low + order * view.strides[0]  # (k,) addresses
    sort = np.argsort(starts, kind="stable")
    near = np.diff(starts[sort]) <= max(_GAP, abs(view.strides[0]))
    begins = starts[sort][np.append(True, ~near)]  # of pieces
    sizes = starts[sort][np.append(~near, True)] + width - begins
    data = np.frombuffer(_read(held, begins, sizes), np.uint8)
    piece = np.append(0, np.cumsum(~near))  # (k,) in which each row is, in the order of the file
    places = np.empty_like(starts)
    places[sort] = starts[sort] - begins[piece] + (np.cumsum(sizes) - sizes)[piece]
    rows = np.lib.stride_tricks.sliding_window_view(data, width)[places]  # (k, width) bytes
    return np.ndarray((len(order), view.shape[1]), view.dtype, rows, first - low, (width, view.strides[1]))


def _bounds(view: NDArray[Any]) -> tuple[int, int, int]:
    """The addresses of the first byte of a view, of what follows its last, and of its first entry."""
    first = int(view.__array_interface__["data"][0])
    reach = [stride * (length - 1) for stride, length in zip(view.strides, view.shape, strict=True)]
    return first + sum(min(0, r) for r in reach), first + sum(max(0, r) for r in reach) + view.itemsize, first


def _read(held: MappedFile, addresses: NDArray[np.int64], sizes: NDArray[np.int64]) -> bytearray:
    """Pieces of the file, one after another, by where the map has them."""
    offsets = addresses - held.__array_interface__["data"][0] + held.offset
    data = bytearray().join(map(os.pread, repeat(held.descriptor), sizes.tolist(), offsets.tolist()))
    if len(data) != int(sizes.sum()):
        length = os.fstat(held.descriptor).st_size
        raise MisuseError(f"file {held.filename}", "keep its length while it is in use", f"{length:,} bytes")
    return data
