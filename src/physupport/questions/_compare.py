"""Answers compared with the exhaustive ones, and the answers of a point-valued method."""

from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_count
from .._errors import MisuseError
from ..judges import Verdict
from ._question import Answer, Label, Question


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
    For an empty profile every truth-level label is true, and none says as much as EMPTY.
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
    """True if the exhaustive profile bears the answer out."""
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


def exhaustive_answers(question: Question, verdicts: ArrayLike) -> tuple[Answer, ...]:
    """The finest true statement about the exhaustive profile, a field each, whatever was asked for.

    verdicts: (M,) codes of `Verdict`.  Without INDETERMINATE ones the possible and the witnessed set are both the
    profile, and no field abstains.  Indeterminate explanations stay possible and are no witnesses.
    """
    codes = np.asarray(verdicts)
    if codes.ndim != 1 or not np.isin(codes, [*Verdict]).all():
        raise MisuseError("verdicts", "be a list of Verdict codes", f"{codes.dtype} of shape {codes.shape}")
    _check_size("verdicts", len(codes), question)
    return question.reference().answers(codes != Verdict.REJECTED, codes == Verdict.ADMISSIBLE)


def plugin_answers(question: Question, explanation: int, n_explanations: int) -> tuple[Answer, ...]:
    """The answers of a point-valued method: one explanation is taken for the only survivor.

    In a map, its regions are FINE and the others ABSENT.  No guarantee goes with it; it is there to compare with.
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
