"""Information scales, rates and the two assembled bounds."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.local.theory.rates import (
    crossover_contrast,
    crossover_contrast_order,
    deployment_information,
    dictionary_radius,
    restricted_orbit_rate,
    three_gate_lower_bound,
    three_scale_upper_bound,
    two_atom_secant,
)

from physupport import MisuseError
from physupport._checks import Interval
from physupport.banks import hausdorff_distance
from physupport.local.planning import information_scales, optimal_resolution
from physupport.local.shell import Amplitudes, Frame, Shell, default_separated_atom
from physupport.studies import quotient_distance

scales = st.floats(1e-3, 0.9)
counts = st.integers(1, 10**15)


def shell(s=0.05, q=4):
    frame = Frame.standard(q)
    return Shell(frame, s, 1.3, Interval(0.7, 1.2), default_separated_atom(frame), 0.5, Interval(0.3, 1.0))


def test_the_three_scales_are_those_of_the_paper():
    found = information_scales(n_calibration=10**6, n_deployment=50, scale=0.1, r=3, weakest=0.5, noisiest=2.0)
    assert found.explanation == pytest.approx(50 * 9 * 0.25 / 4.0, rel=1e-15)
    assert found.support == pytest.approx(50 * 0.25 * 0.01 / 4.0, rel=1e-14)
    assert found.orientation == pytest.approx(1.0, rel=1e-14)


@given(counts, scales)
def test_the_optimal_resolution_is_the_smaller_of_the_block_and_the_calibration_limit(n, s):
    assert optimal_resolution(n, s) == pytest.approx(min(s, 1.0 / (np.sqrt(n) * s**2)), rel=1e-12)
    assert optimal_resolution(n, s) / s == pytest.approx(min(1.0, 1.0 / np.sqrt(n * s**6)), rel=1e-12)


@given(counts, scales, st.floats(1e-3, 1e3))
def test_a_root_n_moment_radius_gives_the_optimal_rate(n, s, constant):
    # Every term of the bracket is at most max(1, c) times the rate, because s < 1.
    radius = dictionary_radius(s, constant / np.sqrt(n), 2.0)
    assert radius <= 3.0 * 2.0 * max(1.0, constant) * optimal_resolution(n, s) * (1.0 + 1e-12)
    assert radius >= 2.0 * min(1.0, constant) * optimal_resolution(n, s) * (1.0 - 1e-12)


def test_the_dictionary_radius_adds_centre_shape_and_orientation():
    assert dictionary_radius(0.1, 1e-4, 1.0) == pytest.approx(1e-4 + 1e-3 + 1e-2, rel=1e-14)
    assert dictionary_radius(0.1, 0.005, 1.0) == pytest.approx(0.005 + 0.05 + 0.1, rel=1e-14)
    assert dictionary_radius(0.1, 0.0, 1.0) == 0.0


@given(counts, counts, scales, st.floats(0.01, 10.0))
def test_deployment_helps_only_through_the_secant(n, t, s, sigma):
    blind = restricted_orbit_rate(n_calibration=n, n_deployment=t, scale=s, secant=0.0, noise_level=sigma)
    assert blind == pytest.approx(optimal_resolution(n, s), rel=1e-12)
    seeing = restricted_orbit_rate(n_calibration=n, n_deployment=t, scale=s, secant=0.7, noise_level=sigma)
    assert seeing == pytest.approx(s * min(1.0, (n * s**6 + t * 0.49 * s**2 / sigma**2) ** -0.5), rel=1e-12)
    assert seeing <= blind


@given(counts, counts, scales, st.floats(0.01, 10.0), st.floats(1e-2, 1e2))
def test_at_the_crossover_contrast_both_experiments_carry_the_same_information(n, t, s, sigma, unit):
    edge, stretch, information = np.sqrt(8.0 / 3.0), 0.9, unit * s**6
    contrast = crossover_contrast(
        n_calibration=n, n_deployment=t, noise_level=sigma, radius=stretch * s, edge=edge, information=information
    )
    chi = two_atom_secant(stretch, contrast, edge)
    deployed = deployment_information(chi, scale=s, noise_level=sigma, n_deployment=t)
    assert deployed == pytest.approx(n * information, rel=1e-12)
    order = crossover_contrast_order(n_calibration=n, n_deployment=t, scale=s, noise_level=sigma)
    # The order of magnitude lacks only a constant that does not depend on N, T, s or sigma.
    assert contrast / order == pytest.approx(2.0 * np.sqrt(unit) / (stretch * edge), rel=1e-12)


@pytest.mark.parametrize(
    ("i_g", "i_s", "expected"), [(0.5, 0.01, 1.0), (50.0, 0.5, 0.1), (50.0, 5.0, 0.01), (0.5, 5.0, 1.0)]
)
def test_the_lower_bound_is_the_coarsest_unresolved_gate(i_g, i_s, expected):
    found = information_scales(n_calibration=10**8, n_deployment=1, scale=0.1, r=2, weakest=1.0, noisiest=1.0)
    found = type(found)(i_g, i_s, found.orientation)
    bound = three_gate_lower_bound(found, 10**8, 0.1, constant=0.25, explanation_threshold=1.0, support_threshold=1.0)
    assert bound == pytest.approx(0.25 * expected, rel=1e-12)


@pytest.mark.parametrize("spread", [1.0, 0.05, 0.002])
def test_no_pair_of_explanations_exceeds_the_upper_bound_at_its_own_radii(spread):
    rng, inside = np.random.default_rng(11), shell()
    amplitudes = Amplitudes(Interval(1.0, 1.1), Interval(1.0, 3.0))
    seen = set()
    for _ in range(300):
        first, second = inside.sample(rng), inside.sample(rng)
        if spread < 1.0:  # a dictionary close to the first one
            block = first.block
            near = block.shape + spread * (second.block.shape - block.shape)
            second = type(first)(type(block)(block.frame, block.center, near), first.separated)
        sides = []
        for dictionary in (first, second):
            if rng.uniform() < 0.2:
                sides.append((dictionary.separated[:, None], rng.uniform(1.0, 3.0) * dictionary.separated))
            else:
                atoms = dictionary.block.atoms[:, rng.choice(4, 2, replace=False)]
                sides.append((atoms, atoms @ rng.uniform(1.0, 1.1, 2)))
        rho = quotient_distance(first, second)[0]
        tau = np.linalg.norm(sides[0][1] - sides[1][1]) / 2.0
        bound = three_scale_upper_bound(inside, amplitudes, 2, dictionary_radius=rho, ball_radius=tau)
        distance = hausdorff_distance(sides[0][0], sides[1][0])
        assert distance <= max(bound) * (1.0 + 1e-12)
        seen.add((bound[1] > 0.0, bound[2] > 0.0))
    if spread < 0.01:
        # The bound must have been put to work: resolved, and unresolved at each level.
        assert {(False, False), (True, False)} <= seen


def test_a_resolved_experiment_leaves_only_the_dictionary_term():
    inside, amplitudes = shell(), Amplitudes(Interval(1.0, 1.1), Interval(1.0, 3.0))
    bound = three_scale_upper_bound(inside, amplitudes, 2, dictionary_radius=1e-4, ball_radius=1e-4)
    assert bound[1:] == (0.0, 0.0)
    assert bound[0] == pytest.approx(1e-4 / np.sqrt(1.0 - (1.3 * 0.05) ** 2), rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: optimal_resolution(10, -0.1), "scale must lie strictly between"),
        (lambda: optimal_resolution(2.5, 0.1), "n_calibration must be a whole number"),
        (lambda: dictionary_radius(0.1, -1.0, 1.0), "moment_radius must be finite and at least 0"),
    ],
)
def test_misuse_is_named(call, message):
    with pytest.raises(MisuseError, match=message):
        call()
