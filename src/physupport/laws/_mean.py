"""Deployment with fixed source amplitudes: rows share one mean, a given combination of the active atoms."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Array, IntArray
from ..banks import Bank, RangeSizes
from ..io import RowSource, mean_row
from . import streams
from ._covariance import mean_divergences
from ._design import Strength, StrengthsSeen
from ._law import CoverSizes, Energy, Law, Part, Sampler, register
from ._noisy import NoisyLaw, chi_square, squares
from ._opponents import Point, Proposal, mean_opponent
from ._stream import Stream


@register
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Mean(NoisyLaw):
    r"""Rows :math:`z_i = \sum_jx_ja_j + \sqrt\nu\,\varepsilon_i` with the coefficients x that the bank represents."""

    name: ClassVar[str] = "mean"
    part: ClassVar[Part] = "deployment"
    file_keys: ClassVar[Mapping[str, bool]] = {
        **Law.file_keys, "noise.between": False, "regions.strength.between": False,
    }  # fmt: skip
    if_unknown: ClassVar[Mapping[str, str]] = {"law": "gaussian", "rows": "same mean"}
    mixed: ClassVar[tuple[str, ...]] = ("key", "mean_point")

    def means(self, bank: Bank, keys: IntArray) -> tuple[Array, Array]:
        r"""(k, q) :math:`\sum_jx_ja_j`, and (k,) the variance of each real entry of a row."""
        parts = bank.deployment_parts(keys)
        elements = bank.states.elements
        means = np.einsum("qkr,kr->kq", elements[:, parts.elements], parts.strengths)
        return np.asarray(means), self.entry_noises(parts.nuisance)

    def sample(self, bank: Bank, explanation: int, rng: np.random.Generator, n_rows: int) -> Array:
        """(n_rows, q) rows about the mean of an explanation."""
        (mean,), (variance,) = self.means(bank, bank.deployment_keys(explanation))
        return np.asarray(mean + np.sqrt(variance) * rng.standard_normal((n_rows, len(mean))))

    def sampler(self, bank: Bank, rows: RowSource) -> Sampler:
        r"""The mean of n rows and their scatter about it, :math:`N(\mu, \nu/n)` and :math:`\nu\chi^2_{(n-1)q}`."""
        n = rows.n_rows
        q = rows.width

        def draw(key: int, keys: IntArray, rng: np.random.Generator, count: int) -> Array:
            (own,), (noise,) = self.means(bank, np.array([key]))
            means, noises = self.means(bank, keys)  # (r, q), (r,)
            off = np.sqrt(noise / n) * rng.standard_normal((count, q))  # of the mean of the rows from its own
            scatter = noise * rng.chisquare((n - 1) * q, count) if n > 1 else np.zeros(count)
            gaps = means - own
            squares = np.sum(off**2, axis=1)[:, None] - 2.0 * off @ gaps.T + np.sum(gaps**2, axis=1)
            return np.asarray(-0.5 * (n * q * np.log(2.0 * np.pi * noises) + (scatter[:, None] + n * squares) / noises))

        return draw

    def stream(self, bank: Bank, rows: RowSource, checkpoints: ArrayLike) -> Stream:
        """The rows (N, q), read once and scored under every deployment key; strengths are coefficients.

        If complex, the phase of a source belongs to its element.
        """
        return streams.mean_stream(bank, rows, self.variances, checkpoints, is_complex=self.is_complex)

    def free_opponent(self, bank: Bank, proposal: Proposal, key: int) -> Point:  # noqa: ARG002
        """The mean of the rows, and their scatter."""
        return mean_opponent(proposal.rows, float(self.entry_noises().max()))

    def fitted(self, bank: Bank, explanation: int, rows: RowSource) -> Array:  # noqa: ARG002
        """(q,) the mean of the explanation, whatever the rows."""
        return np.asarray(self.means(bank, bank.deployment_keys(explanation))[0][0])

    def energy(self, bank: Bank, explanation: int, rows: RowSource) -> Energy:
        r""":math:`\sum_i\|z_i - \mu\|^2/\nu`, chi-square."""
        (mean,), (variance,) = self.means(bank, bank.deployment_keys(explanation))
        return chi_square(squares(rows, mean, float(variance)), rows.n_rows * len(mean))

    def strengths_seen(self, bank: Bank, rows: RowSource) -> StrengthsSeen:
        r""":math:`\sqrt n\,a_j^\top(\bar z - \mu)/(\sqrt\nu|a_j|) \sim N(0, 1)` for active atoms that made rows."""
        mean = mean_row(rows)

        def seen(explanation: int) -> Strength:
            keys = bank.deployment_keys(explanation)
            parts = bank.deployment_parts(keys)
            ((own,), (noise,)) = self.means(bank, keys)
            atoms = bank.states.elements[:, parts.elements[0][parts.elements[0] >= 0]]  # (q, r)
            off = np.sqrt(rows.n_rows / noise) * (atoms.T @ (mean - own)) / np.linalg.norm(atoms, axis=0)
            return Strength.of(streams.two_sided_normal(off), off < 0.0)

        return seen

    def divergences(self, bank: Bank, key: int, keys: IntArray) -> Array:
        """(k,) in closed form; exactly 0 from itself."""
        (mean,), (variance,) = self.means(bank, np.array([key]))
        divergences = mean_divergences(mean, float(variance), *self.means(bank, keys))
        divergences[keys == key] = 0.0
        return divergences

    @property
    def cover_sizes(self) -> CoverSizes:
        """Strengths are coefficients, and the mean shifts by the sum of all; every number has noise of its own."""
        return CoverSizes(0.5, 2, is_shift=True, snr=self._snr, ranges=self._range_sizes)

    def _snr(self, strength: float, noise: float, n_rows: int) -> float:
        return strength * sqrt(n_rows / self.entry_noise(noise))

    def _range_sizes(self, n_rows: int, width: int, noise: float) -> RangeSizes:
        return RangeSizes(float(n_rows * width), self._snr(1.0, noise, n_rows), is_shift=True)
