"""Whether rows are as strong as an explanation says along its own atoms: exact, one atom at a time."""

from typing import TYPE_CHECKING

import numpy as np

from ..._typing import Array
from ...banks import Bank
from ...io import RowSource, mean_row
from .._noise import two_sided
from .._strengths import Strength, StrengthsSeen

if TYPE_CHECKING:
    from ._covariance import Covariance
    from ._mean import Mean


def mean_strengths(law: "Mean", bank: Bank, rows: RowSource) -> StrengthsSeen:
    r""":math:`\sqrt n\,a_j^\top(\bar z - \mu)/(\sqrt\nu|a_j|) \sim N(0, 1)` for active atoms, if these made rows."""
    from scipy.special import ndtr

    mean, n = mean_row(rows), rows.n_rows

    def seen(explanation: int) -> Strength:
        keys = bank.deployment_keys(explanation)
        parts, ((own,), (noise,)) = bank.deployment_parts(keys), law.means(bank, keys)
        atoms = bank.states.elements[:, parts.elements[0][parts.elements[0] >= 0]]  # (q, r)
        off = np.sqrt(n / noise) * (atoms.T @ (mean - own)) / np.linalg.norm(atoms, axis=0)
        return Strength.of(2.0 * ndtr(-np.abs(off)), off < 0.0)

    return seen


def covariance_strengths(law: "Covariance", bank: Bank, rows: RowSource) -> StrengthsSeen:
    r""":math:`\sum_i(f_j^\top\Sigma^{-1}z_i)^2/f_j^\top\Sigma^{-1}f_j \sim \chi^2_n` for every active atom, if it made
    the rows; of complex rows the sum over real and imaginary part, with 2 n degrees of freedom.
    """
    moments, n = _second_moments(rows), rows.n_rows
    parts = 2 if law.is_complex else 1

    def seen(explanation: int) -> Strength:
        keys = bank.deployment_keys(explanation)
        (factor,), (sigma,) = law.factors(bank, keys)[0], law.covariances(bank, keys)
        solved = np.linalg.solve(sigma, factor[:, factor.any(axis=0)])  # (q, parts r)
        energy = np.einsum("qr,qp,pr->r", solved, moments, solved)
        ratios = energy / np.einsum("qr,qp,pr->r", solved, sigma, solved)
        whole = ratios.reshape(parts, -1).sum(axis=0)  # (r,)
        return Strength.of(two_sided(whole, parts * n, 1.0), whole < parts * n)

    return seen


def _second_moments(rows: RowSource) -> Array:
    """(q, q) sum of products of all rows."""
    total = np.zeros((rows.width, rows.width))
    for block in rows.blocks():
        total += block.T @ block
    return total
