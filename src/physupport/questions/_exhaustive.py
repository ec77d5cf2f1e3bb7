"""Answers from all verdicts at once, and from one explanation taken for the truth."""

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_count
from .._errors import MisuseError
from ..judges import Verdict
from ._labels import Answer
from ._question import Question


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
