"""The design of the global study: turns, banks, profiles, budgets and seeds, data, and a protocol for each profile."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final, cast, final

import numpy as np
from numpy.random import default_rng

from .._checks import Interval
from .._typing import Array
from ..aeb import EndpointPolicy, nuisance_order
from ..analysis import AnalysisProtocol, Proposed, Seal, StreamPlan
from ..banks import Bank, Nuisances, product_grid, projective_distances
from ..laws import (
    BernoulliGaussian,
    LatentObjective,
    Point,
    latent_box,
    make_calibration,
    propose_continuous,
)
from ..local.shell import orbit_bank, turns
from ..questions import Resolution
from ._case import Case
from ._outcome import ACTIVE, balanced, split_seed

STREAM = "calibration"
# One in so many of the proposal rows is searched first, but not fewer than these.
_PART = 32
_LEAST_ROWS = 2048

ANGLES: Final = np.arange(-20, 21) * 0.02
TRUE_P = 0.20
SHARE = 0.45
BUDGETS: Final = (0.10, 0.20, 0.35, 0.50, 0.75, 1.00)
# The proposal's ranges, also where a bank is narrower.
BOX: Final = latent_box((-0.4, 0.4), Interval(0.15, 0.30), Interval(0.8, 1.2))


def _generator() -> Array:
    """The turn about the sum of the two active vertices, the first axis; (4, 4)."""
    skew = np.zeros((4, 4))
    skew[1, 2] = -1.0
    skew[2, 1] = 1.0
    return skew


GENERATOR: Final = _generator()


@final
@dataclass(frozen=True, slots=True)
class Condition:
    """An amount of information: rows, separation scale, true noise, which grid of nuisances, and the seeds."""

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
    """Distances of one pair of atoms, (4, 2), from the active pairs of all orientations; (41,)."""
    others = np.concatenate([*active_pairs(scale)], axis=1)  # (4, 82)
    distances = projective_distances(pair, others).reshape(2, -1, 2)
    return np.asarray(np.maximum(distances.min(axis=2).max(axis=0), distances.min(axis=0).max(axis=1)))


def turn_of(scale: float, atoms: Array) -> float:
    """The angle by which the block is turned, below half a turn."""
    before, after = (float(np.arctan2(atom[2, 0], atom[1, 0])) for atom in (balanced(scale).atoms, atoms))
    return after - before


def study_seals(condition: Condition, data_seed: int, split: int | None = None) -> tuple[Seal, ...]:
    """Simulate, split, propose, and freeze each profile; the bank is scored here, once for all of them.

    split: the seed of the split; the study's rule unless given.
    """
    rows = study_rows(condition, data_seed)
    plan = StreamPlan("latent", SHARE, propose=partial(best_point, condition.scale))
    first, *others = PROFILES
    protocol = AnalysisProtocol(
        partial(_question, condition, first),
        partial(_policy, condition),
        first.level,
        budget=1.0,
        bank=study_bank(condition),
        streams={STREAM: plan},
        seed=split_seed(data_seed) if split is None else split,
        until_witnessed=False,
        ranks=False,  # the policy goes by the proposal alone
    )
    beside = [replace(protocol, question=partial(_question, condition, p), level=p.level) for p in others]
    part = protocol.propose(STREAM, rows)
    seals = tuple(plans.read(calibration=part) for plans in (protocol, *beside))
    seals[0].evidence.along_path(np.arange(seals[0].evidence.size))
    return seals


def study_rows(condition: Condition, data_seed: int) -> Array:
    """(N, 4) calibration rows."""
    atoms = balanced(condition.scale).atoms
    law = BernoulliGaussian(TRUE_P)
    return make_calibration(law, atoms, condition.noise, default_rng(data_seed), condition.n_rows)


def judge(condition: Condition, data_seed: int, seals: tuple[Seal, ...]) -> list[Case]:
    """The whole bank judged, and asked about, under each profile."""
    truth = true_explanation(condition)
    return [
        Case.judged(condition.name, data_seed, profile.name, seal, truth)
        for profile, seal in zip(PROFILES, seals, strict=True)
    ]


def best_point(scale: float, rows: Array) -> Point:
    """The law of the largest likelihood over the box; it may lie off the bank.

    rows: in random order, so that the first of them are like all, and lead to where all of them climb on.
    """
    whole, part = (
        LatentObjective(chosen, balanced(scale).atoms, GENERATOR)
        for chosen in (rows, rows[: max(_LEAST_ROWS, len(rows) // _PART)])
    )
    return whole.point(propose_continuous(whole, BOX, value=part.value, first=part)[0])


def point_of(proposed: Proposed) -> Mapping[str, Any]:
    """Numbers of the law that the proposal rows proposed."""
    return cast(Point, proposed.points[STREAM]).numbers


def _question(condition: Condition, profile: Profile, proposed: Proposed) -> Resolution:
    distances = place_distances(condition.scale)
    shell = float(distances.max())
    return Resolution.of_states(
        study_bank(condition),
        distances,
        proposal_distances(condition.scale, point_of(proposed)["atoms"]),
        delta_fine=profile.fine * shell,
        delta_group=profile.group * shell,
    )


def _policy(condition: Condition, proposed: Proposed) -> EndpointPolicy:
    point = point_of(proposed)
    members = nuisance_order(nuisances(condition).values, [point["p"], point["noise"]])
    return EndpointPolicy((np.arange(len(ANGLES))[:, None] * len(members) + members).ravel())
