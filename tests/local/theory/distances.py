"""Distances of the paper that the program itself does not need."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from physupport._checks import check_count, check_unit_columns
from physupport._typing import Array
from physupport.banks import hausdorff_distance


def marked_distance(mark: int, atoms: ArrayLike, other_mark: int, other_atoms: ArrayLike) -> float:
    r"""Metric of the marked target space, :math:`|m - m'| + d_H^{\rm pr}(A, A')` (eq:marked-target-metric).

    A mark is 1 for the coherent-block explanation and 0 for the separated one; a target is a mark with a nonempty
    finite set of lines (eq:target-space).
    """
    gap = abs(check_count("mark", mark, 0, 1) - check_count("other_mark", other_mark, 0, 1))
    return gap + hausdorff_distance(atoms, other_atoms)


def atom_chords(atoms: ArrayLike) -> Array:
    r"""Euclidean distances :math:`\|d_i - d_j\|` of unit atoms with their signs; atoms: (q, m).  Returns (m, m)."""
    columns = check_unit_columns("atoms", atoms)
    rows = (columns / np.linalg.norm(columns, axis=0)).T
    return cdist(rows, rows)


def coherence_gaps(atoms: ArrayLike) -> Array:
    r"""Shortfall from perfect coherence, :math:`1 - d_i^\top d_j = \tfrac12\|d_i - d_j\|^2` (eq:s-coherence).

    atoms: (q, m) unit columns.  Returns (m, m), with full relative accuracy also where the atoms nearly coincide.
    """
    return 0.5 * atom_chords(atoms) ** 2
