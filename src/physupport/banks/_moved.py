"""How far laws of rows are apart, and what a level becomes over such a distance."""

from math import exp, log, log1p, sqrt
from typing import NamedTuple

from .._checks import check_open
from .._errors import MisuseError

# Relative, of levels: far more than functions and roots are off.
_ROUNDING = 1e-9


class Moved(NamedTuple):
    r"""How far the law of all rows moves: its divergence of Kullback and Leibler from the law before, at most.

    is_shift: whether the rows are Gaussian and only their mean moves, by :math:`\eta = \sqrt{2\kappa}` of the noise.
    """

    kappa: float
    is_shift: bool

    @property
    def eta(self) -> float:
        """The shift that has this divergence."""
        return sqrt(2.0 * self.kappa)

    def times(self, factor: float) -> "Moved":
        """All moves so many times as long."""
        return self._replace(kappa=self.kappa * factor**2)

    def level(self, alpha: float) -> float:
        r"""The level a' of the law before at which any test has level alpha under the law after.

        Of a shift :math:`a' = \Phi(\Phi^{-1}(\alpha) - \eta)`, by Neyman and Pearson.  Else the smaller root of
        :math:`\mathrm{kl}(\alpha\,\|\,a') = \kappa`: what a test says has no larger divergence than the rows.
        """
        asked = check_open("alpha", alpha, 0.0, 1.0)
        if self.kappa == 0.0:
            return asked
        before = _shifted(asked, self.eta) if self.is_shift else _lower_root(asked, self.kappa)
        if before == 0.0:
            remedy = "Allow cells a smaller eta."
            raise MisuseError("alpha", "leave some level after the moves within cells", f"{asked:g}", remedy)
        return before * (1.0 - _ROUNDING)


def _shifted(b: float, eta: float) -> float:
    """The a that a shift by eta brings up to b."""
    from scipy.special import ndtr, ndtri  # slow to load, and most analyses have no cells

    return float(ndtr(ndtri(b) - eta))


def _lower_root(b: float, kappa: float) -> float:
    """The a below b with kl(b || a) = kappa, on the scale of log a."""
    from scipy.optimize import brentq

    def beyond(log_a: float) -> float:
        a = exp(log_a)
        return b * (log(b) - log_a) + (1.0 - b) * (log1p(-b) - log1p(-a)) - kappa

    # kl(b || a) is at least b log(b / a) + (1 - b) log(1 - b).
    lowest = log(b) - (kappa - (1.0 - b) * log1p(-b)) / b - 1.0
    return exp(float(brentq(beyond, lowest, log(b), xtol=1e-14)))


def shift(moves: float) -> Moved:
    """Of the mean of Gaussian rows, in units of the noise."""
    return Moved(0.5 * moves**2, is_shift=True)
