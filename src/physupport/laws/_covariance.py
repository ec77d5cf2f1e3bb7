"""Deployment with random source amplitudes: rows are zero-mean Gaussian, white noise plus a low-rank covariance."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_symmetric
from .._errors import MisuseError
from .._typing import Array, IntArray
from ..banks import Bank, RangeSizes
from ..io import RowSource, as_complex, turned
from . import streams
from ._design import Strength, StrengthsSeen
from ._law import CoverSizes, Energy, Law, Part, Sampler, register
from ._noisy import NoisyLaw, chi_square, whitened_energy
from ._opponents import Point, Proposal, leading_point
from ._stream import Stream

# Beyond this a covariance cannot be told from a singular one, and simulated rows would not have the law that is scored.
_MOST_TIMES = 1e10

# Numbers in one batch of covariances: 64 MiB.
_ENTRIES = 2**23


@register
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Covariance(NoisyLaw):
    r"""Rows from :math:`N(0, \Sigma)`, :math:`\Sigma = \nu I + \sum_j\lambda_ja_ja_j^\top` over the active atoms."""

    name: ClassVar[str] = "covariance"
    part: ClassVar[Part] = "deployment"
    has_sign: ClassVar[bool] = False
    file_keys: ClassVar[Mapping[str, bool]] = {
        **Law.file_keys, "noise.between": False, "regions.strength.between": False,
    }  # fmt: skip
    if_unknown: ClassVar[Mapping[str, str]] = {"law": "gaussian", "rows": "random"}
    mixed: ClassVar[tuple[str, ...]] = ("key", "covariance_point")

    def factors(self, bank: Bank, keys: IntArray) -> tuple[Array, Array]:
        r"""(k, q, r) factors F and (k,) noises of the covariances :math:`\nu I + FF^\top`; complex laws as pairs.

        The columns of F are :math:`\sqrt{\lambda_j}a_j` for the active atoms.
        """
        parts = bank.deployment_parts(keys)
        elements = bank.states.elements
        atoms = elements[:, parts.elements].transpose(1, 0, 2)
        strengths = parts.strengths  # the padding has strength 0
        if self.is_complex:
            rotated = turned(elements.T).T[:, parts.elements].transpose(1, 0, 2)
            atoms = np.concatenate([atoms, rotated], axis=2)
            strengths = np.hstack([strengths, strengths]) / 2.0
        return np.asarray(atoms * np.sqrt(strengths)[:, None, :]), self.entry_noises(parts.nuisance)

    def covariances(self, bank: Bank, keys: IntArray) -> Array:
        """(k, q, q) covariances of a row; complex laws as pairs."""
        factors, noises = self.factors(bank, keys)
        signal = factors @ np.swapaxes(factors, 1, 2)
        return np.asarray((signal + np.swapaxes(signal, 1, 2)) / 2.0 + noises[:, None, None] * np.eye(signal.shape[1]))

    def sample(self, bank: Bank, explanation: int, rng: np.random.Generator, n_rows: int) -> Array:
        """(n_rows, q) rows of an explanation: sources first, then noise."""
        (factor,), (noise,) = self.factors(bank, bank.deployment_keys(explanation))
        signal = rng.standard_normal((n_rows, factor.shape[1])) @ factor.T
        return np.asarray(signal + np.sqrt(noise) * rng.standard_normal(signal.shape))

    def sampler(self, bank: Bank, rows: RowSource) -> Sampler:
        r"""Second moments instead of rows: :math:`S = CAA^\top C^\top`, :math:`CC^\top = \Sigma`, by Bartlett's A."""
        n = rows.n_rows
        largest = float(bank.strengths.sum(axis=1).max() / self.variances.min())
        if largest > _MOST_TIMES:
            rule = f"be at most {_MOST_TIMES:g} times the noise in all, for rows to be simulated in double precision"
            raise MisuseError("strength", rule, f"{largest:.3g} times", 'Write judge = "evidence", or check the units.')

        def draw(key: int, keys: IntArray, rng: np.random.Generator, count: int) -> Array:
            factor = np.linalg.cholesky(self.covariances(bank, np.array([key]))[0])
            moments = factor @ bartlett(rng, count, len(factor), n)  # (count, q, min(q, n))
            laws = self.covariances(bank, keys)
            return np.column_stack([streams.drawn_log_likelihoods(law, moments, n) for law in laws])

        return draw

    def stream(self, bank: Bank, rows: RowSource, checkpoints: ArrayLike) -> Stream:
        """The rows (N, q), read once and scored under every deployment key; strengths are variances of the sources."""
        return streams.covariance_stream(bank, rows, self.variances, checkpoints, is_complex=self.is_complex)

    def free_opponent(self, bank: Bank, proposal: Proposal, key: int) -> Point:  # noqa: ARG002
        """The leading eigenvectors of the second moments of the rows, and white noise."""
        table = np.concatenate([*proposal.rows.blocks()])
        return leading_point(as_complex(table.T).T if self.is_complex else table, proposal.rows.n_rows)

    @property
    def cover_sizes(self) -> CoverSizes:
        r"""At most :math:`\sum_jT\lambda_j|\Delta a_j|^2/2\sigma^2`, which rows with their sources seen would have.

        Given independent sources x of variances :math:`\lambda`, the mean of a row moves by
        :math:`\sum_jx_j\Delta a_j`, whose mean square is the sum of those of all; not to see x makes laws nearer.
        Every row has an amplitude of each source, of two real numbers if complex, and noise in each of its own.
        """
        return CoverSizes(0.5, 1, is_shift=False, snr=self._snr, ranges=self._range_sizes)

    def _snr(self, strength: float, noise: float, n_rows: int) -> float:
        return sqrt(n_rows * strength / self.entry_noise(noise))

    def _range_sizes(self, n_rows: int, width: int, noise: float) -> RangeSizes:  # noqa: ARG002
        return RangeSizes(float(n_rows * width), (2.0 if self.is_complex else 1.0) * n_rows, is_shift=False)

    def energy(self, bank: Bank, explanation: int, rows: RowSource) -> Energy:
        r""":math:`\sum_iz_i^\top\Sigma^{-1}z_i`, chi-square."""
        (factor,), (noise,) = self.factors(bank, bank.deployment_keys(explanation))
        return chi_square(whitened_energy(rows, factor, float(noise)), rows.n_rows * len(factor))

    def strengths_seen(self, bank: Bank, rows: RowSource) -> StrengthsSeen:
        r""":math:`\sum_i(f_j^\top\Sigma^{-1}z_i)^2/f_j^\top\Sigma^{-1}f_j \sim \chi^2_n` for every active atom, if it
        made the rows; of complex rows the sum over real and imaginary part, with 2 n degrees of freedom.
        """
        moments = np.zeros((rows.width, rows.width))
        for block in rows.blocks():
            moments += block.T @ block
        parts = 2 if self.is_complex else 1
        freedom = parts * rows.n_rows

        def seen(explanation: int) -> Strength:
            keys = bank.deployment_keys(explanation)
            (factor,) = self.factors(bank, keys)[0]
            (sigma,) = self.covariances(bank, keys)
            solved = np.linalg.solve(sigma, factor[:, factor.any(axis=0)])  # (q, parts r)
            energy = np.einsum("qr,qp,pr->r", solved, moments, solved)
            ratios = energy / np.einsum("qr,qp,pr->r", solved, sigma, solved)
            whole = ratios.reshape(parts, -1).sum(axis=0)  # (r,)
            return Strength.of(streams.two_sided(whole, freedom, 1.0), whole < freedom)

        return seen

    def divergences(self, bank: Bank, key: int, keys: IntArray) -> Array:
        """(k,) in closed form; exactly 0 from itself."""
        law = self.covariances(bank, np.array([key]))[0]
        step = max(1, _ENTRIES // len(bank.states.elements) ** 2)
        blocks = [keys[start : start + step] for start in range(0, len(keys), step)]
        divergences = np.concatenate(
            [np.zeros(0), *(covariance_divergences(law, self.covariances(bank, block)) for block in blocks)]
        )
        divergences[keys == key] = 0.0
        return divergences


def bartlett(rng: np.random.Generator, count: int, size: int, n_rows: int) -> Array:
    r"""(count, q, min(q, n)) matrices A with :math:`AA^\top` as the second moments of n rows of q normal numbers.

    Lower triangular with normal numbers below roots of chi-square ones of n, n - 1, ... degrees of freedom; of fewer
    rows than entries, the rows themselves.
    """
    if n_rows < size:
        return rng.standard_normal((count, size, n_rows))
    factor = np.tril(rng.standard_normal((count, size, size)), -1)
    index = np.arange(size)
    factor[:, index, index] = np.sqrt(rng.chisquare(n_rows - index, (count, size)))
    return factor


# Divergences of Kullback and Leibler between Gaussian laws of a row, in closed form.


def covariance_divergences(law: ArrayLike, others: ArrayLike) -> Array:
    r""":math:`\mathrm{KL}(N(0,\Sigma_0)\,\|\,N(0,\Sigma)) = \tfrac12\sum_i\{d_i - \log(1 + d_i)\}` for every other.

    The :math:`d_i` are the eigenvalues of :math:`L^{-1}(\Sigma_0 - \Sigma)L^{-\top}` with :math:`\Sigma = LL^\top`, so
    nothing cancels where the laws almost agree, and equal laws give 0 exactly.
    law: (q, q).  others: (k, q, q).  Returns (k,).
    """
    first = check_symmetric("law", check_array("law", law, (None, None)))
    rest = check_symmetric("others", check_array("others", others, (None, *first.shape)))
    factors = np.linalg.cholesky(rest)
    half = np.linalg.solve(factors, first - rest)  # L^-1 (S_0 - S)
    whitened = np.linalg.solve(factors, np.swapaxes(half, -1, -2))
    d = np.linalg.eigvalsh((whitened + np.swapaxes(whitened, -1, -2)) / 2.0)  # (k, q), above -1
    return np.asarray(np.maximum(d - np.log1p(d), 0.0).sum(axis=1) / 2.0)


def mean_divergences(mean: ArrayLike, variance: float, means: ArrayLike, variances: ArrayLike) -> Array:
    r""":math:`\mathrm{KL}(N(\mu_0,\nu_0I)\,\|\,N(\mu,\nu I)) = \tfrac{q}{2}\{d - \log(1+d)\} +
    \|\mu_0-\mu\|^2/(2\nu)` with :math:`d = \nu_0/\nu - 1`, for every other.

    mean: (q,).  means: (k, q).  variances: (k,), of each entry of a row.  Returns (k,).
    """
    first = check_array("mean", mean, (None,))
    rest = check_array("means", means, (None, len(first)))
    nu = check_array("variances", variances, (len(rest),))
    d = (variance - nu) / nu
    return np.asarray(len(first) / 2.0 * (d - np.log1p(d)) + np.sum((first - rest) ** 2, axis=1) / (2.0 * nu))
