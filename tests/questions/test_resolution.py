"""The resolution question: bounds of the proposal-referenced diameter, and when they settle a label."""

import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from physupport import MisuseError
from physupport.banks import array_bank, product_grid
from physupport.judges import Verdict
from physupport.questions import Comparison, Label, Resolution, compare, exhaustive_answers, plugin_answers

ADMISSIBLE, REJECTED, INDETERMINATE = Verdict.ADMISSIBLE, Verdict.REJECTED, Verdict.INDETERMINATE


@st.composite
def cases(draw):
    """Places on a line with small whole coordinates, so that diameters meet the bounds exactly at times."""
    spots = draw(st.lists(st.integers(0, 6), min_size=1, max_size=5))
    proposal = draw(st.integers(0, 6))
    size = draw(st.integers(1, 12))
    places = draw(st.lists(st.integers(0, len(spots) - 1), min_size=size, max_size=size))
    fine = draw(st.integers(0, 4))
    question = on_a_line(spots, proposal, places, fine, fine + draw(st.integers(0, 3)))
    codes = draw(st.lists(st.sampled_from([*Verdict]), min_size=size, max_size=size))
    return question, spots, proposal, codes, draw(st.permutations(range(size)))


def on_a_line(spots, proposal, places, fine, group, **more):
    x = np.array(spots, dtype=float)
    return Resolution(np.array(places), np.abs(x[:, None] - x), np.abs(x - proposal), fine, group, **more)


def advance(progress, e, code):
    if code == ADMISSIBLE:
        progress.witness(e)
    elif code == REJECTED:
        progress.reject(e)


def diameter(spots, proposal, places):
    return max((abs(a - b) for a, b in combinations([proposal, *(spots[p] for p in places)], 2)), default=0)


@given(cases())
def test_the_bounds_are_the_diameters_of_survivors_and_of_what_is_not_eliminated(case):
    question, spots, proposal, codes, order = case
    progress = question.begin()
    for k, e in enumerate([None, *order]):
        if e is not None:
            advance(progress, e, codes[e])
        asked = order[:k]
        found = {question.places[i] for i in asked if codes[i] == ADMISSIBLE}
        left = {place for i, place in enumerate(question.places) if i not in asked or codes[i] != REJECTED}
        survivors = {place for i, place in enumerate(question.places) if codes[i] == ADMISSIBLE}
        assert progress.lower == diameter(spots, proposal, found)
        assert progress.upper == diameter(spots, proposal, left)
        assert progress.lower <= diameter(spots, proposal, survivors) <= progress.upper


@given(cases())
def test_labels_and_certificates_follow_from_the_bounds(case):
    question, _, _, codes, order = case
    progress = question.begin()
    for k, e in enumerate(order, 1):
        advance(progress, e, codes[e])
        (answer,) = progress.answers()
        lower, upper = answer.number("lower"), answer.number("upper")
        fine, group = question.delta_fine, question.delta_group
        if all(codes[i] == REJECTED for i in order[:k]) and k == len(order):
            expected, stops = Label.EMPTY, False
        elif lower > group:
            expected, stops = Label.AMBIGUOUS, True
        elif upper <= fine:
            expected, stops = Label.FINE, True
        elif upper <= group:
            expected, stops = Label.GROUP, lower == upper
        else:
            expected, stops = Label.ABSTAIN, False
        assert (answer.label, progress.is_certified) == (expected, stops)
        if answer.label is Label.AMBIGUOUS:
            assert answer.certificate.witnesses
            assert {codes[e] for e in answer.certificate.witnesses} == {ADMISSIBLE}
            assert {*answer.certificate.witnesses} <= {*order[:k]}


@given(cases())
def test_an_ambiguity_is_shown_by_its_witnesses_and_the_proposal_alone(case):
    question, spots, proposal, codes, order = case
    progress = question.begin()
    for e in order:
        advance(progress, e, codes[e])
        (answer,) = progress.answers()
        if answer.label is Label.AMBIGUOUS:
            shown = [question.places[e] for e in answer.certificate.witnesses]
            assert diameter(spots, proposal, shown) > question.delta_group


@given(cases())
def test_full_information_gives_the_exhaustive_label_and_no_prefix_is_unsafe(case):
    question, _, _, codes, order = case
    (exhaustive,) = exhaustive_answers(question, codes)
    progress = question.begin()
    for e in order:
        advance(progress, e, codes[e])
        (answer,) = progress.answers()
        assert compare(answer, exhaustive) is not Comparison.UNSAFE
        if progress.is_certified and exhaustive.label is not Label.EMPTY:
            assert answer.label is exhaustive.label
    assert answer.label is exhaustive.label
    if INDETERMINATE not in codes:
        assert exhaustive.label is not Label.ABSTAIN


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_many_places_in_the_plane_agree_with_recomputation(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(41, 2))
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    places = rng.permutation(np.repeat(np.arange(40), 3))
    question = Resolution(places, apart[:40, :40], apart[40, :40], 0.5, 1.0)
    progress, left, found = question.begin(), np.bincount(places), {40}
    for e in rng.permutation(120).tolist():
        if rng.random() < 0.05:
            progress.witness(e)
            found.add(int(places[e]))
        else:
            progress.reject(e)
            left[places[e]] -= 1
        kept = [*np.flatnonzero(left), 40]
        assert progress.upper == apart[np.ix_(kept, kept)].max()
        assert progress.lower == apart[np.ix_([*found], [*found])].max()


def test_an_indeterminate_explanation_keeps_its_place_possible():
    question = on_a_line([0, 5], 0, [0, 0, 1, 1], 1, 2)
    codes = [ADMISSIBLE, REJECTED, REJECTED, INDETERMINATE]
    (answer,) = exhaustive_answers(question, codes)
    assert (answer.label, answer.cell) == (Label.ABSTAIN, ("place 0", "place 1"))


def test_a_place_without_explanations_never_counts():
    progress = on_a_line([0, 9], 0, [0, 0], 1, 2).begin()
    assert progress.upper == 0.0
    assert progress.answers()[0].cell == ("place 0",)


def test_a_group_stops_when_its_bounds_meet_or_if_allowed_when_no_finer_label_can_come():
    exact, loose = (on_a_line([0, 3, 4], 0, [0, 1, 2], 2, 5, slack=slack).begin() for slack in (1e-12, np.inf))
    for progress in (exact, loose):
        progress.witness(1)
        assert (progress.label, progress.lower, progress.upper) == (Label.GROUP, 3.0, 4.0)
    assert (exact.is_certified, loose.is_certified) == (False, True)
    exact.reject(2)
    assert exact.is_certified


def test_states_of_a_bank_are_places():
    dictionaries = np.stack([np.eye(2), np.eye(2)[::-1]])
    bank = array_bank(dictionaries, [(0,)], deployment=product_grid(noise=[0.5, 1.0]))
    question = Resolution.of_states(bank, 1 - np.eye(2), [0.0, 1.0], delta_fine=0.1, delta_group=0.5)
    assert question.places.tolist() == [0, 0, 1, 1]


def test_the_plug_in_answer_takes_one_place_for_the_only_one():
    question = on_a_line([0, 5], 0, [0, 1], 1, 2)
    assert plugin_answers(question, 0, 2)[0].label is Label.FINE
    (exhaustive,) = exhaustive_answers(question, [ADMISSIBLE, ADMISSIBLE])
    assert compare(plugin_answers(question, 0, 2)[0], exhaustive) is Comparison.UNSAFE


def test_the_description_is_json_and_tells_every_part_of_the_question_apart():
    variants = [
        on_a_line([0, 5], 0, [0, 1], 1, 2),
        on_a_line([0, 4], 0, [0, 1], 1, 2),
        on_a_line([0, 5], 1, [0, 1], 1, 2),
        on_a_line([0, 5], 0, [1, 0], 1, 2),
        on_a_line([0, 5], 0, [0, 1], 0, 2),
        on_a_line([0, 5], 0, [0, 1], 1, 3),
        on_a_line([0, 5], 0, [0, 1], 1, 2, names=("a", "b")),
        on_a_line([0, 5], 0, [0, 1], 1, 2, slack=np.inf),
    ]
    assert len({json.dumps(question.describe(), sort_keys=True) for question in variants}) == len(variants)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fine": 3}, "delta_fine must be at most delta_group = 2, not 3"),
        ({"places": [0, 2]}, "places must lie from 0 to 1, not 2 for explanation 1"),
        ({"places": [0.0, 1.0]}, "places must be a list of whole numbers, not float64"),
        ({"places": np.zeros(0, dtype=int)}, "places must hold at least one whole number, but there is none"),
        ({"names": ("a",)}, "names must be 2 distinct texts"),
        ({"names": ("a", "a")}, "names must be 2 distinct texts"),
        ({"slack": -1.0}, "slack must be at least 0"),
        ({"group": np.nan}, "delta_group must be finite"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(change, message):
    arguments = {"spots": [0, 5], "proposal": 0, "places": [0, 1], "fine": 1, "group": 2} | change
    with pytest.raises(MisuseError, match=message):
        on_a_line(**arguments)


def test_distances_that_are_none_are_refused():
    with pytest.raises(MisuseError, match="distances must be symmetric"):
        Resolution(np.array([0, 1]), np.array([[0.0, 1.0], [2.0, 0.0]]), np.zeros(2), 0.1, 0.2)
    with pytest.raises(MisuseError, match="proposal_distances must be nonnegative"):
        Resolution(np.array([0]), np.zeros((1, 1)), np.array([-1.0]), 0.1, 0.2)
