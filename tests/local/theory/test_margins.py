from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import lsq_linear
from tests.local.theory.margins import (
    amplitude_is_interior,
    balanced_amplitude_range,
    lower_singular_constant,
    matching_is_unique,
    separated_gap,
    separated_margin,
    support_margin,
    vertex_separation,
)

from physupport._checks import Interval
from physupport._errors import MisuseError
from physupport.local.shell import Amplitudes, Block
from physupport.studies import quotient_distance

AMPLITUDES = Amplitudes(block=Interval(0.9, 1.1), separated=Interval(0.5, 3.0))


def _extreme_block(shell, rng, make_rotation):
    """The least stretched block, its centre pushed as far as the cap allows: where atoms are most nearly dependent."""
    shape = shell.stretch.lower * shell.scale * make_rotation(rng, shell.q - 1)
    legs = shape @ shell.frame.template
    direction = rng.standard_normal(shell.q - 1) if rng.uniform() < 0.5 else legs[:, 0]
    direction = direction / np.linalg.norm(direction)
    along, squares = direction @ legs, np.sum(legs**2, axis=0)
    steps = -along + np.sqrt(along**2 + (shell.cap * shell.scale) ** 2 - squares)
    return Block(shell.frame, steps.min() * (1 - 1e-12) * direction, shape)


def _least_distance(first, second, box, other_box):
    """Exact minimum of ||A x - B y|| with x and y in boxes: a convex problem."""
    lower = [box.lower] * first.shape[1] + [other_box.lower] * second.shape[1]
    upper = [box.upper] * first.shape[1] + [other_box.upper] * second.shape[1]
    fit = lsq_linear(np.column_stack([first, -second]), np.zeros(len(first)), (lower, upper), method="bvls", tol=1e-14)
    return np.sqrt(2.0 * fit.cost)


@pytest.mark.parametrize("q", [3, 4, 6, 8])
@pytest.mark.parametrize("scale", [1e-5, 0.05, 0.2, 0.4])
def test_no_block_of_the_shell_has_a_smaller_singular_value_than_stated(make_shell, make_rotation, q, scale):
    rng = np.random.default_rng(q)
    shell = make_shell(q, scale=scale)
    constant = lower_singular_constant(shell)
    blocks = [shell.sample(rng).block for _ in range(200)]
    blocks += [_extreme_block(shell, rng, make_rotation) for _ in range(200)]
    smallest = min(np.linalg.svd(block.atoms, compute_uv=False)[-1] for block in blocks)
    # Atoms of size one carry an absolute rounding of 1e-15, relative to the scale.
    assert constant * scale <= smallest * (1 + 1e-14 / scale)
    if scale <= 0.05:  # negative control: the constant is sharp for small scales, so a larger one would fail
        assert 1.05 * constant * scale > smallest


@given(st.integers(3, 8), st.floats(0.01, 0.3), st.floats(0.5, 1.0), st.floats(1.0, 2.0))
def test_the_singular_constant_is_that_of_the_comparison_matrix_and_below_the_vertex_bound(
    make_shell, q, scale, smallest, slack
):
    shell = make_shell(q, scale=scale, cap=smallest * slack, stretch=(smallest, 1.5))
    floor = np.sqrt(1.0 - (smallest * slack * scale) ** 2)
    center = scale * smallest * np.sqrt(slack**2 - 1.0)
    spread = smallest * np.sqrt(q / (q - 1))
    matrix = np.array([[np.sqrt(q) * floor, -np.sqrt(q) * (1 - floor) / 2], [-np.sqrt(q) * center, spread * scale]])
    constant = lower_singular_constant(shell)
    # 1 - c_u cancels in this direct route, and the centre radius where the cap is barely above the smallest stretch.
    assert constant == pytest.approx(np.linalg.svd(matrix, compute_uv=False)[-1] / scale, rel=1e-7)
    assert constant <= spread * (1 + 1e-14)


@pytest.mark.parametrize(("q", "r"), [(4, 2), (5, 3), (6, 2)])
def test_two_supports_are_never_closer_than_the_support_margin(make_shell, make_neighbour, q, r):
    rng = np.random.default_rng(q)
    shell = make_shell(q, scale=0.2)
    positive = 0
    for _ in range(12):
        first = shell.sample(rng)
        second = make_neighbour(shell, first, rng, 0.02 * shell.scale * rng.uniform())
        if not shell.membership(second, 1.0).inside:
            continue
        match = quotient_distance(first, second)
        margin = support_margin(shell, AMPLITUDES, r, match[0])
        here, there = first.block.atoms, second.block.atoms[:, match[1]]
        least = min(
            _least_distance(here[:, list(s)], there[:, list(t)], AMPLITUDES.block, AMPLITUDES.block)
            for s, t in permutations(list(combinations(range(q), r)), 2)
        )
        assert least >= margin
        positive += margin > 0.0
    assert positive > 5  # otherwise nothing was tested


def test_at_radius_zero_the_support_margin_is_nearly_attained(make_shell):
    # Two supports that exchange one atom of a balanced block are sqrt(2q/(q-1)) beta_- lambda s apart
    # (eq:supp-support-pair-mean).
    shell = make_shell(4, scale=0.01, cap=1.001, stretch=(1.0, 1.2))
    narrow = Amplitudes(Interval(0.9, 0.9), Interval(0.5, 3.0))
    margin = support_margin(shell, narrow, 2, 0.0)
    assert margin == pytest.approx(0.9 * 0.01 * np.sqrt(8 / 3), rel=1e-3)  # up to terms of order s


@given(
    st.integers(4, 8), st.floats(0.01, 0.3), st.floats(0.5, 1.0), st.floats(1.0, 2.0), st.floats(0.0, 1.0), st.data()
)
def test_a_positive_support_margin_implies_a_unique_matching(make_shell, q, scale, smallest, slack, fraction, data):
    shell = make_shell(q, scale=scale, cap=smallest * slack, stretch=(smallest, 1.5))
    r = data.draw(st.integers(2, q - 1))
    rho = fraction * vertex_separation(shell)
    if support_margin(shell, AMPLITUDES, r, rho) > 0.0:
        assert matching_is_unique(shell, rho)


def test_a_unique_matching_is_lost_exactly_at_half_the_vertex_separation(make_shell):
    shell = make_shell(5)
    assert matching_is_unique(shell, 0.499 * vertex_separation(shell))
    assert not matching_is_unique(shell, 0.5 * vertex_separation(shell))


@pytest.mark.parametrize("angle", [0.4, np.pi / 4, 1.2, np.pi / 2, 2.3])
@pytest.mark.parametrize(("q", "r"), [(3, 2), (5, 3)])
def test_block_means_and_separated_means_are_never_closer_than_the_gap_whatever_the_dictionaries(
    make_shell, q, r, angle
):
    rng = np.random.default_rng(q)
    shell = make_shell(q, scale=0.06, angle=angle)
    gap = separated_gap(shell, AMPLITUDES, r)
    assert gap > 0.0
    for _ in range(30):
        # Two unrelated dictionaries: the gap needs no closeness, so it also covers the margin at any radius.
        first, second = shell.sample(rng), shell.sample(rng)
        least = min(
            _least_distance(
                first.block.atoms[:, list(s)], sign * second.separated[:, None], AMPLITUDES.block, AMPLITUDES.separated
            )
            for s, sign in product(combinations(range(q), r), (1.0, -1.0))
        )
        assert least >= gap
        assert least >= separated_margin(shell, AMPLITUDES, r, quotient_distance(first, second)[0])


def test_the_separated_gap_is_the_papers_at_its_reference_angle(make_shell):
    shell = make_shell(4, scale=0.05)
    floor = np.sqrt(1 - (1.5 * 0.05) ** 2)
    paper = 2 / np.sqrt(2) * (0.9 * floor - 1.1 * 1.5 * 0.05) - 3.0 * 0.7 * 0.05
    assert separated_gap(shell, AMPLITUDES, 2) == pytest.approx(paper, rel=1e-14)
    expected = paper - (2 * 1.1 + 3.0) * 0.01 / floor
    assert separated_margin(shell, AMPLITUDES, 2, 0.01) == pytest.approx(expected, rel=1e-13)


def test_margins_are_clipped_at_zero(make_shell):
    shell = make_shell(4, scale=0.6)
    assert separated_gap(shell, AMPLITUDES, 2) < 0.0
    assert separated_margin(shell, AMPLITUDES, 2, 0.0) == 0.0
    assert support_margin(make_shell(4), AMPLITUDES, 2, 10.0) == 0.0


@pytest.mark.parametrize("angle", [np.pi / 4, 1.2, 2.0])
def test_the_balanced_amplitude_range_holds_every_mean_and_its_ends_are_attained(make_shell, make_rotation, angle):
    rng = np.random.default_rng(7)
    q, r, stretch = 4, 2, 1.1
    shell = make_shell(q, scale=0.2, angle=angle)
    wide = Amplitudes(Interval(0.3, 1.7), AMPLITUDES.separated)
    lower, upper = balanced_amplitude_range(shell, wide, r, stretch)
    seen = []
    for _ in range(1500):
        atoms = Block.balanced(shell.frame, stretch * shell.scale, make_rotation(rng, q - 1)).atoms
        x = rng.choice([0.3, 1.7], r) if rng.uniform() < 0.8 else rng.uniform(0.3, 1.7, r)
        seen.append(shell.reference @ atoms[:, :r] @ x)
    assert lower - 1e-14 <= min(seen)
    assert max(seen) <= upper + 1e-14
    # The rotations that come closest among 1200 leave a small fraction of the range open.
    assert min(seen) - lower < 0.02 * (upper - lower)
    assert upper - max(seen) < 0.02 * (upper - lower)


def test_the_interior_condition_compares_that_range_with_the_separated_amplitudes(make_shell):
    shell = make_shell(4, scale=0.1)
    lower, upper = balanced_amplitude_range(shell, AMPLITUDES, 2, 1.0)
    assert amplitude_is_interior(shell, AMPLITUDES, 2, 1.0)
    for separated in (Interval(lower, 3.0), Interval(0.5, upper)):  # touching the boundary is not interior
        assert not amplitude_is_interior(shell, Amplitudes(AMPLITUDES.block, separated), 2, 1.0)


MISUSES = {
    "scale must be small enough for the atoms of every block": lambda make: lower_singular_constant(
        make(8, scale=0.19, cap=5.2, stretch=(0.8, 1.2))
    ),
    "r must be a whole number between 2 and 3": lambda make: support_margin(make(4), AMPLITUDES, 4, 0.0),
    "r must be a whole number between 2 and 4": lambda make: separated_gap(make(5), AMPLITUDES, 1),
    "rho must be finite and at least 0, not -1": lambda make: support_margin(make(4), AMPLITUDES, 2, -1.0),
    "rho must be finite and at least 0, not nan": lambda make: separated_margin(make(4), AMPLITUDES, 2, np.nan),
    "stretch must lie strictly between 0.8 and 1.2": lambda make: balanced_amplitude_range(make(4), AMPLITUDES, 2, 1.2),
}


@pytest.mark.parametrize("message", MISUSES)
def test_misuse_names_the_argument_and_the_rule(make_shell, message):
    with pytest.raises(MisuseError, match=message):
        MISUSES[message](make_shell)
