"""The confidence ball of the deployment mean."""

from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri

from ..._checks import Interval, check_array, check_count, check_open, check_positive
from ..._errors import MisuseError
from ..._typing import Array
from ...laws.gaussian._box_kernels import fit_boxes
from ._moments import check_rows


@final
@dataclass(frozen=True, slots=True, eq=False)
class DeploymentBall:
    r"""All means within :math:`\tau` of the sample mean, and the probability with which the true one is not there."""

    center: Array  # (q,), sample mean
    radius: float  # tau
    alpha: float  # alpha_T

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", check_array("center", self.center, (None,)))
        object.__setattr__(self, "radius", check_positive("radius", self.radius))
        object.__setattr__(self, "alpha", check_open("alpha", self.alpha, 0.0, 1.0))

    def contains(self, mean: ArrayLike) -> bool:
        """Whether a mean (q,) lies in the closed ball."""
        return bool(np.linalg.norm(check_array("mean", mean, self.center.shape) - self.center) <= self.radius)


def deployment_radius(q: int, n_rows: int, sigma_max: float, alpha: float) -> float:
    r""":math:`\tau_{T,q} = \sigma_+T^{-1/2}\sqrt{\chi^2_{q,1-\alpha}}` with T rows in dimension q (eq:test-radius)."""
    quantile = float(chdtri(check_count("q", q), check_open("alpha", alpha, 0.0, 1.0)))
    return check_positive("sigma_max", sigma_max) * sqrt(quantile / check_count("n_rows", n_rows))


def deployment_ball(rows: ArrayLike, sigma_max: float, alpha: float) -> DeploymentBall:
    r"""Ball around the sample mean :math:`\bar Z` with radius :math:`\tau_{T,q}` (eq:test-radius).

    Rows are independent :math:`\mathcal N(\mu, \sigma^2I)` with :math:`\sigma \le \sigma_+`: the ball holds
    :math:`\mu` with probability at least :math:`1-\alpha` (eq:test-truth-event), exactly that at :math:`\sigma_+`.
    rows: (T, q).
    """
    rows = check_rows("rows", rows)
    n_rows, q = rows.shape
    return DeploymentBall(rows.mean(axis=0), deployment_radius(q, n_rows, sigma_max, alpha), alpha)


@final
@dataclass(frozen=True, slots=True, eq=False)
class BoxFit:
    """Box-constrained least squares of many problems.

    A loss is the residual norm at the feasible coefficients beside it, so it is never below the minimum but for the
    rounding of one residual; a lower bound is never above the minimum, rounding included.  An explanation whose lower
    bound exceeds a radius is certainly out, one whose loss is within it is in.
    """

    losses: Array  # (k,)
    coefficients: Array  # (k, r)
    lower_bounds: Array  # (k,)


def profile_losses(target: ArrayLike, atoms: ArrayLike, box: Interval) -> BoxFit:
    r""":math:`\min_{x\in[\beta_-,\beta_+]^r}\|\bar Z - \sum_j x_jd_j\|_2` for k choices of atoms
    (eq:fine-profile-loss, eq:sm-tech-s11-7).

    A separated alternative is the case r = 1 with the box :math:`\Gamma_A` (eq:anchor-profile-loss).  Exact: a finite
    active-set method with orthogonal factors, which do not square the condition number of coherent atoms.
    target: (q,).  atoms: (k, q, r), any q and r >= 1, dependent atoms allowed.
    """
    target = np.ascontiguousarray(check_array("target", target, (None,)))
    atoms = check_array("atoms", atoms, (None, len(target), None))
    if not atoms.shape[2]:
        raise MisuseError("atoms", "hold at least one atom in every choice", f"shape {atoms.shape}")
    atoms = np.ascontiguousarray(np.swapaxes(atoms, 1, 2))  # (k, r, q)
    coefficients, duals = np.empty(atoms.shape[:2]), np.empty(atoms.shape[::2])
    fit_boxes(target, atoms, box.lower, box.upper, coefficients, duals)
    losses = np.linalg.norm(target - (coefficients[:, None, :] @ atoms)[:, 0, :], axis=1)
    # No bound above the loss: they may cross by rounding where both are exact.
    return BoxFit(losses, coefficients, np.minimum(_lower_bounds(target, atoms, box, duals), losses))


def _lower_bounds(target: Array, atoms: Array, box: Interval, duals: Array) -> Array:
    r"""Duality: :math:`\|z - Ax\| \ge w^\top z - \sum_jx_j\,w^\top a_j` for every unit vector w.

    Over the box this is at least :math:`w^\top z - \sum_j\max(\beta_-w^\top a_j, \beta_+w^\top a_j)`, with equality if
    w is the direction of the residual of the minimiser.
    target: (q,).  atoms: (k, r, q).  duals: (k, q).  Returns (k,).
    """
    r, q = atoms.shape[1:]
    lengths = np.linalg.norm(duals, axis=1)
    w = duals / np.maximum(lengths, np.finfo(np.float64).tiny)[:, None]  # (k, q)
    slopes = (atoms @ w[:, :, None])[:, :, 0]  # (k, r)
    values = w @ target - np.maximum(box.lower * slopes, box.upper * slopes).sum(axis=1)
    size = np.abs(w) @ np.abs(target) + box.upper * (np.abs(atoms) @ np.abs(w)[:, :, None])[:, :, 0].sum(axis=1)
    # q + r additions of products err by at most (q + r + 2) units of rounding times their absolute sum; doubled, this
    # also covers the rounding of that sum itself and of the norm of w, by which the value is divided.
    rounding = 2.0 * (q + r + 8) * np.finfo(np.float64).eps * size
    return np.asarray(np.maximum(values - rounding, 0.0))
