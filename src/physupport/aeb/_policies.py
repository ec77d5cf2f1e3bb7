"""The contract of a policy, orders that are fixed or random, endpoints, and policies for a whole set."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, cast, final

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import check_order, read_only
from .._checks import check_array, check_count
from .._errors import MisuseError
from .._hashes import pieces_hash
from .._typing import Array, IntArray
from ..judges import Verdict
from ..questions import Progress, Question, Resolution
from ._trace import Brackets


@final
@dataclass(frozen=True, slots=True, eq=False)
class Proposals:
    """What the proposal part of the data suggests, found before any held-out row is read.

    explanations: the best first.  plausibility: (M,), larger is more likely to be admissible, such as the log
    likelihood of the proposal rows.
    """

    explanations: tuple[int, ...] = ()
    plausibility: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "explanations", tuple(check_count("explanations", e, 0) for e in self.explanations))
        if self.plausibility is not None:
            plausibility = check_array("plausibility", self.plausibility, (None,))
            object.__setattr__(self, "plausibility", read_only(plausibility))

    def check_size(self, size: int) -> None:
        """That they speak of a bank of this size."""
        if any(e >= size for e in self.explanations):
            raise MisuseError("explanations", f"lie between 0 and {size - 1}", self.explanations)
        if self.plausibility is not None and len(self.plausibility) != size:
            raise MisuseError("plausibility", f"have shape ({size},)", f"shape {self.plausibility.shape}")


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunView:
    """All that a policy may look at: the question, proposal data, and the verdicts so far.

    There is no way from here to held-out data, and none to the budget: so a prefix of a trace is what a smaller
    budget would have given.
    """

    question: Question
    progress: Progress
    brackets: Brackets
    proposals: Proposals = field(default_factory=Proposals)


def check_listed(run: RunView, policy: str, kind: str) -> None:
    """Refuse a question that does not list a policy among its own: it lacks what the policy looks at."""
    if policy not in run.question.policies:
        raise MisuseError("question", f"be a {kind}", type(run.question).__name__)


class Selector(Protocol):
    """A policy at work in one run."""

    def choose(self) -> int | None:
        """An unqueried explanation, or None to stop; asked again without a verdict in between, the same."""

    def observe(self, e: int, code: int) -> None:
        """The verdict on an explanation, after brackets and question have taken note of it."""


class Policy(Protocol):
    """A rule fixed before held-out data are read; ties are broken by the lowest index."""

    def begin(self, run: RunView) -> Selector:
        """Start on a run in which nothing has been asked."""

    def describe(self) -> dict[str, object]:
        """All that defines the policy, as JSON can hold it; a protocol hashes it."""


def content_digest(*arrays: ArrayLike) -> str:
    """SHA-256 over arrays of whole numbers, little-endian and with their shapes."""
    fixed = [np.asarray(array, dtype=np.int64) for array in arrays]
    return pieces_hash(*(piece for array in fixed for piece in (repr(array.shape), array)))


# Explanations one after the other; None is by index.
Order: TypeAlias = Sequence[int] | IntArray | None


def frozen_order(order: Order) -> IntArray | None:
    """A copy that stays what it is."""
    return None if order is None else read_only(order)


def listed_order(order: Order, size: int) -> IntArray:
    """Distinct explanations of a bank of this size, all of them by index unless given."""
    return np.arange(size) if order is None else check_order("order", order, size)


def order_digest(order: Order) -> str | None:
    """For the description of a policy."""
    return None if order is None else content_digest(order)


@final
class OrderSelector:
    """The first unqueried explanation of a list; every entry is passed once, so a choice costs the same on average."""

    __slots__ = ("_marks", "_order", "_place")

    def __init__(self, order: IntArray, brackets: Brackets) -> None:
        self._order = np.ascontiguousarray(order, dtype=np.int64).data
        self._place = 0
        self._marks = brackets.marks

    def choose(self) -> int | None:
        """The next in the list, None at its end."""
        order = self._order
        marks = self._marks
        place = self._place
        while place < len(order) and marks[order[place]]:
            place += 1
        self._place = place
        return order[place] if place < len(order) else None

    def observe(self, e: int, code: int) -> None:
        """The order does not depend on verdicts."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class FixedOrder:
    """A given order, or by index; explanations left out of it are never asked about."""

    order: Order = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", frozen_order(self.order))

    def begin(self, run: RunView) -> Selector:
        """Check the order against the bank."""
        return OrderSelector(listed_order(self.order, run.brackets.size), run.brackets)

    def describe(self) -> dict[str, object]:
        """The kind, and a hash of the order."""
        return {"policy": "fixed order", "order": order_digest(self.order)}


@final
@dataclass(frozen=True, slots=True)
class RandomOrder:
    """A uniformly random order from a seed."""

    seed: int

    def __post_init__(self) -> None:
        check_count("seed", self.seed, 0)

    def begin(self, run: RunView) -> Selector:
        """Draw the order."""
        return OrderSelector(np.random.default_rng(self.seed).permutation(run.brackets.size), run.brackets)

    def describe(self) -> dict[str, object]:
        """The kind and the seed."""
        return {"policy": "random order", "seed": self.seed}


def proposal_order(groups: ArrayLike, first: Sequence[int]) -> IntArray:
    """Explanations by index, but those of the given groups before all others, group after group.

    groups: (M,), such as the dictionary state of every explanation.

    >>> proposal_order([0, 0, 1, 1, 2, 2], first=[2, 1]).tolist()
    [4, 5, 2, 3, 0, 1]
    """
    numbers = np.asarray(groups)
    rank = np.full(len(numbers), len(first))
    for place in reversed(range(len(first))):
        rank[numbers == first[place]] = place
    return np.argsort(rank, kind="stable")


@final
@dataclass(frozen=True, slots=True, eq=False)
class FarthestFirst:
    """Ask next about the explanation farthest from all asked so far; first about the proposal, else explanation 0.

    distances: explanation -> (M,), such as `question.farness()[1]`.  A choice costs O(M).
    """

    distances: Callable[[int], Array]
    name: str = "distances"  # tells one set of distances from another

    def begin(self, run: RunView) -> Selector:
        """Nothing asked: everything is equally far."""
        first = run.proposals.explanations[0] if run.proposals.explanations else 0
        return _FarthestSelector(self.distances, first, run.brackets)

    def describe(self) -> dict[str, object]:
        """The kind and what the distances are called."""
        return {"policy": "farthest first", "distances": self.name}


@final
class _FarthestSelector:
    __slots__ = ("_brackets", "_distances", "_first", "_nearest")

    def __init__(self, distances: Callable[[int], Array], first: int, brackets: Brackets) -> None:
        self._distances = distances
        self._first = first
        self._brackets = brackets
        self._nearest = np.full(brackets.size, np.inf)  # to what was asked; -inf for what was asked itself

    def choose(self) -> int | None:
        if not self._brackets.n_queried:
            return self._first
        best = int(np.argmax(self._nearest))
        return None if self._nearest[best] == -np.inf else best

    def observe(self, e: int, code: int) -> None:  # noqa: ARG002
        away = self._distances(e)
        if away.shape != self._nearest.shape:
            raise MisuseError("distances", f"give shape {self._nearest.shape}", f"shape {away.shape}")
        np.minimum(self._nearest, away, out=self._nearest)
        self._nearest[e] = -np.inf


@final
class WholeSetSelector:
    """Chooses as a policy does until every label is certified or the policy wants nothing; then all that is left.

    What is left comes in order of plausibility.  It does not need the policy, which is not told of it.
    """

    __slots__ = ("_is_past", "_policy", "_rest", "_run", "_until_witnessed")

    def __init__(self, run: RunView, policy: Selector, until_witnessed: bool) -> None:
        self._run = run
        self._policy = policy
        self._until_witnessed = until_witnessed
        self._rest = OrderSelector(_plausible_first(run.proposals, run.brackets.size), run.brackets)
        self._is_past = False

    def choose(self) -> int | None:
        """None once everything was asked about."""
        if not self._is_past:
            e = None if self._is_certified() else self._policy.choose()
            if e is not None:
                return e
            self._is_past = True
        return self._rest.choose()

    def observe(self, e: int, code: int) -> None:
        """For the policy, as long as it chooses."""
        if not self._is_past:
            self._policy.observe(e, code)

    def _is_certified(self) -> bool:
        run = self._run
        return run.progress.is_certified and (run.brackets.n_witnessed > 0 or not self._until_witnessed)


def _plausible_first(proposals: Proposals, size: int) -> IntArray:
    """(M,) all explanations; where plausibility is not known, those proposed and then the others by index."""
    worth = proposals.plausibility
    if worth is None:
        worth = np.zeros(size)
        worth[list(proposals.explanations)] = 1.0
    return np.argsort(-worth, kind="stable")


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
