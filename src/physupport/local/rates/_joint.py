"""What calibration and deployment know together about the active atoms, mode by mode."""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.linalg import solve_triangular

from ..._errors import MisuseError
from ..._typing import Array, BoolArray
from ._design import Design, block_scale
from ._orientation import OrientationInformation, orientation_information, skew_coordinates
from ._secant import outside_span

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
    adjustments: Array  # (r, k): change of each coefficient along mode i that hides most of it; 0 for those held
    dictionary_moves: Array  # (q + 1, q, k): velocity of every atom of the dictionary along mode i

    def deviation(self, n_calibration: float, n_deployment: float) -> float:
        r"""Standard deviation of the worst-known active atom in its worst direction.

        Square root of the largest eigenvalue of :math:`\sum_i a_{ji}a_{ji}^\top/(N + T v_i^2/\sigma^2)` over atoms j.
        """
        scaled = self.moves / self._roots(n_calibration, n_deployment)
        return float(np.linalg.svd(scaled, compute_uv=False).max())

    def dictionary_deviations(self, n_calibration: float, n_deployment: float) -> Array:
        """Standard deviation of every atom in its worst direction, (q + 1,), the separated atom last."""
        scaled = self.dictionary_moves / self._roots(n_calibration, n_deployment)
        return np.asarray(np.linalg.svd(scaled, compute_uv=False).max(axis=1))

    def coefficient_shift(self, n_calibration: float, n_deployment: float) -> Array:
        """Change of the coefficients (r,) when the worst-known active atom moves by one standard deviation.

        Along the least favourable direction: of all changes of the unknowns that move that atom so far, the one that
        the data see least.
        """
        roots = self._roots(n_calibration, n_deployment)
        _, sizes, directions = np.linalg.svd(self.moves / roots, full_matrices=False)
        worst = int(sizes[:, 0].argmax())
        return np.asarray(self.adjustments @ (directions[worst, 0] / roots))

    def _roots(self, n_calibration: float, n_deployment: float) -> Array:
        return np.sqrt(n_calibration + n_deployment * self.worth)

    @property
    def n_dimensions(self) -> int:
        """Dimension of the confidence set of the active atoms: r (q - 1), or fewer when less is unknown."""
        r, q, k = self.moves.shape
        return int(min(k, r * (q - 1)))


def joint_information(
    information: OrientationInformation, design: Design, held: BoolArray | None = None
) -> JointInformation:
    """Both experiments together, at the coefficients of the design.

    held: (r,), coefficients that count as known; none unless given.
    """
    free = np.ones(len(design.support), dtype=bool) if held is None else ~held
    unknown = _unknown_directions(information, design)  # (m, k)
    velocities = np.einsum("mk,kqj->mqj", unknown, information.chart.d_atoms)  # (m, q, q + 1)
    whitener = _inverse_factor(unknown @ information.information @ unknown.T)  # (m, m)
    moved = velocities[:, :, list(design.support)] @ design.coefficients  # (m, q), of the mean
    frame, triangle = np.linalg.qr(design.active[:, free])
    _, values, modes = np.linalg.svd(outside_span(frame, moved).T @ whitener)
    worth = np.zeros(len(unknown))
    worth[: len(values)] = (values / design.sigma) ** 2
    to_modes = whitener @ modes.T  # (m, m)
    adjustments = np.zeros((len(free), len(unknown)))
    adjustments[free] = -np.linalg.solve(triangle, frame.T @ moved.T @ to_modes)
    everywhere = np.einsum("mqj,mi->jqi", velocities, to_modes)
    return JointInformation(everywhere[list(design.support)], worth, adjustments, everywhere)


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
