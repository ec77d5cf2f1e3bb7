"""Least squares in boxes, step by step: each kernel against a solver that knows nothing of it."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import lsq_linear

from physupport.laws.streams._boxes import (
    active_set,
    advance,
    duality_slack,
    face_step,
    factor,
    fit_box,
    fit_boxes,
    steepest,
)

SEEDS = st.integers(0, 2**32 - 1)
SIZE = 6


def problem(seed, count=3, is_dependent=False):
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((count, SIZE))
    if is_dependent and count > 1:
        atoms[-1] = 2.0 * atoms[0]
    return atoms, 2.0 * rng.standard_normal(SIZE), rng


def factored(atoms, chosen):
    r, q = atoms.shape
    basis, triangle, pivots = np.empty((min(q, r), q)), np.empty((r, min(q, r))), np.empty(r, dtype=np.int64)
    rank = factor(atoms, chosen, basis, triangle, pivots)
    return basis[:rank], triangle[:, :rank], pivots[:rank]


@settings(max_examples=40)
@given(seed=SEEDS, count=st.integers(1, 9), is_dependent=st.booleans())
def test_chosen_atoms_are_the_triangle_times_an_orthonormal_basis(seed, count, is_dependent):
    atoms, _, rng = problem(seed, count, is_dependent)
    chosen = rng.random(count) < 0.8
    basis, triangle, pivots = factored(atoms, chosen)
    assert len(basis) == np.linalg.matrix_rank(atoms[chosen]) if chosen.any() else len(basis) == 0
    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-13)
    np.testing.assert_allclose(triangle[chosen] @ basis, atoms[chosen], atol=1e-13)
    assert (triangle[~chosen] == 0.0).all()
    assert chosen[pivots].all()
    assert (np.diff(pivots) > 0).all()


@settings(max_examples=40)
@given(seed=SEEDS, count=st.integers(1, 5), is_dependent=st.booleans())
def test_a_step_goes_to_least_squares_of_the_free_atoms(seed, count, is_dependent):
    atoms, target, rng = problem(seed, count, is_dependent)
    free, step = rng.random(count) < 0.7, np.full(count, 9.0)
    face_step(atoms, target, free, step)
    assert (step[~free] == 0.0).all()
    left = target - step @ atoms
    np.testing.assert_allclose(atoms[free] @ left, 0.0, atol=1e-10)


def test_a_step_ends_where_the_first_coefficient_meets_its_bound():
    x, free = np.array([0.5, 0.5, 0.0]), np.array([True, True, False])
    assert advance(x, np.array([0.25, -2.0, 5.0]), free, np.zeros(3), np.ones(3)) == (1, 0.25)
    assert x.tolist() == [0.5625, 0.0, 0.0]  # the third is not free
    x = np.array([0.5, 0.5, 0.0])
    assert advance(x, np.array([0.25, 0.25, 0.0]), free, np.zeros(3), np.ones(3)) == (-1, 1.0)
    assert x.tolist() == [0.75, 0.75, 0.0]


def test_the_steepest_held_coefficient_is_released_and_none_that_would_leave_the_box():
    atoms, x = np.eye(3), np.array([0.0, 1.0, 0.0])
    held, low, high = np.ones(3, dtype=bool), np.zeros(3), np.ones(3)
    assert steepest(atoms, np.array([1.0, 5.0, 2.0]), x, held, low, high) == 2  # the second would go beyond 1
    assert steepest(atoms, np.array([1.0, -5.0, 2.0]), x, held, low, high) == 1
    assert steepest(atoms, np.array([-1.0, 5.0, -2.0]), x, held, low, high) == -1
    assert steepest(atoms, np.array([1.0, -5.0, 2.0]), x, held & [True, False, True], low, high) == 2
    assert steepest(atoms, np.array([1.0, -5.0, 2.0]), x, held, high, high) == -1  # a box that is a point


def least(atoms, target, lower, upper):
    """The least square that any coefficients in the box leave, by another method."""
    lower, upper = (np.broadcast_to(np.asarray(end, dtype=float), len(atoms)) for end in (lower, upper))
    return 2.0 * lsq_linear(atoms.T, target, (lower, upper + 1e-300), tol=1e-14, lsq_solver="exact").cost


@settings(max_examples=50)
@given(seed=SEEDS, count=st.integers(1, 5), low=st.sampled_from([-1.0, 0.0, 0.3]), is_dependent=st.booleans())
def test_the_active_set_ends_at_the_least_square_of_the_box(seed, count, low, is_dependent):
    atoms, target, rng = problem(seed, count, is_dependent)
    high = low + rng.uniform(0.1, 2.0)
    x = rng.uniform(low, high, count)
    active_set(atoms, target, np.full(count, low), np.full(count, high), x)
    assert ((x >= low) & (x <= high)).all()
    left = target - x @ atoms
    assert left @ left <= least(atoms, target, low, high) * (1.0 + 1e-8) + 1e-10


@settings(max_examples=40)
@given(seed=SEEDS, count=st.integers(1, 5), is_dependent=st.booleans())
def test_every_coefficient_has_ends_of_its_own(seed, count, is_dependent):
    atoms, target, rng = problem(seed, count, is_dependent)
    lower = rng.uniform(-2.0, 1.0, count)
    upper = lower + rng.uniform(0.0, 2.0, count) * (rng.random(count) < 0.8)
    x, dual = np.empty(count), np.empty(SIZE)
    fit_box(atoms, lower, upper, target, x, dual)
    assert ((x >= lower) & (x <= upper)).all()
    left, is_open = target - x @ atoms, lower < upper
    whole = target - lower[~is_open] @ atoms[~is_open]
    best = least(atoms[is_open], whole, lower[is_open], upper[is_open]) if is_open.any() else whole @ whole
    assert left @ left <= best * (1.0 + 1e-8) + 1e-10
    # What the dual vector proves is no more than the minimum, and nearly as much.
    bound = left @ left - duality_slack(atoms, lower, upper, x, left, np.zeros(SIZE), dual)
    assert bound <= best + 1e-9 * (1.0 + best)
    assert bound >= best - 1e-7 * (1.0 + best)


@settings(max_examples=30)
@given(seed=SEEDS, count=st.integers(1, 4))
def test_the_slack_of_a_bad_fit_is_large_enough(seed, count):
    """Any point and any dual vector: what is proven stays below the minimum."""
    atoms, target, rng = problem(seed, count)
    lower, upper = np.full(count, -1.0), np.full(count, 1.5)
    x, dual = rng.uniform(lower, upper), rng.standard_normal(SIZE)
    left = target - x @ atoms
    bound = left @ left - duality_slack(atoms, lower, upper, x, left, np.zeros(SIZE), dual)
    assert bound <= least(atoms, target, -1.0, 1.5) + 1e-9


def test_many_problems_are_each_of_them():
    rng = np.random.default_rng(8)
    atoms, target = rng.standard_normal((5, 3, SIZE)), rng.standard_normal(SIZE)
    together, duals = np.empty((5, 3)), np.empty((5, SIZE))
    fit_boxes(target, atoms, np.full(3, -0.5), np.full(3, 0.5), together, duals)
    for k in range(5):
        alone, dual = np.empty((1, 3)), np.empty((1, SIZE))
        fit_boxes(target, atoms[k : k + 1].copy(), np.full(3, -0.5), np.full(3, 0.5), alone, dual)
        assert (alone[0] == together[k]).all()
        assert (dual[0] == duals[k]).all()
        left = target - together[k] @ atoms[k]
        assert left @ left == pytest.approx(least(atoms[k], target, -0.5, 0.5), rel=1e-8)
