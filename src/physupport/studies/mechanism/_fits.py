"""Power laws by least squares, and how stable their exponents are."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import Array


@final
@dataclass(frozen=True, slots=True)
class PowerLaw:
    r"""Least-squares fit :math:`\log y = a + k \log x`."""

    slope: float  # k
    r2: float


def power_law(x: ArrayLike, y: ArrayLike) -> PowerLaw:
    """The fit of y, (m,), on x, (m,), both positive.

    >>> power_law([1.0, 2.0, 4.0], [3.0, 24.0, 192.0])
    PowerLaw(slope=3.0, r2=1.0)
    """
    log_y = np.log(np.asarray(y, dtype=np.float64))
    centred = log_y - log_y.mean()
    slope = float(_slope_weights(x) @ log_y)
    log_x = np.log(np.asarray(x, dtype=np.float64))
    residual = centred - slope * (log_x - log_x.mean())
    return PowerLaw(slope, 1.0 - float(residual @ residual) / float(centred @ centred))


def slope_range(x: ArrayLike, batches: Array, seed: int, repeats: int = 2000) -> tuple[float, float]:
    """2.5 and 97.5 percentiles of the exponent over paired resamples of the batches.

    batches: (m, b), batch means at each x.  A resample draws b of the batches, the same ones at every x.  The range
    shows Monte Carlo noise for this model and grid only.
    """
    count = batches.shape[1]
    chosen = np.random.default_rng(seed).integers(0, count, (repeats, count))
    means = batches[:, chosen].mean(axis=2)  # (m, repeats)
    low, high = np.percentile(_slope_weights(x) @ np.log(means), [2.5, 97.5])
    return float(low), float(high)


def _slope_weights(x: ArrayLike) -> Array:
    """The slope of a least-squares line is linear in log y; its weights, (m,)."""
    log_x = np.log(np.asarray(x, dtype=np.float64))
    centred = log_x - log_x.mean()
    return np.asarray(centred / (centred @ centred))
