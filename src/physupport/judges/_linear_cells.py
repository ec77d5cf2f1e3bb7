r"""Evidence of rows that are linear in open coefficients against elements anywhere in cells (`Ranges`).

The denominator of a cell is that of balls around the answers in its middle, which hold the answers at all its points.
Two elements that are too alike for that have the balls around a basis of what both span (`Ranges.merged`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

import numpy as np

from .._typing import Array, Field, IntArray
from ..laws import Design, Opponent, streams
from ..responses import Balls, Cell, Ranges, climb
from ._cells import search
from ._coded_cells import CodedRows
from ._evidence import Bounds, Factor, log_mean, sum_down, sum_up

# Cells and points of one explanation that are asked about; what is open then stays possible.
_MOST_ASKED: Final = 512
# Explanations whose best points oppose.
_MOST_SOUGHT: Final = 6


@final
@dataclass(frozen=True, eq=False)
class LinearCells:
    """The log evidence of splits, with one noise setting, against the points and cells of explanations."""

    design: Design
    trials: Sequence[Factor]
    setting: int  # of the noise
    threshold: float
    beside: CodedRows | None = None
    _weights: dict[int, Array] = field(default_factory=dict, init=False, repr=False)

    @property
    def ranges(self) -> Ranges:
        """The cells of the elements."""
        assert self.design.ranges is not None
        return self.design.ranges

    @property
    def box(self) -> Cell:
        """The parameters that all explanations share."""
        return self.ranges.box

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return self.ranges.names

    def root(self, e: int, box: Cell) -> Cell:
        """The cells of the elements of a support, and the box."""
        whole = self.ranges.root(self.elements(np.array([e])))
        count = len(whole.low) - len(box.low)
        return Cell(np.append(whole.low[:count], box.low), np.append(whole.high[:count], box.high))

    def first(self, e: int, root: Cell) -> Array:  # noqa: ARG002
        """The middle."""
        return root.middle

    def weights(self, e: int) -> Array:
        """Bounds of the slopes."""
        if e not in self._weights:
            self._weights[e] = self.ranges.weights(self.root(e, self.box))
        return self._weights[e]

    def active(self, e: int) -> IntArray:
        """(k,) the columns of a support."""
        support = self.design.supports[e]
        return np.asarray(support[support >= 0])

    def elements(self, group: IntArray) -> IntArray:
        """(n, k) the elements of supports that have k each."""
        return np.array([self.active(int(e)) % len(self.ranges.places) for e in group], dtype=np.int64)

    def bound(self, e: int, cell: Cell) -> float:
        """Bound the statistic by balls that contain all responses of the cell."""
        active = self.active(e)
        if not len(active):
            return float(self._evidence(self.columns(e, cell.middle), None, active).lower[0])
        return self._bound(self.root(e, self.box), active, cell)

    def bound_of_group(self, group: IntArray) -> float:
        """The same against all points of several supports of equal size, at once."""
        root = self.ranges.root(self.elements(group))
        return self._bound(None, self.active(int(group[0])), root)

    def _bound(self, root: Cell | None, active: IntArray, cell: Cell) -> float:
        own = self.ranges.balls(cell, root)
        beside = np.zeros(1) if self.beside is None else self.beside.evidence(own.columns, own.radii).lower
        tried: list[tuple[Balls, IntArray | None]] = [(own, active)]
        if root is not None and self._can_merge(len(active)):
            tried.append((self.ranges.merged(cell), None))
        if self.design.rows != "same mean":  # the angle of the span is all that counts
            sines = [self._sine(balls) for balls, _ in tried]
            best = int(np.argmin(sines))
            tried = [tried[best]] if sines[best] < 1.0 else []
        bound = -np.inf
        for balls, owners in tried:
            bound = max(bound, float(sum_down(self._evidence(balls.columns, balls.radii, owners).lower, beside)[0]))
            if bound > self.threshold:
                break
        return bound

    def _can_merge(self, count: int) -> bool:
        """True if there are two elements, along one coordinate."""
        return count == 2 and self.ranges.has_bends

    def _sine(self, balls: Balls) -> float:
        design = self.design.moved(balls.columns, None, np.arange(len(balls.radii))[None], balls.radii)
        assert design.radii is not None
        beside = design.background
        return streams.span_sine(
            np.hstack([design.columns, beside]), np.append(design.radii, np.zeros(beside.shape[1]))
        )

    def witness(self, e: int, point: Array) -> float:
        """Evaluate the statistic with the responses at the point."""
        columns = self.columns(e, point)
        beside = np.zeros(1) if self.beside is None else self.beside.evidence(columns).upper
        return float(sum_up(self._evidence(columns, None, self.active(e)).upper, beside)[0])

    def columns(self, e: int, point: Array) -> Field:
        """(q, k) the answers at a point of a support, which may be empty."""
        if len(self.active(e)):
            return self.ranges.columns(point)
        whitener = self.design.whitener
        q = len(self.design.columns) if whitener is None else whitener.shape[1]
        return np.zeros((q, 0), self.design.columns.dtype)

    def _evidence(self, columns: Field, radii: Array | None, active: IntArray | None) -> Bounds:
        """(1,) bounds of the log of the mean evidence of the splits."""
        key = np.array([self.setting])
        support = np.arange(columns.shape[1])[None]
        found = []
        for trial in self.trials:
            stream = trial.stream
            assert isinstance(stream, streams.LinearStream)
            found.append(trial.against(stream.moved(columns, active, support, radii).log_likelihood(key)))
        return log_mean(Bounds(*(np.array([end[:, -1] for end in side]) for side in zip(*found, strict=True))))


def cell_opponent(stream: "streams.LinearStream") -> Opponent:
    """The opponent of rows that propose: explanations at the points of their cells where they fit these rows best."""
    design = stream.design
    settings = len(design.deviations)
    cells = LinearCells(design, (), 0, 0.0)
    scores = stream.log_likelihood(np.arange(stream.n_keys)).values[:, -1]
    best = scores.reshape(-1, settings).max(axis=1)
    chosen = np.argsort(-best, kind="stable")[:_MOST_SOUGHT].tolist()
    columns = list[Field]()
    for e in chosen:
        key = np.array([int(scores[e * settings : (e + 1) * settings].argmax())])
        active = cells.active(e)
        support = np.arange(len(active))[None]

        def value(point: Array, active: IntArray = active, support: IntArray = support, key: IntArray = key) -> float:
            moved = stream.moved(cells.ranges.columns(point), active, support)
            return float(moved.log_likelihood(key).values[0, -1])

        root = cells.root(e, cells.box)
        point = climb(value, root, root.middle, float(best[e])) if len(active) else root.middle
        columns.append(cells.columns(e, point))
    owners = np.concatenate([cells.active(e) for e in chosen])
    widths = [each.shape[1] for each in columns]
    supports = np.full((len(chosen), max(widths)), -1, dtype=np.int64)
    for row, (width, end) in enumerate(zip(widths, np.cumsum(widths).tolist(), strict=True)):
        supports[row, :width] = np.arange(end - width, end)
    moved = replace(stream.moved(np.hstack(columns), owners, supports), fits={})
    return moved.opponent(np.arange(moved.n_keys))


@final
@dataclass(frozen=True, slots=True, eq=False)
class CellAnswers:
    """Bounds (K,) of the least log evidence against supports, and how many cells and points were asked about."""

    log_evidence: Bounds
    n_asked: int


def ask_all(cells: LinearCells) -> CellAnswers:
    """Ask about all supports: groups of them first, as wholes, which are halved where they are not rejected."""
    supports = cells.design.supports
    sizes = (supports >= 0).sum(axis=1)
    lower, upper = np.full((2, len(supports)), np.inf)
    asked = 0
    groups = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    while groups:
        group = groups.pop()
        if len(group) == 1 or not sizes[group[0]]:
            for e in group.tolist():
                found = search(cells, e, most=_MOST_ASKED)
                lower[e], upper[e] = found.lower, found.upper
                asked += found.n_asked
            continue
        bound = cells.bound_of_group(group)
        asked += 1
        if bound > cells.threshold:
            lower[group] = bound
        else:
            groups += _halves(cells, group)
    return CellAnswers(Bounds(lower, upper), asked)


def _halves(cells: LinearCells, group: IntArray) -> list[IntArray]:
    """Two groups of equal size, apart along the coordinate that moves the responses most."""
    elements = cells.elements(group)
    middles = cells.ranges.places[elements].reshape(len(group), -1)
    widths = (middles.max(axis=0) - middles.min(axis=0)) * cells.weights(int(group[0]))[: middles.shape[1]]
    order = np.argsort(middles[:, int(widths.argmax())], kind="stable")
    return [group[order[: len(group) // 2]], group[order[len(group) // 2 :]]]
