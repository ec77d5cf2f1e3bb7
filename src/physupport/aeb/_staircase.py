"""The answer as a function of the error of the responses.

An explanation with a larger error is a larger set of laws, and evidence has the same numerator at every error.  So an
explanation that is kept at one error is kept at every larger one, and has a critical error from which on it is kept.
The critical errors determine the answers at all errors.  These are simultaneously true with probability at least
1 - level, each under the assumption that responses are right to within its error (`Judge.verdicts_at`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np

from .._typing import Array
from ..judges import Judge, Verdict, Verdicts
from ..questions import Answer, Question, withheld

# Errors at which answers are computed.  If the answer changes between two of them, errors in between are added until
# the two on either side of the change differ by at most the factor below.
ERRORS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
_RATIO = 1.25
# Further ones on scales whose errors may exceed 1: noise may be stronger than what is left of the sources, and
# responses worse than stated.
_BEYOND = dict.fromkeys(("noise", "stated"), (1.0, 2.0, 5.0, 10.0))


@final
@dataclass(frozen=True, slots=True)
class Step:
    """A range of errors over which all answers are the same.

    The answers were computed at both ends.  In between, every explanation kept at the smaller end is kept, and none
    that is rejected at the larger end, so the answers are the same there.
    """

    least: float
    most: float
    answers: tuple[Answer, ...]
    claims: tuple[tuple[str, str], ...]  # each claim with its value: true, false, open, unknown, withheld or empty

    def encode(self) -> dict[str, object]:
        """The range and the answers as JSON."""
        fields = [answer.statement() for answer in self.answers]
        return {"least": self.least, "most": self.most, "fields": fields, "claims": dict(self.claims)}

    @property
    def statements(self) -> tuple[object, ...]:
        """The labels, cells and groups of all answers, and the claims, without witnesses and numbers."""
        return tuple((answer.label, answer.cell, answer.group) for answer in self.answers) + self.claims


def staircase(judge: Judge, question: Question, verdicts: Verdicts) -> tuple[Step, ...]:
    """Compute the steps from exact responses upwards; none if the judge has no verdicts at other errors.

    A staircase of the noise begins at the least error that is tried, or at that of the judge if it is less.

    The error of the judge is one of the errors, and its answers are those of the judge: the numerator is fixed before
    the held-out rows are read, so it may depend on that error, and it is the same at all errors.

    verdicts: (M,) the verdicts of the judge at its own error.
    """
    if judge.error is None:
        return ()
    critical = _Critical(judge, question, verdicts)
    first = min(judge.error, ERRORS[0]) if judge.error_scale == "noise" else 0.0
    tried = (*ERRORS, *_BEYOND.get(judge.error_scale, ()))
    errors = sorted({first, judge.error, *(error for error in tried if error > first)})
    for error in _middle_first([error for error in errors if error != judge.error]):
        critical.ask(error)
    steps = [critical.step(question, error) for error in errors]
    number = 0
    while number + 1 < len(steps):
        before = steps[number]
        after = steps[number + 1]
        if before.statements == after.statements:
            steps[number : number + 2] = [Step(before.least, after.most, before.answers, before.claims)]
        elif before.most > 0.0 and after.least > _RATIO * before.most:
            error = sqrt(before.most * after.least)
            critical.ask(error)
            steps.insert(number + 1, critical.step(question, error))
        else:
            number += 1
    return tuple(steps)


def _middle_first(errors: Sequence[float]) -> Iterator[float]:
    """Yield the middle error, then each half likewise: so each explanation is judged at few errors."""
    if errors:
        middle = len(errors) // 2
        yield errors[middle]
        yield from _middle_first(errors[:middle])
        yield from _middle_first(errors[middle + 1 :])


@final
class _Critical:
    """Brackets of the critical errors of all explanations, narrowed by verdicts at one error after another."""

    def __init__(self, judge: Judge, question: Question, verdicts: Verdicts) -> None:
        assert judge.error is not None
        self.judge = judge
        self.claims = question.claims(np.arange(len(verdicts.codes)))
        self.rejected_to: Array = np.where(verdicts.codes == Verdict.REJECTED, judge.error, -1.0)
        self.kept_from: Array = np.where(verdicts.codes == Verdict.REJECTED, np.inf, judge.error)
        self.witnessed_from: Array = np.where(verdicts.codes == Verdict.ADMISSIBLE, judge.error, np.inf)

    def ask(self, error: float) -> None:
        """Ask the judge about all explanations whose verdict at this error does not follow from earlier ones."""
        is_open = (self.rejected_to < error) & ((self.kept_from > error) | (self.witnessed_from > error))
        asked = np.flatnonzero(is_open)
        codes = self.judge.verdicts_at(error, asked).codes
        rejected = asked[codes == Verdict.REJECTED]
        kept = asked[codes != Verdict.REJECTED]
        witnessed = asked[codes == Verdict.ADMISSIBLE]
        self.rejected_to[rejected] = np.maximum(self.rejected_to[rejected], error)
        self.kept_from[kept] = np.minimum(self.kept_from[kept], error)
        self.witnessed_from[witnessed] = np.minimum(self.witnessed_from[witnessed], error)

    def step(self, question: Question, error: float) -> Step:
        """The step of a single error, at which the judge was asked before."""
        possible = self.kept_from <= error
        witnessed = self.witnessed_from <= error
        claims = []
        for name, holds in self.claims.items():
            may_hold = bool((possible & holds).any())
            may_fail = bool((possible & ~holds).any())
            value = "true" if may_hold else "false" if may_fail else "empty"
            if may_hold and may_fail:
                is_shown = (witnessed & holds).any() and (witnessed & ~holds).any()
                value = "open" if is_shown else "unknown"
            claims.append((name, value))
        answers = question.answers(possible, witnessed)
        if possible.any() and self.judge.refutes(np.flatnonzero(possible), error):
            answers = tuple(map(withheld, answers))
            claims = [(name, "withheld") for name, _ in claims]
        return Step(error, error, answers, tuple(claims))
