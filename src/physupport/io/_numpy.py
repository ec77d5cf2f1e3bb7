"""Arrays as NumPy saves them. Pickled objects are never loaded: they can run any program."""

import zipfile
from pathlib import Path

import numpy as np

from .._errors import MisuseError
from ._held import Held, check_no_member, chosen_member


def read_npy(name: str, path: Path, member: str | None) -> Held:
    """A memory map of the array."""
    check_no_member(name, member)
    return Held(np.lib.format.open_memmap(path, mode="r"))


def read_npz(name: str, path: Path, member: str | None) -> Held:
    """One array of an archive."""
    if not zipfile.is_zipfile(path):
        raise MisuseError(name, "be an .npz archive", "a file of another kind")
    with np.load(path, allow_pickle=False) as archive:
        chosen = chosen_member(name, member, archive.files)
        return Held(archive[chosen], chosen)
