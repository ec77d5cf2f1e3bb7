"""How well explanations fit counts: amounts, and bounds of the largest likelihood, on as many threads as there are."""

import numpy as np

from ..._typing import Array, IntArray
from ...laws import in_pieces
from ._bands import fit_bands
from ._fit import MOST_STEPS, fit_all
from ._halves import CountTable
from ._many import Half as Columns, largest
from ._recorded import spreads

# In log likelihood: what is worse than this much is neither an opponent nor retained.
_FAR = 60.0
# Fits that are worth a thread.
_PIECE = 16


def suprema_within(
    table: CountTable,
    ends: tuple[Array, Array] | None,
    counts: Array,
    library: Array | None,
    members: IntArray,
    decided: tuple[float, float] = (-np.inf, np.inf),
    tilt: Array | None = None,
) -> Array:
    """(k, 2) bounds of the largest log likelihood of columns (k, r), with responses anywhere within their widths.

    decided: a fit stops as soon as the likelihood is known to lie below the first number, or above the second.
    tilt: (E + b,) slopes that are taken off for each unit of the amounts, see `_amounts`.
    """
    low, high = (table.columns, table.columns) if ends is None else ends
    seen = counts > 0.0
    unseen = np.ascontiguousarray(low[:, ~seen]).sum(axis=1) * (1.0 - 2.0**-40)  # not too large
    if tilt is not None:
        unseen = unseen + tilt - 2.0**-40 * np.abs(tilt)
    rests = np.where(members >= 0, unseen[members], 0.0)
    spread = np.zeros((*members.shape, 2))
    is_open = np.zeros(len(members), dtype=np.bool_)
    if library is not None:
        shares = _shares(table, low, high, len(library))
        least = fitted(table.estimated(library), counts, members)[1][:, 0]
        spread, own_rests, is_open = spreads(library, shares, counts, members, least)
        rests = np.where((members >= 0) & (members < len(library)), own_rests, rests)
        sizes = [(library + 1.0) * shares[:, [side]] for side in (0, 1)]
        low, high = (np.concatenate([own, end[len(library) :]]) for own, end in zip(sizes, (low, high), strict=True))
    lower, upper = (np.ascontiguousarray(end[:, seen]) for end in (low, high))
    sums = high.sum(axis=1)
    bounds = np.empty((len(members), 2))

    def work(part: slice) -> None:
        chosen = spread[part], rests[part], sums, counts[seen], members[part]
        fit_bands(lower, upper, *chosen, MOST_STEPS, decided, bounds[part])

    in_pieces(len(members), work, _PIECE)
    bounds[is_open] = -np.inf, np.inf
    return bounds


def _shares(table: CountTable, low: Array, high: Array, count: int) -> Array:
    """(C, 2) the least and the largest share of its rate that each recorded response may have, rounded outwards."""
    sizes = table.columns[:count].sum(axis=1)
    ends = np.stack([low[:count].sum(axis=1) / sizes, high[:count].sum(axis=1) / sizes], axis=1)
    is_exact = (low[:count] == high[:count]).all(axis=1, keepdims=True)
    return np.where(is_exact, 1.0, ends * (1.0 + 1e-12 * np.array([-1.0, 1.0])))


def suprema_of(
    table: CountTable, ends: tuple[Array, Array] | None, counts: Array, library: Array | None, members: IntArray
) -> Array:
    """(k, 2) bounds of the largest log likelihood with columns (k, r) of the table, padded with -1 anywhere."""
    if ends is not None or table.recorded is not None:
        return suprema_within(table, ends, counts, library, members)
    return fitted(table, counts, members)[1]


def shared_fit(table: CountTable, counts: Array) -> tuple[Array, Array]:
    """Amounts (E + b,) of the largest explanation, fitted to counts, and what they are worth to each (M,)."""
    active = table.members[largest(table.members)]
    amounts = np.zeros(len(table.columns))
    amounts[active[active >= 0]] = fitted(table, counts, active[None])[0][0, : (active >= 0).sum()]
    return amounts, Columns.of((table.columns, table.columns), counts).values(table.members, amounts)


def fits_of(table: CountTable, counts: Array) -> tuple[Array, Array]:
    """Amounts (M, r) and bounds (M, 2) of every explanation.

    Those with most columns come first: whatever is far below the best of them is fitted no further than to know that.
    """
    sizes = (table.members >= 0).sum(axis=1)
    first = np.flatnonzero(sizes == sizes.max())
    smaller = np.flatnonzero(sizes < sizes.max())
    amounts = np.empty(table.members.shape)
    bounds = np.empty((table.size, 2))
    amounts[first], bounds[first] = fitted(table, counts, table.members[first])
    floor = float(bounds[first, 0].max()) - _FAR
    amounts[smaller], bounds[smaller] = fitted(table, counts, table.members[smaller], floor)
    return amounts, bounds


def fitted(
    table: CountTable, counts: Array, members: IntArray, floor: float = -np.inf, sums: Array | None = None
) -> tuple[Array, Array]:
    """(k, r) and (k, 2) of columns (k, r), each row by itself, on as many threads as there are.

    sums: (E + b,) of the columns over all channels, their own unless given.
    """
    sizes = table.sums if sums is None else sums
    seen = counts > 0.0
    amounts = np.empty(members.shape)
    bounds = np.empty((len(members), 2))
    columns = np.ascontiguousarray(table.columns[:, seen])

    def work(part: slice) -> None:
        fit_all(columns, sizes, counts[seen], members[part], MOST_STEPS, floor, amounts[part], bounds[part])

    in_pieces(len(members), work, _PIECE)
    return amounts, bounds
