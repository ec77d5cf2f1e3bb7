"""Labels of regions: safe at every prefix, as fine as they can be, and those of the four-region study."""

import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from physupport import MisuseError
from physupport.banks import Library, bank_regions, library_bank, listed_regions, table_regions
from physupport.judges import Verdict
from physupport.questions import Label, RegionalMap, RegionRule, exhaustive_answers

ADMISSIBLE, REJECTED, INDETERMINATE = Verdict.ADMISSIBLE, Verdict.REJECTED, Verdict.INDETERMINATE
ASKS = ("fine", "group", "presence", "absence", "ambiguity")


# ---- random questions, verdicts and prefixes


@st.composite
def questions(draw, asks="finest"):
    """A random table of explanations with a rule for each region; tolerances meet distances exactly at times."""
    size = draw(st.integers(1, 10))
    elements, places, columns, strengths, rules = {}, {}, [], [], {}
    for j in range(draw(st.integers(1, 3))):
        region, count = "ABC"[j], draw(st.integers(1, 4))
        names = tuple(f"{region}{i}" for i in range(count))
        least = draw(st.sampled_from([-1, 0]))
        column = draw(st.lists(st.integers(least, count - 1), min_size=size, max_size=size))
        loud = draw(st.lists(st.sampled_from([0.25, 1.0]), min_size=size, max_size=size))
        elements[region] = names
        places[region] = np.array(draw(st.lists(st.integers(0, 5), min_size=count, max_size=count)), float)[:, None]
        columns.append(column)
        strengths.append([value if i >= 0 else 0.0 for i, value in zip(column, loud, strict=True)])
        rules[region] = RegionRule(
            tolerance=draw(st.sampled_from([0.0, 1.0, 2.5])),
            groups=draw(st.sampled_from([None, {"low": names[:2]}, {"all": {"one": names[:1], "two": names}}])),
            asks=draw(st.lists(st.sampled_from(ASKS), min_size=1, unique=True).map(tuple)) if asks == "any" else asks,
            absence_threshold=draw(st.sampled_from([None, None, 0.5])),
            absent_witness=draw(st.sampled_from(["any", "persistent_only"])) if asks == "any" else "any",
        )  # fmt: skip
    view = listed_regions(elements, np.array(columns).T, np.array(strengths).T, places)
    return RegionalMap(view, rules)


def verdict_runs(question, data):
    size = question.view.n_explanations
    codes = data.draw(st.lists(st.sampled_from([*Verdict]), min_size=size, max_size=size))
    order = data.draw(st.permutations(range(size)))
    return codes, order


def advance(progress, e, code):
    if code == ADMISSIBLE:
        progress.witness(e)
    elif code == REJECTED:
        progress.reject(e)


class Reading:
    """One region read off plain sets of explanations, by the definitions and without any bookkeeping."""

    def __init__(self, question, region, explanations):
        view, j = question.view, question.view.regions.index(region)
        self.rule, self.names = question.rules[region], view.sets[region].names
        chosen = sorted(explanations)
        self.where = view.locate(chosen)[:, j].tolist() if chosen else []
        self.strengths = view.strengths(chosen)[:, j].tolist() if chosen else []
        self.spots = view.sets[region].coordinates[:, 0]

    def is_present_in_all(self):
        return -1 not in self.where

    def cell(self):
        return {self.names[i] for i in self.where if i >= 0}

    def spread(self):
        spots = [self.spots[i] for i in self.where if i >= 0]
        return max((abs(a - b) for a, b in combinations(spots, 2)), default=0.0)

    def is_absent_in_all(self):
        bound = self.rule.absence_threshold
        return all(value < (np.nextafter(0, 1) if bound is None else bound) for value in self.strengths)


def groups_of(rule, region, names):
    found = {region: {*names}}

    def walk(groups):
        members = set()
        for name, content in groups.items():
            found[name] = walk(content) if isinstance(content, dict) else {*content}
            members |= found[name]
        return members

    walk(rule.groups or {})
    return found


def assert_true_of(answer, question, explanations):
    """A truth-level label holds for every one of these explanations."""
    reading = Reading(question, answer.field, explanations)
    rule = question.rules[answer.field]
    if answer.label is Label.ABSENT:
        assert reading.is_absent_in_all()
    if answer.label in (Label.FINE, Label.GROUP):
        assert reading.is_present_in_all()
        assert reading.cell() <= {*answer.cell}
        assert {*answer.cell} <= groups_of(rule, answer.field, reading.names)[answer.group]
    if answer.label is Label.FINE:
        assert reading.spread() <= rule.tolerance


def assert_witnessed(answer, question, witnessed):
    first, second = answer.certificate.witnesses
    assert {first, second} <= witnessed
    pair = [Reading(question, answer.field, {e}) for e in (first, second)]
    if answer.label is Label.SUPPORT_AMBIGUOUS:
        assert [each.is_present_in_all() for each in pair] == [True, False]
        if question.rules[answer.field].absent_witness == "persistent_only":
            assert question.view.persistent_only([second]).all()
    else:
        both = Reading(question, answer.field, {first, second})
        assert both.is_present_in_all()
        assert both.spread() > question.rules[answer.field].tolerance


@settings(max_examples=40)
@given(question=questions(asks="any"), data=st.data())
def test_at_every_prefix_truth_level_labels_hold_for_all_that_is_possible_and_ambiguities_have_witnesses(
    question, data
):
    codes, order = verdict_runs(question, data)
    profile = {e for e, code in enumerate(codes) if code == ADMISSIBLE}
    progress, possible, witnessed = question.begin(), {*range(len(codes))}, set()
    for e in [None, *order]:
        if e is not None:
            advance(progress, e, codes[e])
            possible -= {e} if codes[e] == REJECTED else set()
            witnessed |= {e} if codes[e] == ADMISSIBLE else set()
        assert witnessed <= profile <= possible
        for answer in progress.answers():
            assert (answer.label is Label.EMPTY) == (not possible)
            if answer.label.is_truth_level:
                assert answer.certificate.kind == "universal"
                assert_true_of(answer, question, possible)
                assert_true_of(answer, question, profile)
            elif "AMBIGUOUS" in answer.label:
                assert answer.certificate.kind == "witnesses"
                assert_witnessed(answer, question, witnessed)
            elif answer.label is Label.ABSTAIN:
                assert answer.certificate.kind == "open"


@settings(max_examples=40)
@given(question=questions(), data=st.data())
def test_a_fine_label_names_the_smallest_group_around_it(question, data):
    codes, order = verdict_runs(question, data)
    progress = question.begin()
    for e in order:
        advance(progress, e, codes[e])
        for answer in progress.answers():
            rule, names = question.rules[answer.field], question.view.sets[answer.field].names
            groups = groups_of(rule, answer.field, names)
            sizes = {name: len(members) for name, members in groups.items() if {*answer.cell} <= members}
            if answer.label in (Label.FINE, Label.GROUP):
                assert sizes[answer.group] == min(sizes.values())


@settings(max_examples=40)
@given(question=questions(), data=st.data())
def test_full_information_gives_the_exhaustive_label_and_leaves_nothing_open(question, data):
    codes, order = verdict_runs(question, data)
    codes = [REJECTED if code == INDETERMINATE else code for code in codes]
    progress = question.begin()
    for e in order:
        advance(progress, e, codes[e])
    profile = {e for e, code in enumerate(codes) if code == ADMISSIBLE}
    labels = [answer.label for answer in exhaustive_answers(question, codes)]
    assert list(progress.labels) == labels
    assert progress.is_certified == bool(profile)
    for region, label in zip(question.regions, labels, strict=True):
        reading = Reading(question, region, profile)
        if not profile:
            expected = Label.EMPTY
        elif reading.is_absent_in_all():
            expected = Label.ABSENT
        elif not reading.is_present_in_all():
            expected = Label.SUPPORT_AMBIGUOUS
        else:
            expected = Label.FINE if reading.spread() <= reading.rule.tolerance else Label.GROUP
        assert label is expected


@settings(max_examples=40)
@given(question=questions(), data=st.data())
def test_once_certified_the_finest_labels_are_those_of_the_exhaustive_profile(question, data):
    codes, order = verdict_runs(question, data)
    profile_only = [code if code == ADMISSIBLE else REJECTED for code in codes]
    exhaustive = exhaustive_answers(question, profile_only)
    progress = question.begin()
    for e in order:
        advance(progress, e, codes[e])
        if progress.is_certified and ADMISSIBLE in codes:
            found = progress.answers()
            assert [answer.label for answer in found] == [answer.label for answer in exhaustive]
            for here, there in zip(found, exhaustive, strict=True):
                # A fine cell, or something too weak to count, may still be narrowed down; a group may not.
                assert here.label is not Label.GROUP or here.group == there.group


@settings(max_examples=40)
@given(question=questions(), data=st.data())
def test_a_further_verdict_never_lowers_the_rank_of_the_finest_label(question, data):
    codes, order = verdict_runs(question, data)
    progress = question.begin()
    before = progress.labels
    for e in order:
        advance(progress, e, codes[e])
        if progress.n_possible:
            assert all(old.rank <= new.rank for old, new in zip(before, progress.labels, strict=True))
        before = progress.labels


@settings(max_examples=40)
@given(question=questions(), data=st.data())
def test_empty_is_said_only_when_all_are_rejected_and_then_of_every_region(question, data):
    codes, order = verdict_runs(question, data)
    progress = question.begin()
    for e in order:
        advance(progress, e, codes[e])
    is_empty = all(code == REJECTED for code in codes)
    assert [label is Label.EMPTY for label in progress.labels] == [is_empty] * len(question.regions)
    assert not (is_empty and progress.is_certified)


def state_of(progress):
    facts = [
        (answer.field, answer.label, answer.cell, answer.group, answer.numbers, answer.certificate.kind)
        for answer in progress.answers()
    ]
    counts = [(state.possible, state.witnessed, state.diameter, state.is_settled) for state in progress.states]
    return facts, counts, progress.is_certified, progress.n_possible


@settings(max_examples=40)
@given(question=questions(asks="any"), data=st.data())
def test_the_state_depends_on_the_sets_alone_and_not_on_the_way_there(question, data):
    codes, order = verdict_runs(question, data)
    progress = question.begin()
    for k, e in enumerate(order, 1):
        advance(progress, e, codes[e])
        if data.draw(st.booleans()):
            state_of(progress)  # looking must not matter
        again = question.begin()
        for other in sorted(order[:k], key=lambda e: (codes[e], -e)):
            advance(again, other, codes[other])
        assert state_of(again) == state_of(progress)


@settings(max_examples=40)
@given(question=questions(asks="any"), data=st.data())
def test_counts_are_those_of_the_explanations(question, data):
    codes, order = verdict_runs(question, data)
    prefix = data.draw(st.integers(0, len(order)))
    progress = question.begin()
    for e in order[:prefix]:
        advance(progress, e, codes[e])
    possible = [e for e in range(len(codes)) if e not in order[:prefix] or codes[e] != REJECTED]
    witnessed = [e for e in order[:prefix] if codes[e] == ADMISSIBLE]
    for chosen, counts in ((possible, "possible"), (witnessed, "witnessed")):
        slots = question.slots(np.array(chosen, dtype=np.int64)).reshape(-1, len(question.regions))
        for j, state in enumerate(progress.states):
            expected = np.bincount(slots[:, j] + 1, minlength=len(state.possible))
            assert getattr(state, counts) == np.roll(expected, -1).tolist()


@settings(max_examples=40)
@given(question=questions(asks="any"), data=st.data())
def test_the_foretold_effect_of_a_rejection_is_what_happens(question, data):
    codes, order = verdict_runs(question, data)
    prefix = data.draw(st.integers(0, len(order) - 1))
    progress = question.begin()
    for e in order[:prefix]:
        advance(progress, e, codes[e])
    for e in order[prefix:]:
        other = question.begin()
        for past in order[:prefix]:
            advance(other, past, codes[past])
        other.reject(e)
        gain = sum(label.rank for label in other.labels) - sum(label.rank for label in progress.labels)
        assert progress.rank_gain(e) == gain
        assert progress.diameter_drop(e) == progress.diameter - other.diameter


# ---- the four-region study

LOCATIONS = {
    "A": [0.10, 0.20],
    "B": [0.405, 0.435, 0.465, 0.495],
    "C": [0.64, 0.70, 0.76],
    "D": [0.86, 0.91, 0.96],
}
TOLERANCE = {"A": 0.035, "B": 0.020, "C": 0.035, "D": 0.030}


def four_region_view():
    sensors = (np.arange(16) + 0.5) / 16
    places = [(region, x) for region, xs in LOCATIONS.items() for x in xs]
    away = sensors[:, None] - np.array([x for _, x in places])
    responses = np.exp(-(away**2) / (2 * 0.085**2)) + 0.12 * np.cos(2 * np.pi * away)
    responses /= np.linalg.norm(responses, axis=0)
    names = [f"{region}{LOCATIONS[region].index(x)}" for region, x in places]
    library = Library(names, [region for region, _ in places], [[x] for _, x in places], responses)
    bank = library_bank(library, ["AB", "ABC", "ABD"], {"A": 1.0, "B": 0.8, "C": 0.1, "D": 1.0})
    return bank_regions(bank)


def four_region_map(view):
    asks = {"A": ("fine", "ambiguity"), "B": ("fine", "group")}
    optional = ("ambiguity", "absence", "fine", "group")
    return RegionalMap(
        view,
        {
            region: RegionRule(
                tolerance=TOLERANCE[region],
                asks=asks.get(region, optional),
                absent_witness="persistent_only" if region == "C" else "any",
            )
            for region in "ABCD"
        },
    )


def published_columns():
    """Support and locations of the 216 explanations, written out from the order of the study."""
    rows = []
    for a in LOCATIONS["A"]:
        for b in LOCATIONS["B"]:
            for c in LOCATIONS["C"]:
                for d in LOCATIONS["D"]:
                    for support in ("AB", "ABC", "ABD"):
                        rows.append((support, {"A": a, "B": b, "C": c, "D": d}))  # noqa: PERF401
    return rows


ROWS = published_columns()


def spread(chosen, region):
    found = [ROWS[e][1][region] for e in chosen if region in ROWS[e][0]]
    return max(found) - min(found) if found else 0.0


def published_label(region, possible, witnessed):
    if not possible:
        return Label.EMPTY
    is_fine = spread(possible, region) <= TOLERANCE[region]
    if region == "A":
        if is_fine:
            return Label.FINE
        return Label.LOCAL_AMBIGUOUS if spread(witnessed, "A") > TOLERANCE["A"] else Label.ABSTAIN
    if region == "B":
        return Label.FINE if is_fine else Label.GROUP
    with_it = [e for e in witnessed if region in ROWS[e][0]]
    without = [e for e in witnessed if (ROWS[e][0] == "AB" if region == "C" else region not in ROWS[e][0])]
    if with_it and without:
        return Label.SUPPORT_AMBIGUOUS
    if not any(region in ROWS[e][0] for e in possible):
        return Label.ABSENT
    if any(region not in ROWS[e][0] for e in possible):
        return Label.ABSTAIN
    return Label.FINE if is_fine else Label.GROUP


def published_exhaustive(region, profile):
    if not profile:
        return Label.EMPTY
    supports = {region in ROWS[e][0] for e in profile}
    if len(supports) == 2:
        return Label.SUPPORT_AMBIGUOUS
    if supports == {False}:
        return Label.ABSENT
    return Label.FINE if spread(profile, region) <= TOLERANCE[region] else Label.GROUP


FOUR_REGIONS = four_region_view()


def random_profile(rng):
    """Verdicts of the shapes that data give: some states and supports survive, and any others now and then."""
    near = {
        region: rng.choice(xs, size=rng.integers(1, len(xs) + 1), replace=False) for region, xs in LOCATIONS.items()
    }
    supports = rng.choice(["AB", "ABC", "ABD"], size=rng.integers(1, 4), replace=False)
    keeps = np.array([support in supports and all(x in near[r] for r, x in where.items()) for support, where in ROWS])
    codes = np.where(keeps, ADMISSIBLE, REJECTED)
    return np.where(rng.random(216) < rng.choice([0.0, 0.05]), INDETERMINATE, codes)


@pytest.mark.parametrize("seed", range(25))
def test_the_labels_of_the_four_region_study_are_a_choice_of_rules(seed):
    rng = np.random.default_rng(seed)
    codes, order = random_profile(rng), rng.permutation(216).tolist()
    progress, possible, witnessed = four_region_map(FOUR_REGIONS).begin(), {*range(216)}, set()
    for e in order:
        advance(progress, e, codes[e])
        possible -= {e} if codes[e] == REJECTED else set()
        witnessed |= {e} if codes[e] == ADMISSIBLE else set()
        expected = tuple(published_label(region, possible, witnessed) for region in "ABCD")
        assert progress.labels == expected
        assert progress.is_certified == (bool(possible) and Label.ABSTAIN not in expected)


@pytest.mark.parametrize("seed", range(25))
def test_the_exhaustive_labels_of_the_four_region_study_follow_from_the_survivors_alone(seed):
    codes = random_profile(np.random.default_rng(seed))
    codes = np.where(codes == INDETERMINATE, REJECTED, codes)
    answers = exhaustive_answers(four_region_map(FOUR_REGIONS), codes)
    profile = np.flatnonzero(codes == ADMISSIBLE).tolist()
    assert [answer.label for answer in answers] == [published_exhaustive(region, profile) for region in "ABCD"]


@pytest.mark.parametrize("seed", range(5))
def test_the_diameter_of_a_set_of_explanations_is_that_of_the_study(seed):
    rng = np.random.default_rng(seed)
    progress, possible = four_region_map(FOUR_REGIONS).begin(), {*range(216)}
    for e in rng.permutation(216)[:-1].tolist():
        progress.reject(e)
        possible -= {e}
        present = {region: {region in ROWS[i][0] for i in possible} for region in "ABCD"}
        assert progress.diameter == max(1.0 if len(present[r]) == 2 else spread(possible, r) for r in "ABCD")


# ---- single cases

VIEW = table_regions(
    {"left": ["a", "b", "c", "d"], "right": ["x", None, "x", None]},
    coordinates={"left": {"a": 0.0, "b": 1.0, "c": 5.0, "d": 6.0}, "right": {"x": (0.0, 0.0)}},
    strengths={"left": [1.0] * 4, "right": [0.2, 0.0, 0.9, 0.0]},
)


def answer_of(question, region, *, rejected=(), witnessed=()):
    progress = question.begin()
    for e in rejected:
        progress.reject(e)
    for e in witnessed:
        progress.witness(e)
    return next(answer for answer in progress.answers() if answer.field == region)


def test_nested_groups_narrow_from_region_to_sector_to_cell():
    groups = {"west": {"far west": ["a"], "mid west": ["b"]}, "east": ["c", "d"]}
    question = RegionalMap(VIEW, {"left": RegionRule(tolerance=0.5, groups=groups)})
    assert answer_of(question, "left").group == "left"
    west = answer_of(question, "left", rejected=[2, 3])
    assert (west.label, west.group, west.cell) == (Label.GROUP, "west", ("a", "b"))
    cell = answer_of(question, "left", rejected=[1, 2, 3])
    assert (cell.label, cell.group, cell.cell) == (Label.FINE, "far west", ("a",))


def test_a_group_is_certified_only_when_witnesses_show_that_no_smaller_one_can_come():
    question = RegionalMap(VIEW, {"left": RegionRule(tolerance=0.5, groups={"west": ["a", "b"]})})
    progress = question.begin()
    progress.witness(0)
    progress.witness(1)
    assert not progress.is_certified  # the sector could still be the west
    progress.witness(2)
    assert progress.is_certified
    assert progress.answers()[0].certificate.witnesses == (0, 1)


def test_who_asks_for_a_sector_does_not_get_the_region():
    question = RegionalMap(VIEW, {"left": RegionRule(asks=("group",), groups={"west": ["a", "b"]})})
    assert answer_of(question, "left").label is Label.ABSTAIN
    assert answer_of(question, "left").group == "left"  # safe, though not what was asked for
    assert answer_of(question, "left", rejected=[2, 3]).label is Label.GROUP


def test_who_asks_for_presence_is_content_with_the_region():
    question = RegionalMap(VIEW, {"right": RegionRule(asks=("presence",))})
    assert answer_of(question, "right").label is Label.ABSTAIN
    assert answer_of(question, "right", rejected=[1, 3]).label is Label.GROUP


def test_absence_with_a_threshold_allows_what_is_weaker():
    thresholded = RegionalMap(VIEW, {"right": RegionRule(absence_threshold=0.5)})
    assert answer_of(thresholded, "right", rejected=[2]).label is Label.ABSENT
    assert answer_of(RegionalMap(VIEW), "right", rejected=[2]).label is Label.ABSTAIN
    exactly = RegionalMap(VIEW, {"right": RegionRule(absence_threshold=0.9)})
    assert answer_of(exactly, "right").label is Label.ABSTAIN  # a strength of b_R is not below b_R


def test_a_threshold_keeps_the_finest_open_until_something_is_known_to_reach_it():
    progress = RegionalMap(VIEW, {"right": RegionRule(absence_threshold=0.5)}).begin()
    progress.witness(0)
    progress.witness(1)
    assert progress.labels == (Label.SUPPORT_AMBIGUOUS,)
    assert not progress.is_certified
    progress.witness(2)
    assert progress.is_certified


def test_distances_may_be_given_and_decide_what_is_fine():
    apart = np.full((4, 4), 9.0) - 9.0 * np.eye(4)
    apart[0, 3] = apart[3, 0] = 0.1
    question = RegionalMap(VIEW, {"left": RegionRule(tolerance=0.2, distances=apart)})
    assert answer_of(question, "left", rejected=[1, 2]).label is Label.FINE
    assert answer_of(question, "left", rejected=[2, 3]).label is Label.GROUP


def test_a_tolerance_is_compared_with_the_distance_as_it_is_stored():
    """Places typed 0.03 apart may be stored as numbers farther apart, and the stored numbers decide."""
    places = {"a": 0.405, "b": 0.435, "c": 0.465}  # stored, b is farther than 0.03 from c, and not from a
    view = table_regions({"line": [*places]}, coordinates={"line": places}, strengths={"line": [1.0] * 3})
    question = RegionalMap(view, {"line": RegionRule(tolerance=0.03)})
    assert places["c"] - places["b"] == 0.030000000000000027  # as the page of what is not promised has it
    assert answer_of(question, "line", rejected=[0]).label is Label.GROUP
    assert answer_of(question, "line", rejected=[2]).label is Label.FINE
    wider = RegionalMap(view, {"line": RegionRule(tolerance=0.031)})
    assert answer_of(wider, "line", rejected=[0]).label is Label.FINE


def test_only_regions_with_a_rule_are_asked_about():
    assert RegionalMap(VIEW, {"right": RegionRule()}).regions == ("right",)
    assert RegionalMap(VIEW).regions == ("left", "right")


def test_the_description_is_json_and_tells_every_part_of_the_question_apart():
    rules = [
        RegionRule(),
        RegionRule(tolerance=0.5),
        RegionRule(asks=("fine",)),
        RegionRule(groups={"west": ["a"]}),
        RegionRule(absence_threshold=0.1),
        RegionRule(distances=1.0 - np.eye(4)),
    ]
    asked = [{"left": rule} for rule in rules]
    asked += [{"right": RegionRule()}, {"right": RegionRule(absent_witness="persistent_only")}]
    texts = {json.dumps(RegionalMap(VIEW, each).describe(), sort_keys=True) for each in asked}
    assert len(texts) == len(asked)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda: RegionRule(tolerance=-1.0), "tolerance must be finite and at least 0"),
        (lambda: RegionRule(asks="fine"), "asks must be 'finest' or a choice of fine, group"),
        (lambda: RegionRule(asks=("fine", "coarse")), "asks must be 'finest' or a choice"),
        (lambda: RegionRule(asks=()), "asks must be 'finest' or a choice"),
        (lambda: RegionRule(absence_threshold=0.0), "absence_threshold must lie strictly between 0"),
        (lambda: RegionRule(absent_witness="none"), "absent_witness must be 'any' or 'persistent_only'"),
        (lambda: RegionRule(groups={"west": ["a", "z"]}), "hold elements among .* 'z' in group 'west'"),
        (lambda: RegionRule(groups={"west": []}), "not nothing in group 'west'"),
        (lambda: RegionRule(groups={"west": "a"}), "be lists of elements or groups, not 'west': 'a'"),
        (lambda: RegionRule(groups={"left": ["a"]}), "have names of their own, not 'left'"),
        (lambda: RegionRule(groups={"w": {"e": ["a"]}, "e": ["b"]}), "have names of their own, not 'e'"),
        (lambda: RegionRule(distances=np.zeros((2, 2))), r"distances of region 'left' must have shape \(4, 4\)"),
        (lambda: RegionRule(distances=np.triu(np.ones((4, 4)), 1)), "must be symmetric"),
        (lambda: RegionRule(distances=np.ones((4, 4))), "must have a zero diagonal"),
        (lambda: RegionRule(distances=np.eye(4) - 1.0), "must be nonnegative"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(rule, message):
    with pytest.raises(MisuseError, match=message):
        RegionalMap(VIEW, {"left": rule()})


def test_a_rule_for_an_unknown_region_is_refused():
    with pytest.raises(MisuseError, match=r"rules must be about the regions .*'left', 'right'.*, not 'top'"):
        RegionalMap(VIEW, {"top": RegionRule()})
    with pytest.raises(MisuseError, match="rules must ask about at least one region"):
        RegionalMap(VIEW, {})
