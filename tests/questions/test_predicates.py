"""Predicates of questions agree with their progress, explanation by explanation."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from physupport.banks import Library, bank_regions, library_bank, table_regions
from physupport.judges import Verdict
from physupport.questions import (
    Answer,
    Certificate,
    Label,
    Question,
    RegionalMap,
    RegionRule,
    Resolution,
    exhaustive_answers,
)

SIZE = 9
ELEMENTS = ("a", "b", "c", "d")
GROUPS = {"ab": ["a", "b"], "bcd": ["b", "c", "d"]}


@st.composite
def maps(draw):
    """A map of one or two regions of a small table, with tolerances, groups, thresholds and strengths."""
    columns = {
        name: draw(st.lists(st.sampled_from([*ELEMENTS, None]), min_size=SIZE, max_size=SIZE))
        for name in ("R", "S")[: draw(st.integers(1, 2))]
    }
    coordinates = {name: dict(zip(ELEMENTS, (0.0, 1.0, 2.5, 6.0), strict=True)) for name in columns}
    strengths = {
        name: [0.0 if element is None else draw(st.sampled_from([0.5, 2.0])) for element in column]
        for name, column in columns.items()
    }
    rules = {
        name: RegionRule(
            tolerance=draw(st.sampled_from([0.0, 1.0, 2.0])),
            groups=draw(st.sampled_from([None, GROUPS])),
            absence_threshold=draw(st.sampled_from([None, 1.0])),
        )
        for name in columns
    }
    return RegionalMap(table_regions(columns, coordinates=coordinates, strengths=strengths), rules), columns


@st.composite
def resolutions(draw):
    places = np.array(draw(st.lists(st.integers(0, 3), min_size=SIZE, max_size=SIZE)))
    at = np.array([0.0, 1.0, 2.5, 6.0])
    fine, group = sorted(draw(st.tuples(st.sampled_from([0.0, 1.0, 2.0]), st.sampled_from([1.5, 3.0, 9.0]))))
    near = np.abs(at - draw(st.sampled_from([0.0, 2.0])))
    return Resolution(places, np.abs(at[:, None] - at), near, fine, group, ELEMENTS)


CODES = st.lists(st.sampled_from([*Verdict]), min_size=SIZE, max_size=SIZE)


def check_excluded(question, codes):
    """Each explanation that was rejected, made possible again: is the label or its group another?"""
    codes = np.array(codes)
    rejected = np.flatnonzero(codes == Verdict.REJECTED)
    for number, answer in enumerate(exhaustive_answers(question, codes)):
        if not answer.label.is_truth_level:
            continue
        expected = []
        for e in rejected:
            wider = codes.copy()
            wider[e] = Verdict.INDETERMINATE
            other = exhaustive_answers(question, wider)[number]
            is_group = str(answer.label) == "GROUP"
            expected.append(other.label is not answer.label or (is_group and other.group != answer.group))
        assert question.excluded(answer, rejected).tolist() == expected


def check_sides(question, field, reference):
    """Two explanations as the only survivors: do they keep the label that one of them has alone?"""
    alone = np.full(SIZE, Verdict.REJECTED)
    alone[reference] = Verdict.ADMISSIBLE
    label = exhaustive_answers(question, alone)[field].label
    expected = []
    for e in range(SIZE):
        both = alone.copy()
        both[e] = Verdict.ADMISSIBLE
        expected.append(exhaustive_answers(question, both)[field].label is not label)
    sides = question.contradictions(field, reference)
    assert sides.contradict(np.arange(SIZE)).tolist() == expected
    theirs = sides.of(np.arange(SIZE))
    apart = sides.apart(theirs, theirs)
    assert np.array_equal(apart, apart.T)
    assert not apart.diagonal().any()


@settings(max_examples=150, deadline=None)
@given(maps(), CODES)
def test_what_a_map_calls_excluded_would_change_its_answers_and_nothing_else_would(found, codes):
    check_excluded(found[0], codes)


@settings(max_examples=150, deadline=None)
@given(resolutions(), CODES)
def test_what_a_resolution_calls_excluded_would_change_its_answer_and_nothing_else_would(question, codes):
    check_excluded(question, codes)


@settings(max_examples=100, deadline=None)
@given(maps(), st.integers(0, SIZE - 1))
def test_what_contradicts_an_explanation_in_a_region_takes_its_label_away(found, reference):
    question, columns = found
    for field in range(len(columns)):
        check_sides(question, field, reference)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=SIZE, max_size=SIZE), st.integers(0, SIZE - 1))
def test_what_contradicts_an_explanation_in_a_resolution_takes_fine_away(places, reference):
    at = np.array([0.0, 1.0, 2.5, 6.0])
    distances = np.abs(at[:, None] - at)
    # The proposal lies where the reference does: what is farther from one is farther from the other.
    question = Resolution(np.array(places), distances, distances[places[reference]], 1.2, 3.0)
    check_sides(question, 0, reference)


@settings(max_examples=60, deadline=None)
@given(maps())
def test_a_map_says_of_all_explanations_at_once_what_the_table_says_of_each(found):
    question, columns = found
    said = question.says(np.arange(SIZE))
    assert {name: column.texts(None) for name, column in said.items()} == columns
    assert [question.says_of(e) for e in range(SIZE)] == [
        {name: column[e] for name, column in columns.items()} for e in range(SIZE)
    ]
    elements = [question.elements(number) for number in range(len(columns))]
    assert [each.is_optional for each in elements] == [None in column for column in columns.values()]


def test_the_resolution_of_a_region_measures_from_the_place_of_the_reference():
    library = Library(("p", "q", "r"), ("A", "A", "B"), np.array([[0.0], [3.0], [9.0]]), np.eye(3))
    bank = library_bank(library, [("A",), ("A", "B")], {"A": 1.0, "B": 1.0})
    view = bank_regions(bank)
    question = Resolution.of_region(view, "A", 3, delta_fine=0.5, delta_group=4.0)
    assert question.says_of(3) == {"place": "q"}
    assert question.proposal_distances.tolist() == [3.0, 0.0]
    assert question.says(np.arange(bank.size))["place"].texts(None) == [
        bank.explanation(e).ids[0] for e in range(bank.size)
    ]
    for region in ("B", "C"):
        with pytest.raises(ValueError, match=r"region must be one that every explanation has, of \('A',\)"):
            Resolution.of_region(view, region, 0, delta_fine=0.5, delta_group=4.0)


class Parity(Question):
    """No more than the contract: is the number of the explanation even or odd?"""

    n_explanations = 4

    def describe(self):
        return {}

    def answers(self, possible, witnessed):
        cell = tuple(name for first, name in enumerate(("even", "odd")) if possible[first::2].any())
        witnesses = tuple(np.flatnonzero(witnessed).tolist())
        if len(cell) < 2:
            return (Answer("parity", Label.FINE if cell else Label.EMPTY, cell, None, (), Certificate("universal")),)
        if {e % 2 for e in witnesses} == {0, 1}:
            return (Answer("parity", Label.AMBIGUOUS, cell, None, (), Certificate("witnesses", witnesses)),)
        return (Answer("parity", Label.ABSTAIN, cell, None, (), Certificate("open")),)


def test_what_a_question_leaves_out_has_a_default():
    found = Parity()
    index = np.arange(3)
    assert found.policies == ("fixed", "random")
    assert found.says(index) == {}
    assert found.excluded(None, index).tolist() == [False] * 3
    assert found.contradictions(0, 0) is None
    assert found.elements(0).names == ()
    assert [*found.dimensions(index, index)] == ["the dictionary state"]
    assert found.dimensions(index, None) == {}
    assert found.encode() == {"kind": "own"}
    assert found.check_bank(None) is None
    assert [*found.unanswerable()] == []
    with pytest.raises(NotImplementedError, match="has to have distances"):
        found.farness()


def test_a_question_that_answers_by_its_sets_is_asked_verdict_by_verdict():
    progress = Parity().begin()
    assert (progress.open_fields(), progress.is_certified) == (("parity",), False)
    progress.witness(0)
    progress.reject(1)
    assert progress.answers()[0].label is Label.ABSTAIN
    progress.reject(3)
    assert (progress.answers()[0].label, progress.is_certified, progress.open_fields()) == (Label.FINE, True, ())
    codes = [Verdict.ADMISSIBLE, Verdict.ADMISSIBLE, Verdict.REJECTED, Verdict.REJECTED]
    assert exhaustive_answers(Parity(), codes)[0].certificate.witnesses == (0, 1)
    gone = Parity().begin()
    gone.inform(np.arange(4), np.full(4, Verdict.REJECTED))
    assert (gone.answers()[0].label, gone.is_certified) == (Label.EMPTY, False)


@settings(max_examples=60, deadline=None)
@given(st.one_of(maps().map(lambda found: found[0]), resolutions()), CODES)
def test_answers_depend_on_the_two_sets_alone(question, codes):
    codes = np.array(codes)
    progress = question.begin()
    progress.inform(np.arange(SIZE), codes)
    assert question.answers(codes != Verdict.REJECTED, codes == Verdict.ADMISSIBLE) == progress.answers()
