"""Matching things one to one so that the worst pair is as close as it can be."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from .._checks import check_array, check_count
from .._errors import MisuseError
from .._typing import BoolArray, IntArray


def bottleneck_assignment(cost: ArrayLike) -> tuple[float, IntArray]:
    r"""Exact :math:`\min_\pi \max_j c_{j\pi(j)}` and a permutation that attains it.

    The value is one of the costs, at least every row's and every column's smallest; it is the least such cost whose
    admitted pairs hold a perfect matching, found by bisection.  cost: (q, q).
    """
    costs = check_array("cost", cost, (None, None))
    check_count("number of rows of cost", len(costs))
    if costs.shape[0] != costs.shape[1]:
        raise MisuseError("cost", "be square", f"shape {costs.shape}")
    floor = max(costs.min(axis=0).max(), costs.min(axis=1).max())
    levels = np.unique(costs[costs >= floor])
    # No matching at `low`; `permutation` is one at `high`, where at first every pair is admitted.
    low, high, permutation = -1, len(levels) - 1, np.arange(len(costs), dtype=np.int64)
    probe = 0  # the floor itself is attained for dictionaries that are close, so it is tried first
    while low + 1 < high:
        found = _perfect_matching(costs <= levels[probe])
        if found is None:
            low = probe
        else:
            high, permutation = probe, found
        probe = (low + high) // 2
    return float(levels[high]), permutation


def _perfect_matching(admitted: BoolArray) -> IntArray | None:
    columns = maximum_bipartite_matching(csr_array(admitted), perm_type="column")  # -1 where a row has no partner
    return None if columns.min() < 0 else columns.astype(np.int64)
