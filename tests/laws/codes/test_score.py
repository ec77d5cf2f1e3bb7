import numpy as np
import pytest

from physupport._errors import MisuseError
from physupport.laws import (
    BernoulliGaussian,
    ExchangeableGaussian,
    GaussianMixture,
    Tangent,
    calibration_mixture,
    calibration_tangent,
)

EPS = np.finfo(float).eps
KNOWN = ExchangeableGaussian([0.1, 0.3, 0.3, 0.1, 0.2, 0.0], [0.0, 2.0, 1.0, 0.7, 0.5, 0.0])


def turning(atoms):
    """Derivative of the block under a turn about the first axis; the separated atom stays."""
    rate = np.zeros_like(atoms)
    rate[1, :4], rate[2, :4] = -atoms[2, :4], atoms[1, :4]
    return rate


@pytest.mark.parametrize(("m", "q"), [(1, 1), (4, 3), (6, 5)])
def test_score_equals_the_derivative_in_sixty_digits(random_mixture, random_tangent, exact_score, m, q):
    mixture, tangent = random_mixture(m, m, q), random_tangent(q, m, q, 3)
    rows = mixture.sample(np.random.default_rng(0), 5)
    scores = mixture.score(rows, tangent)
    # Rounding times the largest whitened tangent, about 1e3 here.
    np.testing.assert_allclose(scores, exact_score(mixture, tangent, rows), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("scale", [0.1, 0.02, 0.005])
def test_score_keeps_its_digits_where_the_orientation_cancels(balanced_atoms, exact_score, scale):
    law, atoms = BernoulliGaussian(0.2), balanced_atoms(scale)
    mixture = calibration_mixture(law, atoms, 0.5)
    tangent = calibration_tangent(law, atoms, d_noise=[0.0], d_atoms=turning(atoms)[None])
    rows = mixture.sample(np.random.default_rng(1), 6)
    scores, exact = mixture.score(rows, tangent), exact_score(mixture, tangent, rows)
    assert np.abs(exact).max() < 50 * scale**3  # what is left after terms of order s cancel
    # Thirty-two terms of order s, each right to a few units of rounding.
    assert np.abs(scores - exact).max() < 32 * 4 * EPS * scale


@pytest.mark.parametrize("noise", [1e-8, 1e-4])
def test_score_stays_right_at_small_noise(balanced_atoms, exact_score, noise):
    law, atoms = BernoulliGaussian(0.3), balanced_atoms(0.1)
    mixture = calibration_mixture(law, atoms, noise)
    tangent = calibration_tangent(law, atoms, d_noise=[1.0], d_atoms=np.zeros((1, 4, 5)), d_probability=[0.5])
    rows = mixture.sample(np.random.default_rng(2), 5)
    # The condition number of a covariance is at most 6 / noise.
    np.testing.assert_allclose(mixture.score(rows, tangent), exact_score(mixture, tangent, rows), rtol=20 * EPS / noise)


def test_score_of_a_row_does_not_depend_on_its_neighbours_beyond_rounding(random_mixture, random_tangent):
    mixture, tangent = random_mixture(1), random_tangent(1)
    rows = mixture.sample(np.random.default_rng(0), 40_000)
    together = mixture.score(rows, tangent)
    # A matrix product may order its sums by block shape: rounding of about 30 terms of size up to 1e3.
    np.testing.assert_allclose(together[-100:], mixture.score(rows[-100:], tangent), rtol=1e-12, atol=1e-11)


def test_scores_have_mean_zero_under_their_own_law(random_mixture, random_tangent):
    mixture, tangent = random_mixture(2), random_tangent(2)
    scores = mixture.score(mixture.sample(np.random.default_rng(3), 200_000), tangent)
    # Five standard errors in five directions.
    assert (np.abs(scores.mean(axis=0)) < 5 * scores.std(axis=0) / np.sqrt(len(scores))).all()


@pytest.mark.parametrize("law", [BernoulliGaussian(0.2), KNOWN], ids=["bernoulli", "exchangeable"])
def test_calibration_tangent_is_the_derivative_of_the_calibration_mixture(balanced_atoms, law):
    rng, atoms, noise = np.random.default_rng(6), balanced_atoms(0.2), 0.5
    d_atoms, d_noise = rng.normal(size=(2, 4, 5)), rng.normal(size=2)
    d_p = np.array([0.4, -0.7]) if isinstance(law, BernoulliGaussian) else None
    tangent = calibration_tangent(law, atoms, d_noise=d_noise, d_atoms=d_atoms, d_probability=d_p)
    h = 1e-4
    for k in range(2):
        ends = []
        for step in (h, -h):
            moved = BernoulliGaussian(law.p + step * d_p[k]) if d_p is not None else law
            ends.append(calibration_mixture(moved, atoms + step * d_atoms[k], noise + step * d_noise[k]))
        weights = (ends[0].weights - ends[1].weights) / (2 * h)
        covariances = (ends[0].covariances - ends[1].covariances) / (2 * h)
        # Covariances are quadratic in the step, so only rounding eps / h remains; weights keep an h^2 term below 20.
        np.testing.assert_allclose(tangent.covariances[k], covariances, atol=1e-11)
        np.testing.assert_allclose(tangent.weights[k], weights, atol=20 * h**2)


def test_a_law_without_activity_takes_zero_rates_and_refuses_others(balanced_atoms):
    atoms = balanced_atoms(0.1)
    still = {"d_noise": [1.0], "d_atoms": np.zeros((1, 4, 5))}
    assert not calibration_tangent(KNOWN, atoms, **still, d_probability=[0.0]).weights.any()
    with pytest.raises(MisuseError, match="d_probability must be left out for a law without an activity probability"):
        calibration_tangent(KNOWN, atoms, **still, d_probability=[0.1])


def test_wrong_shapes_of_rates_are_refused(balanced_atoms):
    atoms, law = balanced_atoms(0.1), BernoulliGaussian(0.2)
    with pytest.raises(MisuseError, match=r"d_atoms must have shape \(2, 4, 5\)"):
        calibration_tangent(law, atoms, d_noise=[0.0, 1.0], d_atoms=np.zeros((1, 4, 5)))
    with pytest.raises(MisuseError, match=r"d_probability must have shape \(1\)"):
        calibration_tangent(law, atoms, d_noise=[0.0], d_atoms=np.zeros((1, 4, 5)), d_probability=[1.0, 2.0])


@pytest.mark.parametrize(
    ("weights", "covariances", "message"),
    [
        ([[1.0, 0.0]], np.zeros((1, 2, 2, 2)), "weights must sum to 0 in every direction"),
        ([[0.0]], [[[[0.0, 1.0], [0.0, 0.0]]]], "covariances must be symmetric"),
        ([[0.0]], np.zeros((1, 1, 2, 3)), "covariances must be square"),
        ([[0.0]], np.zeros((2, 1, 2, 2)), r"covariances must have shape \(1, 1, any, any\)"),
    ],
)
def test_a_malformed_tangent_is_refused(weights, covariances, message):
    with pytest.raises(MisuseError, match=message):
        Tangent(weights, covariances)


def test_a_tangent_of_another_mixture_is_refused(random_tangent):
    with pytest.raises(MisuseError, match="tangent must match the mixture, 1 components of dimension 3"):
        GaussianMixture([1.0], np.eye(3)[None]).score(np.zeros((1, 3)), random_tangent(0))
