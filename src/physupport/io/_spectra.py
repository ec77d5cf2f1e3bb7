"""One spectrum a file, as text: the .spe files of the IAEA, the .mca files of Amptek, and EMSA/MAS (ISO 22029)."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import NDArray

from .._errors import MisuseError
from ._csv import read_reals
from ._table import Held, check_no_member, distinct_or_none

SPECTRUM_AXES: Final = (("rows", "spectra"), ("columns", "channels"))


def read_iaea(name: str, path: Path, member: str | None) -> Held:
    """Sections `$NAME:`; `$DATA:` has the numbers of the first and the last channel, and then the counts."""
    check_no_member(name, member)
    sections = _sections(name, r"^\$([A-Z_.0-9]+):", path)
    first, last, *counts = read_reals(_section(name, sections, "DATA").split())
    if len(counts) != last - first + 1:
        raise MisuseError(name, f"hold the counts of channels {first:g} to {last:g}", f"{len(counts)} of them")
    # In the first of the two, the coefficients are preceded by their number.
    words = sections["MCA_CAL"].split()[1:] if "MCA_CAL" in sections else sections.get("ENER_FIT", "").split()
    return _spectrum(counts, *_calibrated(words, np.arange(first, last + 1)), "counts")


def _calibrated(words: Sequence[str], channels: NDArray[np.float64]) -> tuple[NDArray[np.float64], str]:
    """The energies that a polynomial gives to channels, and their unit, which may stand behind its coefficients."""
    unit = words[-1] if words and words[-1].isalpha() else ""
    coefficients = read_reals(words[: len(words) - bool(unit)])
    if not any(coefficients[1:]):  # as a counter that was never calibrated writes it
        return channels, ""
    return np.asarray(polynomial.polyval(channels, coefficients)), unit


def read_mca(name: str, path: Path, member: str | None) -> Held:
    """Sections `<<NAME>>`: a count a line in DATA, and pairs of channel and energy in CALIBRATION, if it is there."""
    check_no_member(name, member)
    sections = _sections(name, r"^<<([^<>]+)>>", path)
    counts = read_reals(_section(name, sections, "DATA").split())
    if "END" not in sections:
        raise MisuseError(name, "close its data by <<END>>", "a file without it, which may have been cut off")
    label, _, pairs = sections.get("CALIBRATION", "").partition("\n")
    points = np.reshape(read_reals(pairs.split()), (-1, 2))  # (points, 2)
    if len(points) < 2:
        return _spectrum(counts, np.arange(len(counts)), "", "counts")
    energies = polynomial.polyval(np.arange(len(counts)), polynomial.polyfit(points[:, 0], points[:, 1], 1))
    unit = label.rpartition("-")[2].strip()
    return _spectrum(counts, energies, "" if unit.lower() == "channel" else unit, "counts")


def read_emsa(name: str, path: Path, member: str | None) -> Held:
    """Lines `#KEYWORD : value` and, after `#SPECTRUM`, the values of y, or pairs of x and y."""
    check_no_member(name, member)
    head, found, body = _text(path).partition("#SPECTRUM")
    keys = {key.strip().upper(): value.strip() for key, value in re.findall(r"^#([^:\n]+):(.*)$", head, re.MULTILINE)}
    if not found or "EMSA/MAS" not in keys.get("FORMAT", "").upper() or "NPOINTS" not in keys:
        raise MisuseError(name, "be an EMSA/MAS spectrum", "a file without its #FORMAT, #NPOINTS or #SPECTRUM")
    is_pairs = keys.get("DATATYPE", "Y").upper() == "XY"
    numbers = np.array(read_reals(re.split(r"[,\s]+", body.partition("\n")[2].partition("#")[0].strip(", \r\n\t"))))
    wanted = int(float(keys["NPOINTS"]))
    if len(numbers) != wanted * (1 + is_pairs):
        raise MisuseError(name, f"hold the {wanted} points that its header names", f"{len(numbers)} numbers")
    places = float(keys.get("OFFSET", 0)) + float(keys.get("XPERCHAN", 0)) * np.arange(wanted)
    return _spectrum(
        numbers[1::2] if is_pairs else numbers,
        numbers[0::2] if is_pairs else places,
        keys.get("XUNITS", ""),
        keys.get("YUNITS", ""),
    )


def _spectrum(values: Sequence[float] | NDArray[np.float64], places: NDArray[np.generic], of: str, unit: str) -> Held:
    """One row, its channels named by their places on the axis; places that are all alike name nothing."""
    names = distinct_or_none([f"{place:.7g} {of}".rstrip() for place in places.tolist()])
    return Held(np.asarray(values, dtype=np.float64)[None], axes=SPECTRUM_AXES, headings=(None, names), unit=unit)


def _sections(name: str, heading: str, path: Path) -> dict[str, str]:
    """The texts under headings of lines of their own, each of which may stand once."""
    _, *parts = re.split(heading, _text(path), flags=re.MULTILINE)
    titles = [title.strip() for title in parts[0::2]]
    if len(set(titles)) < len(titles):
        twice = next(title for i, title in enumerate(titles) if title in titles[:i])
        raise MisuseError(name, "have each of its sections once", f"{twice!r} more than once")
    return dict(zip(titles, (text.strip() for text in parts[1::2]), strict=True))


def _section(name: str, sections: dict[str, str], title: str) -> str:
    if not sections.get(title):
        raise MisuseError(name, f"have numbers in a section {title}", f"the sections {', '.join(sections) or 'none'}")
    return sections[title]


def _text(path: Path) -> str:
    """Comments may be in any encoding; the numbers and keywords are ASCII in all of them."""
    return path.read_bytes().decode("latin-1").replace("\r\n", "\n")
