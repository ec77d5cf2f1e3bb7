"""Arrays that cannot change, and rows compared by content."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arrays import read_only
from .._errors import MisuseError
from .._typing import Array, IntArray

# Indices are int64; every product of sizes must stay below this.
INDEX_LIMIT = 2**63


def frozen(array: ArrayLike) -> Array:
    """A read-only C-ordered float64 copy without negative zeros, which would compare equal and hash differently."""
    return read_only(np.asarray(array, dtype=np.float64) + 0.0, np.float64)


def frozen_int(array: ArrayLike) -> IntArray:
    """A read-only C-ordered int64 copy."""
    return read_only(array, np.int64)


def check_size(name: str, size: int) -> int:
    """A product of sizes that an int64 index can count."""
    if size >= INDEX_LIMIT:
        raise MisuseError(name, f"number fewer than {INDEX_LIMIT}", size)
    return size


def first_occurrences(rows: NDArray[np.float64] | NDArray[np.int64]) -> tuple[IntArray, IntArray]:
    """Distinct rows in order of first appearance, compared bit by bit.

    rows: (m, w) C-ordered.  Returns where each distinct row first stands, (u,), and the number of every row's
    distinct row, (m,).
    """
    if rows.shape[1] == 0:
        return np.zeros(min(len(rows), 1), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0]
    _, first, label = np.unique(whole, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order].astype(np.int64), rank[label].astype(np.int64)
