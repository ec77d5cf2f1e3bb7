"""What calibration and deployment know together about the active atoms, mode by mode."""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.linalg import solve_triangular

from .._errors import MisuseError
from .._typing import Array
from ._design import Design, block_scale
from ._orientation import OrientationInformation, orientation_information, skew_coordinates

# About one percent in the information for four atoms, half of that in a diameter. The work grows like 2^q, so larger
# blocks get fewer draws, but never so few that the error exceeds three percent.
_DRAWS, _FEWEST_DRAWS = 50_000, 10_000


@final
@dataclass(frozen=True, slots=True, eq=False)
class JointInformation:
    r"""Information on the unknown part of the block, with the deployment coefficients profiled out.

    The joint information of (chart, x) is :math:`N\,I_{\mathrm{cal}} + (T/\sigma^2)\,G^\top G` with
    :math:`G = \partial\mu/\partial(\mathrm{chart}, x)`; profiling x leaves
    :math:`H = P^\perp_{\mathrm{span}(D_S)}\,\partial\mu/\partial\mathrm{chart}` in the place of G (eq:tangent-secant).
    With :math:`I_{\mathrm{cal}}^{-1} = FF^\top` and :math:`HF = U\,\mathrm{diag}(v)\,W^\top` both terms are diagonal:
    mode i carries the information :math:`N + T v_i^2/\sigma^2`, so one deployment row is worth
    :math:`v_i^2/\sigma^2` calibration rows there.  No difference is formed, so N and T may be of any size.
    """

    moves: Array  # (r, q, k): velocity of each active atom along mode i, E_j F W
    worth: Array  # (k,): calibration rows that one deployment row replaces

    def deviation(self, n_calibration: float, n_deployment: float) -> float:
        r"""Standard deviation of the worst-known active atom in its worst direction.

        Square root of the largest eigenvalue of :math:`\sum_i a_{ji}a_{ji}^\top/(N + T v_i^2/\sigma^2)` over atoms j.
        """
        scaled = self.moves / np.sqrt(n_calibration + n_deployment * self.worth)
        return float(np.linalg.svd(scaled, compute_uv=False).max())

    @property
    def n_dimensions(self) -> int:
        """Dimension of the confidence set of the active atoms: r (q - 1), or fewer when less is unknown."""
        r, q, k = self.moves.shape
        return int(min(k, r * (q - 1)))


def joint_information(information: OrientationInformation, design: Design) -> JointInformation:
    """Both experiments together, at the coefficients of the design."""
    unknown = _unknown_directions(information, design)  # (m, k)
    velocities = np.einsum("mk,kqj->mqj", unknown, information.chart.d_atoms[:, :, list(design.support)])
    whitener = _inverse_factor(unknown @ information.information @ unknown.T)  # (m, m)
    seen = _across(design.active, velocities @ design.coefficients)  # (m, q)
    _, values, modes = np.linalg.svd(seen.T @ whitener)
    worth = np.zeros(len(unknown))
    worth[: len(values)] = (values / design.sigma) ** 2
    return JointInformation(np.einsum("mqj,mi->jqi", velocities, whitener @ modes.T), worth)


def block_information(design: Design, n_draws: int | None = None, seed: int = 0) -> OrientationInformation:
    """Fisher information of one calibration row about everything; one seed means the same draws at every scale.

    n_draws: Monte Carlo rows; unless given, 50 000 for four atoms and fewer for more, but at least 10 000.
    """
    dictionary, rng = design.dictionary, np.random.default_rng(seed)
    draws = max(_FEWEST_DRAWS, _DRAWS >> max(0, dictionary.q - 4)) if n_draws is None else n_draws
    scale = block_scale(dictionary)
    return orientation_information(dictionary, design.law, design.noise, scale=scale, rng=rng, n_draws=draws)


def _unknown_directions(information: OrientationInformation, design: Design) -> Array:
    """What is unknown, as rows in the chart: all its directions, or the one turn."""
    if design.turn is None:
        return np.eye(information.chart.n_directions)
    turn = np.zeros(information.chart.n_directions)
    turn[information.chart.n_nuisance :] = skew_coordinates(design.turn, design.dictionary.q - 1)
    if not turn.any():
        raise MisuseError("turn", "move the block", "zero")
    return turn[None]


def _inverse_factor(information: Array) -> Array:
    r"""F with :math:`FF^\top` the inverse, from unit diagonal: the directions differ in size by a factor s^3."""
    unit = np.sqrt(np.diagonal(information))
    try:
        lower = np.linalg.cholesky(information / np.outer(unit, unit))
    except np.linalg.LinAlgError:
        rule = "let calibration data see every direction in which it may change"
        raise MisuseError("dictionary", rule, "a singular information matrix") from None
    return np.asarray(solve_triangular(lower, np.diag(1.0 / unit), lower=True).T)


def _across(active: Array, vectors: Array) -> Array:
    """The part of each row vector (m, q) that no change of coefficients reproduces."""
    frame = np.linalg.qr(active)[0]
    rest = vectors - vectors @ frame @ frame.T
    return np.asarray(rest - rest @ frame @ frame.T)  # once more: the first pass leaves rounding
