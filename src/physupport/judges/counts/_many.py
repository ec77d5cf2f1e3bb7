"""Tables with many columns: bounds of all suprema that decide the verdicts, at the cost of few fits."""

from collections.abc import Sequence
from math import inf, log
from typing import NamedTuple

import numpy as np

from ..._typing import Array, IntArray
from .._decide import compared
from .._evidence import Bounds, log_mean, sum_down, sum_up
from .._judge import Verdict
from ._decided import evaluate_all, fit_until
from ._halves import CountTable

# From so many columns on a fit takes much longer than an evaluation, and bounds that decide are all that is wanted.
MANY_COLUMNS = 64
_STEPS = 100
# The largest explanation is fitted beyond what it needs by this much, in log likelihood, for the others' sake.
_BEYOND = 50.0
# Shares of all counts below which amounts are left out, if what is left keeps the largest explanation.
_PRUNED = (1e-2, 1e-3, 1e-4, 1e-5)


class Half(NamedTuple):
    """Counts of a half in the channels that have some, and the columns as `evaluate_all` takes them."""

    lower: Array  # (E, n)
    upper: Array  # (E, n)
    rests: Array  # (E,)
    counts: Array  # (n,)

    @classmethod
    def of(cls, ends: tuple[Array, Array], counts: Array) -> "Half":
        """Columns with ends (E, q) and counts (q,)."""
        seen = counts > 0.0
        sums = ends[1].sum(axis=1)
        rests = np.ascontiguousarray(ends[0][:, ~seen]).sum(axis=1) * (1.0 - 2.0**-40) / sums
        lower, upper = (np.ascontiguousarray(end[:, seen]) / sums[:, None] for end in ends)
        return cls(lower, upper, rests, np.ascontiguousarray(counts[seen]))

    @property
    def most(self) -> float:
        """The largest log likelihood of any means."""
        terms = self.counts * np.log(self.counts)
        return float((terms - self.counts).sum()) + 1e-12 * float(np.abs(terms).sum() + self.counts.sum())

    def values(self, members: IntArray, amounts: Array) -> Array:
        """(M,) lower bounds of all suprema, from amounts (E,)."""
        values = np.empty(len(members))
        evaluate_all(self.lower, self.upper, self.rests, self.counts, members, amounts, values)
        return values

    def fit(self, members: IntArray, amounts: Array, keep: float = inf, reject: float = -inf) -> tuple[float, float]:
        """Bounds of one supremum; amounts (E,) are the start and become the fit."""
        active = members[members >= 0]
        return fit_until(self.lower, self.upper, self.rests, self.counts, active, amounts, keep, reject, _STEPS)


def has_many_columns(table: CountTable) -> bool:
    """True if fits stop where their bounds decide; recorded responses have a width of another kind."""
    return table.recorded is None and int((table.members >= 0).sum(axis=1).max()) > MANY_COLUMNS


def largest(members: IntArray) -> int:
    """The explanation with most columns, the first of several."""
    return int((members >= 0).sum(axis=1).argmax())


def decisive_suprema(
    parts: Sequence[tuple[Half, tuple[float, float], Array]], members: IntArray, level: float
) -> list[Array]:
    """Bounds (M, 2) of the suprema in each half, as near as verdicts need them.

    parts: each half with the bounds of its numerator and amounts (E,) to begin with.  members: (M, r).
    """
    found = list[Array]()
    starts = list[Array]()
    if not len(members):
        return [np.empty((0, 2)) for _ in parts]
    goals = [(high + log(level), low + log(level / len(parts))) for _, (low, high), _ in parts]
    top = largest(members)
    start = parts[0][2].copy()
    for (half, _, _), (keep, reject) in zip(parts, goals, strict=True):
        bounds = np.full((len(members), 2), half.most)
        if half.values(members[[top]], start)[0] < keep + _BEYOND:
            bounds[top, 1] = min(half.most, half.fit(members[top], start, keep + _BEYOND, reject)[1])
        start = _pruned(half, members[top], start, keep)
        bounds[:, 0] = half.values(members, start)
        bounds[top, 0] = bounds[:, 0].max()
        found.append(bounds)
        starts.append(start.copy())
    mixtures = [part[1] for part in parts]
    for e in np.flatnonzero(_undecided(mixtures, found, level)):
        _decide(parts, goals, found, starts, members[e], int(e))
    for e in np.flatnonzero(_undecided(mixtures, found, level)):
        for number, (half, _, _) in enumerate(parts):  # to the end: the mean decides
            _narrow(found[number], int(e), half.fit(members[e], starts[number].copy()))
    return found


def _pruned(half: Half, active: IntArray, amounts: Array, keep: float) -> Array:
    """As few of the amounts as keep an explanation: all that have these are kept by one evaluation."""
    for share in _PRUNED:
        few = np.where(amounts > share * amounts.sum(), amounts, 0.0)
        if half.values(active[None], few)[0] >= keep:
            return few
    return amounts


def _decide(
    parts: Sequence[tuple[Half, tuple[float, float], Array]],
    goals: Sequence[tuple[float, float]],
    found: Sequence[Array],
    starts: Sequence[Array],
    active: IntArray,
    e: int,
) -> None:
    """Narrow the bounds of one explanation in one half after another, until a half rejects it or all keep it.

    Amounts that fit one half often keep the explanation in the others, too.
    """
    amounts = None
    for number, ((half, _, _), (keep, reject)) in enumerate(zip(parts, goals, strict=True)):
        if found[number][e, 0] >= keep:
            continue
        if amounts is not None:
            value = float(half.values(active[None], amounts)[0])
            _narrow(found[number], e, (value, inf))
            if value >= keep:
                continue
        amounts = starts[number].copy() if amounts is None else amounts
        _narrow(found[number], e, half.fit(active, amounts, keep, reject))
        if found[number][e, 1] <= reject:
            return


def _narrow(bounds: Array, e: int, found: tuple[float, float]) -> None:
    """Take the nearer of two lower and of two upper bounds."""
    bounds[e] = max(bounds[e, 0], found[0]), min(bounds[e, 1], found[1])


def _undecided(mixtures: Sequence[tuple[float, float]], found: Sequence[Array], level: float) -> Array:
    """True for explanations (M,) whose verdict the bounds leave open."""
    return np.asarray(compared(log_evidence(mixtures, found), level).codes == Verdict.INDETERMINATE)


def log_evidence(mixtures: Sequence[tuple[float, float]], suprema: Sequence[Array]) -> Bounds:
    """(k,) the log of the mean over all halves, of suprema (k, 2) and bounds of the numerator in each."""
    lower = [sum_down(np.full(len(s), low), -s[:, 1]) for (low, _), s in zip(mixtures, suprema, strict=True)]
    upper = [sum_up(np.full(len(s), high), -s[:, 0]) for (_, high), s in zip(mixtures, suprema, strict=True)]
    return log_mean(Bounds(np.array(lower), np.array(upper)))
