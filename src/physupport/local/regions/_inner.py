"""The physical diameter of the shell: from above by a proven bound, from below by a search for the farthest pair.

Explanations of one kind are vectors of order one, with all their inequalities: what an optimiser sees.  The
correspondence itself judges the pair that a search finds.
"""

from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, islice, product
from typing import final

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import Bounds, NonlinearConstraint, least_squares, minimize

from ..._checks import check_count
from ..._typing import Array
from ...banks import projective_distances
from ..shell import Block, LocalDictionary, Shell, offset_basis, separated_atom, separated_offset
from ._correspondence import CalibrationParameter, Correspondence, Support
from ._reading import PhysicalTarget, physical_target

# Relative to the largest length in a computation: a dozen roundings, with room to spare.
_ROUNDING = 64.0 * float(np.finfo(np.float64).eps)


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


# A step well above the rounding of a moment distance and well below the scale on which it curves.
_STEP = 1e-6
# Restored with half the ball to spare where a search begins, and as little as the exact test needs where it ended.
_ROOMY = 0.5
_CLOSE = 0.05
# The optimiser meets inequalities to its tolerance only; with this much relative slack the exact test agrees with it.
_SAFETY = 1e-5
# Of squared distances over s^2, which are of order one: a run comes within some thousandths of its optimum.
_TOLERANCE = 1e-4
_STEPS = 25
# About one run in thirty ends in a lesser optimum, and which one does hangs on the last bits; three together do not.
_SPARE_RUNS = 2


@final
class Chart:
    r"""Coordinates (p), nu, z, w, x of an explanation in units that make them of order one; p only where it is unknown.

    The coefficients x are coordinates and not profiled, because the profiled residual is not smooth where it vanishes.
    Block supports are taken up to relabelling: dictionaries range over the whole shell, so the first r atoms stand for
    any r atoms.
    """

    def __init__(self, correspondence: Correspondence, is_block: bool) -> None:
        self.correspondence = correspondence
        self.is_block = is_block
        self.calibration = correspondence.region.calibration_class
        self.shell = self.calibration.shell
        self.n_active = correspondence.support_size if is_block else 1
        self.support: Support = tuple(range(self.n_active)) if is_block else None
        self.box = correspondence.amplitudes.block if is_block else correspondence.amplitudes.separated
        self.across = offset_basis(self.shell.reference)  # (q, q - 1)
        # The largest ||w||: the tangent of the largest angle to the reference, of sine C_a s / sqrt(2).
        sine = min(0.999, self.shell.separated_radius * self.shell.scale / np.sqrt(2.0))
        self.offset_bound = float(sine / np.sqrt(1.0 - sine**2))
        q = self.shell.q
        reach = self.shell.cap * self.shell.scale
        ranges = [
            *((part.upper, part.lower, part.upper) for part in (*self.calibration.unknown, self.shell.noise)),
            *[(self.shell.scale, -reach, reach)] * (q * (q - 1)),
            *[(self.offset_bound, -self.offset_bound, self.offset_bound)] * (q - 1),
            *[(self.box.upper, self.box.lower, self.box.upper)] * self.n_active,
        ]
        self.units, lower, upper = np.array(ranges).T  # each (d,)
        # A range may be a single value, which optimisers refuse; `parameter` returns to it.
        self.bounds = np.array([lower / self.units - 1e-9, upper / self.units + 1e-9])  # (2, d)

    def parts(self, vector: Array) -> tuple[float, Array, Array, Array]:
        """Noise, z (q - 1, q), w (q - 1,) and x (r,) of a vector."""
        q = self.shell.q
        values = (vector * self.units)[len(self.calibration.unknown) :]
        noise, z, w, x = np.split(values, np.cumsum([1, q * (q - 1), q - 1]))
        # The corners of the bounds may lie outside the unit ball, where no atom is.
        z = z.reshape(q - 1, q)
        return float(noise[0]), z * np.minimum(1.0, 0.999 / np.maximum(np.linalg.norm(z, axis=0), 1e-300)), w, x

    def vector(self, parameter: CalibrationParameter, coefficients: Array) -> Array:
        """The coordinates of an explanation."""
        offset = self.across.T @ separated_offset(self.shell.reference, parameter.dictionary.separated)
        codes = self.calibration.unknown_values(parameter.law)
        z = parameter.dictionary.block.coordinates.ravel()
        return np.asarray(np.concatenate([codes, [parameter.noise], z, offset, coefficients]) / self.units)

    def parameter(self, vector: Array) -> CalibrationParameter:
        """The calibration parameter at a vector within the bounds."""
        noise, z, w, _ = self.parts(vector)
        ranges = (*self.calibration.unknown, self.shell.noise)
        values = [*(vector * self.units)[: len(ranges) - 1].tolist(), noise]
        *codes, noise = (min(max(x, part.lower), part.upper) for x, part in zip(values, ranges, strict=True))
        separated = separated_atom(self.shell.reference, self.across @ w)
        dictionary = LocalDictionary(Block.from_coordinates(self.shell.frame, z), separated)
        return CalibrationParameter(self.calibration.law(codes), dictionary, noise)

    def random(self, rng: np.random.Generator) -> Array:
        """A random member of the class with random coefficients."""
        parameter = self.calibration.sample(rng)
        coefficients = rng.uniform(self.box.lower, self.box.upper, self.n_active)
        return np.asarray(np.clip(self.vector(parameter, coefficients), *self.bounds))

    def atoms(self, vector: Array) -> Array:
        """The active atoms as columns, (q, r)."""
        _, z, w, _ = self.parts(vector)
        if self.is_block:
            return self.shell.frame.atoms(z[:, : self.n_active])
        return separated_atom(self.shell.reference, self.across @ w)[:, None]

    def missed(self, vector: Array) -> Array:
        """Centre of the ball minus the mean, in radii, (q,)."""
        ball = self.correspondence.ball
        return np.asarray((ball.center - self.atoms(vector) @ self.parts(vector)[3]) / ball.radius)

    def slacks(self, vector: Array) -> Array:
        """Relative slacks of the shell and of the region, positive inside: reach, stretches, separated atom, moments.

        Every stretch has a slack of either kind: the least and the largest alone have kinks where two stretches meet,
        and optima lie there.
        """
        _, z, w, _ = self.parts(vector)
        shell = self.shell
        reach = (shell.cap * shell.scale) ** 2
        stretches = np.linalg.svd((shell.q - 1) / shell.q * z @ shell.frame.template.T, compute_uv=False)
        low = shell.stretch.lower * shell.scale
        high = shell.stretch.upper * shell.scale
        own = self.correspondence.region.conditions(self.parameter(vector))
        moments = [c.slack / max(abs(c.bound), abs(c.value), 1e-300) for c in own]
        spread = 1.0 - np.sum(z**2, axis=0) / reach
        side = 1.0 - w @ w / self.offset_bound**2
        return np.concatenate([spread, stretches / low - 1.0, 1.0 - stretches / high, [side], moments])

    def inequalities(self, vector: Array) -> Array:
        """The slacks and that of the ball, (m,)."""
        missed = self.missed(vector)
        return np.append(self.slacks(vector), 1.0 - missed @ missed)

    def slopes(self, vector: Array) -> Array:
        """Derivatives of the inequalities, (m, d), by differences towards the middle of the bounds."""
        value = self.inequalities(vector)
        steps = np.where(vector <= self.bounds.mean(axis=0), _STEP, -_STEP)
        return np.column_stack([(self.inequalities(vector + row) - value) / row.sum() for row in np.diag(steps)])

    def target(self, vector: Array) -> PhysicalTarget:
        """The physical target of a vector."""
        return physical_target(self.parameter(vector).dictionary, self.support)

    def is_retained(self, vector: Array) -> bool:
        """The exact test."""
        return self.correspondence.membership(self.parameter(vector), self.support).inside

    def restored(self, vector: Array, room: float) -> Array:
        """A nearby vector with relative slacks of room / 50 and the mean within 1 - room of the radius, if found."""
        ball = self.correspondence.ball
        # A tiny ball must not outweigh the other inequalities: a step of order one moves the mean by about s.
        size = max(float(np.linalg.norm(ball.center)), ball.radius)
        weight = min(1.0, ball.radius / (0.1 * self.shell.scale * size))

        def residuals(v: Array) -> Array:
            missed = self.missed(v)
            too_far = max(0.0, 1.0 - (1.0 - room) / max(float(np.linalg.norm(missed)), 1e-300))
            return np.append(np.minimum(self.slacks(v) - room / 50.0, 0.0), weight * too_far * missed)

        lower, upper = self.bounds
        inside = np.clip(vector, lower + 1e-9 * (upper - lower), upper - 1e-9 * (upper - lower))
        return np.asarray(least_squares(residuals, inside, bounds=(lower, upper), max_nfev=30).x)

    def retained(self, vector: Array, otherwise: Array) -> Array:
        """The vector if it passes the exact test, or one restored from it that does, or else the other vector."""
        if self.is_retained(vector):
            return vector
        near = (self.restored(vector, room) for room in (_CLOSE, _ROOMY))
        return next(filter(self.is_retained, near), otherwise)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two explanations as one vector (t, first, second): t is to grow below all distances from one to the other.

    The distances are those of one atom of the first, the leading one, to every atom of the second.
    """

    first: Chart
    second: Chart
    leading: int = 0

    @property
    def bounds(self) -> Array:
        """Least and largest value of every coordinate, (2, d)."""
        return np.column_stack([[0.0, np.inf], self.first.bounds, self.second.bounds])

    def split(self, v: Array) -> tuple[Array, Array]:
        """The two explanations of a vector."""
        middle = 1 + self.first.bounds.shape[1]
        return v[1:middle], v[middle:]

    def joined(self, one: Array, two: Array) -> Array:
        """The vector of two explanations, with the largest t."""
        return np.concatenate([[self.apart(one, two).min()], one, two])

    def distance(self, v: Array) -> float:
        """The distance of the two targets."""
        one, two = self.split(v)
        return self.first.target(one).distance(self.second.target(two))

    def apart(self, one: Array, two: Array) -> Array:
        """Squared projective distances of the leading atom to all atoms of the other, over s^2, (r,)."""
        leading = self.first.atoms(one)[:, [self.leading]]
        return np.asarray(projective_distances(leading, self.second.atoms(two))[0] ** 2 / self.first.shell.scale**2)

    def inequalities(self, v: Array) -> Array:
        """Distances beyond t and the inequalities of both explanations, positive inside, (m,)."""
        one, two = self.split(v)
        kept = np.append(self.first.inequalities(one), self.second.inequalities(two))
        return np.append(self.apart(one, two) - v[0], kept - _SAFETY)

    def slopes(self, v: Array) -> Array:
        """Derivatives of the inequalities, (m, d)."""
        one, two = self.split(v)
        kept = block_diag(self.first.slopes(one), self.second.slopes(two))
        here = self.apart(one, two)
        steps = _STEP * np.eye(len(v))[1:, 1:]
        moved = [self.apart(*self.split(np.append(0.0, v[1:] + step))) - here for step in steps]
        along = np.append(-np.ones(len(here)), np.zeros(len(kept)))
        return np.column_stack([along, np.vstack([np.column_stack(moved) / _STEP, kept])])

    def moved_apart(self, start: Array) -> Array:
        """A retained pair that is farther apart than the one given, or that one.

        Where the optimiser ends, an inequality may be missed by little. Each explanation is then restored by itself:
        the chord back to the start leaves a tight ball at once.
        """
        slope: Array = np.append(-1.0, np.zeros(len(start) - 1))

        def closeness(v: Array) -> float:
            return -float(v[0])

        def constant(_: Array) -> Array:
            return slope

        end = minimize(
            closeness,
            start,
            jac=constant,
            method="SLSQP",
            bounds=Bounds(*self.bounds),
            constraints=NonlinearConstraint(self.inequalities, 0.0, np.inf, jac=self.slopes),
            tol=_TOLERANCE,
            options={"maxiter": _STEPS},
        ).x
        one, two = self.split(np.clip(end, *self.bounds))
        other_one, other_two = self.split(start)
        retained = self.joined(self.first.retained(one, other_one), self.second.retained(two, other_two))
        return max(retained, start, key=self.distance)


Kept = tuple[CalibrationParameter, Support]
"""An explanation that passed the membership test."""


def inner_bracket(
    correspondence: Correspondence, rng: np.random.Generator, starts: int = 4
) -> tuple[Kept, Kept, float] | None:
    """The farthest pair found by constrained optimisation from many starts, or None when no retained point was found.

    Both explanations of a returned pair pass ``correspondence.membership``, so its distance never exceeds the true
    diameter; it is a local optimum and may fall short of it. None proves nothing.
    starts: pairs for each kind of pair, besides two that are always tried.

    Returns the two explanations, each a parameter and a support, and the distance of their targets.
    """
    runs = check_count("starts", starts) + _SPARE_RUNS
    outer = outer_bracket(correspondence)
    possible = {True: outer.block_possible, False: outer.separated_possible}
    charts = [Chart(correspondence, kind) for kind in (True, False) if possible[kind]]
    pools = [(chart, pool) for chart in charts if (pool := _retained_points(chart, rng, runs + 1))]
    ends = [
        (pair, pair.moved_apart(start))
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
        restored = (chart.restored(vector, _ROOMY) for vector in vectors)
        points += islice(filter(chart.is_retained, restored), 1)
        if len(points) == size:
            break
    return points


def _far_pairs(chart: Chart, points: list[Array], other: Chart, others: list[Array]) -> list[tuple[Pair, Array]]:
    """Starts from all pairs of points, the farthest first, each led by the atom that is farthest from the others."""
    is_same = chart is other
    couples = list(combinations(points, 2) if is_same else product(points, others)) or [(points[0], others[0])]
    pairs = [Pair(chart, other, leading) for leading in range(chart.n_active)]

    def started(one: Array, two: Array) -> tuple[Pair, Array]:
        ways = [(one, two), (two, one)] if is_same else [(one, two)]
        return max(((pair, pair.joined(*way)) for pair, way in product(pairs, ways)), key=lambda start: start[1][0])

    return sorted((started(*couple) for couple in couples), key=lambda start: -start[1][0])


def _polished(pair: Pair, start: Array) -> tuple[Kept, Kept, float]:
    """Run on from where a run ended, with a fresh model of the curvature, until a run gains less than a hundredth."""
    best = start
    again = pair.moved_apart(start)
    while pair.distance(again) > 1.01 * pair.distance(best):
        best = again
        again = pair.moved_apart(again)
    one, two = pair.split(again)
    first = (pair.first.parameter(one), pair.first.support)
    second = (pair.second.parameter(two), pair.second.support)
    return first, second, pair.distance(again)
