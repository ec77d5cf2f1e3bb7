"""How far laws of rows are apart, and what a level becomes over such a distance."""

from math import exp, expm1, log, log1p, sqrt
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
        return _left(asked, _shifted(asked, self.eta) if self.is_shift else _lower_root(asked, self.kappa))


class Scaled(NamedTuple):
    r"""How far the law of all rows moves where normal numbers of mean 0 behind them change their variances.

    groups: sets of so many numbers each; those of a set are of one variance, which changes by a factor of its own
    between 1 / ratio and ratio.  Rows are made of these numbers by what does not change, so that no test of rows tells
    more than one of the numbers.
    """

    numbers: float
    ratio: float
    groups: int = 1

    @property
    def eta(self) -> float:
        r"""The shift that has the largest divergence, :math:`\sqrt{n(\rho - 1 - \log\rho)}` for n numbers in all."""
        far = log(self.ratio)
        # Of nearly equal numbers the difference would be rounding alone.
        excess = expm1(far) - far if far > 1e-4 else 0.5 * far**2 * (1.0 + far)
        return sqrt(self.groups * self.numbers * excess)

    def level(self, alpha: float) -> float:
        r"""The level a' of the law before at which any test has level alpha under the law after.

        Of n numbers whose variances grow by :math:`\rho` the best test rejects where their squares are large:
        :math:`a' = Q_n(\rho Q_n^{-1}(\alpha))` with :math:`Q_n(x) = P(\chi^2_n > x)`; if they shrink, where small.
        Smaller factors are no easier to see: a number times c, with noise of variance :math:`1 - c^2` added, stays what
        it was under the law before, and its factor comes down to any between.  Sets that grow and sets that shrink are
        two moves, one after the other, and the worst number of each counts.
        """
        asked = check_open("alpha", alpha, 0.0, 1.0)
        before = asked
        for up in range(self.groups + 1):
            grown = _grown(up * self.numbers, self.ratio, asked)
            before = min(before, _shrunk((self.groups - up) * self.numbers, self.ratio, grown))
        return asked if self.ratio == 1.0 else _left(asked, before)


def _grown(n: float, ratio: float, alpha: float) -> float:
    """The level before n variances grew, of the test that rejects large squares."""
    from scipy.special import gammaincc, gammainccinv

    return alpha if n == 0.0 else float(gammaincc(0.5 * n, ratio * float(gammainccinv(0.5 * n, alpha))))


def _shrunk(n: float, ratio: float, alpha: float) -> float:
    """The level before n variances shrank, of the test that rejects small squares."""
    from scipy.special import gammainc, gammaincinv

    return alpha if n == 0.0 else float(gammainc(0.5 * n, float(gammaincinv(0.5 * n, alpha)) / ratio))


def _left(asked: float, before: float) -> float:
    """The level before, less what is rounded; none at all is refused."""
    if before <= 0.0:
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
