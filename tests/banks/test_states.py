"""Dictionary states: mixed radix and content against everything written out."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from physupport import MisuseError
from physupport.banks import Library, array_states, library_states

AXES = np.eye(4)  # exact unit columns, so that equal columns are equal bit by bit


def axis_library(sizes, n_shared):
    """Regions of the given sizes whose elements are scattered over the library."""
    labels = [f"R{j}" for j, size in enumerate(sizes) for _ in range(size)]
    order = np.random.default_rng(len(labels)).permutation(len(labels))
    responses = np.eye(len(labels) + n_shared)
    regions = [labels[i] for i in order]
    ids = [f"e{i}" for i in range(len(labels))]
    library = Library(ids, regions, np.arange(float(len(ids)))[:, None], responses[:, : len(ids)])
    return library_states(library, tuple(f"R{j}" for j in range(len(sizes))), responses[:, len(ids) :])


def written_out(states):
    """(n_states, n) elements by brute force."""
    if states.library is None:
        return states.table
    members = [[e for e, name in enumerate(states.library.regions) if name == region] for region in states.regions]
    shared = [[len(states.library.ids) + j] for j in range(states.n_atoms - len(members))]
    return np.array(list(product(*members, *shared)))


families = st.one_of(
    st.builds(axis_library, st.lists(st.integers(1, 3), min_size=1, max_size=4), st.integers(0, 2)),
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1, max_size=8).map(
            lambda rows: array_states(AXES[:, np.array(rows)].transpose(1, 0, 2))
        )
    ),
)


@given(families)
def test_the_atoms_of_every_state_are_those_of_the_list_written_out(states):
    assert np.array_equal(states.element_index(np.arange(states.n_states)), written_out(states))


@given(families, st.data())
def test_states_share_a_key_exactly_when_their_active_columns_are_equal(states, data):
    positions = tuple(sorted(data.draw(st.sets(st.integers(0, states.n_atoms - 1)))))
    every = np.arange(states.n_states)
    keys = states.active_keys(every, positions)
    columns = states.elements[:, written_out(states)[:, list(positions)]]  # (q, K, r)
    same = (columns[:, :, None] == columns[:, None]).all(axis=(0, 3))
    assert np.array_equal(keys[:, None] == keys, same)
    assert set(keys.tolist()) == set(range(states.n_active(positions)))
    assert np.array_equal(states.active_elements(keys, positions), written_out(states)[:, list(positions)])


def test_equal_columns_of_different_atoms_are_one_element():
    states = array_states([AXES[:, [2, 0]], AXES[:, [0, 2]], AXES[:, [0, 1]]])
    assert states.elements.shape == (4, 3)
    assert states.element_index([0, 1, 2]).tolist() == [[0, 1], [1, 0], [1, 2]]


def test_a_zero_has_no_sign():
    assert array_states(np.array([[[1.0], [0.0]], [[1.0], [-0.0]]])).elements.shape == (2, 1)


def test_an_atom_that_differs_in_every_state_gives_the_states_their_own_number():
    angles = np.linspace(0.0, 1.0, 7)
    moving = np.stack([np.cos(angles), np.sin(angles)], axis=1)  # (7, 2)
    states = array_states(np.stack([np.broadcast_to([1.0, 0.0], (7, 2)), moving], axis=2))
    assert states.n_active((0,)) == 1
    assert states.active_keys(np.arange(7), (0, 1)).tolist() == list(range(7))


def test_regions_may_be_left_out_and_reordered(four_regions):
    states = library_states(four_regions, ("D", "A"))
    assert states.n_states == 6
    assert states.names(states.element_index(1)[0]) == ("D 0.860", "A 0.200")


def test_states_that_no_index_can_count_are_refused():
    ids = [f"e{i}" for i in range(128)]
    regions = [f"R{i // 2}" for i in range(128)]
    library = Library(ids, regions, np.zeros((128, 1)), np.eye(128))
    with pytest.raises(
        MisuseError, match="states must number fewer than 9223372036854775808, not 18446744073709551616"
    ):
        library_states(library, library.region_names)


def library(**changes):
    parts = {"ids": ["a", "b"], "regions": ["L", "R"], "coordinates": [[0.0], [1.0]], "responses": np.eye(2)}
    return Library(**{**parts, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ids": ["a", "a"]}, "ids must be distinct, but 'a' appears more than once"),
        ({"ids": []}, "ids must name at least one element"),
        ({"ids": ["a", ""]}, "ids must be a list of nonempty texts, not ''"),
        ({"ids": "ab"}, "ids must be a list of nonempty texts, not 'ab'"),
        ({"regions": ["L"]}, "regions must name one region for each of the 2 ids, not 1 regions"),
        ({"coordinates": [0.0, 1.0]}, r"coordinates must have shape \(2, any\)"),
        ({"coordinates": [[0.0], [np.nan]]}, r"coordinates must be finite, not nan at index \(1, 0\)"),
        ({"responses": np.eye(3)}, r"responses must have one column for each of the 2 ids, not shape \(3, 3\)"),
        ({"responses": 2 * np.eye(2)}, "responses must have columns of norm 1, but the norm is 2 in column 0"),
        ({"responses": [[1.0, np.nan], [0.0, 1.0]]}, "responses must be finite"),
    ],
)
def test_a_library_names_what_is_wrong_with_it(changes, message):
    with pytest.raises(MisuseError, match=message):
        library(**changes)


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        ((), "regions must name at least one region"),
        (("L", "L"), "regions must be distinct, but 'L' appears more than once"),
        (("L", "M"), r"region must hold at least one element \(regions: 'L', 'R'\), not 'M'"),
    ],
)
def test_states_name_the_region_that_has_no_elements(regions, message):
    with pytest.raises(MisuseError, match=message):
        library_states(library(), regions)


def test_a_region_without_elements_has_no_members():
    with pytest.raises(MisuseError, match="region must hold at least one element"):
        library().members("M")


def test_shared_columns_must_be_as_wide_as_the_responses():
    with pytest.raises(MisuseError, match=r"extra must have shape \(2, any\), not shape \(3, 1\)"):
        library_states(library(), ("L",), np.eye(3)[:, :1])


@pytest.mark.parametrize(
    ("dictionaries", "message"),
    [
        (np.eye(2), r"dictionaries must have shape \(any, any, any\)"),
        (np.zeros((0, 2, 2)), "dictionaries must hold at least one state, row and atom"),
        ([np.eye(2), 3 * np.eye(2)], "dictionaries must have columns of norm 1, but the norm is 3 in state 1, atom 0"),
        ([[[np.inf]]], "dictionaries must be finite"),
    ],
)
def test_arrays_that_are_no_dictionaries_are_refused(dictionaries, message):
    with pytest.raises(MisuseError, match=message):
        array_states(dictionaries)
