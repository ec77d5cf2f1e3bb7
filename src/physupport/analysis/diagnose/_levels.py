"""What the same verdicts would have been at another level."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from ..._checks import check_open
from ..._typing import Array
from ...aeb import Trace
from ...judges import Verdict
from ...questions import Answer, inform


@final
@dataclass(frozen=True, slots=True)
class LevelAnswers:
    """What may be said of each field at one level."""

    level: float
    answers: tuple[Answer, ...]


def other_levels(trace: Trace, level: float, levels: Sequence[float]) -> tuple[LevelAnswers, ...]:
    r"""The answers of a run at `level`, read again at other levels.

    The margin is :math:`m = \max_k\log E_k + \log\alpha`, so at another level it moves by
    :math:`\log(\alpha'/\alpha)`, and its proven bounds with it.  An explanation that was asked about is rejected if its
    whole interval lies above 0, admissible if none of it does, and undecided otherwise; one that was not asked about
    stays possible.  The level of the run gives the answers of the run.
    """
    check_open("level", level, 0.0, 1.0)
    return tuple(LevelAnswers(float(other), _answers(trace, level, other)) for other in levels)


def moved_codes(trace: Trace, level: float, other: float) -> NDArray[np.uint8]:
    """(k,) verdict codes of the queries at another level."""
    check_open("levels", other, 0.0, 1.0)
    if other == level:
        return trace.codes
    lower, upper = _moved(trace.verdicts.margins(), level, other).T
    codes = np.full(len(trace), Verdict.INDETERMINATE, dtype=np.uint8)
    codes[lower > 0.0] = Verdict.REJECTED
    codes[upper <= 0.0] = Verdict.ADMISSIBLE
    return codes


def _moved(margins: Array, level: float, other: float) -> Array:
    """(k, 2) bounds after the shift, widened by more than the rounding of two logarithms and two sums."""
    shift, size = np.log(other) - np.log(level), abs(np.log(other)) + abs(np.log(level))
    bounds = margins + shift
    finite = np.where(np.isfinite(margins), np.abs(margins), 0.0)
    slack = 4.0 * np.finfo(np.float64).eps * (size + finite)
    return np.asarray(bounds + slack * np.array([-1.0, 1.0]))


def _answers(trace: Trace, level: float, other: float) -> tuple[Answer, ...]:
    codes = moved_codes(trace, level, other)
    if codes is trace.codes:
        return trace.answers
    progress = trace.question.begin()
    inform(progress, trace.queries, codes)
    return progress.answers()
