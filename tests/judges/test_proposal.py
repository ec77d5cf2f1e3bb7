"""Proposals: the best member of a bank with honest ties, and the best point of a box."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import qmc

from physupport import Interval, MisuseError
from physupport.judges import best_explanation, best_keys
from physupport.laws import (
    BernoulliGaussian,
    LatentObjective,
    calibration_mixture,
    calibration_tangent,
    latent_box,
    make_calibration,
    propose_continuous,
    start_points,
)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9), st.sampled_from([0.0, 0.4, 9.0]))
def test_the_best_key_is_the_lowest_of_the_largest(table_stream, log_likelihoods, error):
    found = best_keys(table_stream([[0, x] for x in log_likelihoods], error=error))
    assert found[0] == log_likelihoods.index(max(log_likelihoods))
    assert found.tolist() == [i for i, x in enumerate(log_likelihoods) if x == max(log_likelihoods)]


def test_keys_are_told_apart_by_proof_and_tied_only_beyond_the_allowed_precision(table_stream):
    tiny = Fraction(1, 2**100)
    stream = table_stream([[0], [5], [5 + tiny], [5 - tiny], [1]])
    assert best_keys(stream)[0] == 2
    assert {key for key, _ in stream.enclosed} == {1, 2, 3}
    assert best_keys(stream, most_bits=64).tolist() == [1, 2, 3]
    assert best_keys(stream, [4, 1, 0])[0] == 1


def test_no_enclosure_is_asked_for_when_the_best_is_clear(table_stream):
    stream = table_stream([[0], [5], [4]])
    assert best_keys(stream)[0] == 1
    assert stream.enclosed == []


def test_of_equal_explanations_the_lowest_index_wins_whatever_the_order_of_keys(table_stream):
    # Keys 0 and 3 tie; key 3 belongs to explanations 1 and 4, key 0 to explanation 5. Key 2 is best but unused.
    stream, keys = table_stream([[7], [1], [9], [7]]), np.array([1, 3, 1, 1, 3, 0])
    assert best_explanation(stream, 6, keys.__getitem__) == (1, 3)
    assert 2 not in stream.asked


def test_candidates_must_be_keys(table_stream):
    stream = table_stream([[1], [2]])
    with pytest.raises(MisuseError, match="keys must hold at least one key"):
        best_keys(stream, np.empty(0, dtype=int))
    with pytest.raises(MisuseError, match="keys must lie from 0 to 1, not 2"):
        best_keys(stream, [2])


def test_the_start_set_of_the_cube_is_the_announced_one():
    points = start_points(3)
    assert {tuple(p) for p in points} >= {(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (-1.0, 1.0, -1.0), (0.0, -1.0, 0.0)}
    # 128 Sobol points, centre, 8 corners and 6 face centres; the first two Sobol points are a corner and the centre.
    assert len(points) == 128 + 1 + 8 + 6 - 2
    assert len({tuple(p) for p in points}) == len(points)
    # The Sobol part is a net: in each axis 128 points fall into the 128 dyadic cells once each.
    for axis in range(3):
        assert sorted(np.floor((points[:128, axis] + 1.0) * 64).astype(int)) == list(range(128))


def bowl(centre, scale):
    def objective(theta):
        gap = theta - centre
        return -0.5 * float(gap @ (scale * gap)), -scale * gap

    return objective


def test_an_inner_and_an_outer_maximum_are_found():
    box, scale = [[-1.0, 3.0], [10.0, 20.0]], np.array([1.0, 100.0])
    inner, _ = propose_continuous(bowl(np.array([0.3, 12.0]), scale), box)
    # The value is flat to rounding within 1e-6 of the maximum relative to the box.
    assert_allclose(inner, [0.3, 12.0], atol=1e-6)
    outer, _ = propose_continuous(bowl(np.array([5.0, 12.0]), scale), box)
    assert outer[0] == 3.0
    assert_allclose(outer[1], 12.0, atol=1e-6)


def test_the_highest_of_many_peaks_is_found():
    def waves(theta):
        x = theta[0]
        return float(np.cos(9.0 * x) - 0.1 * (x - 1.0) ** 2), np.array([-9.0 * np.sin(9.0 * x) - 0.2 * (x - 1.0)])

    grid = np.linspace(-2.0, 2.0, 400_001)
    _, value = propose_continuous(waves, [[-2.0, 2.0]])
    assert value >= max(np.cos(9.0 * grid) - 0.1 * (grid - 1.0) ** 2) - 1e-9


def test_of_equal_maxima_the_one_nearest_to_the_centre_is_taken():
    def twins(theta):
        x = theta[0]
        valley = (x + 0.75) * (x - 0.25)
        return -(valley**2), np.array([-2.0 * valley * (2.0 * x + 0.5)])

    assert_allclose(propose_continuous(twins, [[-1.0, 1.0]])[0], [0.25], atol=1e-4)


def test_an_objective_that_fails_is_refused_by_name():
    with pytest.raises(MisuseError, match="objective must return a finite value"):
        propose_continuous(lambda theta: (float("nan"), np.zeros(1)), [[0.0, 1.0]])
    with pytest.raises(MisuseError, match=r"gradient of shape \(1,\)"):
        propose_continuous(lambda theta: (0.0, np.zeros(2)), [[0.0, 1.0]])
    with pytest.raises(MisuseError, match="box must have lower ends below upper ends"):
        propose_continuous(bowl(np.zeros(1), np.ones(1)), [[1.0, 1.0]])


def latent(q, n_rows, seed=5):
    """Rows of a random dictionary of q + 1 atoms, turned in a random plane."""
    rng = np.random.default_rng(seed)
    atoms = rng.normal(size=(q, q + 1))
    atoms /= np.linalg.norm(atoms, axis=0)
    generator = rng.normal(size=(q, q))
    rows = make_calibration(BernoulliGaussian(0.2), atoms, 0.5, rng, n_rows)
    return LatentObjective(rows, atoms, generator - generator.T)


@pytest.mark.parametrize("q", [1, 2, 4])
def test_value_and_gradient_are_those_of_the_exact_mixture(q):
    objective, theta = latent(q, 700), np.array([0.2, -1.1, -0.4])
    value, gradient = objective(theta)
    at, p = objective.point(theta).numbers, expit(-1.1)
    mixture = calibration_mixture(BernoulliGaussian(p), at["atoms"], np.exp(-0.4))
    tangent = calibration_tangent(
        BernoulliGaussian(p),
        at["atoms"],
        d_noise=[0.0, 0.0, np.exp(-0.4)],
        d_atoms=np.stack([objective.generator @ at["atoms"], 0.0 * at["atoms"], 0.0 * at["atoms"]]),
        d_probability=[0.0, p * (1.0 - p), 0.0],
    )
    # Sums over 700 rows of terms of order one, by two routes.
    assert_allclose(value, mixture.log_density(objective.rows).sum(), rtol=1e-13)
    assert_allclose(gradient, mixture.score(objective.rows, tangent).sum(axis=0), atol=1e-10)
    step = 1e-5
    slopes = [(objective(theta + step * e)[0] - objective(theta - step * e)[0]) / (2.0 * step) for e in np.eye(3)]
    # Central differences: curvature times step^2 and rounding 1e-13 of the value over the step.
    assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-4)


def test_the_value_alone_is_the_same_to_the_last_bit_and_ranks_the_starts_alike():
    objective, box = latent(3, 900), latent_box((-0.4, 0.4), Interval(0.1, 0.3), Interval(0.3, 0.8))
    for theta in ([0.2, -1.1, -0.4], [-0.3, -2.0, -1.0]):
        assert objective.value(np.array(theta)) == objective(np.array(theta))[0]
    both, alone = (propose_continuous(objective, box, value=value) for value in (None, objective.value))
    assert both[0].tolist() == alone[0].tolist()
    assert both[1] == alone[1]


def test_a_value_that_fails_is_refused_by_name():
    with pytest.raises(MisuseError, match="value must return finite numbers"):
        propose_continuous(bowl(np.zeros(1), np.ones(1)), [[-1.0, 1.0]], value=lambda theta: float("nan"))


def test_every_maximum_of_a_cheaper_objective_climbs_on():
    """Two hills; the cheaper objective has the lower one higher, and each a little beside its place."""

    def hills(theta, heights, shift):
        gaps = theta[0] - np.array([-0.5, 0.5]) - shift
        parts = np.array(heights) * np.exp(-20.0 * gaps**2)
        return float(parts.sum()), np.array([float((-40.0 * gaps * parts).sum())])

    asked = []

    def whole(theta):
        asked.append(theta)
        return hills(theta, (1.0, 1.1), 0.0)

    box = [[-1.0, 1.0]]
    found, _ = propose_continuous(whole, box, first=lambda theta: hills(theta, (1.2, 1.1), 0.02))
    count = len(asked)
    assert_allclose(found, propose_continuous(whole, box)[0], atol=1e-6)
    assert found[0] > 0.4
    assert count < (len(asked) - count) / 4


def test_rows_are_summed_alike_however_they_are_parted():
    """Rows go through in passes of a fixed length; two unequal parts end their passes elsewhere."""
    objective, theta = latent(3, 5000), np.array([0.1, -1.3, -0.6])
    value, gradient = objective(theta)
    parts = [replace(objective, rows=part)(theta) for part in np.split(objective.rows, [1111])]
    # Sums of 5000 terms of order 10, each off by rounding.
    assert_allclose(sum(part[0] for part in parts), value, rtol=1e-13)
    assert_allclose(sum(part[1] for part in parts), gradient, atol=1e-9)


def test_the_likelihood_is_largest_near_the_truth_and_nowhere_better_on_a_grid():
    objective = latent(3, 4000)
    box = latent_box((-0.4, 0.4), Interval(0.1, 0.3), Interval(0.3, 0.8))
    theta, value = propose_continuous(objective, box)
    axes = [np.linspace(low, high, 6) for low, high in box]
    grid = [objective(np.array([a, b, c]))[0] for a in axes[0] for b in axes[1] for c in axes[2]]
    assert value >= max(grid)
    assert value >= objective(np.array([0.0, np.log(0.25), np.log(0.5)]))[0]
    # An interior maximum: the gradient vanishes to the precision of the stopping rule.
    assert ((theta > box[:, 0]) & (theta < box[:, 1])).all()
    assert np.abs(objective(theta)[1]).max() < 1e-2
    at = objective.point(theta).numbers
    # 4000 rows determine each of these to about a few percent.
    assert abs(at["p"] - 0.2) < 0.05
    assert abs(at["noise"] - 0.5) < 0.05
    assert abs(theta[0]) < 0.1


def test_an_objective_without_a_rotation_is_refused():
    with pytest.raises(MisuseError, match="generator must be antisymmetric"):
        LatentObjective(np.zeros((3, 2)), np.eye(2), np.eye(2))
    with pytest.raises(MisuseError, match="rows must hold at least one row"):
        LatentObjective(np.zeros((0, 2)), np.eye(2), np.zeros((2, 2)))


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_start_points_begin_with_the_points_of_sobol(dimension):
    sobol = 2.0 * qmc.Sobol(dimension, scramble=False).random(128) - 1.0
    np.testing.assert_array_equal(start_points(dimension)[:128], sobol)
