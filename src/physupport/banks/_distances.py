"""Distances between atoms as lines, between sets of atoms, and one-to-one matchings."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial.distance import cdist

from .._checks import check_array, check_count, check_unit_columns
from .._errors import MisuseError
from .._typing import Array, BoolArray, IntArray


def projective_distances(first: ArrayLike, second: ArrayLike) -> Array:
    r"""Sine of the angle between the lines of unit atoms (eq:projective-distance).

    :math:`d_{\rm pr}([d],[d']) = \sqrt{1-(d^\top d')^2} = \tfrac12\,\|d-d'\|\,\|d+d'\|`.

    first: (q, m), second: (q, k), unit columns.  Returns (m, k).
    """
    a = _directions("first", first)  # (q, m)
    b = _directions("second", second, len(a))  # (q, k)
    return _line_distances(a.T, b.T)


def hausdorff_distance(first: ArrayLike, second: ArrayLike) -> float:
    r"""Projective Hausdorff distance of two nonempty sets of atoms, :math:`d_H^{\rm pr}`.

    It is the physical-resolution loss of two targets whatever their marks (eq:physical-resolution-loss).
    first: (q, m), second: (q, k), unit columns.
    """
    return set_distance(projective_distances(_nonempty("first", first), _nonempty("second", second)))


def set_distance(between: Array) -> float:
    """Hausdorff distance of two sets from the distances of their members, (m, k)."""
    return float(max(between.min(axis=1).max(), between.min(axis=0).max()))


def physical_diameter(targets: Iterable[ArrayLike]) -> float:
    r"""Largest projective Hausdorff distance within a collection of sets of atoms (eq:physical-diameter).

    targets: arrays (q, r_i) of unit columns, all with the same q.  Exact over all pairs; the distances of one target
    to all others are held at a time.
    """
    rows = list[Array]()  # (r_i, q)
    for i, target in enumerate(targets):
        q = rows[0].shape[1] if rows else None
        rows.append(_directions(f"targets[{i}]", _nonempty(f"targets[{i}]", target), q).T)
    if not rows:
        raise MisuseError("targets", "hold at least one target", "an empty collection")
    everything = np.concatenate(rows)
    starts = np.cumsum([0, *map(len, rows[:-1])])
    largest = 0.0
    for own in rows:
        lines = _line_distances(own, everything)  # (r_i, all atoms)
        there = np.minimum.reduceat(lines, starts, axis=1)
        back = np.maximum.reduceat(lines.min(axis=0), starts)
        largest = max(largest, float(there.max()), float(back.max()))
    return largest


def _line_distances(a: Array, b: Array) -> Array:
    # The product of chords keeps full relative accuracy for close lines, where 1 - (d.d')^2 has none; cdist
    # subtracts coordinates and so keeps it too.
    return 0.5 * cdist(a, b) * cdist(a, -b)


def _directions(name: str, atoms: ArrayLike, rows: int | None = None) -> Array:
    # Atoms read with few digits are unit only within the tolerance of the check; their lines are what is compared.
    columns = check_unit_columns(name, atoms, rows)
    directions: Array = columns / np.linalg.norm(columns, axis=0)
    return directions


def _nonempty(name: str, atoms: ArrayLike) -> ArrayLike:
    if np.ndim(atoms) == 2 and np.shape(atoms)[1] == 0:
        raise MisuseError(name, "hold at least one atom", "an empty set")
    return atoms


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
    low = -1
    high = len(levels) - 1
    permutation = np.arange(len(costs), dtype=np.int64)
    probe = 0  # the floor itself is attained for dictionaries that are close, so it is tried first
    while low + 1 < high:
        matching = _perfect_matching(costs <= levels[probe])
        if matching is None:
            low = probe
        else:
            high = probe
            permutation = matching
        probe = (low + high) // 2
    return float(levels[high]), permutation


def _perfect_matching(admitted: BoolArray) -> IntArray | None:
    columns = maximum_bipartite_matching(csr_array(admitted), perm_type="column")  # -1 where a row has no partner
    return None if columns.min() < 0 else columns.astype(np.int64)
