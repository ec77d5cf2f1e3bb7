"""The largest value of a smooth function over a box: many starts, exact gradients."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import xor
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult, minimize

from ..._checks import check_array, check_count
from ..._errors import MisuseError
from ..._typing import Array

# A function of theta (d,): its value and its gradient (d,).
Objective = Callable[[Array], tuple[float, Array]]

_SOBOL_POINTS = 128
# Of Sobol's sequence, by dimension; its polynomials are 1, x + 1 and x^2 + x + 1, whose coefficients are all 1.
_FIRST_DIRECTIONS = ((), (1,), (1, 3))
_VALUE_TOLERANCE, _GRADIENT_TOLERANCE = 1e-12, 1e-8
# Maxima this close are one: they differ by less than the stopping rule can tell.
_EQUAL_MAXIMA = 1e-10
# A climb under a cheaper objective need only find its hill: it ends some hundredths of the cube from the top of it at
# most, and points that close climb to one maximum.
_ROUGH_TOLERANCE = 1e-8
_SAME_POINT = 3e-2


@final
@dataclass(frozen=True, slots=True, eq=False)
class Maximum:
    """Where an objective is largest over a box."""

    theta: Array  # (d,)
    cube: Array  # (d,) the same point with the box scaled to [-1, 1]
    value: float
    evaluations: int


def start_points(dimension: int, sobol_points: int = _SOBOL_POINTS) -> Array:
    """Distinct points of the cube [-1, 1]^d, (m, d): unscrambled Sobol points, centre, corners, centres of faces.

    The first Sobol point is a corner and the second is the centre: of equal points the first stands.

    >>> start_points(3).shape
    (141, 3)
    """
    d = check_count("dimension", dimension)
    n = check_count("sobol_points", sobol_points)
    sobol = 2.0 * _sobol(d, n) - 1.0
    corners = np.array(list(product((-1.0, 1.0), repeat=d)))
    faces = np.concatenate([-np.eye(d), np.eye(d)])
    points = np.concatenate([sobol, np.zeros((1, d)), corners, faces])
    _, first = np.unique(points, axis=0, return_index=True)
    return points[np.sort(first)]


def _sobol(d: int, n: int) -> Array:
    """The first n unscrambled Sobol points of [0, 1)^d, in the order of the Gray code; (n, d)."""
    bits = max(1, (n - 1).bit_length())
    if d > len(_FIRST_DIRECTIONS):
        from scipy.stats import qmc  # slow to load, and few boxes have so many sides

        return np.asarray(qmc.Sobol(d, scramble=False).random_base2(bits)[:n])
    index = np.arange(n)
    gray, points = index ^ index >> 1, np.zeros((n, d))
    for a, first in enumerate(_FIRST_DIRECTIONS[:d]):
        numbers, degree = [*first], len(first)
        while len(numbers) < bits:
            last = numbers[len(numbers) - degree :][::-1]
            numbers.append(reduce(xor, (m << j for j, m in enumerate(last, 1)), last[-1] if last else 1))
        places = np.array([m << bits - 1 - k for k, m in enumerate(numbers[:bits])])
        chosen = np.where(gray[:, None] >> np.arange(bits) & 1, places, 0)  # (n, bits)
        points[:, a] = np.bitwise_xor.reduce(chosen, axis=1) / (1 << bits)
    return points


def propose_continuous(
    objective: Objective,
    box: ArrayLike,
    starts: ArrayLike | None = None,
    *,
    n_best: int = 12,
    value: Callable[[Array], float] | None = None,
    first: Objective | None = None,
) -> Maximum:
    """The largest value of an objective over a box; it may lie between the members of any bank.

    The box is scaled to the cube [-1, 1]^d. The n_best best start points start L-BFGS-B each; of maxima that agree
    to 1e-10 the one of the smallest norm in the cube is taken.

    objective: theta (d,) to (value, gradient (d,)).  box: (d, 2) lower and upper ends.  starts: (m, d) points of the
    cube, `start_points(d)` if left out.  value: the value alone, if it is cheaper than with its gradient; it ranks the
    start points.  first: a cheaper objective much like the whole one, as of a part of the rows: start points are ranked
    and climb under it, though not to the end (value may be cheaper still), and only the distinct places where they come
    to rest climb on under the objective.
    """
    ends = check_array("box", box, (None, 2))
    if len(ends) == 0 or np.any(ends[:, 0] >= ends[:, 1]):
        raise MisuseError("box", "have lower ends below upper ends", ends.tolist())
    points = start_points(len(ends)) if starts is None else check_array("starts", starts, (None, len(ends)))
    if len(points) == 0 or np.abs(points).max() > 1.0:
        raise MisuseError("starts", "be points of the cube [-1, 1]^d, at least one", points.tolist())
    loss = _scaled_loss(objective, ends)
    rough = loss if first is None else _scaled_loss(first, ends)
    losses = [rough(point)[0] if value is None else -value(_unscaled(point, ends)) for point in points]
    if not np.isfinite(losses).all():
        raise MisuseError("value", "return finite numbers", losses)
    best = points[np.argsort(losses, kind="stable")[: check_count("n_best", n_best)]]
    climbs = runs = [_climb(rough, point, _VALUE_TOLERANCE if first is None else _ROUGH_TOLERANCE) for point in best]
    if first is not None:
        runs = [_climb(loss, point, _VALUE_TOLERANCE) for point in _distinct(climbs)]
        climbs = climbs + runs
    least = min(float(run.fun) for run in runs)
    winner = min((run.x for run in runs if run.fun <= least + _EQUAL_MAXIMA), key=lambda x: float(np.linalg.norm(x)))
    evaluations = len(points) + sum(int(run.nfev) for run in climbs) + 1
    return Maximum(_unscaled(winner, ends), winner, -loss(winner)[0], evaluations)


def _climb(loss: Objective, start: Array, tolerance: float) -> OptimizeResult:
    return minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-1.0, 1.0)] * len(start),
        options={"ftol": tolerance, "gtol": _GRADIENT_TOLERANCE},
    )


def _distinct(runs: list[OptimizeResult]) -> list[Array]:
    """Where climbs ended, the best first, without those that ended beside another."""
    ends: list[Array] = []
    for run in sorted(runs, key=lambda run: float(run.fun)):
        if all(float(np.abs(run.x - end).max()) > _SAME_POINT for end in ends):
            ends.append(run.x)
    return ends


def _unscaled(cube: Array, ends: Array) -> Array:
    return np.asarray(np.clip(ends.mean(axis=1) + 0.5 * (ends[:, 1] - ends[:, 0]) * cube, ends[:, 0], ends[:, 1]))


def _scaled_loss(objective: Objective, ends: Array) -> Objective:
    """Minus the objective, as a function of the cube."""
    half = 0.5 * (ends[:, 1] - ends[:, 0])

    def loss(cube: Array) -> tuple[float, Array]:
        theta = _unscaled(cube, ends)
        value, gradient = objective(theta)
        slope = np.asarray(gradient, dtype=np.float64)
        if slope.shape != theta.shape or not (np.isfinite(value) and np.isfinite(slope).all()):
            rule = f"return a finite value and a gradient of shape {theta.shape}"
            raise MisuseError("objective", rule, f"{value}, {slope} at {theta}")
        return -float(value), -half * slope

    return loss
