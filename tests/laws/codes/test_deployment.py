import numpy as np
import pytest
from scipy.stats import multivariate_normal

from physupport._errors import MisuseError
from physupport.laws import GaussianCovariance, GaussianMean, deployment_mean, separated_mean

COVARIANCE = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 0.7]])
MEAN = np.array([1.0, -2.0, 0.5])


@pytest.mark.parametrize(
    ("law", "reference"),
    [
        (GaussianMean(MEAN, 0.3), multivariate_normal(MEAN, 0.3 * np.eye(3))),
        (GaussianCovariance(COVARIANCE), multivariate_normal(np.zeros(3), COVARIANCE)),
    ],
    ids=["mean", "covariance"],
)
def test_log_density_and_samples_are_those_of_the_gaussian(law, reference):
    rows = law.sample(np.random.default_rng(0), 100_000)
    # Condition numbers below ten: a few units of rounding.
    np.testing.assert_allclose(law.log_density(rows[:500]), reference.logpdf(rows[:500]), rtol=1e-13)
    spread = np.diag(reference.cov)
    assert (np.abs(rows.mean(axis=0) - reference.mean) < 5 * np.sqrt(spread / len(rows))).all()
    error = np.sqrt((reference.cov**2 + np.outer(spread, spread)) / len(rows))
    assert (np.abs(np.cov(rows.T) - reference.cov) < 5 * error).all()


def test_covariance_samples_are_normals_times_the_transposed_factor():
    one, two = np.random.default_rng(1), np.random.default_rng(1)
    expected = two.standard_normal((8, 3)) @ np.linalg.cholesky(COVARIANCE).T
    np.testing.assert_allclose(GaussianCovariance(COVARIANCE).sample(one, 8), expected, atol=1e-15)


def test_the_block_mean_is_the_sum_of_its_weighted_atoms(balanced_atoms):
    atoms = balanced_atoms(0.2)
    expected = 0.7 * atoms[:, 1] + 1.3 * atoms[:, 3]
    np.testing.assert_allclose(deployment_mean(atoms, [3, 1], [0.7, 1.3]), expected, atol=1e-15)
    np.testing.assert_allclose(separated_mean(atoms[:, 4], 2.0), 2.0 * atoms[:, 4])


def test_equal_coefficients_hide_the_orientation_of_the_pair(balanced_atoms):
    means = [deployment_mean(balanced_atoms(0.1, angle), (0, 1), [1.0, 1.0]) for angle in (0.0, 0.5)]
    np.testing.assert_allclose(means[0], means[1], atol=1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GaussianMean(MEAN, 0.0), "variance must lie strictly between 0 and inf"),
        (lambda: GaussianMean([np.nan], 1.0), "mean must be finite"),
        (lambda: GaussianMean(MEAN, 1.0).log_density(np.zeros((1, 2))), r"rows must have shape \(any, 3\)"),
        (lambda: GaussianCovariance(-np.eye(2)), "covariance must be positive definite"),
        (lambda: GaussianCovariance(np.ones((2, 3))), "covariance must be square"),
        (lambda: deployment_mean(np.eye(3), [0, 3], [1, 1]), "support must hold indices from 0 to 2"),
        (lambda: deployment_mean(np.eye(3), [0, 1], [1, 1, 1]), r"coefficients must have shape \(2\)"),
        (lambda: deployment_mean(np.eye(3), [0, 1], [1, 0]), "coefficients must be positive"),
        (lambda: separated_mean(np.ones(3), -1.0), "gamma must lie strictly between 0 and inf"),
    ],
)
def test_malformed_deployments_are_refused(call, message):
    with pytest.raises(MisuseError, match=message):
        call()
