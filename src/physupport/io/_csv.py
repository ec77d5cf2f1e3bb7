"""Text tables: cells separated by commas, UTF-8, every line with the same number of cells."""

import csv
import os
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .._errors import MisuseError
from .._typing import Array
from ._table import MATRIX_AXES, Held, check_names, check_no_member

if TYPE_CHECKING:
    import _csv

_MOST_SHOWN = 80  # characters of the file in a message

Line = tuple[int, list[str]]  # its number in the file, its cells


def read_columns(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """The columns of a CSV file as texts, by the names in its first line.

    Blanks around a cell are dropped.  The names must be there, distinct, and not numbers: a file without a header is
    refused, not misread.
    """
    name = f"file {os.fspath(path)}"
    lines = ([cell.strip() for cell in cells] for _, cells in _lines(name, Path(path)))
    header = tuple(next(lines))
    if any(map(is_number, header)):
        raise MisuseError(name, "name its columns in the first line", repr(_cut(",".join(header))))
    check_names(name, "columns", header)
    rows = list(lines)
    return {column: [cells[i] for cells in rows] for i, column in enumerate(header)}


def read_csv(name: str, path: Path, member: str | None, header: bool | None = None) -> Held:
    """A table of numbers, with or without a first line of names.

    Unless `header` says so, the first line is data if all of its cells are numbers and a header if none is; one that
    could be places on an axis, such as wavelengths, is asked about, and anything else is refused.
    """
    check_no_member(name, member)
    return _numbers(name, path, header)


def _numbers(name: str, path: Path, has_header: bool | None, is_complex: bool = False) -> Held:
    """Read as float64; a file in which a complex number turns up is begun again as complex128."""
    lines, entries = _lines(name, path), array("d")
    number, first = next(lines)
    second = [*islice(lines, 1)]
    header = _header(name, first, has_header, *(cells for _, cells in second))
    for line, cells in chain([] if header else [(number, first)], second, lines):
        try:
            entries.extend(read_pairs(cells) if is_complex else read_reals(cells))
        except ValueError:
            _check_cells(name, line, cells)
            return _numbers(name, path, has_header, is_complex=True)
    if not entries:
        raise MisuseError(name, "hold at least one line of numbers", "a header and nothing below it")
    values = np.frombuffer(entries, dtype=np.complex128 if is_complex else np.float64)
    return Held(values.reshape(-1, len(first)), axes=MATRIX_AXES, headings=(None, header))


def _header(
    name: str, cells: Sequence[str], has_header: bool | None, second: Sequence[str] = ()
) -> tuple[str, ...] | None:
    """The names in a first line; None if it holds data."""
    are_numbers = [is_number(cell) for cell in cells]
    if has_header is None and all(are_numbers):
        _check_data(name, cells, second)
    if has_header is False or (has_header is None and all(are_numbers)):
        return None
    if has_header is None and any(are_numbers):
        rule = "hold only numbers, or only names, in its first line"
        text, number = (_cut(cells[are_numbers.index(flag)]) for flag in (False, True))
        raise MisuseError(name, rule, f"{text!r} beside {number!r}")
    header = tuple(cell.strip() for cell in cells)
    check_names(name, "columns", header)
    return header


def _check_data(name: str, first: Sequence[str], second: Sequence[str]) -> None:
    """Ask about a first line of numbers that may be places on an axis: even or ordered, as the line below is not."""
    try:
        above, below = np.array(read_reals(first)), np.array(read_reals(second))
    except ValueError:
        return
    if len(above) != len(below):
        return
    is_count = len(above) > 1 and np.array_equal(np.diff(above), np.ones(len(above) - 1)) and above[0] in (0.0, 1.0)
    is_numbering = is_count and not np.array_equal(below, np.rint(below))
    if is_numbering or (not _is_even(below) and (_is_even(above) or _is_scale(above, below))):
        shown = f"{_cut(','.join(first))!r} above {_cut(','.join(second))!r}"
        remedy = "Set header = true if it names the columns, such as by wavelength, and header = false if it is data."
        raise MisuseError(name, "be read with a header that says what its first line of numbers is", shown, remedy)


# Of so many random numbers in a row, one in 20,000 would be in order.
_FEWEST_ORDERED = 8


def _is_even(row: Array) -> bool:
    """Three numbers or more at equal steps, as those of a grid are."""
    steps = np.diff(row)
    return len(steps) > 1 and bool(steps[0] != 0.0 and np.allclose(steps, steps[0], rtol=1e-6, atol=0.0))


def _is_scale(above: Array, below: Array) -> bool:
    """Many numbers in order above a line that is in no such order, or that lies elsewhere altogether."""
    direction = np.sign(above[-1] - above[0])
    if len(above) < _FEWEST_ORDERED or not np.all(direction * np.diff(above) > 0.0):
        return False
    is_apart = above.min() > below.max() or above.max() < below.min()
    return is_apart or not np.all(direction * np.diff(below) > 0.0)


def read_reals(cells: Sequence[str]) -> list[float]:
    """Real numbers as Python writes them."""
    if "_" in "".join(cells):  # Python reads 1_000 as a number, and nothing else does
        raise ValueError("a number with a `_`")
    return [float(cell) for cell in cells]


def read_pairs(cells: Sequence[str]) -> list[float]:
    """Complex numbers as Python writes them, as pairs (Re, Im)."""
    if not all(map(is_number, cells)):
        raise ValueError
    return [part for entry in map(complex, cells) for part in (entry.real, entry.imag)]


def _check_cells(name: str, line: int, cells: Sequence[str]) -> None:
    for column, cell in enumerate(cells, 1):
        if not is_number(cell):
            found = f"{repr(_cut(cell)) if cell else 'no cell'} in line {line}, column {column}"
            remedy = "Commas separate cells; rows with gaps have to be left out, or filled in, beforehand."
            raise MisuseError(name, "hold numbers", found, remedy)


def _cut(text: str) -> str:
    """As much of a text as a message has room for."""
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."


def is_number(cell: str) -> bool:
    """A real or complex number as Python writes it; `j` alone is a name, and so is `1_000`."""
    try:
        complex(cell)
    except ValueError:
        return False
    return "_" not in cell and cell.strip(" ()+-") not in ("j", "J")


def _lines(name: str, path: Path) -> Iterator[Line]:
    """The lines of a file, at least one."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise MisuseError(name, "be a file", "a device or a pipe")  # which may never end
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from _even(name, csv.reader(file, strict=True))
    except UnicodeDecodeError as error:
        raise MisuseError(name, "be UTF-8 text", f"the byte 0x{error.object[error.start]:02x}") from error
    except csv.Error as error:
        raise MisuseError(name, "be a CSV file", error) from error
    except OSError as error:
        raise MisuseError(name, "be a file that can be read", error.strerror) from error


def _even(name: str, reader: "_csv.Reader") -> Iterator[Line]:
    """Lines of one length; empty ones may stand at the end only, as in a table of one column each would be a gap."""
    width, is_over = 0, False
    for cells in reader:
        is_over = is_over or not cells
        if not cells:
            continue
        if is_over:
            raise MisuseError(name, "have no empty lines", f"one before line {reader.line_num}")
        width = width or len(cells)
        if len(cells) != width:
            rule = f"have {width} cells in every line, as in the first"
            raise MisuseError(name, rule, f"{len(cells)} cells in line {reader.line_num}")
        yield reader.line_num, cells
    if not width:
        raise MisuseError(name, "hold at least one line", "an empty file")
