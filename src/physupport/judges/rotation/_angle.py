r"""Responses that are right up to an angle: a level for each explanation at which the truth is still kept.

Let the mean of the rows be :math:`\mu = N_e\theta + d`, where the true responses of e lie within an angle of their
spans, :math:`|Qd| \le t\,|P\mu|` with t the tangent.  Against the nearest mean that e does hold, :math:`P\mu`, no test
tells it better than that of Neyman and Pearson: one of level a' rejects it with probability at most
:math:`\Phi(\Phi^{-1}(a') + t\rho)`, :math:`\rho = |P\mu| / \sigma`.

The strength is bounded from the same rows.  With N normal and X the root of a chi-square of f degrees, independent,
:math:`|Pz| \ge \sigma(\rho + N)` and :math:`R \le \sigma(t\rho + X)`.  With :math:`c = |Pz| / R` as observed, all
:math:`\rho` are excluded at which :math:`P(\rho(1 - ct) + N \le cX)` is at most b: the noncentrality at which
Student's distribution has the quantile :math:`c\sqrt f` at b, over :math:`1 - ct`.  Where :math:`ct \ge 1` nothing is
known.  With :math:`\sigma` known :math:`\rho \le |Pz|/\sigma - \Phi^{-1}(b)`.  So e is judged at
:math:`a' = \Phi(\Phi^{-1}(a - b) - t\rho)`, and lost with probability at most a.
"""

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import nctdtrinc, ndtr, ndtri

from ..._typing import Array, IntArray

if TYPE_CHECKING:
    from ._mean import MeanRows

# Of the level, what bounding the strength takes.
_SHARE = 0.1
# Levels are rounded down to these many a decade, so that explanations share them.
_STEPS = 8
_LEAST = 1e-12
_ROUNDING = 1e-9


def lowered(rows: "MeanRows", explanations: IntArray, level: float, tangents: Array) -> Array:
    """(k,) levels at which explanations may be judged whose responses are off by angles of these tangents (k,)."""
    share = _SHARE * level
    along = np.sqrt((rows.bases[explanations] @ rows.vector) ** 2 @ np.ones(rows.bases.shape[1]))  # (k,) |Pz|
    if rows.own_sigma > 0.0:
        strengths = along / rows.own_sigma - float(ndtri(share))
    else:
        energies = float(rows.vector @ rows.vector) + rows.scatter - along**2
        ratios = along / np.sqrt(np.maximum(energies, 1e-300))
        freedom = (rows.freedom - rows.ranks[explanations]).astype(np.float64)
        known = 1.0 - ratios * tangents
        largest = nctdtrinc(freedom, share, ratios * np.sqrt(freedom))
        strengths = np.where(known > 0.0, largest / known, np.inf)
    with np.errstate(invalid="ignore"):
        moved = np.nan_to_num(tangents * strengths * (1.0 + _ROUNDING), nan=np.inf, posinf=np.inf)
    exact = ndtr(ndtri(level - share) - moved)
    steps = np.floor(np.log10(np.maximum(exact, _LEAST)) * _STEPS - _ROUNDING)
    return np.where(exact > _LEAST, 10.0 ** (steps / _STEPS), 0.0)
