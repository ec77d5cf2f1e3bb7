"""Arrays in binary files: NumPy, HDF5 and MATLAB."""

import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from math import inf, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .._errors import MisuseError
from ._parts import map_file
from ._table import MATRIX_AXES, Held, check_no_member, chosen_member, distinct_or_none

if TYPE_CHECKING:
    from numpy.lib.npyio import NpzFile


def read_npy(name: str, path: Path, member: str | None) -> Held:
    """A memory map of the array."""
    check_no_member(name, member)
    found = np.lib.format.open_memmap(path, mode="r")
    return Held(map_file(path, found.dtype, found.offset, found.shape, "C" if found.flags.c_contiguous else "F"))


def read_npz(name: str, path: Path, member: str | None, is_outline: bool = False) -> Held:
    """One array of an archive; an outline has its shape and its type, and nothing is unpacked for it."""
    with _opened(name, path) as archive:
        chosen = chosen_member(name, member, archive.files)
        return Held(_array(name, archive, chosen, is_outline), chosen)


def read_members(name: str, path: Path) -> dict[str, NDArray[np.generic]]:
    """All arrays of an archive."""
    with _opened(name, path) as archive:
        return {member: _array(name, archive, member) for member in archive.files}


# No common compression makes numbers smaller by more than this factor; below the slack nothing is looked at.
_MOST_PACKED, _SLACK = 1100, 2**20


def check_claim(name: str, member: str, claimed: int, stored: int) -> None:
    """Refuse an array of so many bytes that is stored in far too few, before memory is taken for it."""
    if claimed > _MOST_PACKED * stored + _SLACK:
        raise MisuseError(name, f"hold the entries of {member!r}", f"{stored:,} bytes for {claimed:,}")


def check_fits(name: str, member: str, claimed: int) -> None:
    """Refuse what memory cannot hold before it is unpacked: the system may end the program when it is filled."""
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else inf
    if claimed > most:
        raise MisuseError(name, f"hold {member!r} of a size that fits into memory", f"{claimed:,} bytes")


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


def read_hdf5(name: str, path: Path, member: str | None, is_outline: bool = False) -> Held:
    """One dataset, with the labels, scales and unit that the file gives it; an outline is without its entries."""
    with open_hdf5(name, path) as file:
        chosen = chosen_member(name, member and member.strip("/"), datasets(file))
        dataset = file[chosen]
        axes = tuple(_axis_names(dimension) for dimension in dataset.dims)
        values = numbers(name, path, dataset, is_outline)
        if is_outline:
            return Held(values, chosen, axes)
        headings = tuple(_heading(name, *axis) for axis in zip(dataset.dims, dataset.shape, strict=True))
        return Held(values, chosen, axes, headings, as_text(dataset.attrs.get("units", "")))


def open_hdf5(name: str, path: Path) -> Any:  # noqa: ANN401  h5py carries no types
    """The file, open for reading."""
    try:
        h5py = import_module("h5py")
    except ImportError as error:
        remedy = 'Install it with pip install "physupport[io]".'
        raise MisuseError(name, "be read with h5py", "no such package", remedy) from error
    return h5py.File(path, "r")


def datasets(file: Any) -> list[str]:  # noqa: ANN401
    """The arrays of numbers in a file, those that only describe the axes of another left out."""
    names: list[str] = []

    def visit(name: str, item: Any) -> None:  # noqa: ANN401
        if hasattr(item, "dims") and item.shape is not None and _is_numeric(item.dtype) and not item.is_scale:
            names.append(name)

    file.visititems(visit)
    return names


def numbers(name: str, path: Path, dataset: Any, is_outline: bool = False) -> NDArray[np.generic]:  # noqa: ANN401
    """The entries of a dataset, complex ones as complex numbers whatever the writer called their parts."""
    values, pairs = _mapped(path, own_dataset(name, dataset)), _complex(dataset.dtype)
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
    h5t, offset, stored = import_module("h5py").h5t, dataset.id.get_offset(), dataset.id.get_type()
    if offset is None or dataset.size == 0 or not stored.equal(h5t.py_create(dataset.dtype, logical=True)):
        return None
    return map_file(path, dataset.dtype, offset, dataset.shape)


def _is_numeric(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iufc" or _complex(dtype) is not None


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
    """The values of the first scale along an axis, as texts."""
    values = scale_values(name, dimension, length)
    return None if values is None else distinct_or_none([as_text(value) for value in values])


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


def read_matlab(name: str, path: Path, member: str | None, is_outline: bool = False) -> Held:
    """One full matrix of numbers, its rows and columns as MATLAB shows them; an outline is of real numbers."""
    from scipy.io import loadmat, whosmat

    try:
        known = {variable: shape for variable, shape, kind in whosmat(path, appendmat=False) if kind in NUMERIC}
    except NotImplementedError:
        return _read_73(name, path, member, is_outline)
    chosen = chosen_member(name, member, [*known])
    check_claim(name, chosen, prod(known[chosen]), path.stat().st_size)  # small whole numbers are written as bytes
    if is_outline:
        return Held(_outline(known[chosen], np.float64), chosen, MATRIX_AXES)
    check_fits(name, chosen, prod(known[chosen]) * 8)
    content = loadmat(path, appendmat=False, variable_names=[chosen])
    return Held(np.asarray(content[chosen]), chosen, MATRIX_AXES)


def _read_73(name: str, path: Path, member: str | None, is_outline: bool) -> Held:
    """MATLAB writes a matrix column by column, which HDF5 calls its transpose."""
    with open_hdf5(name, path) as file:
        known = [key for key in datasets(file) if _is_matrix(key, file[key].attrs)]
        chosen = chosen_member(name, member, known)
        if file[chosen].attrs.get("MATLAB_empty", 0):
            raise MisuseError(name, "hold at least one number", f"{chosen!r} without entries")
        return Held(numbers(name, path, file[chosen], is_outline).T, chosen, MATRIX_AXES)


def _is_matrix(name: str, attributes: Mapping[str, object]) -> bool:
    """Whether a dataset is a matrix that MATLAB would show: the entries of cells lie in #refs#."""
    return as_text(attributes.get("MATLAB_class")) in NUMERIC and not name.startswith("#")
