import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from physupport._errors import MisuseError
from physupport.laws import (
    BernoulliGaussian,
    ExchangeableGaussian,
    GaussianMixture,
    calibration_mixture,
    make_calibration,
)
from physupport.laws._codes import support_masks

EPS = np.finfo(float).eps


def scipy_log_density(mixture, rows):
    terms = [
        np.log(weight) + multivariate_normal(np.zeros(mixture.q), covariance).logpdf(rows)
        for weight, covariance in zip(mixture.weights, mixture.covariances, strict=True)
    ]
    return logsumexp(np.array(terms), axis=0)


@pytest.mark.parametrize(("m", "q"), [(1, 2), (4, 3), (32, 4), (7, 9)])
def test_log_density_equals_the_sum_of_scipy_densities(random_mixture, m, q):
    mixture = random_mixture(m, m, q)
    rows = mixture.sample(np.random.default_rng(1), 500)
    # Both are backward stable; covariances here have condition numbers up to about 1e3.
    np.testing.assert_allclose(mixture.log_density(rows), scipy_log_density(mixture, rows), rtol=1e-11)


def test_the_density_integrates_to_one(random_mixture):
    mixture = random_mixture(3, m=3, q=2)
    widest = 12.0 * np.sqrt(np.linalg.eigvalsh(mixture.covariances).max())
    # The trapezoidal rule is spectrally accurate on Gaussians: every standard deviation exceeds sqrt(0.3), two steps,
    # so the error is below exp(-2 pi^2 0.3 / 0.25^2), and 12 standard deviations are cut off.
    axis = np.arange(-widest, widest, 0.25)
    rows = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert np.exp(mixture.log_density(rows)).sum() * 0.25**2 == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("noise", [1e-8, 1e-3, 0.5])
def test_log_density_is_right_at_extreme_rows_and_noise(balanced_atoms, exact_log_density, size, noise):
    mixture = calibration_mixture(BernoulliGaussian(0.2), balanced_atoms(0.1), noise)
    rows = size * np.random.default_rng(2).normal(size=(4, 4))
    exact = exact_log_density(mixture, rows)
    # A quadratic form is known to q eps times the condition number of its covariance: at most 6 / noise here.
    assert np.abs(mixture.log_density(rows) / exact - 1.0).max() < 4 * EPS * 6 / noise


def test_log_density_of_vast_rows_is_minus_infinity_and_never_nan(random_mixture):
    rows = np.array([[1e100, 0.0, 1.0], [1e160, -1e160, 1.0], [1e308, -1e308, 1e308]])
    log_density = random_mixture(0).log_density(rows)
    assert np.isfinite(log_density[0])
    assert (log_density[1:] == -np.inf).all()


def test_log_density_of_a_row_does_not_depend_on_its_neighbours(random_mixture):
    mixture = random_mixture(5, m=6, q=4)
    rows = mixture.sample(np.random.default_rng(0), 301)
    together = mixture.log_density(rows)
    np.testing.assert_array_equal(together[17:200], mixture.log_density(rows[17:200]))
    np.testing.assert_array_equal(together[::-1], mixture.log_density(rows[::-1]))


def test_no_rows_give_no_densities(random_mixture):
    mixture = random_mixture(0)
    assert mixture.log_density(np.empty((0, 3))).shape == (0,)
    assert mixture.sample(np.random.default_rng(0), 0).shape == (0, 3)


def test_samples_are_choice_then_normal_then_the_factor_of_the_component(balanced_atoms):
    mixture = calibration_mixture(BernoulliGaussian(0.2), balanced_atoms(0.1), 0.5)
    one, two = np.random.default_rng(9), np.random.default_rng(9)
    labels = two.choice(32, size=1000, p=mixture.weights)
    normals = two.normal(size=(1000, 4))
    expected = np.stack([np.linalg.cholesky(mixture.covariances[i]) @ z for i, z in zip(labels, normals, strict=True)])
    np.testing.assert_allclose(mixture.sample(one, 1000), expected, atol=1e-14)  # sums of four terms of order one


def test_calibration_components_follow_the_masks(balanced_atoms):
    atoms, p, noise = balanced_atoms(0.1), 0.2, 0.5
    mixture = calibration_mixture(BernoulliGaussian(p), atoms, noise)
    for mask, weight, covariance in zip(support_masks(5), mixture.weights, mixture.covariances, strict=True):
        assert weight == pytest.approx(p ** mask.sum() * (1 - p) ** (5 - mask.sum()), rel=1e-15)
        np.testing.assert_allclose(covariance, noise * np.eye(4) + atoms @ np.diag(mask) @ atoms.T, atol=1e-15)


def test_components_of_weight_zero_are_dropped(balanced_atoms):
    law = ExchangeableGaussian([0.0, 0.25, 0.75, 0.0, 0.0, 0.0], [0.0, 1.0, 2.0, 0.0, 0.0, 0.0])
    mixture = calibration_mixture(law, balanced_atoms(0.1), 0.5)
    assert mixture.n_components == 5 + 10
    assert mixture.weights.sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize(
    "law",
    [BernoulliGaussian(0.2), ExchangeableGaussian([0.1, 0.3, 0.3, 0.1, 0.1, 0.1], [0.0, 2.0, 1.0, 0.7, 0.5, 0.3])],
    ids=["bernoulli", "exchangeable"],
)
def test_latent_model_and_mixture_have_the_same_moments(balanced_atoms, law):
    atoms, noise, n = balanced_atoms(0.3), 0.5, 1_000_000
    mixture = calibration_mixture(law, atoms, noise)
    latent = make_calibration(law, atoms, noise, np.random.default_rng(11), n)
    mixed = mixture.sample(np.random.default_rng(12), n)
    second = np.einsum("m,mab->ab", mixture.weights, mixture.covariances)
    # E (y_a^2 y_b^2) of a Gaussian component is C_aa C_bb + 2 C_ab^2.
    diagonal = np.diagonal(mixture.covariances, axis1=1, axis2=2)
    fourth = np.einsum("m,ma,mb->ab", mixture.weights, diagonal, diagonal)
    fourth += 2.0 * np.einsum("m,mab->ab", mixture.weights, mixture.covariances**2)
    # Five standard errors of each entry, taken from the sample; 40 distinct comparisons: a false alarm in 1e5 seeds.
    for rows in (latent, mixed):
        squares = rows**2
        means = rows.T @ rows / n, squares.T @ squares / n, (squares**2).T @ squares**2 / n
        assert (np.abs(means[0] - second) < 5 * np.sqrt((means[1] - means[0] ** 2) / n)).all()
        assert (np.abs(means[1] - fourth) < 5 * np.sqrt((means[2] - means[1] ** 2) / n)).all()


def test_calibration_rows_draw_coefficients_then_noise(balanced_atoms):
    atoms, law = balanced_atoms(0.1), BernoulliGaussian(0.2)
    one, two = np.random.default_rng(4), np.random.default_rng(4)
    coefficients = (two.random((6, 5)) < 0.2) * two.standard_normal((6, 5))
    expected = coefficients @ atoms.T + np.sqrt(0.8) * two.standard_normal((6, 4))
    np.testing.assert_allclose(make_calibration(law, atoms, 0.8, one, 6), expected, atol=1e-15)


@pytest.mark.parametrize(
    ("weights", "covariances", "message"),
    [
        (
            [1.0],
            [np.diag([1.0, 0.0])],
            "covariances must be positive definite, but the smallest eigenvalue is 0 in matrix 0",
        ),
        ([0.5, 0.5], [np.eye(2), np.diag([1.0, -1.0])], "smallest eigenvalue is -1 in matrix 1"),
        ([1.0], [np.ones((3, 3))], "covariances must be positive definite"),
        ([1.0], [[[1.0, 0.5], [0.0, 1.0]]], "covariances must be symmetric, but the asymmetry is 0.5 in matrix"),
        ([1.0], np.ones((1, 2, 3)), "covariances must be square"),
        ([0.5, 0.6], [np.eye(2)] * 2, "weights must sum to 1, not 1.1"),
        ([1.0, 0.0], [np.eye(2)] * 2, "weights must be positive"),
        ([], np.empty((0, 2, 2)), "weights must be positive"),
        ([1.0], [np.eye(2)] * 2, r"covariances must have shape \(1, any, any\)"),
        ([1.0], [np.diag([1.0, np.nan])], "covariances must be finite"),
    ],
)
def test_a_malformed_mixture_is_refused(weights, covariances, message):
    with pytest.raises(MisuseError, match=message):
        GaussianMixture(weights, covariances)


def test_a_covariance_singular_up_to_rounding_is_refused():
    direction = np.array([0.6, 0.8, 0.0])
    nearly = np.outer(direction, direction) + 1e-16 * np.eye(3)
    with pytest.raises(MisuseError, match="positive definite"):
        GaussianMixture([1.0], nearly[None])


def test_rows_of_another_width_or_with_nan_are_refused(random_mixture):
    with pytest.raises(MisuseError, match=r"rows must have shape \(any, 3\)"):
        random_mixture(0).log_density(np.zeros((2, 4)))
    with pytest.raises(MisuseError, match="rows must be finite, not nan"):
        random_mixture(0).log_density([[0.0, np.nan, 0.0]])


@pytest.mark.parametrize("noise", [0.0, -1.0, np.nan, np.inf])
def test_noise_that_is_not_positive_is_refused(balanced_atoms, noise):
    law, atoms = BernoulliGaussian(0.2), balanced_atoms(0.1)
    with pytest.raises(MisuseError, match="noise must lie strictly between 0 and inf"):
        calibration_mixture(law, atoms, noise)
    with pytest.raises(MisuseError, match="noise must lie strictly between 0 and inf"):
        make_calibration(law, atoms, noise, np.random.default_rng(0), 3)
