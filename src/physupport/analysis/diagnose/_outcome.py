"""The outcome in words: why it came out so, and what to do."""

from collections.abc import Iterator, Sequence
from math import isnan

import numpy as np

from ..._typing import IntArray
from ...questions import open_fields
from .._result import Result
from ._asked import Asked
from ._misfit import Misfit, misfit

# A possible set of at least this share of the bank, and of this many explanations, calls for a word about its size.
_LARGE_SHARE, _LARGE = 0.25, 20
_BLOCK = 2**16
_MOST_NAMED = 12


def outcome_sentences(result: Result, misfits: Sequence[Misfit] | None = None) -> tuple[str, ...]:
    """Why the outcome is what it is, with figures, and what would change it; the report's own sentence comes first.

    misfits: those of `misfit(result)`, worked out unless given.
    """
    asked = Asked(result)
    found = misfit(result) if misfits is None else tuple(misfits)
    sentences = [result.report.sentence]
    match result.report.status:
        case "EMPTY":
            sentences += _empty(found)
        case "ABSTAIN":
            sentences += _abstain(asked)
    if result.report.status != "EMPTY":
        sentences += _doubts(found)
        sentences += _size(asked)
    return tuple(sentences)


def _empty(found: Sequence[Misfit]) -> Iterator[str]:
    yield from (each.sentence for each in found)
    off = [each for each in found if each.is_misfit]
    if any(each.z > 0.0 for each in off):
        yield (
            "Most often the noise variances are set too small: measure them on rows without a source, or give several. "
            "If they are right, the strengths are too small or elements are missing: widen the library."
        )
    elif off:
        yield (
            "The bank expects more energy than the rows have: lower the noise variances or the strengths, give several "
            "of them, and look for rows that were scaled, averaged or centred before they came here."
        )
    elif any(isnan(each.z) for each in found):
        yield "Give the noise variances and the strengths in the units of the rows: they are too far apart."
    else:
        yield (
            "The energy is right, so the noise is not the reason. Most often elements are missing where something is "
            "active, responses are off (add calibration parameters such as gain, width or position), or strengths are "
            "divided wrongly among the regions. It may also be the event that the level allows."
        )


def _abstain(asked: Asked) -> Iterator[str]:
    trace = asked.result.trace
    unasked = trace.size - len(trace)
    if still_open := open_fields(asked.progress):
        yield f"Not settled: {_listed(still_open)}."
    if unasked and trace.ending.name in ("BUDGET", "STOPPED"):
        yield (
            f"{unasked} of {trace.size} explanations were not asked about. A budget of {trace.size} asks about all of "
            f"them, and only the rows then decide; what is certified already stays."
        )
    if trace.n_indeterminate:
        yield f"Verdicts that the arithmetic left undecided: {trace.n_indeterminate}."


def _doubts(found: Sequence[Misfit]) -> Iterator[str]:
    """A report rests on laws; say so where the rows contradict them."""
    for each in found:
        if each.is_misfit:
            yield f"Take care: {each.sentence[0].lower()}{each.sentence[1:]} Every label rests on these laws."


def _size(asked: Asked) -> Iterator[str]:
    trace = asked.result.trace
    if trace.n_possible < max(_LARGE, _LARGE_SHARE * trace.size):
        return
    resolved, unresolved = _dimensions(asked)
    yield (
        f"{trace.n_possible} of {trace.size} explanations are still possible, {trace.n_witnessed} of them found "
        f"admissible and {trace.size - len(trace)} not asked about. Unresolved: {_listed(unresolved)}."
        + (f" Resolved: {_listed(resolved)}." if resolved else "")
    )


def _dimensions(asked: Asked) -> tuple[list[str], list[str]]:
    """What all possible explanations agree on, and what not, with how many of the choices are left."""
    possible, everything = asked.result.trace.brackets().possible(), np.arange(asked.bank.size)
    resolved: list[str] = []
    unresolved: list[str] = []
    for (name, left), (_, whole) in zip(_counts(asked, possible), _counts(asked, everything), strict=True):
        if whole > 1:
            (resolved if left == 1 else unresolved).append(name if left == 1 else f"{name} ({left} of {whole})")
    return resolved, unresolved


def _counts(asked: Asked, index: IntArray) -> list[tuple[str, int]]:
    """Distinct values of each dimension of the bank among explanations."""
    seen: dict[str, set[int]] = {}
    for start in range(0, len(index), _BLOCK):
        for name, column in _columns(asked, index[start : start + _BLOCK]).items():
            seen.setdefault(name, set()).update(np.unique(column).tolist())
    return [(name, len(values)) for name, values in seen.items()]


def _columns(asked: Asked, index: IntArray) -> dict[str, IntArray]:
    """(k,) the value of every dimension, by name; what the question says of a state may stand for its number."""
    columns = asked.bank.split(index)
    parameters = asked.bank.states.dimensions(columns.state)
    return {
        **asked.predicates.dimensions(index, None if parameters else columns.state),
        **parameters,
        "the support with its strengths": columns.support,
        "the calibration nuisances": columns.calibration,
        "the deployment nuisances": columns.deployment,
    }


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:_MOST_NAMED])} and {more} more"
