"""What can be said of one field of a report and why, and the contract of a question: what verdicts are wanted for."""

import dataclasses
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, Protocol, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_count
from .._errors import MisuseError
from .._typing import IntArray
from ..judges import Verdict


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
    other (eq:profile-ambiguity-predicate).  open: nothing is claimed.  withheld: nothing is, although the verdicts
    alone would allow it.
    """

    kind: Literal["universal", "witnesses", "open", "withheld"]
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


def withheld(answer: Answer) -> Answer:
    """The answer without its label: the judge says that what is left may be left by accident."""
    if answer.label is Label.EMPTY:
        return answer
    return replace(answer, label=Label.ABSTAIN, group=None, certificate=Certificate("withheld"))


class Comparison(StrEnum):
    """The four ways in which an answer can relate to the exhaustive one."""

    MATCH = "match"  # the same label, and of a GROUP the same group
    SAFE_COARSENING = "safe coarsening"  # true of the exhaustive profile, but another label or a larger group
    ABSTENTION = "abstention"  # nothing is said where something could be
    UNSAFE = "unsafe"  # false of the exhaustive profile


def compare(answer: Answer, exhaustive: Answer) -> Comparison:
    """Judge an answer by the exhaustive one about the same field, as `exhaustive_answers` gives it.

    Labels are ordered by `Label.rank`.  FINE says that the truth is in the cell and that the cell is fine; GROUP that
    it is in the cell; both are false if the exhaustive profile has an element outside the cell or lacks the region.
    Of an empty profile every truth-level label is true, and none says as much as EMPTY.
    """
    if answer.field != exhaustive.field:
        raise MisuseError("exhaustive", f"be about the field {answer.field!r}", repr(exhaustive.field))
    if not _is_true(answer, exhaustive):
        return Comparison.UNSAFE
    if answer.label is exhaustive.label:
        is_same = answer.label is not Label.GROUP or answer.group == exhaustive.group
        return Comparison.MATCH if is_same else Comparison.SAFE_COARSENING
    return Comparison.ABSTENTION if answer.label is Label.ABSTAIN else Comparison.SAFE_COARSENING


def compare_all(answers: tuple[Answer, ...], exhaustive: tuple[Answer, ...]) -> tuple[Comparison, ...]:
    """Field by field."""
    if len(answers) != len(exhaustive):
        raise MisuseError("exhaustive", f"have {len(answers)} fields", len(exhaustive))
    return tuple(compare(answer, reference) for answer, reference in zip(answers, exhaustive, strict=True))


def _is_true(answer: Answer, exhaustive: Answer) -> bool:
    """Whether the exhaustive profile bears the answer out."""
    if answer.label is Label.ABSTAIN:
        return True
    if exhaustive.label is Label.EMPTY:
        return answer.label is Label.EMPTY or answer.label.is_truth_level
    numbers = dict(exhaustive.numbers)
    if "possible_present" not in numbers:
        return _is_entailed(answer, exhaustive)
    is_present = not numbers["possible_absent"] and {*exhaustive.cell} <= {*answer.cell}
    match answer.label:
        case Label.FINE:
            return is_present and numbers["possible_spread"] <= numbers["tolerance"]
        case Label.GROUP:
            return is_present
        case Label.ABSENT:
            return not numbers["possible_at_threshold"]
        case Label.SUPPORT_AMBIGUOUS:
            return bool(numbers["witnessed_present"] and numbers["witnessed_absent"])
        case Label.LOCAL_AMBIGUOUS:
            return numbers["witnessed_spread"] > numbers["tolerance"]
        case _:
            return False


def _is_entailed(answer: Answer, exhaustive: Answer) -> bool:
    """For fields that are not regions: a label follows from itself, and GROUP from FINE, if the cell is kept."""
    follows = answer.label is exhaustive.label or (answer.label, exhaustive.label) == (Label.GROUP, Label.FINE)
    return follows and (not answer.label.is_truth_level or {*exhaustive.cell} <= {*answer.cell})


class Progress(Protocol):
    """What the verdicts so far say about a question.

    Whoever asks for verdicts reports each explanation at most once: `witness` if it is admissible, `reject` if it is
    rejected, nothing if its verdict is indeterminate.  So the witnessed set L grows, the possible set U shrinks, and
    the exhaustive profile lies between them (eq:aeb-sandwich).

    It may have `reject_all(index)`, (k,) explanations that leave U at once, if only their set matters, and
    `open_fields()`, the names of the fields that still need verdicts.  Left out: `reject` one by one in the order of
    the queries, and what the answers say of themselves.
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
    named = getattr(progress, "open_fields", None)
    return unsettled(progress.answers(), progress.is_certified) if named is None else tuple(named())


def unsettled(answers: tuple[Answer, ...], is_certified: bool) -> tuple[str, ...]:
    """The open fields as the answers tell them."""
    if is_certified or all(answer.label is Label.EMPTY for answer in answers):
        return ()
    is_open = [a.certificate.kind == "open" if a.is_settled is None else not a.is_settled for a in answers]
    return tuple(answer.field for answer, flag in zip(answers, is_open, strict=True) if flag or not any(is_open))


def inform(progress: Progress, queries: IntArray, codes: NDArray[np.integer]) -> None:
    """Tell many verdicts; an indeterminate one changes neither L nor U.  queries, codes: (k,), in the order asked."""
    reject_all = getattr(progress, "reject_all", None)
    if reject_all is not None:
        reject_all(queries[codes == Verdict.REJECTED])
        queries, codes = queries[codes == Verdict.ADMISSIBLE], codes[codes == Verdict.ADMISSIBLE]
    for e, code in zip(queries.tolist(), codes.tolist(), strict=True):
        if code == Verdict.REJECTED:
            progress.reject(e)
        elif code == Verdict.ADMISSIBLE:
            progress.witness(e)


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
    inform(progress, np.arange(len(codes)), codes)
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


def _check_size(name: str, size: int, question: Question) -> None:
    """Fewer verdicts would leave explanations possible for ever, more would count what the question does not know."""
    if size != question.n_explanations:
        raise MisuseError(name, f"be about the {question.n_explanations} explanations of the question", size)
