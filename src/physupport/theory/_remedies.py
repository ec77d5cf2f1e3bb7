"""What to raise, and to what, to reach a wanted resolution."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.optimize import brentq

from ._design import Design
from ._joint import JointInformation, joint_information
from ._orientation import OrientationInformation
from ._resolution import diameter

# Beyond this many rows an answer is of no use to anybody; the search for a sample size ends here.
MOST_ROWS = 10**18

# The diameter is smooth in the contrast but need not fall everywhere; this many steps find every wide valley.
_STEPS = 64


@final
@dataclass(frozen=True, slots=True)
class Remedies:
    """What reaches a wanted resolution when it alone is raised; None: it cannot, however far it is raised."""

    wanted: float
    n_calibration: int | None  # least N
    n_deployment: int | None  # least T
    contrast: float | None  # least contrast at the same mean coefficient
    best_by_deployment: float  # diameter that remains however large T
    best_by_contrast: float  # least diameter over the contrasts that the amplitude range allows


def remedies(information: OrientationInformation, design: Design, wanted: float) -> Remedies:
    """The least N, the least T and the least contrast, each with the other two as planned.

    The diameter never rises with N or T, so their search is a bisection over whole numbers.
    """
    joint, rows, replicates = joint_information(information, design), design.n_calibration, design.n_deployment

    def with_contrast(contrast: float) -> float:
        changed = joint_information(information, design.with_contrast(contrast))
        return diameter(changed, design.level, rows, replicates)

    by_rows = _least_count(lambda n: diameter(joint, design.level, n, replicates) <= wanted, rows)
    by_replicates = _least_count(lambda t: diameter(joint, design.level, rows, t) <= wanted, replicates)
    by_contrast, best = _least_contrast(with_contrast, design.contrast, design.widest_contrast, wanted)
    return Remedies(wanted, by_rows, by_replicates, by_contrast, unlimited_deployment(joint, design), best)


def unlimited_deployment(joint: JointInformation, design: Design) -> float:
    """Diameter that remains when there is no end to the deployment rows."""
    return diameter(joint, design.level, design.n_calibration, MOST_ROWS)


def _least_count(reaches: Callable[[int], bool], now: int) -> int | None:
    """Smallest whole number from now on that reaches, for a condition that stays true once it is."""
    if not reaches(MOST_ROWS):
        return None
    return now + bisect_left(range(now, MOST_ROWS), True, key=reaches)


def _least_contrast(
    width: Callable[[float], float], now: float, widest: float, wanted: float
) -> tuple[float | None, float]:
    """Smallest contrast from now on that reaches, and the least diameter on the way to the widest."""
    contrasts = np.linspace(now, widest, _STEPS + 1)
    widths = np.array([width(contrast) for contrast in contrasts])
    reached = np.flatnonzero(widths <= wanted)
    if not reached.size:
        return None, float(widths.min())
    first = int(reached[0])
    if first == 0:
        return now, float(widths.min())
    # The wanted width lies between two neighbours; the end that reaches it keeps the promise against rounding.
    found = brentq(lambda c: width(c) - wanted, contrasts[first - 1], contrasts[first], xtol=1e-13)
    return float(found), float(widths.min())
