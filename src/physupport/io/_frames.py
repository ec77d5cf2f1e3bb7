"""Numbers one after another behind a header that says how many: ENVI, Princeton Instruments .spe, and .wav."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from struct import unpack_from
from typing import Final, TypeAlias, final

import numpy as np
import scipy
from numpy.typing import NDArray

from .._errors import Clause, MisuseError
from ._rows import map_file, part_of
from ._table import ReaderOutput, check_no_member, distinct_or_none
from ._text import SPECTRUM_AXES, read_iaea


def read_spe(name: str, path: Path, member: str | None) -> ReaderOutput:
    """Gamma spectra begin with a dollar sign; everything else of this ending is taken for frames of a camera."""
    with path.open("rb") as file:
        is_text = file.read(64).lstrip().startswith(b"$")
    return read_iaea(name, path, member) if is_text else _read_camera(name, path, member)


_PLACES: Final = {"width": (42, "<H"), "kind": (108, "<h"), "strips": (656, "<H"), "footer": (678, "<Q"),
                  "frames": (1446, "<i"), "version": (1992, "<f")}  # fmt: skip
_CAMERA_HEADER: Final = 4100  # bytes
_CAMERA_TYPES: Final = {0: "<f4", 1: "<i4", 2: "<i2", 3: "<u2", 5: "<f8", 6: "<u1", 8: "<u4"}


def _read_camera(name: str, path: Path, member: str | None) -> ReaderOutput:
    """Every strip of every frame of a Princeton Instruments camera is a row of pixels."""
    check_no_member(name, member)
    with path.open("rb") as file:
        header = file.read(_CAMERA_HEADER)
    if len(header) < _CAMERA_HEADER:
        raise MisuseError(name, "begin with `$`, or with the 4100 bytes of a camera", f"{len(header)} bytes")
    fields = {key: unpack_from(form, header, place)[0] for key, (place, form) in _PLACES.items()}
    if fields["kind"] not in _CAMERA_TYPES:
        raise MisuseError(name, "begin with `$`, or with the header of a camera", f"the number type {fields['kind']}")
    end = fields["footer"] if fields["version"] >= 3 and fields["footer"] else None  # a text follows the frames
    shape = (fields["frames"] * fields["strips"], fields["width"])
    values = _mapped(name, path, _CAMERA_TYPES[fields["kind"]], shape, _CAMERA_HEADER, end)
    return ReaderOutput(values, axes=SPECTRUM_AXES, unit="counts")


_ENVI_TYPES: Final = {1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 6: "c8", 9: "c16", 12: "u2", 13: "u4", 14: "i8",
                      15: "u8"}  # fmt: skip
_ENVI_ORDERS: Final = {"bsq": (2, 0, 1), "bil": (0, 2, 1), "bip": (0, 1, 2)}  # of lines, samples and bands
_ENVI_ENDINGS: Final = ("", ".sli", ".img", ".dat", ".raw", ".bsq", ".bil", ".bip")
_ENVI_AXES: Final = (("rows", "pixels", "spectra"), ("columns", "bands", "channels"))


def read_envi(name: str, path: Path, member: str | None) -> ReaderOutput:
    """Read a library of spectra, or an image of which every pixel is a row, line by line; by its header or its numbers.

    Bands that the header calls bad are left out.  Gains, offsets and a scale factor of reflectance are applied.
    """
    check_no_member(name, member)
    header, numbers = _envi_pair(name, path)
    keys = _envi_keys(name, header)
    cube = _envi_cube(name, numbers, keys)
    values = _envi_values(name, cube, keys)
    is_library = _is_library(keys)
    headings = (
        _named(name, keys, "spectra names", values.shape[0]) if is_library else None,
        _envi_bands(name, keys, values.shape[1]),
    )
    values = _scaling(name, keys, cube.shape[2])(values)
    is_good = _good_bands(name, keys, values.shape[1])
    if is_good is not None:
        values = values[:, is_good]
        headings = (headings[0], _of_these(headings[1], is_good))
    return ReaderOutput(values, axes=_ENVI_AXES, headings=headings)


Scaling: TypeAlias = Callable[[NDArray[np.generic]], NDArray[np.generic]]


def _scaling(name: str, keys: dict[str, str], n_bands: int) -> Scaling:
    """The function from stored numbers (..., bands) to those that are meant: stored * gain / divisor + offset.

    It gives numbers that stay as they are stored without a copy.  Two scales that cannot both be meant are refused.
    """
    for key, plain in (("data reflectance gain values", 1.0), ("data reflectance offset values", 0.0)):
        if any(float(each) != plain for each in _listed(keys.get(key, ""))):
            remedy = "Apply them to the numbers, and take the key out of the header."
            raise MisuseError(name, f"have no {key!r} in its header, which are not applied here", keys[key], remedy)
    divisor = float(keys.get("reflectance scale factor", 1.0))
    lists = {key: keys.get(f"data {key} values", "") for key in ("gain", "offset")}
    if any(lists.values()) and divisor != 1.0:
        remedy = "Take out of the header what does not belong to these numbers."
        rule = "have gains and offsets, or a reflectance scale factor, in its header"
        raise MisuseError(name, rule, "both", remedy)
    gains, offsets = (
        np.array([float(each) for each in _of_length(name, f"data {key} values", lists[key], n_bands)] or [plain])
        for key, plain in (("gain", 1.0), ("offset", 0.0))
    )
    is_plain = divisor == 1.0 and bool((gains == 1.0).all()) and not offsets.any()

    def scaled(stored: NDArray[np.generic]) -> NDArray[np.generic]:
        return stored if is_plain else np.asarray(np.multiply(stored, gains) / divisor + offsets)

    return scaled


@final
@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """Pixels (lines, samples, bands) of a file, read in parts; those that its header calls missing are not finite."""

    cube: NDArray[np.generic]  # all bands
    is_good: NDArray[np.bool_] | None  # which of them are
    scaling: Scaling
    missing: float | None
    bands: tuple[str, ...] | None  # names of the good ones

    @property
    def shape(self) -> tuple[int, ...]:
        """Lines, samples and good bands."""
        count = self.cube.shape[2] if self.is_good is None else int(self.is_good.sum())
        return (*self.cube.shape[:2], count)

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The number type, as the header states it."""
        return np.dtype(np.complex128 if self.cube.dtype.kind == "c" else np.float64)

    def __getitem__(self, part: tuple[slice, ...]) -> NDArray[np.generic]:
        """Read some lines and samples."""
        pixels = np.array(part_of(self.cube, part), dtype=self.dtype)
        if self.missing is not None:
            pixels[pixels == self.missing] = np.nan
        scaled = self.scaling(pixels)
        return scaled if self.is_good is None else scaled[..., self.is_good]


def open_image(name: str, path: Path) -> Image:
    """An ENVI image with its lines and samples, mapped into memory and not read here."""
    header, numbers = _envi_pair(name, path)
    keys = _envi_keys(name, header)
    cube = _envi_cube(name, numbers, keys)
    missing = keys.get("data ignore value")
    count = cube.shape[2]
    is_good = _good_bands(name, keys, count)
    bands = _envi_bands(name, keys, count)
    named = bands if is_good is None else _of_these(bands, is_good)
    return Image(cube, is_good, _scaling(name, keys, count), None if missing is None else float(missing), named)


def _is_library(keys: dict[str, str]) -> bool:
    return keys.get("file type", "").lower() == "envi spectral library"


def _envi_bands(name: str, keys: dict[str, str], count: int) -> tuple[str, ...] | None:
    """Wavelengths with their unit, or else the names of the bands of an image."""
    if "wavelength" not in keys:
        return None if _is_library(keys) else _named(name, keys, "band names", count)
    unit = keys.get("wavelength units", "")
    of = "" if unit.lower() in ("unknown", "index") else unit
    places = _of_length(name, "wavelength", keys["wavelength"], count)
    return distinct_or_none([f"{each} {of}".rstrip() for each in places])


def _good_bands(name: str, keys: dict[str, str], count: int) -> NDArray[np.bool_] | None:
    """(count,) true for bands that the header does not call bad; None if it calls none so."""
    listed = _of_length(name, "bbl", keys.get("bbl", ""), count)
    is_good = np.array([float(each) != 0.0 for each in listed], dtype=np.bool_)
    return None if is_good.all() else is_good


def _of_these(names: tuple[str, ...] | None, chosen: NDArray[np.bool_]) -> tuple[str, ...] | None:
    return None if names is None else tuple(np.array(names)[chosen].tolist())


def _envi_cube(name: str, path: Path, keys: dict[str, str]) -> NDArray[np.generic]:
    """The numbers as lines, samples and bands; a view of the file."""
    if keys.get("file compression", "0") != "0":
        raise MisuseError(name, "hold its numbers uncompressed", "a compressed file")
    shape = tuple(int(keys[key]) for key in ("lines", "samples", "bands"))
    kind = np.dtype(_ENVI_TYPES[int(keys["data type"])]).newbyteorder(">" if keys["byte order"] == "1" else "<")
    order = _ENVI_ORDERS[keys["interleave"].lower()]
    stored = tuple(shape[axis] for axis in order)
    cube = _mapped(name, path, kind, stored, int(keys.get("header offset", 0)), None)
    return cube.transpose(np.argsort(order))


def _envi_values(name: str, pixels: NDArray[np.generic], keys: dict[str, str]) -> NDArray[np.generic]:
    """The numbers as rows and bands; a view of the file unless its lines and bands alternate."""
    is_library = _is_library(keys)
    if is_library and pixels.shape[2] != 1:
        raise MisuseError(name, "have one band, being a spectral library", Clause(f"it has bands = {pixels.shape[2]}"))
    values = pixels[..., 0] if is_library else pixels.reshape(-1, pixels.shape[2])
    ignored = keys.get("data ignore value")
    if ignored is not None and np.any(values == float(ignored)):
        remedy = "Rows with gaps have to be left out, or filled in, beforehand."
        raise MisuseError(
            name, "hold numbers only", Clause(f"it has entries of {ignored}, which its header calls missing"), remedy
        )
    return values


def envi_files(path: Path) -> tuple[Path, ...]:
    """The header and the numbers, of which one was named; the other lies beside it.  Nothing if there is no other."""
    if path.suffix.lower() == ".hdr":
        pairs = [(path, path.with_suffix(ending)) for ending in _ENVI_ENDINGS]
    else:
        pairs = [(other, path) for other in (path.with_name(f"{path.name}.hdr"), path.with_suffix(".hdr"))]
    return next((pair for pair in pairs if all(each.is_file() for each in pair)), ())


def _envi_pair(name: str, path: Path) -> tuple[Path, Path]:
    pair = envi_files(path)
    if not pair:
        missing = "the numbers" if path.suffix.lower() == ".hdr" else "the header .hdr"
        raise MisuseError(name, f"have {missing} beside it, under the same name", Clause("there is no such file"))
    return pair[0], pair[1]


def _envi_keys(name: str, path: Path) -> dict[str, str]:
    """Lines `key = value`, of which a value in braces may go on over several; each line is looked at once."""
    text = path.read_bytes().decode("latin-1")
    if not text.startswith("ENVI"):
        raise MisuseError(name, "have a header whose first line is ENVI", repr(text[:40].split("\n")[0]))
    keys: dict[str, str] = {}
    lines = iter(text.replace("\r", "\n").split("\n"))
    for line in lines:
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals or key.startswith(";"):
            continue
        if value.startswith("{") and "}" not in value:
            value = "\n".join([value, *_until_brace(name, key, lines)])
        if keys.setdefault(key.lower(), value) != value and key.lower() != "description":
            raise MisuseError(
                name, f"have one {key!r} in its header", Clause(f"it has {keys[key.lower()]} and {value}")
            )
    for key in ("samples", "lines", "bands", "data type"):
        if not keys.get(key, "").isdigit():
            raise MisuseError(name, f"have a whole number as {key!r} in its header", keys.get(key, "none"))
    known = {"data type": map(str, _ENVI_TYPES), "interleave": _ENVI_ORDERS, "byte order": ("0", "1")}
    for key, values in known.items():
        if keys.setdefault(key, "0" if key == "byte order" else "bsq").lower() not in (listed := list(values)):
            raise MisuseError(name, f"have {key!r} one of {', '.join(listed)} in its header", keys[key])
    return keys


def _until_brace(name: str, key: str, lines: Iterator[str]) -> Iterator[str]:
    """The lines of a list up to the one that closes it."""
    for line in lines:
        yield line
        if "}" in line:
            return
    raise MisuseError(name, f"close the braces of {key!r} in its header", Clause("they are never closed"))


def _listed(value: str) -> list[str]:
    return [each.strip() for each in value.strip("{} \r\n").split(",")] if value else []


def _of_length(name: str, key: str, value: str, count: int) -> list[str]:
    """The entries of a list, one for each of so many; nothing where there is none."""
    listed = _listed(value)
    if listed and len(listed) != count:
        raise MisuseError(name, f"have {count} entries of {key!r} in its header", len(listed))
    return listed


def _named(name: str, keys: dict[str, str], key: str, count: int) -> tuple[str, ...] | None:
    return distinct_or_none(_of_length(name, key, keys.get(key, ""), count)) or None


def _mapped(
    name: str, path: Path, kind: np.dtype[np.generic] | str, shape: tuple[int, ...], offset: int, end: int | None
) -> NDArray[np.generic]:
    """A memory map of exactly as many numbers as the header names: more or fewer are those of another shape."""
    there = (path.stat().st_size if end is None else end) - offset
    if min(shape) < 1 or prod(shape) * np.dtype(kind).itemsize != there:
        wanted = f"{' x '.join(map(str, shape))} numbers of {np.dtype(kind).itemsize} bytes"
        raise MisuseError(name, f"hold the {wanted} that its header names", Clause(f"it has {there:,} bytes"))
    return map_file(path, kind, offset, shape)


def read_wav(name: str, path: Path, member: str | None) -> ReaderOutput:
    """Samples by channels, whole numbers as they were stored."""
    check_no_member(name, member)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Reached EOF")  # scipy would give what there is
        warnings.filterwarnings("ignore", "Chunk")  # names, dates and the like
        _, values = scipy.io.wavfile.read(path)
    return ReaderOutput(
        values if values.ndim == 2 else values[:, None], axes=(("rows", "samples"), ("columns", "channels"))
    )
