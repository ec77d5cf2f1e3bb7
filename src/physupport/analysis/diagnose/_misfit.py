"""Whether the held-out rows have the energy that an explanation expects."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, isnan, nan, sqrt
from typing import final

import numpy as np
from scipy.special import chdtr, chdtrc

from ..._checks import check_count
from ..._typing import Array
from ...banks import Bank
from ...io import ArrayRows
from ...laws import CodeLaw, law_moments
from .._proposed_stream import ProposedStream
from .._result import Result
from ._asked import Asked
from ._laws import as_complex, deployment_factors, deployment_means, entry_noise

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
    r"""The energy of the held-out rows under one explanation, a stream each.

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
    parts = [part for part in result.seal.parts if part.plan.kind != "profiled mean" or part.checkpoints[-1] > 1]
    return tuple(_stream_misfit(part, asked.bank, chosen) for part in parts)


def latent_energy_variance(law: CodeLaw, atoms: Array, noise: float) -> float:
    r"""Variance of :math:`Q = y^\top C^{-1}y` for a row :math:`y = Dc + \xi` with C its covariance, so :math:`EQ = q`.

    With :math:`A = C^{-1},\ B = D^\top AD` and the moments :math:`a_1, a_{2d}, a_{2o}` of the codes,
    :math:`E(c^\top Bc)^2 = 3a_{2d}\sum_iB_{ii}^2 + a_{2o}\sum_{i\ne j}(B_{ii}B_{jj} + 2B_{ij}^2)`, and the rest of
    :math:`Q = c^\top Bc + 2c^\top D^\top A\xi + \xi^\top A\xi` is Gaussian given c.  No active set is listed.
    The singular values s of :math:`\sqrt{a_1/\nu}D` give :math:`\nu A` the eigenvalues :math:`t = 1/(1 + s^2)` and
    :math:`a_1B` the eigenvalues 1 - t, all between 0 and 1 whatever the noise.
    atoms: (q, n).
    """
    q, n = atoms.shape
    moments = law_moments(law, n)
    _, s, right = np.linalg.svd(latent_factor(law, atoms) / sqrt(noise), full_matrices=False)
    t, rest = 1.0 / (1.0 + s**2), q - len(s)  # outside the span of D the eigenvalue is 1
    b = (right.T * (1.0 - t)) @ right  # a_1 B, (n, n)
    own, trace_b, trace_a = float(np.sum(np.diag(b) ** 2)), float(np.sum(1.0 - t)), float(np.sum(t)) + rest
    pairs = trace_b**2 - own + 2.0 * (float(np.sum(b**2)) - own)
    square = moments.a1**2 or 1.0  # codes that are always 0 have b = 0
    codes = 3.0 * moments.a2d / square * own + moments.a2o / square * pairs
    cross = 4.0 * float(np.sum((1.0 - t) * t))
    disturbance = trace_a**2 + 2.0 * (float(np.sum(t**2)) + rest)
    return float(codes + cross + disturbance + 2.0 * trace_b * trace_a - float(q) ** 2)


def latent_factor(law: CodeLaw, atoms: Array) -> Array:
    r""":math:`F = \sqrt{a_1}D`, so that a row with latent codes has the covariance :math:`\nu I + FF^\top`; (q, n)."""
    return np.asarray(sqrt(law_moments(law, atoms.shape[1]).a1) * atoms)


def _stream_misfit(part: ProposedStream, bank: Bank, e: int) -> Misfit:
    q, n_rows = len(bank.states.elements), int(part.checkpoints[-1])
    if part.plan.kind == "profiled mean":
        n_rows -= 1
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            energy, variance = _energy(part, bank, e)
    except np.linalg.LinAlgError:
        energy, variance = nan, nan
    is_exact = part.plan.kind != "latent"
    return Misfit(part.name, e, energy, float(n_rows * q), sqrt(n_rows * variance), is_exact)


def _energy(part: ProposedStream, bank: Bank, e: int) -> tuple[float, float]:
    """The energy of all rows, and the variance of that of one row."""
    variance = 2.0 * len(bank.states.elements)
    match part.plan.kind:
        case "latent":
            return _latent_energy(part, bank, e)
        case "known codes":
            return _code_energy(part, bank, e), variance
        case "profiled mean":
            return _scatter(part, bank, e), variance
        case _:
            return _deployment_energy(part, bank, e), variance


def _blocks(part: ProposedStream) -> Iterator[Array]:
    """The held-out rows that were judged."""
    return ArrayRows(part.table, part.split.held_out[: int(part.checkpoints[-1])]).blocks()


def _whitened_energy(part: ProposedStream, factor: Array, noise: float) -> float:
    r""":math:`\sum_iz_i^\top(\nu I + FF^\top)^{-1}z_i`; a noise far below the signal does not drown in rounding.

    factor: F, (q, r).
    """
    scale = sqrt(noise)
    basis, s, _ = np.linalg.svd(factor / scale, full_matrices=False)  # (q, m), (m,)
    total = 0.0
    for rows in _blocks(part):
        scaled = rows / scale
        inside = scaled @ basis
        total += float(np.sum((inside / np.sqrt(1.0 + s**2)) ** 2))
        # A basis of the whole space leaves nothing outside but rounding.
        total += 0.0 if len(s) == len(factor) else float(np.sum((scaled - inside @ basis.T) ** 2))
    return total


def _deployment_energy(part: ProposedStream, bank: Bank, e: int) -> float:
    keys = bank.deployment_keys(e)
    if part.plan.kind == "covariance":
        (factor,), (noise,) = deployment_factors(part, bank, keys)
        return _whitened_energy(part, factor, float(noise))
    (mean,), (variance,) = deployment_means(part, bank, keys)
    return _squares(part, mean, float(variance))


def _scatter(part: ProposedStream, bank: Bank, e: int) -> float:
    mean = np.asarray(sum(rows.sum(axis=0) for rows in _blocks(part)) / float(part.checkpoints[-1]))
    return _squares(part, mean, float(entry_noise(part, bank.split(e).deployment)[0]))


def _squares(part: ProposedStream, mean: Array, variance: float) -> float:
    # Divided before they are squared: squares leave the range of double precision first.
    return float(sum(np.sum(((rows - mean) / sqrt(variance)) ** 2) for rows in _blocks(part)))


def _latent_energy(part: ProposedStream, bank: Bank, e: int) -> tuple[float, float]:
    """The energy, and its variance for one row."""
    atoms, nuisance = bank.explanation(e).atoms, int(bank.split(e).calibration[0])
    law, noise = part.law.laws[nuisance], float(part.law.noises[nuisance])
    energy = _whitened_energy(part, latent_factor(law, atoms), noise)
    return energy, latent_energy_variance(law, atoms, noise)


def _code_energy(part: ProposedStream, bank: Bank, e: int) -> float:
    atoms, q = bank.explanation(e).atoms, len(bank.states.elements)
    scale, total = sqrt(entry_noise(part, bank.split(e).calibration)[0]), 0.0
    for rows in _blocks(part):
        measured, codes = rows[:, :q].T, rows[:, q:].T  # (q, b), (n, b)
        if part.law.is_complex:
            total += float(np.sum(np.abs((as_complex(measured) - as_complex(atoms) @ as_complex(codes)) / scale) ** 2))
        else:
            total += float(np.sum(((measured - atoms @ codes) / scale) ** 2))
    return total
