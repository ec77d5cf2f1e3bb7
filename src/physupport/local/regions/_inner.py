"""Retained pairs that are far apart: a lower bound of the physical diameter over the continuous shell."""

from dataclasses import dataclass
from itertools import combinations_with_replacement, islice
from typing import final

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import Bounds, NonlinearConstraint, least_squares, minimize

from ..._checks import check_count
from ..._typing import Array
from ._calibration import CalibrationParameter
from ._chart import Chart
from ._correspondence import Correspondence, Support
from ._outer import outer_bracket
from ._secant import SecantMap
from ._targets import physical_target

# The optimiser meets inequalities to its tolerance only; with this much relative slack the exact test agrees with it.
_SAFETY = 1e-5
_TOLERANCE = 1e-6


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
    starts: pairs for each kind of pair.
    """
    starts, outer = check_count("starts", starts), outer_bracket(correspondence)
    possible = {True: outer.block_possible, False: outer.separated_possible}
    charts = [Chart(correspondence, kind) for kind in (True, False) if possible[kind]]
    pools = [(chart, pool) for chart in charts if (pool := _retained_points(chart, rng, 2 * starts))]
    pairs = [
        _farthest(first, here[k % len(here)], second, there[(starts + k) % len(there)])
        for (first, here), (second, there) in combinations_with_replacement(pools, 2)
        for k in range(starts)
    ]
    return max(pairs, key=lambda pair: pair.distance, default=None)


def _retained_points(chart: Chart, rng: np.random.Generator, size: int) -> list[Array]:
    """Points restored from random members of the class that pass the exact test: so many, or what many tries gave."""
    restored = (_Search(chart).restored(chart.random(rng)) for _ in range(4 * size))
    return list(islice(filter(chart.is_retained, restored), size))


@final
class _Search:
    """A chart with all its inequalities, for one run of an optimiser."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart

        def region(vector: Array) -> Array:
            conditions = chart.correspondence.region.membership(chart.parameter(vector)).conditions
            own = [c for c in conditions if c.name not in chart.class_conditions]
            return np.array([c.slack / max(abs(c.bound), abs(c.value), 1e-300) for c in own])

        self.region = SecantMap(region, chart.bounds, chart.bounds.shape[1] - chart.n_active)

    def slacks(self, vector: Array) -> Array:
        """Relative slacks of the shell and of the region, (m,)."""
        return np.append(self.chart.shell_slacks(vector)[0], self.region.value(vector))

    def slack_slopes(self, vector: Array) -> Array:
        """Their derivatives, (m, d)."""
        return np.vstack([self.chart.shell_slacks(vector)[1], self.region.jacobian(vector)])

    def inequalities(self, vector: Array) -> Array:
        """The slacks and that of the ball, positive inside, (m + 1,)."""
        missed = self.chart.missed(vector)[0]
        return np.append(self.slacks(vector), 1.0 - missed @ missed)

    def inequality_slopes(self, vector: Array) -> Array:
        """Their derivatives, (m + 1, d)."""
        missed, moved = self.chart.missed(vector)
        return np.vstack([self.slack_slopes(vector), -2.0 * missed @ moved])

    def restored(self, vector: Array) -> Array:
        """A nearby vector with every inequality met by some slack and the mean within half the radius, if found."""
        # A tiny ball must not outweigh the other inequalities: a step of order one moves the mean by about s.
        ball, scale = self.chart.correspondence.ball, self.chart.shell.scale
        weight = min(1.0, ball.radius / (0.1 * scale * max(float(np.linalg.norm(ball.center)), ball.radius)))

        def residuals(v: Array) -> Array:
            return np.append(np.minimum(self.slacks(v) - 0.01, 0.0), weight * _shortened(*self.chart.missed(v))[0])

        def slopes(v: Array) -> Array:
            short = self.slacks(v) < 0.01
            return np.vstack([self.slack_slopes(v) * short[:, None], weight * _shortened(*self.chart.missed(v))[1]])

        lower, upper = self.chart.bounds
        inside = np.clip(vector, lower + 1e-9 * (upper - lower), upper - 1e-9 * (upper - lower))
        return np.asarray(least_squares(residuals, inside, slopes, bounds=(lower, upper), max_nfev=30).x)


def _farthest(chart: Chart, here: Array, other: Chart, there: Array) -> RetainedPair:
    """Move two retained explanations apart: one atom of the first away from every atom of the second.

    The pair found is drawn back towards the one given until both pass the exact test; the one given does.
    """
    pair = _Pair(_Search(chart), _Search(other))
    start = np.concatenate([[0.0], here, there])
    start[0] = pair.apart(start)[0].min()
    bounds = np.column_stack([[0.0, np.inf], chart.bounds, other.bounds])
    found = minimize(
        pair.closeness,
        start,
        jac=pair.closeness_slope,
        method="SLSQP",
        bounds=Bounds(*bounds),
        constraints=NonlinearConstraint(pair.inequalities, 0.0, np.inf, jac=pair.slopes),
        tol=_TOLERANCE,
        options={"maxiter": 60},
    ).x
    move = np.clip(found, *bounds) - start
    drawn = (start + fraction * move for fraction in (1.0, 0.999, 0.99, 0.9, 0.5))
    first, second = pair.split(next(filter(pair.is_retained, drawn), start))
    one, two = (chart.parameter(first), chart.support), (other.parameter(second), other.support)
    here_target, there_target = (physical_target(parameter.dictionary, support) for parameter, support in (one, two))
    return RetainedPair(one, two, here_target.distance(there_target))


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Two explanations as one vector (t, first, second): t is to grow below all distances from one to the other."""

    first: _Search
    second: _Search

    def split(self, v: Array) -> tuple[Array, Array]:
        middle = 1 + self.first.chart.bounds.shape[1]
        return v[1:middle], v[middle:]

    def closeness(self, v: Array) -> float:
        return -float(v[0])

    def closeness_slope(self, v: Array) -> Array:
        return np.append(-1.0, np.zeros(len(v) - 1))

    def is_retained(self, v: Array) -> bool:
        one, two = self.split(v)
        return self.first.chart.is_retained(one) and self.second.chart.is_retained(two)

    def inequalities(self, v: Array) -> Array:
        one, two = self.split(v)
        kept = np.append(self.first.inequalities(one), self.second.inequalities(two))
        return np.append(self.apart(v)[0] - v[0], kept - _SAFETY)

    def slopes(self, v: Array) -> Array:
        one, two = self.split(v)
        kept = block_diag(self.first.inequality_slopes(one), self.second.inequality_slopes(two))
        distances = self.apart(v)[1]
        along = np.append(-np.ones(len(distances)), np.zeros(len(kept)))
        return np.column_stack([along, np.vstack([distances, kept])])

    def apart(self, v: Array) -> tuple[Array, Array]:
        r"""Squared projective distances of the first atom of one to all atoms of the other, over s^2, and derivatives.

        :math:`d_{\rm pr}^2 = \tfrac14\|d-d'\|^2\|d+d'\|^2`.  Returns (r,) and (r, d).
        """
        one, two = self.split(v)
        (atoms, moved), (others, pushed) = self.first.chart.active_atoms(one), self.second.chart.active_atoms(two)
        minus, plus = atoms[0] - others, atoms[0] + others  # (r, q)
        near, far = np.sum(minus**2, axis=1)[:, None], np.sum(plus**2, axis=1)[:, None]
        of_first, of_second = 0.5 * (minus * far + plus * near), 0.5 * (plus * near - minus * far)
        slopes = np.hstack([of_first @ moved[0], np.einsum("jq,jqd->jd", of_second, pushed)])
        scale = self.first.chart.shell.scale
        return (0.25 * near * far)[:, 0] / scale**2, slopes / scale**2


def _shortened(missed: Array, moved: Array) -> tuple[Array, Array]:
    """A residual (q,) shortened by half a radius, to zero if it is not longer, and its derivative (q, d)."""
    length = float(np.linalg.norm(missed))
    if length <= 0.5:
        return np.zeros_like(missed), np.zeros_like(moved)
    kept, along = 1.0 - 0.5 / length, missed / length
    return kept * missed, kept * moved + 0.5 / length * np.outer(along, along @ moved)
