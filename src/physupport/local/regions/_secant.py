"""An expensive smooth map with a cheap derivative: secant updates as long as they predict, differences when not."""

from collections.abc import Callable
from typing import final

import numpy as np

from ..._typing import Array

# A step well above the rounding of a moment distance and well below the scale on which it curves.
_STEP = 1e-6
# Of a value of order one. A derivative that predicts worse sends an optimiser astray for many steps.
_WRONG = 0.05


@final
class SecantMap:
    r"""Values of a map and a derivative kept by Broyden's rank-one update, :math:`J \mathrel{+}= (\Delta f - J\Delta v)
    \Delta v^\top/\|\Delta v\|^2`, and renewed by differences as soon as it predicted a value of order one badly.

    It remembers the last point, because optimisers ask for value and derivative at the same one. Values above `far`
    mark inequalities far from their bound: as long as all are, no derivative is needed and none is computed.
    """

    def __init__(self, function: Callable[[Array], Array], bounds: Array, n_free: int, far: float = 0.5) -> None:
        self._function, self._middle, self._n_free, self._far = function, bounds.mean(axis=0), n_free, far
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
        if not value.size or value.min() > self._far:
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
