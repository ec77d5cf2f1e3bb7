"""Moments of samples, the inversion of population moments, and random turns, which the program itself does not need."""

from dataclasses import replace
from functools import cache
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm

from physupport._checks import Interval, check_array, check_count, check_positive
from physupport._errors import MisuseError
from physupport._typing import Array, IntArray
from physupport.laws import law_moments
from physupport.local.regions import (
    CalibrationClass,
    median_of_means_blocks,
    symmetric_dimension,
    symmetrized_square,
)
from physupport.local.regions._moments import (
    check_rows,
    mean_fourth_power,
    multi_indices,
    multiplicity_roots,
    symmetric_matrix,
)
from physupport.local.shell import LocalDictionary


def invert_moments(second: ArrayLike, cumulant: ArrayLike, n_atoms: int) -> tuple[float, float, Array, Array]:
    r"""Solve the Bernoulli-Gaussian moment equations on the branch p < 1/2 (eq:p-trace, eq:population-p-nu-inverse).

    :math:`u = \operatorname{Tr}_2(K_4)/(3n) = p(1-p),\quad p = \tfrac{1-\sqrt{1-4u}}2,\quad
    \nu = \tfrac{\operatorname{tr}M_2 - np}q,\quad \Sigma_2 = \tfrac{M_2-\nu I}p,\quad
    \Sigma_4 = \tfrac{K_4}{3p(1-p)}`.
    Exact at population moments (lem:moment-reduction); at sample moments a plug-in without a guarantee, whose noise may
    come out negative.  second: (q, q).  cumulant: (d_4,) coordinates.  Returns :math:`p, \nu, \Sigma_2` (q, q) and
    :math:`\Sigma_4` (d_4,).
    """
    second = symmetric_matrix("second", second)
    q = len(second)
    cumulant = check_array("cumulant", cumulant, (symmetric_dimension(q, 4),))
    u = double_contraction(cumulant, q) / (3.0 * check_count("n_atoms", n_atoms))
    if not 0.0 < u <= 0.25:
        rule = "have Tr_2(K_4)/(3n) = p(1-p) above 0 and at most 1/4"
        raise MisuseError("cumulant", rule, f"{u:.6g}", "No activity probability below 1/2 has this cumulant.")
    p = activity_probability(u)
    noise = (float(np.trace(second)) - n_atoms * p) / q
    return p, noise, (second - noise * np.eye(q)) / p, cumulant / (3.0 * u)


def sample_second_moment(rows: ArrayLike) -> Array:
    r""":math:`\tfrac1N\sum_i Y_iY_i^\top`.  rows: (N, q).  Returns (q, q)."""
    rows = check_rows("rows", rows)
    return rows.T @ rows / len(rows)


def sample_fourth_moment(rows: ArrayLike) -> Array:
    r"""Coordinates (d_4,) of :math:`\tfrac1N\sum_i Y_i^{\otimes4}`.  rows: (N, q)."""
    return mean_fourth_power(check_rows("rows", rows))


def tensor_coordinates(tensor: ArrayLike) -> Array:
    """Coordinates (d_k,) of the symmetric part of a tensor given by all its q^k entries, for small q."""
    order = np.ndim(tensor)
    q = check_count("q", np.shape(tensor)[0] if order else 0)
    entries = check_array("tensor", tensor, (q,) * order)
    return np.bincount(_entry_positions(q, order), entries.ravel()) / multiplicity_roots(q, order)


def row_threshold(q: int, alphas: tuple[float, float]) -> int:
    r""":math:`N_{\rm MoM} = \max(B_2, B_4)`: with fewer rows the class is kept whole.  alphas: (alpha_2, alpha_4)."""
    return max(
        median_of_means_blocks(1, symmetric_dimension(q, order), alpha)[0]
        for order, alpha in zip((2, 4), alphas, strict=True)
    )


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


def double_contraction(coordinates: ArrayLike, q: int) -> float:
    r""":math:`\operatorname{Tr}_2(T) = \sum_{i,j} T_{iijj}` of a symmetric tensor given by coordinates (d_4,)
    (eq:supp-double-contraction).

    It is the inner product with :math:`I^{\odot2}`, so :math:`|\operatorname{Tr}_2 T| \le \sqrt{q(q+2)/3}\,\|T\|_F`.
    """
    coordinates = check_array("coordinates", coordinates, (symmetric_dimension(q, 4),))
    return float(coordinates @ symmetrized_square(np.eye(q)))


def activity_probability(u: float) -> float:
    """The p <= 1/2 with p(1 - p) = u, for u in [0, 1/4]."""
    # The conjugate of (1 - sqrt(1 - 4u))/2: nothing cancels for small u.
    return 2.0 * u / (1.0 + float(np.sqrt(1.0 - 4.0 * u)))


@cache
def _entry_positions(q: int, order: int) -> IntArray:
    """The number of the coordinate that each of the q^k entries of a tensor belongs to, (q^k,)."""
    position = np.empty((q,) * order, dtype=np.int64)
    position[tuple(multi_indices(q, order).T)] = np.arange(symmetric_dimension(q, order))
    everywhere = np.sort(np.indices((q,) * order).reshape(order, -1), axis=0)  # (order, q^order)
    return np.asarray(position[tuple(everywhere)])


def dense_tensor(coordinates: ArrayLike, q: int, order: int) -> Array:
    """The full symmetric tensor with q^k entries that has the given coordinates (d_k,); inverse of the coordinates."""
    coordinates = check_array("coordinates", coordinates, (symmetric_dimension(q, order),))
    values = (coordinates / multiplicity_roots(q, order))[_entry_positions(q, order)]
    return np.asarray(values.reshape((q,) * order))


def symmetric_basis(q: int, order: int) -> Array:
    """Orthonormal basis of the symmetric tensors in the Frobenius norm.  Returns (d_k, q, ..., q)."""
    return np.array([dense_tensor(row, q, order) for row in np.eye(symmetric_dimension(q, order))])


def combined_radius(radii: tuple[float, float, float]) -> float:
    r"""The radius :math:`\epsilon_N = (\epsilon_{2,N}^2 + \epsilon_{K,N}^2)^{1/2}` (eq:combined-moment-radius)."""
    return float(np.hypot(radii[0], radii[2]))


def activity_interval(kept: CalibrationClass, cumulant: Array, radius: float) -> Interval | None:
    r"""A range that holds p of every member of a rectangle; None if it is certainly empty.

    From :math:`|\operatorname{Tr}_2(\widehat K_4) - 3np(1-p)| \le \|I^{\odot2}\|_F\,\epsilon_K` (eq:p-trace), with
    :math:`\|I^{\odot2}\|_F^2 = \operatorname{Tr}_2(I^{\odot2}) = q(q+2)/3`.
    """
    (allowed,) = kept.unknown
    middle = double_contraction(cumulant, kept.q) / (3.0 * kept.n_atoms)
    reach = _outward(sqrt(kept.q * (kept.q + 2.0) / 3.0) * radius / (3.0 * kept.n_atoms), middle)
    if middle + reach <= 0.0 or middle - reach > 0.25:
        return None
    lower, upper = (activity_probability(min(max(u, 0.0), 0.25)) for u in (middle - reach, middle + reach))
    return _intersection(allowed, lower, upper)


def noise_interval(
    kept: CalibrationClass, second: Array, cumulant: Array, radii: tuple[float, float]
) -> Interval | None:
    r"""A range that holds :math:`\nu` of every member of a rectangle; None if it is certainly empty.

    From :math:`|\operatorname{tr}\widehat M_2 - q\nu - na_1| \le \sqrt q\,\epsilon_2`, with :math:`a_1 = p` in its
    interval, or the known one.
    """
    n = kept.n_atoms
    ends: list[list[float]] = [[], []]
    if kept.unknown:
        range_of_p = activity_interval(kept, cumulant, radii[1])
        if range_of_p is None:
            return None
        ends = [[range_of_p.lower], [range_of_p.upper]]
    low, high = (law_moments(kept.law(end), n).a1 for end in ends)
    trace = float(np.trace(second))
    reach = _outward(radii[0] * sqrt(kept.q), trace + n * high)
    return _intersection(kept.shell.noise, (trace - reach - n * high) / kept.q, (trace + reach - n * low) / kept.q)


def _outward(reach: float, scale: float) -> float:
    """A reach widened by more than the rounding of a sum of this size, so that an interval stays proven in float64."""
    return reach * (1.0 + 1e-12) + 1e-12 * abs(scale)


def _intersection(allowed: Interval, lower: float, upper: float) -> Interval | None:
    low = max(allowed.lower, lower)
    high = min(allowed.upper, upper)
    return Interval(low, high) if low <= high else None


def turned(dictionary: LocalDictionary, rotation: Array) -> LocalDictionary:
    """The block with L R for L; the separated atom stays.  rotation: R, (q - 1, q - 1)."""
    block = replace(dictionary.block, shape=dictionary.block.shape @ rotation)
    return replace(dictionary, block=block)
