"""Companions of the rotation test: what the fitted coefficients and the residual energy alone say."""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import chdtrc, ndtr, stdtr

from ..._checks import check_open, check_positive
from ..._errors import MisuseError
from ._contest import Rotations

SHARE = 0.1


@final
@dataclass(frozen=True, slots=True)
class Companions:
    r"""Tests of :math:`(Pz, |Qz|)` alone, so that the rotation tests are exact given them.

    The levels follow the product rule: at :math:`\alpha_c` = share of the level, the rotation tests keep
    :math:`1 - (1-\alpha)/(1-\alpha_c)`.

    low, high: every active coefficient lies between them (real rows).  least: every active coefficient has at least
    this absolute value.  largest_noise: the standard deviation of the noise is at most this.
    """

    low: float | None = None
    high: float | None = None
    least: float | None = None
    largest_noise: float | None = None
    share: float = SHARE

    def __post_init__(self) -> None:
        check_open("share", self.share, 0.0, 1.0)
        if all(bound is None for bound in (self.low, self.high, self.least, self.largest_noise)):
            raise MisuseError("companions", "bound the coefficients or the noise", "nothing")
        if self.low is not None and self.high is not None and not self.low <= self.high:
            raise MisuseError("companions", "have low at most high", (self.low, self.high))
        for name in ("least", "largest_noise"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))

    @property
    def tests_coefficients(self) -> bool:
        """Whether any bound is one of coefficients."""
        return any(bound is not None for bound in (self.low, self.high, self.least))

    def check(self, rows: Rotations) -> None:
        """Refuse what these rows cannot tell."""
        if self.tests_coefficients and not rows.has_common_mean:
            raise MisuseError("companions", "leave the coefficients of free rows open", "a bound of them")
        if self.largest_noise is not None and rows.own_sigma > 0.0:
            raise MisuseError("companions", "leave out the largest noise where sigma is known", self.largest_noise)
        if rows.parts == 2 and (self.low is not None or self.high is not None):
            raise MisuseError("companions", "bound complex coefficients by least alone", "low or high")

    def p_value(self, rows: Rotations, e: int) -> float:
        """Smallest p-value of e over all tests, times their number."""
        energy, freedom = rows.residuals(e)
        found = self._coefficients(rows, e, energy, freedom) if self.tests_coefficients else []
        if self.largest_noise is not None:
            radius = max(np.sqrt(energy) - rows.rounding(e), 0.0) * np.sqrt(rows.parts)
            found.append(float(chdtrc(freedom, (radius / self.largest_noise) ** 2)))
        return min(1.0, len(found) * float(np.nan_to_num(found, nan=1.0).min())) if found else 1.0

    def _coefficients(self, rows: Rotations, e: int, energy: float, freedom: int) -> list[float]:
        r"""T tests of :math:`\hat\theta`, two one-sided ones for two bounds.

        Where :math:`|\theta| \ge b`, also :math:`|\hat\theta|` is at least the coordinate of :math:`\hat\theta` along
        :math:`\theta`, which is at least b up to an error that is one coordinate of the noise.
        """

        def below(value: float) -> float:
            return float(ndtr(value) if rows.own_sigma > 0.0 else stdtr(freedom, value))

        fitted, spread = rows.coefficients(e)
        found = []
        errors, off = spread * (rows.own_sigma or np.sqrt(energy / freedom)), spread * rows.rounding(e)
        for value, error, more in zip(fitted, errors, off, strict=True):
            if self.low is not None:
                found.append(below((value + more - self.low) / error))
            if self.high is not None:
                found.append(below((self.high - value + more) / error))
            if self.least is not None:
                found.append(below((abs(value) + more - self.least) / error))
        return found
