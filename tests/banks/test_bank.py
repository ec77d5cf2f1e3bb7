"""Index arithmetic of a bank against the list of all its explanations."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from physupport import MisuseError
from physupport.banks import Bank, Library, Nuisances, array_states, library_states, product_grid
from physupport.responses import Settings

AXES = np.eye(3)


def grid(name, count):
    return product_grid(**{name: np.arange(1.0, count + 1.0)})


@st.composite
def banks(draw):
    if draw(st.booleans()):
        n = draw(st.integers(1, 3))
        rows = draw(st.lists(st.lists(st.integers(0, 2), min_size=n, max_size=n), min_size=1, max_size=5))
        states = array_states(AXES[:, np.array(rows)].transpose(1, 0, 2))
    else:
        n_settings = draw(st.sampled_from([0, 0, 2]))
        sizes = draw(st.lists(st.integers(1, 2 if n_settings else 3), min_size=1, max_size=3))
        total = sum(sizes)
        regions = [f"R{j}" for j, size in enumerate(sizes) for _ in range(size)]
        axes = np.eye(max(n_settings, 1) * total + 1)
        library = Library([f"e{i}" for i in range(total)], regions, np.zeros((total, 1)), axes[:, :total])
        settings = None
        if n_settings:
            responses = axes[:, :-1].reshape(-1, n_settings, total).transpose(1, 0, 2)
            values = np.arange(float(n_settings))[:, None]
            settings = Settings(("gain",), values, responses, is_complex=False)
        states = library_states(library, library.region_names, axes[:, -1:], settings=settings)
    level = st.sampled_from([0.0, 0.0, 0.5, 1.0])
    row = st.lists(level, min_size=states.n_atoms, max_size=states.n_atoms).map(tuple)
    strengths = draw(st.lists(row, min_size=1, max_size=5, unique=True))
    return Bank(states, strengths, grid("p", draw(st.integers(1, 3))), grid("noise", draw(st.integers(1, 3))))


@given(banks())
def test_the_order_is_that_of_nested_loops(bank):
    axes = (bank.states.n_states, bank.n_supports, len(bank.calibration), len(bank.deployment))
    listed = np.array(list(product(*map(range, axes))))
    assert bank.size == len(bank) == len(listed)
    assert np.array_equal(np.stack(bank.split(np.arange(bank.size)), axis=1), listed)


@given(banks(), st.data())
def test_splitting_and_indexing_undo_each_other(bank, data):
    index = np.array(data.draw(st.lists(st.integers(0, bank.size - 1), max_size=20)), dtype=np.int64)
    assert np.array_equal(bank.index(*bank.split(index)), index)


@given(banks())
def test_a_deployment_key_is_shared_exactly_by_equal_active_columns_strengths_and_nuisance(bank):
    every = np.arange(bank.size)
    told = [bank.explanation(i) for i in every]
    # All columns with their strengths, inactive ones wiped out: what the deployment law may depend on.
    pictures = np.stack([_picture(bank, one) for one in told])
    keys = bank.deployment_keys(every)
    same = (pictures[:, None] == pictures).all(axis=2)
    assert np.array_equal(keys[:, None] == keys, same)
    assert set(keys.tolist()) == set(range(bank.n_deployment_keys))


def _picture(bank, one):
    strengths = np.zeros(bank.states.n_atoms)
    strengths[list(one.positions)] = one.strengths
    return np.concatenate([(one.atoms * (strengths > 0)).ravel(), strengths, list(one.deployment.values())])


@given(banks())
def test_a_calibration_key_is_shared_exactly_by_equal_state_and_nuisance(bank):
    every = np.arange(bank.size)
    keys, columns = bank.calibration_keys(every), bank.split(every)
    pairs = np.stack([columns.state, columns.calibration], axis=1)
    assert np.array_equal(keys[:, None] == keys, (pairs[:, None] == pairs).all(axis=2))
    assert set(keys.tolist()) == set(range(bank.n_calibration_keys))
    assert np.array_equal(np.stack(bank.calibration_parts(keys), axis=1), pairs)


@given(banks())
def test_the_parts_of_a_deployment_key_are_those_of_each_explanation_with_it(bank):
    every = np.arange(bank.size)
    parts = bank.deployment_parts(bank.deployment_keys(every))
    columns = bank.split(every)
    assert np.array_equal(parts.support, columns.support)
    assert np.array_equal(parts.nuisance, columns.deployment)
    assert parts.elements.shape[1] == max(map(len, bank.positions))
    for i in every:
        one = bank.explanation(i)
        r = len(one.positions)
        assert np.array_equal(bank.states.elements[:, parts.elements[i, :r]], one.atoms[:, list(one.positions)])
        assert np.array_equal(parts.strengths[i, :r], one.strengths)
        assert (parts.elements[i, r:] == -1).all()
        assert not parts.strengths[i, r:].any()


@given(banks())
def test_presence_and_location_are_the_active_elements_of_each_region(bank):
    every = np.arange(bank.size)
    presence, location = bank.presence(every), bank.location(every)
    assert presence.shape == location.shape == (bank.size, len(bank.states.blocks))
    for i in every:
        one = bank.explanation(i)
        chosen = bank.states.element_index(one.state)[0]
        for region in range(len(bank.states.blocks)):
            present = region in one.positions
            assert presence[i, region] == present
            assert location[i, region] == (chosen[region] if present else -1)


def test_an_explanation_is_written_out(four_region_bank, four_regions, fifth_atom):
    # The last state but one: the last elements of A, B and C and the middle one of D. Support 2 is ABD.
    one = four_region_bank.explanation(3 * 70 + 2)
    assert (one.state, one.positions, one.ids) == (70, (0, 1, 3), ("A 0.200", "B 0.495", "D 0.910"))
    assert one.strengths.tolist() == [1.0, 0.8, 1.0]
    assert np.array_equal(one.atoms, np.column_stack([four_regions.responses[:, [1, 5, 8, 10]], fifth_atom]))
    assert one.calibration == one.deployment == {}


def test_supports_of_the_same_atoms_differ_in_strength():
    bank = Bank(array_states([np.eye(2)]), [[1.0, 0.0], [2.0, 0.0]])
    assert bank.deployment_keys([0, 1]).tolist() == [0, 1]
    assert bank.deployment_parts([0, 1]).strengths.tolist() == [[1.0], [2.0]]


def test_the_empty_support_is_one_law_for_all_states():
    bank = Bank(array_states([np.eye(2), np.eye(2)[::-1]]), np.zeros((1, 2)))
    assert (bank.size, bank.n_deployment_keys) == (2, 1)
    assert bank.deployment_parts([0]).elements.shape == (1, 0)


def test_nothing_handed_over_later_changes_a_bank():
    dictionaries, strengths, values = np.eye(2)[None].copy(), np.ones((1, 2)), np.array([[0.2]])
    bank = Bank(array_states(dictionaries), strengths, Nuisances(("p",), values))
    before = bank.digest
    dictionaries[:], strengths[:], values[:] = 7.0, 7.0, 7.0
    assert bank.digest == before


def test_nothing_in_a_bank_can_be_written(four_region_bank):
    states = four_region_bank.states
    owned = [states.elements, states.extra, states.library.responses, states.library.coordinates]
    owned += [four_region_bank.strengths, four_region_bank.deployment.values, array_states([np.eye(2)]).table]
    for array in owned:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        four_region_bank.strengths = np.ones((1, 5))


@pytest.mark.parametrize(
    ("strengths", "message"),
    [
        (np.ones((1, 3)), r"strengths must have shape \(any, 2\), not shape \(1, 3\)"),
        (np.ones((0, 2)), "strengths must hold at least one support"),
        ([[1.0, -0.5]], "strengths must be at least 0, not -0.5 for atom 1 of support 0"),
        ([[1.0, np.nan]], "strengths must be finite"),
        (
            [[1.0, 0.0], [0.0, 1.0], [1.0, -0.0]],
            r"strengths must hold distinct supports, but \[1.0, 0.0\] appears again as support 2",
        ),
    ],
)
def test_wrong_strengths_are_named(strengths, message):
    with pytest.raises(MisuseError, match=message):
        Bank(array_states([np.eye(2)]), strengths)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda bank: bank.split([0, 216]), "index must lie from 0 to 215, not 216"),
        (lambda bank: bank.split([0, -1]), "index must lie from 0 to 215, not -1"),
        (lambda bank: bank.split([0.5]), "index must be a list of whole numbers, not float64"),
        (lambda bank: bank.split([True]), "index must be a list of whole numbers, not bool"),
        (lambda bank: bank.split([[0]]), r"index must be a list of whole numbers, not int64 of shape \(1, 1\)"),
        (lambda bank: bank.explanation(216), "index must lie from 0 to 215, not 216"),
        (lambda bank: bank.location([216]), "index must lie from 0 to 215, not 216"),
        (lambda bank: bank.index(72, 0), "state must lie from 0 to 71, not 72"),
        (lambda bank: bank.index(0, 3), "support must lie from 0 to 2, not 3"),
        (lambda bank: bank.index(0, 0, 1), "calibration must lie from 0 to 0, not 1"),
        (lambda bank: bank.index(0, 0, 0, 1), "deployment must lie from 0 to 0, not 1"),
        (lambda bank: bank.index([0, 1], [0, 1, 2]), "the parts of the index must be single numbers or of one length"),
        (lambda bank: bank.deployment_parts([56]), "keys must lie from 0 to 55, not 56"),
        (lambda bank: bank.calibration_parts([72]), "keys must lie from 0 to 71, not 72"),
    ],
)
def test_an_index_out_of_range_is_named(four_region_bank, call, message):
    with pytest.raises(MisuseError, match=message):
        call(four_region_bank)


def test_nothing_asked_is_nothing_answered(four_region_bank):
    assert four_region_bank.deployment_keys([]).shape == (0,)
    assert four_region_bank.deployment_parts([]).elements.shape == (0, 3)
    assert four_region_bank.location([]).shape == (0, 4)


def test_a_bank_that_no_index_can_count_is_refused():
    ids = [f"e{i}" for i in range(120)]
    library = Library(ids, [f"R{i // 2}" for i in range(120)], np.zeros((120, 1)), np.eye(120))
    states = library_states(library, library.region_names)  # 2^60
    with pytest.raises(MisuseError, match="explanations must number fewer than"):
        Bank(states, np.eye(60)[:8])


@pytest.mark.parametrize(
    ("names", "values", "message"),
    [
        (("p",), np.zeros((0, 1)), "values must hold at least one setting"),
        (("p",), np.zeros((1, 2)), r"values must have shape \(any, 1\)"),
        (("p", "p"), np.zeros((1, 2)), "names must be distinct, but 'p' appears more than once"),
        (("p",), [[0.1], [0.2], [0.1]], r"values must hold distinct settings, but \[0.1\] appears again in row 2"),
        (("p",), [[np.nan]], "values must be finite"),
        ("p", [[0.1]], "names must be a list of nonempty texts"),
    ],
)
def test_wrong_nuisances_are_named(names, values, message):
    with pytest.raises(MisuseError, match=message):
        Nuisances(names, values)


def test_a_grid_of_nuisances_is_read_by_name():
    found = product_grid(p=[0.1, 0.2], noise=[1.0, 2.0, 3.0])
    assert found.column("noise").tolist() == [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
    assert found.setting(4) == {"p": 0.2, "noise": 2.0}
    assert len(product_grid()) == len(Nuisances()) == 1
    with pytest.raises(MisuseError, match="name must be one of"):
        found.column("q")
    with pytest.raises(MisuseError, match="noise must have shape"):
        product_grid(noise=[[1.0]])
