"""Directions in which the parameters of a mixture move, and those of the calibration model."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_symmetric
from ..._errors import MisuseError
from ..._typing import Array
from ._components import active_components
from ._laws import CodeLaw

# Derivatives of weights cancel to a sum of zero; in float64 they do so to a few units of rounding of the largest.
_BALANCE_TOLERANCE = 1e-10


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tangent:
    """Derivatives of the weights and covariances of a mixture along k directions; weights keep their sum."""

    weights: Array  # (k, m)
    covariances: Array  # (k, m, q, q)

    def __post_init__(self) -> None:
        weights = check_array("weights", self.weights, (None, None))
        covariances = check_array("covariances", self.covariances, (*weights.shape, None, None))
        check_symmetric("covariances", covariances)
        if np.any(np.abs(weights.sum(axis=1)) > _BALANCE_TOLERANCE * np.abs(weights).sum(axis=1)):
            raise MisuseError("weights", "sum to 0 in every direction", f"sums {weights.sum(axis=1)}")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "covariances", covariances)

    @property
    def n_directions(self) -> int:
        """Number of directions k."""
        return len(self.weights)


def calibration_tangent(
    law: CodeLaw,
    atoms: ArrayLike,
    *,
    d_noise: ArrayLike,
    d_atoms: ArrayLike,
    d_probability: ArrayLike | None = None,
) -> Tangent:
    r"""Derivatives of `calibration_mixture` along k directions of (p, nu, D), aligned with its components.

    :math:`\dot w_J = \dot p\, p^{k-1} (1-p)^{n-k-1} (k - np),\quad
    \dot C_J = \dot\nu I + \lambda_k \sum_{j \in J} (\dot d_j d_j^\top + d_j \dot d_j^\top)` with k = |J|.

    atoms: (q, n).  d_noise: (k,).  d_atoms: (k, q, n).  d_probability: (k,), only for a law with an activity p.
    """
    atoms = check_array("atoms", atoms, (None, None))
    q, n = atoms.shape
    noise_rates = check_array("d_noise", d_noise, (None,))  # (k,)
    directions = len(noise_rates)
    atom_rates = check_array("d_atoms", d_atoms, (directions, q, n))
    p_rates = (
        np.zeros(directions) if d_probability is None else check_array("d_probability", d_probability, (directions,))
    )
    masks, _, variances = active_components(law, n)
    one_sided = np.einsum("kaj,bj->kjab", atom_rates, atoms)
    outer = (one_sided + np.swapaxes(one_sided, -1, -2)).reshape(directions, n, q * q)
    signal = (variances[:, None] * masks) @ outer  # (k, m, q * q)
    moved = signal.reshape(directions, -1, q, q) + noise_rates[:, None, None, None] * np.eye(q)
    return Tangent(p_rates[:, None] * _weight_rates(law, n, p_rates), moved)


def _weight_rates(law: CodeLaw, n: int, p_rates: Array) -> Array:
    """Derivative of every component's weight in p, (m,)."""
    masks, weights, _ = active_components(law, n)
    p = law.activity
    if p is not None:
        excess = masks.sum(axis=1) - n * p  # (m,)
        return np.asarray(weights * excess / (p * (1.0 - p)))
    if np.any(p_rates != 0.0):
        raise MisuseError("d_probability", "be left out for a law without an activity probability", p_rates)
    return np.zeros_like(weights)
