"""Banks from what a user has: a library, or arrays of dictionaries."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ._bank import Bank
from ._library import Library, LibraryStates
from ._nuisances import Nuisances
from ._settings import LibrarySettings, SettingStates
from ._states import ArrayStates
from ._supports import atom_rows, strength_rows


def library_bank(
    library: Library,
    supports: Iterable[Sequence[str]],
    strengths: Mapping[str, float | Sequence[float]],
    *,
    regions: Sequence[str] | None = None,
    extra: ArrayLike | None = None,
    settings: LibrarySettings | None = None,
    calibration: Nuisances | None = None,
    deployment: Nuisances | None = None,
) -> Bank:
    """States with one element from every region, and the given regions active.

    supports: each a list of regions, or a text such as "ABC" when names have one letter; see `region_supports`.
    strengths: of every region that is ever active; several for a region give a support for every combination.
    regions: the order of the atoms, the slowest first; that of the library unless given.
    extra: (q, m) unit columns that every state has and no support names, such as an atom met in calibration only.
    settings: responses of the library under other calibration parameters; then each setting gives states of its own.
    """
    columns = np.zeros((len(library.responses), 0)) if extra is None else np.asarray(extra, dtype=np.float64)
    base = LibraryStates(library, library.region_names if regions is None else tuple(regions), columns)
    states: LibraryStates | SettingStates = base
    if settings is not None:
        states = SettingStates(base, settings.names, settings.values, settings.responses)
    rows = strength_rows(supports, strengths, states.regions, states.n_atoms)
    return Bank(states, rows, calibration or Nuisances(), deployment or Nuisances())


def array_bank(
    dictionaries: ArrayLike,
    supports: Iterable[Iterable[int]],
    *,
    strengths: ArrayLike = 1.0,
    calibration: Nuisances | None = None,
    deployment: Nuisances | None = None,
) -> Bank:
    """Dictionaries given as an array (K, q, n), with supports given as atom indices (see `all_supports`).

    strengths: one number, or (n,) the strength of every atom where it is active.
    """
    states = ArrayStates(dictionaries)
    rows = atom_rows(supports, strengths, states.n_atoms)
    return Bank(states, rows, calibration or Nuisances(), deployment or Nuisances())
