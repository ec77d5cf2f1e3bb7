"""The effect of a turn on the deployment mean."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize
from tests.local.theory.rates import deployment_information, orbit_secant_estimate, tangent_secant, two_atom_secant

from physupport._checks import Interval
from physupport.banks import projective_distances
from physupport.local.shell import (
    Block,
    Frame,
    Shell,
    compensated_generator,
    default_separated_atom,
    skew_basis,
    turned_block,
    two_atom_generator,
)
from physupport.studies import profiled_mean_distance, two_atom_profile


def general_block(q=4, s=0.2, seed=0):
    frame = Frame.standard(q)
    inside = Shell(frame, s, 1.4, Interval(0.6, 1.2), default_separated_atom(frame), 0.8, Interval(0.3, 1.0))
    return inside.sample(np.random.default_rng(seed)).block


def random_turn(q, seed):
    weights = np.random.default_rng(seed).standard_normal((q - 1) * (q - 2) // 2)
    return np.einsum("k,kij->ij", weights, skew_basis(q - 1))


def mean_velocity(block, support, x, turn, step=1e-5):
    sides = [turned_block(block, turn, sign * step).atoms[:, support] @ x for sign in (1.0, -1.0)]
    return (sides[0] - sides[1]) / (2.0 * step)


@pytest.mark.parametrize(("q", "r"), [(4, 2), (4, 3), (5, 2), (6, 4)])
def test_the_infimum_over_coefficients_and_the_projection_are_one_secant(q, r):
    block, support, turn = general_block(q), list(range(r)), random_turn(q, r)
    x = np.random.default_rng(r).uniform(0.8, 1.5, r)
    found = tangent_secant(block, support, x, turn, scale=0.2)
    velocity, atoms = mean_velocity(block, support, x, turn), block.atoms[:, support]
    best = minimize(lambda change: np.sum((velocity + atoms @ change) ** 2), np.zeros(r), tol=1e-14)
    # The velocity is a central difference with step 1e-5.
    assert found[0] == pytest.approx(np.sqrt(best.fun) / 0.2, rel=1e-6)
    assert np.linalg.norm(velocity + atoms @ found[1]) == pytest.approx(0.2 * found[0], rel=1e-8)


@pytest.mark.parametrize("s", [0.1, 0.05, 0.025])
def test_on_the_balanced_block_the_zero_sum_projection_is_the_secant_up_to_order_s_squared(s):
    q, support = 5, [0, 1, 2]
    frame = Frame.standard(q)
    x, turn = np.array([1.0, 1.3, 0.7]), random_turn(q, 1)
    found = tangent_secant(Block.balanced(frame, 0.9 * s), support, x, turn, scale=s)[0]
    v = frame.template[:, support]
    moved = 0.9 * turn @ v @ x
    differences = v[:, 1:] - v[:, :1]
    left = moved - differences @ np.linalg.lstsq(differences, moved, rcond=None)[0]
    leading = np.linalg.norm(left)
    # A nonzero coefficient sum costs an axial part but absorbs a little more: at most this, and it does not vanish.
    assert leading * (1.0 - s**2) < found < leading


@pytest.mark.parametrize(("q", "support"), [(4, (0, 1)), (4, (0, 1, 2)), (5, (1, 3)), (6, (0, 2, 3, 5))])
def test_equal_coefficients_hide_the_compensated_turn_completely(q, support):
    block = Block.balanced(Frame.standard(q), 0.1, np.linalg.qr(random_turn(q, 0) + np.eye(q - 1))[0])
    turn = compensated_generator(block.frame.template, support)
    found = tangent_secant(block, support, np.ones(len(support)), turn, scale=0.1)
    assert found[0] < 1e-14  # rounding of a velocity of size s, over s
    assert deployment_information(found[0], scale=0.1, noise_level=1.0, n_deployment=10**9) < 1e-20
    atoms = block.atoms[:, list(support)]
    for angle in (0.1, 0.5, 1.0):
        turned = turned_block(block, turn, angle).atoms[:, list(support)]
        assert np.abs(atoms.sum(axis=1) - turned.sum(axis=1)).max() < 1e-14


def test_the_deployment_information_is_the_efficient_one_with_unknown_coefficients_and_noise():
    q, support, sigma, replicates = 5, [0, 2, 4], 0.7, 12
    block, turn, x = general_block(q), random_turn(q, 4), np.array([1.1, 0.9, 1.4])
    chi = tangent_secant(block, support, x, turn, scale=0.2)[0]
    # Gaussian rows N(mu(t, x), sigma^2 I): information of (t, x, log sigma) and its Schur complement at t.
    jacobian = np.column_stack([mean_velocity(block, support, x, turn), block.atoms[:, support], np.zeros(q)])
    information = replicates * jacobian.T @ jacobian / sigma**2
    information[-1, -1] = 2.0 * q * replicates
    efficient = information[0, 0] - information[0, 1:] @ np.linalg.solve(information[1:, 1:], information[1:, 0])
    found = deployment_information(chi, scale=0.2, noise_level=sigma, n_deployment=replicates)
    assert found == pytest.approx(efficient, rel=1e-7)  # the velocity is a finite difference


@pytest.mark.parametrize("q", [4, 5, 7])
@pytest.mark.parametrize("s", [0.122, 0.045])
def test_the_two_atom_profile_is_exact(q, s):
    block = Block.balanced(Frame.standard(q), 0.8 * s)
    template = block.frame.template
    turn, edge = two_atom_generator(template, (0, 1)), np.linalg.norm(template[:, 0] - template[:, 1])
    for first, second in [(0.0, 0.3), (-0.2, 0.35), (0.1, 1.4)]:
        here, there = (turned_block(block, turn, angle).atoms[:, :2] for angle in (first, second))
        for contrast in (0.0, 0.25, -0.5, 1.9):
            x = np.array([1.0 + contrast / 2.0, 1.0 - contrast / 2.0])
            expected = two_atom_profile(0.8 * s, contrast, edge, first - second)
            assert abs(profiled_mean_distance(here, x, there) - expected) < 2e-15  # rounding of atoms of norm one
            direct = np.linalg.lstsq(there, here @ x, rcond=None)[0]
            assert abs(np.linalg.norm(here @ x - there @ direct) - expected) < 5e-15


def test_the_secant_of_the_two_atom_turn_is_the_contrast():
    block = Block.balanced(Frame.standard(5), 0.8 * 0.1)
    template = block.frame.template
    turn, edge = two_atom_generator(template, (0, 1)), np.linalg.norm(template[:, 0] - template[:, 1])
    found = tangent_secant(block, (0, 1), np.array([1.2, 0.9]), turn, scale=0.1)
    assert found[0] == pytest.approx(two_atom_secant(0.8, 0.3, edge), rel=1e-12)


@pytest.mark.parametrize("s", [0.1, 0.01])
def test_the_two_atom_orbit_meets_both_secant_conditions(s):
    block = Block.balanced(Frame.standard(4), 0.9 * s)
    template = block.frame.template
    turn, edge = two_atom_generator(template, (0, 1)), np.linalg.norm(template[:, 0] - template[:, 1])
    angles = np.linspace(-0.25, 0.25, 9)
    found = orbit_secant_estimate(block, (0, 1), turn, np.array([1.2, 0.9]), angles, scale=s)
    chi = two_atom_secant(0.9, 0.3, edge)
    # |sin| against the angle, at most 0.5 apart.
    assert chi * np.sin(0.5) / 0.5 * (1.0 - 1e-9) <= found[1][0] <= found[1][1] <= chi * (1.0 + 1e-9)
    speed = 0.9 * edge / 2.0
    # Chord against arc, and sine against chord.
    assert 0.98 * speed <= found[0][0] <= found[0][1] <= speed * (1.0 + 1e-9)
    for j in (0, 1):
        moved = [turned_block(block, turn, angle).atoms[:, [j]] for angle in (angles[0], angles[-1])]
        apart = projective_distances(*moved)[0, 0] / (0.5 * s)
        assert 0.98 * speed <= apart <= speed  # each atom by itself
        alone = orbit_secant_estimate(block, (j,), turn, np.array([1.0]), angles, scale=s)
        assert 0.98 * speed <= alone[0][0] <= apart <= alone[0][1] <= speed * (1.0 + 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_distance_over_all_coefficients_is_never_above_that_over_a_compact_set(seed):
    block, rng = general_block(seed=seed), np.random.default_rng(seed)
    atoms, other = block.atoms[:, :2], turned_block(block, random_turn(4, seed), 0.2).atoms[:, :2]
    x, box = rng.uniform(0.9, 1.1, 2), Interval(0.9, 1.1)
    free = profiled_mean_distance(atoms, x, other)
    best = lsq_linear(other, atoms @ x, bounds=(box.lower, box.upper), tol=1e-14).x
    held = np.linalg.norm(atoms @ x - other @ best)
    assert free <= held * (1.0 + 1e-12)
    assert free == pytest.approx(np.linalg.norm(atoms @ x - other @ np.linalg.lstsq(other, atoms @ x)[0]), rel=1e-8)
