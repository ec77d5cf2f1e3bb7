"""`physupport watch`: rows keep arriving in a file, and every look at them is valid."""

import os
import shlex
import stat
import sys
import time
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from io import BufferedReader, IncrementalNewlineDecoder
from itertools import chain, islice
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

import typer

from .. import analysis, project as projects
from .._errors import MisuseError, visible
from ..analysis import diagnose
from . import _later
from ._app import PROJECT_FILE, ProjectOption, Trust
from ._text import few, interruptible, load_counted, show_lines, show_report

if TYPE_CHECKING:
    from .._typing import Array
    from ..report import Report

_MOST_IN_LINE = 4  # elements of a region that the line of a look names
_MOST_KEPT = 2**24  # numbers of rows that are kept for a look at their energy, 128 MiB: a stream may never end
_ROWS = (
    "Text file that grows, one row of numbers a line; - is stdin. A complex channel is two columns, real and then "
    "imaginary part, or one, as 1+2j."
)
_OUT = "Folder for report.json of the last look; watch beside the project file unless given."


def watch(
    rows: Annotated[str, typer.Argument(help=_ROWS)],
    project: ProjectOption = PROJECT_FILE,
    look: Annotated[int, typer.Option(min=1, help="Rows between two looks.")] = 100,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more rows, until Ctrl-C.")] = False,
    out: Annotated[Path | None, typer.Option(help=_OUT)] = None,
    trust: Trust = False,
) -> None:
    """Answer the question of a project while its deployment rows arrive, one line a look, and report at the end.

    The level holds for all looks together: what was rejected once stays rejected, and one may stop at any time.  The
    deployment file of the project is not read.  Rows have their columns in the order of the channels, or as a header
    names them, between commas or blanks; each complex channel is two adjacent columns, re,im,re,im and so on, or one
    column as 1+2j, as the first row has it.  A first line without a number is a header, a last line without an end no
    row.  The report says at its end if the rows do not fit the laws; no label depends on that.  The report of every
    look replaces the one before, in report.json, which verify and show take.  Exit codes: 0, the rows have ended or
    Ctrl-C was pressed; 2, misuse.
    """
    loaded = load_counted(project, trust=trust)
    assembled = projects.assemble(loaded)
    path = (loaded.path.parent / "watch" if out is None else out) / "report.json"
    protocol = assembled.protocol
    calibration = assembled.tables.get("calibration")
    with assembled.project.named_run():
        proposed = None if calibration is None else protocol.propose("calibration", calibration.values)
        evidence = analysis.begin_running(protocol, proposed)
        law = evidence.law
        width = law.width(evidence.bank)
    result = None
    first: list[Array] = []  # whole blocks, until there is no room for the next
    is_full = False
    try:
        with interruptible():
            for block in blocks(rows, look, follow, width, law.is_complex, evidence.bank.channels):
                read = _later.np.array(block)
                evidence = evidence.after(read)
                is_full = is_full or (bool(first) and sum(each.size for each in first) + read.size > _MOST_KEPT)
                first += [] if is_full else [read]
                result = analysis.running_result(protocol, evidence)
                _save(result.report, path)
                told = (f"{said.field} {said.label} {few(said.cell, _MOST_IN_LINE)}" for said in result.report.fields)
                typer.echo(visible(f"{evidence.n_rows} rows: {'; '.join(told)}"))
    except KeyboardInterrupt:
        typer.echo("Stopped.", err=True)
    if result is None:
        typer.echo("No row came, so there is nothing to report.", err=True)
        return
    typer.echo("")
    details = diagnose.running_details(result, evidence, _later.np.concatenate(first), proposed)
    show_report(result.report, details)
    show_lines(details.notes)
    typer.echo(f"\nWritten to {visible(str(path))}.")


def _save(report: "Report", path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        report.save(path)
    except OSError as error:
        raise MisuseError("--out", "be a folder that can be written", f"{path.parent} ({error.strerror})") from None


def blocks(
    name: str,
    size: int,
    follow: bool,
    width: int | None = None,
    is_complex: bool = False,
    channels: tuple[str, ...] | None = None,
) -> Iterator[list[list[float]]]:
    """Rows in blocks of this size, the last one shorter; a first line without a number is a header.

    width: real numbers of a row.  is_complex: whether they are pairs (Re, Im), which may be written as 1+2j, too.
    channels: names of these, to which those of a header are matched.
    """
    rows = _rows(name, lines_of(name, follow), width, is_complex, channels)
    while block := [*islice(rows, size)]:
        number, first, columns = block[0]
        if width is not None and len(first) != width:
            half = width // 2
            pairs = f": real and imaginary part of {half} channels, or {half} as 1+2j"
            rule = f"have {width} columns{pairs if is_complex else ', one for each channel'}"
            raise MisuseError(f"rows {name}", rule, f"{columns} in line {number}")
        yield [row for _, row, _ in block]


_NUMBERS = "be numbers between commas"
_MOST_SHOWN = 80  # characters of a line in a message


def _rows(
    name: str, lines: Iterable[str], width: int | None, is_complex: bool, channels: tuple[str, ...] | None
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
            if is_complex and width is not None:
                how = "each as one column, such as 1+2j" if is_joined else "each as two columns: real, imaginary"
                typer.echo(visible(f"read: rows {name}: {width // 2} channels, {how}"), err=True)
        try:
            row = _later.io.read_pairs(cells) if is_joined else _later.io.read_reals(cells)
        except ValueError:
            raise _odd(name, number, cells, is_complex) from None
        parts = 2 if is_joined else 1
        if len(row) == len(order) * parts:
            row = [row[parts * i + part] for i in order for part in range(parts)]
        if not row:
            raise MisuseError(f"rows {name}", _NUMBERS, f"none in line {number}")
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
