"""A table of rows by channels, and where it came from."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from .._errors import MisuseError
from .._hashes import rows_hash

# Entries that a digest holds in memory at a time.
BLOCK_ENTRIES: Final = 2**20


@final
@dataclass(frozen=True, slots=True)
class Source:
    """What was read: the array as its file or its owner holds it, before its axes were put in order."""

    label: str  # what the table is for, such as "calibration"
    path: str | None  # the file name as given; None for arrays
    member: str | None  # the array within a container
    shape: tuple[int, ...]
    dtype: str
    unit: str = ""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows by channels, real or complex, in the number type and the byte order of its source.

    Entries that are not finite are met block by block where the rows are used, not here: a table may be larger than
    memory.

    >>> Table(np.array([[1.0, 2.0]]), ("left", "right"), Source("calibration", None, None, (1, 2), "float64")).channels
    ('left', 'right')
    """

    values: NDArray[np.generic] = field(repr=False)  # (n, q), read-only, a memory map where the file allows one
    channels: tuple[str, ...]  # (q,) distinct
    source: Source

    def __post_init__(self) -> None:
        name, values = self.source.label, check_numbers(self.source.label, self.values)
        if values.ndim != 2 or 0 in values.shape:
            rule = "have two axes, rows and channels, with at least one of each"
            raise MisuseError(name, rule, f"shape {values.shape}")
        if len(self.channels) != values.shape[1]:
            rule = f"name each of its {values.shape[1]} channels"
            raise MisuseError(name, rule, f"{len(self.channels)} names")
        check_names(name, "channels", self.channels)
        view = values.view()
        view.flags.writeable = False
        object.__setattr__(self, "values", view)
        object.__setattr__(self, "channels", tuple(self.channels))

    def digest(self) -> str:
        """SHA-256 of the content, read block by block.

        The numbers of rows and channels, then the entries row by row; all as little-endian 8-byte numbers, a complex
        entry as its real and its imaginary part.  Number type, byte order and layout of the source do not matter.
        """
        return rows_hash(self._blocks(), self.values.shape)

    def _blocks(self) -> Iterator[NDArray[np.generic]]:
        step = max(1, BLOCK_ENTRIES // self.values.shape[1])
        for start in range(0, len(self.values), step):
            yield self.values[start : start + step]


def check_numbers(name: str, values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Real or complex numbers; masks, truth values, texts, dates, records and objects are refused."""
    if isinstance(values, np.ma.MaskedArray):
        raise MisuseError(name, "have no mask", "a masked array", "Leave rows out, or fill them in, beforehand.")
    if values.dtype.kind not in "iufc":
        raise MisuseError(name, "hold real or complex numbers", f"dtype {values.dtype}")
    return values


def check_names(name: str, what: str, names: tuple[str, ...]) -> None:
    """Distinct texts, none of them empty."""
    if "" in names:
        raise MisuseError(name, f"name all of its {what}", f"no name for number {names.index('')}")
    if len(set(names)) < len(names):
        twice = next(each for i, each in enumerate(names) if each in names[:i])
        raise MisuseError(name, f"have {what} of distinct names", f"{twice!r} more than once")
