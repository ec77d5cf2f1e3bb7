"""The two-point argument and the three least favourable pairs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.integrate import quad
from scipy.linalg import expm
from scipy.optimize import linprog
from scipy.stats import norm
from tests.local.theory.rates import (
    explanation_means,
    mean_pair_diameter,
    orientation_pair,
    support_means,
    total_variation_from_affinity,
    total_variation_from_divergence,
    two_point_diameter,
)

from physupport import MisuseError
from physupport.banks import hausdorff_distance, projective_distances
from physupport.local.planning import information_scales
from physupport.local.shell import (
    Block,
    Frame,
    balanced_dictionary,
    compensated_generator,
    turned_block,
    two_atom_generator,
)

TETRAHEDRON = np.array([[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]) / np.sqrt(3.0)
SUPPORTS = [(q, support) for q in range(4, 8) for r in range(2, q) for support in list(combinations(range(q), r))[::5]]


def rotation(q, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((q - 1, q - 1)))[0]


@given(st.floats(1e-6, 6.0))
def test_the_total_variation_bounds_hold_for_shifted_normals(shift):
    exact = 2.0 * norm.cdf(shift / 2.0) - 1.0
    by_divergence = total_variation_from_divergence(shift**2 / 2.0)
    by_affinity = total_variation_from_affinity(-np.expm1(-(shift**2) / 8.0))
    assert exact <= by_divergence <= min(shift / 2.0, np.sqrt(-np.expm1(-(shift**2) / 2.0))) * (1.0 + 1e-15)
    assert exact <= by_affinity < 1.0
    # The affinity is the sharper of the two: 1 - A^2 = 1 - exp(-K/2) against 1 - exp(-K).
    assert by_affinity <= np.sqrt(-np.expm1(-(shift**2) / 2.0))


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.floats(0.01, 0.4))
def test_no_correspondence_on_a_finite_space_beats_the_two_point_bound(seed, alpha):
    rng = np.random.default_rng(seed)
    first, second = rng.dirichlet(np.full(6, 0.5), 2)
    variation = np.abs(first - second).sum() / 2.0
    # Variables: probability of reporting {0}, {1} or {0, 1} at each point; only {0, 1} has a diameter, here 1.
    cost = np.concatenate([np.zeros(12), first])
    misses = np.array([np.r_[np.zeros(6), first, np.zeros(6)], np.r_[second, np.zeros(12)]])
    total = np.hstack([np.eye(6)] * 3)
    best = linprog(cost, A_ub=misses, b_ub=[alpha, alpha], A_eq=total, b_eq=np.ones(6)).fun
    assert best >= two_point_diameter(1.0, min(1.0, variation), alpha) - 1e-9  # the solver's feasibility tolerance


def test_the_two_point_bound_is_attained_when_the_laws_agree():
    # Report {0} and {1} with probability alpha each, else both.
    assert two_point_diameter(0.3, 0.0, 0.1) == pytest.approx(0.3 * 0.8, rel=1e-15)
    assert two_point_diameter(0.3, 0.9, 0.1) == 0.0


def test_the_explanation_pair_has_the_projected_divergence():
    dictionary = balanced_dictionary(Frame.standard(5), 0.1, rotation(5, 1))
    pair = explanation_means(dictionary, (0, 2, 3), 0.8)
    a, mean = dictionary.separated, 0.8 * dictionary.block.atoms[:, [0, 2, 3]].sum(axis=1)
    across = (np.eye(5) - np.outer(a, a)) @ mean
    expected = 40 / (2.0 * 0.6**2) * across @ across
    assert pair.divergence(0.6, 40) == pytest.approx(expected, rel=1e-13)
    scales = information_scales(n_calibration=1, n_deployment=40, scale=0.1, r=3, weakest=0.8, noisiest=0.6)
    # ||mu|| <= r beta, so the constant of eq:supp-group-pair-KL is 1/2.
    assert pair.divergence(0.6, 40) <= 0.5 * scales.explanation
    # Half a right angle apart, up to the size of the block.
    assert pair.separation == pytest.approx(np.sqrt(0.5), abs=0.15)
    assert mean_pair_diameter(pair, 0.6, 0, 0.1) == pytest.approx(0.8 * pair.separation, rel=1e-15)


@pytest.mark.parametrize("n_deployment", [1, 4, 16])
def test_the_diameter_that_two_means_force_has_the_exact_total_variation(n_deployment):
    pair = support_means(Block.balanced(Frame.standard(4), 0.2), (0, 1), (1, 2), 1.0)
    # Only the coordinate along the difference of the means matters; integrate |p - q| / 2 over it.
    shift = np.sqrt(n_deployment) * np.linalg.norm(pair.mean - pair.other) / 0.6
    distinct = quad(lambda x: abs(norm.pdf(x) - norm.pdf(x - shift)) / 2.0, -9.0, 9.0 + shift, points=[shift / 2])[0]
    # The error of the quadrature is below 1e-12.
    assert mean_pair_diameter(pair, 0.6, n_deployment, 0.05) == pytest.approx(
        pair.separation * (0.9 - distinct), rel=1e-10
    )
    bounded = two_point_diameter(
        pair.separation, total_variation_from_divergence(pair.divergence(0.6, n_deployment)), 0.05
    )
    assert mean_pair_diameter(pair, 0.6, n_deployment, 0.05) > 1.01 * bounded


@pytest.mark.parametrize("q", range(4, 8))
@pytest.mark.parametrize("s", [0.3, 0.01])
def test_every_swap_of_one_atom_moves_the_mean_as_the_simplex_says(q, s):
    block = Block.balanced(Frame.standard(q), 0.9 * s, rotation(q, q))
    for r in range(2, q):
        for gone in range(r):
            for come in range(r, q):
                pair = support_means(block, range(r), (gone, come), 1.4)
                moved = np.linalg.norm(pair.mean - pair.other) ** 2
                # Differences of numbers of size one: rounding against s^2.
                assert moved == pytest.approx(2.0 * 1.4**2 * (0.9 * s) ** 2 * q / (q - 1), rel=1e-13 / s)
                # The new atom is one edge from every old one, and d_pr = chord cos(half the angle).
                edge = 0.9 * s * np.sqrt(2.0 * q / (q - 1))
                assert pair.separation == pytest.approx(edge * np.sqrt(1.0 - edge**2 / 4.0), rel=1e-12)
                scales = information_scales(n_calibration=1, n_deployment=9, scale=s, r=r, weakest=1.4, noisiest=0.5)
                expected = 0.9**2 * q / (q - 1) * scales.support
                assert pair.divergence(0.5, 9) == pytest.approx(expected, rel=1e-12 / s)


@pytest.mark.parametrize(("q", "support"), SUPPORTS)
def test_the_compensated_generator_fixes_the_sum_and_moves_an_active_vertex_at_unit_speed(q, support):
    template = Frame.standard(q).template
    turn = compensated_generator(template, support)
    assert np.array_equal(turn, -turn.T)
    assert np.abs(turn @ template[:, support].sum(axis=1)).max() < 1e-14
    assert np.linalg.norm(turn @ template[:, support], axis=0).max() == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize(("q", "support"), SUPPORTS)
@pytest.mark.parametrize("s", [0.2, 0.005])
def test_along_the_compensated_path_only_the_physical_support_moves(q, support, s):
    block = Block.balanced(Frame.standard(q), s, rotation(q, 3))
    for h in (-0.3, -0.01, 0.02, 0.25):
        turned, separation = orientation_pair(block, support, h)
        before, after = block.atoms[:, support], turned.atoms[:, support]
        assert np.linalg.norm(before.sum(axis=1) - after.sum(axis=1)) < 1e-14  # sums of q rounded atoms of norm one
        matched = np.diagonal(projective_distances(before, after)).max()
        assert separation == pytest.approx(matched, rel=1e-10)  # the same label is the nearest
        # Chord against arc in a plane, 2 sin(h/2) for unit speed, and sine against chord; nothing else.
        assert 0.97 * s * abs(h) <= separation <= s * abs(h) * (1.0 + 1e-9)


def test_negative_control_a_half_turn_exchanges_the_atoms_and_the_same_label_matching_fails():
    block = Block.balanced(Frame.standard(4), 0.1)
    turned = turned_block(block, two_atom_generator(block.frame.template, (0, 1)), np.pi)
    assert hausdorff_distance(block.atoms[:, :2], turned.atoms[:, :2]) < 1e-15
    assert np.linalg.norm(block.atoms[:, 0] - turned.atoms[:, 0]) > 0.1


def test_the_two_atom_turn_rotates_the_difference_into_its_partner():
    for q in (4, 5, 7):
        template = Frame.standard(q).template
        turn = two_atom_generator(template, (0, 1))
        e, f = template[:, 0] + template[:, 1], template[:, 0] - template[:, 1]
        g = 2.0 * turn @ template[:, 0]
        assert np.abs(turn @ e).max() < 1e-15
        assert np.linalg.norm(g) == pytest.approx(np.linalg.norm(f), rel=1e-14)
        assert np.abs(turn @ template[:, 1] + g / 2.0).max() < 1e-15
        for h in (0.3, 2.0):
            assert np.abs(expm(h * turn) @ f - np.cos(h) * f - np.sin(h) * g).max() < 1e-14


def test_on_the_tetrahedron_it_is_the_turn_about_the_first_axis():
    phi = 0.37
    cosine, sine = np.cos(phi), np.sin(phi)
    expected = np.array([[1, 0, 0], [0, cosine, -sine], [0, sine, cosine]])
    assert np.abs(expm(phi * two_atom_generator(TETRAHEDRON, (0, 1))) - expected).max() < 1e-15
    # The unit-speed generator is faster by sqrt(3/2).
    ratio = compensated_generator(TETRAHEDRON, (0, 1)) / np.sqrt(1.5) - two_atom_generator(TETRAHEDRON, (0, 1))
    assert np.abs(ratio).max() < 1e-15


def test_misuse_is_named():
    block = Block.balanced(Frame.standard(4), 0.1)
    with pytest.raises(MisuseError, match="template must have at least 4 vertices"):
        compensated_generator(Frame.standard(3).template, (0, 1))
    with pytest.raises(MisuseError, match="size of the support must be a whole number between 2 and 3"):
        compensated_generator(Frame.standard(4).template, (0, 1, 2, 3))
    with pytest.raises(MisuseError, match="swap must name an active and then a passive atom"):
        support_means(block, (0, 1), (2, 3), 1.0)
    with pytest.raises(MisuseError, match="generator must be square and skew"):
        turned_block(block, np.eye(3), 0.1)
    with pytest.raises(MisuseError, match=r"alpha must lie strictly between 0 and 0\.5"):
        two_point_diameter(0.1, 0.1, 0.5)
