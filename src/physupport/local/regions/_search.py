"""Explanations of one kind as vectors of order one, with all their inequalities: what an optimiser sees.

For searching only: what a search finds is judged by the correspondence itself.
"""

from collections.abc import Callable
from typing import final

import numpy as np
from scipy.optimize import least_squares

from ..._typing import Array
from ..shell import Block, LocalDictionary, offset_basis, separated_atom, separated_offset
from ._correspondence import CalibrationParameter, Correspondence, Support

# A step well above the rounding of a moment distance and well below the scale on which it curves.
_STEP = 1e-6
# A wrong prediction of a value of order one. A derivative that predicts worse sends an optimiser astray for many steps.
_WRONG = 0.05
# A relative slack that is far from its bound.
_FAR = 0.5
# Restored with half the ball to spare where a search begins, and as little as the exact test needs where it ended.
ROOMY = 0.5
CLOSE = 0.05


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
        # Inequalities of a region beyond those of its class are known by their values only.
        anywhere = self.parameter(self.bounds.mean(axis=0))
        self.class_conditions = {condition.name for condition in self.calibration.membership(anywhere).conditions}

    def parts(self, vector: Array) -> tuple[float, Array, Array, Array]:
        """Noise, z (q - 1, q), w (q - 1,) and x (r,) of a vector."""
        q = self.shell.q
        values = (vector * self.units)[len(self.calibration.unknown) :]
        noise, z, w, x = np.split(values, np.cumsum([1, q * (q - 1), q - 1]))
        return float(noise[0]), z.reshape(q - 1, q), w, x

    def vector(self, parameter: CalibrationParameter, coefficients: Array) -> Array:
        """The coordinates of an explanation."""
        offset = self.across.T @ separated_offset(self.shell.reference, parameter.dictionary.separated)
        codes = self.calibration.unknown_values(parameter.law)
        z = parameter.dictionary.block.coordinates.ravel()
        return np.asarray(np.concatenate([codes, [parameter.noise], z, offset, coefficients]) / self.units)

    def parameter(self, vector: Array) -> CalibrationParameter:
        """The calibration parameter at a vector within the bounds."""
        noise, z, w, _ = self.parts(vector)
        allowed = self.calibration.unknown
        noise = min(max(noise, self.shell.noise.lower), self.shell.noise.upper)
        # The corners of the bounds may lie outside the unit ball, where no atom is.
        z = z * np.minimum(1.0, 0.999 / np.maximum(np.linalg.norm(z, axis=0), 1e-300))
        values = (vector * self.units).tolist()
        codes = [min(max(x, part.lower), part.upper) for x, part in zip(values, allowed, strict=False)]
        separated = separated_atom(self.shell.reference, self.across @ w)
        dictionary = LocalDictionary(Block.from_coordinates(self.shell.frame, z), separated)
        return CalibrationParameter(self.calibration.law(codes), dictionary, noise)

    def random(self, rng: np.random.Generator) -> Array:
        """A random member of the class with random coefficients."""
        parameter = self.calibration.sample(rng)
        coefficients = rng.uniform(self.box.lower, self.box.upper, self.n_active)
        return np.asarray(np.clip(self.vector(parameter, coefficients), *self.bounds))

    def active_atoms(self, vector: Array) -> tuple[Array, Array]:
        """Active atoms (r, q) and their derivative (r, q, d)."""
        _, z, w, _ = self.parts(vector)
        frame = self.shell.frame
        q = self.shell.q
        slopes = np.zeros((self.n_active, q, len(vector)))
        first = len(vector) - self.n_active - (q - 1)  # of w
        if not self.is_block:
            moved = self.shell.reference + self.across @ w
            length = np.linalg.norm(moved)
            atom = moved / length
            slopes[0, :, first : first + q - 1] = (self.across - np.outer(atom, atom @ self.across)) / length
            return atom[None, :], slopes * self.units
        chosen = z[:, : self.n_active]
        height = np.sqrt(np.maximum(1.0 - np.sum(chosen**2, axis=0), 1e-3))
        for j in range(self.n_active):
            columns = first - q * (q - 1) + j + q * np.arange(q - 1)
            slopes[j][:, columns] = frame.basis - np.outer(frame.axis, chosen[:, j] / height[j])
        return np.outer(height, frame.axis) + chosen.T @ frame.basis.T, slopes * self.units

    def missed(self, vector: Array) -> tuple[Array, Array]:
        """Centre of the ball minus the mean, in radii, (q,), and its derivative (q, d)."""
        atoms, slopes = self.active_atoms(vector)
        x = self.parts(vector)[3]
        ball = self.correspondence.ball
        moved = np.tensordot(x, slopes, 1)
        moved[:, -self.n_active :] += atoms.T * self.units[-self.n_active :]
        return (ball.center - x @ atoms) / ball.radius, -moved / ball.radius

    def shell_slacks(self, vector: Array) -> tuple[Array, Array]:
        """Relative slacks of the shell (3 q - 1,), with derivatives (3 q - 1, d): reach, stretches, separated atom.

        Every stretch has a slack of either kind: the least and the largest alone have kinks where two stretches meet,
        and optima lie there.
        """
        _, z, w, _ = self.parts(vector)
        shell = self.shell
        q = shell.q
        first = len(vector) - self.n_active - (q - 1)
        slopes = np.zeros((3 * q - 1, len(vector)))
        of_z = slopes[:, first - q * (q - 1) : first].reshape(3 * q - 1, q - 1, q)
        reach = (shell.cap * shell.scale) ** 2
        of_z[np.arange(q), :, np.arange(q)] = -2.0 * z.T / reach
        left, stretches, right = np.linalg.svd((q - 1) / q * z @ shell.frame.template.T)
        low = shell.stretch.lower * shell.scale
        high = shell.stretch.upper * shell.scale
        # A singular value moves by u' dL v, and dL = (q - 1)/q dz V'.
        moved = np.einsum("ai,ij->iaj", left, (q - 1) / q * right @ shell.frame.template)  # (q - 1, q - 1, q)
        of_z[q : 2 * q - 1] = moved / low
        of_z[2 * q - 1 : 3 * q - 2] = -moved / high
        slopes[-1, first : first + q - 1] = -2.0 * w / self.offset_bound**2
        spread = 1.0 - np.sum(z**2, axis=0) / reach
        side = [1.0 - w @ w / self.offset_bound**2]
        return np.concatenate([spread, stretches / low - 1.0, 1.0 - stretches / high, side]), slopes * self.units

    def is_retained(self, vector: Array) -> bool:
        """The exact test."""
        return self.correspondence.membership(self.parameter(vector), self.support).inside


@final
class SecantMap:
    r"""Values of a map and a derivative kept by Broyden's rank-one update, :math:`J \mathrel{+}= (\Delta f - J\Delta v)
    \Delta v^\top/\|\Delta v\|^2`, and renewed by differences as soon as it predicted a value of order one badly.

    It remembers the last point, because optimisers ask for value and derivative at the same one. As long as all
    inequalities are far from their bounds, no derivative is needed and none is computed.
    """

    def __init__(self, function: Callable[[Array], Array], bounds: Array, n_free: int) -> None:
        self._function = function
        self._middle = bounds.mean(axis=0)
        self._n_free = n_free
        self._at = self._value = np.empty(0)
        # Nothing is known yet, and this prediction is wrong by more than any limit.
        self._base = self._middle
        self._last = np.array([np.inf])
        self._jacobian = np.zeros((1, bounds.shape[1]))

    def value(self, vector: Array) -> Array:
        """The map at a vector (d,), (m,)."""
        if not np.array_equal(vector, self._at):
            self._at = vector.copy()
            self._value = self._function(vector)
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
        self._base = vector.copy()
        self._last = value
        return self._jacobian

    def _differences(self, vector: Array, value: Array) -> Array:
        columns = np.zeros((len(value), len(vector)))
        for i in range(self._n_free):
            step = np.zeros(len(vector))
            # Towards the middle of the bounds, so that the point stays within them.
            step[i] = _STEP if vector[i] <= self._middle[i] else -_STEP
            columns[:, i] = (self._function(vector + step) - value) / step[i]
        return columns


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
        """Derivatives of the slacks, (m, d)."""
        return np.vstack([self.chart.shell_slacks(vector)[1], self.region.jacobian(vector)])

    def inequalities(self, vector: Array) -> Array:
        """The slacks and that of the ball, positive inside, (m + 1,)."""
        missed = self.chart.missed(vector)[0]
        return np.append(self.slacks(vector), 1.0 - missed @ missed)

    def inequality_slopes(self, vector: Array) -> Array:
        """Derivatives of the inequalities, (m + 1, d)."""
        missed, moved = self.chart.missed(vector)
        return np.vstack([self.slack_slopes(vector), -2.0 * missed @ moved])

    def restored(self, vector: Array, room: float) -> Array:
        """A nearby vector with relative slacks of room / 50 and the mean within 1 - room of the radius, if found."""
        ball = self.chart.correspondence.ball
        slack = room / 50.0
        # A tiny ball must not outweigh the other inequalities: a step of order one moves the mean by about s.
        size = max(float(np.linalg.norm(ball.center)), ball.radius)
        weight = min(1.0, ball.radius / (0.1 * self.chart.shell.scale * size))

        def residuals(v: Array) -> Array:
            missed = _shortened(*self.chart.missed(v), 1.0 - room)[0]
            return np.append(np.minimum(self.slacks(v) - slack, 0.0), weight * missed)

        def slopes(v: Array) -> Array:
            is_short = self.slacks(v) < slack
            moved = _shortened(*self.chart.missed(v), 1.0 - room)[1]
            return np.vstack([self.slack_slopes(v) * is_short[:, None], weight * moved])

        lower, upper = self.chart.bounds
        inside = np.clip(vector, lower + 1e-9 * (upper - lower), upper - 1e-9 * (upper - lower))
        return np.asarray(least_squares(residuals, inside, slopes, bounds=(lower, upper), max_nfev=30).x)

    def retained(self, vector: Array, otherwise: Array) -> Array:
        """The vector if it passes the exact test, or one restored from it that does, or else the other vector."""
        if self.chart.is_retained(vector):
            return vector
        near = (self.restored(vector, room) for room in (CLOSE, ROOMY))
        return next(filter(self.chart.is_retained, near), otherwise)


def _shortened(missed: Array, moved: Array, by: float) -> tuple[Array, Array]:
    """A residual (q,) shortened by a length, to zero if it is not longer, and its derivative (q, d)."""
    length = float(np.linalg.norm(missed))
    if length <= by:
        return np.zeros_like(missed), np.zeros_like(moved)
    kept = 1.0 - by / length
    along = missed / length
    return kept * missed, kept * moved + by / length * np.outer(along, along @ moved)
