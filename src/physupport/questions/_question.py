"""The contract of a question: what the verdicts are wanted for."""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_count
from .._errors import MisuseError
from ..judges import Verdict
from ._labels import Answer, Label


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


def open_fields(progress: Progress) -> tuple[str, ...]:
    """The fields that still need verdicts, also those of which something coarser can be said already.

    A question of one's own that is not certified and names no open field has all of its fields open.
    """
    answers = progress.answers()
    if progress.is_certified or all(answer.label is Label.EMPTY for answer in answers):
        return ()
    is_open = [a.certificate.kind == "open" if a.is_settled is None else not a.is_settled for a in answers]
    return tuple(answer.field for answer, flag in zip(answers, is_open, strict=True) if flag or not any(is_open))


def exhaustive_answers(question: Question, verdicts: ArrayLike) -> tuple[Answer, ...]:
    """The finest true statement about the exhaustive profile, a field each, whatever was asked for.

    verdicts: (M,) codes of `Verdict`.  Without INDETERMINATE ones the possible and the witnessed set are both the
    profile, and no field abstains.  Indeterminate explanations stay possible and are no witnesses.
    """
    codes = np.asarray(verdicts)
    if codes.ndim != 1 or not np.isin(codes, [*Verdict]).all():
        raise MisuseError("verdicts", "be a list of Verdict codes", f"{codes.dtype} of shape {codes.shape}")
    _check_size("verdicts", len(codes), question)
    progress = question.reference().begin()
    for e in np.flatnonzero(codes == Verdict.REJECTED).tolist():
        progress.reject(e)
    for e in np.flatnonzero(codes == Verdict.ADMISSIBLE).tolist():
        progress.witness(e)
    return progress.answers()


def plugin_answers(question: Question, explanation: int, n_explanations: int) -> tuple[Answer, ...]:
    """What a point-valued method says: one explanation is taken for the only survivor.

    Of a map, its regions are FINE and the others ABSENT.  No guarantee goes with it; it is there to compare with.
    """
    _check_size("n_explanations", check_count("n_explanations", n_explanations), question)
    chosen = check_count("explanation", explanation, 0, n_explanations - 1)
    codes = np.full(n_explanations, Verdict.REJECTED, dtype=np.int64)
    codes[chosen] = Verdict.ADMISSIBLE
    return exhaustive_answers(question, codes)


def _check_size(name: str, given: int, question: Question) -> None:
    """Fewer verdicts would leave explanations possible for ever, more would count what the question does not know."""
    if given != question.n_explanations:
        raise MisuseError(name, f"be about the {question.n_explanations} explanations of the question", given)
