"""Which atom of one dictionary is which atom of another; sign and order never matter."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from ..._checks import check_unit_columns
from ..._errors import MisuseError
from ..._typing import Array, IntArray
from .._assignment import bottleneck_assignment
from .._distances import projective_distances


@final
@dataclass(frozen=True, slots=True, eq=False)
class AtomMatch:
    r"""Two dictionaries brought together.

    distance: :math:`\min_\pi\max_j d_{\rm pr}([d_j], [d'_{\pi(j)}])`, exactly.  permutation: one that attains it and,
    among these, has the least sum of distances.  signs: that make matched atoms point the same way.
    """

    distance: float
    permutation: IntArray  # (n,)
    signs: Array  # (n,) 1 or -1

    def aligned(self, atoms: Array) -> Array:
        """(q, n) the second dictionary in the order and with the signs of the first."""
        return atoms[:, self.permutation] * self.signs


def match_atoms(first: ArrayLike, second: ArrayLike) -> AtomMatch:
    """The quotient distance of two dictionaries (q, n) of unit columns, and how their atoms correspond.

    >>> match = match_atoms([[1.0, 0.0], [0.0, 1.0]], [[0.0, -1.0], [1.0, 0.0]])
    >>> match.distance, match.permutation.tolist(), match.signs.tolist()
    (0.0, [1, 0], [-1.0, 1.0])
    """
    here = check_unit_columns("first", first)
    there = check_unit_columns("second", second, len(here))
    if here.shape != there.shape:
        raise MisuseError("second", f"have {here.shape[1]} atoms, as the first has", there.shape[1])
    costs = projective_distances(here, there)
    distance, _ = bottleneck_assignment(costs)
    # One pair that is not admitted costs more than n admitted ones, whose distances are at most 1.
    _, permutation = linear_sum_assignment(np.where(costs <= distance, costs, 2.0 * len(costs)))
    inner = np.einsum("qj,qj->j", here, there[:, permutation])
    return AtomMatch(distance, permutation.astype(np.int64), np.where(inner < 0.0, -1.0, 1.0))
