"""One stream for all laws of rows in white noise: they differ only in the residuals that they leave."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple, Protocol, TypeVar, final

import numpy as np
from flint import arb, fmpq
from numpy.typing import ArrayLike

from ..._checks import check_array, check_symmetric
from ..._typing import Array, IntArray
from ...io import RowSource
from .._base import Scores
from .._threads import in_pieces
from ._gaussian_exact import ExactMoments, exact_moments, white_noise_enclosure
from ._residuals import (
    ResidualMoments,
    check_width,
    code_products,
    mean_products,
    residual_moments,
    white_noise_likelihood,
)
from ._statistics import check_checkpoints, check_keys

# Fills sums and errors (m, c) for the problems of a slice.
Fill = Callable[[slice, Array, Array], None]


class Sums(NamedTuple):
    """Residual sums of squares with their errors, and which of them belong to the keys."""

    values: Array  # (m, c)
    errors: Array  # (m, c)
    which: IntArray  # (k,)
    noises: Array  # (k,) variance of each real entry of a row


class Residuals(Protocol):
    """What a key leaves of the rows."""

    @property
    def is_density(self) -> bool:
        """Whether a key is one density; else it is a supremum of several."""

    @property
    def n_keys(self) -> int:
        """Keys are 0 .. n_keys - 1."""

    def sums(self, keys: IntArray, moments: ResidualMoments) -> "Sums":
        """Residual sums of squares for every key."""

    def exact(self, key: int, moments: ResidualMoments, exact: ExactMoments) -> tuple[list[fmpq], float]:
        """Those of one key as rational numbers, one a checkpoint, and its noise variance."""


R = TypeVar("R", bound=Residuals)


@final
@dataclass(frozen=True, eq=False)  # no slots: the exact moments are worked out when first asked for
class WhiteNoiseStream(Generic[R]):
    r"""Rows whose residuals r are white noise, with one residual sum of squares a key.

    :math:`\log L_t = -\tfrac{tq}2\log(2\pi\nu) - \tfrac1{2\nu}\sum_{i\le t}\|r_i\|^2`.
    """

    sources: tuple[RowSource, ...]  # the rows, and their codes if these are known
    checkpoints: IntArray
    residuals: R
    moments: ResidualMoments

    @property
    def is_density(self) -> bool:
        """Whether every key is a density."""
        return self.residuals.is_density

    @property
    def n_keys(self) -> int:
        """The keys of the law."""
        return self.residuals.n_keys

    def log_likelihood(self, keys: IntArray) -> Scores:
        """Prefix log likelihoods; the cost of a key does not depend on the number of rows."""
        keys = check_keys(keys, self.n_keys)
        return white_noise_likelihood(*self.residuals.sums(keys, self.moments), self.moments.counts)

    def enclosure(self, key: int, bits: int) -> list[arb]:
        """Prefix log likelihoods of one key as balls."""
        keys = check_keys([key], self.n_keys)
        sums, noise = self.residuals.exact(int(keys[0]), self.moments, self._exact)
        counts = (self.checkpoints * self.sources[0].width).tolist()
        return [white_noise_enclosure(x, noise, n, bits) for x, n in zip(sums, counts, strict=True)]

    @cached_property
    def _exact(self) -> ExactMoments:
        products = code_products if len(self.sources) == 2 else mean_products
        return exact_moments(self.sources, self.checkpoints, products)


def white_noise_stream(
    sources: tuple[RowSource, ...], residuals: R, width: int, checkpoints: ArrayLike
) -> WhiteNoiseStream[R]:
    """Check rows and checkpoints, and read the data once."""
    check_width(sources[0], width)
    points = check_checkpoints(checkpoints, sources[0].n_rows)
    return WhiteNoiseStream(sources, points, residuals, residual_moments(sources, points))


def filled(count: int, moments: ResidualMoments, least: int, fill: Fill) -> tuple[Array, Array]:
    """Residual sums and errors (count, c), filled by threads.  least: problems worth a piece of their own."""
    sums, e_sums = np.empty((2, count, len(moments.counts)))
    in_pieces(count, lambda part: fill(part, sums[part], e_sums[part]), least=least)
    return sums, e_sums


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
