"""Files by their ending."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._errors import MisuseError
from ._binary import read_hdf5, read_matlab, read_members, read_npy, read_npz
from ._csv import read_csv
from ._frames import envi_files, read_envi, read_spe, read_wav
from ._spectra import read_emsa, read_mca
from ._table import Held, Table, channel_axis, check_numbers, table_of

# Name for messages, file, member of a container -> what it holds.
Reader: TypeAlias = Callable[[str, Path, str | None], Held]

READERS: Final[dict[str, Reader]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".csv": read_csv,
    ".mat": read_matlab,
    ".h5": read_hdf5,
    ".hdf5": read_hdf5,
    ".spe": read_spe,
    ".mca": read_mca,
    ".msa": read_emsa,
    ".emsa": read_emsa,
    ".hdr": read_envi,
    ".sli": read_envi,
    ".wav": read_wav,
}


# Of files that say the shape of an array before its entries: an array of this shape that takes no memory.
OUTLINES: Final[dict[str, Reader]] = {
    ".npy": read_npy,
    ".npz": partial(read_npz, is_outline=True),
    ".mat": partial(read_matlab, is_outline=True),
    ".h5": partial(read_hdf5, is_outline=True),
    ".hdf5": partial(read_hdf5, is_outline=True),
}


def register_reader(ending: str, reader: Reader) -> None:
    """Read files of one more ending, such as ".dat", wherever files are named; what it raises becomes one message."""
    if not ending.startswith(".") or ending != ending.lower() or ending in READERS:
        raise MisuseError("ending", "be new, in small letters, and begin with a dot", repr(ending))
    READERS[ending] = reader


def read_table(
    path: str | os.PathLike[str],
    *,
    channels: int | str,
    label: str,
    member: str | None = None,
    unit: str = "",
    header: bool | None = None,
) -> Table:
    """The table in a file of one of the endings in `READERS`: arrays, text, spectra, images, sound.

    channels: the axis that runs over channels, by number (0 or 1) or by name: "rows" or "columns", "channels" where
    the format has them, a dimension label or scale of an HDF5 file.  It is never guessed.
    member: which array of a container; may be left out where there is only one.
    unit: of the entries; without it, what the file says.
    header: of a CSV file, whether its first line names the columns; needed only where that could be data as well.
    Files of type .npy, and contiguous arrays of HDF5 files, are mapped into memory and not read here.
    """
    held = _held(f"{label} {os.fspath(path)}", Path(path), member, header)
    return table_of(held, channels=channels, label=label, path=os.fspath(path), unit=unit)


def read_shape(
    path: str | os.PathLike[str], *, channels: int | str, label: str, member: str | None = None
) -> tuple[int, int] | None:
    """Rows and channels of the table that `read_table` reads, before anything is unpacked; None of other files."""
    name, file = f"{label} {os.fspath(path)}", Path(path)
    if file.suffix.lower() not in OUTLINES:
        return None
    check_file(name, file)
    with sound(name, file):
        held = OUTLINES[file.suffix.lower()](name, file, member)
    rows, width = held.values.shape if channel_axis(name, held, channels) == 1 else held.values.shape[::-1]
    return rows, width


def read_array(
    path: str | os.PathLike[str], member: str | None = None, *, header: bool | None = None
) -> NDArray[np.generic]:
    """The numbers in a file of any of the types that tables come in, axes as they are there."""
    name = f"file {os.fspath(path)}"
    return check_numbers(name, _held(name, Path(path), member, header).values)


def read_archive(path: str | os.PathLike[str], label: str = "file") -> dict[str, NDArray[np.generic]]:
    """All arrays of an .npz file by name, of numbers or of texts; objects are refused."""
    name = f"{label} {os.fspath(path)}"
    check_file(name, Path(path))
    with sound(name, Path(path)):
        return read_members(name, Path(path))


def _held(name: str, path: Path, member: str | None, header: bool | None) -> Held:
    reader = READERS.get(path.suffix.lower())
    if header is not None:
        if reader is not read_csv:
            raise MisuseError(name, "be read without a header, which only .csv files have", f"header={header!r}")
        reader = partial(read_csv, header=header)
    if reader is None:
        known = ", ".join(READERS)
        raise MisuseError(name, f"end in one of {known}", repr(path.suffix) if path.suffix else "no ending")
    check_file(name, path)
    with sound(name, path):
        return reader(name, path, member)


def files_read(path: Path) -> tuple[Path, ...]:
    """All files that reading this one opens: numbers of some lie apart from their header."""
    is_pair = READERS.get(path.suffix.lower()) is read_envi
    return (path, *(each for each in envi_files(path) if each != path)) if is_pair else (path,)


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
        raise MisuseError(name, "fit into memory", "more") from None
    except Exception as error:  # these have no common base
        raise MisuseError(name, f"be a sound {path.suffix} file", f"{type(error).__name__}: {error}") from error


def check_file(name: str, path: Path) -> None:
    """A file that is there and holds something; a device or a pipe may never end."""
    try:
        status = path.stat()
    except OSError as error:
        raise MisuseError(name, "be a file that can be read", error.strerror) from error
    if not S_ISREG(status.st_mode):
        raise MisuseError(name, "be a file", "a folder" if S_ISDIR(status.st_mode) else "a device or a pipe")
    if status.st_size == 0:
        raise MisuseError(name, "hold at least one number", "an empty file")
