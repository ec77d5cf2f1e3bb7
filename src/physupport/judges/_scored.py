"""Scores kept for later: a key that many explanations share is scored once."""

from typing import TypeVar, final

import numpy as np
from numpy.typing import NDArray

from .._errors import MisuseError
from .._typing import Array, IntArray
from ..laws import Scores, Stream
from ._intervals import score_bounds

# Bounds kept for one stream, keys times checkpoints: two float64 each, 256 MiB.
MOST_ENTRIES = 2**24
# A question about few keys is answered for this many: reading the rows costs about the same, and neighbours come next.
AHEAD = 64
Number = TypeVar("Number", np.float64, np.int64)


@final
class ScoredKeys:
    """Bounds of a stream's log likelihoods, key by key, remembered up to a number of entries.

    A batch that does not fit beside what is kept empties the memory first; one that does not fit at all is not kept.
    So memory is bounded and only time depends on the order of the questions. Not for several threads at once.
    """

    def __init__(self, name: str, stream: Stream, most_entries: int = MOST_ENTRIES) -> None:
        self._name, self._stream = name, stream
        self._most_keys = most_entries // len(stream.checkpoints)
        self._n_kept = 0
        # One more than the row that keeps a key, 0 for none. Pages of zeros that are never touched take no memory.
        self._row = np.zeros(stream.n_keys, dtype=np.int32)
        self._keys = np.empty(0, dtype=np.int64)
        self._lower = np.empty((0, len(stream.checkpoints)))
        self._upper = np.empty((0, len(stream.checkpoints)))

    def bounds(self, keys: IntArray) -> tuple[Array, Array]:
        """Lower and upper bounds at every checkpoint, (k, c) each, of distinct keys."""
        new = keys[self._row[keys] == 0]
        if len(keys) > self._most_keys:
            return score_bounds(self._name, self._scores(keys))
        if self._n_kept + len(new) > self._most_keys:
            self._row[self._keys[: self._n_kept]] = 0
            self._n_kept, new = 0, keys
        if len(new):
            self._keep(new, self._neighbours(new))
        rows = self._row[keys] - 1
        return self._lower[rows], self._upper[rows]

    def _neighbours(self, new: IntArray) -> IntArray:
        """The next unscored keys behind the new ones, as many as are scored at once and fit."""
        room = min(AHEAD, self._most_keys - self._n_kept) - len(new)
        near = np.arange(new[-1] + 1, min(new[-1] + 1 + AHEAD, self._stream.n_keys))
        return np.setdiff1d(near[self._row[near] == 0], new)[: max(0, room)]

    def _keep(self, new: IntArray, neighbours: IntArray) -> None:
        """Score and keep keys; neighbours that have no score are left for when they are asked about."""
        scores = self._scores(np.concatenate([new, neighbours]))
        is_asked = np.arange(len(new) + len(neighbours)) < len(new)
        scored = is_asked | ~(np.isnan(scores.values) | np.isnan(scores.errors)).any(axis=1)
        keys = np.concatenate([new, neighbours])[scored]
        lower, upper = score_bounds(self._name, Scores(scores.values[scored], scores.errors[scored]))
        start, stop = self._n_kept, self._n_kept + len(keys)
        if stop > len(self._keys):
            room = min(self._most_keys, max(stop, 2 * len(self._keys)))
            self._keys = _grown(self._keys, room)
            self._lower, self._upper = _grown(self._lower, room), _grown(self._upper, room)
        self._keys[start:stop], self._lower[start:stop], self._upper[start:stop] = keys, lower, upper
        self._row[keys] = np.arange(start + 1, stop + 1)
        self._n_kept = stop

    def _scores(self, keys: IntArray) -> Scores:
        scores = self._stream.log_likelihood(keys)
        expected = (len(keys), len(self._stream.checkpoints))
        if scores.values.shape != expected:
            rule = f"have shape {expected}, keys and checkpoints"
            raise MisuseError(f"scores of {self._name}", rule, f"shape {scores.values.shape}")
        return scores


def _grown(kept: NDArray[Number], room: int) -> NDArray[Number]:
    """The same rows at the front of a longer array."""
    longer = np.empty((room, *kept.shape[1:]), dtype=kept.dtype)
    longer[: len(kept)] = kept
    return longer
