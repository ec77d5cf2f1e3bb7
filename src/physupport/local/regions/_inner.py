"""Retained pairs that are far apart: a lower bound of the physical diameter over the continuous shell."""

from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, islice, product
from typing import final

import numpy as np
from scipy.optimize import Bounds, NonlinearConstraint, minimize

from ..._checks import check_count
from ..._typing import Array
from ._calibration import CalibrationParameter
from ._chart import Chart
from ._correspondence import Correspondence, Support
from ._outer import outer_bracket
from ._search import ROOMY, Pair, Search

# Of squared distances over s^2, which are of order one: a run comes within some thousandths of its optimum.
_TOLERANCE, _STEPS = 1e-4, 25
# About one run in thirty ends in a lesser optimum, and which one does hangs on the last bits; three together do not.
_SPARE_RUNS = 2


@final
@dataclass(frozen=True, slots=True, eq=False)
class RetainedPair:
    """Two explanations that passed the membership test, and the distance of their targets."""

    first: tuple[CalibrationParameter, Support]
    second: tuple[CalibrationParameter, Support]
    distance: float


def inner_bracket(correspondence: Correspondence, rng: np.random.Generator, starts: int = 4) -> RetainedPair | None:
    """The farthest pair found by constrained optimisation from many starts, or None when no retained point was found.

    Both explanations of a returned pair pass ``correspondence.membership``, so its distance never exceeds the true
    diameter; it is a local optimum and may fall short of it. None proves nothing.
    starts: pairs for each kind of pair, besides two that are always tried.
    """
    runs, outer = check_count("starts", starts) + _SPARE_RUNS, outer_bracket(correspondence)
    possible = {True: outer.block_possible, False: outer.separated_possible}
    charts = [Chart(correspondence, kind) for kind in (True, False) if possible[kind]]
    pools = [(chart, pool) for chart in charts if (pool := _retained_points(chart, rng, runs + 1))]
    ends = [
        (pair, _moved_apart(pair, start))
        for first, second in combinations_with_replacement(pools, 2)
        for pair, start in _far_pairs(*first, *second)[:runs]
    ]
    return _polished(*max(ends, key=lambda end: end[0].distance(end[1]))) if ends else None


def _retained_points(chart: Chart, rng: np.random.Generator, size: int) -> list[Array]:
    """Points restored from random members of the class that pass the exact test: so many, or what many tries gave."""
    points: list[Array] = []
    for _ in range(4 * size):
        drawn = chart.random(rng)
        # In a narrow region few random members can be restored; one halfway to a retained point is nearer.
        vectors = [drawn] + [0.5 * (drawn + point) for point in points[-1:]]
        restored = (Search(chart).restored(vector, ROOMY) for vector in vectors)
        points += islice(filter(chart.is_retained, restored), 1)
        if len(points) == size:
            break
    return points


def _far_pairs(chart: Chart, points: list[Array], other: Chart, others: list[Array]) -> list[tuple[Pair, Array]]:
    """Starts from all pairs of points, the farthest first, each led by the atom that is farthest from the others."""
    is_same = chart is other
    couples = list(combinations(points, 2) if is_same else product(points, others)) or [(points[0], others[0])]

    def started(one: Array, two: Array) -> tuple[Pair, Array]:
        ways = [(one, two), (two, one)] if is_same else [(one, two)]
        pairs = (Pair(Search(chart), Search(other), leading) for leading in range(chart.n_active))
        return max(((pair, pair.joined(*way)) for pair, way in product(pairs, ways)), key=lambda start: start[1][0])

    return sorted((started(*couple) for couple in couples), key=lambda start: -start[1][0])


def _moved_apart(pair: Pair, start: Array) -> Array:
    """A retained pair that is farther apart than the one given, or that one.

    Where the optimiser ends, an inequality may be missed by little. Each explanation is then restored by itself: the
    chord back to the start leaves a tight ball at once.
    """
    end = minimize(
        pair.closeness,
        start,
        jac=pair.closeness_slope,
        method="SLSQP",
        bounds=Bounds(*pair.bounds),
        constraints=NonlinearConstraint(pair.inequalities, 0.0, np.inf, jac=pair.slopes),
        tol=_TOLERANCE,
        options={"maxiter": _STEPS},
    ).x
    return max(pair.retained(np.clip(end, *pair.bounds), start), start, key=pair.distance)


def _polished(pair: Pair, start: Array) -> RetainedPair:
    """Run on from where a run ended, with a fresh model of the curvature, until a run gains less than a hundredth."""
    best, again = start, _moved_apart(pair, start)
    while pair.distance(again) > 1.01 * pair.distance(best):
        best, again = again, _moved_apart(pair, again)
    first, second = pair.first.chart, pair.second.chart
    one, two = pair.split(again)
    explanation, other = (first.parameter(one), first.support), (second.parameter(two), second.support)
    return RetainedPair(explanation, other, pair.distance(again))
