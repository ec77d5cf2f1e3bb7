from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment
from tests.local.theory.invariants import orbit_distance, vertex_permutation

from physupport._errors import MisuseError
from physupport.banks import bottleneck_assignment
from physupport.local.shell import Block, Frame, LocalDictionary, regular_simplex
from physupport.studies import quotient_distance


def _by_brute_force(costs):
    rows = np.arange(len(costs))
    return min(costs[rows, list(order)].max() for order in permutations(range(len(costs))))


@given(st.integers(1, 6).flatmap(lambda q: arrays(np.float64, (q, q), elements=st.sampled_from(np.arange(8) / 4.0))))
def test_the_bottleneck_with_many_ties_is_the_best_of_all_permutations(costs):
    value, order = bottleneck_assignment(costs)
    assert value == _by_brute_force(costs)
    assert sorted(order.tolist()) == list(range(len(costs)))
    assert costs[np.arange(len(costs)), order].max() == value


@given(st.integers(1, 6).flatmap(lambda q: arrays(np.float64, (q, q), elements=st.floats(-1e3, 1e3))))
def test_the_bottleneck_of_any_costs_is_the_best_of_all_permutations(costs):
    value, order = bottleneck_assignment(costs)
    assert value == _by_brute_force(costs)
    assert costs[np.arange(len(costs)), order].max() == value


def test_the_bottleneck_where_the_floor_is_far_from_enough():
    # Every row and column has a zero, but the zeros of the last five rows share a column.
    costs = np.arange(36.0).reshape(6, 6) + 1.0
    costs[:, 0] = 0.0
    costs[0] = 0.0
    assert bottleneck_assignment(costs)[0] == _by_brute_force(costs) > 0.0


def test_two_hundred_atoms_have_a_certified_bottleneck():
    rng = np.random.default_rng(0)
    costs = rng.random((200, 200))
    value, order = bottleneck_assignment(costs)
    assert costs[np.arange(200), order].max() == value
    # No permutation stays below the value: even the one with the fewest entries at or above it has some.
    forbidden = (costs >= value).astype(float)
    assert forbidden[linear_sum_assignment(forbidden)].sum() > 0


@pytest.mark.parametrize("q", [3, 4, 5, 6, 7])
def test_the_quotient_distance_is_the_best_of_all_permutations(make_shell, q):
    rng = np.random.default_rng(q)
    shell = make_shell(q, scale=0.3)
    for _ in range(3 if q == 7 else 10):
        first, second = shell.sample(rng), shell.sample(rng)
        here, there = first.block.coordinates, second.block.coordinates
        atoms = min(np.linalg.norm(here - there[:, list(p)], axis=0).max() for p in permutations(range(q)))
        shift = np.linalg.norm(
            np.outer(first.separated, first.separated) - np.outer(second.separated, second.separated)
        )
        match = quotient_distance(first, second)
        assert match[0] == pytest.approx(max(atoms, shift), rel=1e-13)
        matched = np.linalg.norm(here - there[:, match[1]], axis=0).max()
        assert matched == pytest.approx(atoms, rel=1e-13)


def test_relabelling_and_a_flipped_separated_atom_leave_distance_zero(make_shell):
    rng = np.random.default_rng(1)
    shell = make_shell(6)
    first = shell.sample(rng)
    order = rng.permutation(6)
    second = LocalDictionary(Block.from_coordinates(shell.frame, first.block.coordinates[:, order]), -first.separated)
    match = quotient_distance(first, second)
    assert match[0] < 1e-16 * 10  # rounding of coordinates near one tenth
    assert np.array_equal(order[match[1]], np.arange(6))


def test_the_quotient_distance_is_the_same_in_another_basis_and_template(make_shell, make_rotation):
    rng = np.random.default_rng(2)
    shell = make_shell(5)
    turn = make_rotation(rng, 4)
    frame = Frame(shell.frame.axis, shell.frame.basis @ turn, make_rotation(rng, 4) @ shell.frame.template)
    first, second = shell.sample(rng), shell.sample(rng)
    moved = LocalDictionary(Block.from_atoms(frame, second.block.atoms), second.separated)
    assert quotient_distance(first, moved)[0] == pytest.approx(quotient_distance(first, second)[0], rel=1e-13)


def test_the_quotient_distance_obeys_the_triangle_inequality(make_shell):
    rng = np.random.default_rng(3)
    shell = make_shell(5, scale=0.3)
    for _ in range(50):
        a, b, c = (shell.sample(rng) for _ in range(3))
        whole = quotient_distance(a, c)[0]
        assert whole <= quotient_distance(a, b)[0] + quotient_distance(b, c)[0] + 1e-15
        assert quotient_distance(c, a)[0] == pytest.approx(whole, rel=1e-14)


@pytest.mark.parametrize("q", [3, 4, 5, 6, 7])
def test_the_orbit_distance_is_the_best_of_all_permutations(make_rotation, q):
    rng = np.random.default_rng(q)
    v = regular_simplex(q)
    maps = [vertex_permutation(v, p) for p in permutations(range(q))]
    for _ in range(3):
        first, second = make_rotation(rng, q - 1), make_rotation(rng, q - 1)
        brute = min(np.linalg.norm(first - second @ pi) for pi in maps)
        value, order = orbit_distance(first, second, v)
        assert value == pytest.approx(brute, rel=1e-13)
        assert np.linalg.norm(first - second @ vertex_permutation(v, order)) == pytest.approx(brute, rel=1e-13)


def test_the_orbit_distance_of_a_tiny_rotation_is_accurate(make_rotation):
    rng = np.random.default_rng(4)
    v, angle = regular_simplex(4), 1e-9
    tiny = np.eye(3)
    tiny[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    relabelled = tiny @ vertex_permutation(v, rng.permutation(4))
    # Entries of size one carry 1e-16, which is one part in 1e7 of the angle.
    assert orbit_distance(relabelled, np.eye(3), v)[0] == pytest.approx(np.sqrt(8.0) * np.sin(angle / 2), rel=1e-6)


ONE_AXIS = LocalDictionary(Block.balanced(Frame.standard(3), 0.1), np.eye(3)[0])
OTHER_AXIS = LocalDictionary(
    Block.balanced(Frame(np.eye(3)[0], np.eye(3)[:, 1:], regular_simplex(3)), 0.1), np.eye(3)[2]
)
MISUSES = {
    "cost must be square": lambda: bottleneck_assignment(np.ones((2, 3))),
    "cost must be finite": lambda: bottleneck_assignment([[np.nan]]),
    "number of rows of cost must be a whole number at least 1": lambda: bottleneck_assignment(np.empty((0, 0))),
    "second must share the axis of first": lambda: quotient_distance(ONE_AXIS, OTHER_AXIS),
}


@pytest.mark.parametrize("message", MISUSES)
def test_misuse_names_the_argument_and_the_rule(message):
    with pytest.raises(MisuseError, match=message):
        MISUSES[message]()
