r"""How fast the answer of an instrument can change with the place of an element, proven over a box.

Of the answer scaled to unit norm, :math:`u = r/|r|`, slopes bound :math:`|\partial u/\partial x_k|`.  As
:math:`\partial u` is the part of :math:`\partial r/|r|` across u, every bound of :math:`|\partial r|/|r|` is one.
"""

import numpy as np

from .._errors import MisuseError
from .._typing import Array

# By which a variance between the points of a grid may exceed those on it.
_GROWTH = 0.02
_MOST_POINTS = 2**20


def largest_cosine(low: float, high: float) -> float:
    """Of the absolute values over angles in degrees: 1 at a whole half turn, else at an end."""
    if np.floor(high / 180.0) >= np.ceil(low / 180.0):
        return 1.0
    return float(np.abs(np.cos(np.deg2rad([low, high]))).max())


def gaussian_slope(axis: Array, width: float, low: float, high: float) -> float:
    r""":math:`|\partial u| = \operatorname{sd}_\pi(t)/w^2`, t a channel drawn with probability as :math:`r_t^2`.

    Moving x by s tilts these probabilities by :math:`e^{2ts/w^2}`, so the variance changes by :math:`2\kappa_3/w^2` a
    unit, and :math:`|\kappa_3|` is at most the variance times the length R of the axis: between grid points that are
    :math:`2\rho` apart it is at most :math:`e^{2R\rho/w^2}` times that of the nearer one.
    """
    length = float(np.ptp(axis))
    if length == 0.0:
        return 0.0
    count = int(np.ceil((high - low) * length / (np.log1p(_GROWTH) * width**2))) + 1
    if count > _MOST_POINTS:
        raise MisuseError("box", f"need at most {_MOST_POINTS} points to bound the slope of a peak", count)
    points = low + (high - low) * (np.arange(count) + 0.5) / count
    parts = np.array_split(points, 1 + count * len(axis) // 2**20)
    worst = max(float(_variances(axis, width, part).max()) for part in parts)
    return float(np.sqrt(worst * (1.0 + _GROWTH)) / width**2)


def _variances(axis: Array, width: float, points: Array) -> Array:
    """(k,) of a channel whose probabilities are the squares of a gaussian peak at each point."""
    exponents = -(((axis[:, None] - points) / width) ** 2)
    weights = np.exp(exponents - exponents.max(axis=0))
    weights /= weights.sum(axis=0)
    centred = axis[:, None] - (axis[:, None] * weights).sum(axis=0)
    return np.asarray((weights * centred**2).sum(axis=0))
