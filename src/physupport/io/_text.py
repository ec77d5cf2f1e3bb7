"""Text files: tables of cells separated by commas, and spectra as counters and microscopes write them."""

import cmath
import csv
import os
import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import NDArray

from .._errors import Clause, MisuseError
from .._typing import Array
from ._table import MATRIX_AXES, ReaderOutput, check_names, check_no_member, distinct_or_none

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


def read_csv(
    name: str, path: Path, member: str | None, header: bool | None = None, *, is_outline: bool = False
) -> ReaderOutput:
    """A table of numbers, with or without a first line of names; of an outline no line below it, but as many columns.

    Unless `header` says so, the first line is data if all of its cells are numbers and a header if none is; one that
    could be places on an axis, such as wavelengths, is asked about, and anything else is refused.
    """
    check_no_member(name, member)
    return _numbers(name, path, header, is_outline=is_outline)


def _numbers(
    name: str, path: Path, has_header: bool | None, *, is_complex: bool = False, is_outline: bool = False
) -> ReaderOutput:
    """Read as float64; a file in which a complex number turns up is begun again as complex128.

    A first column of names, above which the header may say anything or nothing, names the rows.
    """
    lines = _lines(name, path)
    entries = array("d")
    number, first = next(lines)
    second = [*islice(lines, 1)]
    start = int(not is_number(first[0]) and any(_begins_with_a_name(cells) for _, cells in second))
    header = _header(name, first[start:], has_header, *(cells[start:] for _, cells in second))
    if is_outline:
        return ReaderOutput(np.zeros((1, len(first) - start)), axes=MATRIX_AXES, headings=(None, header))
    rows: list[str] = []
    for line, cells in chain([] if header else [(number, first)], second, lines):
        if start and is_number(cells[0]):
            rule = "hold a name in the first column of every line, or a number"
            raise MisuseError(name, rule, f"{_cut(cells[0])!r} in line {line} and {second[0][1][0]!r}")
        rows += [each.strip() for each in cells[:start]]
        try:
            entries.extend(read_pairs(cells[start:]) if is_complex else read_reals(cells[start:]))
        except ValueError:
            _check_cells(name, line, cells, start)
            return _numbers(name, path, has_header, is_complex=True)
    if not entries:
        raise MisuseError(name, "hold at least one line of numbers", Clause("it has a header and nothing below it"))
    values = np.frombuffer(entries, dtype=np.complex128 if is_complex else np.float64)
    return ReaderOutput(
        values.reshape(-1, len(first) - start), axes=MATRIX_AXES, headings=(tuple(rows) if start else None, header)
    )


def _begins_with_a_name(cells: Sequence[str]) -> bool:
    """True for a line whose first cell alone is no number."""
    return len(cells) > 1 and cells[0].strip() != "" and not is_number(cells[0]) and all(map(is_number, cells[1:]))


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
        above = np.array(read_reals(first))
        below = np.array(read_reals(second))
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


def _check_cells(name: str, line: int, cells: Sequence[str], start: int = 0) -> None:
    for column, cell in enumerate(cells[start:], 1 + start):
        if not is_number(cell):
            found = f"{repr(_cut(cell)) if cell else 'no cell'} in line {line}, column {column}"
            remedy = "Commas separate cells; rows with gaps have to be left out, or filled in, beforehand."
            raise MisuseError(name, "hold numbers", found, remedy)


def _cut(text: str) -> str:
    """Cut a text to the length of a message."""
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
    width = 0
    is_over = False
    for cells in reader:
        is_over = is_over or not cells
        if not cells:
            continue
        if is_over:
            raise MisuseError(name, "have no empty lines", Clause(f"one comes before line {reader.line_num}"))
        width = width or len(cells)
        if len(cells) != width:
            rule = f"have {width} cells in every line, as in the first"
            raise MisuseError(name, rule, f"{len(cells)} cells in line {reader.line_num}")
        yield reader.line_num, cells
    if not width:
        raise MisuseError(name, "hold at least one line", Clause("it is empty"))


SPECTRUM_AXES: Final = (("rows", "spectra"), ("columns", "channels"))


def read_iaea(name: str, path: Path, member: str | None) -> ReaderOutput:
    """Sections `$NAME:`; `$DATA:` has the numbers of the first and the last channel, and then the counts."""
    check_no_member(name, member)
    sections = _sections(name, r"^\$([A-Z_.0-9]+):", path)
    first, last, *counts = _finite(name, _section(name, sections, "DATA").split(), skipped=2)
    if len(counts) != last - first + 1:
        raise MisuseError(name, f"hold the counts of channels {first:g} to {last:g}", f"{len(counts)} of them")
    # In the first of the two, the coefficients are preceded by their number.
    words = sections["MCA_CAL"].split()[1:] if "MCA_CAL" in sections else sections.get("ENER_FIT", "").split()
    return _spectrum(counts, *_calibrated(words, np.arange(first, last + 1)), "counts")


def _finite(name: str, words: Sequence[str], skipped: int = 0) -> list[float]:
    """Finite numbers, the first of which, so many, belong to no channel."""
    for channel, word in enumerate(words, -skipped):
        if not (is_number(word) and cmath.isfinite(complex(word))):
            raise MisuseError(name, "hold finite numbers", f"{_cut(word)!r} in channel {channel} of its data")
    return read_reals(words)


def _calibrated(words: Sequence[str], channels: NDArray[np.float64]) -> tuple[NDArray[np.float64], str]:
    """The energies that a polynomial gives to channels, and their unit, keV unless named behind the coefficients."""
    unit = words[-1] if words and words[-1].isalpha() else ""
    coefficients = read_reals(words[: len(words) - bool(unit)])
    if not any(coefficients[1:]):  # as a counter that was never calibrated writes it
        return channels, ""
    return np.asarray(polynomial.polyval(channels, coefficients)), unit or "keV"


def read_mca(name: str, path: Path, member: str | None) -> ReaderOutput:
    """Sections `<<NAME>>`: a count a line in DATA, and pairs of channel and energy in CALIBRATION, if it is there.

    PyMca writes spectra under the same ending as one column of counts without any section.
    """
    check_no_member(name, member)
    sections = _sections(name, r"^<<([^<>]+)>>", path)
    column = [] if sections else _finite(name, _text(path).split())
    if column:
        return _spectrum(column, np.arange(len(column)), "", "counts")
    counts = _finite(name, _section(name, sections, "DATA").split())
    if "END" not in sections:
        raise MisuseError(name, "close its data by <<END>>", Clause("it does not, and may have been cut off"))
    label, _, pairs = sections.get("CALIBRATION", "").partition("\n")
    points = np.reshape(read_reals(pairs.split()), (-1, 2))  # (points, 2)
    if len(points) < 2:
        return _spectrum(counts, np.arange(len(counts)), "", "counts")
    energies = polynomial.polyval(np.arange(len(counts)), polynomial.polyfit(points[:, 0], points[:, 1], 1))
    unit = label.rpartition("-")[2].strip()
    return _spectrum(counts, energies, "" if unit.lower() == "channel" else unit, "counts")


def read_emsa(name: str, path: Path, member: str | None) -> ReaderOutput:
    """Lines `#KEYWORD : value` and, after `#SPECTRUM`, the values of y, or pairs of x and y."""
    check_no_member(name, member)
    head, found, body = _text(path).partition("#SPECTRUM")
    keys = {key.strip().upper(): value.strip() for key, value in re.findall(r"^#([^:\n]+):(.*)$", head, re.MULTILINE)}
    if not found or "EMSA/MAS" not in keys.get("FORMAT", "").upper() or "NPOINTS" not in keys:
        raise MisuseError(name, "be an EMSA/MAS spectrum", Clause("it lacks its #FORMAT, #NPOINTS or #SPECTRUM"))
    is_pairs = keys.get("DATATYPE", "Y").upper() == "XY"
    numbers = np.array(read_reals(re.split(r"[,\s]+", body.partition("\n")[2].partition("#")[0].strip(", \r\n\t"))))
    wanted = int(float(keys["NPOINTS"]))
    if is_pairs and "#ENDOFDATA" in body and len(numbers) % 2 == 0:
        wanted = len(numbers) // 2  # whole, whatever the header counts: that of the example of the format is one short
    if len(numbers) != wanted * (1 + is_pairs):
        raise MisuseError(name, f"hold the {wanted} points that its header names", f"{len(numbers)} numbers")
    places = float(keys.get("OFFSET", 0)) + float(keys.get("XPERCHAN", 0)) * np.arange(wanted)
    return _spectrum(
        numbers[1::2] if is_pairs else numbers,
        numbers[0::2] if is_pairs else places,
        keys.get("XUNITS", ""),
        keys.get("YUNITS", ""),
    )


def _spectrum(
    values: Sequence[float] | NDArray[np.float64], places: NDArray[np.generic], of: str, unit: str
) -> ReaderOutput:
    """One row, its channels named by their places on the axis; places that are all alike name nothing."""
    names = distinct_or_none([f"{place:.7g} {of}".rstrip() for place in places.tolist()])
    return ReaderOutput(
        np.asarray(values, dtype=np.float64)[None], axes=SPECTRUM_AXES, headings=(None, names), unit=unit
    )


def _sections(name: str, heading: str, path: Path) -> dict[str, str]:
    """The texts under headings of lines of their own, each of which may stand once."""
    _, *parts = re.split(heading, _text(path), flags=re.MULTILINE)
    titles = [title.strip() for title in parts[0::2]]
    if len(set(titles)) < len(titles):
        twice = next(title for i, title in enumerate(titles) if title in titles[:i])
        raise MisuseError(name, "have each of its sections once", Clause(f"{twice!r} appears more than once"))
    return dict(zip(titles, (text.strip() for text in parts[1::2]), strict=True))


def _section(name: str, sections: dict[str, str], title: str) -> str:
    if not sections.get(title):
        raise MisuseError(
            name, f"have numbers in a section {title}", Clause(f"it has the sections {', '.join(sections) or 'none'}")
        )
    return sections[title]


def _text(path: Path) -> str:
    """Comments may be in any encoding; the numbers and keywords are ASCII in all of them."""
    return path.read_bytes().decode("latin-1").replace("\r\n", "\n")
