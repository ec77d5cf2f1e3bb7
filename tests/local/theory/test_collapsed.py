"""The collapsed moment operator against the exact moment map."""

import numpy as np
import pytest
from tests.local.theory.expansions import collapsed_inputs, collapsed_operator, collapsed_remainder, moment_map
from tests.local.theory.moments import symmetric_basis, tensor_coordinates

from physupport import MisuseError
from physupport._checks import Interval
from physupport.local.regions import (
    power_coordinates,
    projector_square_sum,
    projector_sum,
    symmetric_dimension,
)
from physupport.local.regions._moments import matrix_coordinates
from physupport.local.shell import (
    Frame,
    LocalDictionary,
    Shell,
    balanced_dictionary,
    default_separated_atom,
    offset_basis,
    separated_atom,
)


def turned_frame(q, seed):
    square = np.linalg.qr(np.random.default_rng(seed).standard_normal((q, q)))[0]
    return Frame(square[:, -1], square[:, :-1], Frame.standard(q).template)


def shell(s, frame):
    return Shell(frame, s, 1.5, Interval(0.5, 1.2), default_separated_atom(frame), 1.0, Interval(0.3, 1.0))


@pytest.mark.parametrize(("dimension", "order"), [(2, 1), (3, 2), (4, 3), (3, 4)])
def test_the_symmetric_basis_is_orthonormal_and_keeps_the_frobenius_norm(dimension, order):
    basis = np.array([np.ravel(element) for element in symmetric_basis(dimension, order)])
    assert basis.shape == (symmetric_dimension(dimension, order), dimension**order)
    assert np.abs(basis @ basis.T - np.eye(len(basis))).max() < 1e-15
    vectors = np.random.default_rng(0).standard_normal((5, dimension))
    powers = vectors
    for _ in range(order - 1):
        powers = np.einsum("na,nb->nab", powers, vectors).reshape(5, -1)
    # Another route to the same coordinates, in the same order.
    assert np.abs(powers @ basis.T - power_coordinates(vectors, order)).max() < 1e-13


@pytest.mark.parametrize(("dimension", "order"), [(2, 1), (3, 2), (4, 3), (3, 4)])
def test_coordinates_of_any_tensor_are_those_of_its_symmetric_part(dimension, order):
    tensor = np.random.default_rng(order).standard_normal((dimension,) * order)
    basis = np.array([np.ravel(element) for element in symmetric_basis(dimension, order)])
    assert np.abs(tensor_coordinates(tensor) - basis @ tensor.ravel()).max() < 1e-14 * dimension**order


@pytest.mark.parametrize("q", [3, 4, 5, 6])
def test_the_operator_is_the_exact_moment_map_up_to_fourth_order_in_the_coordinates(q):
    # One atom at e z: the moments of d(e z) minus those of the axis, minus the operator, is a power series in e that
    # starts at e^4. This settles every coefficient of degree one, two and three, and powers span symmetric tensors.
    operator = collapsed_operator(Frame.standard(q))
    rng, across = np.random.default_rng(q), q - 1
    n_block = sum(symmetric_dimension(across, k) for k in (1, 2, 3))
    for _ in range(6):
        z = rng.standard_normal(across)
        z /= np.linalg.norm(z)
        left = []
        for size in (0.04, 0.02):
            atom = np.r_[size * z, np.sqrt(1.0 - size**2)]
            pole = np.eye(q)[-1]
            change = [power_coordinates([atom], k)[0] - power_coordinates([pole], k)[0] for k in (2, 4)]
            sums = np.concatenate([power_coordinates([size * z], k)[0] for k in (1, 2, 3)])
            left.append(np.linalg.norm(np.concatenate(change) - operator[1:, :n_block] @ sums))
        assert left[0] / left[1] == pytest.approx(16.0, rel=0.05)  # the next term of the series is of fifth order
        assert left[1] < 40.0 * 0.02**4


def test_the_operator_is_the_derivative_in_the_separated_atom_and_the_noise():
    frame = turned_frame(4, 1)
    operator, a0 = collapsed_operator(frame), default_separated_atom(frame)
    block = balanced_dictionary(frame, 0.1).block
    offset = np.random.default_rng(2).standard_normal(4)
    offset -= (offset @ a0) * a0
    step = 1e-5
    sides = [(LocalDictionary(block, separated_atom(a0, sign * step * offset)), 0.5 + sign * step) for sign in (1, -1)]
    change = moment_map(frame, *sides[0]) - moment_map(frame, *sides[1])
    inputs = collapsed_inputs(a0, *sides[0]) - collapsed_inputs(a0, *sides[1])
    # Central difference: error of order step^2 = 1e-10 relative, rounding 1e-16 over a change of 1e-4.
    assert np.linalg.norm(change - operator @ inputs) < 1e-8 * np.linalg.norm(change)
    assert np.linalg.norm(inputs) == pytest.approx(2.0 * step * np.sqrt(offset @ offset + 1.0), rel=1e-10)


def test_the_moment_map_has_the_norms_of_the_dense_tensors():
    frame = Frame.standard(4)
    dictionary = shell(0.1, frame).sample(np.random.default_rng(0))
    found = moment_map(frame, dictionary, 0.7)
    expected = np.r_[0.7, matrix_coordinates(projector_sum(dictionary.atoms)), projector_square_sum(dictionary.atoms)]
    assert np.abs(found - expected).max() < 1e-14


def smallest_singular_value(operator):
    return np.linalg.svd(operator, compute_uv=False)[-1]


@pytest.mark.parametrize("q", range(3, 9))
def test_the_operator_is_injective_with_a_margin_that_hardly_depends_on_the_dimension(q):
    operator = collapsed_operator(Frame.standard(q))
    outputs, inputs = operator.shape
    assert inputs == (q - 1) + symmetric_dimension(q - 1, 2) + symmetric_dimension(q - 1, 3) + (q - 1) + 1
    assert outputs == 1 + symmetric_dimension(q, 2) + symmetric_dimension(q, 4)
    smallest = smallest_singular_value(operator)
    assert 0.5 < smallest < 0.52
    assert smallest_singular_value(collapsed_operator(turned_frame(q, 5))) == pytest.approx(smallest, rel=1e-12)


def test_a_reference_orthogonal_or_parallel_to_the_axis_makes_the_operator_lose_a_direction():
    frame = Frame.standard(4)
    e = frame.basis[:, 0]
    orthogonal = collapsed_operator(frame, e)
    assert smallest_singular_value(orthogonal) < 1e-14
    kernel = np.concatenate(
        [
            0.75 * np.eye(3)[0],
            np.zeros(6),
            0.5 * tensor_coordinates(np.einsum("a,b,c->abc", *[np.eye(3)[0]] * 3)),
            -0.5 * np.linalg.lstsq(offset_basis(e), frame.axis, rcond=None)[0],
            [0.0],
        ]
    )
    assert np.abs(orthogonal @ kernel).max() < 1e-14
    assert smallest_singular_value(collapsed_operator(frame, frame.axis)) < 1e-14
    for angle in (0.2, 0.8, 1.4):
        tilted = np.cos(angle) * frame.axis + np.sin(angle) * e
        assert smallest_singular_value(collapsed_operator(frame, tilted)) > 0.01


@pytest.mark.parametrize("q", [4, 5])
def test_the_remainder_is_smaller_than_the_change_by_a_factor_of_order_s(q):
    frame = Frame.standard(q)
    a0, worst = default_separated_atom(frame), {}
    for s in (0.1, 0.025):
        rng, inside, ratios = np.random.default_rng(7), shell(s, frame), []
        for _ in range(40):
            first, second = (inside.sample(rng), 0.5), (inside.sample(rng), 0.5)
            change = collapsed_inputs(a0, *first) - collapsed_inputs(a0, *second)
            ratios.append(np.linalg.norm(collapsed_remainder(frame, first, second)) / np.linalg.norm(change))
        worst[s] = max(ratios) / s
    # The same random shapes at both scales: the constant settles as s falls, up to a relative order of s.
    assert worst[0.1] == pytest.approx(worst[0.025], rel=0.1)
    assert worst[0.025] < 3.0


def test_a_reference_that_is_not_unit_is_refused():
    with pytest.raises(MisuseError, match="reference must have columns of norm 1"):
        collapsed_operator(Frame.standard(4), np.array([1.0, 1.0, 0.0, 0.0]))
