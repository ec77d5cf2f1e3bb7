"""What the study fixes: one block, one path of turns, exact calibration laws, and every divergence as a task."""

from functools import cache, partial
from itertools import product

import numpy as np
from numpy.random import SeedSequence, default_rng

from ..._typing import Array
from ...laws import BernoulliGaussian, GaussianMixture, calibration_mixture
from ...local.rates import (
    Divergence,
    common_monte_carlo,
    compensated_generator,
    midpoint_quadrature,
    turned_block,
    two_atom_generator,
)
from ...local.shell import LocalDictionary
from .._block import ACTIVE, FRAME, balanced
from .._tasks import Task

SCALES = (0.045, 0.055, 0.067, 0.082, 0.100, 0.122)
P, NOISE, STEP = 0.2, 0.5, 0.25
ORDERS = (10, 14)

STEPS, STEP_SCALE = (0.10, 0.15, 0.20, 0.25, 0.35, 0.45), 0.082
GRID = tuple(product((0.1, 0.2, 0.35), (0.3, 0.5, 1.0)))  # (p, noise) of the nine cells
GRID_SCALES = (0.05, 0.07, 0.10, 0.14)

_SEED, _STEP_SEED, _GRID_SEED = 2026072201, 2026072221, 2026072211

Pair = tuple[GaussianMixture, GaussianMixture]


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


def calibration_pair(scale: float, step: float, p: float, noise: float) -> tuple[GaussianMixture, GaussianMixture]:
    r"""The laws P and Q of one calibration row before and after the turn, as exact mixtures of 32 Gaussians."""
    law = BernoulliGaussian(p)
    before, after = (dictionary(scale, angle).atoms for angle in (0.0, step_angle(step)))
    return calibration_mixture(law, before, noise), calibration_mixture(law, after, noise)


def active_atoms(scale: float, angle: float = 0.0) -> Array:
    """The two active atoms as columns, (4, 2)."""
    return dictionary(scale, angle).block.atoms[:, list(ACTIVE)]


def scaling_tasks() -> list[Task[list[Divergence]]]:
    """128 batches, each with the same random numbers at all of the six scales."""
    return _batches([calibration_pair(scale, STEP, P, NOISE) for scale in SCALES], _SEED, 128, 8192)


def quadrature_tasks() -> list[Task[list[Divergence]]]:
    """The six scales by order 10, then by order 14."""
    pairs = [calibration_pair(scale, STEP, P, NOISE) for scale in SCALES]
    # Both laws, and one of every two opposite nodes.
    sizes = {order: pairs[0][0].n_components * order**4 for order in ORDERS}
    return [Task(partial(_rule, pair, order), sizes[order]) for order in ORDERS for pair in pairs]


def step_tasks() -> list[Task[list[Divergence]]]:
    """32 batches at one scale, each at six lengths of the path."""
    return _batches([calibration_pair(STEP_SCALE, step, P, NOISE) for step in STEPS], _STEP_SEED, 32, 8192)


def grid_tasks() -> list[Task[list[Divergence]]]:
    """4 batches in each of nine cells of activation probability and noise, each at four scales."""
    cells = [[calibration_pair(s, STEP, *nuisance) for s in GRID_SCALES] for nuisance in GRID]
    return [task for cell, pairs in enumerate(cells) for task in _batches(pairs, _GRID_SEED + cell, 4, 25_000)]


def _batches(pairs: list[Pair], seed: int, count: int, size: int) -> list[Task[list[Divergence]]]:
    return [Task(partial(_batch, pairs, child, size), len(pairs) * size) for child in SeedSequence(seed).spawn(count)]


def _batch(pairs: list[Pair], seed: SeedSequence, size: int) -> list[Divergence]:
    rng = default_rng(seed)
    # The published stream first shuffles which row comes from which law. A mean does not see the order of its rows,
    # but the numbers drawn after the shuffle depend on it.
    rng.shuffle(np.repeat([0, 1], size // 2))
    return common_monte_carlo(pairs, rng, size)


def _rule(pair: Pair, order: int) -> list[Divergence]:
    return [midpoint_quadrature(*pair, order)]
