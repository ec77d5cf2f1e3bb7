from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.linalg import expm
from tests.local.theory.invariants import (
    affine_power_sums,
    cubic_invariant,
    cubic_stationary_point,
    cubic_stationary_values,
    invariant_coordinates,
    invariant_distance,
    normalized_cubic,
    orbit_differential,
    polar_factors,
    power_sums,
    shape_invariant,
    simplex_cubic,
    vertex_permutation,
)

from physupport.local.shell import Block, LocalDictionary, regular_simplex

SIZES = range(3, 9)
# Sums of up to a hundred products of numbers of order one.
ROUNDING = 1e-13


def _dense_power(x, order):
    tensor = np.array(1.0)
    for _ in range(order):
        tensor = np.multiply.outer(tensor, x)
    return tensor


def _apply(matrix, tensor):
    """matrix along each of three modes, entry by entry of the definition."""
    return np.einsum("ai,bj,ck,ijk->abc", matrix, matrix, matrix, tensor)


@pytest.mark.parametrize("q", [3, 4, 5])
def test_the_cubics_are_the_dense_sums_of_their_definition(q):
    rng = np.random.default_rng(q)
    v, shape = regular_simplex(q), rng.standard_normal((q - 1, q - 1))
    dense = sum(_dense_power(v[:, j], 3) for j in range(q))
    assert np.abs(simplex_cubic(v) - dense).max() < ROUNDING
    assert np.abs(cubic_invariant(shape, v) - _apply(shape, dense)).max() < ROUNDING * 10
    assert np.abs(shape_invariant(shape) - np.einsum("ai,bi->ab", shape, shape)).max() < ROUNDING


@pytest.mark.parametrize("q", SIZES)
def test_the_power_sums_of_a_block_follow_from_its_invariants(q):
    rng = np.random.default_rng(q)
    v, b, shape = regular_simplex(q), rng.standard_normal(q - 1), rng.standard_normal((q - 1, q - 1))
    z = b[:, None] + shape @ v
    sums = affine_power_sums(b, shape_invariant(shape), cubic_invariant(shape, v), q)
    for order, (from_invariants, from_code) in enumerate(zip(sums, power_sums(z), strict=True), start=1):
        direct = sum(_dense_power(z[:, j], order) for j in range(q))
        scale = np.abs(direct).max()
        assert np.abs(from_code - direct).max() < ROUNDING * scale
        assert np.abs(from_invariants - direct).max() < ROUNDING * scale


@pytest.mark.parametrize("q", SIZES)
def test_the_invariants_do_not_see_the_order_but_the_cubic_sees_a_rotation(make_rotation, q):
    rng = np.random.default_rng(q)
    v, shape = regular_simplex(q), rng.standard_normal((q - 1, q - 1))
    relabelled = shape @ vertex_permutation(v, rng.permutation(q))
    assert np.abs(shape_invariant(relabelled) - shape_invariant(shape)).max() < ROUNDING * 10
    gap = cubic_invariant(relabelled, v) - cubic_invariant(shape, v)
    assert np.abs(gap).max() < ROUNDING * np.abs(cubic_invariant(shape, v)).max() * 10
    turned = shape @ make_rotation(rng, q - 1)
    assert np.abs(shape_invariant(turned) - shape_invariant(shape)).max() < ROUNDING * 10
    assert np.linalg.norm(cubic_invariant(turned, v) - cubic_invariant(shape, v)) > 1e-3


@pytest.mark.parametrize("q", [3, 4, 5])
def test_permutations_fix_the_simplex_cubic_and_random_rotations_move_it(make_rotation, q):
    rng = np.random.default_rng(q)
    v = regular_simplex(q)
    cubic = simplex_cubic(v)
    for order in permutations(range(q)):
        assert np.abs(_apply(vertex_permutation(v, order), cubic) - cubic).max() < ROUNDING
    for _ in range(50):
        rotation = make_rotation(rng, q - 1)
        nearest = min(np.linalg.norm(rotation - vertex_permutation(v, p)) for p in permutations(range(q)))
        # Any constant at most sqrt(5) relates the two (tested against its proof elsewhere); zero would be a failure.
        assert np.linalg.norm(_apply(rotation, cubic) - cubic) >= nearest / np.sqrt(5.0)


@pytest.mark.parametrize("q", SIZES)
def test_the_orbit_differential_has_the_stated_norm(q):
    rng = np.random.default_rng(q)
    cubic = simplex_cubic(regular_simplex(q))
    for _ in range(5):
        draws = rng.standard_normal((q - 1, q - 1))
        omega = draws - draws.T
        moved = orbit_differential(omega, cubic)
        by_modes = (
            np.einsum("ai,ibc->abc", omega, cubic)
            + np.einsum("bi,aic->abc", omega, cubic)
            + np.einsum("ci,abi->abc", omega, cubic)
        )
        assert np.abs(moved - by_modes).max() < ROUNDING
        assert np.sum(moved**2) == pytest.approx(3.0 * (q / (q - 1)) ** 3 * np.sum(omega**2), rel=ROUNDING)


def test_the_orbit_differential_is_the_derivative_of_the_rotated_tensor():
    rng = np.random.default_rng(9)
    tensor, draws = rng.standard_normal((4, 4, 4)), rng.standard_normal((4, 4))
    step = 1e-5
    ahead, behind = (_apply(expm(sign * step * draws), tensor) for sign in (1.0, -1.0))
    # Central difference: the error is step^2 times a third derivative of order 1e3, and rounding over the step.
    assert np.abs((ahead - behind) / (2 * step) - orbit_differential(draws, tensor)).max() < 1e-6


@pytest.mark.parametrize("q", SIZES)
def test_the_cubic_is_stationary_at_the_sums_of_vertices_with_the_stated_values(q):
    v = regular_simplex(q)
    cubic, values = simplex_cubic(v), cubic_stationary_values(q)
    for k in range(1, q):
        for positive in list(combinations(range(q), k))[:5]:
            x = cubic_stationary_point(v, positive)
            y = v.T @ x
            assert set(np.flatnonzero(y > 0).tolist()) == set(positive)
            # The identities of the tight frame, then the gradient along x with the value as multiplier.
            assert abs(y.sum()) < ROUNDING
            assert np.sum(y**2) == pytest.approx(q / (q - 1), rel=ROUNDING)
            gradient = np.einsum("abc,b,c->a", cubic, x, x)
            assert gradient @ x == pytest.approx(np.sum(y**3), abs=ROUNDING)
            assert np.abs(gradient - values[k - 1] * x).max() < ROUNDING
    assert np.all(np.diff(values) < 0.0)


@pytest.mark.parametrize("q", [3, 5, 8])
def test_no_unit_vector_exceeds_the_value_at_a_vertex(q):
    rng = np.random.default_rng(q)
    v = regular_simplex(q)
    x = rng.standard_normal((q - 1, 20000))
    x[:, :100] = v[:, :1] + 1e-3 * x[:, :100]  # also next to a vertex
    values = np.sum((v.T @ (x / np.linalg.norm(x, axis=0))) ** 3, axis=0)
    largest = cubic_stationary_values(q)[0]
    assert values.max() <= largest + ROUNDING
    assert values.max() > largest * (1 - 1e-4)  # and the draws next to the vertex nearly attain it


def test_at_most_two_values_are_taken_by_a_maximiser_found_by_ascent():
    rng = np.random.default_rng(10)
    q = 6
    v = regular_simplex(q)
    x = rng.standard_normal(q - 1)
    for _ in range(500):  # the power iteration of the cubic, shifted so that it ascends
        x = np.sum(v * (v.T @ x) ** 2, axis=1) + 2.0 * x
        x /= np.linalg.norm(x)
    y = v.T @ x
    k = int((y > 0).sum())
    assert np.sum(y**3) == pytest.approx(cubic_stationary_values(q)[k - 1], abs=1e-10)  # geometric convergence


@pytest.mark.parametrize("q", SIZES)
def test_the_normalised_cubic_is_the_cubic_of_the_orthogonal_polar_factor(q):
    rng = np.random.default_rng(q)
    v = regular_simplex(q)
    shape = 0.1 * (np.eye(q - 1) + 0.3 * rng.standard_normal((q - 1, q - 1)) / np.sqrt(q))
    stretch, turn = polar_factors(shape)
    assert np.abs(stretch @ turn - shape).max() < ROUNDING
    assert np.abs(stretch @ stretch - shape_invariant(shape)).max() < ROUNDING
    assert np.abs(turn @ turn.T - np.eye(q - 1)).max() < ROUNDING
    assert np.abs(stretch - stretch.T).max() < ROUNDING
    normalised = normalized_cubic(shape_invariant(shape), cubic_invariant(shape, v))
    # The inverse square root of a matrix of condition about ten, three times.
    assert np.abs(normalised - _apply(turn, simplex_cubic(v))).max() < ROUNDING * 10


def test_invariant_coordinates_and_their_distance_are_those_of_the_definition(make_shell):
    rng = np.random.default_rng(11)
    shell = make_shell(4)
    first, second = shell.sample(rng), shell.sample(rng)
    here, there = invariant_coordinates(first, 0.7), invariant_coordinates(second, 1.1)
    terms = [
        np.sum((first.block.center - second.block.center) ** 2),
        np.sum((np.outer(first.separated, first.separated) - np.outer(second.separated, second.separated)) ** 2),
        np.sum((first.block.shape @ first.block.shape.T - second.block.shape @ second.block.shape.T) ** 2),
        np.sum((here[-1] - there[-1]) ** 2),
        0.4**2,
    ]
    cubic = _apply(first.block.shape, simplex_cubic(shell.frame.template))
    assert np.abs(here[-1] - cubic).max() < ROUNDING
    assert invariant_distance(here, there) == pytest.approx(np.sqrt(sum(terms)), rel=1e-14)
    with_activity = invariant_distance(here, there, activities=(0.2, 0.3))
    assert with_activity == pytest.approx(np.sqrt(sum(terms) + 0.1**2), rel=1e-14)


def test_invariant_coordinates_forget_the_order_and_the_sign_of_the_separated_atom(make_shell):
    rng = np.random.default_rng(12)
    shell = make_shell(6)
    first = shell.sample(rng)
    z = first.block.coordinates[:, rng.permutation(6)]
    second = LocalDictionary(Block.from_coordinates(shell.frame, z), -first.separated)
    assert invariant_distance(invariant_coordinates(first, 1.0), invariant_coordinates(second, 1.0)) < 1e-16 * 10
