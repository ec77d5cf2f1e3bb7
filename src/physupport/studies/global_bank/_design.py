"""What the global study fixes: the balanced block, its turns, the banks, the profiles, the budgets and the seeds."""

from dataclasses import dataclass
from functools import cache
from typing import Final, final

import numpy as np

from ..._checks import Interval
from ..._typing import Array
from ...banks import Bank, Nuisances, product_grid, projective_distances
from ...laws import latent_box
from ...local.shell import orbit_bank, turns
from .._block import ACTIVE, balanced

ANGLES: Final = np.arange(-20, 21) * 0.02
TRUE_P, SHARE = 0.20, 0.45
BUDGETS: Final = (0.10, 0.20, 0.35, 0.50, 0.75, 1.00)
# The proposal's ranges, also where a bank is narrower.
BOX: Final = latent_box((-0.4, 0.4), Interval(0.15, 0.30), Interval(0.8, 1.2))


def _generator() -> Array:
    """The turn about the sum of the two active vertices, the first axis; (4, 4)."""
    skew = np.zeros((4, 4))
    skew[1, 2], skew[2, 1] = -1.0, 1.0
    return skew


GENERATOR: Final = _generator()


@final
@dataclass(frozen=True, slots=True)
class Condition:
    """How much the data tell: rows, separation scale, true noise, which grid of nuisances, and the seeds."""

    name: str
    n_rows: int
    scale: float
    noise: float
    is_narrow: bool
    seeds: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Profile:
    """A way of reporting: the level, and the largest diameters of FINE and of GROUP as shares of the shell's."""

    name: str
    level: float
    fine: float
    group: float


CONDITIONS: Final = (
    Condition("low", 4096, 0.35, 1.2, False, tuple(range(2026080111, 2026080117))),
    Condition("intermediate", 65536, 0.50, 0.9, False, tuple(range(2026080121, 2026080127))),
    Condition("high", 131072, 0.50, 0.8, True, tuple(range(2026080131, 2026080137))),
)
PROFILES: Final = (
    Profile("risk-conservative", 0.025, 0.40, 0.50),
    Profile("balanced", 0.077, 0.35, 0.60),
    Profile("resolution-favoring", 0.150, 0.25, 0.40),
)


def nuisances(condition: Condition) -> Nuisances:
    """The grid of activities and noise variances, the noise fastest."""
    if condition.is_narrow:
        return product_grid(p=[0.19, 0.20, 0.21], noise=[condition.noise + step for step in (-0.05, 0.0, 0.05)])
    return product_grid(p=[0.15, 0.175, 0.20, 0.25, 0.30], noise=[0.8, 0.9, 1.0, 1.1, 1.2])


@cache
def study_bank(condition: Condition) -> Bank:
    """41 orientations times the nuisances."""
    dictionary = balanced(condition.scale).atoms
    return orbit_bank(dictionary, GENERATOR, ANGLES, supports=[ACTIVE], calibration=nuisances(condition))


def true_place() -> int:
    """The orientation that generates all data, angle 0."""
    return int(np.flatnonzero(ANGLES == 0.0)[0])


def true_explanation(condition: Condition) -> int:
    """The member of the bank that generates the data of a condition."""
    grid = nuisances(condition).values
    return true_place() * len(grid) + int(np.abs(grid - [TRUE_P, condition.noise]).sum(axis=1).argmin())


@cache
def active_pairs(scale: float) -> Array:
    """The active atoms at every orientation; (41, 4, 2)."""
    return np.asarray(turns(GENERATOR, ANGLES) @ balanced(scale).atoms[:, ACTIVE])


@cache
def place_distances(scale: float) -> Array:
    """Projective Hausdorff distances of the active pairs of all orientations; (41, 41)."""
    return np.array([_hausdorff_distances(scale, pair) for pair in active_pairs(scale)])


def proposal_distances(scale: float, atoms: Array) -> Array:
    """The same from a dictionary (4, 5) whose turn need not be on the grid; (41,)."""
    return _hausdorff_distances(scale, atoms[:, ACTIVE])


def _hausdorff_distances(scale: float, pair: Array) -> Array:
    """Of one pair of atoms, (4, 2), from the active pairs of all orientations; (41,)."""
    others = np.concatenate([*active_pairs(scale)], axis=1)  # (4, 82)
    distances = projective_distances(pair, others).reshape(2, -1, 2)
    return np.asarray(np.maximum(distances.min(axis=2).max(axis=0), distances.min(axis=0).max(axis=1)))


def turn_of(scale: float, atoms: Array) -> float:
    """The angle by which the block is turned, below half a turn."""
    before, after = (float(np.arctan2(atom[2, 0], atom[1, 0])) for atom in (balanced(scale).atoms, atoms))
    return after - before
