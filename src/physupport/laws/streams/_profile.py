"""The likelihood of rows of one mean as a function of one coefficient, all others at their best."""

from typing import NamedTuple, final

import numpy as np

from ..._typing import Array, Field

_EPS = float(np.finfo(np.float64).eps)
# Of singular values of unit columns: below it columns count as dependent, and nothing is known of a coefficient.
_DEPENDENT = 1e-6


@final
class Residual(NamedTuple):
    """Residual sums of squares (c,), not too small, and how far bounds of coefficients have raised them, at most."""

    rest: Array
    above: Array


@final
class Profile(NamedTuple):
    r"""Up to each checkpoint (c,), :math:`R^2(v) = R^2 + k(v - \hat v)^2` with one coefficient held at v.

    With noise of a known variance the log likelihood falls by :math:`k(v - \hat v)^2 / 2\sigma^2` from its largest
    value, else by :math:`\frac n2\log(1 + k(v - \hat v)^2 / R^2)`.
    """

    centre: Array  # (c,) the fitted coefficient
    slack: Array  # (c,) how far rounding may have moved it
    curvature: Array  # (c,) k, not too large
    left: Residual  # R^2 within the bounds of all coefficients
    numbers: Array  # (c,) n
    variance: float | None  # of the noise

    @property
    def scale(self) -> float:
        """About a standard deviation of the coefficient."""
        noise = self.left.rest[-1] / self.numbers[-1] if self.variance is None else self.variance
        return float(np.sqrt(noise / self.curvature[-1])) or float(abs(self.centre[-1])) or 1.0

    def falls(self, value: float) -> Array:
        """(c,) by how much the log likelihood falls at least."""
        rise = self.curvature * np.maximum(np.abs(value - self.centre) - self.slack, 0.0) ** 2
        rise = np.maximum(rise - self.left.above, 0.0)
        if self.variance is not None:
            return np.asarray(rise / (2.0 * self.variance))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(rise > 0.0, 0.5 * self.numbers * np.log1p(rise / self.left.rest), 0.0))


def profile_of(
    columns: Field, place: int, means: Array, counts: Array, left: Residual, variance: float | None
) -> Profile | None:
    """The profile of the coefficient of one of the columns (q, r); None if columns are dependent.

    means: (c, q) of the first counts (c,) rows.  left: what all columns leave.
    """
    sizes = np.linalg.norm(columns, axis=0)
    if not (sizes > 0.0).all():
        return None
    outer, values, inner = np.linalg.svd(columns / sizes, full_matrices=False)
    if len(values) < columns.shape[1] or values[-1] < _DEPENDENT:
        return None
    inverse = (inner[:, place] / values) @ outer.T / sizes[place]
    # Errors of products of q numbers, and of the singular vectors, which small singular values magnify.
    rounding = 64.0 * _EPS * (len(columns) + 8.0) / values[-1] ** 2
    length = float(np.linalg.norm(inverse))
    slack = rounding * length * np.linalg.norm(means, axis=1)
    curvature = counts / length**2 * (1.0 - min(rounding, 0.5))
    n = counts * len(columns)
    return Profile(means @ inverse, slack, curvature, left, n, variance)
