"""The confidence ball of the deployment mean."""

from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri

from ..._checks import check_array, check_count, check_open, check_positive
from ..._typing import Array
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
