from math import ceil, comb, floor, log, sqrt

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from tests.local.theory.moments import combined_radius, dense_tensor, row_threshold

from physupport._errors import MisuseError
from physupport.laws import BernoulliGaussian, make_calibration
from physupport.local.regions import (
    fourth_cumulant,
    fourth_moment,
    median_of_means_blocks,
    moment_estimate,
    moment_radii,
    norm_moment_bounds,
    power_coordinates,
    sample_cumulant,
    second_moment,
    squared_norm_moments,
)
from physupport.local.regions._moments import matrix_coordinates

ALPHAS, RUNS = (0.1, 0.1), 200


@given(st.integers(1, 10**6), st.integers(1, 10**4), st.floats(1e-6, 0.5))
def test_block_counts_bound_the_failure_of_a_median_over_all_coordinates(n_rows, dimension, alpha):
    count, size = median_of_means_blocks(n_rows, dimension, alpha)
    assert size == n_rows // count
    # A median fails when half the blocks do, each with probability 1/4; the exact binomial tail leaves room to spare.
    assert dimension * stats.binom.sf(ceil(count / 2) - 1, count, 0.25) <= alpha


def test_radii_follow_the_published_formulas():
    q, top, n_rows = 4, 3.7, 5000
    b2, b4 = ceil(8 * log(2 * 10 / 0.1)), ceil(8 * log(2 * 35 / 0.1))
    assert row_threshold(q, ALPHAS) == max(b2, b4) == 53
    v2, v4 = sqrt(top**2 * 4 * 6), sqrt(top**4 * 4 * 6 * 8 * 10)
    assert norm_moment_bounds(q, top) == pytest.approx((v2, v4), rel=1e-14)
    e2, e4 = 2 * v2 * sqrt(10 / floor(n_rows / b2)), 2 * v4 * sqrt(35 / floor(n_rows / b4))
    ek = e4 + 3 * e2 * (2 * sqrt(q) * top + e2)
    radii = moment_radii(n_rows, q, top, ALPHAS)
    assert radii == pytest.approx((e2, e4, ek), rel=1e-14)
    assert combined_radius(radii) == pytest.approx(sqrt(e2**2 + ek**2), rel=1e-14)


def test_below_the_threshold_there_is_neither_estimate_nor_radius():
    least = row_threshold(3, ALPHAS)
    rows = np.random.default_rng(0).standard_normal((least, 3))
    assert moment_radii(least, 3, 1.0, ALPHAS) is not None
    assert moment_estimate(rows, ALPHAS) is not None
    assert moment_radii(least - 1, 3, 1.0, ALPHAS) is None
    assert moment_estimate(rows[:-1], ALPHAS) is None


def test_radii_shrink_as_the_square_root_of_the_rows():
    counts = median_of_means_blocks(1, 10, 0.1)[0] * median_of_means_blocks(1, 35, 0.1)[0]
    one, four = (moment_radii(k * counts, 4, 1.0, ALPHAS) for k in (1, 4))
    assert one[0] / four[0] == pytest.approx(2.0, rel=1e-14)
    assert one[1] / four[1] == pytest.approx(2.0, rel=1e-14)


def test_norm_moments_of_the_class_stay_below_their_bounds(parameter, known_law, bernoulli_class, known_class):
    for calibration_class, law in ((bernoulli_class, BernoulliGaussian(0.4)), (known_class, known_law(5))):
        v2, v4 = norm_moment_bounds(4, calibration_class.spectral_bound)
        for seed in range(20):
            theta = parameter(law=law, seed=seed, noise=0.6)
            fourth, eighth = squared_norm_moments(theta.law, theta.dictionary.atoms, theta.noise)
            assert fourth <= v2**2
            assert eighth <= v4**2


def test_estimates_are_medians_of_consecutive_block_means():
    rows = np.random.default_rng(1).standard_normal((1000, 3))
    second, fourth = moment_estimate(rows, ALPHAS)
    for order, found in ((2, matrix_coordinates(second)), (4, fourth)):
        dimension = comb(3 + order - 1, order)
        b = ceil(8 * log(2 * dimension / 0.1))
        m = 1000 // b
        means = power_coordinates(rows[: m * b], order).reshape(b, m, dimension).mean(axis=1)
        assert np.allclose(found, np.sort(means, axis=0)[(b - 1) // 2], rtol=1e-13, atol=1e-15)
    m2 = np.multiply.outer(second, second)
    k4 = dense_tensor(fourth, 3, 4) - m2 - m2.transpose(0, 2, 1, 3) - m2.transpose(0, 2, 3, 1)
    assert np.allclose(dense_tensor(sample_cumulant(second, fourth), 3, 4), k4, atol=1e-13)


def misses(calibration_class, theta, shrink, n_rows=200):
    law, atoms, noise = theta.law, theta.dictionary.atoms, theta.noise
    radii = moment_radii(n_rows, 4, calibration_class.spectral_bound, ALPHAS)
    m2, m4, k4 = second_moment(law, atoms, noise), fourth_moment(law, atoms, noise), fourth_cumulant(law, atoms)
    rng, count = np.random.default_rng(2), 0
    for _ in range(RUNS):
        second, fourth = moment_estimate(make_calibration(law, atoms, noise, rng, n_rows), ALPHAS)
        count += (
            np.linalg.norm(second - m2) > shrink * radii[0]
            or np.linalg.norm(fourth - m4) > shrink * radii[1]
            or np.linalg.norm(sample_cumulant(second, fourth) - k4) > shrink * radii[2]
        )
    return count


def test_the_rectangle_holds_the_true_moments_at_least_as_often_as_stated(bernoulli_class, parameter):
    """Nearly vacuous: the rectangle is so wide that not even a hundredth of it misses in any of these runs.

    The informative test is that of the step behind it, two standard errors in every coordinate, at the end of this
    file; how wide the rectangle is, is fixed by the published formulas, tested above.
    """
    assert stats.binom.sf(misses(bernoulli_class, parameter(), 1.0) - 1, RUNS, sum(ALPHAS)) > 1e-6


def test_negative_control_a_thousandth_of_the_radii_is_exposed(bernoulli_class, parameter):
    assert stats.binom.sf(misses(bernoulli_class, parameter(), 0.001) - 1, RUNS, sum(ALPHAS)) < 1e-6


def test_every_coordinate_stays_within_two_standard_errors_of_its_median_of_means(parameter):
    """The step behind the radii: block counts for d coordinates, each within 2 sigma/sqrt(m), all at once."""
    theta, n_rows = parameter(), 600
    law, atoms, noise = theta.law, theta.dictionary.atoms, theta.noise
    # sigma_i^2 = E X_i^2 - (E X_i)^2, from many rows: enough digits for a factor that is never tight.
    powers = power_coordinates(make_calibration(law, atoms, noise, np.random.default_rng(3), 200_000), 4)
    sigma, mean = powers.std(axis=0), fourth_moment(law, atoms, noise)
    size = median_of_means_blocks(n_rows, 35, ALPHAS[1])[1]
    rng = np.random.default_rng(4)
    failures = 0
    for _ in range(RUNS):
        fourth = moment_estimate(make_calibration(law, atoms, noise, rng, n_rows), ALPHAS)[1]
        failures += np.any(np.abs(fourth - mean) > 2.0 * sigma / sqrt(size))
    assert stats.binom.sf(failures - 1, RUNS, ALPHAS[1]) > 1e-6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: median_of_means_blocks(0, 10, 0.1), "n_rows must be a whole number at least 1"),
        (lambda: median_of_means_blocks(9, 10, 0.0), "alpha must lie strictly between 0 and 1"),
        (lambda: norm_moment_bounds(4, -1.0), "spectral_bound must lie strictly between 0 and inf"),
        (lambda: moment_estimate([[np.nan, 0.0]], ALPHAS), "rows must be finite"),
    ],
)
def test_misuse_is_named(call, message):
    with pytest.raises(MisuseError, match=message):
        call()
