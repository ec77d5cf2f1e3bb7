"""Rows that keep arriving: files that grow, standard input, and several of them at once."""

import os
import shlex
import stat
import sys
import time
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping
from io import BufferedReader, IncrementalNewlineDecoder
from itertools import chain, islice, repeat
from math import isfinite
from queue import SimpleQueue
from threading import Thread
from typing import BinaryIO, TypeVar, cast

import typer

from .._errors import Clause, MisuseError, visible
from . import _later

Block = TypeVar("Block")


def in_turn(sources: Mapping[str, Iterator[Block]]) -> Iterator[tuple[str, Block]]:
    """One block of each source after the other, as long as any of them has more."""
    left = dict(sources)
    while left:
        for name in [*left]:
            block = next(left[name], None)
            if block is None:
                del left[name]
            else:
                yield name, block


def as_they_come(sources: Mapping[str, Iterator[Block]]) -> Iterator[tuple[str, Block]]:
    """Blocks of all sources in the order in which they are whole; each source waits in a thread of its own."""
    arrived: SimpleQueue[tuple[str, Block | BaseException | None]] = SimpleQueue()

    def read(name: str, source: Iterator[Block]) -> None:
        try:
            for block in source:
                arrived.put((name, block))
            arrived.put((name, None))
        except BaseException as error:
            arrived.put((name, error))

    for name, source in sources.items():
        Thread(target=read, args=(name, source), daemon=True).start()
    n_left = len(sources)
    while n_left:
        name, block = arrived.get()
        if isinstance(block, BaseException):
            raise block
        if block is None:
            n_left -= 1
        else:
            yield name, block


def blocks(
    name: str,
    size: int,
    follow: bool,
    widths: tuple[int, ...] = (),
    is_complex: bool = False,
    channels: tuple[str, ...] | None = None,
    earlier: Iterable[int] = (),
) -> Iterator[list[list[float]]]:
    """Rows in blocks of this size, the last one shorter; a first line without a number is a header.

    widths: real numbers that a row may have.  is_complex: whether they are pairs (Re, Im), which may be written as
    1+2j, too.  channels: names of these, to which those of a header are matched.  earlier: sizes of the first blocks.
    """
    rows = _rows(name, lines_of(name, follow), widths, is_complex, channels)
    for n_rows in chain(earlier, repeat(size)):
        block = [*islice(rows, n_rows)]
        if not block:
            return
        number, first, columns = block[0]
        if widths and len(first) not in widths:
            half = widths[0] // 2
            pairs = f": real and imaginary part of {half} channels, or {half} as 1+2j"
            rule = f"have {' or '.join(map(str, widths))} columns{pairs if is_complex else ', one for each channel'}"
            raise MisuseError(f"rows {name}", rule, f"{columns} in line {number}")
        yield [row for _, row, _ in block]


_NUMBERS = "be numbers between commas"
_MOST_SHOWN = 80  # characters of a line in a message


def _rows(
    name: str, lines: Iterable[str], widths: tuple[int, ...], is_complex: bool, channels: tuple[str, ...] | None
) -> Iterator[tuple[int, list[float], int]]:
    """Number of the line, numbers, complex ones as pairs, and columns of each row.

    The first row decides whether complex numbers are pairs of columns or cells such as 1+2j.
    """
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    for number, line in numbered:
        text = line.removeprefix("\ufeff")
        is_header, order = _header(name, number, text, channels)
        rest = numbered if is_header else chain([(number, text)], numbered)
        break
    else:
        return
    is_joined = None
    first: int | None = None
    for number, line in rest:
        cells = line.replace(",", " ").split()
        if is_joined is None:
            is_joined = is_complex and any("j" in cell.lower() for cell in cells)
            if is_complex and widths:
                how = "each as one column, such as 1+2j" if is_joined else "each as two columns: real, imaginary"
                typer.echo(visible(f"read: rows {name}: {widths[0] // 2} channels, {how}"), err=True)
        try:
            row = _later.io.read_pairs(cells) if is_joined else _later.io.read_reals(cells)
        except ValueError:
            raise _odd(name, number, cells, is_complex) from None
        parts = 2 if is_joined else 1
        if len(row) == len(order) * parts:
            row = [row[parts * i + part] for i in order for part in range(parts)]
        if not row:
            raise MisuseError(f"rows {name}", _NUMBERS, Clause(f"line {number} has none"))
        odd = next((i for i, value in enumerate(row) if not isfinite(value)), None)
        if odd is not None:
            value = f"{row[odd]} in line {number}, column {odd // parts + 1}"
            raise MisuseError(f"rows {name}", "be finite", value)
        columns = len(row) // parts
        first = first or columns
        if columns != first:
            rule = f"have {first} numbers in every line, as before"
            raise MisuseError(f"rows {name}", rule, f"{columns} in line {number}")
        yield number, row, columns


def _header(name: str, number: int, text: str, channels: tuple[str, ...] | None) -> tuple[bool, list[int]]:
    """True if no cell of the first line is a number, which is told; and the places of the channels, if it names them.

    A line with cells that are numbers and cells that are not is damaged.
    """
    cells = [cell for cell in (text.split(",") if "," in text else text.split()) if cell.strip()]
    if not cells or any(map(_later.io.is_number, cells)):
        return False, []
    order = None
    if channels is not None and len(cells) == len(channels):
        order = _later.io.order_of(f"rows {name}", _later.io.Axis("channels", channels, "the project"), cells)
    _say(f"rows {name}: line {number} is taken for a header: {_cut(text.strip())}")
    return True, [] if order is None else order.tolist()


def _odd(name: str, number: int, cells: list[str], is_complex: bool) -> MisuseError:
    """Misuse that names the cell that is no number, or no real one."""
    rule = _NUMBERS
    odd = next((cell for cell in cells if not _later.io.is_number(cell)), None)
    if odd is None:
        odd = next(cell for cell in cells if "j" in cell.lower())
        rule = "have complex numbers as 1+2j in all lines or in none" if is_complex else "be real numbers"
    return MisuseError(f"rows {name}", rule, f"{_cut(odd)!r} in line {number}")


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."


_SECONDS_BETWEEN = 0.5
_PIECE = 2**16
_LONGEST = 2**24  # characters of a line: a device may never end one
_COMPARED = 256  # bytes at the beginning, and before what is read next, by which a file is known to be the same


def lines_of(name: str, follow: bool) -> Iterator[str]:
    """Yield the lines of a file, or of standard input for `-`, with their ends; blank ones too, which are counted.

    What comes after the last line end may be half a line, and is left out, which is said.  follow: wait for more.  Of a
    file that is written anew meanwhile nobody knows which rows were read before: its lines end there, which is said.
    """
    try:
        if name == "-":
            incoming = cast(BufferedReader, sys.stdin.buffer)
            yield from _lines(name, iter(lambda: incoming.read1(_PIECE), b""))  # what has arrived, without waiting
            return
        with open(name, "rb", buffering=0) as file:
            yield from _lines(name, _growing(name, file) if follow else iter(lambda: file.read(_PIECE), b""))
    except OSError as error:
        raise MisuseError(f"rows {name}", "be a readable file", error.strerror) from None


def _lines(name: str, pieces: Iterable[bytes]) -> Iterator[str]:
    """Whole lines of pieces of text in UTF-8."""
    decoder = IncrementalNewlineDecoder(getincrementaldecoder("utf-8")(), translate=True)
    rest = ""
    for piece in pieces:
        try:
            *whole, rest = (rest + decoder.decode(piece)).split("\n")
        except UnicodeDecodeError:
            raise MisuseError(f"rows {name}", "be text, one row of numbers a line", "another kind of file") from None
        yield from (f"{line}\n" for line in whole)
        if len(rest) >= _LONGEST:
            raise MisuseError(f"rows {name}", f"be lines of fewer than {_LONGEST:,} characters", "a longer one")
    if rest.strip():
        remedy = "if it is whole, end it with a line end"
        _say(f"rows {name}: the last line has no end and may be half written, so it was left out; {remedy}")


def _growing(name: str, file: BinaryIO) -> Iterator[bytes]:
    """Pieces of a file as they are written, until it turns out to be another one, or a pipe has ended."""
    is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    first = b""  # the bytes at both ends of what was read, and how many were read
    last = b""
    size = 0
    while True:
        if is_regular and _is_rewritten(file, first, last, size):
            _say_ended(name, "cut or written anew")
            return
        is_moved = is_regular and _is_moved(name, file)  # before the last bytes are read
        if piece := file.read(_PIECE):
            first = (first + piece)[:_COMPARED]
            last = (last + piece)[-_COMPARED:]
            size += len(piece)
            yield piece
            continue
        if is_moved:
            _say_ended(name, "replaced, moved or removed")
        if is_moved or not is_regular:
            return
        time.sleep(_SECONDS_BETWEEN)


def _is_rewritten(file: BinaryIO, first: bytes, last: bytes, size: int) -> bool:
    """True if the file is shorter than what was read of it, or holds other bytes there."""
    if os.fstat(file.fileno()).st_size < size:
        return True
    file.seek(0)
    begin = file.read(len(first))
    file.seek(size - len(last))
    end = file.read(len(last))  # and so to where reading goes on
    return (begin, end) != (first, last)


def _is_moved(name: str, file: BinaryIO) -> bool:
    """True if the name stands for another file, or for none."""
    try:
        return not os.path.samestat(os.stat(name), os.fstat(file.fileno()))
    except OSError:
        return True


def _say_ended(name: str, change: str) -> None:
    _say(
        f"rows {name}: the file was {change} while it was watched; its rows may be ones that were read before, so "
        f"watching ends here. If they are new, watch all files that follow each other: "
        f"tail -n +1 -F {shlex.quote(name)} | physupport watch -"
    )


def _say(text: str) -> None:
    typer.echo(f"note: {visible(text)}", err=True)
