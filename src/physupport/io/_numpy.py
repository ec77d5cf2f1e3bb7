"""Arrays as NumPy saves them. Pickled objects are never loaded: they can run any program."""

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._errors import MisuseError
from ._held import Held, check_no_member, chosen_member

if TYPE_CHECKING:
    from numpy.lib.npyio import NpzFile


def read_npy(name: str, path: Path, member: str | None) -> Held:
    """A memory map of the array."""
    check_no_member(name, member)
    return Held(np.lib.format.open_memmap(path, mode="r"))


def read_npz(name: str, path: Path, member: str | None) -> Held:
    """One array of an archive."""
    with _opened(name, path) as archive:
        chosen = chosen_member(name, member, archive.files)
        return Held(archive[chosen], chosen)


def read_members(name: str, path: Path) -> dict[str, NDArray[np.generic]]:
    """All arrays of an archive."""
    with _opened(name, path) as archive:
        return {member: archive[member] for member in archive.files}


def _opened(name: str, path: Path) -> "NpzFile":
    if not zipfile.is_zipfile(path):
        raise MisuseError(name, "be an .npz archive", "a file of another kind")
    archive: NpzFile = np.load(path, allow_pickle=False)
    return archive
