"""Files of spectrometers and of images: through small packages behind extras, and WDF by its blocks."""

from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path
from struct import unpack_from
from typing import Any, Final

import numpy as np

from .._errors import Clause, MisuseError
from .._typing import Array
from ._binary import as_text, read_hdf5
from ._gamma import read_gamma
from ._spectra import spectrum_rows, unit_in
from ._table import ReaderOutput, check_no_member, chosen_member, distinct_or_none


def _package(name: str, package: str, extra: str) -> Any:  # noqa: ANN401  packages carry no types
    """The package that reads a format, if it is installed."""
    try:
        return import_module(package)
    except ImportError as error:
        remedy = f'Install it with pip install "physupport[{extra}]".'
        raise MisuseError(
            name, f"be read with {package.partition('.')[0]}", Clause("that package is not installed"), remedy
        ) from error


_APART: Final = "Save its spectra in files of their own, as text of two columns."
_JCAMP_UNITS: Final = {"1/CM": "cm-1", "NANOMETERS": "nm", "MICROMETERS": "um", "HZ": "Hz", "SECONDS": "s"}


def read_jcamp(name: str, path: Path, member: str | None) -> ReaderOutput:
    """One spectrum of JCAMP-DX (5.01), or one for each of its blocks."""
    check_no_member(name, member)
    package = _package(name, "jcamp", "spectra")
    with redirect_stdout(StringIO()) as told:  # the package prints what its checks find
        held = package.readfile(str(path))
    blocks = [block for block in held.get("children", []) if "x" in block] or [held]
    is_broken = "Mismatch" in told.getvalue() or "Y-Check" in told.getvalue()
    if is_broken or any(not np.size(block.get("x", ())) for block in blocks):
        found = told.getvalue().splitlines()[0] if is_broken else str(held.get("data type", "something else"))
        raise MisuseError(name, "hold whole spectra, as XYDATA or XYPOINTS", found, _APART)
    axis = np.asarray(blocks[0]["x"], dtype=np.float64)
    if any(not np.array_equal(axis, block["x"]) for block in blocks):
        raise MisuseError(name, "have its blocks on one axis", f"{len(blocks)} axes", _APART)
    rows = np.array([block["y"] for block in blocks], dtype=np.float64)
    title = str(blocks[0].get("xunits", "")).strip()
    unit = _JCAMP_UNITS.get(title.upper()) or unit_in(title)
    titles = tuple(str(block.get("title", i)).strip() for i, block in enumerate(blocks)) if len(blocks) > 1 else None
    return spectrum_rows(rows, axis, unit, titles, str(blocks[0].get("yunits", "")).lower())


# What the byte of the axis says.
_SPC_UNITS: Final = {1: "cm-1", 2: "um", 3: "nm", 4: "s", 6: "Hz", 13: "cm-1"}
_SPC_NEW: Final = 0x4B
_SPC_VERSIONS: Final = (_SPC_NEW, 0x4C, 0x4D, 0xCF)


def read_spc(name: str, path: Path, member: str | None) -> ReaderOutput:
    """The spectra of a file of Galactic's format, all on one axis; others of this ending are gamma spectra."""
    with path.open("rb") as file:
        head = file.read(32)
        if head[1] not in _SPC_VERSIONS:
            return read_gamma(name, path, member)
        check_no_member(name, member)
        file.seek(0)
        with redirect_stdout(StringIO()):  # the package prints what it leaves unread
            held = _package(name, "spc_io", "spectra").SPC.from_bytes_io(file)
    spectra = [*held]
    axis = np.asarray(spectra[0].xarray, dtype=np.float64)
    if any(not np.array_equal(axis, np.asarray(each.xarray)) for each in spectra):
        raise MisuseError(name, "have its spectra on one axis", f"{len(spectra)} axes", _APART)
    rows = np.array([np.asarray(each.yarray, dtype=np.float64) for each in spectra])
    return spectrum_rows(rows, axis, _SPC_UNITS.get(head[28], "") if head[1] == _SPC_NEW else "")


# Results of a measurement, such as absorbance, in the names of the package.
_OPUS: Final = ("a", "t", "r", "km", "ra", "e", "pas", "sm")


def read_opus(name: str, path: Path, member: str | None) -> ReaderOutput:
    """A spectrum of Bruker's OPUS: member is a (absorbance), t, r, km, ra, e, pas or sm; else the first of them."""
    held = _package(name, "brukeropus", "spectra").read_opus(str(path))
    found = [key for key in _OPUS if getattr(held, key, None) is not None]
    if not found:
        raise MisuseError(name, "hold a spectrum of OPUS", Clause("it holds none"))
    data = getattr(held, chosen_member(name, member or found[0], found))
    return spectrum_rows(np.asarray(data.y, dtype=np.float64), np.asarray(data.x, dtype=np.float64), "cm-1")


def read_omnic(name: str, path: Path, member: str | None) -> ReaderOutput:
    """The spectra of Thermo's OMNIC, .spa, .spg or .srs."""
    check_no_member(name, member)
    held = _package(name, "spectrochempy_omnic", "spectra").OMNICReader(path)
    rows = np.atleast_2d(np.asarray(held.data, dtype=np.float64))
    unit = str(getattr(held, "x_units", "") or "")
    labels = getattr(held, "y_labels", None) or ()
    titles = tuple(map(str, labels[-1])) if labels and not isinstance(labels[-1], str) else tuple(map(str, labels))
    named = titles if len(rows) > 1 and len({*titles}) == len(titles) == len(rows) else None
    return spectrum_rows(rows, np.asarray(held.x, dtype=np.float64), "cm-1" if "cm" in unit else unit, named)


_WDF_UNITS: Final = {1: "cm-1", 2: "cm-1", 3: "nm", 4: "eV", 5: "um"}
_BLOCK_HEAD: Final = 16  # bytes: four letters, a number, and the length of the block with these


def read_wdf(name: str, path: Path, member: str | None) -> ReaderOutput:
    """Spectra of Renishaw's WiRE, a row each, or an image where its block WMAP says how they lie."""
    check_no_member(name, member)
    content = path.read_bytes()
    blocks = dict(_wdf_blocks(name, content))
    if not {"WDF1", "DATA", "XLST"} <= {*blocks}:
        raise MisuseError(name, "hold the blocks WDF1, DATA and XLST", ", ".join(blocks) or "none")
    n_points, _, count = unpack_from("<iqq", content, 60)  # points, room for spectra, spectra
    axis = np.frombuffer(content, "<f4", n_points, blocks["XLST"][0] + 8).astype(np.float64)
    (kind,) = unpack_from("<i", content, blocks["XLST"][0] + 4)
    if blocks["DATA"][1] < 4 * n_points * count:
        raise MisuseError(
            name, f"hold {count} spectra of {n_points} points", Clause(f"it has {blocks['DATA'][1]:,} bytes")
        )
    rows = np.frombuffer(content, "<f4", n_points * count, blocks["DATA"][0]).reshape(count, n_points)
    held = spectrum_rows(rows, axis, _WDF_UNITS.get(kind, ""))
    if "WMAP" not in blocks:
        return held
    nx, ny = unpack_from("<ii", content, blocks["WMAP"][0] + 32)
    if nx * ny != count or min(nx, ny) < 1:
        return held
    return ReaderOutput(
        held.values.reshape(ny, nx, n_points),
        axes=(("line",), ("sample",), ("band", "channels")),
        headings=(None, None, held.headings[1]),
    )


def _wdf_blocks(name: str, content: bytes) -> Iterator[tuple[str, tuple[int, int]]]:
    """The kind of each whole block, where its content begins, and its length; the last one may be cut off."""
    start = 0
    while start + _BLOCK_HEAD <= len(content):
        kind = content[start : start + 4].decode("latin-1")
        (size,) = unpack_from("<Q", content, start + 8)
        if size < _BLOCK_HEAD:
            raise MisuseError(name, "hold whole blocks", f"{size:,} bytes of {kind!r} at {start:,}")
        if start + size > len(content):
            return
        yield kind, (start + _BLOCK_HEAD, size - _BLOCK_HEAD)
        start += size


def read_tiff(name: str, path: Path, member: str | None) -> ReaderOutput:
    """An image of lines, samples and bands, wherever its file has the bands; GeoTIFF among them."""
    check_no_member(name, member)
    with _package(name, "tifffile", "images").TiffFile(path) as file:
        series = file.series[0]
        values = np.asarray(series.asarray())
        order = str(series.axes)
    if values.ndim != len(order) or values.ndim not in (2, 3) or not {"Y", "X"} <= {*order}:
        found = f"axes {order} of shape {values.shape}"
        remedy = "Save one image a file, as an array (lines, samples, bands)."
        raise MisuseError(name, "hold an image of lines, samples and bands", found, remedy)
    if values.ndim == 2:
        raise MisuseError(name, "have several bands", Clause("it has one"), "Stack its bands into one file beforehand.")
    bands = next(i for i, letter in enumerate(order) if letter not in "YX")
    lines, samples = order.index("Y"), order.index("X")
    return ReaderOutput(values.transpose(lines, samples, bands), axes=(("line",), ("sample",), ("band", "channels")),
                        headings=(None, None, None))  # fmt: skip


def read_netcdf(name: str, path: Path, member: str | None) -> ReaderOutput:
    """A variable of a NetCDF file, of version 4 by h5py and of version 3 by scipy; packed numbers are unpacked."""
    with path.open("rb") as file:
        is_classic = file.read(3) == b"CDF"
    if is_classic:
        return _read_classic(name, path, member)
    held = read_hdf5(name, path, member)
    with import_module("h5py").File(path, "r") as file:
        known = dict(file[held.member].attrs)
    return ReaderOutput(_unpacked(held.values, known), held.member, held.axes, held.headings, held.unit)


def _unpacked(stored: Any, known: dict[str, Any]) -> Array:  # noqa: ANN401
    """Numbers as scale_factor and add_offset mean them; missing ones are not finite."""
    values = np.asarray(stored, dtype=np.float64)
    for key in ("_FillValue", "missing_value"):
        if key in known:
            values = np.where(values == float(np.ravel(known[key])[0]), np.nan, values)
    scale = float(np.ravel(known.get("scale_factor", 1.0))[0])
    return np.asarray(values * scale + float(np.ravel(known.get("add_offset", 0.0))[0]))


def _read_classic(name: str, path: Path, member: str | None) -> ReaderOutput:
    from scipy.io import netcdf_file  # slow to load, and few files are of it

    with netcdf_file(path, "r", mmap=False) as file:
        known = [key for key, each in file.variables.items() if key not in file.dimensions and each.shape]
        chosen = chosen_member(name, member, known)
        variable = file.variables[chosen]
        dims = tuple(map(str, variable.dimensions))
        headings = []
        for dim in dims:
            along = file.variables.get(dim)
            of = "" if along is None else as_text(getattr(along, "units", b""))
            places = [] if along is None else [f"{each:.10g} {of}".rstrip() for each in along[:].tolist()]
            headings.append(distinct_or_none(places) if places else None)
        values = _unpacked(variable[:].copy(), variable._attributes)  # type: ignore[attr-defined]
        unit = as_text(getattr(variable, "units", b""))
    return ReaderOutput(values, chosen, tuple((dim,) for dim in dims), tuple(headings), unit)
