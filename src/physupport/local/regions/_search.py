"""Explanations, and pairs of them, with all their inequalities: what an optimiser sees of a correspondence."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import least_squares

from ..._typing import Array
from ._chart import Chart
from ._reading import physical_target

# A step well above the rounding of a moment distance and well below the scale on which it curves.
_STEP = 1e-6
# Of a value of order one. A derivative that predicts worse sends an optimiser astray for many steps.
_WRONG = 0.05
# A relative slack that is far from its bound.
_FAR = 0.5


@final
class SecantMap:
    r"""Values of a map and a derivative kept by Broyden's rank-one update, :math:`J \mathrel{+}= (\Delta f - J\Delta v)
    \Delta v^\top/\|\Delta v\|^2`, and renewed by differences as soon as it predicted a value of order one badly.

    It remembers the last point, because optimisers ask for value and derivative at the same one. As long as all
    inequalities are far from their bounds, no derivative is needed and none is computed.
    """

    def __init__(self, function: Callable[[Array], Array], bounds: Array, n_free: int) -> None:
        self._function, self._middle, self._n_free = function, bounds.mean(axis=0), n_free
        self._at = self._value = np.empty(0)
        # Nothing is known yet, and this prediction is wrong by more than any limit.
        self._base, self._last, self._jacobian = self._middle, np.array([np.inf]), np.zeros((1, bounds.shape[1]))

    def value(self, vector: Array) -> Array:
        """The map at a vector (d,), (m,)."""
        if not np.array_equal(vector, self._at):
            self._at, self._value = vector.copy(), self._function(vector)
        return self._value

    def jacobian(self, vector: Array) -> Array:
        """An approximate derivative (m, d); columns after the first n_free are zero."""
        value = self.value(vector)
        if not value.size or value.min() > _FAR:
            return np.zeros((len(value), len(vector)))
        move = vector - self._base
        move[self._n_free :] = 0.0
        missed = value - self._last - self._jacobian @ move
        if np.abs(missed).max() > _WRONG:
            self._jacobian = self._differences(vector, value)
        elif move.any():
            self._jacobian = self._jacobian + np.outer(missed, move / (move @ move))
        self._base, self._last = vector.copy(), value
        return self._jacobian

    def _differences(self, vector: Array, value: Array) -> Array:
        columns = np.zeros((len(value), len(vector)))
        for i in range(self._n_free):
            step = np.zeros(len(vector))
            # Towards the middle of the bounds, so that the point stays within them.
            step[i] = _STEP if vector[i] <= self._middle[i] else -_STEP
            columns[:, i] = (self._function(vector + step) - value) / step[i]
        return columns


# The optimiser meets inequalities to its tolerance only; with this much relative slack the exact test agrees with it.
_SAFETY = 1e-5
# Restored with half the ball to spare where a search begins, and as little as the exact test needs where it ended.
ROOMY, CLOSE = 0.5, 0.05


@final
class Search:
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

    def restored(self, vector: Array, room: float) -> Array:
        """A nearby vector with relative slacks of room / 50 and the mean within 1 - room of the radius, if found."""
        # A tiny ball must not outweigh the other inequalities: a step of order one moves the mean by about s.
        ball, scale, slack = self.chart.correspondence.ball, self.chart.shell.scale, room / 50.0
        weight = min(1.0, ball.radius / (0.1 * scale * max(float(np.linalg.norm(ball.center)), ball.radius)))

        def residuals(v: Array) -> Array:
            missed = _shortened(*self.chart.missed(v), 1.0 - room)[0]
            return np.append(np.minimum(self.slacks(v) - slack, 0.0), weight * missed)

        def slopes(v: Array) -> Array:
            short, moved = self.slacks(v) < slack, _shortened(*self.chart.missed(v), 1.0 - room)[1]
            return np.vstack([self.slack_slopes(v) * short[:, None], weight * moved])

        lower, upper = self.chart.bounds
        inside = np.clip(vector, lower + 1e-9 * (upper - lower), upper - 1e-9 * (upper - lower))
        return np.asarray(least_squares(residuals, inside, slopes, bounds=(lower, upper), max_nfev=30).x)

    def retained(self, vector: Array, otherwise: Array) -> Array:
        """The vector if it passes the exact test, or one restored from it that does, or else the other vector."""
        if self.chart.is_retained(vector):
            return vector
        near = (self.restored(vector, room) for room in (CLOSE, ROOMY))
        return next(filter(self.chart.is_retained, near), otherwise)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two explanations as one vector (t, first, second): t is to grow below all distances from one to the other.

    The distances are those of one atom of the first, the leading one, to every atom of the second.
    """

    first: Search
    second: Search
    leading: int = 0

    @property
    def bounds(self) -> Array:
        """Least and largest value of every coordinate, (2, d)."""
        return np.column_stack([[0.0, np.inf], self.first.chart.bounds, self.second.chart.bounds])

    def split(self, v: Array) -> tuple[Array, Array]:
        """The two explanations of a vector."""
        middle = 1 + self.first.chart.bounds.shape[1]
        return v[1:middle], v[middle:]

    def joined(self, one: Array, two: Array) -> Array:
        """The vector of two explanations, with the largest t."""
        v = np.concatenate([[0.0], one, two])
        v[0] = self.apart(v)[0].min()
        return v

    def distance(self, v: Array) -> float:
        """The distance of the two targets."""
        sides = zip((self.first.chart, self.second.chart), self.split(v), strict=True)
        one, two = (physical_target(chart.parameter(vector).dictionary, chart.support) for chart, vector in sides)
        return one.distance(two)

    def retained(self, v: Array, otherwise: Array) -> Array:
        """The vector with each explanation retained, taken from the other vector where that fails."""
        (one, two), (first_fallback, second_fallback) = self.split(v), self.split(otherwise)
        return self.joined(self.first.retained(one, first_fallback), self.second.retained(two, second_fallback))

    def closeness(self, v: Array) -> float:
        """What an optimiser makes small."""
        return -float(v[0])

    def closeness_slope(self, v: Array) -> Array:
        """Its derivative, (d,)."""
        return np.append(-1.0, np.zeros(len(v) - 1))

    def inequalities(self, v: Array) -> Array:
        """Distances beyond t and the inequalities of both explanations, positive inside, (m,)."""
        one, two = self.split(v)
        kept = np.append(self.first.inequalities(one), self.second.inequalities(two))
        return np.append(self.apart(v)[0] - v[0], kept - _SAFETY)

    def slopes(self, v: Array) -> Array:
        """Their derivatives, (m, d)."""
        one, two = self.split(v)
        kept = block_diag(self.first.inequality_slopes(one), self.second.inequality_slopes(two))
        distances = self.apart(v)[1]
        along = np.append(-np.ones(len(distances)), np.zeros(len(kept)))
        return np.column_stack([along, np.vstack([distances, kept])])

    def apart(self, v: Array) -> tuple[Array, Array]:
        r"""Squared projective distances of the leading atom to all atoms of the other, over s^2, and derivatives.

        :math:`d_{\rm pr}^2 = \tfrac14\|d-d'\|^2\|d+d'\|^2`.  Returns (r,) and (r, d).
        """
        one, two = self.split(v)
        (atoms, moved), (others, pushed) = self.first.chart.active_atoms(one), self.second.chart.active_atoms(two)
        minus, plus = atoms[self.leading] - others, atoms[self.leading] + others  # (r, q)
        near, far = np.sum(minus**2, axis=1)[:, None], np.sum(plus**2, axis=1)[:, None]
        of_first, of_second = 0.5 * (minus * far + plus * near), 0.5 * (plus * near - minus * far)
        slopes = np.hstack([of_first @ moved[self.leading], np.einsum("jq,jqd->jd", of_second, pushed)])
        scale = self.first.chart.shell.scale
        return (0.25 * near * far)[:, 0] / scale**2, slopes / scale**2


def _shortened(missed: Array, moved: Array, by: float) -> tuple[Array, Array]:
    """A residual (q,) shortened by a length, to zero if it is not longer, and its derivative (q, d)."""
    length = float(np.linalg.norm(missed))
    if length <= by:
        return np.zeros_like(missed), np.zeros_like(moved)
    kept, along = 1.0 - by / length, missed / length
    return kept * missed, kept * moved + by / length * np.outer(along, along @ moved)
