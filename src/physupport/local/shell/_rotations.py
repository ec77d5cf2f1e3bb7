"""Random rotations of the space across the axis."""

import numpy as np
from scipy.linalg import expm

from ..._checks import check_count, check_positive
from ..._typing import Array


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
