from itertools import permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.local.theory.moments import dense_tensor, double_contraction, tensor_coordinates

from physupport._errors import MisuseError
from physupport.local.regions import (
    power_coordinates,
    symmetric_dimension,
    symmetrized_product,
    symmetrized_square,
)
from physupport.local.regions._moments import matrix_coordinates

# A few products and sums of numbers of order one.
ROUNDING = 1e-13
DIMENSIONS = pytest.mark.parametrize("q", [1, 2, 3, 4, 5])


def symmetric(q, seed=0):
    root = np.random.default_rng(seed).standard_normal((q, q))
    return root + root.T


def pairing_sum(c):
    """E x_i x_j x_k x_l of a Gaussian vector, by adding the three pairings (Isserlis)."""
    ij_kl = np.multiply.outer(c, c)
    return ij_kl + ij_kl.transpose(0, 2, 1, 3) + ij_kl.transpose(0, 2, 3, 1)


@DIMENSIONS
def test_powers_of_a_vector_have_the_coordinates_of_their_outer_product(q):
    y = np.random.default_rng(q).standard_normal(q)
    square = np.multiply.outer(y, y)
    assert np.allclose(dense_tensor(power_coordinates(y[None], 2)[0], q, 2), square, atol=ROUNDING)
    assert np.allclose(
        dense_tensor(power_coordinates(y[None], 4)[0], q, 4), np.multiply.outer(square, square), atol=ROUNDING
    )


@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 99))
def test_coordinates_are_isometric(q, order, seed):
    x, y = np.random.default_rng(seed).uniform(-1.0, 1.0, (2, q))
    a, b = power_coordinates(np.stack([x, y]), order)
    assert len(a) == symmetric_dimension(q, order) == comb(q + order - 1, order)
    # |x.y| <= q, so the power is at most 625.
    assert a @ b == pytest.approx((x @ y) ** order, abs=1e-12)


@DIMENSIONS
def test_the_symmetrized_square_is_a_third_of_the_gaussian_fourth_moment(q):
    c = symmetric(q)
    assert np.allclose(3.0 * dense_tensor(symmetrized_square(c), q, 4), pairing_sum(c), atol=ROUNDING)


@DIMENSIONS
def test_the_symmetrized_product_averages_the_tensor_product_over_all_orders_of_its_indices(q):
    a, b = symmetric(q, 1), symmetric(q, 2)
    outer = np.multiply.outer(a, b)
    average = sum(outer.transpose(order) for order in permutations(range(4))) / 24.0
    assert np.allclose(dense_tensor(symmetrized_product(a, b), q, 4), average, atol=ROUNDING)


@given(st.integers(1, 5), st.integers(0, 99))
def test_symmetrization_never_lengthens(q, seed):
    a, b = symmetric(q, seed), symmetric(q, seed + 100)
    length = np.linalg.norm(symmetrized_product(a, b))
    assert length <= np.linalg.norm(a) * np.linalg.norm(b) * (1.0 + 1e-14)


@DIMENSIONS
def test_coordinates_of_matrices_and_of_full_tensors_come_back(q):
    a, c = symmetric(q, 3), symmetric(q, 4)
    assert np.allclose(dense_tensor(matrix_coordinates(a), q, 2), a, atol=ROUNDING)
    assert np.linalg.norm(matrix_coordinates(a)) == pytest.approx(np.linalg.norm(a), rel=1e-14)
    assert np.allclose(tensor_coordinates(pairing_sum(c)), 3.0 * symmetrized_square(c), atol=ROUNDING)
    assert np.allclose(tensor_coordinates(a), matrix_coordinates(a), atol=0.0)


@DIMENSIONS
def test_double_contraction_sums_the_paired_diagonals(q):
    tensor = pairing_sum(symmetric(q, 5))
    assert double_contraction(tensor_coordinates(tensor), q) == pytest.approx(np.einsum("iijj->", tensor), abs=1e-12)


@DIMENSIONS
def test_the_contraction_is_bounded_by_the_norm_of_the_symmetrized_identity(q):
    identity = symmetrized_square(np.eye(q))
    assert identity @ identity == pytest.approx(q * (q + 2) / 3.0, rel=1e-14)
    t = np.random.default_rng(q).standard_normal((200, symmetric_dimension(q, 4)))
    contractions = [abs(double_contraction(row, q)) for row in t]
    assert np.all(contractions <= np.sqrt(q * (q + 2) / 3.0) * np.linalg.norm(t, axis=1) * (1.0 + 1e-12))
    # Equality at the symmetrized identity itself: no smaller constant would do.
    assert double_contraction(identity, q) == pytest.approx(q * (q + 2) / 3.0, rel=1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: symmetrized_square([[1.0, 2.0], [0.0, 1.0]]), "first must be symmetric"),
        (lambda: symmetrized_product(np.eye(2), np.eye(3)), r"second must have shape \(2, 2\)"),
        (lambda: matrix_coordinates(np.ones((2, 3))), "matrix must be square"),
        (lambda: double_contraction(np.ones(4), 2), r"coordinates must have shape \(5\)"),
        (lambda: tensor_coordinates([[0.0, 1.0, 3.0], [2.0, 0.0, 3.0]]), "tensor must have shape"),
        (lambda: power_coordinates(np.ones((2, 3)), 0), "order must be a whole number at least 1"),
        (lambda: dense_tensor([1.0, np.nan, 0.0], 2, 2), "coordinates must be finite"),
    ],
)
def test_misuse_is_named(call, message):
    with pytest.raises(MisuseError, match=message):
        call()
