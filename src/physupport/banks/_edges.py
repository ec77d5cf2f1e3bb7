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


def grid_edges(bank: Bank, index: IntArray, *, has_strengths: bool = False) -> list[dict[str, object]]:
    """Parameters, nuisances and places along a line of which explanations (k,) have the lowest or the highest value.

    An entry each: `of` what, the `value`, and which `end`.  Of what has one value, or of which all values are left,
    nothing is said: there is no end that would be touched by chance.  has_strengths: whether rows are as strong as
    explanations say, so that the strengths of a region are a grid, too; their ends come last.
    """
    if not len(index):
        return []
    columns, edges = bank.split(index), list[dict[str, object]]()
    for name, values, left in (*_settings(bank, columns.state), *_places(bank, index)):
        edges += _touched(name, values, left)
    for part, grid, column in (
        ("calibration", bank.calibration, columns.calibration),
        ("deployment", bank.deployment, columns.deployment),
    ):
        for name, values in _axes(grid):
            edges += _touched(f"{part} {name}", values, values[np.unique(column)])
    for region, values, left in _strengths(bank, columns.support) if has_strengths else ():
        edges += _touched(f"strengths of region {region}", values, left)
    return edges


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
    if bank.states.n_states > _MOST_STATES:
        return
    left = [bank.states.setting(one) for one in np.unique(state).tolist()]
    for name, values in bank.states.parameter_values.items():
        yield name, values, np.array([setting[name] for setting in left])


def _strengths(bank: Bank, support: IntArray) -> Iterator[tuple[str, Array, Array]]:
    """Of each region, all strengths that it may have where it is active, and those of some supports."""
    if bank.states.library is None:
        return
    kept = bank.strengths[np.unique(support)]
    for region, block in zip(bank.states.regions, bank.states.blocks, strict=True):
        values, left = (table[:, block][table[:, block] > 0.0] for table in (bank.strengths, kept))
        if left.size:
            yield region, values, left


def _places(bank: Bank, index: IntArray) -> Iterator[tuple[str, Array, Array]]:
    """Coordinates of regions that lie along a line."""
    if bank.states.library is None:
        return
    view = bank_regions(bank)
    located = view.locate(index)
    for number, region in enumerate(view.regions):
        places = view.sets(region).points
        chosen = np.unique(located[:, number])
        chosen = chosen[chosen >= 0]
        if places is not None and places.shape[1] == 1 and len(np.unique(places)) >= _LEAST_PLACES and chosen.size:
            yield f"region {region}", places[:, 0], places[chosen, 0]
