"""The question of a resolution: how far apart the physical supports are that the data leave possible."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_indices, check_nonnegative, read_only
from .._codec import array_json, pieces_hash
from .._errors import Clause, MisuseError
from .._typing import Array, BoolArray, IntArray
from ..banks import Bank, RegionalView, check_distances, region_distances
from ._question import Answer, Certificate, Contradictions, FieldElements, FieldValues, Label, Progress, Question
from ._regional_progress import index_blocks

# Bounds of the diameter this close count as equal: distances are rounded at about 1e-16, grids are far coarser.
EQUAL_BOUNDS = 1e-12


@final
@dataclass(frozen=True, slots=True, eq=False)
class Resolution(Question):
    r"""The diameter of the surviving places together with a fixed reference, the proposal.

    A place is a physical support; explanations that differ in nuisances only share it.  It survives once one of its
    explanations is admissible and is eliminated once all are rejected, so that :math:`W_k^+ \subseteq S^+ \subseteq
    P_k^+` and the diameters are ordered likewise.  AMBIGUOUS if the diameter exceeds delta_group, FINE if it is at most
    delta_fine, else GROUP.
    """

    policies: ClassVar[tuple[str, ...]] = ("endpoints", "fixed", "random", "farthest")

    places: IntArray  # (M,) place of each explanation
    distances: Array  # (P, P)
    proposal_distances: Array  # (P,)
    delta_fine: float
    delta_group: float
    names: tuple[str, ...] = ()  # (P,), `place 0` and so on unless given
    slack: float = EQUAL_BOUNDS  # a GROUP is certified once its bounds are this close; inf once no finer label can come

    def __post_init__(self) -> None:
        count = len(np.atleast_1d(self.proposal_distances))
        places = check_indices("places", self.places, count, place="for explanation")
        if not places.size:
            raise MisuseError("places", "hold at least one whole number", Clause("there is none"))
        distances = check_distances("distances", self.distances, count)
        proposal = check_array("proposal_distances", self.proposal_distances, (count,))
        if proposal.min() < 0.0:
            raise MisuseError("proposal_distances", "be nonnegative", proposal.min())
        if not check_nonnegative("delta_fine", self.delta_fine) <= check_nonnegative("delta_group", self.delta_group):
            raise MisuseError("delta_fine", f"be at most delta_group = {self.delta_group!r}", repr(self.delta_fine))
        if not self.slack >= 0.0:
            raise MisuseError("slack", "be at least 0", repr(self.slack))
        names = tuple(self.names) or tuple(f"place {i}" for i in range(count))
        if len(names) != count or len({*names}) < count or not all(isinstance(name, str) and name for name in names):
            raise MisuseError("names", f"be {count} distinct texts, none empty", f"{len(names)} of them")
        object.__setattr__(self, "names", names)
        for name, array in {"places": places, "distances": distances, "proposal_distances": proposal}.items():
            object.__setattr__(self, name, read_only(array))

    @classmethod
    def of_states(
        cls, bank: Bank, distances: ArrayLike, proposal_distances: ArrayLike, *, delta_fine: float, delta_group: float
    ) -> Self:
        """Every dictionary state of a bank is a place; distances: (states, states)."""
        places = bank.split(np.arange(bank.size)).state
        return cls(places, np.asarray(distances), np.asarray(proposal_distances), delta_fine, delta_group)

    @classmethod
    def of_region(
        cls, view: RegionalView, region: str, reference: int | None, *, delta_fine: float, delta_group: float
    ) -> Self:
        """Every element of a region that all explanations have is a place.

        reference: the proposed explanation; None where no rows propose, and the diameter is that of the survivors.
        """
        if region not in view.regions or region in view.optional:
            known = tuple(name for name in view.regions if name not in view.optional)
            raise MisuseError("region", f"be one that every explanation has, of {known}", repr(region))
        column = view.regions.index(region)
        distances = region_distances(view, region)
        places = np.concatenate([view.locate(index)[:, column] for index in index_blocks(view.n_explanations)])
        near = np.zeros(len(distances)) if reference is None else distances[places[reference]]
        names = view.sets[region].names
        return cls(places, distances, near, delta_fine, delta_group, names)

    @property
    def n_explanations(self) -> int:
        """The number of explanations, each of which has a place."""
        return len(self.places)

    def begin(self) -> "ResolutionProgress":
        """Start with no known survivor and nothing eliminated."""
        return ResolutionProgress(self)

    def describe(self) -> dict[str, object]:
        """Places, distances and the two bounds."""
        return {
            "question": "resolution",
            "version": 1,
            "n_explanations": len(self.places),
            "names": list(self.names),
            "places": pieces_hash(self.places),
            "distances": pieces_hash(self.distances),
            "proposal_distances": pieces_hash(self.proposal_distances),
            "delta_fine": float(self.delta_fine),
            "delta_group": float(self.delta_group),
            "slack": float(self.slack) if np.isfinite(self.slack) else "inf",
        }

    def encode(self) -> dict[str, object]:
        """Places and distances, which the description has as hashes."""
        return {
            "kind": "resolution",
            "places": array_json(self.places),
            "distances": array_json(self.distances),
            "proposal_distances": array_json(self.proposal_distances),
        }

    def says(self, index: IntArray) -> dict[str, FieldValues]:
        """The place."""
        return {"place": FieldValues(self.names, self.places[index])}

    def excluded(self, answer: Answer, index: IntArray) -> BoolArray:
        """(k,) true for those with which the diameter would exceed what the label allows."""
        cell = [self.names.index(name) for name in answer.cell]
        reach = np.maximum(self.distances[:, cell].max(axis=1), self.proposal_distances)  # (P,)
        allowed = self.delta_fine if answer.label is Label.FINE else self.delta_group
        return np.asarray(reach[self.places[index]] > allowed)

    def contradictions(self, number: int, reference: int) -> Contradictions:  # noqa: ARG002
        """The places, apart if they lie farther from each other than a fine diameter."""
        return Contradictions(
            reference=int(self.places[reference]),
            apart=lambda one, other: self.distances[np.ix_(one, other)] > self.delta_fine,
            of=lambda index: self.places[index],
        )

    def elements(self, number: int) -> FieldElements:  # noqa: ARG002
        """The diameter that is still FINE."""
        return FieldElements(tolerance=self.delta_fine)

    def extent(self, number: int, chosen: IntArray) -> float | None:  # noqa: ARG002
        """The extent of places."""
        return float(self.distances[np.ix_(chosen, chosen)].max(initial=0.0))

    def dimensions(self, index: IntArray, state: IntArray | None) -> dict[str, IntArray]:
        """The place beside the dictionary state."""
        return {"the place": self.places[index]} | super(Resolution, self).dimensions(index, state)

    def farness(self) -> tuple[str, Callable[[int], Array]]:
        """The distances of the places."""
        return "places", lambda e: np.asarray(self.distances[self.places[e], self.places])


@final
class ResolutionProgress(Progress):
    """Bounds of the diameter, looked at again only when a place is settled.

    `possible[p]` and `witnessed[p]` count the explanations of place p.
    """

    __slots__ = (
        "_asked",
        "_farthest",
        "_farthest_of",
        "_first",
        "_pair",
        "_place_of",
        "_table",
        "eliminated",
        "label",
        "lower",
        "n_possible",
        "possible",
        "survivors",
        "upper",
        "witnessed",
    )  # fmt: skip

    def __init__(self, question: Resolution) -> None:
        count = len(question.names)
        self._asked = question
        self._place_of = question.places.data
        self._table = np.zeros((count + 1, count + 1))  # the last place is the proposal, which is always there
        self._table[:count, :count] = question.distances
        self._table[:count, count] = self._table[count, :count] = question.proposal_distances
        self.possible: list[int] = np.bincount(question.places, minlength=count).tolist()
        self.witnessed = [0] * count
        self._first = [-1] * count  # first witness of each place
        self.survivors = np.arange(count + 1) == count
        self.eliminated = np.array([*(number == 0 for number in self.possible), False])
        self.n_possible = len(question.places)
        self.lower = 0.0
        self._pair = (count, count)  # the places that attain the lower bound
        self._farthest = np.zeros(count + 1)
        self._farthest_of = np.zeros(count + 1, dtype=np.int64)
        self._measure(np.flatnonzero(~self.eliminated))
        self._settle()

    def witness(self, e: int) -> None:
        """Explanation e joins L; its place survives."""
        place = self._place_of[e]
        self.witnessed[place] += 1
        if self.witnessed[place] > 1:
            return
        away = np.where(self.survivors, self._table[place], -1.0)
        other = int(away.argmax())
        if away[other] > self.lower:
            self.lower = float(away[other])
            self._pair = (other, place)
        self._first[place] = e
        self.survivors[place] = True
        self._settle()

    def reject(self, e: int) -> None:
        """Explanation e leaves U; its place is eliminated if it was the last."""
        self.n_possible -= 1
        self._lose(self._place_of[e], 1)

    def reject_all(self, index: IntArray) -> None:
        """Remove explanations (k,) from U, the possible ones; the result depends on their set alone."""
        self.n_possible -= len(index)
        for place, count in enumerate(np.bincount(self._asked.places[index]).tolist()):
            if count:
                self._lose(place, count)

    def _lose(self, place: int, count: int) -> None:
        self.possible[place] -= count
        if self.possible[place]:
            return
        self.eliminated[place] = True
        self._measure(np.flatnonzero(~self.eliminated & (self._farthest_of == place)))
        self._settle()

    @property
    def is_certified(self) -> bool:
        """True once no further verdict is needed; a GROUP needs bounds that show that no finer label can come."""
        if self.label is Label.GROUP:
            question = self._asked
            return self.lower > question.delta_fine and self.upper - self.lower <= question.slack
        return self.label in (Label.AMBIGUOUS, Label.FINE)

    def answers(self) -> tuple[Answer, ...]:
        """The label of the diameter with its bounds; a GROUP at a cut budget needs only the upper one."""
        match self.label:
            case Label.AMBIGUOUS:
                witnesses = (self._first[place] for place in self._pair if place < len(self._first))
                certificate = Certificate("witnesses", tuple(witnesses))
            case Label.ABSTAIN:
                certificate = Certificate("open")
            case _:
                certificate = Certificate("universal")
        names = self._asked.names
        cell = tuple(name for name, is_gone in zip(names, self.eliminated[:-1].tolist(), strict=True) if not is_gone)
        numbers = (("lower", self.lower), ("upper", self.upper))
        return (Answer("resolution", self.label, cell, None, numbers, certificate, self.is_certified),)

    def _measure(self, rows: IntArray) -> None:
        """Find, for each of these places, the farthest one that is not eliminated."""
        away = np.where(self.eliminated, -1.0, self._table[rows])  # (k, P + 1)
        self._farthest_of[rows] = away.argmax(axis=1)
        self._farthest[rows] = away.max(axis=1)

    def _settle(self) -> None:
        question = self._asked
        self.upper = float(self._farthest[~self.eliminated].max())
        if not self.n_possible:
            self.label = Label.EMPTY
        elif self.lower > question.delta_group:
            self.label = Label.AMBIGUOUS
        elif self.upper <= question.delta_fine:
            self.label = Label.FINE
        elif self.upper <= question.delta_group:
            self.label = Label.GROUP
        else:
            self.label = Label.ABSTAIN
