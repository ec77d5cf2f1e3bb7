"""Answers about the fields of a report with their reasons, and the contract of a question."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import ClassVar, Literal, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from .._checks import read_only_view
from .._typing import Array, BoolArray, IntArray
from ..banks import Bank
from ..judges import Verdict

T = TypeVar("T")


class Label(StrEnum):
    """The label of a statement, from fine to coarse; each value is the word that appears in reports."""

    FINE = "FINE"
    GROUP = "GROUP"
    SUPPORT_AMBIGUOUS = "SUPPORT_AMBIGUOUS"
    LOCAL_AMBIGUOUS = "LOCAL_AMBIGUOUS"
    AMBIGUOUS = "AMBIGUOUS"
    ABSENT = "ABSENT"
    ABSTAIN = "ABSTAIN"
    EMPTY = "EMPTY"

    @property
    def rank(self) -> int:
        """Place in the order of coarseness, 0 for what says nothing to 4 for what says most.

        As long as an explanation is possible, a further verdict never lowers the rank of what `finest` asks for.
        """
        return _RANK[self]

    @property
    def is_truth_level(self) -> bool:
        """True if it must hold for the explanation that generated the data, and so for every possible one."""
        return self in (Label.FINE, Label.GROUP, Label.ABSENT)


_RANK = {
    Label.EMPTY: 0,
    Label.ABSTAIN: 0,
    Label.SUPPORT_AMBIGUOUS: 1,
    Label.AMBIGUOUS: 1,
    Label.LOCAL_AMBIGUOUS: 2,
    Label.GROUP: 3,
    Label.ABSENT: 4,
    Label.FINE: 4,
}


@final
@dataclass(frozen=True, slots=True)
class Certificate:
    """The reason why a label is safe.

    universal: true of every possible explanation (eq:universal-truth-predicate); witnesses, if any, are admissible
    explanations that show that nothing finer can come.  witnesses: admissible explanations that contradict each
    other (eq:profile-ambiguity-predicate).  open: nothing is claimed.  withheld: nothing is, although the verdicts
    alone would allow it.
    """

    kind: Literal["universal", "witnesses", "open", "withheld"]
    witnesses: tuple[int, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """The answer about one field.

    cell: the names of what is still possible there; a FINE or GROUP label claims that the truth is among them.
    group: the smallest named group that holds the cell, where it is certain that there is something to hold.
    numbers: named quantities behind the label, such as the spread of what is possible.
    is_settled: whether no further verdict is needed here; None, unless a question says it, while its certificate is
    not open.
    """

    field: str
    label: Label
    cell: tuple[str, ...]
    group: str | None
    numbers: tuple[tuple[str, float], ...]
    certificate: Certificate
    is_settled: bool | None = dataclasses.field(default=None, compare=False, repr=False)

    def statement(self) -> dict[str, object]:
        """The answer as JSON, with its witnesses by their numbers."""
        return {
            "field": self.field,
            "label": str(self.label),
            "cell": list(self.cell),
            "group": self.group,
            "numbers": dict(self.numbers),
            "certificate": self.certificate.kind,
            "witnesses": list(self.certificate.witnesses),
        }

    def number(self, name: str) -> float:
        """One of the numbers; KeyError if the question does not give it."""
        return dict(self.numbers)[name]


def withheld(answer: Answer) -> Answer:
    """The answer without its label: the judge says that what is left may be left by accident."""
    if answer.label is Label.EMPTY:
        return answer
    return replace(answer, label=Label.ABSTAIN, group=None, certificate=Certificate("withheld"))


def coarsened(answer: Answer) -> Answer:
    """The answer for a judge that says that something else is possible, too: what is FINE is no more than a GROUP."""
    return replace(answer, label=Label.GROUP) if answer.label is Label.FINE else answer


@final
@dataclass(frozen=True, slots=True, eq=False)
class FieldValues:
    """The statements of explanations about one field: names by number, -1 where they say that nothing is there."""

    names: tuple[str, ...]
    numbers: IntArray  # (k,)

    def texts(self, nothing: T) -> list[str | T]:
        """The names themselves."""
        table = np.array([*self.names, nothing], dtype=object)
        return list(table[self.numbers])  # nothing is -1, the last entry


@final
@dataclass(frozen=True, slots=True, eq=False)
class Contradictions:
    """The statements about a field as numbers, sides, and which of these cannot stand in one finest statement.

    The statement is the one that the reference would have alone.  If it has something in the region, FINE: elements
    are apart if they lie farther from each other than the tolerance, and each of them from nothing.  If it has nothing,
    or, where absence under a threshold is asked for, nothing as strong as the threshold, ABSENT: what is apart is
    something there, or something as strong.  For a resolution: places farther apart than a fine diameter.
    """

    reference: int
    apart: Callable[[IntArray, IntArray], BoolArray]  # sides (a,) and (b,) -> (a, b), symmetric
    of: Callable[[IntArray], IntArray]  # explanations -> sides

    def contradict(self, index: IntArray) -> BoolArray:
        """(k,) true for explanations that contradict the reference."""
        return self.beside(self.of(index))

    def beside(self, sides: IntArray) -> BoolArray:
        """(k,) true for sides that are apart from that of the reference."""
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
    is_optional: bool = False  # true if some explanation has none of them
    is_finest: bool = False  # true if it is asked for the finest there is


class Progress:
    """The state of a question after some verdicts; this one keeps the two sets, subclasses may count instead.

    Whoever asks for verdicts reports each explanation at most once: `witness` if it is admissible, `reject` if it is
    rejected, nothing if its verdict is indeterminate.  So the witnessed set L grows, the possible set U shrinks, and
    the exhaustive profile lies between them (eq:aeb-sandwich).
    """

    __slots__ = ("_answers", "_possible", "_question", "_witnessed")

    def __init__(self, question: "Question") -> None:
        self._question = question
        self._possible = np.ones(question.n_explanations, dtype=np.bool_)
        self._witnessed = np.zeros(question.n_explanations, dtype=np.bool_)
        self._answers: tuple[Answer, ...] | None = None

    def witness(self, e: int) -> None:
        """Explanation e joins L."""
        self._witnessed[e] = True
        self._answers = None

    def reject(self, e: int) -> None:
        """Explanation e leaves U."""
        self._possible[e] = False
        self._answers = None

    @property
    def is_certified(self) -> bool:
        """True if every field that is asked for has its certificate, and U is not empty."""
        return bool(self._possible.any()) and not any(map(_is_open, self.answers()))

    def answers(self) -> tuple[Answer, ...]:
        """The safe answers now, one for each field: ABSTAIN where it is open, EMPTY everywhere once U is empty."""
        if self._answers is None:
            self._answers = self._question.answers(read_only_view(self._possible), read_only_view(self._witnessed))
        return self._answers

    def reject_all(self, index: IntArray) -> None:
        """Remove many explanations from U, (k,): what follows depends on their set alone."""
        for e in index.tolist():
            self.reject(e)

    def open_fields(self) -> tuple[str, ...]:
        """The fields that still need verdicts, also those of which something coarser can be said already."""
        return unsettled(self.answers(), self.is_certified)

    def inform(self, queries: IntArray, codes: NDArray[np.integer]) -> None:
        """Take many verdicts, (k,) each in the order asked; an indeterminate one changes neither L nor U."""
        self.reject_all(queries[codes == Verdict.REJECTED])
        for e in queries[codes == Verdict.ADMISSIBLE].tolist():
            self.witness(e)


class Question(ABC):
    """A question, fixed before any held-out row is read.

    A question defines its size, its description, and `answers`, or `begin` where counting verdict by verdict is faster.
    Whatever else is defined makes reports say more.  Explanations are given many at once, index: (k,).  Fields are
    numbered as the answers are.
    """

    __slots__ = ()
    policies: ClassVar[tuple[str, ...]] = ("fixed", "random")  # names of those that make sense, the usual one first

    @property
    @abstractmethod
    def n_explanations(self) -> int:
        """The number of explanations; whoever gives the verdicts must decide about as many."""

    @abstractmethod
    def describe(self) -> dict[str, object]:
        """The definition of the question as JSON; a protocol hashes it."""

    def answers(self, possible: BoolArray, witnessed: BoolArray) -> tuple[Answer, ...]:
        """The safe answers, one for each field, when U is `possible` and L is `witnessed`, (M,) each.

        ABSTAIN where a field is open, EMPTY everywhere if nothing is possible.
        """
        progress = self.begin()
        progress.reject_all(np.flatnonzero(~possible))
        for e in np.flatnonzero(witnessed).tolist():
            progress.witness(e)
        return progress.answers()

    def begin(self) -> Progress:
        """The state before the first verdict: nothing witnessed, everything possible."""
        return Progress(self)

    def reference(self) -> "Question":
        """The same fields, each asked for the finest there is: what an exhaustive look at the bank is read with."""
        return self

    def says(self, index: IntArray) -> dict[str, FieldValues]:  # noqa: ARG002
        """The statements of explanations, by the name of what they are about."""
        return {}

    def says_of(self, explanation: int) -> dict[str, str | None]:
        """The statements of one explanation."""
        return {name: values.texts(None)[0] for name, values in self.says(np.array([explanation])).items()}

    def excluded(self, answer: Answer, index: IntArray) -> BoolArray:  # noqa: ARG002
        """(k,) true if a FINE, GROUP or ABSENT answer or its group would be another if this one were possible as well.

        By default none would, and reports name no explanation that came closest to it.
        """
        return np.zeros(len(index), dtype=np.bool_)

    def contradictions(self, number: int, reference: int) -> Contradictions | None:  # noqa: ARG002
        """The contradictions to the finest statement that an explanation alone would make; None if not known."""
        return None

    def elements(self, number: int) -> FieldElements:  # noqa: ARG002
        """The elements that a reader is shown of a field; its column in `says` has the name of the field."""
        return FieldElements()

    def extent(self, number: int, chosen: IntArray) -> float | None:  # noqa: ARG002
        """Largest distance between names of its column of `says`, by number; None where there are no distances."""
        return None

    def hull(self, number: int, chosen: IntArray) -> list[list[float]] | None:  # noqa: ARG002
        """The smallest box around names that stand for cells: (low, high) of every coordinate."""
        return None

    def claims(self, index: IntArray) -> dict[str, BoolArray]:  # noqa: ARG002
        """(k,) true for explanations that bear a claim out, by its name."""
        return {}

    def dimensions(self, index: IntArray, state: IntArray | None) -> dict[str, IntArray]:  # noqa: ARG002
        """(k,) what explanations may differ in, as numbers, by name; the states unless more is known.

        state: (k,) their dictionary states, None where these have parameters to tell of instead.
        """
        return {} if state is None else {"the dictionary state": state}

    def farness(self) -> tuple[str, Callable[[int], Array]]:
        """The name of distances, and the distances (M,) of an explanation to all; needed by the policy farthest."""
        raise NotImplementedError("a question that lists the policy farthest has to have distances")

    def encode(self) -> dict[str, object]:
        """The contents that its description gives only as hashes, in what JSON can hold, so that it can be asked again.

        The default is the kind of all questions that `verify` has to be given.
        """
        return {"kind": "own"}

    def check_bank(self, bank: Bank | None) -> None:  # noqa: B027
        """Raise for another bank than the one it was made for; by default any will do."""

    def thresholds(self) -> dict[str, float]:
        """The strengths of the bank that it compares with, by region."""
        return {}

    def unanswerable(self) -> Iterator[tuple[str, str, str, str]]:
        """Entries that the bank alone decides: region, name of the entry, and rule and value of a `MisuseError`."""
        return iter(())


def unsettled(answers: tuple[Answer, ...], is_certified: bool) -> tuple[str, ...]:
    """The open fields as the answers tell them.

    If a question is not certified and names no open field, all of its fields are open.
    """
    if is_certified or all(answer.label is Label.EMPTY for answer in answers):
        return ()
    is_open = [*map(_is_open, answers)]
    return tuple(answer.field for answer, flag in zip(answers, is_open, strict=True) if flag or not any(is_open))


def _is_open(answer: Answer) -> bool:
    return answer.certificate.kind == "open" if answer.is_settled is None else not answer.is_settled


def column_of(field: str, said: Mapping[str, FieldValues]) -> FieldValues | None:
    """The statements about a field: the column of its name, or the only one there is; None if it has none."""
    only = next(iter(said.values())) if len(said) == 1 else None
    return said.get(field, only)


# One more than any sentence or table names, so that these can say that there are more.
_MOST_NAMED = 9


def abridged(says: Mapping[str, str | None], field: str = "") -> dict[str, str | None]:
    """The statements of an explanation as documents hold them; of many regions, the one in question and the first.

    So a document grows with its regions, and not with pairs of these.  Where it has nothing anywhere, the first regions
    say so.
    """
    if len(says) <= _MOST_NAMED:
        return dict(says)
    own = {field: says[field]} if field in says else {}
    has = {name: value for name, value in says.items() if value is not None}
    return dict(islice({**own, **(has or says)}.items(), _MOST_NAMED))
