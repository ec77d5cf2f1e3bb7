"""The regular simplex: the template from which every coherent block is stretched."""

import numpy as np

from .._checks import check_count
from .._typing import Array


def regular_simplex(q: int) -> Array:
    r"""Vertices of a centred regular simplex with unit circumradius (eq:simplex-reference).

    :math:`\sum_j v_j = 0,\quad v_i^\top v_j = -\tfrac1{q-1}\ (i \ne j),\quad
    \sum_j v_j v_j^\top = \tfrac{q}{q-1} I`.

    Returns (q - 1, q), one vertex a column.

    >>> V = regular_simplex(3)
    >>> bool(abs(V.sum(axis=1)).max() < 1e-15)
    True
    """
    q = check_count("q", q, 3)
    vertices = np.zeros((q - 1, q))
    # Column j + 1 onwards share row j; each row is what is left of a unit vector at equal angles to the earlier ones.
    for j in range(q - 1):
        left = q - j
        height = np.sqrt((left - 1) * q / (left * (q - 1)))
        vertices[j, j] = height
        vertices[j, j + 1 :] = -height / (left - 1)
    return vertices
