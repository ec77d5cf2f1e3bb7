"""What is measured: power laws, affinities against the information of each gate, and what deployment sees of a turn."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import Array, BoolArray
from ...local.rates import (
    InformationScales,
    MeanPair,
    explanation_pair,
    gaussian_affinity,
    information_scales,
    product_affinity,
    profiled_mean_distance,
    support_pair,
    two_atom_profile,
)
from ...local.shell import quotient_distance
from .._block import ACTIVE, FRAME
from ._design import SCALES, active_atoms, dictionary

BUDGETS = (0.25, *(2.0**k for k in range(-1, 8)))  # 0.25, 0.5, 1, 2, ..., 128
TOLERANCE = 0.015

# So much deployment noise that T is large at every budget, and rounding it to a whole number does not show.
_SIGMA, _COEFFICIENT = 100.0, 1.0

ANGLES = np.linspace(0.0, 0.6, 25)
CONTRASTS = (0.0, 0.25, 0.5)
_EDGE = float(np.linalg.norm(FRAME.template[:, 0] - FRAME.template[:, 1]))


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

    @property
    def is_tight(self) -> bool:
        """Whether that median keeps to the tolerance."""
        return self.median_spread <= TOLERANCE


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
                gaussian_affinity(pair.mean, pair.other, _SIGMA, _rows(budget, amount))
                for pair, amount in zip(pairs, information, strict=True)
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


def deployment_rows() -> list[dict[str, float]]:
    """Least-squares residual of the mean before the turn on the atoms after it, next to its closed form."""
    turned = {(s, float(angle)): active_atoms(s, float(angle)) for s in SCALES for angle in ANGLES}
    return [
        {
            "s": s,
            "contrast": contrast,
            "angle": angle,
            "residual": profiled_mean_distance(turned[s, 0.0], [1.0 + contrast / 2, 1.0 - contrast / 2], atoms),
            "closed_form": two_atom_profile(s, contrast, _EDGE, angle),
        }
        for contrast in CONTRASTS
        for (s, angle), atoms in turned.items()
    ]


def residual_errors(rows: list[dict[str, float]]) -> tuple[float, float]:
    """Largest residual with equal coefficients, and largest relative error of the closed form where it is not 0."""
    columns = {name: np.array([row[name] for row in rows]) for name in ("contrast", "residual", "closed_form")}
    residual, closed = columns["residual"], columns["closed_form"]
    seen = closed > 0.0
    equal: Array = residual[columns["contrast"] == 0.0]
    return float(equal.max()), float((np.abs(residual - closed)[seen] / closed[seen]).max())


def labels_are_kept() -> bool:
    """Whether the best match of the turned block with the first one maps each atom to itself, all along the path."""
    return all(
        quotient_distance(dictionary(s), dictionary(s, float(angle))).permutation.tolist() == [0, 1, 2, 3]
        for s in SCALES
        for angle in ANGLES
    )
