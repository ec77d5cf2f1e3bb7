import numpy as np
from tests.local.theory.means import deployment_mean, measurements, separated_mean

MEAN = np.array([1.0, -2.0, 0.5])


def test_measurements_scatter_about_their_mean():
    rows = measurements(MEAN, 0.3, np.random.default_rng(0), 100_000)
    assert (np.abs(rows.mean(axis=0) - MEAN) < 5 * np.sqrt(0.3 / len(rows))).all()
    assert (np.abs(np.cov(rows.T) - 0.3 * np.eye(3)) < 5 * 0.3 * np.sqrt(2.0 / len(rows))).all()


def test_the_block_mean_is_the_sum_of_its_weighted_atoms(balanced_atoms):
    atoms = balanced_atoms(0.2)
    expected = 0.7 * atoms[:, 1] + 1.3 * atoms[:, 3]
    np.testing.assert_allclose(deployment_mean(atoms, [3, 1], [0.7, 1.3]), expected, atol=1e-15)
    np.testing.assert_allclose(separated_mean(atoms[:, 4], 2.0), 2.0 * atoms[:, 4])


def test_equal_coefficients_hide_the_orientation_of_the_pair(balanced_atoms):
    means = [deployment_mean(balanced_atoms(0.1, angle), (0, 1), [1.0, 1.0]) for angle in (0.0, 0.5)]
    np.testing.assert_allclose(means[0], means[1], atol=1e-15)
