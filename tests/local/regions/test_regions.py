from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats
from tests.local.theory.moments import activity_interval, dense_tensor, noise_interval, row_threshold

from physupport._checks import Interval
from physupport._errors import MisuseError
from physupport.laws import BernoulliGaussian, calibration_mixture, make_calibration
from physupport.local.regions import (
    CalibrationClass,
    CalibrationParameter,
    CalibrationRegion,
    fourth_moment,
    inverted_median_of_means_region,
    median_distance_blocks,
    median_of_means_region,
    moment_radii,
    power_coordinates,
    second_moment,
    total_variances,
)
from physupport.local.regions._moments import matrix_coordinates
from physupport.local.shell import Block, LocalDictionary

ALPHA, RUNS = 0.2, 300
REGIONS = pytest.mark.parametrize("build", [median_of_means_region, inverted_median_of_means_region])


def rows_of(theta, n_rows, seed=0):
    return make_calibration(theta.law, theta.dictionary.atoms, theta.noise, np.random.default_rng(seed), n_rows)


def parts(region):
    """The arguments of the conditions of a region, by name."""
    return region.conditions.keywords


def with_parts(region, **changed):
    return replace(region, conditions=partial(region.conditions, **changed))


def activity_range(region):
    known = parts(region)
    return activity_interval(region.calibration_class, known["cumulant"], known["radii"][1])


def noise_range(region):
    known = parts(region)
    return noise_interval(region.calibration_class, known["second"], known["cumulant"], known["radii"])


def relabelled(theta):
    block = theta.dictionary.block
    turned = Block.from_coordinates(block.frame, block.coordinates[:, [2, 0, 3, 1]])
    return CalibrationParameter(theta.law, LocalDictionary(turned, -theta.dictionary.separated), theta.noise)


@REGIONS
def test_the_true_parameter_is_lost_in_at_most_alpha_of_the_regions(build, bernoulli_class, parameter):
    theta, lost = parameter(), 0
    for seed in range(RUNS):
        region: CalibrationRegion = build(rows_of(theta, 150, seed), bernoulli_class, ALPHA)
        lost += not region.membership(theta).inside
    assert region.alpha == ALPHA
    assert stats.binom.sf(lost - 1, RUNS, ALPHA) > 1e-6  # unlucky seeds: fewer than one in a million


def test_the_true_known_law_is_lost_in_at_most_alpha_of_the_inverted_regions(known_class, known_law, parameter):
    theta = parameter(law=known_law(5))
    regions = (inverted_median_of_means_region(rows_of(theta, 150, k), known_class, ALPHA) for k in range(RUNS))
    lost = sum(not region.membership(theta).inside for region in regions)
    assert stats.binom.sf(lost - 1, RUNS, ALPHA) > 1e-6


def test_negative_control_a_quarter_of_the_multiplier_is_exposed(bernoulli_class, parameter):
    theta, lost = parameter(), 0
    for seed in range(RUNS):
        region = inverted_median_of_means_region(rows_of(theta, 150, seed), bernoulli_class, ALPHA)
        narrow = with_parts(region, multipliers=[c / 4.0 for c in parts(region)["multipliers"]])
        lost += not narrow.membership(theta).inside
    assert stats.binom.sf(lost - 1, RUNS, ALPHA) < 1e-6


@REGIONS
def test_relabelled_and_reflected_dictionaries_are_judged_alike(build, bernoulli_class, parameter):
    theta = parameter()
    region = build(rows_of(theta, 500), bernoulli_class, ALPHA)
    one, two = (region.membership(t).conditions[-2:] for t in (theta, relabelled(theta)))
    # The separated atom is given with the other sign; sums run in another order.
    for a, b in zip(one, two, strict=True):
        assert (a.value, a.bound) == pytest.approx((b.value, b.bound), rel=1e-12)


def test_conditions_of_the_rectangle_are_distances_of_moments(bernoulli_class, parameter):
    theta, other = parameter(), parameter(law=BernoulliGaussian(0.15), seed=3, noise=0.5)
    rows = rows_of(theta, 2000)
    region = median_of_means_region(rows, bernoulli_class, ALPHA, split=(0.05, 0.15))
    second, cumulant = region.membership(other).conditions[-2:]
    assert (second.name, cumulant.name) == ("second moment within epsilon_2", "fourth cumulant within epsilon_K")
    m2 = calibration_mixture(other.law, other.dictionary.atoms, other.noise)
    covariance = np.tensordot(m2.weights, m2.covariances, 1)
    assert second.value == pytest.approx(np.linalg.norm(parts(region)["second"] - covariance), rel=1e-12)
    radii = moment_radii(2000, 4, bernoulli_class.spectral_bound, (0.05, 0.15))
    assert (second.bound, cumulant.bound) == (radii[0], radii[2])


def test_too_few_rows_keep_the_whole_class(bernoulli_class, parameter):
    theta = parameter()
    rows = rows_of(theta, row_threshold(4, (ALPHA / 2, ALPHA / 2)) - 1)
    region = median_of_means_region(rows, bernoulli_class, ALPHA)
    assert region.membership(theta).conditions == bernoulli_class.membership(theta).conditions


def test_intervals_hold_every_member(shell):
    """A wide class, data from its middle and shrunken radii, so that the intervals cut and members touch their ends."""
    wide = CalibrationClass(replace(shell(), noise=Interval(0.01, 2.0)), Interval(0.01, 0.49))
    rng = np.random.default_rng(5)
    draws = [
        CalibrationParameter(BernoulliGaussian(rng.uniform(0.01, 0.49)), shell().sample(rng), rng.uniform(0.05, 0.6))
        for _ in range(400)
    ]
    truth = CalibrationParameter(BernoulliGaussian(0.2), shell().sample(rng), 0.3)
    region = median_of_means_region(rows_of(truth, 100_000), wide, ALPHA)
    region = with_parts(region, radii=(0.6, 0.4))
    members = [theta for theta in draws if region.membership(theta).inside]
    p, noise = activity_range(region), noise_range(region)
    assert 5 < len(members) < 300
    assert 0.01 < p.lower < p.upper < 0.45
    assert noise.upper < 2.0
    assert all(p.contains(theta.law.p) and noise.contains(theta.noise) for theta in members)


def test_the_activity_interval_is_reached_by_a_cumulant_error_along_the_symmetrized_identity(
    bernoulli_class, parameter
):
    region = median_of_means_region(rows_of(parameter(), 100_000), bernoulli_class, ALPHA)
    wide = CalibrationClass(bernoulli_class.shell, Interval(1e-9, 0.4999))
    cumulant = parts(region)["cumulant"]
    found = activity_interval(wide, cumulant, 0.1)
    center = np.einsum("iijj->", dense_tensor(cumulant, 4, 4)) / 15.0
    reach = 0.1 * np.sqrt(8.0) / 15.0  # ||I||_F^2 = q(q + 2)/3 = 8 and 3n = 15
    # The interval is widened by 1e-12 against rounding.
    assert found.upper * (1.0 - found.upper) == pytest.approx(center + reach, rel=1e-9)
    assert found.lower * (1.0 - found.lower) == pytest.approx(center - reach, rel=1e-9)


def test_data_beyond_the_class_leave_no_activity_and_no_noise(bernoulli_class, parameter):
    rows = 40.0 * rows_of(parameter(), 20_000)
    region = median_of_means_region(rows, bernoulli_class, ALPHA)
    assert activity_range(region) is None
    assert noise_range(region) is None
    assert not region.membership(parameter()).inside


def test_the_noise_interval_of_a_known_law_uses_its_activity(known_class, known_law, parameter):
    theta = parameter(law=known_law(5), noise=0.3)
    region = median_of_means_region(rows_of(theta, 50_000), known_class, ALPHA)
    region = with_parts(region, radii=(0.2, 1.0))
    # tr M_2 is known to sqrt(q) 0.2 = 0.4, so the noise to 0.1 about the estimate.
    middle = (
        np.trace(parts(region)["second"]) - np.trace(second_moment(theta.law, theta.dictionary.atoms, 1.0)) + 4
    ) / 4
    assert noise_range(region).lower == pytest.approx(middle - 0.1, rel=1e-9)
    assert noise_range(region).upper == pytest.approx(middle + 0.1, rel=1e-9)


@pytest.mark.parametrize("alpha", [0.3, 0.025, 1e-3, 1e-8])
@pytest.mark.parametrize("n_rows", [1, 2, 10, 1001])
def test_most_blocks_stay_near_with_exactly_the_stated_probability(n_rows, alpha):
    count, size, multiplier = median_distance_blocks(n_rows, alpha)
    assert count % 2 == 1
    assert size == n_rows // count >= 1
    assert stats.binom.sf((count - 1) // 2, count, multiplier**-2) == pytest.approx(alpha, rel=1e-9)
    # No other odd number of blocks gives a smaller radius.
    others = range(1, min(n_rows, 199) + 1, 2)
    per_block = [stats.beta.ppf(alpha, (b + 1) / 2, (b + 1) / 2) ** -0.5 / np.sqrt(n_rows // b) for b in others]
    assert multiplier / np.sqrt(size) == pytest.approx(min(per_block), rel=1e-9)


def test_total_variances_are_those_of_the_rows(parameter, known_law):
    for theta in (parameter(), parameter(law=known_law(5))):
        rows = rows_of(theta, 400_000, seed=6)
        law, atoms, noise = theta.law, theta.dictionary.atoms, theta.noise
        means = (matrix_coordinates(second_moment(law, atoms, noise)), fourth_moment(law, atoms, noise))
        for order, mean, exact in zip((2, 4), means, total_variances(theta), strict=True):
            squared = np.sum((power_coordinates(rows, order) - mean) ** 2, axis=1)
            # Within five standard errors of the mean squared distance.
            assert abs(squared.mean() - exact) < 5.0 * squared.std() / np.sqrt(len(rows))


def test_the_inverted_radii_are_a_fraction_of_the_published_ones(bernoulli_class, parameter):
    alphas = (0.025, 0.025)
    for n_rows in (row_threshold(4, alphas), 1000, 10**6):
        published = moment_radii(n_rows, 4, bernoulli_class.spectral_bound, alphas)
        _, size, multiplier = median_distance_blocks(n_rows, 0.025)
        for seed in range(20):
            theta = parameter(law=BernoulliGaussian(0.4), seed=seed, noise=0.6)
            second, fourth = (multiplier * np.sqrt(v / size) for v in total_variances(theta))
            assert second < published[0] / 10.0
            assert fourth < published[1] / 50.0


def test_the_inverted_region_rejects_what_the_rectangle_cannot(bernoulli_class, parameter):
    theta, wrong = parameter(), parameter(law=BernoulliGaussian(0.15))
    rows = rows_of(theta, 20_000)
    assert median_of_means_region(rows, bernoulli_class, 0.05).membership(wrong).inside
    found = inverted_median_of_means_region(rows, bernoulli_class, 0.05)
    assert found.membership(theta).inside
    assert "blocks near the second moment" in found.membership(wrong).violated


def test_two_members_have_moments_within_the_sum_of_their_radii(bernoulli_class, parameter):
    region = inverted_median_of_means_region(rows_of(parameter(), 300), bernoulli_class, ALPHA)
    thetas = [parameter(law=BernoulliGaussian(0.1 + 0.01 * k), seed=k, noise=0.05 + 0.015 * k) for k in range(30)]
    members = [theta for theta in thetas if region.membership(theta).inside]
    assert len(members) > 3
    moments = [fourth_moment(t.law, t.dictionary.atoms, t.noise) for t in members]
    radii = [region.membership(t).conditions[-1].bound for t in members]
    for i in range(len(members)):
        for j in range(i):
            assert np.linalg.norm(moments[i] - moments[j]) <= radii[i] + radii[j]


@REGIONS
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 1.0}, "alpha must lie strictly between 0 and 1"),
        ({"split": (0.15, 0.1)}, r"split must sum to at most alpha = 0\.2"),
        ({"split": (0.0, 0.1)}, r"split\[0\] must lie strictly between 0 and 1"),
        ({"rows": np.ones((10, 3))}, r"rows must have shape \(any, 4\)"),
        ({"rows": np.ones((0, 4))}, "n_rows must be a whole number at least 1"),
    ],
)
def test_misuse_is_named(build, arguments, message, bernoulli_class):
    with pytest.raises(MisuseError, match=message):
        build(**{"rows": np.ones((10, 4)), "calibration_class": bernoulli_class, "alpha": 0.2} | arguments)
