"""The calibration region of the paper: parameters whose moments lie in the median-of-means rectangle."""

from dataclasses import dataclass
from math import sqrt
from typing import Protocol, final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import Interval, check_array
from ..._errors import MisuseError
from ..._membership import Condition, Membership
from ...laws import law_moments
from ._calibration import CalibrationClass, CalibrationParameter
from ._median_of_means import MomentEstimate, MomentRadii, check_split, moment_estimate, moment_radii
from ._moments import activity_probability, fourth_cumulant, second_moment
from ._tensors import double_contraction


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
        allowed = self.calibration_class.activity
        if not isinstance(allowed, Interval):
            raise MisuseError("calibration_class.activity", "be a range of activity probabilities", "a known law")
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
        allowed, activity = self.calibration_class.shell.noise, self.calibration_class.activity
        if self.estimate is None or self.radii is None:
            return allowed
        q, n = self.calibration_class.q, self.calibration_class.n_atoms
        if isinstance(activity, Interval):
            range_of_p = self.activity_interval
            if range_of_p is None:
                return None
            low, high = range_of_p.lower, range_of_p.upper
        else:
            low = high = law_moments(activity, n).a1
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
