from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import lsq_linear
from tests.local.theory.means import deployment_mean, measurements, separated_mean
from tests.local.theory.moments import row_threshold

from physupport._checks import Interval
from physupport._errors import MisuseError
from physupport.laws import BernoulliGaussian, make_calibration
from physupport.local.regions import (
    CalibrationClass,
    CalibrationParameter,
    Correspondence,
    DeploymentBall,
    combined_level,
    deployment_ball,
    inverted_median_of_means_region,
    median_of_means_region,
)
from physupport.local.shell import Amplitudes, Block, LocalDictionary

ALPHA_D, ALPHA_T, RUNS, SIGMA = 0.1, 0.1, 200, 0.5
AMPLITUDES = Amplitudes(Interval(0.5, 1.5), Interval(0.3, 3.0))
TRUE_SUPPORTS = [(1, 3), None]
# The rectangle needs a number of rows to exist at all; just above it its radii are widest.
REGIONS = {
    median_of_means_region: row_threshold(4, (ALPHA_D / 2, ALPHA_D / 2)) + 5,
    inverted_median_of_means_region: 300,
}
EVERY_REGION = pytest.mark.parametrize("build", REGIONS)


def true_mean(theta, support):
    if support is None:
        return separated_mean(theta.dictionary.separated, 1.4)
    return deployment_mean(theta.dictionary.atoms, support, [0.5, 1.2])  # one coefficient at the edge of its range


def calibrated(build, theta, calibration, rng):
    rows = make_calibration(theta.law, theta.dictionary.atoms, theta.noise, rng, REGIONS[build])
    return build(rows, calibration, ALPHA_D)


def ball_of(mean, rng, sigma_max=SIGMA):
    return deployment_ball(measurements(mean, SIGMA**2, rng, 5), sigma_max, ALPHA_T)


def misses(build, theta, calibration, support, *, sigma_max=SIGMA, seed=0):
    rng, lost, mean = np.random.default_rng(seed), 0, true_mean(theta, support)
    for _ in range(RUNS):
        region = calibrated(build, theta, calibration, rng)
        correspondence = Correspondence(region, ball_of(mean, rng, sigma_max), AMPLITUDES, 2)
        lost += not correspondence.membership(theta, support).inside
    return lost


@EVERY_REGION
@pytest.mark.parametrize("support", TRUE_SUPPORTS)
def test_the_truth_is_lost_in_at_most_alpha_of_the_runs(build, support, bernoulli_class, parameter):
    lost = misses(build, parameter(), bernoulli_class, support)
    # Unlucky seeds: fewer than one in a million.
    assert stats.binom.sf(lost - 1, RUNS, combined_level(ALPHA_D, ALPHA_T)) > 1e-6


@pytest.mark.parametrize("support", TRUE_SUPPORTS)
def test_negative_control_a_ball_for_half_the_noise_is_exposed(support, bernoulli_class, parameter):
    build = inverted_median_of_means_region
    lost = misses(build, parameter(), bernoulli_class, support, sigma_max=SIGMA / 2.0)
    assert stats.binom.sf(lost - 1, RUNS, combined_level(ALPHA_D, ALPHA_T)) < 1e-6


def test_negative_control_a_region_of_a_sixth_of_its_radius_is_exposed(bernoulli_class, parameter):
    theta, rng, lost, mean = parameter(), np.random.default_rng(0), 0, true_mean(parameter(), (1, 3))
    for _ in range(RUNS):
        region = calibrated(inverted_median_of_means_region, theta, bernoulli_class, rng)
        sixth = [multiplier / 6.0 for multiplier in region.conditions.keywords["multipliers"]]
        narrow = replace(region, conditions=partial(region.conditions, multipliers=sixth))
        correspondence = Correspondence(narrow, ball_of(mean, rng), AMPLITUDES, 2)
        lost += not correspondence.membership(theta, (1, 3)).inside
    assert stats.binom.sf(lost - 1, RUNS, combined_level(ALPHA_D, ALPHA_T)) < 1e-6


@EVERY_REGION
@pytest.mark.parametrize("support", TRUE_SUPPORTS)
def test_calibration_that_kept_the_truth_leaves_the_deployment_level(build, support, bernoulli_class, parameter):
    theta, rng, mean = parameter(), np.random.default_rng(1), true_mean(parameter(), support)
    region = calibrated(build, theta, bernoulli_class, rng)
    assert region.membership(theta).inside
    lost = 0
    for _ in range(2 * RUNS):
        lost += not Correspondence(region, ball_of(mean, rng), AMPLITUDES, 2).membership(theta, support).inside
    assert stats.binom.sf(lost - 1, 2 * RUNS, ALPHA_T) > 1e-6


@pytest.fixture
def whole_class(bernoulli_class):
    return median_of_means_region(np.ones((2, 4)), bernoulli_class, ALPHA_D)


@pytest.fixture
def correspondence(whole_class, parameter):
    return Correspondence(whole_class, DeploymentBall(true_mean(parameter(), (1, 3)), 0.15, ALPHA_T), AMPLITUDES, 2)


def test_what_is_kept_is_what_an_independent_solver_keeps(correspondence, parameter):
    parameters = [parameter(seed=seed) for seed in range(12)]
    retained = correspondence.retain(parameters)
    assert retained.supports == (*combinations(range(4), 2), None)
    for k, theta in enumerate(parameters):
        for m, support in enumerate(retained.supports):
            active, box = ([4], AMPLITUDES.separated) if support is None else (list(support), AMPLITUDES.block)
            atoms = theta.dictionary.atoms[:, active]
            fit = lsq_linear(atoms, correspondence.ball.center, (box.lower, box.upper), method="bvls", tol=1e-14)
            # The solver stops a little above the minimum; a residual may vanish, where only absolute errors remain.
            loss = np.sqrt(2.0 * fit.cost)
            assert retained.loss_bounds[k, m] == pytest.approx(loss, rel=1e-7, abs=1e-7)
            assert retained.kept[k, m] == (loss <= 0.15)
    assert 0 < retained.kept.sum() < retained.kept.size


def test_retaining_many_is_judging_each(correspondence, parameter):
    parameters = [parameter(seed=seed, noise=0.2 + 0.1 * seed) for seed in range(8)]  # the last are outside the class
    retained = correspondence.retain(iter(parameters))
    each = [[correspondence.membership(p, s).inside for s in retained.supports] for p in parameters]
    np.testing.assert_array_equal(retained.kept, each)
    assert not retained.kept[-1].any()
    pairs = [
        (p, s)
        for p, row in zip(parameters, each, strict=True)
        for s, kept in zip(retained.supports, row, strict=True)
        if kept
    ]
    assert retained.pairs() == pairs
    assert retained.kept.sum() == len(pairs)
    assert not retained.is_empty


def test_membership_lists_the_region_then_the_deployment_residual(correspondence, parameter):
    theta = parameter()
    conditions = correspondence.membership(theta, (1, 3)).conditions
    assert conditions[:-1] == correspondence.region.membership(theta).conditions
    assert conditions[-1].name == "deployment residual at most tau"
    assert conditions[-1].bound == 0.15
    assert correspondence.membership(theta, None).violated == ("deployment residual at most tau",)


def test_relabelling_atoms_with_their_support_changes_nothing(correspondence, parameter):
    theta, order = parameter(), [2, 0, 3, 1]
    block = theta.dictionary.block
    moved = LocalDictionary(
        Block.from_coordinates(block.frame, block.coordinates[:, order]), theta.dictionary.separated
    )
    relabelled = CalibrationParameter(theta.law, moved, theta.noise)
    for support in correspondence.supports[:-1]:
        there = tuple(sorted(order.index(j) for j in support))
        one, two = (
            correspondence.membership(t, s).conditions[-1].value for t, s in ((theta, support), (relabelled, there))
        )
        assert one == pytest.approx(two, abs=1e-13)  # sums in another order


def test_a_larger_ball_keeps_at_least_as_much(whole_class, parameter):
    parameters, mean = [parameter(seed=seed) for seed in range(5)], true_mean(parameter(), None)
    kept = [
        Correspondence(whole_class, DeploymentBall(mean, radius, ALPHA_T), AMPLITUDES, 2).retain(parameters).kept
        for radius in (0.01, 0.3, 1.0, 3.0)
    ]
    assert all((a <= b).all() for a, b in pairwise(kept))
    assert kept[-1].sum() > kept[0].sum()


def test_the_exact_mean_is_kept_by_any_radius(whole_class, parameter):
    """Rounding of the profiled residual must not lose a mean that is exactly reachable."""
    for seed in range(30):
        theta = parameter(seed=seed)
        for support in TRUE_SUPPORTS:
            ball = DeploymentBall(true_mean(theta, support), 1e-300, ALPHA_T)
            assert Correspondence(whole_class, ball, AMPLITUDES, 2).membership(theta, support).inside


def test_no_survivor_raises_the_flag(whole_class, parameter):
    ball = DeploymentBall(np.array([0.0, 0.0, 0.0, -9.0]), 0.1, ALPHA_T)
    retained = Correspondence(whole_class, ball, AMPLITUDES, 2).retain([parameter()])
    assert retained.is_empty
    assert retained.kept.sum() == 0
    assert retained.pairs() == []


def test_the_combined_level_is_that_of_two_independent_failures():
    assert combined_level(0.1, 0.2) == pytest.approx(1.0 - 0.9 * 0.8, rel=1e-15)


def test_the_level_is_that_of_the_region_and_of_the_ball_and_goes_with_what_is_retained(whole_class, parameter):
    ball = ball_of(true_mean(parameter(), None), np.random.default_rng(0))
    narrower = replace(whole_class, alpha=0.02)
    for region, expected in ((whole_class, 1.0 - 0.9 * 0.9), (narrower, 1.0 - 0.98 * 0.9)):
        correspondence = Correspondence(region, ball, AMPLITUDES, 2)
        assert correspondence.level == pytest.approx(expected, rel=1e-14)
        assert correspondence.retain([parameter()]).level == correspondence.level


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, np.nan])
def test_a_level_outside_its_range_is_refused(level):
    with pytest.raises(MisuseError, match="calibration must lie strictly between 0 and 1"):
        combined_level(level, 0.1)
    with pytest.raises(MisuseError, match="deployment must lie strictly between 0 and 1"):
        combined_level(0.1, level)


@pytest.mark.parametrize("r", [1, 4, 2.0])
def test_a_support_size_outside_2_to_q_minus_1_is_refused(whole_class, r):
    with pytest.raises(MisuseError, match="r must be a whole number between 2 and 3"):
        Correspondence(whole_class, DeploymentBall(np.ones(4), 0.1, ALPHA_T), AMPLITUDES, r)


def test_an_argument_of_another_type_is_refused_by_name(whole_class, correspondence):
    ball = DeploymentBall(np.ones(4), 0.1, ALPHA_T)
    with pytest.raises(MisuseError, match="amplitudes must be of type Amplitudes, not tuple"):
        Correspondence(whole_class, ball, (0.5, 2.0), 2)
    with pytest.raises(MisuseError, match=r"parameters\[0\] must be of type CalibrationParameter, not int 1"):
        correspondence.retain([1, 2])
    shell = whole_class.calibration_class.shell
    with pytest.raises(MisuseError, match="activity must be of type Interval or ExchangeableGaussian, not tuple"):
        CalibrationClass(shell, (0.1, 0.3))
    with pytest.raises(MisuseError, match="rng must be of type Generator, not int 0"):
        make_calibration(BernoulliGaussian(0.2), np.eye(4), 0.5, 0, 3)


def test_an_empty_collection_is_refused(correspondence):
    with pytest.raises(MisuseError, match="parameters must hold at least one calibration parameter"):
        correspondence.retain([])


def test_a_dictionary_of_another_dimension_is_refused(correspondence, parameter):
    with pytest.raises(MisuseError, match=r"parameters\[1\] must have a dictionary in dimension 4"):
        correspondence.retain([parameter(), parameter(5)])
    with pytest.raises(MisuseError, match="parameter must have a dictionary in dimension 4, that of the ball, not 5"):
        correspondence.membership(parameter(5), (0, 1))


def test_a_region_of_another_dimension_is_refused(whole_class):
    with pytest.raises(MisuseError, match="region must have dimension 5, that of the deployment ball, not 4"):
        Correspondence(whole_class, DeploymentBall(np.ones(5), 0.1, ALPHA_T), AMPLITUDES, 2)


@pytest.mark.parametrize(
    ("support", "message"),
    [
        ((0, 1, 2), "support must hold 2 atoms"),
        ((0, 4), "support must hold indices from 0 to 3"),
        ((1, 1), "support must hold distinct atoms"),
        ((), "support must hold at least one atom"),
    ],
)
def test_a_wrong_support_is_refused(correspondence, parameter, support, message):
    with pytest.raises(MisuseError, match=message):
        correspondence.membership(parameter(), support)


def test_a_ball_that_is_not_finite_is_refused():
    with pytest.raises(MisuseError, match="center must be finite"):
        DeploymentBall(np.array([0.0, np.nan]), 0.1, ALPHA_T)
    with pytest.raises(MisuseError, match="radius must lie strictly between 0 and inf"):
        DeploymentBall(np.zeros(4), np.nan, ALPHA_T)
    with pytest.raises(MisuseError, match="alpha must lie strictly between 0 and 1"):
        DeploymentBall(np.zeros(4), 0.1, 1.0)


def test_a_law_that_the_class_does_not_know_is_refused(correspondence, parameter, known_law):
    assert isinstance(parameter().law, BernoulliGaussian)
    with pytest.raises(MisuseError, match=r"parameter\.law must be Bernoulli-Gaussian"):
        correspondence.retain([parameter(law=known_law(5))])
