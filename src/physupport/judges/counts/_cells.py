r"""Evidence of counts against responses whose parameters may lie anywhere in a box.

Over a cell each response lies between two ends, and the largest likelihood of all responses between these bounds the
denominators of all points.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Final, final

import numpy as np

from ..._typing import Array, IntArray
from ...responses import Cell, Family, climb
from .._evidence import Bounds
from ._fit import fit_all
from ._halves import CountTable

# The largest explanations among which the point that fits best is looked for.
_MOST_SOUGHT: Final = 4
# Steps of its fits, which need not be exact.
_ROUGH: Final = 16
# Cells whose responses are kept.
_MOST_KEPT: Final = 4096
Evidence = Callable[[tuple[Array, Array], IntArray], Bounds]  # against columns (k, r) between ends (E + b, q)


@final
@dataclass(frozen=True, eq=False)
class CellEvidence:
    """The least log evidence against explanations over all values of their parameters."""

    table: CountTable
    evidence: Evidence
    threshold: float  # of the log evidence, from which on an explanation is rejected
    best: Array  # (d,) the point that is asked about first
    _ends: dict[bytes, tuple[Array, Array]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def family(self) -> Family:
        """The family of the table."""
        assert self.table.family is not None
        return self.table.family

    @cached_property
    def _weights(self) -> Array:
        return self.family.weights

    def ends(self, cell: Cell) -> tuple[Array, Array]:
        """The ends of the columns over a cell, as explanations share cells."""
        key = cell.low.tobytes() + cell.high.tobytes()
        if key not in self._ends:
            if len(self._ends) >= _MOST_KEPT:
                self._ends.clear()
            self._ends[key] = self.table.cell_ends(cell)
        return self._ends[key]

    @property
    def box(self) -> Cell:
        """The box of all parameter values."""
        return self.family.box

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return self.family.names

    def root(self, e: int, box: Cell) -> Cell:  # noqa: ARG002
        """The same box for all explanations."""
        return box

    def first(self, e: int, root: Cell) -> Array:  # noqa: ARG002
        """The point that suits the halves best, if it lies there."""
        return self.best if root.holds(self.best) else root.middle

    def weights(self, e: int) -> Array:  # noqa: ARG002
        """The same for all explanations."""
        return self._weights

    def bound(self, e: int, cell: Cell) -> float:
        """Bound the statistic by the band that contains all responses of the cell."""
        return float(self.evidence(self.ends(cell), self.table.members[[e]]).lower[0])

    def witness(self, e: int, point: Array) -> float:
        """Evaluate the statistic with the responses at a point."""
        return float(self.evidence(self.ends(Cell.at(point)), self.table.members[[e]]).upper[0])


def best_point(table: CountTable, counts: Array) -> Array:
    """The values (d,) of the parameters with which the largest explanations fit counts best, nearly.

    It chooses opponents and where to look first, so nothing rests on it.
    """
    assert table.family is not None
    box = table.family.box
    seen = counts > 0.0
    sizes = (table.members >= 0).sum(axis=1)
    largest = table.members[sizes == sizes.max()]

    def values(point: Array, members: IntArray) -> Array:
        columns = table.cell_ends(Cell.at(point))[1]
        amounts = np.empty(members.shape)
        bounds = np.empty((len(members), 2))
        own = np.ascontiguousarray(columns[:, seen])
        fit_all(own, columns.sum(axis=1), counts[seen], members, _ROUGH, -np.inf, amounts, bounds)
        return bounds[:, 0]

    start = values(box.middle, largest)
    chosen = largest[np.argsort(-start, kind="stable")[:_MOST_SOUGHT]]
    points = [
        box.middle,
        *(np.where(corner, box.low, box.high) for corner in product((True, False), repeat=len(box.low))),
    ]
    points = [points[0], *(0.5 * (point + box.middle) for point in points[1:])]
    scores = [float(values(point, chosen).max()) for point in points]
    best = int(np.argmax(scores))
    return climb(lambda point: float(values(point, chosen).max()), box, points[best], scores[best])
