"""Deployment with fixed source amplitudes: rows share one mean, a given combination of the active atoms."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from flint import fmpq
from numba import njit
from numpy.typing import ArrayLike

from ..._checks import check_array
from ..._typing import Array, IntArray
from ...banks import Bank, array_bank
from ...io import RowSource
from ...io._rows import atom_table
from .._balls import add, mul, sub
from .._law import Energy, Part, Sampler, register
from .._noisy import NoisyLaw, chi_square, squares
from ._gaussian_exact import ExactMoments, exact_residual, rational
from ._white_noise import (
    Known,
    ResidualMoments,
    Sums,
    WhiteNoiseStream,
    check_noises,
    filled,
    mean_divergences,
    residual_sums,
    white_noise_stream,
)


@register
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Mean(NoisyLaw):
    r"""Rows :math:`z_i = \sum_jx_ja_j + \sqrt\nu\,\varepsilon_i` with the coefficients x that the bank represents."""

    name: ClassVar[str] = "mean"
    part: ClassVar[Part] = "deployment"

    def means(self, bank: Bank, keys: IntArray) -> tuple[Array, Array]:
        r"""(k, q) :math:`\sum_jx_ja_j`, and (k,) the variance of each real entry of a row."""
        parts, elements = bank.deployment_parts(keys), bank.states.elements
        means = np.einsum("qkr,kr->kq", elements[:, parts.elements], parts.strengths)
        return np.asarray(means), self.entry_noises(parts.nuisance)

    def sample(self, bank: Bank, explanation: int, rng: np.random.Generator, n_rows: int) -> Array:
        """(n_rows, q) rows about the mean of an explanation."""
        (mean,), (variance,) = self.means(bank, bank.deployment_keys(explanation))
        return np.asarray(mean + np.sqrt(variance) * rng.standard_normal((n_rows, len(mean))))

    def sampler(self, bank: Bank, rows: RowSource) -> Sampler:
        r"""The mean of n rows and their scatter about it, :math:`N(\mu, \nu/n)` and :math:`\nu\chi^2_{(n-1)q}`."""
        n, q = rows.n_rows, rows.width

        def draw(key: int, keys: IntArray, rng: np.random.Generator, count: int) -> Array:
            (own,), (noise,) = self.means(bank, np.array([key]))
            means, noises = self.means(bank, keys)  # (r, q), (r,)
            off = np.sqrt(noise / n) * rng.standard_normal((count, q))  # of the mean of the rows from its own
            scatter = noise * rng.chisquare((n - 1) * q, count) if n > 1 else np.zeros(count)
            gaps = means - own
            squares = np.sum(off**2, axis=1)[:, None] - 2.0 * off @ gaps.T + np.sum(gaps**2, axis=1)
            return np.asarray(-0.5 * (n * q * np.log(2.0 * np.pi * noises) + (scatter[:, None] + n * squares) / noises))

        return draw

    def stream(self, bank: Bank, rows: RowSource, checkpoints: ArrayLike) -> "WhiteNoiseStream[MeanResiduals]":
        """The rows (N, q), read once and scored under every deployment key; strengths are coefficients.

        If complex, the phase of a source belongs to its element.
        """
        table = atom_table(bank.states.elements, self.is_complex, has_phase=False)
        noises = check_noises(self.variances, self.is_complex, len(bank.deployment))
        return white_noise_stream((rows,), MeanResiduals(bank, noises, table), table.shape[1], checkpoints)

    def fitted(self, bank: Bank, explanation: int, rows: RowSource) -> Array:  # noqa: ARG002
        """(q,) the mean of the explanation, whatever the rows."""
        return np.asarray(self.means(bank, bank.deployment_keys(explanation))[0][0])

    def energy(self, bank: Bank, explanation: int, rows: RowSource) -> Energy:
        r""":math:`\sum_i\|z_i - \mu\|^2/\nu`, chi-square."""
        (mean,), (variance,) = self.means(bank, bank.deployment_keys(explanation))
        return chi_square(squares(rows, mean, float(variance)), rows.n_rows * len(mean))

    def divergences(self, bank: Bank, key: int, keys: IntArray) -> Array:
        """(k,) in closed form; exactly 0 from itself."""
        (mean,), (variance,) = self.means(bank, np.array([key]))
        divergences = mean_divergences(mean, float(variance), *self.means(bank, keys))
        divergences[keys == key] = 0.0
        return divergences


@final
@dataclass(frozen=True, slots=True, eq=False)
class MeanResiduals:
    r""":math:`z_i - \sum_jx_ja_j`; keys are the deployment keys of the bank."""

    is_density: ClassVar[bool] = True

    bank: Bank
    noises: Array  # (m,), one for each deployment nuisance
    table: Array  # (E, q)

    @property
    def n_keys(self) -> int:
        """The deployment keys of the bank."""
        return self.bank.n_deployment_keys

    def sums(self, keys: IntArray, moments: ResidualMoments) -> Sums:
        """One for each key."""
        parts = self.bank.deployment_parts(keys)

        def fill(part: slice, sums: Array, e_sums: Array) -> None:
            elements, coefficients = parts.elements[part], parts.strengths[part]
            _mean_residuals(elements, coefficients, self.table, moments.known, sums, e_sums)

        return Sums(*filled(len(keys), moments, 64, fill), np.arange(len(keys)), self.noises[parts.nuisance])

    def exact(self, key: int, moments: ResidualMoments, exact: ExactMoments) -> tuple[list[fmpq], float]:  # noqa: ARG002
        """The residual sums of squares as rational numbers."""
        parts = self.bank.deployment_parts(np.array([key]))
        active = parts.elements[0] >= 0
        mean = rational(parts.strengths[:, active]) * rational(self.table[parts.elements[0, active]])  # (1, q)
        return [exact_residual(mean, *sums) for sums in exact], float(self.noises[parts.nuisance[0]])


def point_stream(
    rows: RowSource, mean: ArrayLike, noise: float, checkpoints: ArrayLike
) -> WhiteNoiseStream[MeanResiduals]:
    """A stream with one key: rows scattered about one given mean, such as one fitted to proposal rows.

    rows: (N, q).  mean: (q,).  The usual numerator against explanations whose coefficients are profiled.
    """
    point = check_array("mean", mean, (rows.width,))
    length = float(np.linalg.norm(point))
    direction = point / length if length > 0.0 else np.eye(len(point))[0]
    # One atom along the mean; no active atom is the mean zero.
    bank = array_bank(direction[None, :, None], [(0,) if length > 0.0 else ()], strengths=length or 1.0)
    return Mean(noises=[noise]).stream(bank, rows, checkpoints)


@njit(cache=True)
def mean_difference(
    elements: IntArray, coefficients: Array, table: Array, reference: Array, delta: Array, e_delta: Array
) -> None:
    """Balls of sum_j x_j a_j - reference, (1, q), over the elements (r,) before the padding."""
    for a in range(table.shape[1]):
        v, e = 0.0, 0.0
        for j in range(len(elements)):
            if elements[j] < 0:
                break
            x, ex = mul(coefficients[j], 0.0, table[elements[j], a], 0.0)
            v, e = add(v, e, x, ex)
        delta[0, a], e_delta[0, a] = sub(v, e, reference[0, a], 0.0)


@njit(cache=True, nogil=True)
def _mean_residuals(
    elements: IntArray, coefficients: Array, table: Array, known: Known, sums: Array, e_sums: Array
) -> None:
    """Residual sums of squares of means; elements, coefficients: (k, r).  Fills (k, c), (k, c)."""
    q = table.shape[1]
    for k in range(len(elements)):
        delta, e_delta = np.empty((1, q)), np.empty((1, q))
        mean_difference(elements[k], coefficients[k], table, known[0], delta, e_delta)
        residual_sums(delta, e_delta, known, sums[k], e_sums[k])
