"""Rows about one mean in white noise, by the keys of a bank or about a single point off it."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from flint import fmpq
from numpy.typing import ArrayLike

from ..._checks import check_array
from ..._compiled import kept
from ..._typing import Array, IntArray
from ...banks import Bank, array_bank
from ...io import RowSource
from ...io._rows import atom_table
from .._balls import add, mul, sub
from ._gaussian_exact import ExactMoments, exact_residual, rational
from ._white_noise import (
    Known,
    ResidualMoments,
    Sums,
    WhiteNoiseStream,
    check_noises,
    filled,
    residual_sums,
    white_noise_stream,
)


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


def mean_stream(
    bank: Bank, rows: RowSource, noises: ArrayLike, checkpoints: ArrayLike, *, is_complex: bool = False
) -> WhiteNoiseStream[MeanResiduals]:
    """The rows (N, q), read once and scored under every deployment key; strengths are coefficients."""
    table = atom_table(bank.states.elements, is_complex, has_phase=False)
    variances = check_noises(noises, is_complex, len(bank.deployment))
    return white_noise_stream((rows,), MeanResiduals(bank, variances, table), table.shape[1], checkpoints)


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
    return mean_stream(bank, rows, [noise], checkpoints)


@kept()
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


@kept(nogil=True)
def _mean_residuals(
    elements: IntArray, coefficients: Array, table: Array, known: Known, sums: Array, e_sums: Array
) -> None:
    """Residual sums of squares of means; elements, coefficients: (k, r).  Fills (k, c), (k, c)."""
    q = table.shape[1]
    for k in range(len(elements)):
        delta, e_delta = np.empty((1, q)), np.empty((1, q))
        mean_difference(elements[k], coefficients[k], table, known[0], delta, e_delta)
        residual_sums(delta, e_delta, known, sums[k], e_sums[k])
