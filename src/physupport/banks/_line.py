"""Whether dictionary states follow each other along one smooth coordinate."""

import numpy as np

from .._typing import Array
from ._states import StateFamily

# Cosine, at least, between a step to the next state and the way from the first state to the last.
_STRAIGHT = 0.9
_LEAST_STATES = 3
# Numbers in one block of dictionaries: 8 MiB.
_ENTRIES = 2**20


def are_a_line(states: StateFamily) -> bool:
    r"""Whether the states stand in the order of one smooth coordinate, on a curve that bends little.

    With all atoms of state k as one vector :math:`x_k`, every step :math:`x_{k+1} - x_k` makes an angle with
    :math:`x_K - x_1` of cosine at least .9.  So does then every sum of steps, :math:`x_l - x_k` for l > k: wherever
    one stands, the neighbours on either side show the way to all that lies beyond them.
    """
    if states.n_states < _LEAST_STATES or any(len(block) > 1 for block in states.blocks):
        return False
    first, last = _vectors(states, 0, 1), _vectors(states, states.n_states - 1, states.n_states)
    whole = (last - first)[0]
    size = np.linalg.norm(whole)
    count = max(2, _ENTRIES // len(whole))
    for start in range(0, states.n_states - 1, count - 1):
        steps = np.diff(_vectors(states, start, min(start + count, states.n_states)), axis=0)
        if not (steps @ whole > 0.0).all() or (steps @ whole < _STRAIGHT * size * np.linalg.norm(steps, axis=1)).any():
            return False
    return True


def _vectors(states: StateFamily, start: int, stop: int) -> Array:
    """(k, n q) the atoms of some states, one after the other."""
    index = states.element_index(np.arange(start, stop))
    return np.asarray(states.elements.T[index]).reshape(len(index), -1)
