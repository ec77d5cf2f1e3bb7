"""The three-scale bound against what real correspondences retain."""

from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import expm
from tests.local.theory.means import deployment_mean, separated_mean
from tests.local.theory.rates import three_scale_upper_bound

from physupport._checks import Interval
from physupport.laws import BernoulliGaussian
from physupport.local.regions import (
    CalibrationClass,
    CalibrationParameter,
    Correspondence,
    DeploymentBall,
    median_of_means_region,
    targets,
)
from physupport.local.regions._reading import target_diameter
from physupport.local.shell import Amplitudes, Block, Frame, LocalDictionary, Shell, default_separated_atom
from physupport.studies import quotient_distance

FRAME = Frame.standard(4)
AWAY = default_separated_atom(FRAME)
SHELL = Shell(FRAME, 0.1, 1.4, Interval(0.7, 1.3), AWAY, 0.5, Interval(0.1, 0.6))
AMPLITUDES = Amplitudes(Interval(0.8, 1.2), Interval(0.5, 3.0))
REGION = median_of_means_region(np.ones((2, 4)), CalibrationClass(SHELL, Interval(0.1, 0.3)), 0.1)  # the whole class


def near(dictionary, step, rng):
    """A dictionary at about the given distance, its atoms in another order."""
    generator = rng.standard_normal((3, 3))
    block = dictionary.block
    turn = expm(step / SHELL.scale * (generator - generator.T) / np.linalg.norm(generator))
    moved = Block(FRAME, block.center + 0.1 * step * rng.standard_normal(3), turn @ block.shape)
    z = moved.coordinates[:, rng.permutation(4)]
    return LocalDictionary(Block.from_coordinates(FRAME, z), dictionary.separated)


def retained_at(step, radius, support, seed):
    rng = np.random.default_rng(seed)
    base = LocalDictionary(Block.balanced(FRAME, SHELL.scale), AWAY)
    dictionaries = [base, *(near(base, step * rng.uniform(), rng) for _ in range(25))]
    parameters = [CalibrationParameter(BernoulliGaussian(0.2), d, 0.3) for d in dictionaries]
    mean = separated_mean(AWAY, 1.5) if support is None else deployment_mean(base.atoms, support, [0.9, 1.1])
    ball = DeploymentBall(mean + 0.5 * radius / 2.0 * rng.standard_normal(4), radius, 0.1)
    return Correspondence(REGION, ball, AMPLITUDES, 2).retain(parameters)


@pytest.mark.parametrize("support", [(0, 1), None])
@pytest.mark.parametrize("radius", [1e-4, 3e-3, 3e-2, 0.3, 1.0])
def test_retained_targets_stay_within_the_three_scale_bound(radius, support):
    kinds = set()
    for seed, step in enumerate((1e-5, 1e-3, 5e-3, 3e-2, 0.1)):
        retained = retained_at(step, radius, support, seed)
        survivors = [retained.parameters[k].dictionary for k in np.flatnonzero(retained.kept.any(axis=1))]
        assert survivors
        rho = max((quotient_distance(a, b)[0] for a, b in combinations(survivors, 2)), default=0.0)
        bound = three_scale_upper_bound(SHELL, AMPLITUDES, 2, dictionary_radius=rho, ball_radius=radius)
        # Diameters of nearly equal atoms carry a few units of rounding of the atoms themselves.
        assert target_diameter(targets(retained)) <= max(bound) + 1e-14
        kinds.add((bound[1] > 0.0, bound[2] > 0.0))
        # Where a level is resolved, no two survivors may differ in it.
        if bound[2] == 0.0:
            assert not (retained.kept[:, :-1].any() and retained.kept[:, -1].any())
        if bound[1] == 0.0:
            assert (retained.kept[:, :-1].sum(axis=1) <= 1).all()
    resolved = {1e-4: (False, False), 1.0: (True, True)}
    assert radius not in resolved or resolved[radius] in kinds
