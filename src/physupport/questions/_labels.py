"""What can be said of one field of a report, and the reason that makes it safe to say."""

import dataclasses
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, final


class Label(StrEnum):
    """How fine a statement is; each value is the word that appears in reports."""

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
        """Whether it must hold for the explanation that generated the data, and so for every possible one."""
        return self in (Label.FINE, Label.GROUP, Label.ABSENT)

    @property
    def is_ambiguity(self) -> bool:
        """Whether it records admissible explanations that contradict each other, and so needs them as witnesses."""
        return self in (Label.SUPPORT_AMBIGUOUS, Label.LOCAL_AMBIGUOUS, Label.AMBIGUOUS)


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
    """Why a label is safe.

    universal: true of every possible explanation (eq:universal-truth-predicate); witnesses, if any, are admissible
    explanations that show that nothing finer can come.  witnesses: admissible explanations that contradict each
    other (eq:profile-ambiguity-predicate).  open: nothing is claimed.
    """

    kind: Literal["universal", "witnesses", "open"]
    witnesses: tuple[int, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """What is said of one field.

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

    def number(self, name: str) -> float:
        """One of the numbers; KeyError if the question does not give it."""
        return dict(self.numbers)[name]
