"""Deployment with fixed source amplitudes: rows share one mean, a given combination of the active atoms."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from flint import arb
from numba import njit
from numpy.typing import ArrayLike

from ..._checks import check_array
from ..._typing import Array, IntArray
from ...banks import Bank, array_bank
from ...io import RowSource
from ...io._complex import atom_table
from .._balls import add, mul, sub
from .._base import Scores
from .._threads import in_pieces
from ._gaussian_exact import ExactMoments, exact_moments, exact_residual, rational, white_noise_enclosure
from ._residuals import (
    ResidualMoments,
    check_noises,
    check_width,
    mean_products,
    residual_moments,
    residual_sums,
    white_noise_likelihood,
)
from ._statistics import check_checkpoints, check_keys


@final
@dataclass(frozen=True, eq=False)  # no slots: the exact moments are worked out when first asked for
class MeanStream:
    r"""Rows :math:`z_i = \sum_jx_ja_j + \sqrt\nu\,\varepsilon_i` with the coefficients x that the bank represents.

    :math:`\log L_t = -\tfrac{tq}2\log(2\pi\nu) - \tfrac1{2\nu}\sum_{i\le t}\|z_i - \sum_jx_ja_j\|^2`.
    """

    rows: RowSource
    bank: Bank
    noises: Array  # (m,), one for each deployment nuisance
    checkpoints: IntArray
    table: Array  # (E, q)
    moments: ResidualMoments

    @property
    def is_density(self) -> bool:
        """Every key is a density."""
        return True

    @property
    def n_keys(self) -> int:
        """The deployment keys of the bank."""
        return self.bank.n_deployment_keys

    def log_likelihood(self, keys: IntArray) -> Scores:
        """Prefix log likelihoods; the cost of a key does not depend on the number of rows."""
        parts = self.bank.deployment_parts(check_keys(keys, self.n_keys))
        sums, e_sums = np.empty((2, len(keys), len(self.checkpoints)))
        m = self.moments

        def fill(part: slice) -> None:
            known = (self.table, m.reference, m.energy, m.cross, m.gram)
            _mean_residuals(parts.elements[part], parts.strengths[part], *known, sums[part], e_sums[part])

        in_pieces(len(keys), fill, least=64)
        return white_noise_likelihood(sums, e_sums, np.arange(len(keys)), self.noises[parts.nuisance], m.counts)

    def enclosure(self, key: int, bits: int) -> list[arb]:
        """Prefix log likelihoods of one key as balls."""
        parts = self.bank.deployment_parts(check_keys([key], self.n_keys))
        active = parts.elements[0] >= 0
        mean = rational(parts.strengths[:, active]) * rational(self.table[parts.elements[0, active]])  # (1, q)
        noise = float(self.noises[parts.nuisance[0]])
        counts = (self.checkpoints * self.rows.width).tolist()
        pairs = zip(self._exact, counts, strict=True)
        return [white_noise_enclosure(exact_residual(mean, *m), noise, count, bits) for m, count in pairs]

    @cached_property
    def _exact(self) -> ExactMoments:
        return exact_moments([self.rows], self.checkpoints, mean_products)


def mean_stream(
    rows: RowSource, bank: Bank, noises: ArrayLike, checkpoints: ArrayLike, *, is_complex: bool = False
) -> MeanStream:
    """The stream of rows with a common mean; keys are the deployment keys, strengths are coefficients.

    rows: (N, q).  noises: (number of deployment nuisances,).  If complex, rows and elements hold pairs (Re, Im) and the
    noise is circular, of the given variance for each complex entry; the phase of a source belongs to its element.
    The data are read once here.
    """
    table = atom_table(bank.states.elements, is_complex, has_phase=False)
    check_width(rows, table.shape[1])
    points = check_checkpoints(checkpoints, rows.n_rows)
    variances = check_noises(noises, is_complex, len(bank.deployment))
    return MeanStream(rows, bank, variances, points, table, residual_moments([rows], points))


def point_stream(rows: RowSource, mean: ArrayLike, noise: float, checkpoints: ArrayLike) -> MeanStream:
    """A stream with one key: rows scattered about one given mean, such as one fitted to proposal rows.

    rows: (N, q).  mean: (q,).  The usual numerator against explanations whose coefficients are profiled.
    """
    point = check_array("mean", mean, (rows.width,))
    length = float(np.linalg.norm(point))
    direction = point / length if length > 0.0 else np.eye(len(point))[0]
    # One atom along the mean; no active atom is the mean zero.
    bank = array_bank(direction[None, :, None], [(0,) if length > 0.0 else ()], strengths=length or 1.0)
    return mean_stream(rows, bank, [noise], checkpoints)


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
    elements: IntArray,
    coefficients: Array,
    table: Array,
    reference: Array,
    energy: tuple[Array, Array],
    cross: tuple[Array, Array],
    gram: tuple[Array, Array],
    sums: Array,
    e_sums: Array,
) -> None:
    """Residual sums of squares of means; elements, coefficients: (k, r).  Fills (k, c), (k, c)."""
    q = table.shape[1]
    for k in range(len(elements)):
        delta, e_delta = np.empty((1, q)), np.empty((1, q))
        mean_difference(elements[k], coefficients[k], table, reference, delta, e_delta)
        residual_sums(delta, e_delta, energy, cross, gram, sums[k], e_sums[k])
