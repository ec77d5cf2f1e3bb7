"""Divergences by the midpoint identities, and products of affinities."""

from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.local.theory.divergences import midpoint_monte_carlo, product_affinity_deficit
from tests.local.theory.rates import orientation_pair

from physupport import MisuseError
from physupport.laws import BernoulliGaussian, GaussianMixture, calibration_mixture
from physupport.local.shell import Frame, balanced_dictionary
from physupport.studies import (
    affinity_midpoint,
    common_monte_carlo,
    gauss_hermite,
    gaussian_affinity,
    jeffreys_midpoint,
    midpoint_quadrature,
    product_affinity,
)

TETRAHEDRON = np.array([[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]) / np.sqrt(3.0)
FRAME = Frame.standard(4, TETRAHEDRON)


def turned_laws(s, h, p=0.2, noise=0.5):
    dictionary = balanced_dictionary(FRAME, s)
    block, _ = orientation_pair(dictionary.block, (0, 1), h)
    turned = np.column_stack([block.atoms, dictionary.separated])
    law = BernoulliGaussian(p)
    return calibration_mixture(law, dictionary.atoms, noise), calibration_mixture(law, turned, noise)


@given(st.floats(1e-8, 4.0))
def test_the_midpoint_identities_reproduce_two_shifted_normals(shift):
    # P = N(0, 1), Q = N(m, 1): J = m^2, A = exp(-m^2/8), L = m^2/2 - m x.
    x = np.arange(-12.0, 16.0, 0.02)
    midpoint = 0.02 * (np.exp(-(x**2) / 2.0) + np.exp(-((x - shift) ** 2) / 2.0)) / np.sqrt(8.0 * np.pi)
    ratio = shift**2 / 2.0 - shift * x
    # The integrands are analytic within pi/4 of the line: the trapezoidal rule with this step is exact to rounding.
    assert midpoint @ jeffreys_midpoint(ratio) == pytest.approx(shift**2, rel=1e-12)
    assert midpoint @ affinity_midpoint(ratio) == pytest.approx(-np.expm1(-(shift**2) / 8.0), rel=1e-12)


@given(st.floats(-600.0, 600.0))
def test_the_affinity_integrand_is_one_minus_sech_without_cancellation(ratio):
    half = ratio / 2.0
    # 1 - sech x = 2 sinh^2(x/2) / cosh x, another route; a few roundings each.
    expected = 2.0 * np.sinh(half / 2.0) ** 2 / np.cosh(half)
    assert affinity_midpoint(ratio) == pytest.approx(expected, rel=1e-14, abs=1e-300)


def test_the_integrands_are_exact_at_tiny_ratios_and_finite_at_huge_ones():
    assert float(jeffreys_midpoint(1e-160)) == pytest.approx(1e-320, rel=1e-3)  # subnormal, so few digits
    assert float(affinity_midpoint(1e-100)) == pytest.approx(1.25e-201, rel=1e-14)
    assert float(affinity_midpoint(1e6)) == 1.0
    assert float(jeffreys_midpoint(-1e6)) == 2e6


@given(st.floats(1e-18, 0.5), st.integers(0, 10**17))
def test_the_product_affinity_agrees_with_fifty_digit_arithmetic(deficit, rows):
    getcontext().prec = 50
    exponent = rows * (1 - Decimal(deficit)).ln()
    if exponent < -600:
        assert product_affinity(deficit, rows) < 1e-250
        return
    # The exponent carries a rounding, which exp turns into that many units times its size.
    slack = 1e-15 * (2.0 + abs(float(exponent)))
    assert product_affinity(deficit, rows) == pytest.approx(float(exponent.exp()), rel=slack)
    assert product_affinity_deficit(deficit, rows) == pytest.approx(float(1 - exponent.exp()), rel=slack, abs=0.0)


def test_complete_separation_has_affinity_zero_unless_nothing_is_observed():
    assert product_affinity(1.0, 3) == 0.0
    assert product_affinity(1.0, 0) == 1.0


def test_the_deployment_affinity_is_that_of_the_rows_and_of_their_mean():
    mean, other = np.array([0.3, -0.2, 0.5]), np.array([0.1, 0.4, 0.2])
    single = gaussian_affinity(mean, other, 0.7, 1)
    assert gaussian_affinity(mean, other, 0.7, 30) == pytest.approx(product_affinity(1.0 - single, 30), rel=1e-13)
    # The mean of 30 rows has noise level 0.7 / sqrt(30).
    assert gaussian_affinity(mean, other, 0.7, 30) == pytest.approx(
        gaussian_affinity(mean, other, 0.7 / np.sqrt(30.0), 1), rel=1e-14
    )
    gap = np.linalg.norm(mean - other) / 0.7
    nodes, weights = gauss_hermite(1, 40)
    by_quadrature = weights @ np.exp(0.5 * (gap * nodes[:, 0] - gap**2 / 2.0))
    assert single == pytest.approx(by_quadrature, rel=1e-12)


def test_both_evaluators_agree_with_the_closed_form_for_two_gaussians():
    first, second = np.diag([1.0, 2.0]), np.array([[1.3, 0.4], [0.4, 1.6]])
    laws = [GaussianMixture([1.0], [covariance]) for covariance in (first, second)]
    determinants = [np.linalg.det(c) for c in (first, second, (first + second) / 2.0)]
    deficit = 1.0 - (determinants[0] * determinants[1]) ** 0.25 / determinants[2] ** 0.5
    jeffreys = 0.5 * np.trace(np.linalg.solve(first, second) + np.linalg.solve(second, first)) - 2.0
    exact = midpoint_quadrature(*laws, order=60)
    # The integrand has complex poles, so the rule converges geometrically; 60 nodes leave less than this.
    assert exact.affinity_deficit == pytest.approx(deficit, rel=1e-4)
    assert exact.jeffreys == pytest.approx(jeffreys, rel=1e-4)
    sampled = midpoint_monte_carlo(*laws, np.random.default_rng(3), 40_000)
    # Five standard errors: an unlucky seed is fewer than one in a million.
    assert abs(sampled.jeffreys - jeffreys) < 5.0 * sampled.jeffreys_error
    assert abs(sampled.affinity_deficit - deficit) < 5.0 * sampled.affinity_error


def test_monte_carlo_and_quadrature_agree_on_the_turned_block():
    laws = turned_laws(0.122, 0.25)
    exact = midpoint_quadrature(*laws, order=8)
    sampled = midpoint_monte_carlo(*laws, np.random.default_rng(5), 100_000)
    # Five standard errors, and half a percent for the order of the rule.
    assert abs(sampled.jeffreys - exact.jeffreys) < 5.0 * sampled.jeffreys_error + 0.01 * exact.jeffreys
    # Close laws: J is eight times the deficit to leading order.
    assert exact.jeffreys == pytest.approx(8.0 * exact.affinity_deficit, rel=1e-4)


def test_pairs_from_one_draw_are_what_each_would_be_alone():
    pairs = [turned_laws(s, h) for s, h in ((0.05, 0.25), (0.1, 0.25), (0.1, 0.45))]
    together = common_monte_carlo(pairs, np.random.default_rng(8), 1000)
    assert together == [midpoint_monte_carlo(*pair, np.random.default_rng(8), 1000) for pair in pairs]


def test_the_jeffreys_exponent_of_the_published_design_is_reproduced_by_quadrature():
    scales = np.array([0.045, 0.067, 0.122])
    values = [midpoint_quadrature(*turned_laws(s, 0.25), order=8).jeffreys for s in scales]
    slope = np.polyfit(np.log(scales), np.log(values), 1)[0]
    # Published with order 14 and six scales: 5.9342; a coarser rule on three of them moves it by less than this.
    assert slope == pytest.approx(5.9342, abs=0.02)


HALVES, THIRDS = (GaussianMixture([w, 1.0 - w], [[[1.0]], [[2.0]]]) for w in (1 / 2, 1 / 3))
WIDE = GaussianMixture([0.5, 0.5], [np.eye(2), 2.0 * np.eye(2)])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: product_affinity(-0.1, 3), "deficit must lie between 0 and 1"),
        (lambda: product_affinity(0.1, -3), "n_rows must be a whole number"),
        (lambda: midpoint_monte_carlo(*turned_laws(0.1, 0.1), np.random.default_rng(0), 11), "n_draws must be even"),
        (lambda: common_monte_carlo([[HALVES] * 2, [THIRDS] * 2], np.random.default_rng(0), 10), "the same weights"),
        (lambda: common_monte_carlo([[HALVES] * 2, [WIDE] * 2], np.random.default_rng(0), 10), "the same width"),
    ],
)
def test_misuse_is_named(call, message):
    with pytest.raises(MisuseError, match=message):
        call()
