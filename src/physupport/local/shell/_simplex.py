"""The regular simplex: the template from which every coherent block is stretched, and turns of it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm

from ..._checks import check_array, check_count, check_positive
from ..._errors import MisuseError
from ..._typing import Array

# Products of unit vectors in float64 stay far within this; a template typed with nine digits does not fail either.
_GRAM_TOLERANCE = 1e-8


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


def vertex_permutation(template: ArrayLike, permutation: Sequence[int]) -> Array:
    r"""The orthogonal map that permutes the vertices, :math:`\Pi_\pi v_j = v_{\pi(j)}`.

    :math:`\Pi_\pi = \tfrac{q-1}{q}\sum_j v_{\pi(j)} v_j^\top`.  template: (q - 1, q).  Returns (q - 1, q - 1).
    """
    vertices = check_simplex("template", template)
    across, q = vertices.shape
    order = np.asarray(permutation)
    if not np.array_equal(np.sort(order), np.arange(q)):
        raise MisuseError("permutation", f"hold each of 0 to {q - 1} once", order)
    rotation: Array = across / q * vertices[:, order] @ vertices.T
    return rotation


def check_simplex(name: str, template: ArrayLike) -> Array:
    """The vertices of a centred regular simplex with unit circumradius, (q - 1, q), in any orientation and order."""
    vertices = check_array(name, template, (None, None))
    across, q = vertices.shape
    if across != q - 1 or q < 3:
        raise MisuseError(name, "have shape (q - 1, q) with q at least 3", f"shape {vertices.shape}")
    gram = vertices.T @ vertices
    if np.abs(gram - (q * np.eye(q) - 1.0) / across).max() > _GRAM_TOLERANCE:
        raise MisuseError(name, "be a centred regular simplex of unit vectors", f"Gram matrix\n{gram}")
    return vertices


def check_orthogonal(name: str, matrix: ArrayLike, size: int) -> Array:
    """An orthogonal (size, size) matrix, of either determinant."""
    array = check_array(name, matrix, (size, size))
    error = float(np.abs(array @ array.T - np.eye(size)).max())
    if error > _GRAM_TOLERANCE:
        raise MisuseError(name, "be orthogonal", f"R R^T off the identity by {error:.3g}")
    return array


def make_rotation(rng: np.random.Generator, dimension: int, size: float | None = None) -> Array:
    """A rotation: uniform over the orthogonal group, or the exponential of a random skew matrix of the given norm.

    size: Frobenius norm of the skew matrix; uniform unless given.  Returns (dimension, dimension).
    """
    check_count("dimension", dimension)
    gaussian = rng.standard_normal((dimension, dimension))
    if size is None:
        factor, triangle = np.linalg.qr(gaussian)
        # Signs of the diagonal make the factor unique, and with that the law invariant.
        return np.asarray(factor * np.sign(np.diagonal(triangle)))
    skew = gaussian - gaussian.T
    return np.asarray(expm(check_positive("size", size) * skew / np.linalg.norm(skew)))
