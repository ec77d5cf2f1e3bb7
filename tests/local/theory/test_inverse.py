import numpy as np
import pytest
from scipy.linalg import expm
from tests.local.theory.invariants import (
    cubic_invariant,
    invariant_coordinates,
    normalized_cubic,
    normalized_cubic_sensitivity,
    orbit_constant,
    orbit_constant_estimate,
    orbit_distance,
    polar_factors,
    quotient_inverse_estimate,
    quotient_sensitivity,
)

from physupport._errors import MisuseError
from physupport.local.shell import regular_simplex
from physupport.studies import quotient_distance


def _gap(first, second):
    return float(np.linalg.norm(first - second))


@pytest.mark.parametrize("q", [3, 4, 6, 8])
def test_the_cubic_drops_from_its_maximum_by_the_stated_multiple_of_the_squared_distance(q):
    rng = np.random.default_rng(q)
    v = regular_simplex(q)
    x = rng.standard_normal((q - 1, 20000))
    x /= np.linalg.norm(x, axis=0)
    y = v.T @ x
    drop = q * (q - 2) / (q - 1) ** 2 - np.sum(y**3, axis=0)
    nearest = 2.0 * (1.0 - y.max(axis=0))
    assert np.all(drop >= 0.5 * (q / (q - 1)) ** 2 * nearest - 1e-14)  # rounding of sums of q numbers below one


@pytest.mark.parametrize("q", [3, 4, 5, 8])
def test_the_orbit_constant_holds_for_uniform_and_for_close_rotations(make_rotation, q):
    rng = np.random.default_rng(q)
    v = regular_simplex(q)
    for draw in range(200):
        skew = rng.standard_normal((q - 1, q - 1))
        first = make_rotation(rng, q - 1)
        second = first @ expm(10.0 ** rng.uniform(-3, 0) * (skew - skew.T)) if draw % 2 else make_rotation(rng, q - 1)
        gap = _gap(cubic_invariant(first, v), cubic_invariant(second, v))
        assert orbit_distance(first, second, v)[0] <= orbit_constant(q) * gap


def test_the_orbit_constant_stays_below_the_square_root_of_five():
    assert orbit_constant(3) == pytest.approx((2 / 3) ** 1.5 * np.sqrt(11 / 3), rel=1e-15)
    assert max(orbit_constant(q) for q in range(3, 200)) < np.sqrt(5.0)


def test_in_the_plane_the_estimate_is_the_exact_best_constant():
    # For q = 3 a turn by t within 60 degrees has distance 2 sqrt(2) sin(t/2), and its cubic, of norm 3/2, turns by 3t;
    # the ratio grows to sqrt(2)/3 at 60 degrees.
    estimate = orbit_constant_estimate(regular_simplex(3), np.random.default_rng(0), 2000)
    assert estimate < np.sqrt(2.0) / 3.0 + 1e-12
    assert estimate > 0.99 * np.sqrt(2.0) / 3.0  # one of a thousand uniform turns is within half a degree of 60


@pytest.mark.parametrize("q", [3, 4, 6])
def test_an_estimate_is_at_least_the_infinitesimal_ratio_and_at_most_the_proven_constant(q):
    estimate = orbit_constant_estimate(regular_simplex(q), np.random.default_rng(q), 400)
    infinitesimal = ((q - 1) / q) ** 1.5 / np.sqrt(3.0)
    assert 0.99 * infinitesimal < estimate < orbit_constant(q)  # the smallest sampled angles are 1e-4


@pytest.mark.parametrize("q", [3, 4, 7])
@pytest.mark.parametrize("scale", [1e-3, 0.3])
def test_the_normalised_cubic_and_the_square_root_move_at_most_as_stated(make_shell, make_neighbour, q, scale):
    rng = np.random.default_rng(q)
    shell = make_shell(q, scale=scale)
    sensitivity = normalized_cubic_sensitivity(shell)
    for draw in range(100):
        first = shell.sample(rng)
        second = shell.sample(rng)
        if draw % 2:
            second = make_neighbour(shell, first, rng, 0.01 * scale)
            if not shell.membership(second, 1.0).inside:
                continue
        *_, shape, cubic = invariant_coordinates(first, 1.0)
        *_, other_shape, other_cubic = invariant_coordinates(second, 1.0)
        shapes, cubics = _gap(shape, other_shape), _gap(cubic, other_cubic)
        roots = _gap(polar_factors(first.block.shape)[0], polar_factors(second.block.shape)[0])
        assert roots <= shapes / (2.0 * shell.stretch.lower * scale)
        moved = _gap(normalized_cubic(shape, cubic), normalized_cubic(other_shape, other_cubic))
        assert moved <= sensitivity[0] * shapes + sensitivity[1] * cubics


@pytest.mark.parametrize("q", [3, 4, 7])
@pytest.mark.parametrize("scale", [1e-3, 0.3])
def test_the_quotient_distance_is_bounded_by_the_gaps_in_the_invariants(make_shell, make_neighbour, q, scale):
    rng = np.random.default_rng(q)
    shell = make_shell(q, scale=scale)
    sensitivity, compared = quotient_sensitivity(shell), 0
    for draw in range(150):
        first = shell.sample(rng)
        second = make_neighbour(shell, first, rng, 0.03 * scale) if draw % 2 else shell.sample(rng)
        if not shell.membership(second, 1.0).inside:
            continue
        compared += 1
        pairs = zip(invariant_coordinates(first, 1.0), invariant_coordinates(second, 1.0), strict=True)
        _, center, separated, shape, cubic = (_gap(here, there) for here, there in pairs)
        bound = center + separated + sensitivity[0] * shape + sensitivity[1] * cubic
        assert quotient_distance(first, second)[0] <= bound
    assert compared > 75


def test_the_sensitivity_scales_as_the_paper_states(make_shell):
    coarse, fine = (quotient_sensitivity(make_shell(5, scale=scale)) for scale in (0.2, 0.002))
    assert fine[0] * 0.002 == pytest.approx(coarse[0] * 0.2, rel=1e-13)
    assert fine[1] * 0.002**2 == pytest.approx(coarse[1] * 0.2**2, rel=1e-13)


def test_the_quotient_inverse_estimate_is_below_the_proven_constant_and_repeatable(make_shell):
    shell = make_shell(4, scale=0.1)
    estimate = quotient_inverse_estimate(shell, np.random.default_rng(3), 100)
    proven = quotient_sensitivity(shell)
    assert 0.0 < estimate <= max(1.0, proven[0] * 0.1, proven[1] * 0.01)
    assert estimate == quotient_inverse_estimate(shell, np.random.default_rng(3), 100)


def test_misuse_names_the_argument_and_the_rule(make_shell):
    with pytest.raises(MisuseError, match="n_draws must be a whole number at least 1"):
        quotient_inverse_estimate(make_shell(4), np.random.default_rng(0), 0)
