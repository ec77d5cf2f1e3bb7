r"""Cells of continuous parameters, asked about as wholes and split where that matters.

Evidence has one numerator, and its denominator is the largest likelihood of an explanation.  So the evidence against a
cell, the numerator over a bound of the largest likelihood anywhere in it, is no larger than that against any point of
it: rejecting a cell rejects all its points, at no cost in level.  The least evidence over a box lies between the least
bound of cells that fill it and the evidence against any one point.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count, product
from typing import Final, Self, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, read_only
from .._errors import MisuseError
from .._typing import Array

# Steps of `climb` are halved so many times, and tried so many times before.
_HALVINGS: Final = 5
_SWEEPS: Final = 2
# Cells that a search asks about unless told otherwise; what is open then stays possible.
MOST_ASKED: Final = 4096


@final
@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """A box of parameters, from low to high along every one of them; both ends belong to it."""

    low: Array  # (d,)
    high: Array  # (d,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", read_only(check_array("low", self.low, (None,))))
        object.__setattr__(self, "high", read_only(check_array("high", self.high, (len(self.low),))))
        if (self.low > self.high).any():
            raise MisuseError("cell", "begin below its end", f"{self.low.tolist()} to {self.high.tolist()}")

    @classmethod
    def at(cls, point: ArrayLike) -> Self:
        """The cell of one point."""
        return cls(np.asarray(point, dtype=np.float64), np.asarray(point, dtype=np.float64))

    @property
    def middle(self) -> Array:
        """(d,) its centre."""
        return np.asarray(0.5 * self.low + 0.5 * self.high)

    @property
    def sides(self) -> Array:
        """(d,) the lengths of its sides."""
        return np.asarray(self.high - self.low)

    def holds(self, point: Array) -> bool:
        """True if a point lies in the cell."""
        return bool(((self.low <= point) & (point <= self.high)).all())

    def halves(self, k: int) -> tuple["Cell", "Cell"]:
        """The lower and the upper half along parameter k, which share the middle."""
        middle = self.middle
        return self.cut(k, self.low[k], middle[k]), self.cut(k, middle[k], self.high[k])

    def cut(self, k: int, low: float, high: float) -> "Cell":
        """The part from low to high along parameter k."""
        ends = self.low.copy(), self.high.copy()
        ends[0][k] = low
        ends[1][k] = high
        return Cell(*ends)

    def split(self, weights: Array, resolution: Array) -> tuple["Cell", "Cell"] | None:
        """The halves along the parameter that moves the response most; None if no side exceeds its resolution.

        weights: (d,) moves of the response for a unit of each parameter.  resolution: (d,) sides that need no split.
        """
        moves = np.where(self.sides > resolution, self.sides * weights, -1.0)
        k = int(moves.argmax())
        middle = self.middle[k]
        if moves[k] < 0.0 or not self.low[k] < middle < self.high[k]:
            return None
        return self.halves(k)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """The least evidence over a box, and the cells that are left of it."""

    lower: float  # bound of the log evidence against every point of the box
    upper: float  # of that against one point, infinite if none was asked about
    point: Array | None  # (d,) that point
    n_asked: int  # cells and points
    left: tuple[Cell, ...]  # that are not rejected, of those that were asked about


def climb(value: Callable[[Array], float], box: Cell, point: Array, reached: float) -> Array:
    """A point of a box at which a function is larger than at this one, where it has reached a number, if one is found.

    Along one coordinate after the other, by steps that are halved.  It proves nothing: it chooses where to look.
    """
    step = 0.25 * box.sides
    for _ in range(_HALVINGS):
        for _ in range(_SWEEPS):
            before = reached
            for k, sign in product(np.flatnonzero(step > 0.0).tolist(), (1.0, -1.0)):
                tried = point.copy()
                tried[k] = np.clip(point[k] + sign * step[k], box.low[k], box.high[k])
                score = value(tried)
                if score > reached:
                    point = tried
                    reached = score
            if reached == before:
                break
        step = 0.5 * step
    return point


Bound = Callable[[Cell], float]  # a number that the log evidence against no point of the cell is below
Witness = Callable[[Array], float]  # a number that the log evidence against a point is not above
Split = Callable[[Cell], Sequence[Cell] | None]


def least_evidence(
    root: Cell,
    bound: Bound,
    witness: Witness | None,
    split: Split,
    threshold: float,
    *,
    first: Array | None = None,
    most: int = MOST_ASKED,
) -> Searched:
    """Search a box for a point against which the log evidence is at most a threshold, or prove that there is none.

    The cell with the least bound is split next.  The search ends once every cell is rejected, a point is a witness, no
    cell that is left can be split, or so many cells and points were asked about.  Without a witness to look for, it
    goes on until nothing can be split: what is left covers all points that are not rejected.  first: the point to ask
    about before any cell is split.
    """
    order = count()
    asked = 1
    upper = np.inf
    point: Array | None = None
    open_cells = [(bound(root), next(order), root)]
    final_cells: list[tuple[float, int, Cell]] = []
    candidate = root.middle if first is None else first
    while open_cells and open_cells[0][0] <= threshold and asked < most:
        lower, _, cell = open_cells[0]
        if witness is not None:
            value = witness(candidate)
            asked += 1
            if value < upper:
                upper = value
                point = candidate
            if upper <= threshold:
                break
        heappop(open_cells)
        parts = split(cell)
        if parts is None:
            final_cells.append((lower, next(order), cell))
        else:
            asked += len(parts)
            for part in parts:
                heappush(open_cells, (max(lower, bound(part)), next(order), part))
        candidate = open_cells[0][2].middle if open_cells else candidate
    cells = open_cells + final_cells
    heapify(cells)
    left = tuple(cell for value, _, cell in sorted(cells, key=lambda each: each[1]) if value <= threshold)
    return Searched(cells[0][0], upper, point, asked, left)
