"""What to raise, and to what, to reach a wanted resolution."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import final

import numpy as np
from scipy.optimize import brentq

from ._design import MOST_ROWS, Design
from ._joint import JointInformation, joint_information
from ._orientation import OrientationInformation
from ._resolution import diameter

# A change of the mean this small, relative to the changes of its atoms, is rounding: deployment does not show it.
_HIDDEN = 1e-12

# The diameter is smooth in the contrast but need not fall everywhere; this many steps find every wide valley.
_STEPS = 64


@final
@dataclass(frozen=True, slots=True)
class Remedies:
    """What reaches a wanted resolution when it alone is raised.

    None: it cannot, however far it is raised.  inf: it does, but with more than `MOST_ROWS` rows.
    """

    wanted: float
    n_calibration: int | float  # least N, or inf; there always is one
    n_deployment: int | float | None  # least T, inf, or None
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

    rest = unlimited_deployment(joint, design)
    by_rows = _least_count(lambda n: diameter(joint, design.level, n, replicates) <= wanted, rows)
    by_replicates: float | None = _least_count(lambda t: diameter(joint, design.level, rows, t) <= wanted, replicates)
    if by_replicates == inf and rest > wanted:
        by_replicates = None
    by_contrast, best = _least_contrast(with_contrast, design.contrast, design.widest_contrast, wanted)
    return Remedies(wanted, by_rows, by_replicates, by_contrast, rest, best)


def unlimited_deployment(joint: JointInformation, design: Design) -> float:
    """Diameter that remains when there is no end to the deployment rows: that of the modes which they never show."""
    size = np.abs(design.coefficients) @ np.linalg.norm(joint.moves, axis=(1, 2)) / design.sigma
    shown = joint.worth > (_HIDDEN * size) ** 2
    return diameter(replace(joint, moves=np.where(shown, 0.0, joint.moves)), design.level, design.n_calibration, 0)


def _least_count(reaches: Callable[[int], bool], now: int) -> int | float:
    """Smallest whole number from now on that reaches, for a condition that stays true once it is, or inf."""
    if not reaches(MOST_ROWS):
        return inf
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
