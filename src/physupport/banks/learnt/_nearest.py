"""The library element nearest to an atom."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_unit_columns
from ..._typing import Array, IntArray
from .._distances import projective_distances
from .._library import Library


@final
@dataclass(frozen=True, slots=True, eq=False)
class NearestElements:
    """Of each atom, the nearest element of a library, the first of several, and its projective distance."""

    elements: IntArray  # (m,)
    distances: Array  # (m,)


def nearest_elements(atoms: ArrayLike, library: Library) -> NearestElements:
    """atoms: (q, m) unit columns.

    >>> library = Library(["a", "b"], ["left", "right"], [[0.1], [0.9]], [[1.0, 0.0], [0.0, 1.0]])
    >>> found = nearest_elements([[0.6, -1.0], [0.8, 0.0]], library)
    >>> [library.ids[e] for e in found.elements], found.distances.round(6).tolist()
    (['b', 'a'], [0.6, 0.0])
    """
    columns = check_unit_columns("atoms", atoms, len(library.responses))
    distances = projective_distances(columns, library.responses)  # (m, E)
    elements = np.argmin(distances, axis=1)
    return NearestElements(elements, distances[np.arange(len(elements)), elements])
