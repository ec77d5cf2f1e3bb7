"""The contract of a policy, orders that are fixed or random, and policies for one kind of question."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, cast, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_count, check_order, read_only
from .._codec import pieces_hash
from .._errors import MisuseError
from .._typing import Array, BoolArray, IntArray
from ..questions import Label, Progress, Question, RegionalMap, RegionalProgress, Resolution
from ._trace import REJECTED, WITNESSED, Brackets


@final
@dataclass(frozen=True, slots=True, eq=False)
class Proposals:
    """Suggestions of the proposal part of the data, found before any held-out row is read.

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
        """Raise unless the proposals are about a bank of this size."""
        if any(e >= size for e in self.explanations):
            raise MisuseError("explanations", f"lie between 0 and {size - 1}", self.explanations)
        if self.plausibility is not None and len(self.plausibility) != size:
            raise MisuseError("plausibility", f"have shape ({size},)", f"shape {self.plausibility.shape}")


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunView:
    """The information that a policy may use: the question, proposal data, and the verdicts so far.

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


class Policy(Protocol):
    """A rule fixed before held-out data are read; ties are broken by the lowest index."""

    def begin(self, run: RunView) -> Iterator[int]:
        """Yield unqueried explanations one by one, in a run in which nothing has been asked.

        Before the next one is taken, brackets and question are updated with the verdict on the one before.
        """

    def describe(self) -> dict[str, object]:
        """The definition of the policy as JSON; a protocol hashes it."""


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
    """The hash of an order, for the description of a policy."""
    return None if order is None else content_digest(order)


def unqueried(order: IntArray, brackets: Brackets) -> Iterator[int]:
    """Yield the explanations of a list, without those that were queried in the meantime."""
    marks = brackets.marks
    for e in np.ascontiguousarray(order, dtype=np.int64).data:
        if not marks[e]:
            yield e


@final
@dataclass(frozen=True, slots=True, eq=False)
class FixedOrder:
    """A given order, or by index; explanations left out of it are never asked about."""

    order: Order = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", frozen_order(self.order))

    def begin(self, run: RunView) -> Iterator[int]:
        """Follow the order, which must fit the bank."""
        return unqueried(listed_order(self.order, run.brackets.size), run.brackets)

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

    def begin(self, run: RunView) -> Iterator[int]:
        """Draw the order."""
        return unqueried(np.random.default_rng(self.seed).permutation(run.brackets.size), run.brackets)

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

    def begin(self, run: RunView) -> Iterator[int]:
        """Start before the first query: all places are equally far."""
        nearest = np.full(run.brackets.size, np.inf)  # to what was asked; -inf for what was asked itself
        e = run.proposals.explanations[0] if run.proposals.explanations else 0
        while nearest[e] > -np.inf:
            yield e
            away = self.distances(e)
            if away.shape != nearest.shape:
                raise MisuseError("distances", f"give shape {nearest.shape}", f"shape {away.shape}")
            np.minimum(nearest, away, out=nearest)
            nearest[e] = -np.inf
            e = int(np.argmax(nearest))

    def describe(self) -> dict[str, object]:
        """The kind and what the distances are called."""
        return {"policy": "farthest first", "distances": self.name}


def whole_set(run: RunView, choices: Iterator[int], until_witnessed: bool) -> Iterator[int]:
    """Follow a policy until every label is certified or the policy ends; then ask about all remaining explanations.

    The remaining explanations come in order of plausibility.
    """
    while not run.progress.is_certified or (until_witnessed and not run.brackets.n_witnessed):
        e = next(choices, None)
        if e is None:
            break
        yield e
    worth = run.proposals.plausibility
    if worth is None:  # those proposed, and then the others by index
        worth = np.zeros(run.brackets.size)
        worth[list(run.proposals.explanations)] = 1.0
    yield from unqueried(np.argsort(-worth, kind="stable"), run.brackets)


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

    def begin(self, run: RunView) -> Iterator[int]:
        """Start the policy; raise unless the question is about a resolution."""
        check_listed(run, "endpoints", "Resolution")
        question = cast(Resolution, run.question)
        size = run.brackets.size
        order = listed_order(self.order, size)
        if len(order) != size:
            raise MisuseError("order", f"hold all {size} explanations", f"{len(order)}")
        # Places are numbered from 1; number 0 is the proposal, which is always there.
        count = len(question.proposal_distances) + 1
        distances = np.zeros((count, count))
        distances[1:, 1:] = question.distances
        distances[0, 1:] = distances[1:, 0] = question.proposal_distances
        places = question.places + 1
        sizes = np.bincount(places, minlength=count)
        listed = order[np.argsort(places[order], kind="stable")]
        members = np.split(listed, np.cumsum(sizes)[:-1])
        is_open = sizes > 0
        while (place := _next_place(distances, places, run.brackets, is_open, sizes)) is not None:
            is_open[place] = False
            for e in members[place].tolist():
                yield e
                if run.brackets.marks[e] == WITNESSED:
                    break

    def describe(self) -> dict[str, object]:
        """The kind, and a hash of the order."""
        return {"policy": "endpoints", "order": order_digest(self.order)}


def _next_place(
    distances: Array, places: IntArray, brackets: Brackets, is_open: BoolArray, sizes: IntArray
) -> int | None:
    """The place to ask about next; None once no place is open.  No explanation of an open place was queried."""
    marks = brackets.column()
    alive, witnessed = (
        np.flatnonzero(np.bincount(places[mask], minlength=len(sizes)) + (np.arange(len(sizes)) == 0))
        for mask in (marks != REJECTED, marks == WITNESSED)
    )
    lower = float(distances[np.ix_(witnessed, witnessed)].max())
    between = distances[np.ix_(alive, alive)]
    upper = float(between.max())

    def gain(place: int) -> float:
        """The growth of the witnessed diameter if this explanation survived."""
        return max(lower, float(distances[place, witnessed].max())) - lower

    def end_key(place: int) -> tuple[float, ...]:
        others = alive[alive != place]
        drop = upper - float(distances[np.ix_(others, others)].max())
        return int(sizes[place]), -gain(place), -drop, -float(distances[0, place]), place

    # Row by row, so that the proposal, which is number 0, comes first among equals.
    first = int(np.argmax((between >= upper - _TIE).ravel()))
    pair = sorted({int(alive[i]) for i in divmod(first, len(alive))})
    ends = [place for place in pair if is_open[place]]
    if ends:
        return min(ends, key=end_key)
    # The pair stays, so no other place can lower the possible diameter.
    rest = alive[is_open[alive]].tolist()
    return min(rest, key=lambda place: (-gain(place), int(sizes[place]), place), default=None)


def nuisance_order(values: ArrayLike, proposal: ArrayLike) -> IntArray:
    """The order in which to try the nuisances of one place, most promising first.

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


@final
@dataclass(frozen=True, slots=True, eq=False)
class Obligation:
    """Explanations that must all be rejected before a region can have the label that is hoped for."""

    region: str
    members: BoolArray  # (M,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", read_only(self.members))


@final
@dataclass(frozen=True, slots=True, eq=False)
class WitnessFirst:
    """Seek a witness in each stage in turn; then reject obligations, those that serve most regions first.

    stages: (M,) masks; a stage is over when one of its explanations is admissible or all were asked about.  order:
    (M,) explanations as they are tried within a stage; None is by index.  An obligation counts while its region is
    ABSTAIN.  Of the unqueried members of all that count: in most obligations, smallest summed size of these, largest
    gain in rank of the labels if it alone were rejected, largest drop of the diameter of U likewise, lowest index.
    Nothing left to ask ends the run.
    """

    stages: tuple[BoolArray, ...]
    obligations: tuple[Obligation, ...]
    order: Order = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", tuple(read_only(mask) for mask in self.stages))
        object.__setattr__(self, "obligations", tuple(self.obligations))
        object.__setattr__(self, "order", frozen_order(self.order))

    def begin(self, run: RunView) -> Iterator[int]:
        """Start the policy; raise unless the question is a regional map."""
        check_listed(run, "regional", "RegionalMap")
        question = cast(RegionalMap, run.question)
        progress = cast(RegionalProgress, run.progress)
        size = run.brackets.size
        for name, mask in [("stages", s) for s in self.stages] + [("obligations", o.members) for o in self.obligations]:
            if mask.shape != (size,) or mask.dtype != np.bool_:
                raise MisuseError(name, f"be masks of shape ({size},)", f"{mask.dtype} of shape {mask.shape}")
        for obligation in self.obligations:
            if obligation.region not in question.regions:
                raise MisuseError("obligations", f"name regions among {question.regions}", repr(obligation.region))
        order = listed_order(self.order, size)
        for mask in self.stages:
            for e in unqueried(order[mask[order]], run.brackets):
                if mask[run.brackets.witnessed()].any():
                    break
                yield e
        regions = [question.regions.index(obligation.region) for obligation in self.obligations]
        members = np.array([obligation.members for obligation in self.obligations]).reshape(-1, size)
        while (best := _best_member(members, regions, run.brackets, progress)) is not None:
            yield best

    def describe(self) -> dict[str, object]:
        """The kind, the regions, and hashes of stages, obligations and order."""
        return {
            "policy": "witness first",
            "stages": [content_digest(mask) for mask in self.stages],
            "obligations": [[o.region, content_digest(o.members)] for o in self.obligations],
            "order": order_digest(self.order),
        }


def elsewhere(question: RegionalMap, region: str, e: int) -> Obligation:
    """The explanations to reject before a region can be FINE around the element that explanation e has there.

    The explanations whose element lies farther from it than the tolerance, and those that lack the region.
    """
    column = _column(question, region)
    rule = question.asked_regions[question.regions.index(region)]
    slot = int(column[check_count("e", e, 0, len(column) - 1)])
    if slot < 0:
        raise MisuseError("e", f"have region {region!r}", e)
    far = np.append(rule.places.row(slot) > rule.tolerance, True)
    return Obligation(region, far[column])


def presence(question: RegionalMap, region: str) -> Obligation:
    """The explanations to reject before a region can be ABSENT: those that have it."""
    return Obligation(region, _column(question, region) >= 0)


def _column(question: RegionalMap, region: str) -> IntArray:
    """(M,) the element of every explanation in a region, -1 where it is absent."""
    if region not in question.regions:
        raise MisuseError("region", f"be one of {question.regions}", repr(region))
    return question.slots(np.arange(question.view.n_explanations))[:, question.regions.index(region)]


def _best_member(members: BoolArray, regions: list[int], brackets: Brackets, progress: RegionalProgress) -> int | None:
    """The member of obligations (n, M) about regions (n,) that serves most; None if nothing is left."""
    is_active = np.array([progress.labels[region] is Label.ABSTAIN for region in regions], dtype=np.bool_)
    sizes = (members & (brackets.column() != REJECTED)).sum(axis=1)
    unasked = brackets.unqueried()
    inside = members[:, unasked] & is_active[:, None]
    counts = inside.sum(axis=0)
    if not counts.any():
        return None
    costs = np.where(counts == counts.max(), sizes @ inside, np.inf)
    best: list[int] = unasked[costs == costs.min()].tolist()
    return min(best, key=lambda e: (-progress.rank_gain(e), -progress.diameter_drop(e), e))
