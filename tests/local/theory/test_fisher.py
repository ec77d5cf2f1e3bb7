import numpy as np
import pytest
from tests.local.theory.divergences import fisher_quadrature

from physupport._errors import MisuseError
from physupport.laws import BernoulliGaussian, GaussianMixture, Tangent, calibration_mixture, calibration_tangent
from physupport.local.shell import Block, Frame, LocalDictionary, default_separated_atom
from physupport.studies import gauss_hermite


def single_gaussian(seed, q=3, k=4):
    rng = np.random.default_rng(seed)
    root, moves = rng.normal(size=(q, q)), rng.normal(size=(k, 1, q, q))
    mixture = GaussianMixture([1.0], (root @ root.T + np.eye(q))[None])
    return mixture, Tangent(np.zeros((k, 1)), moves + np.swapaxes(moves, 2, 3))


def closed_form(mixture, tangent):
    """I(A, B) = tr(C^-1 A C^-1 B) / 2."""
    scaled = np.linalg.solve(mixture.covariances[0], tangent.covariances[:, 0])
    return 0.5 * np.einsum("iab,jba->ij", scaled, scaled)


def monte_carlo(mixture, tangent, seed, n_draws):
    """Mean of S S^T over draws from the mixture, S the score, and the standard error of every entry."""
    score = mixture.score(mixture.sample(np.random.default_rng(seed), n_draws), tangent)  # (n, k)
    products = score[:, :, None] * score[:, None, :]
    return products.mean(axis=0), products.std(axis=0, ddof=1) / np.sqrt(n_draws)


@pytest.mark.parametrize("order", [3, 4, 7])
def test_quadrature_of_one_gaussian_is_the_closed_form(order):
    mixture, tangent = single_gaussian(0)
    # Products of two quadratic scores have degree four: three nodes are already exact, up to rounding.
    np.testing.assert_allclose(fisher_quadrature(mixture, tangent, order), closed_form(mixture, tangent), rtol=1e-12)


def test_the_scores_of_one_gaussian_have_the_information_of_the_closed_form():
    mixture, tangent = single_gaussian(1)
    information, standard_error = monte_carlo(mixture, tangent, 0, 100_000)
    # Ten distinct entries within five standard errors.
    assert (np.abs(information - closed_form(mixture, tangent)) < 5 * standard_error).all()


def test_monte_carlo_and_quadrature_agree_on_a_calibration_mixture():
    law, frame, rng = BernoulliGaussian(0.2), Frame.standard(3), np.random.default_rng(4)
    atoms = LocalDictionary(Block.balanced(frame, 0.3), default_separated_atom(frame)).atoms
    mixture = calibration_mixture(law, atoms, 1.0)
    tangent = calibration_tangent(
        law, atoms, d_noise=rng.normal(size=3), d_atoms=rng.normal(size=(3, 3, 4)), d_probability=rng.normal(size=3)
    )
    coarse, fine = fisher_quadrature(mixture, tangent, 16), fisher_quadrature(mixture, tangent, 24)
    information, standard_error = monte_carlo(mixture, tangent, 5, 200_000)
    # The change between the orders is what the coarser rule still misses; it must be far below the sampling error.
    assert (np.abs(fine - coarse) < 0.05 * standard_error).all()
    assert (np.abs(information - fine) < 5 * standard_error).all()


def test_orientation_information_falls_with_the_sixth_power_of_the_scale():
    law, scales = BernoulliGaussian(0.2), (0.04, 0.08)
    frame = Frame.standard(4, np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]).T / np.sqrt(3.0))
    information = []
    for scale in scales:
        atoms = LocalDictionary(Block.balanced(frame, scale), default_separated_atom(frame)).atoms
        turn = np.zeros((1, 4, 5))
        turn[0, 1, :4], turn[0, 2, :4] = -atoms[2, :4], atoms[1, :4]
        tangent = calibration_tangent(law, atoms, d_noise=[0.0], d_atoms=turn)
        information.append(fisher_quadrature(calibration_mixture(law, atoms, 0.5), tangent, 10)[0, 0])
    slope = np.log(information[1] / information[0]) / np.log(2.0)
    assert slope == pytest.approx(6.0, abs=0.1)  # corrections of relative order s^2 stay below a few percent


@pytest.mark.parametrize(("dimension", "order"), [(1, 5), (2, 4), (3, 3)])
def test_nodes_integrate_every_monomial_up_to_their_degree(dimension, order):
    nodes, weights = gauss_hermite(dimension, order)
    assert nodes.shape == (order**dimension, dimension)
    assert weights.sum() == pytest.approx(1.0, abs=1e-14)
    moment = [float(np.prod(np.arange(d - 1, 0, -2.0))) if d % 2 == 0 else 0.0 for d in range(2 * order)]
    for degrees in np.ndindex(*[2 * order] * dimension):
        exact = np.prod([moment[d] for d in degrees])
        size = weights @ np.abs(np.prod(nodes ** np.array(degrees), axis=1))
        assert weights @ np.prod(nodes ** np.array(degrees), axis=1) == pytest.approx(exact, abs=1e-13 * size)


def test_nodes_come_in_opposite_pairs():
    nodes, weights = gauss_hermite(3, 4)
    np.testing.assert_array_equal(nodes, -nodes[::-1])
    np.testing.assert_allclose(weights, weights[::-1], rtol=1e-13)


def test_grids_too_large_for_memory_and_bad_counts_are_refused():
    with pytest.raises(MisuseError, match=r"order must give at most 50000000 numbers, not 14\*\*16 nodes"):
        gauss_hermite(16, 14)
    with pytest.raises(MisuseError, match="dimension must be a whole number at least 1"):
        gauss_hermite(0, 3)
