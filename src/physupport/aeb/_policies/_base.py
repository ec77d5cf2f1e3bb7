"""The contract of a policy, which explanation to ask about next, and policies that decide the order beforehand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike

from ..._arrays import check_order, read_only
from ..._checks import check_array, check_count
from ..._errors import MisuseError
from ..._hashes import pieces_hash
from ..._typing import Array, IntArray
from ...questions import Progress, Question, predicates
from .._trace import Brackets


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
    if policy not in predicates(run.question).policies:
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
        order, marks, place = self._order, self._marks, self._place
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

    distances: explanation -> (M,), such as `question.farness().distances`.  A choice costs O(M).
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
        self._distances, self._first, self._brackets = distances, first, brackets
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
