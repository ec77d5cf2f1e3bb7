"""The banks of the studies, and builders for any other."""

from itertools import combinations

import numpy as np
import pytest

from physupport import MisuseError
from physupport.banks import (
    Library,
    all_supports,
    array_bank,
    array_states,
    library_bank,
    product_grid,
    region_supports,
)
from physupport.local.shell import Block, Frame, LocalDictionary, default_separated_atom, orbit_bank, turns
from physupport.local.shell._turns import oriented

STRENGTHS = {"A": 1.0, "B": 0.8, "C": 0.1, "D": 1.0}
TETRAHEDRON = np.array([[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]) / np.sqrt(3)
AXIS_TURN = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
ANGLES = np.arange(-20, 21) * 0.02
FULL = product_grid(p=[0.15, 0.175, 0.20, 0.25, 0.30], noise=[0.8, 0.9, 1.0, 1.1, 1.2])
NARROW = product_grid(p=[0.19, 0.20, 0.21], noise=[0.95, 1.0, 1.05])


def test_the_four_region_bank_has_216_explanations_and_56_deployment_laws(four_region_bank):
    assert (four_region_bank.states.n_states, four_region_bank.size) == (72, 216)
    assert four_region_bank.n_calibration_keys == 72
    # AB: 2 x 4 pairs of places; ABC and ABD: three times as many each.
    assert four_region_bank.n_deployment_keys == 8 + 24 + 24 == 56
    assert len(np.unique(four_region_bank.deployment_keys(np.arange(216)))) == 56
    assert np.array_equal(four_region_bank.index(np.repeat(np.arange(72), 3), np.tile([0, 1, 2], 72)), np.arange(216))


def test_the_56_laws_of_the_four_region_bank_are_distinct_covariances(four_region_bank):
    parts = four_region_bank.deployment_parts(np.arange(56))
    atoms = four_region_bank.states.elements[:, parts.elements]  # (16, 56, 3); padding has strength 0
    covariances = np.einsum("ikr,jkr,kr->kij", atoms, atoms, parts.strengths).reshape(56, -1)
    apart = np.abs(covariances[:, None] - covariances).max(axis=2)[np.triu_indices(56, 1)]
    assert apart.min() > 1e-3  # the weakest contrast is that of C, of strength 0.1


def test_region_a_varies_slowest_and_d_fastest(four_region_bank):
    places = four_region_bank.states.library.coordinates[:, 0]
    chosen = places[four_region_bank.states.element_index([0, 1, 3, 9, 36])[:, :4]]
    assert chosen.tolist() == [
        [0.10, 0.405, 0.64, 0.86],
        [0.10, 0.405, 0.64, 0.91],
        [0.10, 0.405, 0.70, 0.86],
        [0.10, 0.435, 0.64, 0.86],
        [0.20, 0.405, 0.64, 0.86],
    ]


def test_supports_may_be_texts_tuples_or_generated(four_regions, fifth_atom, four_region_bank):
    lists = (region_supports("AB", "CD", max_size=3), [("B", "A"), ("A", "C", "B"), ["D", "B", "A"]])
    for supports in lists:
        assert library_bank(four_regions, supports, STRENGTHS, extra=fifth_atom).digest == four_region_bank.digest


def test_several_strengths_give_every_combination_with_the_first_region_slowest(four_regions):
    bank = library_bank(four_regions, ["BA", "C"], {"A": [1.0, 2.0], "B": [3.0, 4.0], "C": 5.0})
    assert bank.strengths[:, :3].tolist() == [[1, 3, 0], [1, 4, 0], [2, 3, 0], [2, 4, 0], [0, 0, 5]]


def test_generated_supports_are_all_subsets_in_order_of_size():
    for n in range(1, 6):
        for up_to in range(n + 1):
            found = all_supports(n, up_to, least=0)
            masks = {tuple(j for j in range(n) if mask >> j & 1) for mask in range(2**n)}
            assert set(found) == {s for s in masks if len(s) <= up_to}
            assert found == sorted(found, key=lambda s: (len(s), s))
    assert region_supports((), ("left", "right")) == [(), ("left",), ("right",), ("left", "right")]
    assert len(region_supports("A", "BCDE")) == 16


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: all_supports(3, 4), "up_to must be a whole number between 0 and 3, not 4"),
        (lambda: all_supports(3, 1, least=2), "least must be a whole number between 0 and 1, not 2"),
        (
            lambda: region_supports("AB", "BC"),
            "persistent and optional must be distinct, but 'B' appears more than once",
        ),
        (lambda: region_supports("AB", "C", max_size=1), "max_size must be a whole number between 2 and 3, not 1"),
    ],
)
def test_supports_that_cannot_be_generated_are_named(call, message):
    with pytest.raises(MisuseError, match=message):
        call()


@pytest.mark.parametrize(
    ("supports", "strengths", "message"),
    [
        ([], STRENGTHS, "strengths must hold at least one support"),
        (["AE"], STRENGTHS, r"supports must name regions of the bank \('A', 'B', 'C', 'D'\), not 'E'. Write longer"),
        (["AA"], STRENGTHS, "a support must be distinct, but 'A' appears more than once"),
        (["AB", "BA"], STRENGTHS, "strengths must hold distinct supports"),
        (["AB"], {"A": 1.0}, "strengths must give the strength of every active region, but region 'B' has none"),
        (["A"], {"A": 0.0}, "the strength of region 'A' must be finite and above 0, not 0.0"),
        (["A"], {"A": -1.0}, "the strength of region 'A' must be finite and above 0, not -1.0"),
        (["A"], {"A": [1.0, np.nan]}, "the strength of region 'A' must be finite and above 0, not nan"),
        (["A"], {"A": []}, "the strength of region 'A' must be finite and above 0"),
        (["A"], {"A": 1.0, "Z": 1.0}, "strengths must name regions of the bank .*, not 'Z'"),
    ],
)
def test_a_library_bank_names_what_is_wrong(four_regions, supports, strengths, message):
    with pytest.raises(MisuseError, match=message):
        library_bank(four_regions, supports, strengths)


def global_dictionary(s):
    frame = Frame.standard(4, TETRAHEDRON)
    return LocalDictionary(Block.balanced(frame, s), default_separated_atom(frame))


@pytest.mark.parametrize(("grid", "size"), [(FULL, 1025), (NARROW, 369)])
def test_the_banks_of_the_global_study_have_1025_and_369_explanations(grid, size):
    bank = orbit_bank(global_dictionary(0.1), AXIS_TURN, ANGLES, supports=[(0, 1)], calibration=grid)
    assert bank.size == bank.n_calibration_keys == size
    assert bank.n_deployment_keys == 41
    # The angle is slowest and the noise fastest.
    assert bank.split(size - 1)[0].tolist() == [40]
    assert bank.explanation(1).calibration == {"p": grid.values[0, 0], "noise": grid.values[1, 1]}


def orbit_states(*arguments):
    return array_states(oriented(*arguments))


@pytest.mark.parametrize("s", [0.3, 0.05])
def test_the_orbit_is_the_turned_block_of_the_study(s):
    states = orbit_states(global_dictionary(s), AXIS_TURN, ANGLES)
    for k, angle in enumerate(ANGLES):
        c, d = np.cos(angle), np.sin(angle)
        block = np.vstack(
            [s * np.array([[1, 0, 0], [0, c, -d], [0, d, c]]) @ TETRAHEDRON, np.full(4, np.sqrt(1 - s**2))]
        )
        atoms = states.elements[:, states.element_index(k)[0]]
        # A few roundings of numbers below 1.
        assert np.abs(atoms - np.column_stack([block, [2**-0.5, 0, 0, 2**-0.5]])).max() < 1e-15
    assert states.n_active((4,)) == 1


def test_turning_all_atoms_of_an_array_equals_turning_the_block_of_a_local_dictionary():
    dictionary = global_dictionary(0.2)
    whole = np.zeros((4, 4))
    whole[:3, :3] = AXIS_TURN
    for turn, angles in ((whole, ANGLES), (turns(whole, ANGLES), None)):
        states = orbit_states(dictionary.atoms, turn, angles)
        other = orbit_states(dictionary, AXIS_TURN, ANGLES)
        every = np.arange(41)
        found = states.elements[:, states.element_index(every)] - other.elements[:, other.element_index(every)]
        assert np.abs(found).max() < 1e-15  # a few roundings of numbers below 1
        assert states.n_active((4,)) == 1  # the turn leaves the separated atom alone


@pytest.mark.parametrize("q", [3, 5, 8])
def test_an_orbit_of_any_size_keeps_the_angles_between_atoms(q):
    rng = np.random.default_rng(q)
    square = rng.normal(size=(q - 1, q - 1))
    dictionary = LocalDictionary(Block.balanced(Frame.standard(q), 0.2), default_separated_atom(Frame.standard(q)))
    states = orbit_states(dictionary, square - square.T, [-0.7, 0.0, 0.3, 2.0])
    assert states.n_atoms == q + 1
    gram = dictionary.block.atoms.T @ dictionary.block.atoms
    for k in range(4):
        atoms = states.elements[:, states.element_index(k)[0]]
        # Turns from a matrix exponential of norm up to 20: a few hundred roundings.
        assert np.abs(atoms[:, :q].T @ atoms[:, :q] - gram).max() < 1e-13
        assert np.array_equal(atoms[:, q], dictionary.separated)
    assert np.array_equal(states.elements[:, states.element_index(1)[0]], dictionary.atoms)


def test_vertices_that_a_turn_leaves_alone_stay_one_element_each():
    q = 6
    frame = Frame.standard(q)
    f, g = (frame.template[:, i] - frame.template[:, i + 1] for i in (0, 2))
    generator = np.outer(g, f) - np.outer(f, g)
    dictionary = LocalDictionary(Block.balanced(frame, 0.01), default_separated_atom(frame))
    states = orbit_states(dictionary, generator, np.linspace(0.0, 1.0, 11))
    # Vertices 4 and 5 are orthogonal to both edges; 0 to 3 move.
    assert [states.n_active((j,)) for j in range(q + 1)] == [11, 11, 11, 11, 1, 1, 1]
    # Turned as an array, the separated atom moves as well.
    whole = frame.basis @ generator @ frame.basis.T
    states = orbit_states(dictionary.atoms, whole, np.linspace(0.0, 1.0, 11))
    assert [states.n_active((j,)) for j in range(q + 1)] == [11, 11, 11, 11, 1, 1, 11]


@pytest.mark.parametrize(
    ("turn", "angles", "message"),
    [
        (np.eye(3), [0.1], "generator must be square and skew"),
        (np.zeros((3, 3)), [0.1], "generator and angles must give at least one turn"),
        (AXIS_TURN, [], "generator and angles must give at least one turn"),
        (AXIS_TURN, [0.1, 0.1], "angles must be distinct, but 0.1 appears more than once"),
        (AXIS_TURN, [np.nan], "angles must be finite"),
        (np.zeros((4, 4)), [0.1], r"turn must have shape \(3, 3\), not shape \(4, 4\)"),
        (AXIS_TURN, None, r"turn must have shape \(any, 3, 3\), not shape \(3, 3\)"),
        (np.zeros((0, 3, 3)), None, "turn must hold at least one matrix"),
        ([np.eye(3), 2 * np.eye(3)], None, "turn must hold orthogonal matrices, but matrix 1 has an error of 3"),
    ],
)
def test_a_turn_that_is_none_is_named(turn, angles, message):
    with pytest.raises(MisuseError, match=message):
        orbit_states(global_dictionary(0.1), turn, angles)


def test_an_array_bank_takes_any_dictionaries_and_supports():
    rng = np.random.default_rng(1)
    dictionaries = rng.normal(size=(7, 5, 4))
    dictionaries /= np.linalg.norm(dictionaries, axis=1, keepdims=True)
    bank = array_bank(
        dictionaries, all_supports(4, 2), strengths=[1.0, 2.0, 3.0, 4.0], deployment=product_grid(noise=[0.5, 1])
    )
    assert bank.size == 7 * 10 * 2 == bank.n_deployment_keys
    one = bank.explanation(bank.index(6, 4 + list(combinations(range(4), 2)).index((1, 3)), 0, 1)[0])
    assert np.array_equal(one.atoms, dictionaries[6])
    assert (one.positions, one.strengths.tolist(), one.deployment) == ((1, 3), [2.0, 4.0], {"noise": 1.0})
    assert one.ids == ("element 25", "element 27")


@pytest.mark.parametrize(
    ("supports", "strengths", "message"),
    [
        ([], 1.0, "strengths must hold at least one support"),
        ([(0, 2)], 1.0, "an atom of a support must be a whole number between 0 and 1, not 2"),
        ([(0, 0)], 1.0, "a support must be distinct, but 0 appears more than once"),
        ([(0,), (1,), (0,)], 1.0, "strengths must hold distinct supports"),
        ([(0,)], 0.0, "the strength of atom 0 must be finite and above 0, not 0.0"),
        ([(1,)], [1.0, np.nan], "the strength of atom 1 must be finite and above 0, not nan"),
        ([(0,)], [1.0, 1.0, 1.0], r"strengths must be one number or 2, not shape \(3,\)"),
    ],
)
def test_an_array_bank_names_what_is_wrong(supports, strengths, message):
    with pytest.raises(MisuseError, match=message):
        array_bank([np.eye(2)], supports, strengths=strengths)


def test_regions_with_long_names_go_in_tuples():
    library = Library(["x", "y"], ["left", "right"], [[0.0], [1.0]], np.eye(2))
    bank = library_bank(library, [("left",), ("left", "right")], {"left": 1.0, "right": 2.0})
    assert bank.explanation(1).ids == ("x", "y")
    with pytest.raises(MisuseError, match=r"not 'l'\. Write longer names in a tuple"):
        library_bank(library, ["left"], {"left": 1.0})
