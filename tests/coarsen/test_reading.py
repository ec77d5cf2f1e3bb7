from itertools import pairwise

import numpy as np
import pytest

from physupport._checks import Interval
from physupport._errors import MisuseError
from physupport.coarsen import Stage, reading
from physupport.geometry import Amplitudes, Block, Frame, LocalDictionary, Shell, default_separated_atom
from physupport.models import BernoulliGaussian, GaussianMean, deployment_mean, make_calibration, separated_mean
from physupport.retain import (
    CalibrationClass,
    CalibrationParameter,
    Correspondence,
    deployment_ball,
    inverted_median_of_means_region,
)

FRAME, LAW, NOISE, SIGMA = Frame.standard(4), BernoulliGaussian(0.2), 0.02, 0.1
AWAY = default_separated_atom(FRAME)
SHELL = Shell(FRAME, 0.3, 1.2, Interval(0.8, 1.2), AWAY, 0.5, Interval(0.01, 0.1))
AMPLITUDES = Amplitudes(Interval(0.5, 2.0), Interval(0.5, 4.0))


def turned(angle, order=(0, 1, 2, 3), tilt=0.0):
    turn = np.eye(3)
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    z = Block.balanced(FRAME, 0.3, turn).coordinates[:, list(order)]
    separated = AWAY + tilt * FRAME.basis[:, 1]
    return LocalDictionary(Block.from_coordinates(FRAME, z), separated / np.linalg.norm(separated))


def parameter(*args, **kwargs):
    return CalibrationParameter(LAW, turned(*args, **kwargs), NOISE)


@pytest.fixture(scope="module")
def read():
    """Read what real data leave of some candidates, with the true mean and the number of measurements given."""
    rows = make_calibration(LAW, turned(0.0).atoms, NOISE, np.random.default_rng(0), 20_000)
    region = inverted_median_of_means_region(rows, CalibrationClass(SHELL, Interval(0.1, 0.3)), 0.025)

    def retain(candidates, mean, n_rows, sigma=SIGMA):
        ball = deployment_ball(GaussianMean(mean, sigma**2).sample(np.random.default_rng(1), n_rows), sigma, 0.025)
        return Correspondence(region, ball, AMPLITUDES, 2).retain(candidates)

    return retain


BLOCK_MEAN = deployment_mean(turned(0.0).atoms, (0, 1), [1.0, 1.4])


def test_much_data_name_one_support_and_its_spread(read):
    retained = read([parameter(angle) for angle in (0.0, 0.01, -0.02)], BLOCK_MEAN, 10_000)
    found = reading(retained, 0.05)
    assert retained.kept[:, 0].sum() > 1
    assert found.stage is Stage.BLOCK_MAPPING
    assert found.supports == ((0, 1),)
    assert found.is_matched
    assert 0.0 < found.diameter < 0.02
    assert found.sentence.startswith(
        "One support, {0, 1}: over all surviving dictionaries its physical elements agree to within 0.0"
    )


def test_few_measurements_leave_several_supports(read):
    found = reading(read([parameter(0.0), parameter(0.01)], BLOCK_MEAN, 3, sigma=0.3), 0.05)
    assert found.stage is Stage.ATOM_SUPPORT
    assert found.is_matched
    assert len(found.supports) > 1
    assert "could be any of {0, 1}" in found.sentence


def test_a_mean_that_both_explain_leaves_the_local_explanation_open(read):
    found = reading(read([parameter(0.0)], 0.6 * (FRAME.axis + AWAY), 5, sigma=0.5), 0.05)
    assert found.stage is Stage.LOCAL_EXPLANATION
    assert None in found.supports
    assert len(found.supports) > 1
    assert found.sentence.startswith("Local explanation unresolved")


def test_a_separated_signal_is_read_as_the_separated_atom(read):
    retained = read([parameter(0.0), parameter(0.0, tilt=0.01)], separated_mean(AWAY, 2.0), 100)
    found = reading(retained, 0.05)
    assert found.stage is Stage.SEPARATED_MAPPING
    assert found.supports == (None,)
    assert retained.n_kept == 2
    # Lines tilted by about 0.01 apart.
    assert found.diameter == pytest.approx(0.01, rel=1e-3)
    assert "it agrees to within 0.01 " in found.sentence


def test_nothing_left_says_so_with_the_level(read):
    found = reading(read([parameter(0.0)], -5.0 * FRAME.axis, 100), 0.05)
    assert found.stage is Stage.EMPTY
    assert found.supports == ()
    assert found.diameter == 0.0
    assert "probability at most 0.05" in found.sentence


def test_another_order_of_the_same_atoms_is_the_same_support(read):
    found = reading(read([parameter(0.0), parameter(0.0, order=(2, 3, 1, 0))], BLOCK_MEAN, 10_000), 0.05)
    assert found.stage is Stage.BLOCK_MAPPING
    assert found.supports == ((0, 1),)
    assert found.diameter == pytest.approx(0.0, abs=1e-14)  # the same atoms up to rounding


def test_dictionaries_without_a_unique_matching_coarsen_the_reading(read):
    """Each of the two alone has one support; together their atoms cannot be told apart, so none is named."""
    # Turned by a third of a right angle in the plane of two coordinates, where partners are not closest any more.
    other = parameter(0.9)
    mean = deployment_mean(other.dictionary.atoms, (0, 1), [1.0, 1.4])
    candidates = [parameter(0.0), other]
    each = [read([theta], m, 10_000) for theta, m in zip(candidates, (BLOCK_MEAN, mean), strict=True)]
    assert all(reading(one, 0.05).stage is Stage.BLOCK_MAPPING for one in each)
    together = type(each[0])(
        tuple(candidates),
        each[0].supports,
        np.vstack([one.losses for one in each]),
        np.vstack([one.kept for one in each]),
    )
    found = reading(together, 0.05)
    assert found.stage is Stage.ATOM_SUPPORT
    assert not found.is_matched
    assert "differ too much" in found.sentence
    assert "{" not in found.sentence


def test_adding_survivors_never_refines_the_reading(read):
    """Order of the stages from fine to coarse; more candidates can only coarsen, and never shrink the diameter."""
    coarseness = [Stage.EMPTY, Stage.BLOCK_MAPPING, Stage.ATOM_SUPPORT, Stage.LOCAL_EXPLANATION]
    rng = np.random.default_rng(5)
    candidates = [parameter(angle, order=rng.permutation(4)) for angle in rng.uniform(-1.0, 1.0, 12)]
    for n_rows in (1, 30, 1000):
        readings = [reading(read(candidates[: k + 1], BLOCK_MEAN, n_rows), 0.05) for k in range(len(candidates))]
        for finer, coarser in pairwise(readings):
            assert coarseness.index(finer.stage) <= coarseness.index(coarser.stage)
            assert finer.diameter <= coarser.diameter


@pytest.mark.parametrize("level", [0.0, 1.0, np.nan])
def test_a_level_outside_its_range_is_refused(read, level):
    with pytest.raises(MisuseError, match="level must lie strictly between 0 and 1"):
        reading(read([parameter(0.0)], BLOCK_MEAN, 10), level)
