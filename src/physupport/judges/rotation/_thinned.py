"""Fewer rivals for each explanation: near ones all, far ones thinned, chosen before a row is read.

A rotation test is exact for any fixed statistic, so an explanation need not meet all rivals.  Of thousands of places
those nearby decide where a source is to within a step, and one in many of the others where it is at all.
"""

from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from ..._typing import Array, BoolArray, IntArray
from ...laws import RANK_TOLERANCE
from ._kernels import tail
from ._table import near_together

if TYPE_CHECKING:
    from ._mean import MeanRows

# Directions along which, beside each explanation, all responses together are looked at by the screen.
_SCREENED = 12
# Of the level of rivals, the part of that test; it decides alone where draws are too few for a small level.
SHARE = 0.3


@final
class Thinned:
    """Groups of near explanations, and the rivals that each group meets: a third of them its nearest, the rest spread.

    bases: (M, r, m) of all explanations.  most: how many rivals a group has.
    """

    def __init__(self, bases: Array, most: int) -> None:
        self.bases = bases
        self.most = most
        size = max(most // 5, 1)
        order = near_together(bases, size)
        self.groups = [np.sort(order[start : start + size]) for start in range(0, len(order), size)]
        spread = np.sort(order[:: max(-(-3 * len(order) // most), 1)])
        self.rivals = [self._rivals(group, spread) for group in self.groups]

    def _rivals(self, group: IntArray, spread: IntArray) -> IntArray:
        """The group itself, explanations nearest to any of it, and those that are spread."""
        chosen = np.union1d(group, spread)
        left = self.most - len(chosen)
        middles = self.bases[group[:: max(len(group) // 8, 1)]]
        flat = middles.reshape(-1, middles.shape[-1])
        shared = ((self.bases @ flat.T) ** 2).sum(axis=1).reshape(len(self.bases), len(middles), -1).sum(axis=2)
        nearest = shared.max(axis=1)
        nearest[chosen] = -1.0
        further = np.argsort(-nearest, kind="stable")[: max(left, 0)]
        return np.union1d(chosen, further[nearest[further] >= 0.0])

    @cached_property
    def of(self) -> IntArray:
        """(M,) the group of each explanation."""
        found = np.empty(len(self.bases), dtype=np.int64)
        for number, group in enumerate(self.groups):
            found[group] = number
        return found

    @cached_property
    def leading(self) -> Array:
        """(k, m) orthonormal rows: the directions in which responses have most of their energy."""
        moments = np.einsum("krm,krn->mn", self.bases, self.bases)
        return np.asarray(np.linalg.eigh(moments)[1][:, ::-1][:, :_SCREENED].T)

    def p_values(self, rows: "MeanRows", explanations: IntArray, is_open: BoolArray) -> Array:
        """(k,) F tests of what an explanation leaves along the leading directions, inf of those that are not open.

        Chi-square tests where the noise is known.
        """
        found = np.full(len(explanations), np.inf)
        for i in np.flatnonzero(is_open).tolist():
            e = int(explanations[i])
            basis = rows.bases[e]
            beside = self.leading - (self.leading @ basis.T) @ basis
            vectors, values, _ = np.linalg.svd(beside.T, full_matrices=False)
            seen = vectors[:, values > np.sqrt(RANK_TOLERANCE)]
            freedom = rows.freedom - int(rows.ranks[e])
            energy, _ = rows.residuals(e)
            length = max(float(np.linalg.norm(rows.residual(e) @ seen)) - 2.0 * rows.rounding(e), 0.0)
            known = rows.own_sigma > 0.0
            share = (length / rows.own_sigma) ** 2 if known else length**2 / (np.sqrt(energy) + rows.rounding(e)) ** 2
            found[i] = tail(share, seen.shape[1], freedom, known)
        return found
