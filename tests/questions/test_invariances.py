"""Answers depend on the set of verdicts and on what explanations say, and on nothing else."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from physupport import MisuseError
from physupport.banks import table_regions
from physupport.judges import Verdict
from physupport.questions import (
    Claim,
    Comparison,
    Label,
    RegionalMap,
    RegionRule,
    Resolution,
    compare,
    compare_all,
    exhaustive_answers,
    plugin_answers,
    unsettled,
    withheld,
)

NAMES = {"P": ("p0", "p1", "p2", "p3"), "Q": ("q0", "q1")}
CODES = st.lists(st.sampled_from([*Verdict]), min_size=1, max_size=12)


@st.composite
def tables(draw, optional=True):
    """What explanations have in two regions, by name; where elements stand; tolerance and groups."""
    size = draw(st.integers(1, 12))
    columns = {
        region: draw(st.lists(st.sampled_from([*names, None] if optional else names), min_size=size, max_size=size))
        for region, names in NAMES.items()
    }
    columns["P"][0] = columns["P"][0] or "p0"  # a region has an element
    columns["Q"][0] = columns["Q"][0] or "q0"
    places = {region: {name: float(draw(st.integers(0, 6))) for name in names} for region, names in NAMES.items()}
    tolerance = draw(st.sampled_from([0.0, 1.0, 3.0]))
    codes = draw(st.lists(st.sampled_from([*Verdict]), min_size=size, max_size=size))
    return columns, places, tolerance, np.array(codes)


def question(columns, places, tolerance, scale=1.0, **options):
    there = {region: {*column} - {None} for region, column in columns.items()}
    scaled = {region: {name: scale * x for name, x in found.items() if name in there[region]}
              for region, found in places.items()}  # fmt: skip
    view = table_regions(columns, coordinates=scaled)
    pair = sorted(there["P"])[:2]
    rules = {"P": RegionRule(scale * tolerance, groups={"pair": pair}, **options), "Q": RegionRule(scale * tolerance)}
    return RegionalMap(view, rules)


def said(answers):
    """Labels with what they are about, whatever the order of names and explanations."""
    return [(a.field, a.label, frozenset(a.cell), a.group) for a in answers]


@settings(max_examples=80)
@given(tables(), st.randoms(use_true_random=False))
def test_explanations_in_another_order_have_the_same_answers(table, random):
    columns, places, tolerance, codes = table
    order = [*range(len(codes))]
    random.shuffle(order)
    shuffled = {region: [column[i] for i in order] for region, column in columns.items()}
    one, two = question(columns, places, tolerance), question(shuffled, places, tolerance)
    assert said(exhaustive_answers(one, codes)) == said(exhaustive_answers(two, codes[order]))


@settings(max_examples=60)
@given(tables(), st.data())
def test_an_explanation_that_is_listed_twice_changes_nothing(table, data):
    columns, places, tolerance, codes = table
    twice = data.draw(st.integers(0, len(codes) - 1))
    double = {region: [*column, column[twice]] for region, column in columns.items()}
    one, two = question(columns, places, tolerance), question(double, places, tolerance)
    assert said(exhaustive_answers(one, codes)) == said(exhaustive_answers(two, np.append(codes, codes[twice])))


@settings(max_examples=60)
@given(tables(), st.sampled_from([1e-3, 0.5, 1024.0]))
def test_the_unit_of_places_does_not_matter(table, scale):
    columns, places, tolerance, codes = table
    one, two = question(columns, places, tolerance), question(columns, places, tolerance, scale)
    assert said(exhaustive_answers(one, codes)) == said(exhaustive_answers(two, codes))


@settings(max_examples=60)
@given(tables(), st.randoms(use_true_random=False))
def test_verdicts_told_in_another_order_or_all_at_once_end_in_the_same_answers(table, random):
    columns, places, tolerance, codes = table
    asked, order = question(columns, places, tolerance), [*range(len(codes))]
    together, one_by_one = asked.begin(), asked.begin()
    together.inform(np.arange(len(codes)), codes)
    random.shuffle(order)
    for e in order:
        one_by_one.inform(np.array([e]), codes[[e]])
    assert said(together.answers()) == said(one_by_one.answers())
    assert together.is_certified == one_by_one.is_certified
    assert together.open_fields() == one_by_one.open_fields()


@settings(max_examples=80)
@given(tables(), st.data())
def test_a_wider_tolerance_never_takes_a_fine_answer_away(table, data):
    columns, places, tolerance, codes = table
    wider = data.draw(st.sampled_from([tolerance, tolerance + 1.0, 100.0]))
    near, far = (exhaustive_answers(question(columns, places, width), codes) for width in (tolerance, wider))
    for one, two in zip(near, far, strict=True):
        if one.label is Label.FINE:
            assert two.label is Label.FINE
        if one.label in (Label.ABSENT, Label.EMPTY, Label.SUPPORT_AMBIGUOUS):
            assert two.label is one.label  # distances have no part in these


@settings(max_examples=80)
@given(tables(), st.data())
def test_one_more_rejection_never_makes_a_true_statement_false(table, data):
    """Whatever was said of all that is left is true of less, too; the cell shrinks, and a group stays one around it."""
    columns, places, tolerance, codes = table
    left = np.flatnonzero(codes != Verdict.REJECTED).tolist()
    if not left:
        return
    fewer = codes.copy()
    fewer[data.draw(st.sampled_from(left))] = Verdict.REJECTED
    asked = question(columns, places, tolerance)
    before, after = exhaustive_answers(asked, codes), exhaustive_answers(asked, fewer)
    for one, two in zip(before, after, strict=True):
        assert {*two.cell} <= {*one.cell}
        if one.label.is_truth_level:
            assert compare(one, two) is not Comparison.UNSAFE
            assert two.label.is_truth_level or two.label is Label.EMPTY


@settings(max_examples=80)
@given(tables())
def test_exhaustive_labels_are_those_of_their_definitions(table):
    columns, places, tolerance, codes = table
    codes = np.where(codes == Verdict.INDETERMINATE, Verdict.REJECTED, codes)
    answers = exhaustive_answers(question(columns, places, tolerance), codes)
    kept = np.flatnonzero(codes == Verdict.ADMISSIBLE).tolist()
    for answer in answers:
        column, where = columns[answer.field], places[answer.field]
        there = [column[e] for e in kept]
        elements = {*there} - {None}
        spread = max((abs(where[a] - where[b]) for a, b in combinations(elements, 2)), default=0.0)
        if not kept:
            expected = Label.EMPTY
        elif not elements:
            expected = Label.ABSENT
        elif None in there:
            expected = Label.SUPPORT_AMBIGUOUS
        elif spread <= tolerance:
            expected = Label.FINE
        else:
            named = answer.field == "P" and elements <= {*sorted({*columns["P"]} - {None})[:2]}
            expected = Label.GROUP if named or answer.label is Label.GROUP else Label.LOCAL_AMBIGUOUS
        assert answer.label is expected
        assert {*answer.cell} == elements


@settings(max_examples=60)
@given(tables(), st.data())
def test_the_reading_of_one_explanation_says_what_that_one_says(table, data):
    columns, places, tolerance, codes = table
    e = data.draw(st.integers(0, len(codes) - 1))
    for answer in plugin_answers(question(columns, places, tolerance), e, len(codes)):
        own = columns[answer.field][e]
        assert answer.label is (Label.FINE if own else Label.ABSENT)
        assert answer.cell == ((own,) if own else ())


@settings(max_examples=80)
@given(tables(), st.data())
def test_claims_are_true_of_explanations_one_by_one(table, data):
    columns, places, tolerance, codes = table
    present = [{columns["P"][e], columns["Q"][e]} - {None} for e in range(len(codes))]
    known = sorted(set.union(*present))
    names = data.draw(st.sets(st.sampled_from(known), min_size=1, max_size=4))
    counts = [len(has & names) for has in present]
    wanted = {"any": lambda n: n >= 1, "all": lambda n: n == len(names), "exactly_one": lambda n: n == 1}
    asked = question(columns, places, tolerance)
    claims = {kind: Claim(kind, tuple(sorted(names))) for kind in wanted}
    found = RegionalMap(asked.view, asked.rules, claims).claims(np.arange(len(codes)))
    for kind, is_so in wanted.items():
        assert found[kind].tolist() == [is_so(count) for count in counts]


def test_claims_about_what_no_region_has_are_refused():
    view = table_regions({"P": ["p0", "p1"]})
    with pytest.raises(
        MisuseError, match="claims must name elements or groups of regions that are asked about, not 'q7'"
    ):
        RegionalMap(view, None, {"claim": Claim("any", ("p0", "q7"))})


@pytest.mark.parametrize(
    ("kind", "of", "message"),
    [
        ("some", ("a",), "kind must be one of any, all, exactly_one, not 'some'"),
        ("any", (), "of must name at least one element or group, each once"),
        ("any", ("a", "a"), "of must name at least one element or group, each once"),
    ],
)
def test_claims_of_no_sense_are_refused(kind, of, message):
    with pytest.raises(MisuseError, match=message):
        Claim(kind, of)


# --------------------------------------------------------------------------------------------------------- resolutions


@settings(max_examples=80)
@given(CODES, st.integers(1, 5), st.data())
def test_labels_of_a_resolution_are_those_of_its_distances(codes, count, data):
    """The diameter of what is left together with the proposal: FINE up to 1, GROUP up to 4, else AMBIGUOUS."""
    codes = np.array([code if code != Verdict.INDETERMINATE else Verdict.REJECTED for code in codes])
    places = np.array(data.draw(st.lists(st.integers(0, count - 1), min_size=len(codes), max_size=len(codes))))
    x = np.array(data.draw(st.lists(st.integers(0, 8), min_size=count, max_size=count)), dtype=float)
    asked = Resolution(places, np.abs(x[:, None] - x), np.abs(x - x[0]), 1.0, 4.0)
    (answer,) = exhaustive_answers(asked, codes)
    kept = x[places[codes == Verdict.ADMISSIBLE]]
    if not kept.size:
        assert answer.label is Label.EMPTY
        return
    width = np.ptp([*kept, x[0]])
    assert answer.label is (Label.FINE if width <= 1.0 else Label.GROUP if width <= 4.0 else Label.AMBIGUOUS)
    assert dict(answer.numbers) == {"lower": width, "upper": width}
    order = np.random.default_rng(0).permutation(len(codes))
    turned = Resolution(places[order], np.abs(x[:, None] - x), np.abs(x - x[0]), 1.0, 4.0)
    assert exhaustive_answers(turned, codes[order])[0].label is answer.label


# --------------------------------------------------------------------------------------------------------- comparisons


def test_answers_are_compared_about_one_field_and_as_many():
    view = table_regions({"P": ["p0", "p1"], "Q": ["q0", None]})
    answers = exhaustive_answers(RegionalMap(view), [0, 1])
    with pytest.raises(MisuseError, match="exhaustive must be about the field 'P', not 'Q'"):
        compare(answers[0], answers[1])
    with pytest.raises(MisuseError, match="exhaustive must have 2 fields, not 1"):
        compare_all(answers, answers[:1])
    assert compare_all(answers, answers) == (Comparison.MATCH, Comparison.MATCH)


def test_what_is_withheld_says_nothing_but_that_nothing_fits():
    view = table_regions({"P": ["p0", "p1"]})
    fine, empty = (exhaustive_answers(RegionalMap(view), codes)[0] for codes in ([0, 1], [1, 1]))
    held = withheld(fine)
    assert (held.label, held.group, held.certificate.kind) == (Label.ABSTAIN, None, "withheld")
    assert held.cell == fine.cell
    assert withheld(empty) is empty
    assert compare(held, fine) is Comparison.ABSTENTION
    assert unsettled((fine,), is_certified=True) == ()
    assert unsettled((empty,), is_certified=False) == ()


@pytest.mark.parametrize(
    ("verdicts", "message"),
    [
        ([0], "verdicts must be about the 2 explanations of the question, not 1"),
        ([0, 3], "verdicts must be a list of Verdict codes"),
        ([[0, 1]], "verdicts must be a list of Verdict codes"),
    ],
)
def test_verdicts_that_are_none_or_of_another_bank_are_refused(verdicts, message):
    with pytest.raises(MisuseError, match=message):
        exhaustive_answers(RegionalMap(table_regions({"P": ["p0", "p1"]})), verdicts)
    with pytest.raises(MisuseError, match="explanation must be a whole number between 0 and 1"):
        plugin_answers(RegionalMap(table_regions({"P": ["p0", "p1"]})), 2, 2)
