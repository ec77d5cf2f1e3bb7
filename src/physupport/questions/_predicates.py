"""What a question answers for itself, so that nobody else has to know of what kind it is."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple, Protocol, TypeVar, final

import numpy as np

from .._codec import described
from .._typing import Array, BoolArray, IntArray
from ..banks import Bank
from ._question import Answer, Question

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """What explanations say of one thing: its name by number, -1 where they say that nothing is there."""

    names: tuple[str, ...]
    numbers: IntArray  # (k,)

    def texts(self, nothing: T) -> list[str | T]:
        """The names themselves."""
        table = np.array([*self.names, nothing], dtype=object)
        return list(table[self.numbers])  # nothing is -1, the last entry


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """What can be said of a field as numbers, and which of these cannot stand in one finest statement.

    The statement is the one that the reference would have alone.  If it has something in the region, FINE: elements
    are apart if they lie farther from each other than the tolerance, and each of them from nothing.  If it has nothing,
    or, where absence under a threshold is asked for, nothing as strong as the threshold, ABSENT: what is apart is
    something there, or something as strong.  Of a resolution: places farther apart than a fine diameter.
    """

    reference: int
    apart: Callable[[IntArray, IntArray], BoolArray]  # sides (a,) and (b,) -> (a, b), symmetric
    of: Callable[[IntArray], IntArray]  # explanations -> sides

    def contradict(self, index: IntArray) -> BoolArray:
        """(k,) whether explanations say what cannot stand beside the reference."""
        return self.beside(self.of(index))

    def beside(self, sides: IntArray) -> BoolArray:
        """(k,) whether sides are apart from that of the reference."""
        distinct, where = np.unique(sides, return_inverse=True)
        return np.asarray(self.apart(np.array([self.reference]), distinct)[0][where])


@final
@dataclass(frozen=True, slots=True, eq=False)
class FieldElements:
    """The elements of a field as a reader is shown them; of a field without any, its tolerance at most."""

    names: tuple[str, ...] = ()
    coordinates: Array | None = None  # (m, d)
    sets: IntArray | None = None  # (n, r) where explanations have sets of these, what `says` names: -1 for none
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    tolerance: float | None = None
    threshold: float | None = None
    is_optional: bool = False  # whether some explanation has none of them
    is_finest: bool = False  # whether it is asked for the finest there is


@final
@dataclass(frozen=True, slots=True)
class Unanswerable:
    """An entry of the rule of a region that makes its answer known beforehand, in the words of a `MisuseError`."""

    region: str
    entry: str  # asks or absence_threshold
    rule: str
    value: str


class Farness(NamedTuple):
    """Distances of an explanation to all explanations, (M,), and what they are called."""

    name: str
    distances: Callable[[int], Array]


class Predicates(Protocol):
    """What a question may say of itself beyond its contract; what it leaves out is said here for it.

    Explanations are given many at once, index: (k,).  Fields are numbered as the answers are.
    """

    @property
    def policies(self) -> tuple[str, ...]:
        """Names of the policies that make sense for it, the usual one first."""
        return "fixed", "random"

    def says(self, index: IntArray) -> dict[str, Said]:  # noqa: ARG002
        """What explanations say, by the name of what they say it of."""
        return {}

    def excluded(self, answer: Answer, index: IntArray) -> BoolArray:  # noqa: ARG002
        """(k,) whether a FINE, GROUP or ABSENT answer or its group would be another if this one were possible as well.

        Left out: none would, and reports name no explanation that came closest to it.
        """
        return np.zeros(len(index), dtype=np.bool_)

    def sides(self, number: int, reference: int) -> Sides | None:  # noqa: ARG002
        """What contradicts what in the finest statement that an explanation alone would make; None if not known."""
        return None

    def elements(self, number: int) -> FieldElements:  # noqa: ARG002
        """What a reader is shown of a field; its column in `says` has the name of the field."""
        return FieldElements()

    def extent(self, number: int, chosen: IntArray) -> float | None:  # noqa: ARG002
        """Largest distance between names of its column of `says`, by number; None where there are no distances."""
        return None

    def hull(self, number: int, chosen: IntArray) -> list[list[float]] | None:  # noqa: ARG002
        """Of names that stand for cells, the smallest box around these: (low, high) of every coordinate."""
        return None

    def claims(self, index: IntArray) -> dict[str, BoolArray]:  # noqa: ARG002
        """(k,) whether explanations bear each claim out, by its name.  Left out: nothing is claimed."""
        return {}

    def dimensions(self, index: IntArray, state: IntArray | None) -> dict[str, IntArray]:  # noqa: ARG002
        """(k,) what explanations may differ in, as numbers, by name.  Left out: the states.

        state: (k,) their dictionary states, None where these have parameters to tell of instead.
        """
        return state_dimension(state)

    def farness(self) -> Farness:
        """Needed by the policy farthest; a question without distances does not list that."""

    def encode(self) -> dict[str, object]:
        """What its description gives only as hashes, in what JSON can hold, so that it can be asked again.

        Left out: the kind of all questions that `verify` has to be given.
        """
        return {"kind": "own"}

    def check_bank(self, bank: Bank | None) -> None:
        """Refuse to be asked about another bank than the one it was made for.  Left out: any will do."""

    def thresholds(self) -> dict[str, float]:
        """With what it compares strengths of the bank, by region."""
        return {}

    def unanswerable(self) -> Iterator[Unanswerable]:
        """What is asked although the bank alone decides it.  Left out: nothing is known to be."""
        return iter(())


@final
class _LeftOut(Predicates):
    """A question that answers nothing for itself."""

    def farness(self) -> Farness:
        raise NotImplementedError("a question that lists the policy farthest has to have distances")

    def check_bank(self, bank: Bank | None) -> None: ...


def predicates(question: Question) -> Predicates:
    """What a question answers for itself; each predicate that it leaves out is the one described there."""
    left_out, names = _LeftOut(), [name for name in vars(Predicates) if not name.startswith("_")]
    answers = {name: getattr(question, name, getattr(left_out, name)) for name in names}
    return SimpleNamespace(**answers)


def column_of(field: str, said: Mapping[str, Said]) -> Said | None:
    """What explanations say of a field: the column of its name, or the only one there is; None if it has none."""
    only = next(iter(said.values())) if len(said) == 1 else None
    return said.get(field, only)


def said_by(question: Question, explanation: int) -> dict[str, str | None]:
    """What one explanation says."""
    columns = predicates(question).says(np.array([explanation]))
    return {name: said.texts(None)[0] for name, said in columns.items()}


def encoded(question: Question) -> dict[str, object]:
    """What a question writes out, as JSON holds it."""
    return described("question", predicates(question).encode())


def state_dimension(state: IntArray | None) -> dict[str, IntArray]:
    """The dictionary state as a dimension, unless its parameters stand for it."""
    return {} if state is None else {"the dictionary state": state}
