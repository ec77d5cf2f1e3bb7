"""No law of a cell has a larger likelihood than its corners and the rise allow, whatever the turns and the rows."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.local.orbit import Orbit
from physupport.local.orbit._bracket import corners, largest

TRIALS, INSIDE = 60, 8


def unit(columns):
    return columns / np.linalg.norm(columns, axis=0) if columns.size else columns


def some_orbit(rng, is_rigid):
    """Any atoms under one or two turns; rigid: the atoms that stay are out of reach of the turn."""
    q, n_turning, n_resting = int(rng.integers(3, 5)), int(rng.integers(1, 4)), int(rng.integers(0, 3))
    resting = rng.standard_normal((q, n_resting))
    skew = rng.standard_normal((int(rng.integers(1, 3)), q, q))
    generators = skew - skew.transpose(0, 2, 1)
    if is_rigid:
        generators = np.zeros((1, q, q))
        generators[0, 0, 1], generators[0, 1, 0] = -1.0, 1.0
        resting[:2] = 0.0
    ends = np.sort(rng.uniform(-0.5, 0.5, (2, len(generators))), axis=0)
    noise, p = np.sort(rng.uniform(0.2, 1.5, 2)), np.sort(rng.uniform(0.05, 0.45, 2))
    box = (np.array([*ends[side], noise[side], p[side]]) for side in (0, 1))
    return Orbit(unit(rng.standard_normal((q, n_turning))), unit(resting), generators, *box)


def above_corners(orbit, rows, log_likelihood, laws):
    """How far laws rise above the corners of the whole box, and above the bound of it."""
    cell = np.array([[orbit.lower, orbit.upper]])
    values = np.array([[log_likelihood(orbit, rows, corner) for corner in corners(cell)[0]]])
    rises = orbit.rises(cell[:, 0], cell[:, 1], orbit.row_sums(rows))
    found = max(log_likelihood(orbit, rows, law) for law in laws)
    return found - values.max(), found - largest(values, rises)[0][0], float(rises.sum())


@pytest.mark.parametrize("is_rigid", [True, False])
def test_no_law_of_a_cell_exceeds_the_bound(is_rigid, log_likelihood):
    rng = np.random.default_rng(3 + is_rigid)
    for _ in range(TRIALS):
        orbit = some_orbit(rng, is_rigid)
        rows = rng.choice([0.3, 1.0, 3.0]) * rng.standard_normal((3, len(orbit.turning)))
        laws = rng.uniform(orbit.lower, orbit.upper, (INSIDE, len(orbit.lower)))
        assert above_corners(orbit, rows, log_likelihood, laws)[1] <= 0.0


@pytest.mark.parametrize(
    ("rows", "lower", "upper", "share"),
    [
        ([[6.0, 0.0]], [-0.02, 0.9, 0.4], [0.02, 0.9, 0.4], 0.8),  # along the only atom, which is surely active
        ([[0.0, 1.0], [0.0, -1.0]], [0.0, 0.49, 0.001], [0.0, 0.51, 0.001], 0.25),  # noise alone, as much as 0.5 makes
        ([[3.0, 0.0], *[[0.0, 0.0]] * 3], [0.0, 1e-3, 0.2], [0.0, 1e-3, 0.3], 0.5),  # active in one of four rows
    ],
    ids=["angle", "noise", "activity"],
)
def test_negative_control_a_smaller_share_of_a_rise_would_be_exceeded(rows, lower, upper, share, log_likelihood):
    quarter = np.array([[[0.0, -1.0], [1.0, 0.0]]])
    orbit = Orbit(np.array([[1.0], [0.0]]), np.empty((2, 0)), quarter, np.array(lower), np.array(upper))
    laws = np.linspace(orbit.lower, orbit.upper, 21)
    above, excess, rise = above_corners(orbit, np.array(rows), log_likelihood, laws)
    assert share * rise < above
    assert excess <= 0.0


def test_atoms_that_are_a_little_off_change_the_likelihood_by_no_more_than_the_rounding_allows(log_likelihood):
    rng, shares = np.random.default_rng(5), []
    for _ in range(TRIALS):
        orbit = some_orbit(rng, is_rigid=False)
        rows = 3.0 * rng.standard_normal((3, len(orbit.turning)))
        error = 1e-6 * rng.standard_normal(orbit.turning.shape)
        parts = (orbit.resting, orbit.generators, orbit.lower, orbit.upper)
        moved = Orbit(unit(orbit.turning + error), *parts)
        change = abs(log_likelihood(moved, rows, orbit.lower) - log_likelihood(orbit, rows, orbit.lower))
        allowed = orbit.rounding(orbit.lower[None], orbit.row_sums(rows))[0] / 1e-12  # for an error of 1 in an atom
        shares.append(change / (np.linalg.norm(moved.turning - orbit.turning, axis=0).max() * allowed))
    assert 0.02 < max(shares) < 1.0


def test_a_rise_falls_with_the_square_of_the_width(whole_orbit):
    orbit = whole_orbit()
    sums = orbit.row_sums(np.random.default_rng(0).standard_normal((50, 3)))
    middle, step = np.array([0.1, 0.25, 0.2]), np.array([1e-3, 1e-4, 1e-4])
    wide, narrow = (orbit.rises((middle - h * step)[None], (middle + h * step)[None], sums)[0] for h in (1.0, 0.5))
    np.testing.assert_allclose(wide / narrow, 4.0, rtol=1e-2)  # the curvatures change over the cell, by its width


def test_an_atom_moves_no_faster_than_the_speed(whole_orbit):
    orbit, angles = whole_orbit(), np.linspace(-1.0, 1.0, 400)
    steps = np.linalg.norm(np.diff(orbit.atoms(angles[:, None]), axis=0), axis=1)
    assert steps.max() <= orbit.speed * (angles[1] - angles[0])
    assert steps.max() > 0.99 * orbit.speed * (angles[1] - angles[0])


def test_a_block_turns_as_a_rigid_body_about_its_axis_and_a_third_of_a_turn_is_the_block_again(whole_orbit):
    orbit = whole_orbit()
    start, moved = orbit.atoms(np.array([[0.0], [2.0 * np.pi / 3.0]]))
    np.testing.assert_allclose(moved[:, :3].T @ moved[:, :3], start[:, :3].T @ start[:, :3], atol=1e-14)
    np.testing.assert_array_equal(moved[:, 3], start[:, 3])
    np.testing.assert_allclose(moved[:, :3], start[:, [1, 2, 0]], atol=1e-14)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"generators": np.eye(3)[None]}, "generators must be skew"),
        ({"generators": np.zeros((1, 3, 3))}, "generators must be skew"),
        ({"lower": np.array([0.0, 0.5, 0.2])}, "upper must hold angles, a positive noise"),
        ({"upper": np.array([0.1, 0.4, 0.5])}, "upper must hold angles, a positive noise"),
        ({"upper": np.array([40.0, 0.4, 0.3])}, "at most two whole turns"),
        ({"turning": np.ones((3, 2))}, "turning"),
    ],
)
def test_boxes_and_turns_that_cannot_be_are_refused(change, message, whole_orbit):
    orbit = whole_orbit()
    parts = {name: getattr(orbit, name) for name in ("turning", "resting", "generators", "lower", "upper")}
    with pytest.raises(MisuseError, match=message):
        Orbit(**(parts | change))
