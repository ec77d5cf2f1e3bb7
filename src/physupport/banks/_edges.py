"""Where what is left of a bank touches the end of a grid, beyond which nobody looked."""

from collections.abc import Iterator

import numpy as np

from .._typing import Array, IntArray
from ._bank import Bank
from ._nuisances import Nuisances
from ._regions import bank_regions

# Places of a region that are a grid along a line; fewer are rather a list.
_LEAST_PLACES = 5
_MOST_STATES = 2**20


def grid_edges(bank: Bank, index: IntArray) -> list[dict[str, object]]:
    """Parameters, nuisances and places along a line of which explanations (k,) have the lowest or the highest value.

    An entry each: `of` what, the `value`, and which `end`.  Of what has one value, or of which all values are left,
    nothing is said: there is no end that would be touched by chance.
    """
    if not len(index):
        return []
    columns, found = bank.split(index), list[dict[str, object]]()
    for name, values, left in (*_settings(bank, columns.state), *_places(bank, index)):
        found += _touched(name, values, left)
    for part, grid, column in (
        ("calibration", bank.calibration, columns.calibration),
        ("deployment", bank.deployment, columns.deployment),
    ):
        for name, values in _axes(grid):
            found += _touched(f"{part} {name}", values, values[np.unique(column)])
    return found


def _touched(name: str, values: Array, left: Array) -> Iterator[dict[str, object]]:
    distinct = np.unique(values)
    if len(distinct) < 2 or len(np.unique(left)) == len(distinct):
        return
    for end, value in (("lowest", distinct[0]), ("highest", distinct[-1])):
        if value in left:
            yield {"of": name, "value": float(value), "end": end}


def _axes(grid: Nuisances) -> Iterator[tuple[str, Array]]:
    for number, name in enumerate(grid.names):
        yield name, grid.values[:, number]


def _settings(bank: Bank, state: IntArray) -> Iterator[tuple[str, Array, Array]]:
    """Calibration parameters: all of their values, and those of some states."""
    if not bank.states.setting(0) or bank.states.n_states > _MOST_STATES:
        return
    # States of one setting lie together, so that the first of each are few.
    numbers = np.stack([*bank.states.dimensions(np.arange(bank.states.n_states)).values()], axis=1)
    firsts = np.unique(numbers, axis=0, return_index=True)[1]
    every = [bank.states.setting(first) for first in firsts.tolist()]
    left = [bank.states.setting(first) for first in np.unique(state).tolist()]
    for name in every[0]:
        values, touched = (np.array([setting[name] for setting in settings]) for settings in (every, left))
        yield name, values, touched


def _places(bank: Bank, index: IntArray) -> Iterator[tuple[str, Array, Array]]:
    """Coordinates of regions that lie along a line."""
    if bank.states.library is None:
        return
    view = bank_regions(bank)
    located = view.locate(index)
    for number, region in enumerate(view.regions):
        places = view.coordinates(region)
        chosen = np.unique(located[:, number])
        chosen = chosen[chosen >= 0]
        if places is not None and places.shape[1] == 1 and len(np.unique(places)) >= _LEAST_PLACES and chosen.size:
            yield f"region {region}", places[:, 0], places[chosen, 0]
