"""The mixture that explanations are measured against, fixed on one half of the counts."""

from dataclasses import dataclass
from math import log, pi, sqrt
from typing import final

import numpy as np
from scipy.ndimage import gaussian_filter1d

from ..._compiled import kept
from ..._exp import LN2, U, exponent_of, log_mantissa, mantissa_of
from ..._typing import Array
from ._splits import Half
from ._table import CountTable

# Opponents from the bank: not more than these, and none that the proposal half calls this much worse than the best.
MOST_FITS, _WORSE = 64, 12.0
# Counts that every opponent expects anywhere, spread evenly, so that none is ruled out by one count.
_FLOOR = 1e-3
# Weights add up to at most 1 in exact arithmetic, too.
_BELOW_ONE = 1.0 - 2.0**-40


@final
@dataclass(frozen=True, slots=True, eq=False)
class Opponents:
    """A mixture of Poisson laws: weights (J,) that add up to at most 1, and means (J, q) for the other half."""

    weights: Array
    means: Array

    def log_bounds(self, counts: Array) -> tuple[float, float]:
        r"""Below and above :math:`\log\sum_j w_j\exp(\sum_i y_i\log m_{ji} - m_{ji})`."""
        values, errors = _log_likelihoods(self.weights, self.means, counts)
        # Each of J additions in logarithms errs by a few roundings of its result; twice that.
        slack = 16.0 * U * (len(values) + 2.0) * (float(np.abs(values).max()) + 1.0)
        return float(np.logaddexp.reduce(values - errors)) - slack, float(np.logaddexp.reduce(values + errors)) + slack


def opponents(
    table: CountTable, amounts: Array, scores: Array, half: Half, exposure: float, free: tuple[float, ...]
) -> Opponents:
    r"""Half the weight on fits of the bank, :math:`\propto e^{\ell_e - r_e}`, half on laws off the bank.

    The latter, the free opponents, are the best fit times local corrections, one of each width in free (f,):
    :math:`m_i\,(S_hy + \kappa)/(S_hm + \kappa)` with :math:`S_h` a Gaussian average and :math:`\kappa` one count in
    its window.  They fit what no explanation does, and this is what can reject all of them.

    amounts (M, r) and scores (M,): the fits to this half.  exposure: that of the other half.
    """
    values = scores - (amounts > 0.5).sum(axis=1)  # a column costs a unit of log likelihood in data to come
    order = np.argsort(-values, kind="stable")[:MOST_FITS]
    order = order[values[order] > values[order[0]] - _WORSE] if np.isfinite(values[order[0]]) else order[:1]
    fits = np.array([table.means(int(e), amounts[e]) for e in order]) + _FLOOR / len(half.counts)
    weights = np.exp(values[order] - values[order[0]]) if len(order) > 1 else np.ones(1)
    corrected = [_corrected(fits[0], half.counts, width) for width in free]
    bank, off = (0.5, 0.5 / len(free)) if len(free) else (1.0, 0.0)
    shares = np.concatenate([bank * weights / weights.sum(), np.full(len(free), off)])
    return Opponents(_BELOW_ONE * shares, (exposure / half.exposure) * np.array([*fits, *corrected]))


def _corrected(fit: Array, counts: Array, width: float) -> Array:
    """The fit times the ratio of smoothed counts to smoothed fit."""
    one = 1.0 / max(2.0 * sqrt(pi) * width, 1.0)  # one count in the window
    if width == 0.0:
        return fit * (counts + one) / (fit + one)
    smooth = gaussian_filter1d(np.stack([counts, fit]), width, mode="nearest")
    return np.asarray(fit * (smooth[0] + one) / (smooth[1] + one))


@kept(nogil=True)
def _log_likelihoods(weights: Array, means: Array, counts: Array) -> tuple[Array, Array]:
    """Values (J,) with the log of the weight, and bounds (J,) of their errors: see `log_bounds` of a fit."""
    values, errors = np.empty(len(means)), np.empty(len(means))
    for j in range(len(means)):
        value, size = 0.0, 0.0
        for i in range(means.shape[1]):
            mean = means[j, i]
            value -= mean
            size += mean
            if counts[i] > 0.0:
                term = counts[i] * (exponent_of(mean) * LN2 + log_mantissa(mantissa_of(mean)))
                value += term
                size += abs(term) + 9.0 * counts[i] / (means.shape[1] + 8.0)
        share = log(weights[j])
        values[j] = value + share
        errors[j] = 2.0 * U * ((2.0 * means.shape[1] + 16.0) * size + 4.0 * (abs(value) + abs(share)))
    return values, errors
