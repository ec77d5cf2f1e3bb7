"""Whether the held-out rows have the energy that an explanation expects."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np
from scipy.linalg import solve_triangular

from .._checks import check_count
from .._typing import Array
from ..aeb import ProposedStream
from ..banks import Bank
from ..estimator import Result
from ..models import CodeLaw, law_moments
from ..retain.streams import ArrayRows
from ._asked import Asked
from ._laws import as_complex, deployment_covariances, deployment_means, entry_noise

# Standard deviations from which on rows and law are said not to fit: by chance rarer than one in several thousand.
MISFIT = 4.0


@final
@dataclass(frozen=True, slots=True)
class Misfit:
    """The energy of the held-out rows of one stream under one explanation, and what that explanation expects of it."""

    stream: str
    explanation: int
    statistic: float
    expected: float
    deviation: float  # standard deviation if the explanation made the rows

    @property
    def z(self) -> float:
        """How many standard deviations the energy is too large."""
        return (self.statistic - self.expected) / self.deviation

    @property
    def is_misfit(self) -> bool:
        """Whether the energy is farther off than chance accounts for."""
        return abs(self.z) > MISFIT

    @property
    def sentence(self) -> str:
        """In words."""
        ratio = self.statistic / self.expected
        said = (
            f"The held-out {self.stream} rows have {ratio:.4g} times the energy that explanation {self.explanation} "
            f"expects of them ({self.z:+.1f} standard deviations)"
        )
        if not self.is_misfit:
            return f"{said}: no sign of a misfit."
        if self.z > 0.0:
            return (
                f"{said}: the noise or the strengths of the bank are too small, or something active is missing in it."
            )
        return f"{said}: the noise or the strengths of the bank are too large, or the rows were scaled."


def misfit(result: Result, explanation: int | None = None) -> tuple[Misfit, ...]:
    r"""The energy of the held-out rows under one explanation, a stream each.

    Covariance, mean and known codes: :math:`\sum_i\|\Sigma^{-1/2}(z_i - \mu_i)\|^2`, which is chi-square with one
    degree of freedom for every number in the rows, if the explanation made them.  Latent codes:
    :math:`\sum_iy_i^\top C^{-1}y_i` with the covariance C of the whole mixture, of mean q a row and the variance of
    `latent_energy_variance`, both exact.  Profiled mean: the scatter of the rows about their own mean, which is
    chi-square with q degrees of freedom fewer whatever the coefficients are; a single row has none.

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
    atoms: (q, n).
    """
    q, n = atoms.shape
    moments = law_moments(law, n)
    a = np.linalg.inv(latent_covariance(law, atoms, noise))
    b = atoms.T @ a @ atoms
    own, trace_b, trace_a = float(np.sum(np.diag(b) ** 2)), float(np.trace(b)), float(np.trace(a))
    pairs = trace_b**2 - own + 2.0 * (float(np.sum(b**2)) - own)
    codes = 3.0 * moments.a2d * own + moments.a2o * pairs
    cross = 4.0 * noise * moments.a1 * float(np.sum((a @ atoms) ** 2))
    disturbance = noise**2 * (trace_a**2 + 2.0 * float(np.sum(a**2)))
    return codes + cross + disturbance + 2.0 * moments.a1 * trace_b * noise * trace_a - float(q) ** 2


def latent_covariance(law: CodeLaw, atoms: Array, noise: float) -> Array:
    r""":math:`C = \nu I + a_1DD^\top`, the covariance of a row with latent codes; (q, q)."""
    return np.asarray(noise * np.eye(len(atoms)) + law_moments(law, atoms.shape[1]).a1 * atoms @ atoms.T)


def _stream_misfit(part: ProposedStream, bank: Bank, e: int) -> Misfit:
    q, n_rows = len(bank.states.elements), int(part.checkpoints[-1])
    variance = 2.0 * q
    match part.plan.kind:
        case "latent":
            energy, variance = _latent_energy(part, bank, e)
        case "known codes":
            energy = _code_energy(part, bank, e)
        case "profiled mean":
            energy, n_rows = _scatter(part, bank, e), n_rows - 1
        case _:
            energy = _deployment_energy(part, bank, e)
    return Misfit(part.name, e, energy, float(n_rows * q), sqrt(n_rows * variance))


def _blocks(part: ProposedStream) -> Iterator[Array]:
    """The held-out rows that were judged."""
    return ArrayRows(part.table, part.split.held_out[: int(part.checkpoints[-1])]).blocks()


def _whitened_energy(part: ProposedStream, covariance: Array) -> float:
    factor = np.linalg.cholesky(covariance)
    parts = (np.sum(solve_triangular(factor, rows.T, lower=True) ** 2) for rows in _blocks(part))
    return float(sum(parts))


def _deployment_energy(part: ProposedStream, bank: Bank, e: int) -> float:
    keys = bank.deployment_keys(e)
    if part.plan.kind == "covariance":
        return _whitened_energy(part, deployment_covariances(part, bank, keys)[0])
    (mean,), (variance,) = deployment_means(part, bank, keys)
    return float(sum(np.sum((rows - mean) ** 2) for rows in _blocks(part)) / variance)


def _scatter(part: ProposedStream, bank: Bank, e: int) -> float:
    mean = sum(rows.sum(axis=0) for rows in _blocks(part)) / float(part.checkpoints[-1])
    return float(
        sum(np.sum((rows - mean) ** 2) for rows in _blocks(part)) / entry_noise(part, bank.split(e).deployment)[0]
    )


def _latent_energy(part: ProposedStream, bank: Bank, e: int) -> tuple[float, float]:
    """The energy, and its variance for one row."""
    atoms, nuisance = bank.explanation(e).atoms, int(bank.split(e).calibration[0])
    law, noise = part.law.laws[nuisance], float(part.law.noises[nuisance])
    energy = _whitened_energy(part, latent_covariance(law, atoms, noise))
    return energy, latent_energy_variance(law, atoms, noise)


def _code_energy(part: ProposedStream, bank: Bank, e: int) -> float:
    atoms, q = bank.explanation(e).atoms, len(bank.states.elements)
    total = 0.0
    for rows in _blocks(part):
        measured, codes = rows[:, :q].T, rows[:, q:].T  # (q, b), (n, b)
        if part.law.is_complex:
            total += float(np.sum(np.abs(as_complex(measured) - as_complex(atoms) @ as_complex(codes)) ** 2))
        else:
            total += float(np.sum((measured - atoms @ codes) ** 2))
    return total / float(entry_noise(part, bank.split(e).calibration)[0])
