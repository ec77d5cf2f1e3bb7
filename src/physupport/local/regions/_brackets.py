"""Bounds of the physical diameter over the continuous shell: from above by proof, from below by a pair found."""

from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, islice, product
from typing import final

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import Bounds, NonlinearConstraint, minimize

from ..._checks import check_count
from ..._typing import Array
from ..shell import Shell
from ._correspondence import CalibrationParameter, Correspondence, Support
from ._reading import physical_target
from ._search import ROOMY, Chart, Search

# Relative to the largest length in a computation: a dozen roundings, with room to spare.
_ROUNDING = 64.0 * float(np.finfo(np.float64).eps)
# The optimiser meets inequalities to its tolerance only; with this much relative slack the exact test agrees with it.
_SAFETY = 1e-5
# Of squared distances over s^2, which are of order one: a run comes within some thousandths of its optimum.
_TOLERANCE = 1e-4
_STEPS = 25
# About one run in thirty ends in a lesser optimum, and which one does hangs on the last bits; three together do not.
_SPARE_RUNS = 2


@final
@dataclass(frozen=True, slots=True)
class OuterBracket:
    """No retained pair of targets is farther apart than the diameter; None when nothing can be retained."""

    diameter: float | None
    block_possible: bool
    separated_possible: bool


def outer_bracket(correspondence: Correspondence) -> OuterBracket:
    r"""The shell's own diameter, without the local explanations that the deployment ball excludes for every dictionary.

    Proven facts only. Coherent atoms lie within :math:`\theta_0 = \arcsin C_0 s` of the axis, so two of them are at
    most :math:`\sin 2\theta_0` apart; separated atoms lie within :math:`\theta_a = \arcsin(C_a s/\sqrt2)` of their
    reference; a coherent and a separated atom are at most :math:`\sin(\omega + \theta_0 + \theta_a)` apart,
    :math:`\omega` being the angle between the lines of axis and reference. Beyond a right angle each sine is 1. A
    local explanation is left out when its distance to the centre of the ball, over the whole shell, exceeds the radius
    by more than rounding.

    What calibration says of the dictionary is not used. The step from invariants to atoms has explicit constants
    (`tests.local.theory.invariants.quotient_sensitivity`), but the step before it, from moments to invariants, has one
    that exists by compactness only, so :math:`\rho_N(s)` (eq:dictionary-radius) is a number without proof. The bound is
    therefore honest and wide once N is large; `inner_bracket` shows how wide.
    """
    shell = correspondence.region.calibration_class.shell
    block = bool(block_distance(correspondence) <= correspondence.ball.radius)
    separated = bool(separated_distance(correspondence) <= correspondence.ball.radius)
    cone = float(np.arctan2(shell.cap * shell.scale, shell.axial_floor))
    around = _separated_angle(shell)
    angles = [2.0 * cone] * block + [2.0 * around] * separated
    if block and separated:
        angles.append(float(np.arctan2(shell.axial_sine, abs(shell.axial_cosine))) + cone + around)
    diameters = [min(1.0, float(np.sin(min(angle, np.pi / 2.0))) * (1.0 + _ROUNDING)) for angle in angles]
    return OuterBracket(max(diameters, default=None), block, separated)


def block_distance(correspondence: Correspondence) -> float:
    r"""A lower bound, rounding included, of the profiled residual of the block over all dictionaries of the shell.

    A mean :math:`\sum_jx_jd_j` with r coefficients in :math:`[\beta_-, \beta_+]` has, with
    :math:`X = \sum_jx_j \in [r\beta_-, r\beta_+]`, a height along the axis between :math:`X\cos\theta_0` and X and a
    length across it of at most :math:`X\sin\theta_0`. In the plane of height and length these points lie in the convex
    polygon spanned by :math:`r\beta_-(\cos\theta_0, 0), r\beta_-(\cos\theta_0, \sin\theta_0),
    r\beta_+(\cos\theta_0, \sin\theta_0), r\beta_+(1, \sin\theta_0), r\beta_+(1, 0)`. Two vectors are at least as far
    apart as their heights and lengths are, so the bound is the distance to this polygon.
    """
    center = correspondence.ball.center
    shell = correspondence.region.calibration_class.shell
    sine = shell.cap * shell.scale
    cosine = shell.axial_floor
    low = correspondence.support_size * correspondence.amplitudes.block.lower
    high = correspondence.support_size * correspondence.amplitudes.block.upper
    height = float(shell.frame.axis @ center)
    point = np.array([height, float(np.linalg.norm(center - height * shell.frame.axis))])
    near = low * np.array([[cosine, 0.0], [cosine, sine]])
    far = high * np.array([[cosine, sine], [1.0, sine], [1.0, 0.0]])
    corners = np.concatenate([near, far])
    return _rounded_down(_distance_to_convex_polygon(point, corners), high + float(np.linalg.norm(center)))


def separated_distance(correspondence: Correspondence) -> float:
    r"""The least profiled residual of the separated atom over the shell, exact but for rounding, which lowers it.

    The atom nearest to the centre z lies at angle :math:`\psi = [\varphi - \theta_a]_+` from it, with :math:`\varphi`
    the angle of the centre to the reference; the amplitude is then :math:`\|z\|\cos\psi` clipped to its range.
    """
    center = correspondence.ball.center
    shell = correspondence.region.calibration_class.shell
    box = correspondence.amplitudes.separated
    along = float(shell.reference @ center)
    across = float(np.linalg.norm(center - along * shell.reference))
    turned = max(0.0, float(np.arctan2(across, along)) - _separated_angle(shell))
    length = float(np.hypot(along, across))
    gamma = min(max(length * np.cos(turned), box.lower), box.upper)
    residual = float(np.hypot(length * np.cos(turned) - gamma, length * np.sin(turned)))
    return _rounded_down(residual, length + box.upper)


def _separated_angle(shell: Shell) -> float:
    """Largest angle of a separated atom to its reference: at most a right one, as it lies on the same side."""
    sine = min(1.0, shell.separated_radius * shell.scale / float(np.sqrt(2.0)))
    return float(np.arctan2(sine, np.sqrt((1.0 - sine) * (1.0 + sine)))) * (1.0 + _ROUNDING)


def _rounded_down(distance: float, size: float) -> float:
    return max(0.0, distance - _ROUNDING * size)


def _distance_to_convex_polygon(point: Array, corners: Array) -> float:
    """Distance in the plane; zero inside.  corners: (m, 2) in either order around."""
    edges = np.roll(corners, -1, axis=0) - corners  # (m, 2)
    offset = point - corners  # (m, 2)
    side = edges[:, 0] * offset[:, 1] - edges[:, 1] * offset[:, 0]
    if np.all(side >= 0.0) or np.all(side <= 0.0):
        return 0.0
    # An edge of equal ends is a point.
    squared = np.maximum(np.sum(edges**2, axis=1), np.finfo(np.float64).tiny)
    reach = np.clip(np.sum(offset * edges, axis=1) / squared, 0.0, 1.0)
    return float(np.linalg.norm(offset - reach[:, None] * edges, axis=1).min())


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
        one, two = self.split(v)
        first_fallback, second_fallback = self.split(otherwise)
        return self.joined(self.first.retained(one, first_fallback), self.second.retained(two, second_fallback))

    def closeness(self, v: Array) -> float:
        """The objective of the minimisation, -t."""
        return -float(v[0])

    def closeness_slope(self, v: Array) -> Array:
        """Derivative of the objective, (d,)."""
        return np.append(-1.0, np.zeros(len(v) - 1))

    def inequalities(self, v: Array) -> Array:
        """Distances beyond t and the inequalities of both explanations, positive inside, (m,)."""
        one, two = self.split(v)
        kept = np.append(self.first.inequalities(one), self.second.inequalities(two))
        return np.append(self.apart(v)[0] - v[0], kept - _SAFETY)

    def slopes(self, v: Array) -> Array:
        """Derivatives of the inequalities, (m, d)."""
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
        atoms, moved = self.first.chart.active_atoms(one)
        others, pushed = self.second.chart.active_atoms(two)
        minus = atoms[self.leading] - others  # (r, q)
        plus = atoms[self.leading] + others
        near = np.sum(minus**2, axis=1)[:, None]
        far = np.sum(plus**2, axis=1)[:, None]
        of_first = 0.5 * (minus * far + plus * near)
        of_second = 0.5 * (plus * near - minus * far)
        slopes = np.hstack([of_first @ moved[self.leading], np.einsum("jq,jqd->jd", of_second, pushed)])
        scale = self.first.chart.shell.scale
        return (0.25 * near * far)[:, 0] / scale**2, slopes / scale**2


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
    runs = check_count("starts", starts) + _SPARE_RUNS
    outer = outer_bracket(correspondence)
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
    best = start
    again = _moved_apart(pair, start)
    while pair.distance(again) > 1.01 * pair.distance(best):
        best = again
        again = _moved_apart(pair, again)
    sides = zip((pair.first.chart, pair.second.chart), pair.split(again), strict=True)
    first, second = ((chart.parameter(vector), chart.support) for chart, vector in sides)
    return RetainedPair(first, second, pair.distance(again))
