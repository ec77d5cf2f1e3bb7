import numpy as np
from hypothesis import given, settings, strategies as st

from physupport.banks import hausdorff_distance
from physupport.local.orbit._bracket import corners, distances, halves, largest, reaches


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_no_function_that_its_corners_and_rises_allow_exceeds_the_bound(seed, d):
    rng = np.random.default_rng(seed)
    values, rises = rng.normal(0.0, 10.0 ** rng.uniform(-1, 2), (1, 2**d)), rng.exponential(1.0, (1, d))
    x = rng.random((500, d))
    weights = np.ones((500, 1))
    for axis in range(d):  # the order of the corners: the last axis fastest
        weights = (weights[:, :, None] * np.stack([1.0 - x[:, axis], x[:, axis]], axis=1)[:, None]).reshape(500, -1)
    allowed = weights @ values[0] + (4.0 * x * (1.0 - x)) @ rises[0]
    bound, beyond = largest(values, rises)
    assert allowed.max() <= bound[0]
    assert bound[0] <= values.max() + rises.sum() + np.ptp(values) * d  # and it is no idle one
    assert np.all((beyond >= 0.0) & (beyond <= rises))


def test_a_steep_cell_is_bounded_by_its_corners():
    rises = np.array([[1.0, 1.0]])
    plane = np.array([[0.0, 10.0, 10.0, 20.0]])  # four rises from end to end, and more
    assert abs(largest(plane, rises)[0][0] - 20.0) < 1e-9
    flat = largest(np.zeros((1, 4)), rises)[0][0]
    assert abs(flat - 2.0) < 1e-9


def test_a_corner_without_a_bound_leaves_its_cell_without_one():
    assert largest(np.array([[0.0, np.inf]]), np.ones((1, 1)))[0][0] == np.inf


def test_halves_cover_the_cell_and_share_a_face():
    cell = np.array([[[0.0, 1.0], [2.0, 3.0]]])
    assert halves(cell, np.array([1])).tolist() == [[[0.0, 1.0], [2.0, 2.0]], [[0.0, 2.0], [2.0, 3.0]]]
    assert corners(cell)[0].tolist() == [[0.0, 1.0], [0.0, 3.0], [2.0, 1.0], [2.0, 3.0]]


def test_distances_are_those_of_hausdorff_rounded_upwards(whole_orbit):
    atoms = whole_orbit().atoms(np.linspace(-1.0, 1.0, 7)[:, None])[:, :, [0, 2]]
    found = distances(atoms)
    wanted = np.array([[hausdorff_distance(a, b) for b in atoms] for a in atoms])
    assert np.all(found >= wanted)
    np.testing.assert_allclose(found, wanted, atol=2e-12)


def test_no_two_orientations_of_two_cells_are_farther_apart_than_their_reach(whole_orbit):
    orbit, rng = whole_orbit(), np.random.default_rng(0)
    ends = np.sort(rng.uniform(-1.0, 1.0, (2, 6)), axis=0)
    lower, upper = (np.column_stack([e, np.full(6, 0.2), np.full(6, 0.2)]) for e in ends)
    far, which = reaches(orbit, [0, 1], np.stack([lower, upper], axis=1))
    for i in range(6):
        for j in range(6):
            angles = rng.uniform(lower[[i, j], 0], upper[[i, j], 0], (30, 2))
            apart = [hausdorff_distance(*orbit.atoms(pair[:, None])[:, :, [0, 1]]) for pair in angles]
            assert max(apart) <= far[which[i], which[j]]
