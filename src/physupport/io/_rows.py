"""Rows of a stream: parts of files, which rows propose, and complex numbers as pairs."""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import repeat
from mmap import mmap
from pathlib import Path
from typing import Any, Final, Literal, Protocol, final
from weakref import finalize

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from .._checks import as_float64, check_count, check_open, check_order
from .._codec import add_rows, rows_hasher
from .._errors import Clause, MisuseError, NotFiniteError
from .._typing import Array, IntArray

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
    if type(held) is not MappedFile or held.descriptor < 0 or sys.platform == "win32":
        _check_uncut(held)  # no map, or one of somebody else's
        return values[where]
    if isinstance(where, np.ndarray):
        return _rows(held, values, where) if where.size else np.empty((0, *values.shape[1:]), values.dtype)
    view = values[where]
    return _copied(held, view) if view.size else np.empty(view.shape, view.dtype)


def _check_uncut(held: NDArray[np.generic]) -> None:
    """Refuse a memory map of a file that became shorter: whoever reads what is gone is ended by the system.

    To be called right before a part of it is read.
    """
    mapped: object = held.base
    if isinstance(held, np.memmap) and isinstance(mapped, mmap) and mapped.size() < held.offset + held.nbytes:
        raise MisuseError(
            f"file {held.filename}", "keep its length while it is in use", Clause(f"it now has {mapped.size():,} bytes")
        )


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
        raise MisuseError(
            f"file {held.filename}", "keep its length while it is in use", Clause(f"it now has {length:,} bytes")
        )
    return data


BLOCK_ROWS = 8192


class RowSource(Protocol):
    """Rows of one width that can be read any number of times, in order."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    @property
    def width(self) -> int:
        """Entries of a row."""

    def blocks(self) -> Iterator[Array]:
        """(b, width) finite float64 blocks whose rows add up to n_rows."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class ArrayRows:
    """Selected rows of an array or memory map, copied block by block."""

    table: NDArray[np.generic]  # (n, width)
    order: NDArray[np.int64] | None = None  # which rows, in which order; all of them if None
    block_rows: int = BLOCK_ROWS

    def __post_init__(self) -> None:
        check_count("block_rows", self.block_rows)
        if self.table.ndim != 2:
            raise MisuseError("rows", "be a table (rows, entries)", f"shape {self.table.shape}")
        if self.n_rows == 0:
            raise MisuseError("rows", "hold at least one row", Clause("there is none"))
        _check_real(self.table)
        if self.order is not None:
            check_order("order", self.order, len(self.table))

    @property
    def n_rows(self) -> int:
        """The number of selected rows."""
        return len(self.table) if self.order is None else len(self.order)

    @property
    def width(self) -> int:
        """Entries of a row."""
        return int(self.table.shape[1])

    def blocks(self) -> Iterator[Array]:
        """Blocks of at most block_rows rows."""
        table = self.table
        order = self.order
        if order is not None and table.nbytes <= MOST_AT_ONCE:  # in the order of the file, which is faster
            table = part_of(table, order)
            order = None
        for start in range(0, self.n_rows, self.block_rows):
            block = slice(start, start + self.block_rows)
            chosen = part_of(table, block if order is None else order[block])
            yield _finite(np.ascontiguousarray(as_float64("rows", chosen, start)), start)


@final
@dataclass(frozen=True, slots=True, eq=False)
class HashedRows:
    """Rows with the hash of what was read of them: of the numbers that were used, not of another reading.

    A file may change while it is in use; a later reading that finds other numbers is refused.
    """

    name: str
    rows: RowSource
    _hashes: dict[int, str] = field(default_factory=dict, repr=False)  # of the first so many rows

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.rows.n_rows

    @property
    def width(self) -> int:
        """Entries of a row."""
        return self.rows.width

    def blocks(self) -> Iterator[Array]:
        """Those of the rows."""
        sha = rows_hasher((self.n_rows, self.width))
        done = 0
        for block in self.rows.blocks():
            add_rows(sha, block)
            done += len(block)
            if self._hashes.setdefault(done, sha.hexdigest()) != sha.hexdigest():
                raise MisuseError(
                    self.name, "stay what they are while they are in use", Clause(f"they changed before row {done}")
                )
            yield block

    def digest(self) -> str:
        """SHA-256 of all of them, in their order; reads them if nobody did so far."""
        if self.n_rows not in self._hashes:
            deque(self.blocks(), maxlen=0)
        return self._hashes[self.n_rows]


@final
@dataclass(frozen=True, slots=True, eq=False)
class ReadRows:
    """Rows from a function that opens the source anew and yields blocks; for data that no array holds."""

    open: Callable[[], Iterable[ArrayLike]]
    n_rows: int
    width: int

    def blocks(self) -> Iterator[Array]:
        """The blocks of one reading; their rows must add up to n_rows."""
        start = 0
        for block in self.open():
            rows = np.ascontiguousarray(as_float64("rows", _check_real(np.asanyarray(block)), start))
            if rows.ndim != 2 or rows.shape[1] != self.width:
                raise MisuseError("block", f"have shape (any, {self.width})", f"shape {rows.shape} at row {start}")
            if start + len(rows) > self.n_rows:
                raise MisuseError("rows", f"number {self.n_rows} as declared", f"at least {start + len(rows)}")
            yield _finite(rows, start)
            start += len(rows)
        if start != self.n_rows:
            raise MisuseError("rows", f"number {self.n_rows} as declared", f"{start} in this reading")


def _check_real(table: NDArray[np.generic]) -> NDArray[np.generic]:
    """Refuse what a cast to float64 would change in silence: imaginary parts, masks, texts, dates, truth values."""
    if np.ma.isMaskedArray(table):
        raise MisuseError(
            "rows", "have no mask", Clause("it is a masked array"), "Leave rows out, or fill them in, beforehand."
        )
    if table.dtype.kind not in "iuf":
        raise MisuseError("rows", "be real numbers", f"dtype {table.dtype}", "Complex data go in as pairs: as_pairs.")
    return table


def _finite(rows: Array, start: int) -> Array:
    finite = np.isfinite(rows)
    if not finite.all():
        row, column = (int(i) for i in np.argwhere(~finite)[0])
        where = f"{rows[row, column]} in row {start + row}, column {column} (counted from 0)"
        raise NotFiniteError("rows", "be finite", where)
    return rows


@final
@dataclass(frozen=True, slots=True, eq=False)
class SplitRows:
    """The two parts of a record of rows: each row is in exactly one of them.

    Held-out rows are handed out here and nowhere else, in the order in which the evidence reads them.
    """

    proposal: IntArray  # (m,)
    held_out: IntArray  # (n - m,)

    @property
    def n_rows(self) -> int:
        """Rows of both parts."""
        return len(self.proposal) + len(self.held_out)


def split_rows(n_rows: int, fraction: float, seed: int | SeedSequence) -> SplitRows:
    """A random cut of a record: this share of the rows proposes, the rest judges.

    A permutation of the rows, of which the first floor(fraction n) propose and the others are held out as permuted; the
    seed is that of `numpy.random.default_rng`.  The share is the decimal number as written: 0.29 of 100 rows are 29,
    although the float64 nearest to 0.29 lies below it.

    >>> split_rows(6, 0.5, seed=7).proposal.tolist()
    [5, 2, 0]
    """
    share = check_open("fraction", fraction, 0.0, 1.0)
    generator = np.random.default_rng(_seed_sequence(seed))
    n = check_count("n_rows", n_rows)
    n_proposal = int(Fraction(repr(float(share))) * n)
    if n_proposal == 0:
        raise MisuseError("split", "leave rows to the proposal", Clause(f"{fraction:g} of {n} rows leaves none"))
    order = generator.permutation(n).astype(np.int64)
    return SplitRows(order[:n_proposal], order[n_proposal:])


def undivided_rows(n_rows: int) -> SplitRows:
    """All rows held out, in the order of the record: for judges that need no proposal."""
    return SplitRows(np.empty(0, dtype=np.int64), np.arange(check_count("n_rows", n_rows), dtype=np.int64))


def split_streams(n_rows: Sequence[int], fractions: Sequence[float], seed: int | SeedSequence) -> tuple[SplitRows, ...]:
    """Independent splits of several records, each from a child of one seed, in the order given.

    n_rows and fractions: one a stream, as in (calibration, deployment).
    """
    if len(n_rows) != len(fractions) or not n_rows:
        raise MisuseError(
            "fractions", "number as many as the streams, at least one", f"{len(fractions)}, {len(n_rows)}"
        )
    children = _seed_sequence(seed).spawn(len(n_rows))
    return tuple(split_rows(n, f, child) for n, f, child in zip(n_rows, fractions, children, strict=True))


def _seed_sequence(seed: int | SeedSequence) -> SeedSequence:
    """A fresh sequence: one that has spawned before would give other children the next time."""
    if isinstance(seed, SeedSequence):
        return SeedSequence(seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size)
    return SeedSequence(check_count("seed", seed, 0))


def mean_row(rows: RowSource) -> Array:
    """(width,) the mean of all rows, finite as they are; read once unless their sum is too large for float64."""
    with np.errstate(over="ignore"):
        mean = np.asarray(sum(block.sum(axis=0) for block in rows.blocks()) / rows.n_rows)
    if np.isfinite(mean).all():
        return mean
    return np.asarray(2.0 * sum((block / (2.0 * rows.n_rows)).sum(axis=0) for block in rows.blocks()))


def as_pairs(values: ArrayLike, axis: int = -1) -> Array:
    """Complex numbers as adjacent (Re, Im) along one axis, which becomes twice as long.

    >>> as_pairs([[1 + 2j, 3j]]).tolist()
    [[1.0, 2.0, 0.0, 3.0]]
    """
    numbers = part_of(np.asarray(values))
    if numbers.dtype.kind in "iufc" and numbers.dtype.itemsize > 8:
        for part in (numbers.real, numbers.imag):
            as_float64("complex numbers", part)
    last = np.moveaxis(numbers.astype(np.complex128), axis, -1)
    pairs = np.ascontiguousarray(last).view(np.float64)
    return np.ascontiguousarray(np.moveaxis(pairs, -1, axis))


def as_complex(pairs: Array) -> NDArray[np.complex128]:
    """Pairs (Re, Im) along the first axis as complex numbers."""
    return np.asarray(pairs[0::2] + 1j * pairs[1::2])


def turned(pairs: Array) -> Array:
    """Pairs of i times the numbers: (Re, Im) -> (-Im, Re) along the last axis."""
    swapped = pairs.reshape(*pairs.shape[:-1], -1, 2)[..., ::-1] * np.array([-1.0, 1.0])
    return np.ascontiguousarray(swapped.reshape(pairs.shape))


def atom_table(elements: Array, is_complex: bool, has_phase: bool) -> Array:
    """Atoms as rows: (E, q), or (2 E, q), each with its turned one, where coefficients of complex atoms are complex."""
    # A copy even where the order is right: elements may be read-only, for which kernels would be compiled again.
    rows = np.array(elements.T, dtype=np.float64, order="C")
    if is_complex and rows.shape[1] % 2:
        raise MisuseError(
            "elements", "have an even number of entries, pairs (Re, Im)", Clause(f"there are {rows.shape[1]} entries")
        )
    if not (is_complex and has_phase):
        return rows
    return np.stack([rows, turned(rows)], axis=1).reshape(2 * len(rows), -1)


def doubled(elements: IntArray) -> IntArray:
    """(k, r) elements -> (k, 2 r) rows of a doubled table; the padding -1 stays."""
    pairs = 2 * elements[:, :, None] + np.arange(2)
    return np.where(elements[:, :, None] < 0, -1, pairs).reshape(len(elements), -1)
