"""Whether the held-out rows have the energy that an explanation expects."""

from dataclasses import dataclass
from math import isfinite, isnan
from typing import final

import numpy as np
from scipy.special import chdtr, chdtrc

from ..._checks import check_count
from ...banks import Bank
from .._proposed_stream import ProposedStream
from .._result import Result
from ._asked import Asked

# Two-sided probability below which rows and law are said not to fit: by chance one stream in a thousand.
MISFIT = 1e-3
_SMALLEST = 1e-6  # smaller probabilities are not written out
_LARGEST = 1e6  # more standard deviations are written as a power of ten


@final
@dataclass(frozen=True, slots=True)
class Misfit:
    """The energy of the held-out rows of one stream under one explanation, and what that explanation expects of it.

    is_exact: whether the energy is chi-square if the explanation made the rows; of latent codes only mean and
    deviation are known.
    An energy beyond the range of double precision is infinite; one that cannot be computed is NaN, and with it z and
    the probability.
    """

    stream: str
    explanation: int
    statistic: float
    expected: float
    deviation: float  # standard deviation if the explanation made the rows
    is_exact: bool = True

    @property
    def z(self) -> float:
        """How many standard deviations the energy is too large."""
        return (self.statistic - self.expected) / self.deviation

    @property
    def probability(self) -> float:
        r"""Two-sided: twice the smaller tail, of an energy at least as far off if the explanation made the rows.

        The law is that of :math:`(\mu/f)\chi^2_f` with :math:`f = 2\mu^2/\sigma^2`, which has mean and deviation of
        the energy: the law itself where it is chi-square, with f = mu, and an approximation where `is_exact` is not.
        """
        freedom = 2.0 * (self.expected / self.deviation) ** 2
        scaled = freedom * self.statistic / self.expected
        return float(np.minimum(1.0, 2.0 * np.minimum(chdtr(freedom, scaled), chdtrc(freedom, scaled))))

    @property
    def is_misfit(self) -> bool:
        """Whether the energy is farther off than chance accounts for: its probability is below 0.001."""
        return self.probability < MISFIT

    @property
    def sentence(self) -> str:
        """In words."""
        if not isfinite(self.z):
            return self._why_not
        ratio = self.statistic / self.expected
        off = f"{self.z:+.1f}" if abs(self.z) < _LARGEST else f"{self.z:+.3g}"
        said = (
            f"The held-out {self.stream} rows have {ratio:.4g} times the energy that explanation {self.explanation} "
            f"expects of them ({off} standard deviations; two-sided probability {self._chance})"
        )
        if not self.is_misfit:
            return f"{said}: no sign of a misfit."
        if self.z > 0.0:
            return (
                f"{said}: the noise or the strengths of the bank are too small, or something active is missing in it."
            )
        return f"{said}: the noise or the strengths of the bank are too large, or the rows were scaled."

    @property
    def _why_not(self) -> str:
        """Why there is no number."""
        if isnan(self.z):
            return (
                f"Whether the held-out {self.stream} rows have the energy that explanation {self.explanation} expects "
                f"of them cannot be computed: its noise and its strengths are too many powers of ten apart for double "
                f"precision."
            )
        return (
            f"The held-out {self.stream} rows have more energy under explanation {self.explanation} than double "
            f"precision can hold, while it expects {self.expected:.4g}: rows and bank differ by many powers of ten, so "
            f"their units may be mixed up."
        )

    @property
    def _chance(self) -> str:
        if self.probability < _SMALLEST:
            return f"below {_SMALLEST:.0e}"
        return f"{'' if self.is_exact else 'about '}{self.probability:.2g}"


def misfit(result: Result, explanation: int | None = None) -> tuple[Misfit, ...]:
    r"""The energy of the held-out rows under one explanation, for each stream whose law knows one.

    Covariance, mean and known codes: :math:`\sum_i\|\Sigma^{-1/2}(z_i - \mu_i)\|^2`, which is chi-square with one
    degree of freedom for every number in the rows, if the explanation made them.  Latent codes:
    :math:`\sum_iy_i^\top C^{-1}y_i` with the covariance C of the whole mixture, of mean q a row and the variance of
    `latent_energy_variance`, both exact, while its tails are approximated.  Profiled mean: the scatter of the rows
    about their own mean, which is chi-square with q degrees of freedom fewer whatever the coefficients are; a single
    row has none.

    explanation: the best of the proposal rows unless given, or, if that is not admissible, the admissible one with the
    least evidence against it.  The reference is exact for an explanation fixed without held-out rows.
    """
    asked = Asked(result)
    chosen = asked.reference if explanation is None else check_count("explanation", explanation, 0, asked.bank.size - 1)
    misfits = (_stream_misfit(part, asked.bank, chosen) for part in result.seal.parts)
    return tuple(one for one in misfits if one is not None)


def _stream_misfit(part: ProposedStream, bank: Bank, explanation: int) -> Misfit | None:
    with np.errstate(over="ignore", invalid="ignore"):
        energy = part.law.energy(bank, explanation, part.judged)
    return None if energy is None else Misfit(part.name, explanation, *energy)
