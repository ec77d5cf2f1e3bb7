"""Comparison with the exhaustive answers, and the order of labels."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from physupport import MisuseError
from physupport.banks import table_regions
from physupport.judges import Verdict
from physupport.questions import (
    Comparison,
    Label,
    RegionalMap,
    RegionRule,
    compare,
    compare_all,
    exhaustive_answers,
    plugin_answers,
)

ADMISSIBLE, REJECTED, INDETERMINATE = Verdict.ADMISSIBLE, Verdict.REJECTED, Verdict.INDETERMINATE
MATCH, SAFE, ABSTENTION, UNSAFE = Comparison

VIEW = table_regions(
    {"B": ["b1", "b2", "b3", "b1", "b2", "b3"], "C": ["c", "c", "c", None, None, None]},
    coordinates={"B": {"b1": 0.0, "b2": 1.0, "b3": 5.0}, "C": {"c": 0.0}},
    strengths={"B": [1.0] * 6, "C": [0.2, 0.2, 0.9, 0.0, 0.0, 0.0]},
)
FINEST = RegionalMap(VIEW, {"B": RegionRule(tolerance=0.5, groups={"low": ["b1", "b2"]}), "C": RegionRule()})


def exhaustive(*admissible, question=FINEST):
    return exhaustive_answers(question, [ADMISSIBLE if e in admissible else REJECTED for e in range(6)])


def at(question, *, rejected=(), witnessed=()):
    progress = question.begin()
    for e in rejected:
        progress.reject(e)
    for e in witnessed:
        progress.witness(e)
    return progress.answers()


def test_the_same_label_is_a_match():
    assert compare_all(exhaustive(0, 4), exhaustive(0, 4)) == (MATCH, MATCH)


def test_a_larger_group_or_a_coarser_label_is_a_safe_coarsening():
    nothing_known = at(FINEST)
    assert nothing_known[0].group == "B"
    assert compare(nothing_known[0], exhaustive(0, 1)[0]) is SAFE  # GROUP of B, where it is GROUP of the low ones
    assert compare(nothing_known[0], exhaustive(0)[0]) is SAFE
    assert compare(nothing_known[1], exhaustive(0)[1]) is ABSTENTION


def test_a_local_ambiguity_is_true_of_a_group_and_says_less():
    question = RegionalMap(VIEW, {"B": RegionRule(tolerance=0.5, asks=("fine", "ambiguity"))})
    answer = at(question, witnessed=[0, 1])[0]
    assert answer.label is Label.LOCAL_AMBIGUOUS
    assert compare(answer, exhaustive(0, 1)[0]) is SAFE
    assert compare(answer, exhaustive(0)[0]) is UNSAFE


def test_a_point_valued_reading_is_unsafe_where_the_profile_says_less():
    plugin = plugin_answers(FINEST, 0, 6)
    assert [answer.label for answer in plugin] == [Label.FINE, Label.FINE]
    assert compare_all(plugin, exhaustive(0, 1, 3)) == (UNSAFE, UNSAFE)
    assert compare_all(plugin, exhaustive(0)) == (MATCH, MATCH)
    absent = plugin_answers(FINEST, 3, 6)
    assert absent[1].label is Label.ABSENT
    assert compare_all(absent, exhaustive(0, 3)) == (MATCH, UNSAFE)


def test_a_wrong_fine_cell_is_unsafe_though_the_label_agrees():
    assert compare(exhaustive(1)[0], exhaustive(0)[0]) is UNSAFE


def test_of_an_empty_profile_truth_level_labels_are_true_and_ambiguities_are_not():
    empty = exhaustive()
    assert compare_all(empty, empty) == (MATCH, MATCH)
    assert compare_all(exhaustive(0), empty) == (SAFE, SAFE)
    assert compare(exhaustive(0, 3)[1], empty[1]) is UNSAFE
    assert compare(empty[0], exhaustive(0)[0]) is UNSAFE


def test_under_a_threshold_absence_and_presence_of_something_weak_are_both_true():
    question = RegionalMap(VIEW, {"C": RegionRule(absence_threshold=0.5)})
    weak = exhaustive(0, 1, question=question)[0]
    assert weak.label is Label.ABSENT
    present = at(question, rejected=[3, 4, 5])[0]
    assert present.label is Label.FINE
    assert compare(present, weak) is SAFE
    assert compare(weak, exhaustive(0, 2, question=question)[0]) is UNSAFE


@given(st.lists(st.sampled_from([*Verdict]), min_size=6, max_size=6), st.permutations(range(6)), st.data())
@settings(max_examples=60)
def test_what_a_run_says_is_never_unsafe_and_never_of_higher_rank(codes, order, data):
    asks = st.sampled_from(["finest", ("fine", "ambiguity"), ("presence", "absence"), ("fine", "group")])
    threshold = data.draw(st.sampled_from([None, 0.5]))
    rules = {
        region: RegionRule(tolerance=0.5, asks=data.draw(asks), absence_threshold=threshold if region == "C" else None)
        for region in "BC"
    }
    question = RegionalMap(VIEW, rules)
    reference = exhaustive_answers(question, codes)
    progress = question.begin()
    for e in order:
        if codes[e] == ADMISSIBLE:
            progress.witness(e)
        elif codes[e] == REJECTED:
            progress.reject(e)
        for here, there in zip(progress.answers(), reference, strict=True):
            assert compare(here, there) is not UNSAFE
            assert here.label.rank <= there.label.rank or there.label is Label.EMPTY


def test_a_finer_claim_than_the_profile_bears_is_caught():
    group = exhaustive(0, 1)[0]
    assert compare(replace(group, label=Label.FINE), group) is UNSAFE
    assert compare(replace(group, cell=("b1",)), group) is UNSAFE
    assert compare(replace(group, label=Label.ABSENT), group) is UNSAFE
    assert compare(replace(group, label=Label.SUPPORT_AMBIGUOUS), group) is UNSAFE
    assert compare(replace(group, label=Label.AMBIGUOUS), group) is UNSAFE


def test_labels_are_truth_level_or_not():
    assert {label for label in Label if label.is_truth_level} == {Label.FINE, Label.GROUP, Label.ABSENT}


def test_the_order_of_labels_is_that_of_the_study():
    studied = [Label.ABSTAIN, Label.SUPPORT_AMBIGUOUS, Label.LOCAL_AMBIGUOUS, Label.GROUP, Label.ABSENT, Label.FINE]
    assert [label.rank for label in studied] == [0, 1, 2, 3, 4, 4]


def test_answers_about_different_fields_are_not_compared():
    first, second = exhaustive(0)
    with pytest.raises(MisuseError, match="exhaustive must be about the field 'B', not 'C'"):
        compare(first, second)
    with pytest.raises(MisuseError, match="exhaustive must have 1 fields, not 2"):
        compare_all((first,), (first, second))


def test_verdicts_that_are_none_are_refused():
    with pytest.raises(MisuseError, match="verdicts must be a list of Verdict codes"):
        exhaustive_answers(FINEST, [0, 1, 2, 3, 0, 0])
    with pytest.raises(MisuseError, match="verdicts must be a list of Verdict codes"):
        exhaustive_answers(FINEST, np.zeros((6, 1), dtype=int))
    with pytest.raises(MisuseError, match="explanation must be a whole number between 0 and 5"):
        plugin_answers(FINEST, 6, 6)


@pytest.mark.parametrize("size", [5, 7])
def test_verdicts_on_another_number_of_explanations_are_refused(size):
    with pytest.raises(MisuseError, match=f"verdicts must be about the 6 explanations of the question, not {size}"):
        exhaustive_answers(FINEST, [0] * size)
    with pytest.raises(MisuseError, match=f"n_explanations must be about the 6 explanations .*, not {size}"):
        plugin_answers(FINEST, 0, size)
