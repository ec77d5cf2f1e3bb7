"""Deployment with random source amplitudes: rows are zero-mean Gaussian, white noise plus a low-rank covariance."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from ..._arrays import check_indices
from ..._typing import Array, IntArray
from ...banks import Bank
from ...io import RowSource
from ...io._rows import atom_table, doubled, turned
from .._balls import UP, U
from .._base import Scores
from .._checkpoints import check_checkpoints
from .._law import Energy, Part, Sampler, register
from .._noisy import NoisyLaw, chi_square, whitened_energy
from .._threads import in_pieces
from ._covariance_kernels import covariance_scores
from ._gaussian_exact import ExactMoments, covariance_enclosure, exact_moments
from ._statistics import Moments, ball, prefix_moments
from ._white_noise import check_noises, check_width, covariance_divergences

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

    def factors(self, bank: Bank, keys: IntArray) -> tuple[Array, Array]:
        r"""(k, q, r) factors F and (k,) noises of the covariances :math:`\nu I + FF^\top`; complex laws as pairs.

        The columns of F are :math:`\sqrt{\lambda_j}a_j` for the active atoms.
        """
        parts, elements = bank.deployment_parts(keys), bank.states.elements
        atoms, strengths = elements[:, parts.elements].transpose(1, 0, 2), parts.strengths  # the padding has strength 0
        if self.is_complex:
            rotated = turned(elements.T).T[:, parts.elements].transpose(1, 0, 2)
            atoms, strengths = np.concatenate([atoms, rotated], axis=2), np.hstack([strengths, strengths]) / 2.0
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

        def draw(key: int, keys: IntArray, rng: np.random.Generator, count: int) -> Array:
            factor = np.linalg.cholesky(self.covariances(bank, np.array([key]))[0])
            moments = factor @ bartlett(rng, count, len(factor), n)  # (count, q, min(q, n))
            return np.column_stack([_log_likelihoods(law, moments, n) for law in self.covariances(bank, keys)])

        return draw

    def stream(self, bank: Bank, rows: RowSource, checkpoints: ArrayLike) -> "CovarianceStream":
        """The rows (N, q), read once and scored under every deployment key; strengths are variances of the sources."""
        table = atom_table(bank.states.elements, self.is_complex, has_phase=True)
        check_width(rows, table.shape[1])
        points = check_checkpoints(checkpoints, rows.n_rows)
        noises = check_noises(self.variances, self.is_complex, len(bank.deployment))
        (moments,) = prefix_moments([rows], points, second_products)
        return CovarianceStream(rows, bank, noises, points, self.is_complex, table, second_moments(moments, points))

    def energy(self, bank: Bank, explanation: int, rows: RowSource) -> Energy:
        r""":math:`\sum_iz_i^\top\Sigma^{-1}z_i`, chi-square."""
        (factor,), (noise,) = self.factors(bank, bank.deployment_keys(explanation))
        return chi_square(whitened_energy(rows, factor, float(noise)), rows.n_rows * len(factor))

    def divergences(self, bank: Bank, key: int, keys: IntArray) -> Array:
        """(k,) in closed form; exactly 0 from itself."""
        law, step = self.covariances(bank, np.array([key]))[0], max(1, _ENTRIES // len(bank.states.elements) ** 2)
        blocks = [keys[start : start + step] for start in range(0, len(keys), step)]
        divergences = np.concatenate(
            [np.zeros(0), *(covariance_divergences(law, self.covariances(bank, block)) for block in blocks)]
        )
        divergences[keys == key] = 0.0
        return divergences


@final
@dataclass(frozen=True, slots=True, eq=False)
class SecondMoments:
    r"""Prefix sums :math:`S_t = \sum_{i\le t}z_iz_i^\top` as the kernels read them.

    Scales s bound the exact entries, :math:`|S_{ab}| \le s_as_b`, and the stored ones by 1.01 times that; the stored
    entries err by at most slack times :math:`s_as_b`.
    """

    values: Array  # (c, q, q)
    scales: Array  # (c, q)
    slack: float
    traces: tuple[Array, Array]  # (c,)


@final
@dataclass(frozen=True, eq=False)  # no slots: the exact moments are worked out when first asked for
class CovarianceStream:
    r"""Rows from :math:`N(0, \Sigma)`, :math:`\Sigma = \nu I + \sum_j\lambda_ja_ja_j^\top` over the active atoms.

    :math:`\log L_t = -\tfrac t2\log\det(2\pi\Sigma) - \tfrac12\operatorname{tr}(\Sigma^{-1}S_t)`.
    """

    is_density: ClassVar[bool] = True

    rows: RowSource
    bank: Bank
    noises: Array  # (m,), one for each deployment nuisance
    checkpoints: IntArray
    is_complex: bool
    table: Array  # (E, q) or, complex, (2 E, 2 q)
    moments: SecondMoments

    @property
    def n_keys(self) -> int:
        """The deployment keys of the bank."""
        return self.bank.n_deployment_keys

    def log_likelihood(self, keys: IntArray) -> Scores:
        """Prefix log likelihoods; the cost of a key does not depend on the number of rows."""
        atoms, variances, noises = self._parts(check_indices("keys", keys, self.n_keys))
        values, errors = np.empty((2, len(atoms), len(self.checkpoints)))
        m, counts = self.moments, self.checkpoints.astype(np.float64)

        def score(part: slice) -> None:
            law, found = (atoms[part], variances[part], noises[part]), (values[part], errors[part])
            covariance_scores(self.table, *law, counts, m.values, m.scales, m.slack, m.traces, *found)

        in_pieces(len(atoms), score, least=16)
        return Scores(values, errors)

    def enclosure(self, key: int, bits: int) -> list[arb]:
        """Prefix log likelihoods of one key as balls."""
        atoms, variances, noises = self._parts(check_indices("keys", [key], self.n_keys))
        active = atoms[0] >= 0
        law = (self.table[atoms[0, active]], variances[0, active], float(noises[0]))
        counts = self.checkpoints.tolist()
        return [covariance_enclosure(*law, s, t, bits) for (s,), t in zip(self._exact, counts, strict=True)]

    def _parts(self, keys: IntArray) -> tuple[IntArray, Array, Array]:
        parts = self.bank.deployment_parts(keys)
        noises = self.noises[parts.nuisance]
        if not self.is_complex:
            return parts.elements, parts.strengths, noises
        return doubled(parts.elements), np.repeat(parts.strengths / 2.0, 2, axis=1), noises

    @cached_property
    def _exact(self) -> ExactMoments:
        return exact_moments([self.rows], self.checkpoints, second_products)


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


def _log_likelihoods(covariance: Array, factors: Array, n_rows: int) -> Array:
    r"""(count,) :math:`-\tfrac n2\log\det(2\pi\Sigma) - \tfrac12|L^{-1}F|^2` of second moments :math:`FF^\top`.

    factors: F, (count, q, m).
    """
    lower = np.linalg.cholesky(covariance)
    count, size, width = factors.shape
    stacked = factors.transpose(1, 0, 2).reshape(size, count * width)
    white = solve_triangular(lower, stacked, lower=True).reshape(size, count, width)
    log_det = 2.0 * float(np.log(np.diag(lower)).sum()) + size * float(np.log(2.0 * np.pi))
    return np.asarray(-0.5 * (n_rows * log_det + np.sum(white**2, axis=(0, 2))))


def second_products(rows: Array) -> list[tuple[Array, Array]]:
    """Rows with themselves."""
    return [(rows, rows)]


def second_moments(moments: Moments, checkpoints: IntArray) -> SecondMoments:
    r"""What the kernels need of the sums, with a proof of the bounds.

    By Cauchy and Schwarz both the entry and the sum of absolute products are at most :math:`s_as_b` if :math:`s_a^2` is
    at least the exact diagonal entry.  With n rows a stored entry errs by u times itself and :math:`3(nu)^2s_as_b`, and
    underflow, which the least scale 2^-220 outweighs.
    """
    values, errors = moments.rounded()
    diagonal, e_diagonal = (np.diagonal(part, axis1=1, axis2=2) for part in (values, errors))
    scales = UP * np.sqrt(diagonal + e_diagonal) + 2.0**-220
    slack = 2.0 * U + 4.0 * (float(checkpoints[-1]) * U) ** 2
    traces = np.empty((2, len(values)))
    with ctx.workprec(320):
        for t in range(len(values)):
            traces[:, t] = ball(moments.enclosure(t).trace())
    return SecondMoments(values, scales, slack, (traces[0], traces[1]))
