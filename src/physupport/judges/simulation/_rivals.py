"""The rivals of an explanation: a list that bank and rule fix before any row is read."""

from collections.abc import Callable

import numpy as np

from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...banks import Bank, Nuisances

# Numbers in one block of distances between dictionaries, or between supports: 64 MiB.
_ENTRIES = 2**23


# Explanations (k,) of a bank, and how many of a kind, to rivals (k, R); itself where there are fewer.
Rivals = Callable[[Bank, IntArray, int], IntArray]


def neighbours(bank: Bank, explanations: IntArray, count: int) -> IntArray:  # noqa: ARG001
    """Below and above along the states, which are in the order of one coordinate, and along every nuisance.

    At an end the explanation itself stands in the place of the missing one.
    """
    if bank.n_supports > 1:
        rule = "be 'ratio' for a bank of several supports, between which there is no smooth coordinate"
        raise MisuseError("statistic", rule, f"'score' for {bank.n_supports} supports")
    state, support, calibration, deployment = bank.split(explanations)
    last = bank.states.n_states - 1
    found = [bank.index(np.clip(state + step, 0, last), support, calibration, deployment) for step in (-1, 1)]
    return np.column_stack([*found, *_beside(bank, explanations)])


def nearest(bank: Bank, explanations: IntArray, count: int) -> IntArray:
    r"""So many nearest states, as many supports that differ least, and the neighbours along every nuisance.

    States are as far apart as their atoms, :math:`\sum_j|a_j - b_j|^2`; of equal ones the lower index is nearer.
    """
    state, support, calibration, deployment = bank.split(explanations)
    others, where = np.unique(state, return_inverse=True)
    near = _near_states(bank, others, count)[:, where]
    found = [bank.index(column, support, calibration, deployment) for column in near]
    others, where = np.unique(support, return_inverse=True)
    supports = _near_supports(bank, others, count)[:, where]
    found += [bank.index(state, column, calibration, deployment) for column in supports]
    return np.column_stack([explanations, *found, *_beside(bank, explanations)])


def _beside(bank: Bank, explanations: IntArray) -> list[IntArray]:
    """Below and above in each nuisance, (k,) each."""
    state, support, calibration, deployment = bank.split(explanations)
    return [
        *(bank.index(state, support, table[calibration], deployment) for table in _steps(bank.calibration)),
        *(bank.index(state, support, calibration, table[deployment]) for table in _steps(bank.deployment)),
    ]


def _near_supports(bank: Bank, supports: IntArray, count: int) -> IntArray:
    """(count, k) other supports of each, those first that fewest atoms have to join or leave."""
    active = (bank.strengths > 0.0).astype(np.float64)
    sizes = active.sum(axis=1)
    found = (
        _near(sizes[part][:, None] + sizes - 2.0 * active[part] @ active.T, count, part)
        for part in _parts(supports, len(active))
    )
    return np.concatenate([*found], axis=1)


def _parts(numbers: IntArray, width: int) -> list[IntArray]:
    """Numbers (k,) in parts so small that a table of so many columns for each fits a block."""
    step = max(1, _ENTRIES // width)
    return [numbers[start : start + step] for start in range(0, len(numbers), step)]


def _near_states(bank: Bank, states: IntArray, count: int) -> IntArray:
    """(count, k) nearest other states of each."""
    index, elements = bank.states.element_index(np.arange(bank.states.n_states)), bank.states.elements
    found = []
    for part in _parts(states, max(len(index), elements.shape[1])):
        overlap = np.zeros((len(part), len(index)))
        for atom in index.T:
            overlap += (elements[:, atom[part]].T @ elements)[:, atom]
        found.append(_near(-2.0 * overlap, count, part))
    return np.concatenate(found, axis=1)


def _near(distances: Array, count: int, own: IntArray) -> IntArray:
    """(count, k) columns of the least distances in each row (k, m), other than its own; rounding decides nothing."""
    rounded = np.round(distances, 9)
    rounded[np.arange(len(rounded)), own] = np.inf
    return np.argsort(rounded, axis=1, kind="stable")[:, : min(count, rounded.shape[1] - 1)].T


def _steps(nuisances: Nuisances) -> list[IntArray]:
    """For every parameter two tables (m,): the setting below and above in it and equal in the others, or itself."""
    tables = []
    for axis in range(len(nuisances.names)):
        values, others = nuisances.values[:, axis], np.delete(nuisances.values, axis, axis=1)
        same = (others[:, None] == others).all(axis=2)  # (m, m)
        for sign in (-1.0, 1.0):
            gap = sign * (values - values[:, None])
            gap = np.where(same & (gap > 0.0), gap, np.inf)
            tables.append(np.where(np.isfinite(gap.min(axis=1)), gap.argmin(axis=1), np.arange(len(values))))
    return tables
