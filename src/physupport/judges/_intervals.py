"""Sums rounded downwards and upwards, and the float64 numbers around a ball."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from flint import arb, ctx

from .._checks import check_open
from .._errors import MisuseError
from .._typing import Array
from ..laws import Scores

FLOAT_BITS = 53
_LARGEST = float(np.finfo(np.float64).max)


class Bounds(NamedTuple):
    """Arrays of numbers at or below, and at or above, exact ones."""

    lower: Array
    upper: Array

    def peak(self) -> "Bounds":
        """Of the largest along the last axis."""
        return Bounds(self.lower.max(axis=-1), self.upper.max(axis=-1))


def sum_down(a: Array, b: Array) -> Array:
    """The largest float64 at or below a + b, or the one below it; -inf where a term is -inf."""
    total, missing = _two_sum(a, b)
    lower = np.where(missing < 0.0, np.nextafter(total, -np.inf), total)
    return np.asarray(np.minimum(np.where(np.isnan(lower), -np.inf, lower), _LARGEST))


def sum_up(a: Array, b: Array) -> Array:
    """The smallest float64 at or above a + b, or the one above it; inf where a term is inf."""
    return -sum_down(-np.asarray(a), -np.asarray(b))


def score_bounds(name: str, scores: Scores) -> Bounds:
    """Lower and upper bounds of scores, (k, c) each; a score that overflowed says nothing and is bounded by nothing."""
    values, errors = scores.values, scores.errors
    if np.isnan(values).any() or np.isnan(errors).any():
        raise MisuseError(f"scores of {name}", "not be NaN", "NaN")
    if errors.size and errors.min() < 0.0:
        raise MisuseError(f"errors of {name}", "be nonnegative", f"{errors.min():g}")
    is_finite = np.isfinite(values) & np.isfinite(errors)
    values, errors = np.where(is_finite, values, 0.0), np.where(is_finite, errors, np.inf)
    return Bounds(sum_down(values, -errors), sum_up(values, errors))


def ball_bounds(ball: arb) -> tuple[float, float]:
    """Float64 numbers at or below and at or above every point of a ball."""
    if not ball.is_finite():
        return -np.inf, np.inf
    # A float64 is exact as a ball, so the comparisons are decided; the conversion itself rounds either way.
    below, above = float(ball.lower()), float(ball.upper())
    lower = below if arb(below) <= ball else np.nextafter(below, -np.inf)
    upper = above if arb(above) >= ball else np.nextafter(above, np.inf)
    return float(lower), float(upper)


def threshold_ball(level: float, bits: int) -> arb:
    r""":math:`\tau_\alpha = -\log\alpha` (eq:supp-log-e-margin) of the float64 level, to this many bits."""
    with ctx.workprec(bits):
        return -arb(level).log()


def threshold_bounds(levels: Array) -> Bounds:
    """Float64 bounds of -log of every level, (l,) each: equal or neighbours."""
    lower, upper = np.array([_threshold_ends(level) for level in levels.tolist()]).reshape(-1, 2).T
    return Bounds(lower, upper)


@lru_cache
def _threshold_ends(level: float) -> tuple[float, float]:
    return ball_bounds(threshold_ball(level, 128))


def check_levels(levels: object) -> Array:
    """Levels (l,) strictly between 0 and 1; a single number is one level."""
    try:
        array = np.atleast_1d(np.asarray(levels, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise MisuseError("levels", "be numbers", type(levels).__name__) from error
    if array.ndim != 1 or array.size == 0:
        raise MisuseError("levels", "be one or more numbers in a row", f"shape {array.shape}")
    for level in array.tolist():
        check_open("levels", level, 0.0, 1.0)
    return array


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and what it misses, exactly; NaN misses where a term or the sum is infinite."""
    a, b = np.asarray(a), np.asarray(b)
    with np.errstate(invalid="ignore", over="ignore"):
        total = a + b
        second = total - a
        missing = (a - (total - second)) + (b - second)
    return total, missing
