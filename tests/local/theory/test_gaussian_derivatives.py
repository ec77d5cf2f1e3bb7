from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from flint import arb, arb_mat, ctx
from scipy.stats import multivariate_normal
from tests.local.theory.expansions import gaussian_covariance_derivative, gaussian_envelope_constant, stratum_polynomial

from physupport._errors import MisuseError
from physupport.studies import gauss_hermite


def random_covariance(rng, q):
    root = rng.normal(size=(q, q))
    return root @ root.T + 0.5 * np.eye(q)


def random_symmetric(rng, q, count):
    moves = rng.normal(size=(count, q, q))
    return list(moves + np.swapaxes(moves, 1, 2))


def exact_density(row, covariance):
    column = arb_mat([[y] for y in row.tolist()])
    quadratic = (column.transpose() * covariance.solve(column))[0, 0]
    return (-quadratic / 2).exp() / (covariance.det() * (2 * arb.pi()) ** len(row)).sqrt()


def exact_covariance_derivative(row, covariance, directions):
    """Mixed central differences of one Gaussian density, step 1e-9 in 80 digits: a relative error near 1e-17."""
    with ctx.workdps(80):
        step, base = arb("1e-9"), arb_mat(covariance.tolist())
        moves = [arb_mat(move.tolist()) * step for move in directions]
        total = arb(0)
        for signs in product((1, -1), repeat=len(moves)):
            moved = sum((move * sign for sign, move in zip(signs, moves, strict=True)), base)
            total += prod(signs) * exact_density(row, moved)
        return float(total / (2 * step) ** len(moves))


@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("q", [1, 3])
def test_derivatives_equal_mixed_differences_in_eighty_digits(order, q):
    rng = np.random.default_rng(10 * q + order)
    covariance, moves = random_covariance(rng, q), random_symmetric(rng, q, order)
    rows = rng.normal(size=(2, q))
    exact = [exact_covariance_derivative(row, covariance, moves) for row in rows]
    # Up to 52 partitions of terms that cancel partly, each right to rounding times its whitening.
    np.testing.assert_allclose(gaussian_covariance_derivative(rows, covariance, moves), exact, rtol=1e-10)


def test_first_derivative_is_the_formula_of_the_envelope_proof():
    rng = np.random.default_rng(0)
    covariance, (move,), rows = random_covariance(rng, 4), random_symmetric(rng, 4, 1), rng.normal(size=(50, 4))
    inverse = np.linalg.inv(covariance)
    bracket = np.einsum("na,ab,nb->n", rows, inverse @ move @ inverse, rows) - np.trace(inverse @ move)
    expected = 0.5 * multivariate_normal(np.zeros(4), covariance).pdf(rows) * bracket
    np.testing.assert_allclose(gaussian_covariance_derivative(rows, covariance, [move]), expected, rtol=1e-11)


def test_derivatives_do_not_depend_on_the_order_of_the_directions():
    rng = np.random.default_rng(1)
    covariance, moves, rows = random_covariance(rng, 3), random_symmetric(rng, 3, 3), rng.normal(size=(20, 3))
    forward = gaussian_covariance_derivative(rows, covariance, moves)
    backward = gaussian_covariance_derivative(rows, covariance, moves[::-1])
    np.testing.assert_allclose(forward, backward, rtol=1e-11, atol=1e-13 * np.abs(forward).max())


def test_the_terms_of_one_active_set_are_the_taylor_coefficients_in_the_scale():
    rng = np.random.default_rng(4)
    base, moves, rows = random_covariance(rng, 3), random_symmetric(rng, 3, 3), rng.normal(size=(20, 3))
    # Cauchy's formula on a circle inside the domain of analyticity: 32 points, aliasing from degree 32 on.
    radius = 0.05
    circle = radius * np.exp(2j * np.pi * np.arange(32) / 32)
    covariances = base + sum(circle[:, None, None] ** (m + 1) * move for m, move in enumerate(moves))
    quadratic = np.einsum("na,cab,nb->cn", rows, np.linalg.inv(covariances), rows)
    values = np.exp(-0.5 * quadratic) / np.sqrt(np.linalg.det(2.0 * np.pi * covariances))[:, None]
    coefficients = (np.fft.fft(values, axis=0).real / 32)[:4] / radius ** np.arange(4)[:, None]
    terms = stratum_polynomial(rows, base, moves)
    # Rounding of the values over radius^3.
    np.testing.assert_allclose(terms, coefficients.T, rtol=1e-10, atol=1e-14 * values.real.max() / radius**3)


def test_the_polynomial_leaves_a_fourth_order_remainder():
    rng = np.random.default_rng(2)
    base, moves, rows = random_covariance(rng, 3), random_symmetric(rng, 3, 3), rng.normal(size=(100, 3))
    for terms in (1, 2, 3, 4):
        errors = []
        for s in (0.01, 0.02):
            increments = [s ** (m + 1) * move / 4.0 for m, move in enumerate(moves)]
            exact = multivariate_normal(np.zeros(3), base + sum(increments)).pdf(rows)
            errors.append(np.abs(exact - stratum_polynomial(rows, base, increments)[:, :terms].sum(axis=1)).max())
        # The next term is a relative O(s) correction to the ratio of powers.
        assert np.log2(errors[1] / errors[0]) == pytest.approx(terms, abs=0.15)


def envelope_integral(covariance, other, moves):
    """Exact: the quotient of Gaussians is a Gaussian times a constant, and what it multiplies is a polynomial."""
    m, q = len(moves), len(covariance)
    precision = 2.0 * np.linalg.inv(covariance) - np.linalg.inv(other)
    quotient = np.linalg.inv(precision)
    constant = np.sqrt(np.linalg.det(other) * np.linalg.det(quotient)) / np.linalg.det(covariance)
    nodes, weights = gauss_hermite(q, 2 * m + 1)  # exact up to degree 4 m + 1
    rows = nodes @ np.linalg.cholesky(quotient).T
    polynomial = gaussian_covariance_derivative(rows, covariance, moves)
    polynomial /= multivariate_normal(np.zeros(q), covariance).pdf(rows)
    return constant * (weights @ polynomial**2)


@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("radius", [0.0, 0.2, 0.45])
def test_the_envelope_bounds_the_weighted_square_of_every_derivative(order, radius):
    rng = np.random.default_rng(order)
    for q in (2, 3):
        covariance = random_covariance(rng, q)
        factor = np.linalg.cholesky(covariance)
        signs = np.diag(rng.choice([-1.0, 1.0], size=q))
        turn = np.linalg.qr(rng.normal(size=(q, q)))[0]
        other = factor @ (np.eye(q) + radius * turn @ signs @ turn.T) @ factor.T
        moves = random_symmetric(rng, q, order)
        bound = gaussian_envelope_constant(order, q, radius, np.linalg.eigvalsh(covariance)[0])
        size = np.prod([np.sum(move**2) for move in moves])
        assert envelope_integral(covariance, other, moves) <= bound * size * (1 + 1e-10)  # order 0 attains it


@pytest.mark.parametrize("order", range(6))
def test_the_envelope_is_attained_at_equal_covariances_and_one_rank_one_direction(order):
    moves = [np.diag([1.0, 0.0])] * order
    exact = factorial(2 * order) / 4**order
    assert gaussian_envelope_constant(order, 2, 0.0, 1.0) == pytest.approx(exact, rel=1e-14)
    # High Hermite nodes are known to rounding times their degree.
    assert envelope_integral(np.eye(2), np.eye(2), moves) == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("order", range(6))
def test_the_envelope_is_attained_in_one_dimension_at_the_narrowest_neighbour(order):
    # There every step of the proof is an equality: e = -rho is where each factor is largest.
    covariance, radius = np.array([[1.7]]), 0.3
    bound = gaussian_envelope_constant(order, 1, radius, 1.7)
    moves = [np.array([[1.0]])] * order
    assert envelope_integral(covariance, (1.0 - radius) * covariance, moves) == pytest.approx(bound, rel=1e-10)


def test_aggregation_needs_no_smallest_weight():
    rng = np.random.default_rng(3)
    weights = rng.dirichlet(np.full(6, 0.05), size=2000)  # most weights are nearly zero
    changes, densities = rng.normal(size=(2, 2000, 6)) * np.array([1.0, 3.0])[:, None, None]
    densities = np.exp(densities)
    left = np.sum(weights * changes, axis=1) ** 2 / np.sum(weights * densities, axis=1)
    right = np.sum(weights * changes**2 / densities, axis=1)
    assert (left <= right * (1 + 1e-12)).all()  # Cauchy-Schwarz, up to rounding


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: gaussian_covariance_derivative(np.zeros((1, 1)), np.eye(1), [np.eye(1)] * 6),
            "number of directions must be .* 0 and 5",
        ),
        (lambda: gaussian_envelope_constant(1, 2, 0.5, 1.0), "radius must satisfy 0 <= radius < 1/2"),
    ],
)
def test_orders_and_radii_that_have_no_bound_are_refused(call, message):
    with pytest.raises(MisuseError, match=message):
        call()
