import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.local.theory.invariants import vertex_permutation

from physupport._errors import MisuseError
from physupport.local.shell import (
    Block,
    Frame,
    LocalDictionary,
    default_separated_atom,
    projector_distance,
    regular_simplex,
    separated_atom,
    separated_offset,
)

# Sums of at most a few dozen products of numbers below one.
ROUNDING = 1e-14
SIZES = range(3, 9)


@pytest.mark.parametrize("q", SIZES)
def test_the_template_is_a_centred_tight_frame_of_unit_vectors_at_equal_angles(q):
    v = regular_simplex(q)
    gram = v.T @ v
    assert np.abs(v.sum(axis=1)).max() < ROUNDING
    assert np.abs(np.diag(gram) - 1.0).max() < ROUNDING
    assert np.abs(gram[~np.eye(q, dtype=bool)] + 1.0 / (q - 1)).max() < ROUNDING
    assert np.abs(v @ v.T - q / (q - 1) * np.eye(q - 1)).max() < ROUNDING


@pytest.mark.parametrize("q", SIZES)
def test_a_vertex_permutation_is_orthogonal_and_moves_the_vertices(q):
    rng = np.random.default_rng(q)
    v, order = regular_simplex(q), rng.permutation(q)
    pi = vertex_permutation(v, order)
    assert np.abs(pi @ v - v[:, order]).max() < ROUNDING
    assert np.abs(pi @ pi.T - np.eye(q - 1)).max() < ROUNDING


@given(st.integers(3, 8), st.integers(0, 2**32 - 1))
def test_the_atom_chart_gives_unit_atoms_and_its_inverse_returns_the_coordinates(q, seed):
    rng = np.random.default_rng(seed)
    frame = Frame.standard(q)
    z = rng.standard_normal((q - 1, 5))
    z *= rng.uniform(0.0, 0.99, 5) / np.linalg.norm(z, axis=0)
    atoms = frame.atoms(z)
    assert np.abs(np.linalg.norm(atoms, axis=0) - 1.0).max() < ROUNDING
    assert np.abs(frame.coordinates(atoms) - z).max() < ROUNDING
    assert np.abs(frame.axis @ atoms - np.sqrt(1.0 - np.sum(z**2, axis=0))).max() < ROUNDING


@given(st.integers(3, 8), st.integers(0, 2**32 - 1))
def test_any_points_across_the_axis_are_an_affine_image_of_the_template(q, seed):
    rng = np.random.default_rng(seed)
    frame = Frame.standard(q)
    z = 0.9 * rng.uniform(-1.0, 1.0, (q - 1, q)) / np.sqrt(q)
    block = Block.from_coordinates(frame, z)
    assert np.abs(block.coordinates - z).max() < ROUNDING
    for j in range(q):
        assert np.abs(block.center + block.shape @ frame.template[:, j] - z[:, j]).max() < ROUNDING
    again = Block.from_atoms(frame, block.atoms)
    assert np.abs(again.shape - block.shape).max() < ROUNDING


@pytest.mark.parametrize("q", SIZES)
def test_a_frame_around_a_block_has_the_sum_of_its_atoms_as_axis_whatever_their_signs(q, make_rotation):
    rng = np.random.default_rng(q)
    turn = make_rotation(rng, q)
    block = Block.from_coordinates(Frame.standard(q), rng.uniform(-0.3, 0.3, (q - 1, q)) / np.sqrt(q))
    atoms = turn @ block.atoms
    frame = Frame.around(atoms)
    assert (
        np.linalg.norm(
            frame.axis - atoms.sum(axis=1) * np.sign(frame.axis @ atoms.sum(axis=1)) / np.linalg.norm(atoms.sum(axis=1))
        )
        < 10 * ROUNDING
    )
    flipped = Frame.around(atoms * rng.choice([-1.0, 1.0], q))
    assert np.abs(flipped.axis - frame.axis).max() < 10 * ROUNDING
    again = Block.from_columns(frame, atoms)
    assert np.abs(np.abs(np.sum(again.atoms * atoms, axis=0)) - 1.0).max() < 10 * ROUNDING
    # The centre of the block is on the axis.
    assert np.abs(again.center).max() < 10 * ROUNDING


def test_a_frame_around_atoms_about_the_last_axis_is_the_standard_one():
    frame = Frame.around(Block.balanced(Frame.standard(4), 0.2).atoms)
    assert np.abs(frame.axis - np.eye(4)[3]).max() < ROUNDING
    assert np.abs(frame.basis - np.eye(4)[:, :3]).max() < ROUNDING


@pytest.mark.parametrize(
    ("atoms", "message"),
    [
        (2.0 * np.eye(3), "atoms must have columns of norm 1"),
        (np.eye(4)[:, :3], r"atoms must have shape \(4, 4\)"),
        (np.eye(2), "q must be a whole number at least 3"),
        (np.eye(3)[:, [0, 0, 1]], "atoms must lie on one side of a common axis"),
    ],
)
def test_a_frame_around_no_coherent_block_is_refused(atoms, message):
    with pytest.raises(MisuseError, match=message):
        Frame.around(atoms)


def test_a_block_from_columns_ignores_their_length_and_sign():
    rng = np.random.default_rng(1)
    frame = Frame.standard(5)
    block = Block.from_coordinates(frame, 0.1 * rng.standard_normal((4, 5)))
    columns = block.atoms * np.array([2.0, -1.0, 0.3, -5.0, 1.0])
    assert np.abs(Block.from_columns(frame, columns).atoms - block.atoms).max() < ROUNDING


def test_the_balanced_submodel_keeps_every_atom_at_the_same_height_and_distance(make_rotation):
    frame = Frame.standard(6)
    block = Block.balanced(frame, 0.2, make_rotation(np.random.default_rng(2), 5))
    assert np.abs(np.linalg.norm(block.coordinates, axis=0) - 0.2).max() < ROUNDING
    assert np.abs(block.coordinates.sum(axis=1)).max() < ROUNDING


def test_the_default_separated_atom_is_halfway_between_axis_and_first_basis_vector():
    frame = Frame.standard(4)
    a = default_separated_atom(frame)
    assert a @ frame.axis == pytest.approx(np.sqrt(0.5), abs=ROUNDING)
    assert a @ frame.basis[:, 0] == pytest.approx(np.sqrt(0.5), abs=ROUNDING)


def test_the_separated_chart_and_its_inverse_agree_for_either_sign():
    rng = np.random.default_rng(3)
    reference = default_separated_atom(Frame.standard(5))
    offset = rng.standard_normal(5)
    offset -= (offset @ reference) * reference
    atom = separated_atom(reference, offset)
    for sign in (1.0, -1.0):
        assert (
            np.abs(separated_offset(reference, sign * atom) - offset).max() < 1e-13
        )  # an offset of norm about two, divided by the cosine


def test_the_projector_distance_is_the_frobenius_norm_and_accurate_for_close_vectors():
    rng = np.random.default_rng(4)
    a, b = (v / np.linalg.norm(v) for v in rng.standard_normal((2, 6)))
    direct = np.linalg.norm(np.outer(a, a) - np.outer(b, b))
    assert projector_distance(a, b) == pytest.approx(direct, rel=1e-14)
    angle = 1e-10
    turned = np.array([np.cos(angle), np.sin(angle)])
    assert projector_distance(np.array([1.0, 0.0]), turned) == pytest.approx(np.sqrt(2.0) * np.sin(angle), rel=1e-14)


def _with(array, where, value):
    changed = np.array(array)
    changed[where] = value
    return changed


FRAME = Frame.standard(4)
ATOMS = Block.balanced(FRAME, 0.2).atoms
MISUSES = {
    "template must be a centred regular simplex": lambda: Frame.standard(4, np.ones((3, 4)) / np.sqrt(3.0)),
    r"template must have shape \(3, 4\)": lambda: Frame.standard(4, np.ones((4, 4))),
    "basis and axis must be orthonormal, but their products are off by up to 3": lambda: Frame(
        2.0 * FRAME.axis, FRAME.basis, FRAME.template
    ),
    "q must be a whole number at least 3": lambda: Frame.standard(2),
    "z must have columns shorter than 1, not norm 1.2 in column 1": lambda: FRAME.atoms([[0, 1.2], [0, 0], [0, 0]]),
    "z must be finite, not nan at index": lambda: FRAME.atoms([[np.nan], [0.0], [0.0]]),
    "atoms must have columns of norm 1, but the norm is 2 in column 2": lambda: Block.from_atoms(
        FRAME, ATOMS * np.array([1.0, 1.0, 2.0, 1.0])
    ),
    "positive side of the axis": lambda: Block.from_atoms(FRAME, ATOMS * np.array([1.0, -1.0, 1.0, 1.0])),
    "columns must not be orthogonal to the axis, but column 0 is": lambda: Block.from_columns(
        FRAME, np.column_stack([np.eye(4)[:, 0], ATOMS[:, 1:]])
    ),
    "rotation must be orthogonal, but R R.T is off the identity by 3.$": lambda: Block.balanced(
        FRAME, 0.2, 2.0 * np.eye(3)
    ),
    r"center must have shape \(3\)": lambda: Block(FRAME, np.zeros(2), np.eye(3)),
    "shape must be finite": lambda: Block(FRAME, np.zeros(3), _with(0.1 * np.eye(3), (0, 1), np.inf)),
    "separated must have columns of norm 1": lambda: LocalDictionary(Block.balanced(FRAME, 0.2), np.ones(4)),
}


@pytest.mark.parametrize("message", MISUSES)
def test_misuse_names_the_argument_and_the_rule(message):
    with pytest.raises(MisuseError, match=message):
        MISUSES[message]()
