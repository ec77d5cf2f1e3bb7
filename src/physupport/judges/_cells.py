"""Explanations whose parameters, or places, may lie anywhere in cells: one search for every law that bounds a cell.

An explanation is rejected if it is rejected at every point of its cell.  A law supplies a bound of the evidence against
all points of a cell, and the evidence against one point; `least_evidence` splits cells where these decide nothing.
"""

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np

from .._typing import Array
from ..responses import MOST_ASKED, Cell, Searched, least_evidence

# Slabs at each end of a parameter that are tried to be cut off, each half as wide as the one before, and the cells and
# points that each is worth: the extents are a fact beside the answer, and always hold all that is left.
_CUTS: Final = 4
_MOST_OF_SLAB: Final = 40


class CellLaw(Protocol):
    """The facts that a law gives of the cells of its explanations."""

    @property
    def threshold(self) -> float:
        """The log evidence from which on an explanation is rejected."""

    @property
    def box(self) -> Cell:
        """The parameters that all explanations share, (p,) each."""

    @property
    def names(self) -> tuple[str, ...]:
        """(p,) what these are called."""

    def root(self, e: int, box: Cell) -> Cell:
        """The box of an explanation: all places and parameters; the parameters come last."""

    def first(self, e: int, root: Cell) -> Array:
        """The point of a root that is asked about first."""

    def weights(self, e: int) -> Array:
        """The change of the responses per unit of every coordinate."""

    def bound(self, e: int, cell: Cell) -> float:
        """A number that the log evidence against no point of the cell is below."""

    def witness(self, e: int, point: Array) -> float:
        """A number that the log evidence against a point is not above."""


def search(
    law: CellLaw,
    e: int,
    box: Cell | None = None,
    *,
    resolution: Array | None = None,
    seeks: bool = True,
    most: int = MOST_ASKED,
) -> Searched:
    """Search the points of an explanation, with parameters anywhere in a box, for the least evidence against them.

    box: of the parameters, all of them unless given.  resolution: (d,) sides of cells that are not split further.
    seeks: False goes on after a point is kept, so that the cells left cover everything that is not rejected.
    """
    root = law.root(e, law.box if box is None else box)
    sides = np.zeros(len(root.low)) if resolution is None else resolution
    weights = law.weights(e)
    return least_evidence(
        root,
        lambda cell: law.bound(e, cell),
        (lambda point: law.witness(e, point)) if seeks else None,
        lambda cell: cell.split(weights, sides),
        law.threshold,
        first=law.first(e, root),
        most=most,
    )


def extents(law: CellLaw, explanations: Sequence[int]) -> Cell:
    """The smallest box of parameters found that holds all with which one of these explanations is not rejected."""
    box = law.box
    for k in range(len(box.low)):
        for side in (0, 1):
            box = _cut(law, box, k, side, explanations)
    return box


def _cut(law: CellLaw, box: Cell, k: int, side: int, explanations: Sequence[int]) -> Cell:
    """The box without the slab at one end of parameter k that is rejected under all explanations."""
    inner, outer = (box.high[k], box.low[k]) if side == 0 else (box.low[k], box.high[k])
    for _ in range(_CUTS):
        middle = 0.5 * (inner + outer)
        slab = box.cut(k, min(outer, middle), max(outer, middle))
        if all(search(law, e, slab, most=_MOST_OF_SLAB).lower > law.threshold for e in explanations):
            outer = middle
            box = box.cut(k, middle, box.high[k]) if side == 0 else box.cut(k, box.low[k], middle)
        else:
            inner = middle
    return box


def parameter_facts(kept: Sequence[tuple[CellLaw, Sequence[int]]], n_asked: int) -> dict[str, object]:
    """The extents of every parameter that explanations leave, and how many cells and points were asked about.

    kept: laws that share a box, and the explanations that each of them leaves.
    """
    law = kept[0][0]
    left = [extents(each, explanations) for each, explanations in kept if explanations]
    parameters = [
        {
            "name": name,
            "box": [float(law.box.low[k]), float(law.box.high[k])],
            "left": [min(float(box.low[k]) for box in left), max(float(box.high[k]) for box in left)] if left else None,
        }
        for k, name in enumerate(law.names)
    ]
    return {"parameters": parameters, "asked": n_asked}
