"""The policy for a resolution: attack the pair of places that keeps the possible diameter large."""

from dataclasses import dataclass
from typing import cast, final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array
from ..._errors import MisuseError
from ..._typing import IntArray
from ...judges import Verdict
from ...questions import Resolution
from ._base import Order, RunView, Selector, check_listed, frozen_order, listed_order, order_digest

# Two distances this close count as equal.
_TIE = 1e-16


@final
@dataclass(frozen=True, slots=True, eq=False)
class EndpointPolicy:
    """Settle one end of the pair that attains the possible diameter, then look again.

    Of equal pairs one with the proposal comes first.  Of its unsettled ends: fewest unqueried explanations, then most
    to gain for the witnessed diameter, most to lose for the possible one, farthest from the proposal, lowest number.
    If both ends are settled: of all unsettled places, most to gain, fewest unqueried, lowest number.  Its
    explanations are asked about until one is admissible or all are rejected.
    order: (M,) explanations; those of a place are asked about in this order.  None is by index.
    """

    order: Order = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", frozen_order(self.order))

    def begin(self, run: RunView) -> Selector:
        """For questions about a resolution only."""
        check_listed(run, "endpoints", "Resolution")
        size = run.brackets.size
        order = listed_order(self.order, size)
        if len(order) != size:
            raise MisuseError("order", f"hold all {size} explanations", f"{len(order)}")
        return _EndpointSelector(cast(Resolution, run.question), order)

    def describe(self) -> dict[str, object]:
        """The kind, and a hash of the order."""
        return {"policy": "endpoints", "order": order_digest(self.order)}


@final
class _EndpointSelector:
    """Places are numbered from 1; number 0 is the proposal, which is always there."""

    __slots__ = ("_alive", "_current", "_distances", "_members", "_place_of", "_queue", "_rejected", "_witnessed")

    def __init__(self, question: Resolution, order: IntArray) -> None:
        count = len(question.proposal_distances)
        self._distances = np.zeros((count + 1, count + 1))
        self._distances[1:, 1:] = question.distances
        self._distances[0, 1:] = self._distances[1:, 0] = question.proposal_distances
        self._place_of = question.places + 1
        listed = order[np.argsort(self._place_of[order], kind="stable")]
        sizes = np.bincount(self._place_of, minlength=count + 1)
        self._members = [part.tolist() for part in np.split(listed, np.cumsum(sizes)[:-1])]
        self._queue = [0] * (count + 1)  # how many of a place have been asked about
        self._rejected = [0] * (count + 1)
        self._witnessed = np.zeros(count + 1, dtype=bool)  # a survivor is known; the proposal counts as one
        self._witnessed[0] = True
        self._alive = (sizes > 0) | self._witnessed
        self._current: int | None = None

    def choose(self) -> int | None:
        if self._current is None or not self._is_open(self._current):
            self._current = self._next_place()
        place = self._current
        return None if place is None else self._members[place][self._queue[place]]

    def observe(self, e: int, code: int) -> None:
        place = int(self._place_of[e])
        self._queue[place] += 1
        if code == Verdict.ADMISSIBLE:
            self._witnessed[place] = True
        elif code == Verdict.REJECTED:
            self._rejected[place] += 1
            self._alive[place] = self._rejected[place] < len(self._members[place])

    def _is_open(self, place: int) -> bool:
        """Whether a query may settle it; an indeterminate verdict can leave a place that none settles."""
        return not self._witnessed[place] and self._queue[place] < len(self._members[place])

    def _unqueried(self, place: int) -> int:
        return len(self._members[place]) - self._queue[place]

    def _next_place(self) -> int | None:
        kept = np.flatnonzero(self._alive)
        between = self._distances[np.ix_(kept, kept)]
        upper = float(between.max())
        # Row by row, so that the proposal, which is number 0, comes first among equals.
        first = int(np.argmax((between >= upper - _TIE).ravel()))
        pair = sorted({int(kept[i]) for i in divmod(first, len(kept))})
        ends = [place for place in pair if self._is_open(place)]
        if ends:
            return min(ends, key=lambda j: self._end_key(j, kept, upper))
        rest = [place for place in kept.tolist() if self._is_open(place)]
        # The pair stays, so no other place can lower the possible diameter.
        return min(rest, key=lambda j: (-self._gain(j), self._unqueried(j), j), default=None)

    def _end_key(self, place: int, kept: IntArray, upper: float) -> tuple[float, ...]:
        others = kept[kept != place]
        drop = upper - float(self._distances[np.ix_(others, others)].max())
        return self._unqueried(place), -self._gain(place), -drop, -float(self._distances[0, place]), place

    def _gain(self, place: int) -> float:
        """By how much the witnessed diameter would grow with a survivor here."""
        witnessed = np.flatnonzero(self._witnessed)
        lower = float(self._distances[np.ix_(witnessed, witnessed)].max())
        return max(lower, float(self._distances[place, witnessed].max())) - lower


def nuisance_order(values: ArrayLike, proposal: ArrayLike) -> IntArray:
    """In which order to try the nuisances of one place, most promising first.

    The setting nearest to the proposal (each axis in units of its span), the middle of the grid, its corners from the
    nearest, then all others from the nearest; equally near ones by index.
    values: (m, d), such as `Nuisances.values`.  proposal: (d,).  Returns (m,).

    >>> nuisance_order([[0.1], [0.2], [0.3], [0.4], [0.5]], [0.41]).tolist()
    [3, 2, 4, 0, 1]
    """
    grid = check_array("values", values, (None, None))
    spans = np.ptp(grid, axis=0)
    steps = (grid - check_array("proposal", proposal, grid.shape[1:])) / np.where(spans > 0.0, spans, 1.0)
    by_nearness = np.argsort(np.linalg.norm(steps, axis=1), kind="stable")
    axes = [np.unique(column) for column in grid.T]
    middles = np.array([axis[(len(axis) - 1) // 2] for axis in axes])
    is_middle = (grid == middles).all(axis=1)
    is_corner = ((grid == grid.min(axis=0)) | (grid == grid.max(axis=0))).all(axis=1)
    stages = [by_nearness[:1], by_nearness[is_middle[by_nearness]], by_nearness[is_corner[by_nearness]], by_nearness]
    return np.array(list(dict.fromkeys(np.concatenate(stages).tolist())), dtype=np.int64)
