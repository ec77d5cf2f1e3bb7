"""The contract of a question: what the verdicts are wanted for."""

from typing import Protocol

from ._labels import Answer


class Progress(Protocol):
    """What the verdicts so far say about a question.

    Whoever asks for verdicts reports each explanation at most once: `witness` if it is admissible, `reject` if it is
    rejected, nothing if its verdict is indeterminate.  So the witnessed set L grows, the possible set U shrinks, and
    the exhaustive profile lies between them (eq:aeb-sandwich).
    """

    def witness(self, e: int) -> None:
        """Explanation e joins L."""

    def reject(self, e: int) -> None:
        """Explanation e leaves U."""

    @property
    def is_certified(self) -> bool:
        """Whether every field that is asked for has its certificate, and U is not empty."""

    def answers(self) -> tuple[Answer, ...]:
        """What is safe to say now, a field each: ABSTAIN where it is open, EMPTY everywhere once U is empty."""


class Question(Protocol):
    """What is asked, fixed before any held-out row is read."""

    @property
    def n_explanations(self) -> int:
        """How many explanations it is about; whoever gives the verdicts must decide about as many."""

    def begin(self) -> Progress:
        """The state before the first verdict: nothing witnessed, everything possible."""

    def reference(self) -> "Question":
        """The same fields, each asked for the finest there is: what an exhaustive look at the bank is read with."""

    def describe(self) -> dict[str, object]:
        """All that defines the question, as JSON can hold it; a protocol hashes it."""
