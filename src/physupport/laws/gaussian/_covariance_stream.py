"""Zero-mean Gaussian rows, white noise plus a low-rank covariance: second moments are all that their densities need."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike

from ..._arrays import check_indices
from ..._typing import Array, IntArray
from ...banks import Bank
from ...io import RowSource
from ...io._rows import atom_table, doubled
from .._balls import UP, U
from .._base import Scores, check_checkpoints
from .._threads import in_pieces
from ._covariance_kernels import covariance_scores
from ._gaussian_exact import ExactMoments, covariance_enclosure, exact_moments
from ._statistics import Moments, ball, prefix_moments
from ._white_noise import check_noises, check_width


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
            law, filled = (atoms[part], variances[part], noises[part]), (values[part], errors[part])
            covariance_scores(self.table, *law, counts, m.values, m.scales, m.slack, m.traces, *filled)

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


def covariance_stream(
    bank: Bank, rows: RowSource, noises: ArrayLike, checkpoints: ArrayLike, *, is_complex: bool
) -> CovarianceStream:
    """The rows (N, q), read once and scored under every deployment key; strengths are variances of the sources."""
    table = atom_table(bank.states.elements, is_complex, has_phase=True)
    check_width(rows, table.shape[1])
    points = check_checkpoints(checkpoints, rows.n_rows)
    variances = check_noises(noises, is_complex, len(bank.deployment))
    (moments,) = prefix_moments([rows], points, second_products)
    return CovarianceStream(rows, bank, variances, points, is_complex, table, second_moments(moments, points))


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
