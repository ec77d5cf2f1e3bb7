"""MATLAB files: up to version 7 through SciPy, version 7.3 as the HDF5 files they are."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from .._errors import MisuseError
from ._hdf5 import as_text, datasets, numbers, open_hdf5
from ._held import MATRIX_AXES, Held, chosen_member

NUMERIC: Final = {"double", "single", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}


def read_matlab(name: str, path: Path, member: str | None) -> Held:
    """One full matrix of numbers, its rows and columns as MATLAB shows them."""
    from scipy.io import loadmat, whosmat

    try:
        known = [variable for variable, _, kind in whosmat(path, appendmat=False) if kind in NUMERIC]
    except NotImplementedError:
        return _read_73(name, path, member)
    chosen = chosen_member(name, member, known)
    content = loadmat(path, appendmat=False, variable_names=[chosen])
    return Held(np.asarray(content[chosen]), chosen, MATRIX_AXES)


def _read_73(name: str, path: Path, member: str | None) -> Held:
    """MATLAB writes a matrix column by column, which HDF5 calls its transpose."""
    with open_hdf5(name, path) as file:
        known = [each for each in datasets(file) if _is_matrix(each, file[each].attrs)]
        chosen = chosen_member(name, member, known)
        if file[chosen].attrs.get("MATLAB_empty", 0):
            raise MisuseError(name, "hold at least one number", f"{chosen!r} without entries")
        return Held(numbers(path, file[chosen]).T, chosen, MATRIX_AXES)


def _is_matrix(name: str, attributes: Mapping[str, object]) -> bool:
    """Whether a dataset is a matrix that MATLAB would show: the entries of cells lie in #refs#."""
    return as_text(attributes.get("MATLAB_class")) in NUMERIC and not name.startswith("#")
