"""Sums rounded downwards and upwards, and the float64 numbers around a ball."""

from functools import lru_cache
from typing import NamedTuple, final

import numpy as np
from flint import arb, ctx

from .._errors import MisuseError
from .._typing import Array, BoolArray, IntArray
from ..laws import Scores, Stream

FLOAT_BITS = 53
_LARGEST = float(np.finfo(np.float64).max)
_MEAN_ERROR = 1e-12


class Bounds(NamedTuple):
    """Arrays of numbers at or below, and at or above, exact ones."""

    lower: Array
    upper: Array

    def peak(self) -> "Bounds":
        """Bounds of the largest number along the last axis."""
        return Bounds(self.lower.max(axis=-1), self.upper.max(axis=-1))


def log_mean(logs: Bounds) -> Bounds:
    """Bounds of the log of the mean of exponentials along the first axis: few numbers, whose rounding is far less."""
    means = [np.logaddexp.reduce(side, axis=0) - np.log(len(side)) for side in logs]
    slack = [_MEAN_ERROR * (1.0 + np.abs(np.where(np.isfinite(mean), mean, 0.0))) for mean in means]
    return Bounds(means[0] - slack[0], means[1] + slack[1])


def sum_down(a: Array, b: Array) -> Array:
    """The largest float64 at or below a + b, or the one below it; -inf where a term is -inf."""
    total, missing = _two_sum(a, b)
    with np.errstate(over="ignore"):  # below the least number there is only -inf
        lower = np.where(missing < 0.0, np.nextafter(total, -np.inf), total)
    return np.asarray(np.minimum(np.where(np.isnan(lower), -np.inf, lower), _LARGEST))


def sum_up(a: Array, b: Array) -> Array:
    """The smallest float64 at or above a + b, or the one above it; inf where a term is inf."""
    return -sum_down(-np.asarray(a), -np.asarray(b))


def score_bounds(name: str, scores: Scores) -> Bounds:
    """Lower and upper bounds of scores, (k, c) each; a score that overflowed says nothing and is bounded by nothing."""
    values = scores.values
    errors = scores.errors
    if np.isnan(values).any() or np.isnan(errors).any():
        raise MisuseError(f"scores of {name}", "not be NaN", "NaN")
    if errors.size and errors.min() < 0.0:
        raise MisuseError(f"errors of {name}", "be nonnegative", f"{errors.min():g}")
    is_finite = np.isfinite(values) & np.isfinite(errors)
    values = np.where(is_finite, values, 0.0)
    errors = np.where(is_finite, errors, np.inf)
    return Bounds(sum_down(values, -errors), sum_up(values, errors))


def ball_bounds(ball: arb) -> tuple[float, float]:
    """Float64 numbers at or below and at or above every point of a ball."""
    if not ball.is_finite():
        return -np.inf, np.inf
    # A float64 is exact as a ball, so the comparisons are decided; the conversion itself rounds either way.
    below = float(ball.lower())
    above = float(ball.upper())
    lower = below if arb(below) <= ball else np.nextafter(below, -np.inf)
    upper = above if arb(above) >= ball else np.nextafter(above, np.inf)
    return float(lower), float(upper)


def threshold_ball(level: float, bits: int) -> arb:
    r""":math:`\tau_\alpha = -\log\alpha` (eq:supp-log-e-margin) of the float64 level, to this many bits."""
    with ctx.workprec(bits):
        return -arb(level).log()


@lru_cache
def threshold_bounds(level: float) -> tuple[float, float]:
    """Float64 bounds of -log of a level: equal or neighbours."""
    return ball_bounds(threshold_ball(level, 128))


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and what it misses, exactly; NaN misses where a term or the sum is infinite."""
    a = np.asarray(a)
    b = np.asarray(b)
    with np.errstate(invalid="ignore", over="ignore"):
        total = a + b
        second = total - a
        missing = (a - (total - second)) + (b - second)
    return total, missing


# Bounds kept for one stream, keys times checkpoints: two float64 each, 256 MiB.
MOST_ENTRIES = 2**24
# A question about few keys is answered for this many: reading the rows costs about the same, and neighbours come next.
AHEAD = 64


@final
class ScoredKeys:
    """Bounds of a stream's log likelihoods, key by key, remembered up to a number of entries.

    A batch that does not fit beside what is kept empties the memory first; one that does not fit at all is not kept.
    So memory is bounded and only time depends on the order of the questions. Not for several threads at once.
    """

    def __init__(self, name: str, stream: Stream, most_entries: int = MOST_ENTRIES) -> None:
        self._name = name
        self._stream = stream
        self._most_keys = most_entries // len(stream.checkpoints)
        self._n_kept = 0
        # One more than the row that keeps a key, 0 for none. Pages that are never touched take no memory.
        self._row = np.zeros(stream.n_keys, dtype=np.int32)
        room = min(self._most_keys, stream.n_keys)
        self._keys = np.empty(room, dtype=np.int64)
        self._lower = np.empty((room, len(stream.checkpoints)))
        self._upper = np.empty((room, len(stream.checkpoints)))

    def has(self, keys: IntArray) -> BoolArray:
        """(k,) whether keys are scored and kept."""
        return np.asarray(self._row[keys] > 0)

    def bounds(self, keys: IntArray, near: IntArray | None = None) -> Bounds:
        """Lower and upper bounds at every checkpoint, (k, c) each, of distinct keys.

        near: distinct keys to be scored along with any of them that has to be; if left out, the next few.
        """
        new = keys[self._row[keys] == 0]
        if len(keys) > self._most_keys:
            return score_bounds(self._name, self._scores(keys))
        if self._n_kept + len(new) > self._most_keys:
            self._row[self._keys[: self._n_kept]] = 0
            self._n_kept = 0
            new = keys
        if len(new):
            self._keep(new, self._neighbours(new, near))
        rows = self._row[keys] - 1
        return Bounds(self._lower[rows], self._upper[rows])

    def _neighbours(self, new: IntArray, near: IntArray | None) -> IntArray:
        """Unscored keys besides the new ones, as many as fit."""
        room = self._most_keys - self._n_kept - len(new)
        if near is None:
            near = np.arange(new[-1] + 1, min(new[-1] + 1 + AHEAD, self._stream.n_keys))
            room = min(room, AHEAD - len(new))
        return np.setdiff1d(near[self._row[near] == 0], new)[: max(0, room)]

    def _keep(self, new: IntArray, neighbours: IntArray) -> None:
        """Score and keep keys; neighbours that have no sound score are left for when they are asked about."""
        keys, scores = self._scored_with(new, neighbours)
        is_asked = np.arange(len(keys)) < len(new)
        scored = is_asked | (~np.isnan(scores.values) & (scores.errors >= 0.0)).all(axis=1)
        keys = keys[scored]
        bounds = score_bounds(self._name, Scores(scores.values[scored], scores.errors[scored]))
        start = self._n_kept
        stop = self._n_kept + len(keys)
        self._keys[start:stop] = keys
        self._lower[start:stop] = bounds.lower
        self._upper[start:stop] = bounds.upper
        self._row[keys] = np.arange(start + 1, stop + 1)
        self._n_kept = stop

    def _scored_with(self, new: IntArray, neighbours: IntArray) -> tuple[IntArray, Scores]:
        """Keys and their scores, without the neighbours if these are the reason why there are none."""
        keys = np.concatenate([new, neighbours])
        try:
            return keys, self._scores(keys)
        except Exception:
            # Whatever it was: nobody asked about the neighbours, so it must not show.
            if not len(neighbours):
                raise
            return new, self._scores(new)

    def _scores(self, keys: IntArray) -> Scores:
        scores = self._stream.log_likelihood(keys)
        expected = (len(keys), len(self._stream.checkpoints))
        if scores.values.shape != expected:
            rule = f"have shape {expected}, keys and checkpoints"
            raise MisuseError(f"scores of {self._name}", rule, f"shape {scores.values.shape}")
        return scores
