"""Forecasts of what parts the explanations that hold a label back: how many times the data, and the best channels."""

from math import log
from typing import Any

import numpy as np

from ..._typing import Array, IntArray
from ...io import ArrayRows
from .._analyse import Result
from .._next import Candidate, Seen, divergences, divergences_of_free, pair_in_words
from .._plans import ProposedStream
from ._rows_needed import last_to_go, rivals, sides

_MOST_RIVALS = 64  # those with the least evidence against them
_LEAST = 1e-3  # nats in as many data as there are: fewer would take hundreds of times as many
NOTHING = "nothing"  # stands in a pair for an explanation that has nothing there
_SHARE = 0.5  # of what parts two explanations, in the channels that are named


def parting_json(result: Result, number: int) -> dict[str, Any] | None:
    """The change that parts the reference from its hardest rival on a field; None where there is no such number.

    times: the data it takes in all, as multiples of those so far: the evidence that is missing, over the divergence of
    both in data like these, minimised over what the rival leaves open (`divergences`).  None if no number is expected
    to do.  channels: the shortest run that holds half of the divergence of both fits.  A forecast, no guarantee.
    """
    part = next((part for part in result.seal.parts if part.name == "deployment"), None)
    known = sides(result, number)
    against = rivals(result, number)[:_MOST_RIVALS]
    design = None if part is None else part.law.design(part.bank)
    if part is None or known is None or not against.size or design is None or design.is_random:
        return None
    if not result.seal.protocol.judge.fits_elements:
        return None
    seen = Seen.of(result)
    if seen is None or design.ranges is not None or design.noise_shape is not None or design.bands > 1:
        return None
    if design.rows == "same mean":
        again = Candidate("again", 1.0, part.bank, part.law, seen.n_rows)
        each = divergences(again, result.reference, against, seen)
    else:
        keys = part.law.keys(part.bank)
        rows = design.whitened_rows(ArrayRows(part.table), part.law.is_complex)
        each = divergences_of_free(design, rows, int(keys(result.reference)[0]), keys(against))
    gained = _judging(result, part) * seen.n_rows * each
    needed = _missing(result, against) / np.maximum(gained, _LEAST)
    hardest = last_to_go(np.where(gained > _LEAST, needed, np.inf), known.of(against), known)
    rival = int(against[hardest])
    field = result.answers[number].field
    names = [str(result.says(e).get(field) or NOTHING) for e in (result.reference, rival)]
    if names[0] == names[1]:
        names = [*pair_in_words(result.question, field, result.reference, rival)]
    return {
        "pair": names,
        "times": float(1.0 + needed[hardest]) if gained[hardest] > _LEAST else None,
        "data": "counts" if part.law.is_counted else "rows",
        "channels": _channels(result, rival),
    }


def _judging(result: Result, part: ProposedStream) -> float:
    """The share of the data that judges: what is held out; of evidence that divides every row, a half; else all."""
    n_proposal = len(part.split.proposal)
    if n_proposal:
        return 1.0 - n_proposal / (n_proposal + len(part.split.held_out))
    return 0.5 if result.seal.protocol.judge.has_common_numerator else 1.0


def _missing(result: Result, against: IntArray) -> Array:
    """(k,) the log evidence that is missing until each rival is rejected; of judges without it, all of it."""
    whole = np.full(len(against), -log(result.seal.protocol.run_level))
    if not result.seal.protocol.judge.has_common_numerator:
        return whole
    margins = result.trace.verdicts.upper[result.places[against]]
    return np.where(np.isfinite(margins), -margins, whole)


def _channels(result: Result, rival: int) -> dict[str, Any] | None:
    """The shortest run of channels with half of the divergence of the fits of reference and rival, by names."""
    (part,) = [part for part in result.seal.parts if part.name == "deployment"]
    first = part.law.fitted(part.bank, result.reference, ArrayRows(part.table))
    if first is None or part.law.is_complex:
        return None
    second = part.law.fitted(part.bank, rival, ArrayRows(first[None]))
    names = result.tables["deployment"].channels
    if second is None or len(second) != len(names):
        return None
    apart = (first - second) ** 2
    if part.law.is_counted:
        floor = max(1e-12 * float(first.max(initial=0.0)), 1e-300)
        apart = apart / np.maximum(0.5 * (first + second), floor)
    run = half_run(apart)
    if run is None:
        return None
    start, n = run
    return {"first": names[start], "last": names[start + n - 1], "n": n, "of": len(names)}


def half_run(weights: Array) -> tuple[int, int] | None:
    """Start and length of the shortest run with half of the sum of weights, none below 0; None if all are 0."""
    sums = np.append(0.0, np.cumsum(weights))
    if not sums[-1] > 0.0:
        return None
    ends = np.minimum(np.searchsorted(sums, sums[:-1] + _SHARE * sums[-1]), len(sums))
    lengths = np.where(ends < len(sums), ends - np.arange(len(ends)), len(sums))
    start = int(lengths.argmin())
    return start, int(lengths[start])
