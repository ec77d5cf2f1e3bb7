"""The two sets that enclose the exhaustive profile, and a run written down: every query, its verdict, what follows."""

from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Literal, NoReturn, TypeAlias, final, get_args

import numpy as np
from numpy.typing import NDArray

from .._checks import check_count, read_only_view
from .._errors import MisuseError
from .._typing import IntArray
from ..judges import Verdict, Verdicts
from ..questions import Answer, Progress, Question, unsettled

# An explanation is marked by 0 until it is queried, then by its verdict code plus one.
UNQUERIED = 0
WITNESSED = Verdict.ADMISSIBLE + 1
REJECTED = Verdict.REJECTED + 1
INDETERMINATE = Verdict.INDETERMINATE + 1


@final
class Brackets:
    r"""Which explanations are witnessed and which are possible after k queries (eq:aeb-lower-upper).

    :math:`L_k` holds what was queried and admissible, :math:`U_k` what was not rejected.  A mark is set once, by the
    verdict, so :math:`L_k\subseteq\mathcal A\subseteq U_k` at every prefix (eq:aeb-sandwich) and a query costs the
    same for any size of bank.
    """

    __slots__ = ("_marks", "marks", "n_indeterminate", "n_possible", "n_witnessed", "size")

    def __init__(self, size: int) -> None:
        self.size = check_count("size", size)
        self._marks = np.zeros(self.size, dtype=np.uint8)
        # One entry of a memory view is a plain number at a third of the price of one entry of an array.
        self.marks = self._marks.data
        self.n_possible = self.size  # of U
        self.n_witnessed = 0  # of L
        self.n_indeterminate = 0

    @classmethod
    def after(cls, size: int, queries: IntArray, codes: NDArray[np.uint8]) -> "Brackets":
        """Those after the verdicts of a run, (k,) each."""
        brackets = cls(size)
        if queries.min(initial=0) >= 0 and queries.max(initial=0) < size and codes.max(initial=0) < INDETERMINATE:
            brackets._marks[queries] = codes + 1
        if np.count_nonzero(brackets._marks) < len(queries):  # one by one, to say which may not be asked
            alone = cls(size)
            for e, code in zip(queries.tolist(), codes.tolist(), strict=True):
                alone.record(e, code)
        brackets.n_witnessed, n_rejected, brackets.n_indeterminate = np.bincount(codes, minlength=3).tolist()
        brackets.n_possible -= n_rejected
        return brackets

    @property
    def n_queried(self) -> int:
        """Logical queries so far."""
        return self.size - self.n_possible + self.n_witnessed + self.n_indeterminate

    def record(self, e: int, code: int) -> None:
        """The verdict on an explanation that was not queried before."""
        if not 0 <= e < self.size or self.marks[e]:
            self.refuse(e)
        mark = code + 1
        if mark == REJECTED:
            self.n_possible -= 1
        elif mark == WITNESSED:
            self.n_witnessed += 1
        elif mark == INDETERMINATE:
            self.n_indeterminate += 1
        else:
            raise MisuseError("verdict", f"be one of the codes {[int(v) for v in Verdict]}", repr(code))
        self.marks[e] = mark

    def refuse(self, e: int) -> NoReturn:
        """A query that may not be asked."""
        raise MisuseError("query", f"be an unqueried explanation from 0 to {self.size - 1}", repr(e))

    def column(self) -> NDArray[np.uint8]:
        """(M,) the marks, read-only and kept up to date."""
        return read_only_view(self._marks)

    def witnessed(self) -> IntArray:
        """L in increasing order."""
        return np.flatnonzero(self._marks == WITNESSED)

    def possible(self) -> IntArray:
        """The explanations that are not rejected, U, in increasing order."""
        return np.flatnonzero(self._marks != REJECTED)

    def unqueried(self) -> IntArray:
        """Explanations that may still be asked about, in increasing order."""
        return np.flatnonzero(self._marks == UNQUERIED)


def budget_queries(budget: int | float | Fraction, size: int) -> int:
    r"""Logical queries that a budget allows on a bank of this size.

    A whole number counts queries, at most the size of the bank; a float or a fraction f is a share of the bank,
    :math:`\max(1, \lfloor fM\rfloor)` for f > 0.  A float stands for the decimal that it prints as: 0.29 of 100 is 29.

    >>> budget_queries(0.75, 216), budget_queries(40, 216), budget_queries(0.001, 216)
    (162, 40, 1)
    """
    size = check_count("size", size)
    if isinstance(budget, float | Fraction):
        if not 0.0 <= budget <= 1.0:
            raise MisuseError("budget", "lie between 0 and 1 as a share of the bank", repr(budget))
        share = Fraction(str(budget))
        return max(1, int(share * size)) if share else 0
    return min(check_count("budget", budget, 0), size)


class Status(Enum):
    """The outcome of a run as a whole."""

    REPORT = "Every asked field has its certificate, and an admissible explanation was found."
    EMPTY = "No explanation survives: an event of probability at most alpha, or the truth is outside the bank."
    ABSTAIN = "No report as a whole; what is certified field by field stands in the answers."


# What a run is for: the labels of what is asked, or also the set, verdicts on all that these leave possible.
Stop: TypeAlias = Literal["label", "set"]
STOPS: tuple[Stop, ...] = get_args(Stop)


def check_stop(stop: object) -> None:
    """One of the two."""
    if stop not in STOPS:
        raise MisuseError("stop", f"be {' or '.join(map(repr, STOPS))}", repr(stop))


class Ending(Enum):
    """The reason why a run stopped."""

    CERTIFIED = "Every requested field has its certificate, and if the set was requested, every explanation was tested."
    NO_SURVIVOR = "Every explanation of the bank is rejected."
    BUDGET = "The budget is spent; a larger one may settle open fields whose labels the data allow."
    NOTHING_LEFT = "The policy has nothing left to ask."
    STOPPED = "The run was stopped; it can be continued."


UNWITNESSED = (
    "The fields hold for everything still possible, but no explanation has yet been confirmed, so the report as a "
    "whole abstains."
)
UNASKED = "More queries would find a witness, show that there is none, or be indeterminate."
UNDECIDED = "All were tested, with indeterminate verdicts; more queries would not change that."


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trace:
    """The queries of a run and the state they led to (alg:supp-aeb).

    The answers follow from queries and codes alone, so `at` can give the result of every smaller budget, and another
    program can check them.
    """

    question: Question
    size: int  # of the bank, M
    budget: int  # logical queries allowed
    queries: IntArray  # (k,)
    verdicts: Verdicts  # (k,)
    status: Status
    ending: Ending
    answers: tuple[Answer, ...]  # a field each, ABSTAIN where its certificate is incomplete
    is_certified: bool  # every asked field holds on U; without a witness this is not yet a report
    n_witnessed: int
    n_possible: int
    n_indeterminate: int
    until_witnessed: bool = True
    digests: tuple[tuple[str, str], ...] = ()  # names and hashes of what was frozen before
    stop: Stop = "label"

    def __repr__(self) -> str:
        queried = f"{len(self.queries):,} of {self.size:,} explanations tested"
        return f"Trace({self.status.name}: {queried}, {self.n_witnessed:,} admissible, {self.n_possible:,} possible)"

    @classmethod
    def begun(
        cls,
        question: Question,
        size: int,
        budget: int,
        until_witnessed: bool,
        digests: tuple[tuple[str, str], ...],
        stop: Stop = "label",
    ) -> "Trace":
        """An empty trace, before the first query."""
        queries = np.zeros(0, dtype=np.int64)
        verdicts = Verdicts.unmeasured(np.zeros(0, dtype=np.uint8))
        outcome = Status.ABSTAIN, Ending.STOPPED, (), False
        return cls(question, size, budget, queries, verdicts, *outcome, 0, size, 0, until_witnessed, digests, stop)

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def codes(self) -> NDArray[np.uint8]:
        """(k,) of the verdicts."""
        return self.verdicts.codes

    @property
    def is_unwitnessed(self) -> bool:
        """True if all fields are certified on U although nothing was witnessed; the run as a whole is then ABSTAIN."""
        return self.is_certified and not self.n_witnessed

    @property
    def sentence(self) -> str:
        """The status, and why there is no more."""
        if self.status is not Status.ABSTAIN:
            return str(self.status.value)
        if not self.is_unwitnessed:
            return f"{self.status.value} {self.ending.value}"
        is_exhausted = self.n_possible == self.n_indeterminate
        return f"{self.status.value} {UNWITNESSED} {UNDECIDED if is_exhausted else UNASKED}"

    def brackets(self) -> Brackets:
        """L and U at the end."""
        return Brackets.after(self.size, self.queries, self.codes)

    def open_fields(self) -> tuple[str, ...]:
        """The fields that still need verdicts at the end."""
        return unsettled(self.answers, self.is_certified)

    def possible(self) -> IntArray:
        """U: explanations that were not rejected, asked about or not, in their order."""
        return self.brackets().possible()

    def places(self) -> IntArray:
        """(M,) the number of the query that asked about each explanation, -1 if none did."""
        places = np.full(self.size, -1)
        places[self.queries] = np.arange(len(self))
        return places

    def at(self, queries: int) -> "Trace":
        """The trace of a run with this smaller budget; the same question, data, policy and proposals understood.

        Whether the policy of a run that Ctrl-C stopped had more to ask is not known: its last prefix ends with BUDGET.
        """
        count = check_count("queries", queries, 0)
        if count < len(self):
            first = slice(count)
            kept = replace(self, budget=count, queries=self.queries[first], verdicts=self.verdicts.rows(first))
            return replayed(kept, Ending.BUDGET)
        if self.ending is Ending.STOPPED or (self.ending is Ending.BUDGET and count > self.budget):
            if count > len(self):
                remedy = "Continue the run to see further."
                raise MisuseError("queries", f"be at most the {len(self)} that were asked", count, remedy)
            return replace(self, budget=count, ending=Ending.BUDGET)
        return replace(self, budget=min(count, self.size))


def concluded(trace: Trace, brackets: Brackets, progress: Progress, ending: Ending) -> Trace:
    """The trace with the outcome that brackets and question now give.

    EMPTY if and only if U is empty.  A report needs every certificate and a witness: on a U of which nothing is known
    to be admissible truth-level labels hold, perhaps of nothing.  Where the run was over, that is the ending, whatever
    else is given for it.
    """
    is_certified = brackets.n_possible > 0 and progress.is_certified
    status = Status.ABSTAIN
    if not brackets.n_possible:
        status = Status.EMPTY
        ending = Ending.NO_SURVIVOR
    elif is_certified and (brackets.n_witnessed or not trace.until_witnessed):
        status = Status.REPORT if brackets.n_witnessed else status
        if trace.stop == "label" or brackets.n_queried == brackets.size:
            ending = Ending.CERTIFIED
    elif brackets.n_queried == brackets.size:
        ending = Ending.NOTHING_LEFT
    return replace(
        trace,
        status=status,
        ending=ending,
        answers=progress.answers(),
        is_certified=is_certified,
        n_witnessed=brackets.n_witnessed,
        n_possible=brackets.n_possible,
        n_indeterminate=brackets.n_indeterminate,
    )


def replayed(trace: Trace, ending: Ending) -> Trace:
    """The trace with the outcome that its queries and codes lead to."""
    progress = trace.question.begin()
    progress.inform(trace.queries, trace.codes)
    return concluded(trace, trace.brackets(), progress, ending)
