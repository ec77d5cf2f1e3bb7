r"""Noise that is correlated along the axis: an autoregression of order 1, of any correlation and any level.

Of T rows about one mean, of q channels in order, the noise has the precision :math:`K(\rho)/\sigma^2`, :math:`K(\rho) =
1 - \rho L + \rho^2J` with L the neighbours of each channel and J all channels but the first and the last, and
:math:`\det K = 1 - \rho^2`.  With :math:`Q(\rho)` the least of :math:`\sum_t(z_t - N\theta)^\top K(\rho)(z_t -
N\theta)` over the coefficients, and n = q T, at the best :math:`\sigma`

.. math:: -2\log L = n(\log2\pi + 1) + n\log\frac{Q(\rho)}n - T\log(1 - \rho^2).

Q is a minimum of functions that are linear in :math:`(\rho, \rho^2)`, hence concave in this pair.  Between two
correlations a and b the curve of these pairs lies in the triangle of its ends and of :math:`((a + b)/2, ab)`, where the
tangents meet: there Q is at least its least value at the three corners.  A lower bound over all
:math:`\rho` of an interval is the least over cells, and exceeds by little what cells of no width have.
"""

from typing import NamedTuple

import numpy as np

from .._typing import Array
from ._noise_shape import MOST_CORRELATION, RANK_TOLERANCE

_EPS = float(np.finfo(np.float64).eps)
# Numbers of cells, and what they may take from the log likelihood, about.
_CELLS = (256, 4096)
_TAKEN = 0.1


class Correlated(NamedTuple):
    """The least of -2 log L: a lower bound, how far rounding may have moved it, and where it is."""

    cost: float
    error: float
    correlation: float
    mean: Array  # (q,)
    noise: float  # variance of an innovation


def filtered(rows: Array, correlation: float) -> Array:
    """(T, q) innovations: white, and of the same variance, if rows (T, q) have this correlation along the axis."""
    first = np.sqrt(1.0 - correlation**2) * rows[:, :1]
    return np.hstack([first, rows[:, 1:] - correlation * rows[:, :-1]])


def autoregressive(
    rows: Array, columns: Array, between: tuple[float, float] = (-MOST_CORRELATION, MOST_CORRELATION)
) -> Correlated:
    """The bound for rows (T, q) about one mean of columns (q, m), of correlations between two."""
    count, q = rows.shape
    size = count * q
    unit = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    least = float(np.linalg.svd(unit, compute_uv=False).min(initial=1.0))
    mean = rows.mean(axis=0)
    if columns.shape[1] >= q or least <= RANK_TOLERANCE:
        return Correlated(0.0, np.inf, 0.0, mean, 1.0)
    fitted = unit @ np.linalg.lstsq(unit, mean, rcond=None)[0]
    left = rows - fitted
    low, high = np.arctanh(between)
    n_cells = int(np.clip((high - low) * np.sqrt(size / (8.0 * _TAKEN)), *_CELLS))
    places = np.tanh(np.linspace(low, high, n_cells + 1))
    meeting = 0.5 * (places[:-1] + places[1:])
    energies, coefficients = _least_energies(
        left, unit, np.append(places, meeting), np.append(places**2, places[:-1] * places[1:])
    )
    # The products of columns have a condition of the square of that of the filter at each place.
    around = np.append(places, meeting)
    whole = float(np.sqrt((rows**2).sum() * (left**2).sum())) + 4.0 * float((left**2).sum()) / least**2
    off = 64.0 * _EPS * (q + count + 8) * whole * ((1.0 + np.abs(around)) / (1.0 - np.abs(around))) ** 2

    def lowest(corners: Array) -> Array:
        """(cells,) the least of the three corners."""
        ends = corners[: n_cells + 1]
        return np.asarray(np.minimum(np.minimum(ends[:-1], ends[1:]), corners[n_cells + 1 :]))

    if not (energies > 2.0 * off).all():
        return Correlated(0.0, np.inf, 0.0, mean, 1.0)
    nearest = np.where(places[:-1] * places[1:] < 0.0, 0.0, np.minimum(np.abs(places[:-1]), np.abs(places[1:])))
    constant = size * (np.log(2.0 * np.pi / size) + 1.0) - count * np.log1p(-(nearest**2))
    below, cost, above = (
        float((constant + size * np.log(lowest(energies + move))).min()) for move in (-off, 0.0 * off, off)
    )
    ends = energies[: n_cells + 1]
    best = int((size * np.log(ends) - count * np.log1p(-(places**2))).argmin())
    error = max(cost - below, above - cost) + 64.0 * _EPS * (size * (8.0 + float(np.abs(np.log(ends)).max())))
    found = fitted + unit @ coefficients[best]
    return Correlated(cost, error, float(places[best]), found, float(ends[best]) / size)


def _least_energies(rows: Array, unit: Array, linear: Array, square: Array) -> tuple[Array, Array]:
    """(k,) Q at pairs, and (k, m) the coefficients there; rows are those about a fit, so that nothing cancels."""
    inner = np.pad(np.ones(rows.shape[1] - 2), 1)
    mean = rows.mean(axis=0)

    def products(first: Array, second: Array) -> Array:
        """(k, a, b) of columns (q, a) and (q, b)."""
        plain = first.T @ second
        beside = first[1:].T @ second[:-1] + first[:-1].T @ second[1:]
        within = (first * inner[:, None]).T @ second
        return np.asarray(plain - linear[:, None, None] * beside + square[:, None, None] * within)

    beside = 2.0 * float((rows[:, 1:] * rows[:, :-1]).sum())
    energies = float((rows**2).sum()) - linear * beside + square * float((rows**2 @ inner).sum())
    if not unit.shape[1]:
        return energies, np.zeros((len(linear), 0))
    along = products(unit, mean[:, None])
    coefficients = np.linalg.solve(products(unit, unit), along)
    explained: Array = len(rows) * (along * coefficients).sum(axis=(1, 2))
    return np.asarray(energies - explained), np.asarray(coefficients[:, :, 0], dtype=np.float64)
