"""Affinities against the information scale of each gate, and how well they collapse over separation scales."""

from dataclasses import dataclass
from typing import final

import numpy as np

from ..._typing import Array, BoolArray
from ...local.rates import (
    InformationScales,
    MeanPair,
    explanation_pair,
    gaussian_affinity,
    information_scales,
    product_affinity,
    support_pair,
)
from .._tasks import ACTIVE
from ._divergences import SCALES
from ._model import dictionary

BUDGETS = (0.25, *(2.0**k for k in range(-1, 8)))  # 0.25, 0.5, 1, 2, ..., 128
TOLERANCE = 0.015

# So much deployment noise that T is large at every budget, and rounding it to a whole number does not show.
_SIGMA, _COEFFICIENT = 100.0, 1.0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Collapse:
    """How far affinities at equal information differ over the separation scales."""

    mean: Array  # (budgets,)
    spread: Array  # (budgets,), largest minus smallest
    in_band: BoolArray  # (budgets,), where the mean is in the transition from 1 to 0

    @property
    def median_spread(self) -> float:
        """Median over the transition band."""
        return float(np.median(self.spread[self.in_band]))


def collapse(affinities: Array) -> Collapse:
    """Means and spreads over the scales; affinities: (budgets, scales)."""
    mean = affinities.mean(axis=1)
    return Collapse(mean, np.ptp(affinities, axis=1), (mean >= 0.1) & (mean <= 0.9))


def orientation_affinities(deficits: Array) -> Array:
    r"""Affinity of N calibration rows before and after the turn at :math:`I_D = N s^6`; (budgets, scales).

    deficits: (scales,), those of one row.
    """
    return np.array(
        [
            [product_affinity(float(deficit), _rows(budget, s**6)) for s, deficit in zip(SCALES, deficits, strict=True)]
            for budget in BUDGETS
        ]
    )


def deployment_affinities() -> dict[str, Array]:
    r"""Affinity of T deployment rows at :math:`I_G` (which explanation) and :math:`I_S` (which atoms).

    Each table is (budgets, scales).  The pairs are the least favourable ones: equal block coefficients against their
    projection on the separated atom, and two supports that differ in one atom.
    """
    explanations = [explanation_pair(dictionary(s), ACTIVE, _COEFFICIENT) for s in SCALES]
    supports = [support_pair(dictionary(s).block, ACTIVE, (ACTIVE[1], 2), _COEFFICIENT) for s in SCALES]
    one = [_one_row(s) for s in SCALES]
    return {
        "explanation": _affinities(explanations, [scales.explanation for scales in one]),
        "support": _affinities(supports, [scales.support for scales in one]),
    }


def _affinities(pairs: list[MeanPair], information: list[float]) -> Array:
    return np.array(
        [
            [
                gaussian_affinity(pair.mean, pair.other, _SIGMA, _rows(budget, each))
                for pair, each in zip(pairs, information, strict=True)
            ]
            for budget in BUDGETS
        ]
    )


def _one_row(s: float) -> InformationScales:
    return information_scales(
        n_calibration=1, n_deployment=1, scale=s, r=len(ACTIVE), weakest=_COEFFICIENT, noisiest=_SIGMA
    )


def _rows(budget: float, information: float) -> int:
    """The whole number of rows nearest to a budget of information, at least one."""
    return max(1, round(budget / information))
