from dataclasses import replace
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest

from physupport._checks import Interval
from physupport._errors import MisuseError
from physupport.laws import ExchangeableGaussian
from physupport.local.regions import (
    CalibrationClass,
    inner_bracket,
    median_of_means_region,
    outer_bracket,
    physical_target,
)
from physupport.local.regions._inner import Chart, Pair

WIDE, TIGHT = 0.35, 0.5 * np.sqrt(9.49 / 2e5)  # the radii of 20 and of 200 000 measurements with noise 1/2
RADII = (WIDE, TIGHT)
REGIONS = ("whole class", "rectangle", "inverted")


class Found(NamedTuple):
    first: tuple
    second: tuple
    distance: float


def bracket(correspondence, starts=2, seed=1):
    found = inner_bracket(correspondence, np.random.default_rng(seed), starts=starts)
    assert found is not None
    pair = Found(*found)
    for parameter, support in (pair.first, pair.second):
        assert correspondence.membership(parameter, support).inside
    one, two = (physical_target(parameter.dictionary, support) for parameter, support in (pair.first, pair.second))
    assert pair.distance == one.distance(two)
    assert pair.distance <= outer_bracket(correspondence).diameter
    return pair


@pytest.fixture(scope="module")
def one_start(make_correspondence):
    """The distance that a single start reaches in a region with a radius; several tests ask for the same one."""
    return cache(lambda region, radius: bracket(make_correspondence(region, radius=radius), starts=1).distance)


@pytest.mark.parametrize("region", REGIONS)
def test_a_wide_ball_lets_the_inner_bracket_come_near_the_outer(make_correspondence, one_start, region):
    outer = outer_bracket(make_correspondence(region, radius=WIDE))
    assert not outer.separated_possible
    assert one_start(region, WIDE) >= 0.95 * outer.diameter


def test_a_tight_ball_still_yields_pairs_far_apart(make_correspondence, one_start):
    """The coefficients are free within their range, so the two atoms may turn about their fixed sum."""
    outer = outer_bracket(make_correspondence("whole class", radius=TIGHT))
    assert one_start("whole class", TIGHT) >= 0.6 * outer.diameter


@pytest.fixture(scope="module")
def best_of_many(make_correspondence):
    """The farthest pair of the whole class, which holds every region, from many starts with another seed."""
    return {radius: bracket(make_correspondence(radius=radius), starts=2, seed=100).distance for radius in RADII}


@pytest.mark.parametrize(("region", "radius"), [*product(REGIONS, [WIDE]), ("whole class", TIGHT)])
def test_one_start_reaches_nine_tenths_of_what_many_reach(one_start, best_of_many, region, radius):
    """So the last bits of a machine's arithmetic, which decide where one run of an optimiser ends, matter little."""
    assert one_start(region, radius) >= 0.9 * best_of_many[radius]


def test_a_smaller_ball_does_not_spread_farther(one_start):
    # Starts differ, so local optima may too; a hundredth is far above what they were seen to differ by.
    assert one_start("whole class", TIGHT) <= 1.01 * one_start("whole class", WIDE)


def test_both_local_explanations_make_the_bracket_span_their_angle(make_class, make_correspondence):
    calibration = make_class()
    between = 1.2 * (calibration.shell.frame.axis + calibration.shell.reference) / 2.0
    correspondence = make_correspondence(radius=0.8, center=between)
    outer = outer_bracket(correspondence)
    assert outer.block_possible
    assert outer.separated_possible
    pair = bracket(correspondence, starts=1)
    assert {pair.first[1], pair.second[1]} == {(0, 1), None}
    assert pair.distance >= 0.95 * outer.diameter


def test_the_separated_atom_alone_spans_its_cone(make_class, make_correspondence):
    calibration = make_class()
    correspondence = make_correspondence(radius=0.3, center=2.0 * calibration.shell.reference)
    pair = bracket(correspondence, starts=1)
    assert pair.first[1] is pair.second[1] is None
    assert pair.distance >= 0.95 * outer_bracket(correspondence).diameter


def test_other_sizes_and_a_known_law_are_searched_too(make_class, make_correspondence):
    known = ExchangeableGaussian(np.array([0.3, 0.3, 0.2, 0.1, 0.05, 0.05, 0.0]), np.ones(7))
    calibration = CalibrationClass(make_class(5).shell, known)
    region = median_of_means_region(np.ones((3, 5)), calibration, 0.05)
    correspondence = make_correspondence(region, radius=0.4, center=[0.0, 0.0, 0.0, 0.0, 3.0], r=3)
    assert bracket(correspondence).distance >= 0.8 * outer_bracket(correspondence).diameter


def test_a_single_allowed_noise_and_activity_are_no_obstacle(make_class, make_correspondence):
    shell = replace(make_class().shell, noise=Interval(0.4, 0.4))
    calibration = CalibrationClass(shell, Interval(0.2, 0.2))
    region = median_of_means_region(np.ones((3, 4)), calibration, 0.05)
    assert bracket(make_correspondence(region, radius=WIDE), starts=1).distance > 0.3


def test_nothing_is_found_where_nothing_is(make_correspondence):
    correspondence = make_correspondence(radius=0.1, center=[0.0, 0.0, 0.0, -3.0])
    assert inner_bracket(correspondence, np.random.default_rng(0)) is None


def test_the_same_seed_gives_the_same_pair(make_correspondence, one_start):
    assert bracket(make_correspondence("whole class", radius=WIDE), starts=1).distance == one_start("whole class", WIDE)


@pytest.mark.parametrize("is_block", [True, False])
def test_derivatives_are_those_of_central_differences(make_correspondence, is_block):
    chart = Chart(make_correspondence(radius=WIDE), is_block)
    rng = np.random.default_rng(3)
    for leading in range(chart.n_active):
        pair = Pair(chart, chart, leading)
        at = np.concatenate([[0.3], chart.random(rng), chart.random(rng)])
        steps = 1e-6 * np.eye(len(at))
        central = np.column_stack([(pair.inequalities(at + h) - pair.inequalities(at - h)) / 2e-6 for h in steps])
        # Differences in one direction with step 1e-6, of functions whose curvature is of the order of a hundred.
        np.testing.assert_allclose(pair.slopes(at), central, atol=3e-4, rtol=1e-3)


@pytest.mark.parametrize("is_block", [True, False])
def test_coordinates_go_to_an_explanation_and_back(make_correspondence, is_block):
    chart = Chart(make_correspondence(), is_block)
    vector = chart.random(np.random.default_rng(2))
    parameter = chart.parameter(vector)
    np.testing.assert_allclose(chart.vector(parameter, chart.parts(vector)[3]), vector, atol=1e-12)
    atoms = physical_target(parameter.dictionary, chart.support).atoms
    np.testing.assert_allclose(chart.atoms(vector), atoms, atol=1e-14)
    # Signs of the smooth slacks agree with the shell's own inequalities.
    assert chart.slacks(vector).min() > 0.0
    assert chart.calibration.membership(parameter).inside


@pytest.mark.parametrize("starts", [0, 1.5])
def test_a_number_of_starts_that_is_no_count_is_refused(make_correspondence, starts):
    with pytest.raises(MisuseError, match="starts must be a whole number at least 1"):
        inner_bracket(make_correspondence(), np.random.default_rng(0), starts=starts)
