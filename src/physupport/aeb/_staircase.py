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
ERRORS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
# the two on either side of the change differ by at most this factor.
_RATIO = 1.25


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
        fields = [
            {
                "field": answer.field,
                "label": str(answer.label),
                "cell": list(answer.cell),
                "group": answer.group,
                "numbers": dict(answer.numbers),
                "certificate": answer.certificate.kind,
                "witnesses": list(answer.certificate.witnesses),
            }
            for answer in self.answers
        ]
        return {"least": self.least, "most": self.most, "fields": fields, "claims": dict(self.claims)}

    @property
    def statements(self) -> tuple[object, ...]:
        """The labels, cells and groups of all answers, and the claims, without witnesses and numbers."""
        return tuple((answer.label, answer.cell, answer.group) for answer in self.answers) + self.claims


def staircase(judge: Judge, question: Question, verdicts: Verdicts) -> tuple[Step, ...]:
    """Compute the steps from the error of the judge upwards; none if the judge has no verdicts at other errors.

    verdicts: (M,) the verdicts of the judge at its own error.
    """
    if judge.error is None:
        return ()
    critical = _Critical(judge, verdicts)
    larger = [error for error in ERRORS if error > judge.error]
    for error in _middle_first(larger):
        critical.ask(error)
    steps = [critical.step(question, error) for error in (judge.error, *larger)]
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

    def __init__(self, judge: Judge, verdicts: Verdicts) -> None:
        assert judge.error is not None
        self.judge = judge
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
        for name, holds in question.claims(np.arange(len(possible))).items():
            may_hold = bool((possible & holds).any())
            may_fail = bool((possible & ~holds).any())
            value = "true" if may_hold else "false" if may_fail else "empty"
            if may_hold and may_fail:
                is_shown = (witnessed & holds).any() and (witnessed & ~holds).any()
                value = "open" if is_shown else "unknown"
            claims.append((name, value))
        answers = question.answers(possible, witnessed)
        if possible.any() and self.judge.refutes(np.flatnonzero(possible)):
            answers = tuple(map(withheld, answers))
            claims = [(name, "withheld") for name, _ in claims]
        return Step(error, error, answers, tuple(claims))
