"""The calibration region of the paper: parameters whose moments lie in the median-of-means rectangle."""

from dataclasses import dataclass
from math import log, sqrt
from typing import Protocol, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from ..._checks import Interval, check_array, check_count, check_open
from ..._errors import MisuseError
from ..._membership import Condition, Membership
from ..._typing import Array
from ...laws import law_moments
from ._calibration import CalibrationClass, CalibrationParameter
from ._median_of_means import (
    Blocks,
    MomentEstimate,
    MomentRadii,
    block_moments,
    check_split,
    moment_estimate,
    moment_radii,
)
from ._moments import activity_probability, fourth_cumulant, fourth_moment, second_moment, squared_norm_moments
from ._tensors import double_contraction, matrix_coordinates


class CalibrationRegion(Protocol):
    """A set of calibration parameters that holds the true one with probability at least 1 - alpha, whichever it is."""

    @property
    def calibration_class(self) -> CalibrationClass:
        """Everything allowed before data; the region is a part of it."""

    @property
    def alpha(self) -> float:
        """The probability with which the true parameter may be missed."""

    def membership(self, parameter: CalibrationParameter) -> Membership:
        """Every inequality of the region at one parameter, by name, and by how much it is met or missed."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class MedianOfMeansRegion:
    r"""Parameters of the class with :math:`\|\widehat M_2 - M_2(\theta)\|_F \le \epsilon_2` and
    :math:`\|\widehat K_4 - K_4(\theta)\|_F \le \epsilon_K` (eq:training-profile).

    Holds the true parameter on the event of (eq:training-rectangle).  With too few rows there is no estimate and the
    region is the whole class.
    """

    calibration_class: CalibrationClass
    alpha: float
    estimate: MomentEstimate | None
    radii: MomentRadii | None

    def membership(self, parameter: CalibrationParameter) -> Membership:
        """Every inequality of the class, then those of the two moments."""
        of_class = self.calibration_class.membership(parameter)
        if self.estimate is None or self.radii is None:
            return of_class
        law, atoms = parameter.law, parameter.dictionary.atoms
        second = float(np.linalg.norm(self.estimate.second - second_moment(law, atoms, parameter.noise)))
        cumulant = float(np.linalg.norm(self.estimate.cumulant - fourth_cumulant(law, atoms)))
        return Membership(
            (
                *of_class.conditions,
                Condition("second moment within epsilon_2", second, self.radii.second),
                Condition("fourth cumulant within epsilon_K", cumulant, self.radii.cumulant),
            )
        )

    @property
    def activity_interval(self) -> Interval | None:
        r"""A range that holds p of every member; None if the region is certainly empty.

        From :math:`|\operatorname{Tr}_2(\widehat K_4) - 3np(1-p)| \le \|I^{\odot2}\|_F\,\epsilon_K` (eq:p-trace), with
        :math:`\|I^{\odot2}\|_F^2 = \operatorname{Tr}_2(I^{\odot2}) = q(q+2)/3`.
        """
        unknown = self.calibration_class.unknown
        if not unknown:
            raise MisuseError("calibration_class.activity", "be a range of activity probabilities", "a known law")
        (allowed,) = unknown
        if self.estimate is None or self.radii is None:
            return allowed
        q, n = self.calibration_class.q, self.calibration_class.n_atoms
        middle = double_contraction(self.estimate.cumulant, q) / (3.0 * n)
        reach = _outward(sqrt(q * (q + 2.0) / 3.0) * self.radii.cumulant / (3.0 * n), middle)
        if middle + reach <= 0.0 or middle - reach > 0.25:
            return None
        lower, upper = (activity_probability(min(max(u, 0.0), 0.25)) for u in (middle - reach, middle + reach))
        return _intersection(allowed, lower, upper)

    @property
    def noise_interval(self) -> Interval | None:
        r"""A range that holds :math:`\nu` of every member; None if the region is certainly empty.

        From :math:`|\operatorname{tr}\widehat M_2 - q\nu - na_1| \le \sqrt q\,\epsilon_2`, with :math:`a_1 = p` in its
        interval, or the known one.
        """
        allowed, ends = self.calibration_class.shell.noise, list[list[float]]([[], []])
        if self.estimate is None or self.radii is None:
            return allowed
        q, n = self.calibration_class.q, self.calibration_class.n_atoms
        if self.calibration_class.unknown:
            range_of_p = self.activity_interval
            if range_of_p is None:
                return None
            ends = [[range_of_p.lower], [range_of_p.upper]]
        low, high = (law_moments(self.calibration_class.law(end), n).a1 for end in ends)
        trace = float(np.trace(self.estimate.second))
        reach = _outward(self.radii.second * sqrt(q), trace + n * high)
        return _intersection(allowed, (trace - reach - n * high) / q, (trace + reach - n * low) / q)


def median_of_means_region(
    rows: ArrayLike, calibration_class: CalibrationClass, alpha: float, split: tuple[float, float] | None = None
) -> MedianOfMeansRegion:
    r"""The region of independent calibration rows (N, q), at level :math:`\alpha = \alpha_D`.

    split: (alpha_2, alpha_4), the shares of the two moments; half each unless given.
    """
    alphas, q = check_split(alpha, split), calibration_class.q
    rows = check_array("rows", rows, (None, q))
    radii = moment_radii(len(rows), q, calibration_class.spectral_bound, alphas)
    return MedianOfMeansRegion(calibration_class, float(alpha), moment_estimate(rows, alphas), radii)


def _outward(reach: float, scale: float) -> float:
    """A reach widened by more than the rounding of a sum of this size, so that an interval stays proven in float64."""
    return reach * (1.0 + 1e-12) + 1e-12 * abs(scale)


def _intersection(allowed: Interval, lower: float, upper: float) -> Interval | None:
    low, high = max(allowed.lower, lower), min(allowed.upper, upper)
    return Interval(low, high) if low <= high else None


@final
@dataclass(frozen=True, slots=True, eq=False)
class BlockMeans:
    r"""Block means of one tensor power, and the multiplier of the standard error that most of them stay within."""

    means: Array  # (count, d), count odd
    size: int  # m
    multiplier: float  # c

    def median_distance(self, moment: Array) -> float:
        """Median over the blocks of the distance from a block mean to a moment (d,)."""
        return float(np.median(np.linalg.norm(self.means - moment, axis=1)))

    def radius(self, total_variance: float) -> float:
        r""":math:`c\sqrt{V/m}`."""
        return self.multiplier * sqrt(total_variance / self.size)


@final
@dataclass(frozen=True, slots=True, eq=False)
class InvertedMedianOfMeansRegion:
    r"""Parameters of the class with, for k = 2 and 4,
    :math:`\operatorname{med}_b\|\bar X_{k,b} - M_k(\theta)\|_F \le c_k\sqrt{V_k(\theta)/m_k}`, where
    :math:`V_k(\theta) = \mathbb E_\theta\|Y\|^{2k} - \|M_k(\theta)\|_F^2` and :math:`\bar X_{k,b}` is the mean of
    :math:`Y^{\otimes k}` over block b.

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

    calibration_class: CalibrationClass
    alpha: float
    second: BlockMeans
    fourth: BlockMeans

    def membership(self, parameter: CalibrationParameter) -> Membership:
        """Every inequality of the class, then those of the two moments."""
        moments = _moments(parameter)
        names = ("blocks near the second moment", "blocks near the fourth moment")
        near = (
            Condition(name, blocks.median_distance(moment), blocks.radius(variance))
            for name, blocks, moment, variance in zip(
                names, (self.second, self.fourth), moments, _variances(parameter, *moments), strict=True
            )
        )
        return Membership((*self.calibration_class.membership(parameter).conditions, *near))


def inverted_median_of_means_region(
    rows: ArrayLike, calibration_class: CalibrationClass, alpha: float, split: tuple[float, float] | None = None
) -> InvertedMedianOfMeansRegion:
    """The region of independent calibration rows (N, q); any N >= 1 carries information.

    split: (alpha_2, alpha_4), the shares of the two moments; half each unless given.
    """
    alphas = check_split(alpha, split)
    rows = check_array("rows", rows, (None, calibration_class.q))
    means = []
    for order, share in zip((2, 4), alphas, strict=True):
        blocks, multiplier = median_distance_blocks(len(rows), share)
        means.append(BlockMeans(block_moments(rows, blocks, order), blocks.size, multiplier))
    return InvertedMedianOfMeansRegion(calibration_class, float(alpha), *means)


def median_distance_blocks(n_rows: int, alpha: float) -> tuple[Blocks, float]:
    r"""The odd number of blocks B with the smallest radius, and its multiplier.

    :math:`c_B = I^{-1}(\alpha;\tfrac{B+1}2,\tfrac{B+1}2)^{-1/2}` minimised as :math:`c_B/\sqrt{\lfloor N/B\rfloor}`; it
    depends on N and alpha alone, never on data.  B = 1 is Chebyshev's inequality for the mean of all rows.
    """
    n_rows, alpha = check_count("n_rows", n_rows), check_open("alpha", alpha, 0.0, 1.0)
    # For small alpha the best B is near 1.8 log(1/alpha); twice that and a few more hold it.
    counts = np.arange(1, min(n_rows, int(4.0 * log(1.0 / alpha)) + 8) + 1, 2)
    sizes = n_rows // counts
    half = (counts + 1) / 2.0
    multipliers = betaincinv(half, half, alpha) ** -0.5
    best = int(np.argmin(multipliers / np.sqrt(sizes)))
    return Blocks(int(counts[best]), int(sizes[best])), float(multipliers[best])


def total_variances(parameter: CalibrationParameter) -> tuple[float, float]:
    r""":math:`V_k = \mathbb E\|Y\|^{2k} - \|M_k\|_F^2` for k = 2, 4: the summed variances of the coordinates of Y^k."""
    return _variances(parameter, *_moments(parameter))


def _moments(parameter: CalibrationParameter) -> tuple[Array, Array]:
    law, atoms, noise = parameter.law, parameter.dictionary.atoms, parameter.noise
    return matrix_coordinates(second_moment(law, atoms, noise)), fourth_moment(law, atoms, noise)


def _variances(parameter: CalibrationParameter, second: Array, fourth: Array) -> tuple[float, float]:
    raw = squared_norm_moments(parameter.law, parameter.dictionary.atoms, parameter.noise)
    return raw[0] - float(second @ second), raw[1] - float(fourth @ fourth)
