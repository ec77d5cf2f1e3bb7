r"""The places of a library that the atoms of a dictionary may stand for, and how many atoms each run of places holds.

A box of places is cut into pieces.  The response u at unit norm moves by at most a radius within a piece, from proven
slopes, so that one comparison with the `SignalSpace` keeps or excludes all places of a piece.  Pieces that are kept and
touch are one component.

Two atoms of the dictionary at :math:`\theta_1 < \theta_2` have their chord, the difference of their responses over that
of their places, in the space of atoms too.  If both lie in an interval of length w, the chord is within :math:`Bw/2` of
the chord of the whole interval, B a bound of the second derivative.  Pairs of intervals of which the space cannot hold
both atoms are excluded.  If no pair is left, a component has one atom at most.

A normal d of the space of atoms has :math:`g(\theta) = d^Tr(\theta) = 0` at all atoms, with r the response.  If g'' has
no zero in an interval, g has two at most.  So a component holds at most two atoms if the normals of one y, as in
`SignalSpace.normal`, have :math:`d^Tr'' > 0` throughout, whatever the space is.  If the components together hold
fewer atoms than there are, the library cannot explain the dictionary.

A run that may hold more is cut into parts of two at most.  Neighbours of up to two atoms each that together hold two
are one component.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self, final

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from ..._codec import array_json, real, whole
from ..._errors import MisuseError
from ..._typing import Array, Field, IntArray
from ...io import as_complex, as_pairs
from ...responses import Response, box_bounds
from ._space import SignalSpace

# Pieces of a box at the beginning move a response by at most this, and at the end by this part of what is resolved.
_FIRST_RADIUS: Final = 0.1
_LAST_SHARE: Final = 0.15
_MOST_PIECES: Final = 20_000
# Halvings of an interval in which two atoms are sought, and pairs of intervals that are looked at.
_HALVINGS: Final = 9
_MOST_PAIRS: Final = 4000
# How often a run is cut that may hold more than two atoms.
_MOST_CUTS: Final = 3
# Parts of an interval in which second derivatives are bounded.
_PARTS: Final = 64


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Boxes of places, with the response in the middle of each and how far it moves within."""

    columns: Field  # (q, P) unit columns
    radii: Array  # (P,) of listed places 0
    low: Array  # (P, d)
    high: Array  # (P, d)

    @property
    def middles(self) -> Array:
        """(P, d)."""
        return np.asarray(0.5 * self.low + 0.5 * self.high)

    def chosen(self, rows: IntArray) -> "Pieces":
        """Select some of the pieces."""
        return Pieces(self.columns[:, rows], self.radii[rows], self.low[rows], self.high[rows])

    def beside(self, others: "Pieces") -> "Pieces":
        """These and others after them."""
        columns = np.concatenate([self.columns, others.columns], axis=1)
        radii = np.concatenate([self.radii, others.radii])
        return Pieces(columns, radii, np.concatenate([self.low, others.low]), np.concatenate([self.high, others.high]))

    def encode(self) -> dict[str, object]:
        """The arrays."""
        is_complex = np.iscomplexobj(self.columns)
        arrays = {name: array_json(np.ascontiguousarray(getattr(self, name))) for name in Pieces.__slots__[1:]}
        columns = as_pairs(self.columns, axis=0) if is_complex else np.ascontiguousarray(self.columns)
        return {"is_complex": is_complex, "columns": array_json(columns), **arrays}

    @classmethod
    def decode(cls, node: Mapping[str, Any]) -> Self:
        """Read what `encode` wrote."""
        pairs = real(node["columns"], None, None)
        columns = as_complex(pairs) if node["is_complex"] else pairs
        count = columns.shape[1]
        return cls(columns, real(node["radii"], count), real(node["low"], count, None), real(node["high"], count, None))


class _Run(NamedTuple):
    """Pieces that touch, the most atoms in them, and the bound of the second derivative."""

    pieces: Pieces
    capacity: int
    bend: float


@final
@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """Places that belong together: no data of the calibration say that there are two runs of them."""

    pieces: Pieces
    cells: IntArray  # (P,) the element of the bank that each piece belongs to
    best: int  # the piece that agrees most with the calibration
    capacity: int  # the most atoms of the dictionary that can be here
    bend: float  # a bound of the second derivative of unit responses along a line, or 0

    @property
    def ends(self) -> tuple[Array, Array]:
        """(d,) and (d,) the smallest box around it."""
        return self.pieces.low.min(axis=0), self.pieces.high.max(axis=0)

    def encode(self) -> dict[str, object]:
        """The data that the judge needs, as JSON."""
        return {
            "pieces": self.pieces.encode(),
            "cells": array_json(self.cells),
            "best": self.best,
            "capacity": self.capacity,
            "bend": self.bend,
        }

    @classmethod
    def decode(cls, node: Mapping[str, Any]) -> Self:
        """Read what `encode` wrote."""
        pieces = Pieces.decode(node["pieces"])
        cells = whole(node["cells"], len(pieces.radii))
        return cls(pieces, cells, int(node["best"]), int(node["capacity"]), float(node["bend"]))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The part of a library that calibration leaves: components, and the elements (cells of places) of each."""

    components: tuple[Component, ...]
    low: Array  # (E, d) of every element
    high: Array  # (E, d)
    columns: Field  # (q, E) responses in their middles
    owners: IntArray  # (E,) the component of each element

    @property
    def capacity(self) -> int:
        """The most atoms that all components hold."""
        return sum(component.capacity for component in self.components)


def box_places(
    space: SignalSpace, response: Response, low: Array, high: Array, tolerance: float, *, most: int
) -> Places:
    """Search a box of places for those that atoms may stand for.

    tolerance: the side of the elements; they are made longer where their combinations would be more than `most`.
    """
    bounds = box_bounds(response, low, high)
    half = 0.5 * (high - low)
    d = len(low)
    counts = np.maximum(np.ceil(half * bounds.slopes * d / _FIRST_RADIUS), 1.0)
    if counts.prod() > _MOST_PIECES:
        raise MisuseError("library", f"need at most {_MOST_PIECES} pieces of its box", f"{counts.prod():.3g}")
    steps = 2.0 * half / counts
    mesh = np.meshgrid(*(np.arange(n) for n in counts), indexing="ij")
    start = low + steps * np.stack([each.ravel() for each in mesh], axis=1)
    kept = _kept(space, _pieces(response, start, steps, bounds.slopes))
    while len(kept.radii) and not _is_fine(space, kept, steps, tolerance) and 2 * len(kept.radii) <= _MOST_PIECES:
        k = int(np.argmax(steps * bounds.slopes))
        steps = np.where(np.arange(d) == k, 0.5 * steps, steps)
        shifted = kept.low.copy()
        shifted[:, k] += steps[k]
        kept = _kept(space, _pieces(response, np.concatenate([kept.low, shifted]), steps, bounds.slopes))
    made = list[_Run]()
    for run in _runs(kept.middles, steps):
        for found in _divided(space, response, kept.chosen(run)):
            both = _together(space, response, made[-1], found) if made else None
            made = [*made[:-1], both] if both else [*made, found]
    sides = np.full(d, tolerance) if tolerance > 0.0 else 2.0 * half
    return _with_cells(space, made, sides, most, response)


def listed_places(space: SignalSpace, columns: Field, places: Array, *, most: int) -> Places:
    """Search listed places (E, d) with unit responses (q, E): nothing is said of what lies between them.

    Places that cannot both be atoms belong together, and a component of which every two exclude each other holds one.
    """
    listed = Pieces(columns, np.zeros(len(places)), places, places)
    kept = _kept(space, listed)
    count = len(kept.radii)
    together = np.eye(count, dtype=bool)
    for i in range(count):
        one = np.broadcast_to(kept.columns[:, [i]], kept.columns.shape)
        excluded = space.distances(np.array([one, kept.columns - one]), np.zeros((2, count))) > 1.0
        together[i] |= excluded
    together &= together.T
    _, labels = connected_components(coo_array(together), directed=False)
    made = []
    for label in range(labels.max(initial=-1) + 1):
        own = np.flatnonzero(labels == label)
        is_one = bool(together[np.ix_(own, own)].all())
        made.append(_Run(kept.chosen(own), 1 if is_one else space.n_atoms, 0.0))
    return _with_cells(space, made, np.zeros(places.shape[1]), most, None)


def _pieces(response: Response, low: Array, steps: Array, slopes: Array) -> Pieces:
    """Boxes from low (P, d) on with sides (d,)."""
    columns = np.asarray(response(low + 0.5 * steps))
    unit = columns / np.linalg.norm(columns, axis=0)
    return Pieces(unit, np.full(len(low), 0.5 * float(steps @ slopes)), low, low + steps)


def _kept(space: SignalSpace, pieces: Pieces) -> Pieces:
    return pieces.chosen(np.flatnonzero(space.distances(pieces.columns, pieces.radii) <= 1.0))


def _is_fine(space: SignalSpace, pieces: Pieces, steps: Array, tolerance: float) -> bool:
    """True if pieces are small beside what the calibration resolves, or beside the tolerance if it resolves nothing."""
    if not space.is_resolved:
        return bool(tolerance > 0.0 and (steps <= tolerance).all())
    return bool(pieces.radii[0] <= _LAST_SHARE * space.widths[0] / np.sqrt(space.values[0]))


def _runs(middles: Array, steps: Array) -> list[IntArray]:
    """The pieces of each component, those that touch in one, in the order of their first coordinates."""
    if not len(middles):
        return []
    pairs = cKDTree(middles / steps).query_pairs(1.01, p=np.inf, output_type="ndarray")
    ones = np.ones(len(pairs), dtype=bool)
    graph = coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(len(middles), len(middles)))
    _, labels = connected_components(graph, directed=False)
    runs = [np.flatnonzero(labels == label) for label in range(labels.max() + 1)]
    runs = [run[np.lexsort(middles[run].T[::-1])] for run in runs]
    return sorted(runs, key=lambda run: tuple(middles[run[0]]))


def _divided(space: SignalSpace, response: Response, pieces: Pieces, cuts: int = _MOST_CUTS) -> "list[_Run]":
    """A run, cut until no part holds more than two atoms, as a whole if that does not help.

    A cut is where calibration agrees least, in the middle half.  Atoms at a cut lie in both parts.
    """
    whole = _Run(pieces, *_capacity(space, response, pieces))
    count = len(pieces.radii)
    if whole.capacity <= 2 or whole.bend == 0.0 or not cuts or count < 8:
        return [whole]
    off = space.distances(pieces.columns, np.zeros(count))
    cut = count // 4 + int(np.argmax(off[count // 4 : count - count // 4]))
    parts = [pieces.chosen(np.arange(cut)), pieces.chosen(np.arange(cut, count))]
    found = [run for part in parts for run in _divided(space, response, part, cuts - 1)]
    return found if max(run.capacity for run in found) <= 2 else [whole]


def _together(space: SignalSpace, response: Response, one: "_Run", two: "_Run") -> "_Run | None":
    """Neighbours of up to two atoms each as one run, if both together hold two at most."""
    if one.capacity != 2 or two.capacity != 2 or one.bend == 0.0:
        return None
    start = one.pieces.low[0]
    end = two.pieces.high[-1]
    if not _holds_two(space, response, start, end):
        return None
    return _Run(one.pieces.beside(two.pieces), 2, float(box_bounds(response, start, end, second=True).bends[0, 0]))


def _capacity(space: SignalSpace, response: Response, pieces: Pieces) -> tuple[int, float]:
    """The most atoms in a run of pieces on a line, 1, 2 or all there are, and the bound of the second derivative.

    Pairs of intervals, one for each of two atoms, are excluded or cut in halves, until none is left or all are small.
    """
    most = space.n_atoms
    start = pieces.low.min(axis=0)
    end = pieces.high.max(axis=0)
    length = float(end[0] - start[0])
    if not space.is_resolved or len(start) > 1 or getattr(response, "form", None) is None:
        return most, 0.0
    bounds = box_bounds(response, start, end, second=True)
    slope = float(bounds.slopes[0])
    bend = float(bounds.bends[0, 0])
    first = np.zeros(1)  # where the intervals of the lower and of the upper atom begin, beyond the start
    second = np.zeros(1)
    size = length
    for _ in range(_HALVINGS):
        first = np.concatenate([first, first, first + 0.5 * size, first + 0.5 * size])
        second = np.concatenate([second, second + 0.5 * size, second, second + 0.5 * size])
        size = 0.5 * size
        is_new = first <= second + 0.25 * size
        first = first[is_new]
        second = second[is_new]
        hull = second + size - first
        whole = (_unit(response, start + second + size) - _unit(response, start + first)) / hull
        middle = _unit(response, start + 0.5 * (first + second + size))
        ends = [_unit(response, start + each + 0.5 * size) for each in (first, second)]
        off = np.full(len(first), 0.5 * slope * size)
        is_left = space.distances(np.array([middle, whole]), np.array([0.5 * slope * hull, 0.5 * bend * hull])) <= 1.0
        is_left &= space.distances(np.array(ends), np.array([off, off])) <= 1.0
        if not is_left.any():
            return 1, bend
        first = first[is_left]
        second = second[is_left]
        if len(first) > _MOST_PAIRS:
            break
    return (2 if most > 1 and _holds_two(space, response, start, end) else most), bend


def _holds_two(space: SignalSpace, response: Response, start: Array, end: Array) -> bool:
    """True if an interval holds two atoms at most: along some normals the second derivative has no zero."""
    edges = np.linspace(start[0], end[0], _PARTS + 1)
    bends = [jet.second[0][0] for jet in response.form().jets(edges[None, :-1], edges[None, 1:])]  # type: ignore[attr-defined]
    shape = len(space.values), _PARTS
    low = _joined([np.broadcast_to(bend.low, shape) for bend in bends])
    high = _joined([np.broadcast_to(bend.high, shape) for bend in bends])
    return space.normal(low, high) is not None


def _joined(parts: Sequence[Array]) -> Field:
    """The real part, and the imaginary part if there is one, as one array."""
    return np.asarray(parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1])


def _unit(response: Response, places: Array) -> Field:
    """(q, k) unit responses at places (k,) of a line."""
    columns = np.asarray(response(places[:, None]))
    return np.asarray(columns / np.linalg.norm(columns, axis=0))


def _with_cells(
    space: SignalSpace,
    made: Sequence[_Run],
    sides: Array,
    most: int,
    response: Response | None,
) -> Places:
    """Divide components into elements, of which each region has one or none."""
    extents = [pieces.high.max(axis=0) - pieces.low.min(axis=0) for pieces, _, _ in made]
    counts = [np.maximum(np.ceil(extent / np.where(sides > 0.0, sides, 1.0) - 1e-9), 1.0) for extent in extents]
    while response is not None and np.prod([1.0 + each.prod() for each in counts]) > most:
        widest = max(range(len(counts)), key=lambda i: float(counts[i].prod()))
        if counts[widest].prod() == 1.0:
            break
        counts[widest] = np.ceil(0.5 * counts[widest])
    components = []
    lows, highs, owners = list[Array](), list[Array](), list[int]()
    columns = list[Field]()
    for number, (pieces, capacity, bend) in enumerate(made):
        if response is None:
            labels = np.arange(len(pieces.radii))
        else:
            begin = pieces.low.min(axis=0)
            along = np.minimum((pieces.middles - begin) / extents[number] * counts[number], counts[number] - 1.0)
            labels = np.unique(
                np.ravel_multi_index(tuple(along.astype(np.int64).T), tuple(counts[number].astype(int))),
                return_inverse=True,
            )[1].ravel()
        offset = len(lows)
        distances = space.distances(pieces.columns, np.zeros(len(pieces.radii)))
        for label in range(int(labels.max()) + 1):
            own = np.flatnonzero(labels == label)
            lows.append(pieces.low[own].min(axis=0))
            highs.append(pieces.high[own].max(axis=0))
            owners.append(number)
            centre = 0.5 * (lows[-1] + highs[-1])
            column = pieces.columns[:, own[0]]
            if response is not None:
                column = np.asarray(response(centre[None]))[:, 0]
            columns.append(column / np.linalg.norm(column))
        best = int(np.argmin(distances))
        components.append(Component(pieces, labels.astype(np.int64) + offset, best, capacity, bend))
    d = len(sides)
    return Places(
        tuple(components),
        np.reshape(lows, (-1, d)),
        np.reshape(highs, (-1, d)),
        np.array(columns).T if columns else np.zeros((len(space.values), 0)),
        np.array(owners, dtype=np.int64),
    )
