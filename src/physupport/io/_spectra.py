"""Spectra as text of two columns, libraries of spectra in folders and files, and their resampling to one axis."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, final

import numpy as np

from .._errors import Clause, MisuseError
from .._typing import Array, BoolArray
from ._names import is_unit, measure, place_of
from ._table import ReaderOutput, channel_axis, check_no_member, distinct_or_none
from ._text import SPECTRUM_AXES, read_csv

_NUMBER: Final = re.compile(r"[+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?")
_COMMENTS: Final = ("#", "%", ";", "!", "//", "'")
# Where a title such as `Wavelength (nm)`, `Energy/keV` or `Raman shift cm-1` has its unit, the first that fits.
_UNITS: Final = tuple(map(re.compile, (r"[(\[]([^()\[\]]+)[)\]]\s*$", r"[/,]\s*([^/,]+)$", r"\s(\S+)$", r"(.*)")))
_BRACKETS: Final = re.compile(r"[(\[]([^()\[\]]+)[)\]]")
_FEWEST_LINES: Final = 3  # of fewer nobody can tell a spectrum from rows
_COMMA_REMEDY: Final = "Write decimal points, or separate cells by semicolons or tabs."


def read_spectrum_text(name: str, path: Path, member: str | None) -> ReaderOutput:
    """Read lines of a place on the axis and one value or several; every further column is a spectrum.

    Cells are separated by tabs, semicolons, commas or blanks.  Commas are decimal points where something else separates
    the cells.  Lines before the first one of numbers are a header: its last line may name the columns, and the unit of
    the axis.  Lines that begin with #, %, !, ; or // are comments.
    """
    check_no_member(name, member)
    heads: list[str] = []
    last_head = 0
    rows: list[list[str]] = []
    first = ""
    for number, line in enumerate(_decoded(path).splitlines(), 1):
        text = line.strip().strip("\ufeff")
        cells = _cells(text)
        if text and not text.startswith(_COMMENTS) and cells and all(map(_NUMBER.fullmatch, cells)):
            first = first or text
            rows.append(cells)
            if len(cells) != len(rows[0]):
                rule = f"have {len(rows[0])} numbers in every line, as in the first"
                raise MisuseError(name, rule, f"{len(cells)} in line {number}: {text[:60]!r}")
        elif text and not rows:
            heads.append(text)
            last_head = number
        elif text and not text.startswith(_COMMENTS):
            remedy = "Leave the line out, or begin it with #."
            raise MisuseError(name, "hold numbers below its header", f"{text[:60]!r} in line {number}", remedy)
    if len(rows) < _FEWEST_LINES or len(rows[0]) < 2:
        found = f"{len(rows)} lines of numbers" if len(rows) < _FEWEST_LINES else "one column"
        remedy = 'Set channels = "columns" for a table of .csv with a line a spectrum.'
        raise MisuseError(name, "have a line a channel, its place on the axis and its value", found, remedy)
    above = _cells(heads[-1]) if heads else []
    if len(above) == len(rows[0]) and _NUMBER.fullmatch(above[0]):
        raise MisuseError(name, "hold numbers below its header", f"{heads[-1][:60]!r} in line {last_head}")
    table = _numbers(name, rows)
    return _as_rows(name, table, *_titles(heads, rows[0], first))


def read_spectrum_csv(
    name: str, path: Path, member: str | None, header: bool | None = None, *, is_outline: bool = False
) -> ReaderOutput:
    """Read text of an axis and values; or, below a header of places, a line a spectrum.

    Such a header has units, as in `400 nm,401 nm`, unless the file is said to have one.
    """
    if header is None:
        with path.open(encoding="utf-8", errors="replace") as file:
            cells = file.readline().strip(" ,\n\ufeff").split(",")
        units = {place and place[1] for place in map(place_of, cells)}
        if not all(unit is not None and is_unit(unit) for unit in units):
            return read_spectrum_text(name, path, member)
    held = read_csv(name, path, member, header, is_outline=is_outline)
    is_named = all(place_of(each) for each in held.headings[1] or ("",))
    return replace(held, axes=SPECTRUM_AXES) if is_named else held


def is_columns(path: Path) -> bool:
    """True for text most of whose lines are two or three numbers, and that is no XML."""
    content = path.read_bytes()
    if b"\0" in content or content.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"<"):
        return False
    lines = [line for line in map(str.strip, _decoded(path).splitlines()) if line]
    cells = map(_cells, lines)
    return 2 * sum(len(each) in (2, 3) and all(map(_NUMBER.fullmatch, each)) for each in cells) > len(lines)


def _decoded(path: Path) -> str:
    """The text; programs of instruments write UTF-8, UTF-16 or Latin-1."""
    content = path.read_bytes()
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _cells(text: str) -> list[str]:
    """The cells of a line, by the first separator of these that it has."""
    for separator in ("\t", ";"):
        if separator in text.rstrip(separator):
            return [cell.strip() for cell in text.rstrip(separator).split(separator)]
    if re.search(r",\s", text):
        return [cell.strip() for cell in text.rstrip(", ").split(",")]
    if re.search(r"\s", text):
        return text.split()
    return text.rstrip(",").split(",")


def _numbers(name: str, rows: Sequence[Sequence[str]]) -> Array:
    """(n, m) float64; a comma within a cell is a decimal comma unless some cell has a point."""
    has_point = any("." in cell for row in rows for cell in row)
    if has_point and any("," in cell for row in rows for cell in row):
        cell = next(cell for row in rows for cell in row if "," in cell)
        raise MisuseError(name, "have decimal points or decimal commas, not both", repr(cell), _COMMA_REMEDY)
    table = np.array([[float(cell.replace(",", ".")) for cell in row] for row in rows])
    # 400,5,0,12 is two numbers with decimal commas, or four without.
    are_whole = not has_point and table.shape[1] > 2 and bool((table == table.round()).all())
    if are_whole and not _is_axis(table[:, 0]):
        shown = ",".join(rows[0])
        raise MisuseError(name, "separate cells by something else than decimals", repr(shown), _COMMA_REMEDY)
    return table


def _is_axis(places: Array) -> bool:
    steps = np.diff(places)
    return bool(np.isfinite(places).all() and ((steps > 0.0).all() or (steps < 0.0).all()))


def _titles(heads: Sequence[str], row: Sequence[str], line: str) -> tuple[str, tuple[str, ...] | None]:
    """The unit of the axis, and the names of the columns of values, as the last line of a header says.

    row: the cells of the first line of numbers, which shows by what cells are separated.
    """
    head = heads[-1].lstrip("#%! ") if heads else ""
    between = line[len(row[0]) :].strip()[:1]
    parts = head.split(between) if between in ("\t", ",", ";") else head.split()
    cells = [cell.strip(" #%\"'") for cell in parts]
    if len(cells) == len(row):
        return unit_in(cells[0]), tuple(cells[1:])
    # Words of several columns, whose brackets belong to the axis unless they are the last ones.
    units = _BRACKETS.findall(head)
    is_first = len(units) > 1 or (len(units) == 1 and not head.endswith((")", "]")))
    return units[0] if is_first and is_unit(units[0]) else "", None


def unit_in(title: str) -> str:
    """The unit in the title of an axis, such as nm in `Wavelength (nm)`; empty where none is known."""
    found = (match[1] for pattern in _UNITS if (match := pattern.search(title)))
    unit = next(found, "")
    return unit if is_unit(unit) else ""


def _as_rows(name: str, table: Array, unit: str, titles: tuple[str, ...] | None) -> ReaderOutput:
    if not _is_axis(table[:, 0]):
        remedy = "Its first column is the axis: bring its lines into order, each place once."
        raise MisuseError(
            name, "have places that rise or fall all along its first column", Clause("they do not"), remedy
        )
    rows = table[:, 1:].T
    named = titles if len(rows) > 1 and titles is not None and len({*titles}) == len(titles) else None
    return spectrum_rows(rows, table[:, 0], unit, named)


def spectrum_rows(
    rows: Array, places: Array, of: str, titles: tuple[str, ...] | None = None, unit: str = ""
) -> ReaderOutput:
    """Spectra as rows, their channels named by places on the axis; places that are all alike name nothing."""
    names = distinct_or_none([f"{place:.10g} {of}".rstrip() for place in places.tolist()])
    return ReaderOutput(
        np.ascontiguousarray(np.atleast_2d(rows), dtype=np.float64),
        axes=SPECTRUM_AXES,
        headings=(titles, names),
        unit=unit,
    )


@final
@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """Values at places on an axis, which rise."""

    name: str
    places: Array  # (n,)
    values: Array  # (n,)
    axis_unit: str = ""
    unit: str = ""  # the instrument or the sample that a replicate comes from
    is_transmitted: bool = False  # a share of light that is left, as its file says

    @classmethod
    def of(cls, name: str, places: Array, values: Array, axis_unit: str = "", unit: str = "") -> "Spectrum":
        """The same in the order of its places; two at least, all finite and different."""
        axis, heights = (np.asarray(each, dtype=np.float64).reshape(-1) for each in (places, values))
        if len(axis) != len(heights) or len(axis) < 2:
            raise MisuseError(f"spectrum {name}", "have a value at two places or more", f"{len(axis)}, {len(heights)}")
        order = np.argsort(axis)
        if not (np.diff(axis[order]) > 0.0).all() or not np.isfinite(heights).all():
            raise MisuseError(f"spectrum {name}", "have finite values at different places", Clause("it has others"))
        return cls(name, axis[order], heights[order], axis_unit, unit)


def spectra_of(name: str, stem: str, held: ReaderOutput) -> tuple[Spectrum, ...]:
    """The spectra that a file holds, one a row; a single one is named by its file."""
    axis = channel_axis(name, held, None)
    found = [place_of(each) for each in held.headings[axis] or ()]
    places = np.array([place[0] for place in found if place is not None])
    if held.values.ndim != 2 or not found or len(places) < len(found):
        remedy = "Write text of two columns, or name its channels by their places, such as 400.5 nm."
        raise MisuseError(
            name, "say where its channels lie on the axis, each place once", Clause("it does not"), remedy
        )
    unit = next((place[1] for place in found if place is not None), "")
    rows = np.asarray(held.values if axis == 1 else held.values.T, dtype=np.float64)
    names = held.headings[1 - axis]
    if names is None:
        names = (stem,) if len(rows) == 1 else tuple(f"{stem} {i + 1}" for i in range(len(rows)))
    spectra = [Spectrum.of(title, places, row, unit) for title, row in zip(names, rows, strict=True)]
    is_transmitted = held.unit.lower().startswith(("transmit", "%t", "% t"))
    return tuple(replace(each, is_transmitted=is_transmitted) for each in spectra)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    r"""Spectra at the places of one axis, and how wide the interpolation makes them.

    Between two places u < t < v of its own axis a spectrum f differs from the line through its ends by
    :math:`(t-u)(v-t) f[u, v, t]`, with the second divided difference f[.,.,.].  Those of u, v and the next place on
    either side, each in proportion to the distance of t from the other one's, give the correction, which is exact for
    every cubic; in the first and the last step one of them is known, which is exact for every parabola.  Up to half a
    step beyond its ends, the correction is that of the line that goes on over its last value.  The corrected value is
    taken as the response and the whole correction as its width: the truth is anywhere between the uncorrected value and
    its mirror image.
    """

    names: tuple[str, ...]
    columns: Array  # (q, E) corrected
    widths: Array  # (q, E) the corrections

    @property
    def share(self) -> float:
        """The largest width of a spectrum, relative to its norm."""
        return float((np.linalg.norm(self.widths, axis=0) / np.linalg.norm(self.columns, axis=0)).max(initial=0.0))

    @property
    def is_wide(self) -> bool:
        """True if the interpolation moved a spectrum by more than rounding does."""
        return self.share > _NO_WIDTH


# Corrections smaller than this, relative to their spectrum, are rounding.
_NO_WIDTH: Final = 1e-6
# Places this near to one of the spectrum's own, in its steps, are that one: they may be rounded.
_NEAR: Final = 1e-4


def resampled(spectra: Sequence[Spectrum], places: Array, unit: str, used: BoolArray | None = None) -> Resampled:
    """Every spectrum at these places by interpolation; used: the channels that it must reach, all unless given."""
    transmitted = [spectrum.name for spectrum in spectra if spectrum.is_transmitted]
    if 0 < len(transmitted) < len(spectra):
        rule = "have spectra of one kind, transmittance or not"
        remedy = "Save all as absorbance, which is -log10 of transmittance and adds up in a mixture."
        raise MisuseError(
            "library", rule, Clause(f"it has transmittance of {', '.join(transmitted[:3])} among others"), remedy
        )
    where = np.ones(len(places), dtype=np.bool_) if used is None else used
    pairs = [_at(spectrum, places, unit, where) for spectrum in spectra]
    columns, widths = (np.array([pair[k] for pair in pairs]).T for k in (0, 1))
    return Resampled(tuple(spectrum.name for spectrum in spectra), columns, widths)


def _at(spectrum: Spectrum, places: Array, unit: str, used: BoolArray) -> tuple[Array, Array]:
    """(q,) corrected values and corrections."""
    own = spectrum.places * _ratio(spectrum, unit)
    step = np.diff(own).max()
    low, high = own[0] - 0.5 * step, own[-1] + 0.5 * step
    outside = used & ((places < low) | (places > high))
    if outside.any():
        shared = max(own[0], places[used].min()), min(own[-1], places[used].max())
        told = f"{own[0]:g} to {own[-1]:g} {unit}".rstrip()
        remedy = f"Set window = [{shared[0]:.10g}, {shared[1]:.10g}]." if shared[0] < shared[1] else "Take it out."
        rule = f"reach from {places[used].min():g} to {places[used].max():g} {unit}".rstrip() + ", as the signal does"
        raise MisuseError(f"spectrum {spectrum.name!r}", rule, told, remedy)
    k = np.clip(np.searchsorted(own, places, side="right") - 1, 0, len(own) - 2)
    share = np.clip((places - own[k]) / (own[k + 1] - own[k]), 0.0, 1.0)
    share = np.where(np.minimum(share, 1.0 - share) < _NEAR, share.round(), share)
    line = (1.0 - share) * spectrum.values[k] + share * spectrum.values[k + 1]
    if len(own) < 3:
        return line, np.zeros_like(line)
    slopes = np.diff(spectrum.values) / np.diff(own)
    bends = np.diff(slopes) / (own[2:] - own[:-2])  # (n - 2,) second divided differences
    bends = np.concatenate([bends[:1], bends, bends[-1:]])
    gap = own[k + 1] - own[k]
    before, after = own[np.maximum(k - 1, 0)], own[np.minimum(k + 2, len(own) - 1)]
    part = (np.clip(places, own[0], own[-1]) - before) / (after - before)
    correction = share * (1.0 - share) * gap**2 * ((1.0 - part) * bends[k] + part * bends[k + 1])
    beyond = np.clip(places, low, high) - np.clip(places, own[0], own[-1])
    correction -= np.where(np.abs(beyond) < _NEAR * gap, 0.0, beyond * slopes[k])
    return line - correction, correction


def _ratio(spectrum: Spectrum, unit: str) -> float:
    """The factor from the unit of a spectrum to that of the axis; 1 where one of the two has none."""
    if not spectrum.axis_unit or not unit:
        return 1.0
    base, factor = measure(spectrum.axis_unit)
    other, scale = measure(unit)
    if base != other:
        remedy = "Bring both to one axis beforehand, such as wavenumbers."
        raise MisuseError(
            f"spectrum {spectrum.name!r}", f"be in the unit {unit} of the signal", spectrum.axis_unit, remedy
        )
    return factor / scale
