"""The two-point argument: what coverage at two alternatives costs in physical diameter."""

import numpy as np

from ..._checks import check_open
from ..._errors import MisuseError


def total_variation_from_divergence(divergence: float) -> float:
    r"""Upper bound on total variation from KL: the smaller of Pinsker and Bretagnolle-Huber.

    :math:`\mathrm{TV} \le \min\{\sqrt{K/2},\ \sqrt{1 - e^{-K}}\}`; the first wins for small K, the second is below 1.

    >>> total_variation_from_divergence(0.0)
    0.0
    """
    if not divergence >= 0.0:
        raise MisuseError("divergence", "be at least 0", repr(divergence))
    return float(min(np.sqrt(divergence / 2.0), np.sqrt(-np.expm1(-divergence))))


def total_variation_from_affinity(deficit: float) -> float:
    r"""Upper bound on total variation from the affinity deficit 1 - A: :math:`\mathrm{TV} \le \sqrt{1 - A^2}`."""
    if not 0.0 <= deficit <= 1.0:
        raise MisuseError("deficit", "lie between 0 and 1", repr(deficit))
    return float(np.sqrt(deficit * (2.0 - deficit)))


def two_point_diameter(separation: float, total_variation: float, alpha: float) -> float:
    r"""Expected diameter that coverage at two alternatives forces (eq:supp-two-point-diameter, lem:honesty-diameter).

    :math:`E_0\,\mathrm{diam}\,\hat C \ge d\,[1 - 2\alpha - \mathrm{TV}]_+`: under the first law both targets are in
    :math:`\hat C` with probability at least :math:`1 - 2\alpha - \mathrm{TV}`, and then its diameter is at least d.
    An upper bound on TV keeps the inequality.
    """
    if not 0.0 <= separation <= 1.0:
        raise MisuseError("separation", "lie between 0 and 1", repr(separation))
    if not 0.0 <= total_variation <= 1.0:
        raise MisuseError("total_variation", "lie between 0 and 1", repr(total_variation))
    return separation * max(0.0, 1.0 - 2.0 * check_open("alpha", alpha, 0.0, 0.5) - total_variation)
