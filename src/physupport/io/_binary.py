"""Arrays in binary files: NumPy, HDF5 and MATLAB."""

import os
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from .._errors import Clause, MisuseError
from ._rows import map_file
from ._table import (
    MATRIX_AXES,
    TITLES,
    ReaderOutput,
    check_no_member,
    chosen_member,
    distinct_or_none,
    from_fields,
    titled,
)

if TYPE_CHECKING:
    from numpy.lib.npyio import NpzFile


def read_npy(name: str, path: Path, member: str | None, is_outline: bool = False) -> ReaderOutput:  # noqa: ARG001
    """A memory map of the array, also as an outline; of records a table, with the names of their fields."""
    check_no_member(name, member)
    found = np.lib.format.open_memmap(path, mode="r")
    order: Literal["C", "F"] = "C" if found.flags.c_contiguous else "F"
    return from_fields(name, map_file(path, found.dtype, found.offset, found.shape, order))


def read_npz(name: str, path: Path, member: str | None, is_outline: bool = False) -> ReaderOutput:
    """One array of an archive, its axes named by texts beside it; an outline has no entries, which stay packed."""
    with _opened(name, path) as archive:
        found = {title: _array(name, archive, title) for title in TITLES if title in archive.files}
        texts = {title: values for title, values in found.items() if values.dtype.kind == "U" and values.ndim == 1}
        known = [each for each in archive.files if each not in texts]
        chosen = chosen_member(name, member, known)
        held = replace(from_fields(name, _array(name, archive, chosen, is_outline)), member=chosen)
        return titled(name, held, {title: tuple(map(str, each)) for title, each in texts.items()}, len(known) == 1)


def read_members(name: str, path: Path) -> dict[str, NDArray[np.generic]]:
    """All arrays of an archive."""
    with _opened(name, path) as archive:
        return {member: _array(name, archive, member) for member in archive.files}


# No common compression makes numbers smaller by more than this factor; below the slack nothing is looked at.
_MOST_PACKED = 1100
_SLACK = 2**20


def check_claim(name: str, member: str, claimed: int, stored: int) -> None:
    """Refuse an array of so many bytes that is stored in far too few, before memory is taken for it."""
    if claimed > _MOST_PACKED * stored + _SLACK:
        raise MisuseError(
            name, f"hold the entries of {member!r}", Clause(f"it has {stored:,} bytes instead of {claimed:,}")
        )


def check_fits(name: str, member: str, claimed: int) -> None:
    """Refuse what memory cannot hold before it is unpacked: the system may end the program when it is filled."""
    if sys.platform != "win32" and claimed > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        raise MisuseError(
            name, f"hold {member!r} of a size that fits into memory", Clause(f"it needs {claimed:,} bytes")
        )


def _outline(shape: tuple[int, ...], dtype: Any) -> NDArray[np.generic]:  # noqa: ANN401  what NumPy makes a type of
    """An array of this shape that takes no memory."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def _array(name: str, archive: "NpzFile", member: str, is_outline: bool = False) -> NDArray[np.generic]:
    """A member that is an array; other files may stand in an archive as well, and are none."""
    content: zipfile.ZipFile = archive.zip  # type: ignore[assignment]  # none only after it was closed
    files = {info.filename: info for info in content.infolist()}
    info = files.get(f"{member}.npy") or files[member]
    with content.open(info) as file:
        if file.read(6) != b"\x93NUMPY":
            raise MisuseError(name, f"hold {member!r} as an array", "a member of another kind")
    with content.open(info) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
    claimed = prod(shape) * dtype.itemsize
    check_claim(name, member, claimed, info.compress_size if claimed <= info.file_size else 0)
    if is_outline and dtype.kind in "iufc":
        return _outline(shape, dtype)
    check_fits(name, member, claimed)
    values: NDArray[np.generic] = archive[member]
    return values


@contextmanager
def _opened(name: str, path: Path) -> "Iterator[NpzFile]":
    if not zipfile.is_zipfile(path):
        raise MisuseError(name, "be an .npz archive", "a file of another kind")
    # Opened here: NumPy leaves it open if the archive is damaged.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        yield archive


def read_hdf5(name: str, path: Path, member: str | None, is_outline: bool = False) -> ReaderOutput:
    """One dataset, with the labels, scales and unit that the file gives it; an outline is without its entries."""
    with open_hdf5(name, path) as file:
        chosen = chosen_member(name, member and member.strip("/"), datasets(file))
        dataset = file[chosen]
        axes = tuple(_axis_names(dimension) for dimension in dataset.dims)
        values = numbers(name, path, dataset, is_outline)
        headings = tuple(_heading(name, *axis) for axis in zip(dataset.dims, dataset.shape, strict=True))
        return ReaderOutput(values, chosen, axes, headings, as_text(dataset.attrs.get("units", "")))


def open_hdf5(name: str, path: Path) -> Any:  # noqa: ANN401  h5py carries no types
    """The file, open for reading."""
    try:
        h5py = import_module("h5py")
    except ImportError as error:
        remedy = 'Install it with pip install "physupport[io]".'
        raise MisuseError(name, "be read with h5py", Clause("that package is not installed"), remedy) from error
    return h5py.File(path, "r")


def datasets(file: Any) -> list[str]:  # noqa: ANN401
    """The arrays of numbers in a file, those that only describe the axes of another left out."""
    names: list[str] = []

    def visit(name: str, item: Any) -> None:  # noqa: ANN401
        if getattr(item, "shape", None) is None or item.is_scale:  # a group, or a dataset without entries
            return
        if item.dtype.kind in "iufc" or _complex(item.dtype) is not None:
            names.append(name)

    file.visititems(visit)
    return names


def numbers(name: str, path: Path, dataset: Any, is_outline: bool = False) -> NDArray[np.generic]:  # noqa: ANN401
    """The entries of a dataset, complex ones as complex numbers whatever the writer called their parts."""
    values = _mapped(path, own_dataset(name, dataset))
    pairs = _complex(dataset.dtype)
    if values is None and is_outline:
        return _outline(dataset.shape, dataset.dtype if pairs is None else pairs)
    if values is None:
        check_fits(name, dataset.name, dataset.size * dataset.dtype.itemsize)
        values = np.asarray(dataset[()])
    return values if pairs is None else values.view(pairs)


def own_dataset(name: str, dataset: Any) -> Any:  # noqa: ANN401
    """A dataset whose entries are in its own file, and as many as it claims.

    To be called before the entries of any are read, those of a scale as well: a project may name files of its folder
    only, and a reference in one of these would lead out of it.
    """
    if dataset.is_virtual or dataset.external:
        raise MisuseError(name, f"hold the entries of {dataset.name!r} itself", "a reference to another file")
    check_claim(name, dataset.name, dataset.size * dataset.dtype.itemsize, dataset.id.get_storage_size())
    return dataset


def _mapped(path: Path, dataset: Any) -> NDArray[np.generic] | None:  # noqa: ANN401
    """A memory map; None if the entries are in chunks, in another file, never written, or of a format of their own."""
    offset = dataset.id.get_offset()
    plain = import_module("h5py").h5t.py_create(dataset.dtype, logical=True)
    if offset is None or dataset.size == 0 or not dataset.id.get_type().equal(plain):
        return None
    return map_file(path, dataset.dtype, offset, dataset.shape)


def _complex(dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    """The complex type whose bytes a pair of equal real numbers shares; None if the record is something else."""
    names = dtype.names or ()
    parts = [dtype[part] for part in names]
    if names not in (("real", "imag"), ("r", "i")) or parts[0] != parts[1] or parts[0].kind != "f":
        return None
    is_packed = dtype.itemsize == 2 * parts[0].itemsize and parts[0].itemsize in (4, 8)
    return np.dtype(f"{parts[0].byteorder}c{dtype.itemsize}") if is_packed else None


def _axis_names(dimension: Any) -> tuple[str, ...]:  # noqa: ANN401
    """The label of an axis and the names of the scales attached to it, each once."""
    scales = (scale.name.rsplit("/", 1)[-1] for scale in dimension.values())
    return tuple(dict.fromkeys(name for name in (dimension.label, *dimension.keys(), *scales) if name))


def _heading(name: str, dimension: Any, length: int) -> tuple[str, ...] | None:  # noqa: ANN401
    """The values of the first scale along an axis, as texts; places with their unit."""
    values = scale_values(name, dimension, length)
    if values is None:
        return None
    unit = as_text(dimension[0].attrs.get("units", "")) if values.dtype.kind in "iuf" else ""
    return distinct_or_none([f"{as_text(value)} {unit}".rstrip() for value in values])


def scale_values(name: str, dimension: Any, length: int) -> NDArray[Any] | None:  # noqa: ANN401
    """(length,) the first scale along an axis; None without one of that length, or where no entry was ever written."""
    if len(dimension) == 0 or dimension[0].shape != (length,):
        return None
    is_reference = dimension[0].is_virtual or dimension[0].external
    if not is_reference and length > 1 and dimension[0].id.get_storage_size() == 0:
        return None  # as netCDF writes an axis that has a length and no places
    return np.asarray(own_dataset(name, dimension[0])[()])


def as_text(value: object) -> str:
    """A text attribute or scale entry; HDF5 gives some as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


NUMERIC: Final = {"double", "single", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}


def read_matlab(name: str, path: Path, member: str | None, is_outline: bool = False) -> ReaderOutput:
    """One full matrix of numbers, its rows and columns as MATLAB shows them; an outline is of real numbers."""
    try:
        variables = scipy.io.whosmat(path, appendmat=False)
    except NotImplementedError:
        return _read_73(name, path, member, is_outline)
    known = {variable: shape for variable, shape, kind in variables if kind in NUMERIC}
    titles = [variable for variable, _, kind in variables if kind == "cell" and variable in TITLES]
    chosen = chosen_member(name, member, [*known])
    check_claim(name, chosen, prod(known[chosen]), path.stat().st_size)  # small whole numbers are written as bytes
    if not is_outline:
        check_fits(name, chosen, prod(known[chosen]) * 8)
    wanted = titles if is_outline else [*titles, chosen]
    content = scipy.io.loadmat(path, appendmat=False, variable_names=wanted) if wanted else {}
    values = _outline(known[chosen], np.float64) if is_outline else np.asarray(content[chosen])
    cells = {title: [str(np.squeeze(cell)) for cell in content[title].ravel()] for title in titles}
    names = {title: tuple(each) for title, each in cells.items()}
    return titled(name, ReaderOutput(values, chosen, MATRIX_AXES), names, len(known) == 1)


def _read_73(name: str, path: Path, member: str | None, is_outline: bool) -> ReaderOutput:
    """MATLAB writes a matrix column by column, which HDF5 calls its transpose."""
    with open_hdf5(name, path) as file:
        # The entries of cells lie in #refs#; everything else of a numeric class is a matrix that MATLAB would show.
        known = [key for key in datasets(file) if _class_of(file[key]) in NUMERIC and not key.startswith("#")]
        chosen = chosen_member(name, member, known)
        if file[chosen].attrs.get("MATLAB_empty", 0):
            raise MisuseError(name, "hold at least one number", Clause(f"{chosen!r} has no entries"))
        held = ReaderOutput(numbers(name, path, file[chosen], is_outline).T, chosen, MATRIX_AXES)
        cells = [title for title in TITLES if title in file and _class_of(file[title]) == "cell"]
        names = {title: tuple(_text_of(file[cell]) for cell in file[title][()].ravel()) for title in cells}
        return titled(name, held, names, len(known) == 1)


def _text_of(cell: Any) -> str:  # noqa: ANN401
    """The text in a cell, which holds the numbers of its characters."""
    return "".join(map(chr, cell[()].ravel())) if _class_of(cell) == "char" else ""


def _class_of(item: Any) -> str:  # noqa: ANN401
    return as_text(item.attrs.get("MATLAB_class", ""))
