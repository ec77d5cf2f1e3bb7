"""Regions that calibration rows leave of a class: moments within a rectangle, or near most of their block means."""

from collections.abc import Sequence
from functools import partial
from math import ceil, log, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from ..._checks import check_array, check_count, check_open, check_positive
from ..._errors import MisuseError
from ..._typing import Array
from ..shell import Condition
from ._correspondence import CalibrationClass, CalibrationParameter, CalibrationRegion
from ._moments import (
    check_rows,
    fourth_cumulant,
    fourth_moment,
    matrix_coordinates,
    mean_fourth_power,
    multi_indices,
    multiplicity_roots,
    sample_cumulant,
    second_moment,
    squared_norm_moments,
    symmetric_dimension,
)


def median_of_means_blocks(n_rows: int, dimension: int, alpha: float) -> tuple[int, int]:
    r""":math:`B = \lceil 8\log(2d/\alpha)\rceil` blocks of :math:`m = \lfloor N/B\rfloor` rows (eq:sm-tech-s13-6).

    Consecutive blocks of rows, fixed before the data; later rows are left out.  Returns their number and their size; a
    size of 0 says that the rows do not suffice.
    """
    ratio = 2.0 * check_count("dimension", dimension) / check_open("alpha", alpha, 0.0, 1.0)
    count = ceil(8.0 * log(ratio))
    return count, check_count("n_rows", n_rows) // count


def norm_moment_bounds(q: int, spectral_bound: float) -> tuple[float, float]:
    r"""Bounds of :math:`v_k = \sup_\theta(\mathbb E\|Y\|^{2k})^{1/2}` for k = 2 and 4.

    :math:`v_2^2 \le \Lambda^2q(q+2)` (eq:sm-tech-s13-4) and :math:`v_4^2 \le \Lambda^4q(q+2)(q+4)(q+6)`
    (eq:sm-tech-s13-5): rows are Gaussian given the active set, with covariance at most :math:`\Lambda I`.
    """
    top = check_positive("spectral_bound", spectral_bound)
    return top * sqrt(q * (q + 2.0)), top**2 * sqrt(q * (q + 2.0) * (q + 4.0) * (q + 6.0))


def moment_radii(
    n_rows: int, q: int, spectral_bound: float, alphas: tuple[float, float]
) -> tuple[float, float, float] | None:
    r"""Radii of the calibration rectangle (eq:training-rectangle), in Frobenius norm: second moment, fourth, cumulant.

    They hold together with probability at least :math:`1-\alpha_2-\alpha_4` under every law of the class.

    :math:`\epsilon_2 = 2v_2\sqrt{d_2/m_2}` (eq:sm-tech-s13-7), :math:`\epsilon_4 = 2v_4\sqrt{d_4/m_4}`
    (eq:sm-tech-s13-8), :math:`\epsilon_K = \epsilon_4 + 3\epsilon_2(2\sqrt q\Lambda + \epsilon_2)` (eq:sm-tech-s13-12).
    None below the threshold of rows.

    Why: a block mean misses its target by more than :math:`2\sigma/\sqrt m` with probability at most 1/4
    (Chebyshev); the lower median misses only if half the blocks do, which has probability at most
    :math:`e^{-B/8}` (Hoeffding); the union over coordinates costs d.  For the cumulant,
    :math:`\widehat M_2^{\odot2} - M_2^{\odot2} = (\widehat M_2 - M_2)\odot(\widehat M_2 + M_2)` and
    :math:`\|M_2\|_F \le \sqrt q\Lambda`.
    """
    radii = []
    for order, alpha, bound in zip((2, 4), alphas, norm_moment_bounds(q, spectral_bound), strict=True):
        dimension = symmetric_dimension(q, order)
        size = median_of_means_blocks(n_rows, dimension, alpha)[1]
        if size < 1:
            return None
        radii.append(2.0 * bound * sqrt(dimension / size))
    second, fourth = radii
    return second, fourth, fourth + 3.0 * second * (2.0 * sqrt(q) * spectral_bound + second)


def moment_estimate(rows: ArrayLike, alphas: tuple[float, float]) -> tuple[Array, Array] | None:
    """Coordinatewise median of means of the second and fourth moments; None below the threshold of rows.

    rows: (N, q).  The blocks follow the order of the rows, so the rows must be independent draws.
    Returns the second moment (q, q) and the coordinates (d_4,) of the fourth.
    """
    rows = check_rows("rows", rows)
    n_rows, q = rows.shape
    medians = []
    for order, alpha in zip((2, 4), alphas, strict=True):
        count, size = median_of_means_blocks(n_rows, symmetric_dimension(q, order), alpha)
        if size < 1:
            return None
        middle = (count - 1) // 2  # of two middle values the lower
        medians.append(np.partition(block_moments(rows, count, size, order), middle, axis=0)[middle])
    second, fourth = medians
    matrix = np.empty((q, q))
    left, right = multi_indices(q, 2).T
    matrix[left, right] = matrix[right, left] = second / multiplicity_roots(q, 2)
    return matrix, fourth


def block_moments(rows: Array, count: int, size: int, order: int) -> Array:
    """Mean tensor power of order 2 or 4 within every block, (N, q) -> (count, d) coordinates."""
    parts = rows[: count * size].reshape(count, size, -1)  # (count, size, q)
    if order == 4:
        return np.stack([mean_fourth_power(part) for part in parts])
    q = parts.shape[2]
    left, right = multi_indices(q, 2).T
    gram = np.swapaxes(parts, 1, 2) @ parts / size  # (count, q, q)
    return np.asarray(gram[:, left, right] * multiplicity_roots(q, 2))


def check_split(alpha: float, split: tuple[float, float] | None) -> tuple[float, float]:
    """The shares (alpha_2, alpha_4) of the two orders: half each unless given, positive, at most alpha together."""
    alpha = check_open("alpha", alpha, 0.0, 1.0)
    if split is None:
        return alpha / 2.0, alpha / 2.0
    shares = check_open("split[0]", split[0], 0.0, 1.0), check_open("split[1]", split[1], 0.0, 1.0)
    if sum(shares) > alpha * (1.0 + 1e-12):
        raise MisuseError("split", f"sum to at most alpha = {alpha:g}", split)
    return shares


def median_of_means_region(
    rows: ArrayLike, calibration_class: CalibrationClass, alpha: float, split: tuple[float, float] | None = None
) -> CalibrationRegion:
    r"""Parameters of the class with :math:`\|\widehat M_2 - M_2(\theta)\|_F \le \epsilon_2` and
    :math:`\|\widehat K_4 - K_4(\theta)\|_F \le \epsilon_K` (eq:training-profile), at level :math:`\alpha = \alpha_D`.

    Holds the true parameter on the event of (eq:training-rectangle).  With too few rows there is no estimate and the
    region is the whole class.
    rows: (N, q) independent.  split: (alpha_2, alpha_4), the shares of the two moments; half each unless given.
    """
    alphas = check_split(alpha, split)
    rows = check_array("rows", rows, (None, calibration_class.q))
    radii = moment_radii(len(rows), calibration_class.q, calibration_class.spectral_bound, alphas)
    moments = moment_estimate(rows, alphas)
    if moments is None or radii is None:
        return CalibrationRegion(calibration_class, float(alpha))
    second = moments[0]
    cumulant = sample_cumulant(*moments)
    inside = partial(rectangle_conditions, second=second, cumulant=cumulant, radii=(radii[0], radii[2]))
    return CalibrationRegion(calibration_class, float(alpha), inside)


def rectangle_conditions(
    parameter: CalibrationParameter, *, second: Array, cumulant: Array, radii: tuple[float, float]
) -> tuple[Condition, ...]:
    """The distances of the moments of a parameter from the estimates, and their radii epsilon_2 and epsilon_K."""
    atoms = parameter.dictionary.atoms
    off_second = float(np.linalg.norm(second - second_moment(parameter.law, atoms, parameter.noise)))
    off_cumulant = float(np.linalg.norm(cumulant - fourth_cumulant(parameter.law, atoms)))
    return (
        Condition("second moment within epsilon_2", off_second, radii[0]),
        Condition("fourth cumulant within epsilon_K", off_cumulant, radii[1]),
    )


def inverted_median_of_means_region(
    rows: ArrayLike, calibration_class: CalibrationClass, alpha: float, split: tuple[float, float] | None = None
) -> CalibrationRegion:
    r"""Parameters of the class with, for k = 2 and 4,
    :math:`\operatorname{med}_b\|\bar X_{k,b} - M_k(\theta)\|_F \le c_k\sqrt{V_k(\theta)/m_k}`, where
    :math:`V_k(\theta) = \mathbb E_\theta\|Y\|^{2k} - \|M_k(\theta)\|_F^2` and :math:`\bar X_{k,b}` is the mean of
    :math:`Y^{\otimes k}` over block b.

    rows: (N, q) independent; any N >= 1 carries information.  split: (alpha_2, alpha_4), the shares of the two moments;
    half each unless given.

    Coverage.  Let :math:`\theta` be true.  Coordinates of :math:`Y^{\otimes k}` in an orthonormal basis have variances
    that sum to :math:`V_k(\theta)`, so :math:`\mathbb E\|\bar X_{k,b} - M_k\|_F^2 = V_k/m_k` and a block is farther
    than :math:`c\sqrt{V_k/m_k}` with probability at most :math:`\pi = c^{-2}` (Chebyshev).  The median of B odd
    distances is farther only if at least (B+1)/2 of the independent blocks are, which has probability at most
    :math:`\mathbb P\{\mathrm{Bin}(B,\pi) \ge (B+1)/2\} = I_\pi(\tfrac{B+1}2,\tfrac{B+1}2)`; c makes this equal to
    :math:`\alpha_k`.  The test of a parameter errs with probability at most :math:`\alpha_2 + \alpha_4 \le \alpha`,
    hence the parameters that pass lack the true one with probability at most :math:`\alpha`.

    The radius knows neither the dimensions :math:`d_k` nor the spectral bound of the class: the distance is taken once
    and not coordinate by coordinate, and the variance is the parameter's own.  The fourth moment is compared directly,
    so no cumulant error is added.  Two members of one region have moments within the sum of their two radii, because
    two majorities of blocks share a block; in this sense a radius here compares with a radius of the rectangle.
    """
    shares = check_split(alpha, split)
    rows = check_array("rows", rows, (None, calibration_class.q))
    counts, sizes, multipliers = zip(*(median_distance_blocks(len(rows), share) for share in shares), strict=True)
    means = [block_moments(rows, *block) for block in zip(counts, sizes, (2, 4), strict=True)]
    inside = partial(block_conditions, means=means, sizes=sizes, multipliers=multipliers)
    return CalibrationRegion(calibration_class, float(alpha), inside)


def block_conditions(
    parameter: CalibrationParameter, *, means: Sequence[Array], sizes: Sequence[int], multipliers: Sequence[float]
) -> tuple[Condition, ...]:
    r"""The median distances of block means from the moments of a parameter, and their radii :math:`c_k\sqrt{V_k/m_k}`.

    Each argument has one entry for k = 2 and one for k = 4: means (B, d_k) with B odd, sizes m_k, multipliers c_k.
    """
    names = ("blocks near the second moment", "blocks near the fourth moment")
    moments = _moments(parameter)
    parts = zip(names, means, moments, multipliers, _variances(parameter, moments), sizes, strict=True)
    return tuple(
        Condition(name, float(np.median(np.linalg.norm(near - moment, axis=1))), c * sqrt(variance / size))
        for name, near, moment, c, variance, size in parts
    )


def median_distance_blocks(n_rows: int, alpha: float) -> tuple[int, int, float]:
    r"""The odd number of blocks B with the smallest radius, their size, and the multiplier of the radius.

    :math:`c_B = I^{-1}(\alpha;\tfrac{B+1}2,\tfrac{B+1}2)^{-1/2}` minimised as :math:`c_B/\sqrt{\lfloor N/B\rfloor}`; it
    depends on N and alpha alone, never on data.  B = 1 is Chebyshev's inequality for the mean of all rows.
    """
    check_count("n_rows", n_rows)
    check_open("alpha", alpha, 0.0, 1.0)
    # For small alpha the best B is near 1.8 log(1/alpha); twice that and a few more hold it.
    counts = np.arange(1, min(n_rows, int(4.0 * log(1.0 / alpha)) + 8) + 1, 2)
    sizes = n_rows // counts
    half = (counts + 1) / 2.0
    multipliers = betaincinv(half, half, alpha) ** -0.5
    best = int(np.argmin(multipliers / np.sqrt(sizes)))
    return int(counts[best]), int(sizes[best]), float(multipliers[best])


def total_variances(parameter: CalibrationParameter) -> list[float]:
    r""":math:`V_k = \mathbb E\|Y\|^{2k} - \|M_k\|_F^2` for k = 2, 4: the summed variances of the coordinates of Y^k."""
    return _variances(parameter, _moments(parameter))


def _moments(parameter: CalibrationParameter) -> list[Array]:
    known = parameter.law, parameter.dictionary.atoms, parameter.noise
    return [matrix_coordinates(second_moment(*known)), fourth_moment(*known)]


def _variances(parameter: CalibrationParameter, moments: list[Array]) -> list[float]:
    raw = squared_norm_moments(parameter.law, parameter.dictionary.atoms, parameter.noise)
    return [norm - float(moment @ moment) for norm, moment in zip(raw, moments, strict=True)]
