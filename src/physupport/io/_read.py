"""Files by their ending: as tables, as arrays, or opened without being read."""

import json
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from inspect import signature
from math import prod
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._errors import Clause, MisuseError
from ._binary import (
    as_text,
    check_claim,
    datasets,
    open_hdf5,
    own_dataset,
    read_hdf5,
    read_matlab,
    read_members,
    read_npy,
    read_npz,
    scale_values,
)
from ._frames import envi_files, open_image, read_envi, read_spe, read_wav
from ._gamma import read_gamma
from ._spectra import Spectrum, read_spectrum_csv, read_spectrum_text, spectra_of
from ._spectrometers import (
    read_jcamp,
    read_netcdf,
    read_omnic,
    read_opus,
    read_spc,
    read_tiff,
    read_wdf,
)
from ._table import ReaderOutput, Table, channel_axis, check_numbers, chosen_member, kind_of, pixel_rows, table_of
from ._text import read_csv, read_emsa, read_mca

# Name for messages, file, member of a container -> what it holds.
Reader: TypeAlias = Callable[[str, Path, str | None], ReaderOutput]


# Readers may take more: is_outline, for names, and zeros that take no memory, without the entries; and header, whether
# the first line names the columns.
FORMATS: Final[dict[str, Callable[..., ReaderOutput]]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".csv": read_csv,
    ".mat": read_matlab,
    ".h5": read_hdf5,
    ".hdf5": read_hdf5,
    ".spe": read_spe,
    ".n42": read_gamma,
    ".pcf": read_gamma,
    ".cnf": read_gamma,
    ".chn": read_gamma,
    ".mca": read_mca,
    ".msa": read_emsa,
    ".emsa": read_emsa,
    ".hdr": read_envi,
    ".sli": read_envi,
    ".wav": read_wav,
}
FORMATS.update(
    {".dx": read_jcamp, ".jdx": read_jcamp, ".jcamp": read_jcamp, ".spc": read_spc, ".wdf": read_wdf}
    | dict.fromkeys((".spa", ".spg", ".srs"), read_omnic)
    | {f".{i}": read_opus for i in range(10)}
    | {".tif": read_tiff, ".tiff": read_tiff, ".nc": read_netcdf, ".cdf": read_netcdf}
)
FORMATS.update(dict.fromkeys((".txt", ".dat", ".xy", ".asc", ".tsv", ".prn"), read_spectrum_text))


# Files of these hold spectra, a row each, and say where their channels lie; .csv and arrays may.
SPECTRA_ENDINGS: Final = tuple(
    ending
    for ending in FORMATS
    if ending not in (".npy", ".npz", ".csv", ".mat", ".h5", ".hdf5", ".hdr", ".wav", ".tif", ".tiff", ".nc", ".cdf")
)


def register_reader(ending: str, reader: Reader) -> None:
    """Read files of one more ending, such as ".dat", wherever files are named; what it raises becomes one message."""
    if not ending.startswith(".") or ending != ending.lower() or ending in FORMATS:
        raise MisuseError("ending", "be new, in small letters, and begin with a dot", repr(ending))
    FORMATS[ending] = reader


def read_table(
    path: str | os.PathLike[str],
    *,
    channels: int | str | None = None,
    label: str,
    member: str | None = None,
    unit: str = "",
    header: bool | None = None,
) -> Table:
    """The table in a file of one of the endings in `FORMATS`: arrays, text, spectra, images, sound.

    channels: the axis that runs over channels, by number (0 or 1) or by name: "rows" or "columns", "channels" where
    the format has them, a dimension label or scale of an HDF5 file.  It is never guessed: left out, the file must
    say so itself, as those of spectra do; a .csv is then text of two columns or more, the axis and the values.
    member: which array of a container; may be left out where there is only one.
    unit: of the entries; without it, what the file says.
    header: of a CSV file, whether its first line names the columns; needed only where that could be data as well.
    Files of type .npy, and contiguous arrays of HDF5 files, are mapped into memory and not read here.
    """
    held = _read(f"{label} {os.fspath(path)}", Path(path), member, header, is_spectrum=channels is None)
    return table_of(held, channels=channels, label=label, path=os.fspath(path), unit=unit)


def read_shape(
    path: str | os.PathLike[str], *, channels: int | str | None = None, label: str, member: str | None = None
) -> tuple[int, int] | None:
    """Rows and channels of the table that `read_table` reads, before anything is unpacked; None of other files."""
    name = f"{label} {os.fspath(path)}"
    reader = FORMATS.get(Path(path).suffix.lower())
    known = {} if reader is None else signature(reader).parameters
    # The first line of a text does not say how many lines follow.
    if "is_outline" not in known or "header" in known:
        return None
    held = pixel_rows(name, _read(name, Path(path), member, is_outline=True), channels)
    rows, width = held.values.shape if channel_axis(name, held, channels) == 1 else held.values.shape[::-1]
    return rows, width


def read_names(
    path: str | os.PathLike[str],
    *,
    channels: int | str | None = None,
    label: str,
    member: str | None = None,
    header: bool | None = None,
) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """The names of the channels of the table that `read_table` reads, and of its rows; None where there are none.

    Entries are not unpacked for it, and of text only the first lines are read.
    """
    name = f"{label} {os.fspath(path)}"
    held = _read(name, Path(path), member, header, is_outline=True, is_spectrum=channels is None)
    held = pixel_rows(name, held, channels)
    axis = channel_axis(name, held, channels)
    return held.headings[axis], held.headings[1 - axis]


def read_array(
    path: str | os.PathLike[str], member: str | None = None, *, header: bool | None = None
) -> NDArray[np.generic]:
    """The numbers in a file of any of the types that tables come in, axes as they are there."""
    return read_file(path, member, header=header).values


def read_file(path: str | os.PathLike[str], member: str | None = None, *, header: bool | None = None) -> ReaderOutput:
    """The same with the names along its axes and the unit, where the file has them."""
    name = f"file {os.fspath(path)}"
    held = _read(name, Path(path), member, header)
    check_numbers(name, held.values)
    return held


def read_archive(path: str | os.PathLike[str], label: str = "file") -> dict[str, NDArray[np.generic]]:
    """All arrays of an .npz file by name, of numbers or of texts; objects are refused."""
    name = f"{label} {os.fspath(path)}"
    check_file(name, Path(path))
    with sound(name, Path(path)):
        return read_members(name, Path(path))


def read_spectra(
    path: str | os.PathLike[str], label: str = "spectra", member: str | None = None
) -> tuple[Spectrum, ...]:
    """The spectra in a file with their places on the axis; a single one is named by the file."""
    name = f"{label} {os.fspath(path)}"
    return spectra_of(name, Path(path).stem, _read(name, Path(path), member, is_spectrum=True))


def library_files(path: Path, label: str = "library") -> tuple[Path, ...]:
    """The files of a library: itself, those of a folder, or those that a pattern such as minerals/*.txt names."""
    if path.is_file():
        return (path,)
    found = [*path.parent.glob(path.name)] if "*" in path.name else []
    if path.is_dir():
        found = [each for each in path.iterdir() if each.suffix.lower() in FORMATS]
    # The header of an ENVI library lies beside its numbers.
    files = sorted(each for each in found if each.suffix.lower() != ".hdr" or not each.with_suffix(".sli").is_file())
    if not files:
        rule = f"be a file, a folder or a pattern of files that end in one of {', '.join(FORMATS)}"
        raise MisuseError(f"{label} {path}", rule, Clause("there is no such file"))
    return tuple(files)


def library_units(path: Path, label: str = "library") -> tuple[tuple[str | None, Path], ...]:
    """The files of a library, each with its element, None where the file names that itself.

    In a folder of folders each of these is an element, and its files are replicates of it.
    """
    inner = sorted(each for each in path.iterdir() if each.is_dir()) if path.is_dir() else []
    if not inner or any(each.suffix.lower() in FORMATS for each in path.iterdir() if each.is_file()):
        return tuple((None, file) for file in library_files(path, label))
    return tuple((each.name, file) for each in inner for file in library_files(each, label))


def _read(
    name: str,
    path: Path,
    member: str | None,
    header: bool | None = None,
    *,
    is_outline: bool = False,
    is_spectrum: bool = False,
) -> ReaderOutput:
    """Read a file by its ending; as an outline where that is asked for and its format has one.

    is_spectrum: read a .csv as text of an axis and values, or below a header of places as a line a spectrum.
    """
    reader = FORMATS.get(path.suffix.lower())
    if reader is read_csv and is_spectrum:
        reader = read_spectrum_csv
    if reader is None:
        given = repr(path.suffix) if path.suffix else "no ending"
        raise MisuseError(name, f"end in one of {', '.join(FORMATS)}", given)
    known = signature(reader).parameters
    if header is not None and "header" not in known:
        raise MisuseError(name, "be read without a header, which only .csv files have", Clause(f"header is {header!r}"))
    options = {} if header is None else {"header": header}
    if is_outline and "is_outline" in known:
        options["is_outline"] = True
    check_file(name, path)
    with sound(name, path):
        return reader(name, path, member, **options)


def files_read(path: Path) -> tuple[Path, ...]:
    """All files that reading this one opens: numbers of some lie apart from their header."""
    if FORMATS.get(path.suffix.lower()) is not read_envi:
        return (path,)
    return (path, *(each for each in envi_files(path) if each != path))


@contextmanager
def sound(name: str, path: Path) -> Iterator[None]:
    """One message for whatever a library raises on a damaged file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of damaged headers, which NumPy reads as Python
            yield
    except MisuseError:
        raise
    except MemoryError:
        raise MisuseError(name, "fit into memory", Clause("it is larger")) from None
    except Exception as error:  # these have no common base
        raise MisuseError(
            name, f"be a sound {path.suffix} file", Clause(f"reading it fails ({type(error).__name__}: {error})")
        ) from error


def check_file(name: str, path: Path) -> None:
    """A file that is there and holds something; a device or a pipe may never end."""
    try:
        status = path.stat()
    except OSError as error:
        raise MisuseError(name, "be a file that can be read", error.strerror) from error
    if not S_ISREG(status.st_mode):
        raise MisuseError(name, "be a file", "a folder" if S_ISDIR(status.st_mode) else "a device or a pipe")
    if status.st_size == 0:
        raise MisuseError(name, "hold at least one number", Clause("it is empty"))


# Compressors, checksums, filters of numbers, and texts. Left out are codecs of Python objects, one of which is pickle,
# and codecs of further packages.
_CODECS = frozenset({
    "adler32", "astype", "bitround", "blosc", "bytes", "bz2", "crc32", "crc32c", "delta", "endian",
    "fixedscaleoffset", "fletcher32", "gzip", "jenkins_lookup3", "lz4", "lzma", "packbits", "quantize",
    "sharding_indexed", "shuffle", "transpose", "vlen-bytes", "vlen-utf8", "zlib", "zstd",
})  # fmt: skip


def open_store(name: str, path: Path) -> Any:  # noqa: ANN401  an array or a group of zarr
    """Open a Zarr array or group for reading, after `check_codecs`; name: of the store in messages.

    Consolidated metadata, which may differ from those that were checked, are ignored.
    """
    check_codecs(name, path)
    try:
        zarr = import_module("zarr")
    except ImportError as error:
        remedy = 'Install it with pip install "physupport[maps]".'
        raise MisuseError(name, "be read with zarr", Clause("that package is not installed"), remedy) from error
    if any(_is_array(document) for document in _documents(name, path)):
        return zarr.open_array(path, mode="r")
    return zarr.open_group(path, mode="r", use_consolidated=False)


def check_codecs(name: str, path: Path) -> None:
    """Raise if an array, or an array directly within a group, names a codec that is not on the list."""
    documents = [*_documents(name, path)]
    if not any(map(_is_array, documents)):
        documents += [document for folder in path.iterdir() for document in _documents(name, folder)]
    for codec in (codec for document in documents for codec in _codecs_of(document)):
        if codec.removeprefix("numcodecs.") not in _CODECS:
            rule = "be stored with codecs that cannot run code, such as blosc, gzip, zlib or zstd"
            raise MisuseError(name, rule, repr(codec), "Store the numbers again with one of these.")


def _documents(name: str, folder: Path) -> Iterator[dict[str, Any]]:
    """The metadata of an array in a folder, of either format; zarr reads them by the same parser."""
    for file in (folder / ".zarray", folder / "zarr.json"):
        if os.path.lexists(file):
            check_file(name, file)  # a pipe may say something else the next time
            yield dict(json.loads(file.read_bytes()))


def _is_array(document: dict[str, Any]) -> bool:
    return "shape" in document


def _codecs_of(document: dict[str, Any]) -> Iterator[str]:
    """Names of all codecs, those within shards included."""
    given = [*(document.get("filters") or ()), *(document.get("codecs") or ()), *(document.get("index_codecs") or ())]
    for codec in (*given, *filter(None, [document.get("compressor")])):
        own = codec if isinstance(codec, dict) else {"name": codec}
        yield from (str(own[key]) for key in ("id", "name") if key in own)
        yield from _codecs_of(own.get("configuration") or {})


def is_labelled(value: object) -> bool:
    """True for an array of xarray."""
    return kind_of(value) == "DataArray"


def open_labelled(value: Any) -> ReaderOutput:  # noqa: ANN401  xarray carries no types
    """A DataArray, which reads from its file what it is asked for."""
    dims = tuple(map(str, value.dims))
    coordinates = {
        axis: (_plain(value.coords[axis].values), str(value.coords[axis].attrs.get("units", "")))
        for axis in dims
        if axis in value.coords
    }
    unit = str(value.attrs.get("units", ""))
    return ReaderOutput(value, axes=tuple(zip(dims)), unit=unit, coordinates=coordinates)


def open_array(path: Path, member: str | None, label: str) -> ReaderOutput:
    """Open the array in a file, mapped where it can be.  label: what it is for, in messages."""
    opener = {".zarr": _zarr, ".h5": _hdf5, ".hdf5": _hdf5, ".hdr": _envi}.get(path.suffix.lower())
    if opener is None:
        return _opened_whole(read_file(path, member))
    name = f"{label} {path}"
    if opener is not _zarr:
        check_file(name, path)
    elif not path.exists():
        raise MisuseError(name, "be a Zarr array or group", Clause("there is no such file"))
    with sound(name, path):
        return opener(name, path, member)


def _opened_whole(held: ReaderOutput) -> ReaderOutput:
    """An array in memory, with the names of an image's axes and of what lies along them."""
    if held.values.ndim < 3 or not all(held.axes) or len(held.axes) < held.values.ndim:
        return ReaderOutput(held.values)
    names = tuple(axis[0] for axis in held.axes)
    along = zip(names, held.headings, strict=True)
    coordinates = {axis: (np.array(entries), "") for axis, entries in along if entries is not None}
    return ReaderOutput(held.values, axes=tuple((axis,) for axis in names), coordinates=coordinates)


def _envi(name: str, path: Path, member: str | None) -> ReaderOutput:  # noqa: ARG001  an image is one array
    """The pixels of an image, by lines and samples."""
    image: Any = open_image(name, path)
    bands = {} if image.bands is None else {"band": (np.array(image.bands), "")}
    return ReaderOutput(image, axes=(("line",), ("sample",), ("band",)), coordinates=bands)


def _hdf5(name: str, path: Path, member: str | None) -> ReaderOutput:
    """The dataset, with labels of its axes or names of their scales, which are the coordinates."""
    file = open_hdf5(name, path)
    dataset = own_dataset(name, file[chosen_member(name, member and member.strip("/"), datasets(file))])
    if dataset.dtype.kind not in "iufc":  # pairs of numbers, by whatever names
        return ReaderOutput(read_array(path, member))
    scales = [next(iter(dimension.values()), None) for dimension in dataset.dims]
    pairs = zip(dataset.dims, scales, strict=True)
    names = tuple(d.label or ("" if scale is None else scale.name.rsplit("/", 1)[-1]) for d, scale in pairs)
    along = zip(names, scales, dataset.dims, dataset.shape, strict=True)
    coordinates = {
        axis: (_plain(values), _unit_of(scale))
        for axis, scale, dimension, length in along
        if axis and (values := scale_values(name, dimension, length)) is not None
    }
    if not all(names):
        return ReaderOutput(dataset, unit=_unit_of(dataset))
    return ReaderOutput(dataset, axes=tuple(zip(names)), unit=_unit_of(dataset), coordinates=coordinates)


def _zarr(name: str, path: Path, member: str | None) -> ReaderOutput:
    """The array, with the names of its axes as either format has them, and arrays of these names beside it."""
    held = open_store(name, path)
    stored = sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
    if getattr(held, "shape", None) is not None:
        _check_stored(name, path, held, stored)
        return ReaderOutput(held, axes=tuple(zip(_dimensions(held))), unit=_unit_of(held))
    arrays = dict(held.arrays())
    beside = {axis for array in arrays.values() for axis in _dimensions(array)}
    known = [key for key, array in arrays.items() if key not in beside and array.dtype.kind in "iufc"]
    chosen = arrays[chosen_member(name, member, known)]
    names = _dimensions(chosen)
    of = {axis: arrays[axis] for axis in names if axis in arrays and arrays[axis].ndim == 1}
    for array in (chosen, *of.values()):
        _check_stored(name, path, array, stored)
    coordinates = {axis: (_plain(np.asarray(array[:])), _unit_of(array)) for axis, array in of.items()}
    return ReaderOutput(chosen, axes=tuple(zip(names)), unit=_unit_of(chosen), coordinates=coordinates)


def _check_stored(name: str, path: Path, array: Any, stored: int) -> None:  # noqa: ANN401
    """Raise if an array has far more entries than the bytes of all files could hold: missing chunks are read as 0."""
    check_claim(name, path.name, prod(array.shape) * array.dtype.itemsize, stored)


def _dimensions(array: Any) -> tuple[str, ...]:  # noqa: ANN401
    given = (
        getattr(getattr(array, "metadata", None), "dimension_names", None)
        or dict(array.attrs).get("_ARRAY_DIMENSIONS")
        or ()
    )
    return tuple(map(str, given)) if len(given) == len(array.shape) and None not in given else ()


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers as float64, anything else as texts."""
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)
    return np.array([as_text(each) for each in values.tolist()]) if values.dtype.kind in "OST" else values.astype(str)


def _unit_of(array: Any) -> str:  # noqa: ANN401
    return as_text(dict(array.attrs).get("units", ""))
