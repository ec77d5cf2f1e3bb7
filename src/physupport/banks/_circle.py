"""Directions that close a circle: their distances go the shorter way around."""

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Array

Angle = TypeVar("Angle", float, Array)

TURN = 360.0
_DEGREES = "degrees"
# Fewer values in equal steps may close a circle by chance.
_LEAST = 5
_ROUNDING = 1e-6


def closes_circle(points: ArrayLike | None, unit: str) -> bool:
    """True for places (m, 1) in degrees, in equal steps, that leave no more than a step between the last and the first.

    >>> closes_circle([[0.0], [72.0], [144.0], [216.0], [288.0]], "degrees")
    True
    """
    if points is None or unit != _DEGREES:
        return False
    places = np.asarray(points, dtype=np.float64)
    if places.ndim != 2 or places.shape[1] != 1 or len(places) < _LEAST:
        return False
    angles = np.sort(places[:, 0])
    steps = np.diff(angles)
    step = float(steps[0])
    left = TURN - float(angles[-1] - angles[0])
    slack = _ROUNDING * step
    return bool(np.abs(steps - step).max() <= slack and 0.0 < left <= step + slack)


def circle_distances(some: Array, others: Array) -> Array:
    """(k, m) from angles (k, 1) to angles (m, 1), the shorter way around."""
    apart = np.abs(some - others[:, 0])
    return np.asarray(np.minimum(apart, TURN - apart))


def along_arc(angles: ArrayLike) -> Array:
    """Angles continued along the shortest arc that holds all of them, at most a turn above those given.

    >>> along_arc([0.0, 5.0, 355.0]).tolist()
    [360.0, 365.0, 355.0]
    """
    values = np.asarray(angles, dtype=np.float64)
    inside = np.sort(values)
    gaps = np.diff(inside, prepend=inside[-1] - TURN)
    return np.where(values < inside[gaps.argmax()], values + TURN, values)


def wrapped(angle: Angle, low: float) -> Angle:
    """The same direction, at least `low` and less than a turn above it.

    >>> wrapped(362.5, 0.0)
    2.5
    """
    return low + (angle - low) % TURN
