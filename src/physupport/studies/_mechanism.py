"""The design of the mechanism study: one block, one path of turns, exact laws, and all that is measured on them."""

from functools import cache, partial
from itertools import product

import numpy as np
from numpy.random import SeedSequence, default_rng
from numpy.typing import ArrayLike

from .._typing import Array
from ..laws import BernoulliGaussian, GaussianMixture, calibration_mixture
from ..local.planning import information_scales
from ..local.shell import LocalDictionary, compensated_generator, turned_block, two_atom_generator
from ._divergences import (
    Divergence,
    common_monte_carlo,
    explanation_pair,
    gaussian_affinity,
    midpoint_quadrature,
    product_affinity,
    profiled_mean_distance,
    quotient_distance,
    support_pair,
    two_atom_profile,
)
from ._outcome import ACTIVE, FRAME, Task, balanced

SCALES = (0.045, 0.055, 0.067, 0.082, 0.100, 0.122)
P = 0.2
NOISE = 0.5
STEP = 0.25
ORDERS = (10, 14)
STEPS = (0.10, 0.15, 0.20, 0.25, 0.35, 0.45)
STEP_SCALE = 0.082
GRID = tuple(product((0.1, 0.2, 0.35), (0.3, 0.5, 1.0)))  # (p, noise) of the nine cells
GRID_SCALES = (0.05, 0.07, 0.10, 0.14)
BUDGETS = (0.25, *(2.0**k for k in range(-1, 8)))  # 0.25, 0.5, 1, 2, ..., 128
ANGLES = np.linspace(0.0, 0.6, 25)
CONTRASTS = (0.0, 0.25, 0.5)

_SEED = 2026072201
_STEP_SEED = 2026072221
_GRID_SEED = 2026072211
# So much deployment noise that T is large at every budget, and rounding it to a whole number does not show.
_SIGMA = 100.0
_COEFFICIENT = 1.0
_EDGE = float(np.linalg.norm(FRAME.template[:, 0] - FRAME.template[:, 1]))

Pair = tuple[GaussianMixture, GaussianMixture]
PowerLaw = tuple[float, float]  # the exponent of a fit and its R^2


@cache
def dictionary(scale: float, angle: float = 0.0) -> LocalDictionary:
    r"""The block :math:`d_j(s, \phi)` of (eq:supp-numerical-path) and its separated atom, which does not turn."""
    own = balanced(scale)
    if angle == 0.0:
        return own
    return LocalDictionary(turned_block(own.block, two_atom_generator(FRAME.template, ACTIVE), angle), own.separated)


def step_angle(step: float) -> float:
    r"""The angle of a path parameter h, whose generator moves the active vertices at unit speed."""
    unit, path = (make(FRAME.template, ACTIVE) for make in (two_atom_generator, compensated_generator))
    return step * float(np.linalg.norm(path) / np.linalg.norm(unit))


def calibration_pair(scale: float, step: float, p: float, noise: float) -> Pair:
    r"""The laws P and Q of one calibration row before and after the turn, as exact mixtures of 32 Gaussians."""
    law = BernoulliGaussian(p)
    before, after = (dictionary(scale, angle).atoms for angle in (0.0, step_angle(step)))
    return calibration_mixture(law, before, noise), calibration_mixture(law, after, noise)


def scaling_tasks() -> list[Task[list[Divergence]]]:
    """128 batches, each with the same random numbers at all of the six scales."""
    return _batches([calibration_pair(scale, STEP, P, NOISE) for scale in SCALES], _SEED, 128, 8192)


def quadrature_tasks() -> list[Task[list[Divergence]]]:
    """The six scales by order 10, then by order 14."""
    pairs = [calibration_pair(scale, STEP, P, NOISE) for scale in SCALES]
    # Both laws, and one of every two opposite nodes.
    sizes = {order: pairs[0][0].n_components * order**4 for order in ORDERS}
    return [(partial(_rule, pair, order), sizes[order]) for order in ORDERS for pair in pairs]


def step_tasks() -> list[Task[list[Divergence]]]:
    """32 batches at one scale, each at six lengths of the path."""
    return _batches([calibration_pair(STEP_SCALE, step, P, NOISE) for step in STEPS], _STEP_SEED, 32, 8192)


def grid_tasks() -> list[Task[list[Divergence]]]:
    """4 batches in each of nine cells of activation probability and noise, each at four scales."""
    cells = [[calibration_pair(s, STEP, *nuisance) for s in GRID_SCALES] for nuisance in GRID]
    return [task for cell, pairs in enumerate(cells) for task in _batches(pairs, _GRID_SEED + cell, 4, 25_000)]


def _batches(pairs: list[Pair], seed: int, count: int, size: int) -> list[Task[list[Divergence]]]:
    return [(partial(_batch, pairs, child, size), len(pairs) * size) for child in SeedSequence(seed).spawn(count)]


def _batch(pairs: list[Pair], seed: SeedSequence, size: int) -> list[Divergence]:
    rng = default_rng(seed)
    # The published stream first shuffles which row comes from which law. A mean does not see the order of its rows,
    # but the numbers drawn after the shuffle depend on it.
    rng.shuffle(np.repeat([0, 1], size // 2))
    return common_monte_carlo(pairs, rng, size)


def _rule(pair: Pair, order: int) -> list[Divergence]:
    return [midpoint_quadrature(*pair, order)]


def power_law(x: ArrayLike, y: ArrayLike) -> PowerLaw:
    r"""Exponent k and R^2 of the least-squares fit :math:`\log y = a + k \log x`; x, y: (m,), positive.

    >>> power_law([1.0, 2.0, 4.0], [3.0, 24.0, 192.0])
    (3.0, 1.0)
    """
    log_y = np.log(np.asarray(y, dtype=np.float64))
    centred = log_y - log_y.mean()
    slope = float(_slope_weights(x) @ log_y)
    log_x = np.log(np.asarray(x, dtype=np.float64))
    residual = centred - slope * (log_x - log_x.mean())
    return slope, 1.0 - float(residual @ residual) / float(centred @ centred)


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
    one_row = [
        information_scales(
            n_calibration=1, n_deployment=1, scale=s, r=len(ACTIVE), weakest=_COEFFICIENT, noisiest=_SIGMA
        )
        for s in SCALES
    ]
    return {
        "explanation": _affinities(explanations, [scales.explanation for scales in one_row]),
        "support": _affinities(supports, [scales.support for scales in one_row]),
    }


def _affinities(pairs: list[tuple[Array, Array]], information: list[float]) -> Array:
    return np.array(
        [
            [
                gaussian_affinity(*means, _SIGMA, _rows(budget, amount))
                for means, amount in zip(pairs, information, strict=True)
            ]
            for budget in BUDGETS
        ]
    )


def _rows(budget: float, information: float) -> int:
    """The whole number of rows nearest to a budget of information, at least one."""
    return max(1, round(budget / information))


def deployment_rows() -> list[dict[str, float]]:
    """Least-squares residual of the mean before the turn on the atoms after it, next to its closed form."""
    turned = {
        (s, float(angle)): dictionary(s, float(angle)).block.atoms[:, list(ACTIVE)] for s in SCALES for angle in ANGLES
    }
    return [
        {
            "s": s,
            "contrast": contrast,
            "angle": angle,
            "residual": profiled_mean_distance(turned[s, 0.0], 1.0 + contrast * np.array([0.5, -0.5]), atoms),
            "closed_form": two_atom_profile(s, contrast, _EDGE, angle),
        }
        for contrast in CONTRASTS
        for (s, angle), atoms in turned.items()
    ]


def residual_errors(rows: list[dict[str, float]]) -> tuple[float, float]:
    """Largest residual with equal coefficients, and largest relative error of the closed form where it is not 0."""
    equal = max(row["residual"] for row in rows if row["contrast"] == 0.0)
    errors = [abs(row["residual"] - row["closed_form"]) / row["closed_form"] for row in rows if row["closed_form"] > 0]
    return equal, max(errors)


def labels_are_kept() -> bool:
    """True if the best match of the turned block with the first one maps each atom to itself, all along the path."""
    return all(
        quotient_distance(dictionary(s), dictionary(s, float(angle)))[1].tolist() == [0, 1, 2, 3]
        for s in SCALES
        for angle in ANGLES
    )
