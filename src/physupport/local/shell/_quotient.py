"""Distances that ignore the order of atoms: between dictionaries, and between orientations of a balanced block."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from ..._errors import MisuseError
from ..._typing import IntArray
from ...banks import bottleneck_assignment
from ._dictionary import LocalDictionary
from ._shell import projector_distance
from ._simplex import check_orthogonal, check_simplex

# Axes typed with nine digits still count as the same.
_AXIS_TOLERANCE = 1e-8


@final
@dataclass(frozen=True, slots=True, eq=False)
class QuotientMatch:
    """A quotient distance and a permutation that attains it: atom j is matched with atom permutation[j]."""

    distance: float
    permutation: IntArray  # (q,)


def quotient_distance(first: LocalDictionary, second: LocalDictionary) -> QuotientMatch:
    r"""Distance of two dictionaries up to the order of their coherent atoms (eq:physical-dictionary-metric).

    :math:`d_{\mathcal Q}^D = \min_\pi \max\{\max_j\|z_j - z'_{\pi(j)}\|,\ \|P_a - P_{a'}\|_F\}`, exactly.

    The projectors do not depend on the permutation, so a bottleneck assignment of the atoms decides it.  Both frames
    must have the same axis, otherwise the coordinates across it are not comparable; basis and template may differ.
    """
    if first.q != second.q or np.abs(first.block.frame.axis - second.block.frame.axis).max() > _AXIS_TOLERANCE:
        raise MisuseError("second", "share the axis of first", second.block.frame.axis)
    here, there = (d.block.frame.basis @ d.block.coordinates for d in (first, second))  # (q, q)
    value, permutation = bottleneck_assignment(cdist(here.T, there.T))
    return QuotientMatch(max(value, projector_distance(first.separated, second.separated)), permutation)


def orbit_distance(first: ArrayLike, second: ArrayLike, template: ArrayLike) -> tuple[float, IntArray]:
    r"""Distance of two orientations up to relabelling the vertices, and a permutation that attains it, exactly.

    :math:`d_{O(U)/\mathfrak S_q}(R, R') = \min_\pi\|R - R'\Pi_\pi\|_F` with
    :math:`\|R - R'\Pi_\pi\|_F^2 = \tfrac{q-1}{q}\sum_j\|Rv_j - R'v_{\pi(j)}\|^2`, because the template is a tight
    frame: a linear assignment of rotated vertices.  first, second: (q - 1, q - 1) orthogonal.  template: (q - 1, q).
    """
    vertices = check_simplex("template", template)  # (q - 1, q)
    across, q = vertices.shape
    here, there = (check_orthogonal(n, r, across) @ vertices for n, r in (("first", first), ("second", second)))
    costs = cdist(here.T, there.T) ** 2
    rows, permutation = linear_sum_assignment(costs)
    return float(np.sqrt(across / q * costs[rows, permutation].sum())), permutation.astype(np.int64)
