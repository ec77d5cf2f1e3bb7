"""Invalid banks, libraries and covers are refused by name, with the rule and the value; distances by definition."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.local.theory.distances import atom_chords, coherence_gaps, marked_distance

from physupport import MisuseError
from physupport._codec import Refusal
from physupport.banks import (
    JOINT,
    Bank,
    Cover,
    Library,
    RegionPlaces,
    Subsets,
    array_bank,
    bank_regions,
    bootstrap_states,
    bottleneck_assignment,
    cover_boxes,
    hausdorff_distance,
    library_bank,
    physical_diameter,
    product_grid,
    projective_distances,
)
from physupport.banks._builders import MOST_SUPPORTS, check_supports
from physupport.io import undivided_rows
from physupport.questions import RegionalMap
from physupport.responses import Parameter, Peak

ATOMS = np.eye(4)[:, :3]
NAMES = {"ids": ["a", "b", "c"], "regions": ["A", "A", "B"], "coordinates": [[0.0], [1.0], [2.0]], "responses": ATOMS}
SEEDS = st.integers(0, 2**32 - 1)


def made_bank(**options):
    return library_bank(Library(**NAMES), ["A", "AB"], {"A": 1.0, "B": 1.0}, **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unit": 3}, "unit must be a text, not 3"),
        ({"regions": ["A"]}, "regions must name one region for each of the 3 ids, not 1 regions"),
        ({"responses": np.eye(4)}, r"responses must have one column for each of the 3 ids, not shape \(4, 4\)"),
        ({"responses": 2.0 * ATOMS}, "responses must have columns of norm 1, but the norm is 2"),
        ({"extents": -np.ones((3, 1))}, r"extents must be at least 0, not -1\.0"),
        ({"extents": np.ones((2, 1))}, "extents must have shape"),
        ({"coordinates": [[0.0], [np.nan], [1.0]]}, "coordinates must be finite"),
        ({"ids": ["a", "a", "c"]}, "ids must"),
        ({"ids": []}, "ids must"),
    ],
)
def test_a_library_that_is_none_is_refused(change, message):
    with pytest.raises(MisuseError, match=message):
        Library(**NAMES | change)


def test_a_bank_has_one_strength_for_all_atoms_of_a_region():
    states = library_bank(Library(**NAMES), ["A"], {"A": 1.0, "B": 1.0}, counts={"A": (2, 2)}).states
    with pytest.raises(
        MisuseError, match=r"strengths must be the same for all atoms of a region, but they differ at atoms"
    ):
        Bank(states, np.array([[1.0, 2.0, 0.0]]), *(product_grid(),) * 2)


def test_more_supports_than_a_bank_may_have_are_refused_before_they_are_listed():
    check_supports(MOST_SUPPORTS)
    with pytest.raises(
        MisuseError, match=r"supports must number at most 1,048,576, with their strengths, not 1,048,577"
    ):
        check_supports(MOST_SUPPORTS + 1)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"A": (0, 1)}, "the least count of region 'A' must be a whole number between 1 and 1, not 0"),
        ({"A": (1, 3)}, "count of region 'A' must be a whole number between 1 and 2, not 3"),
        ({"C": (1, 1)}, "counts|regions"),
    ],
)
def test_counts_of_elements_that_a_region_cannot_have_are_refused(counts, message):
    with pytest.raises(MisuseError, match=message):
        made_bank(counts=counts)


def test_names_with_the_sign_that_joins_sets_are_refused_where_there_are_sets():
    with pytest.raises(MisuseError, match="ids must be without"):
        RegionPlaces((f"a{JOINT}b", "c"), np.zeros((2, 1)), Subsets(2, 1, 2))


def test_a_question_about_another_bank_is_refused():
    bank, other = made_bank(), made_bank(deployment=product_grid(noise=[0.5]))
    question = RegionalMap(bank_regions(bank))
    question.check_bank(bank)
    question.check_bank(made_bank())  # the same once more
    for wrong in (other, None):
        with pytest.raises(MisuseError, match="question must be about the bank of the protocol"):
            question.check_bank(wrong)


def test_states_learnt_from_no_row_are_refused():
    rows = np.random.default_rng(0).standard_normal((30, 4))
    with pytest.raises(MisuseError, match="split must leave rows to the proposal, but it leaves none"):
        bootstrap_states(rows, undivided_rows(30), 2, n_states=2)


def test_a_bank_of_arrays_has_no_library_and_no_regions():
    rng = np.random.default_rng(1)
    states = rng.standard_normal((2, 4, 3))
    states /= np.linalg.norm(states, axis=1, keepdims=True)
    bank = array_bank(states, [(0,), (0, 1)])
    assert bank.states.library is None
    assert bank.states.regions == ()
    assert {choices.size for choices in bank.states.sets} == {1}
    assert (bank.states.library_index == -1).all()
    for e in range(bank.size):
        state = int(bank.split(e).state[0])
        np.testing.assert_array_equal(bank.explanation(e).atoms, states[state])


# -------------------------------------------------------------------------------------------------------------- covers

PEAK = Peak(np.linspace(0.0, 1.0, 20), 0.1)


def made_cover(**options):
    return cover_boxes(PEAK, {"A": [(0.2, 0.8)]}, **{"snr": 5.0, "eta": 0.5} | options)


def test_covers_of_nothing_or_with_parameters_that_have_no_ends_are_refused():
    with pytest.raises(MisuseError, match="boxes must be of at least one region, but there is none"):
        cover_boxes(PEAK, {}, snr=5.0, eta=0.5)
    for values in ([1.0], [0.9, 1.0, 1.1], [1.1, 0.9]):
        with pytest.raises(MisuseError, match="parameter 'width' must have two values, a lower and an upper end"):
            made_cover(parameters=[Parameter("width", np.array(values))])


def test_a_cover_whose_response_nobody_knows_says_so():
    cover = made_cover()
    assert cover.known_response is cover.response
    unknown = replace(cover, response=None)
    with pytest.raises(MisuseError, match="cover must have a response that can be worked out, but it has none"):
        _ = unknown.known_response


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"regions": []}, "no region, one of them twice"),
        ({"regions": "twice"}, "no region, one of them twice"),
        ({"snr": -1.0}, "sizes that no cover has"),
        ({"active": 0}, "sizes that no cover has"),
        ({"unit_kappa": 0.0}, "sizes that no cover has"),
        ({"cells": [0]}, "do not fill a box"),
        ({"low": [9.0]}, "do not fill a box"),
        ({"slopes": [-1.0]}, "do not fill a box"),
    ],
)
def test_a_written_cover_that_no_cover_has_is_refused(change, message):
    node = made_cover().encode() | {"asked": 0.1}
    (name, value), *_ = change.items()
    if value == "twice":
        node = node | {"regions": node["regions"] * 2}
    elif name in ("cells", "low", "slopes"):
        node = node | {"regions": [node["regions"][0] | change]}
    else:
        node = node | change
    with pytest.raises(Refusal, match=message):
        Cover.decode(node)


def test_a_written_cover_is_read_back():
    cover = made_cover()
    node = cover.encode()
    assert Cover.decode(node | {"asked": 0.1}).encode() == node  # the level is the protocol's


# ----------------------------------------------------------------------------------------------------------- distances


def unit_columns(rng, q, m):
    columns = rng.standard_normal((q, m))
    return columns / np.linalg.norm(columns, axis=0)


@settings(max_examples=40)
@given(seed=SEEDS, m=st.integers(1, 4), k=st.integers(1, 4))
def test_distances_of_lines_and_of_sets_are_those_of_their_definitions(seed, m, k):
    rng = np.random.default_rng(seed)
    first, second = unit_columns(rng, 5, m), unit_columns(rng, 5, k)
    sines = np.array([[np.sqrt(max(1.0 - (a @ b) ** 2, 0.0)) for b in second.T] for a in first.T])
    np.testing.assert_allclose(projective_distances(first, second), sines, atol=1e-12)
    np.testing.assert_allclose(projective_distances(first, -first).diagonal(), 0.0, atol=1e-12)
    hausdorff = max(max(min(row) for row in sines), max(min(row) for row in sines.T))
    assert hausdorff_distance(first, second) == pytest.approx(hausdorff, abs=1e-12)
    assert marked_distance(1, first, 0, second) == pytest.approx(1.0 + hausdorff, abs=1e-12)
    assert marked_distance(0, first, 0, second) == pytest.approx(hausdorff, abs=1e-12)


@settings(max_examples=20)
@given(seed=SEEDS, sizes=st.lists(st.integers(1, 3), min_size=1, max_size=7))
def test_a_diameter_is_the_largest_distance_of_any_pair(seed, sizes):
    rng = np.random.default_rng(seed)
    targets = [unit_columns(rng, 4, size) for size in sizes]
    largest = max(hausdorff_distance(one, two) for one in targets for two in targets)
    assert physical_diameter(targets) == pytest.approx(largest, abs=1e-12)
    assert physical_diameter(rng.permutation(len(targets)).tolist() and targets[::-1]) == physical_diameter(targets)


def test_chords_and_gaps_keep_their_digits_where_atoms_nearly_coincide():
    for angle in (1e-9, 1e-4, 0.3):
        atoms = np.array([[1.0, np.cos(angle)], [0.0, np.sin(angle)]])
        assert atom_chords(atoms)[0, 1] == pytest.approx(2.0 * np.sin(angle / 2.0), rel=1e-7)
        assert coherence_gaps(atoms)[0, 1] == pytest.approx(2.0 * np.sin(angle / 2.0) ** 2, rel=1e-7)


@settings(max_examples=60)
@given(seed=SEEDS, size=st.integers(1, 6), levels=st.integers(2, 5))
def test_the_bottleneck_is_the_best_of_all_permutations(seed, size, levels):
    cost = np.random.default_rng(seed).integers(0, levels, (size, size)).astype(float)
    value, chosen = bottleneck_assignment(cost)
    best = min(max(cost[i, p[i]] for i in range(size)) for p in permutations(range(size)))
    assert value == best
    assert sorted(chosen.tolist()) == list(range(size))
    assert cost[np.arange(size), chosen].max() == best


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: hausdorff_distance(np.zeros((3, 0)), np.eye(3)),
            "first must hold at least one atom, not an empty set",
        ),
        (lambda: physical_diameter([]), "targets must hold at least one target, not an empty collection"),
        (lambda: physical_diameter([np.eye(3), np.eye(4)]), r"targets\[1\] must have shape"),
        (lambda: physical_diameter([np.zeros((3, 0))]), r"targets\[0\] must hold at least one atom"),
        (lambda: projective_distances(np.eye(3), 2.0 * np.eye(3)), "second must have columns of norm 1"),
        (lambda: marked_distance(2, np.eye(3), 0, np.eye(3)), "mark must"),
        (lambda: bottleneck_assignment(np.zeros((2, 3))), r"cost must be square, not shape \(2, 3\)"),
        (lambda: bottleneck_assignment(np.zeros((0, 0))), "number of rows of cost must"),
    ],
)
def test_distances_of_nothing_or_between_spaces_are_refused(call, message):
    with pytest.raises(MisuseError, match=message):
        call()
