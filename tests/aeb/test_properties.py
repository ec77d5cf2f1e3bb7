"""Properties of every question, every verdict table and every policy."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from physupport import MisuseError
from physupport.aeb import Brackets, Proposals, RegionalPolicy, Status, WitnessFirst, continue_run, run
from physupport.judges import TableJudge
from physupport.questions import (
    Comparison,
    Label,
    RegionalMap,
    Resolution,
    compare_all,
    exhaustive_answers,
    unsettled,
)

EXAMPLES = settings(max_examples=30, deadline=None)


def traces(policies, question, codes, plausibility, budget=1.0):
    given_ = Proposals(plausibility=plausibility)
    for policy in policies(question):
        yield policy, run(TableJudge(codes), question, policy, budget, proposals=given_)


def same(one, other):
    assert one.queries.tolist() == other.queries.tolist()
    assert one.codes.tolist() == other.codes.tolist()
    assert one.verdicts.margins().tolist() == other.verdicts.margins().tolist()
    assert (one.status, one.ending, one.budget, one.answers) == (
        other.status,
        other.ending,
        other.budget,
        other.answers,
    )
    assert (one.is_certified, one.n_witnessed, one.n_possible) == (
        other.is_certified,
        other.n_witnessed,
        other.n_possible,
    )


def claim(answer):
    return answer.label, answer.group if answer.label is Label.GROUP else None


def is_true(question, answer, profile):
    """Read an answer against the profile by the definition of its label."""
    if answer.label in (Label.ABSTAIN, Label.EMPTY):
        return answer.label is Label.ABSTAIN or not len(profile)
    if isinstance(question, Resolution):
        return is_true_of_places(question, answer, np.unique(question.places[profile]))
    view, rule = question.view, question.rules[answer.field]
    j = view.regions.index(answer.field)
    slots, strengths = view.locate(profile)[:, j], view.strengths(profile)[:, j]
    spread = widest(view, rule, answer.field, slots[slots >= 0])
    names = {view.sets[answer.field].names[slot] for slot in slots if slot >= 0}
    match answer.label:
        case Label.FINE:
            return (slots >= 0).all() and names <= {*answer.cell} and spread <= rule.tolerance
        case Label.GROUP:
            members = flat(rule.groups or {}).get(answer.group, view.sets[answer.field].names)
            return (slots >= 0).all() and names <= {*answer.cell} and names <= {*members}
        case Label.ABSENT:
            return (strengths < (rule.absence_threshold or 1e-300)).all()
        case Label.SUPPORT_AMBIGUOUS:
            return (slots >= 0).any() and (slots < 0).any()
        case _:
            assert answer.label is Label.LOCAL_AMBIGUOUS
            return spread > rule.tolerance


def widest(view, rule, region, slots):
    """Largest distance between two of these elements, pair by pair."""
    places = view.sets[region].coordinates

    def apart(i, j):
        if rule.distances is not None:
            return rule.distances[i, j]
        return np.sqrt(((places[i] - places[j]) ** 2).sum())  # of whole numbers, so 1 and 2 are exact

    return max((apart(i, j) for i in slots for j in slots), default=0.0)


def flat(groups):
    """Every group at every depth, with all its elements."""
    found = {}
    for name, content in groups.items():
        inner = flat(content) if isinstance(content, dict) else {}
        found |= inner | {name: [e for part in inner.values() for e in part] if inner else [*content]}
    return found


def is_true_of_places(question, answer, places):
    """The diameter of the surviving places and the proposal."""
    between = question.distances[np.ix_(places, places)]
    diameter = max(between.max(initial=0.0), question.proposal_distances[places].max(initial=0.0))
    if answer.label is Label.AMBIGUOUS:
        return diameter > question.delta_group
    bound = question.delta_fine if answer.label is Label.FINE else question.delta_group
    return diameter <= bound and {question.names[place] for place in places} <= {*answer.cell}


def test_every_prefix_is_sandwiched_and_its_labels_are_true(make_problems, policies):
    @EXAMPLES
    @given(make_problems())
    def check(problem):
        question, codes, plausibility = problem
        profile = np.flatnonzero(codes == 0)
        for _, trace in traces(policies, question, codes, plausibility):
            for k in range(len(trace) + 1):
                prefix = trace.at(k)
                brackets = prefix.brackets()
                assert {*brackets.witnessed().tolist()} <= {*profile.tolist()} <= {*brackets.possible().tolist()}
                check_answers(question, prefix.answers, profile, brackets)
                assert (prefix.status is Status.EMPTY) == (brackets.n_possible == 0)
                assert prefix.status is not Status.REPORT or (prefix.n_witnessed and prefix.is_certified)

    check()


def check_answers(question, answers, profile, brackets):
    """Each is true, an ambiguity of its witnesses alone, what is FINE in its group; EMPTY is left when nothing is."""
    for answer in answers:
        assert is_true(question, answer, profile)
        assert (answer.label is Label.EMPTY) == (brackets.n_possible == 0)
        if "AMBIGUOUS" in answer.label:
            witnesses = np.array(answer.certificate.witnesses)
            assert {*witnesses.tolist()} <= {*brackets.witnessed().tolist()}
            assert is_true(question, answer, witnesses)
        if answer.label is Label.FINE:
            assert is_true(question, replace(answer, label=Label.GROUP), profile)


def test_a_full_budget_gives_the_exhaustive_labels_when_the_finest_is_asked_for(make_problems, policies):
    @EXAMPLES
    @given(make_problems(finest=True, indeterminate=False))
    def check(problem):
        question, codes, plausibility = problem
        exhaustive = exhaustive_answers(question, codes)
        for policy, trace in traces(policies, question, codes, plausibility):
            assert Comparison.UNSAFE not in compare_all(trace.answers, exhaustive)
            # A list written by hand may end before everything is settled; the others end with the exhaustive answer.
            if not isinstance(policy, WitnessFirst) or trace.is_certified or len(trace) == len(codes):
                assert trace.status is (Status.REPORT if 0 in codes else Status.EMPTY)
                assert [*map(claim, trace.answers)] == [*map(claim, exhaustive)]

    check()


def test_witnesses_that_must_be_persistent_only_cost_support_ambiguity_and_nothing_else(make_maps, policies):
    changed = set()

    @EXAMPLES
    @given(make_maps(finest=True, indeterminate=False))
    def check(problem):
        question, codes, plausibility = problem
        rules = {name: replace(rule, absent_witness="persistent_only") for name, rule in question.rules.items()}
        strict = RegionalMap(question.view, rules)
        exhaustive = exhaustive_answers(question, codes)
        for policy, trace in traces(policies, strict, codes, plausibility):
            if isinstance(policy, WitnessFirst):
                continue
            for answer, other in zip(trace.answers, exhaustive, strict=True):
                if claim(answer) != claim(other):
                    changed.add((answer.label, other.label))

    check()
    assert changed == {(Label.ABSTAIN, Label.SUPPORT_AMBIGUOUS)}


def test_a_full_budget_leaves_open_only_what_indeterminate_verdicts_leave_open(make_problems, policies):
    @EXAMPLES
    @given(make_problems(finest=True))
    def check(problem):
        question, codes, plausibility = problem
        exhaustive = exhaustive_answers(question, codes)
        for policy, trace in traces(policies, question, codes, plausibility):
            assert Comparison.UNSAFE not in compare_all(trace.answers, exhaustive)
            assert (trace.status is Status.EMPTY) == bool((codes == 1).all())
            if not isinstance(policy, WitnessFirst):
                # These ask about everything that can change an answer, unless they are certified.
                assert [*map(claim, trace.answers)] == [*map(claim, exhaustive)]

    check()


def test_the_default_policy_gives_up_only_what_all_verdicts_together_leave_open(make_maps):
    @settings(max_examples=150, deadline=None)
    @given(st.booleans().flatmap(lambda flag: make_maps(indeterminate=flag)), st.integers(0, 3))
    def check(problem, probes):
        question, codes, plausibility = problem
        given_ = Proposals(plausibility=plausibility)
        trace = run(TableJudge(codes), question, RegionalPolicy(probes), 1.0, proposals=given_)
        everything = question.begin()
        for e, code in enumerate(codes.tolist()):
            if code != 2:
                everything.witness(e) if code == 0 else everything.reject(e)
        assert (trace.status is Status.EMPTY) == bool((codes == 1).all())
        assert trace.is_certified == everything.is_certified
        # Labels of settled regions may be refined by asking on, never contradicted; open ones stay open.
        for here, there in zip(trace.answers, everything.answers(), strict=True):
            assert (here.label is Label.ABSTAIN) == (there.label is Label.ABSTAIN)
            if question.rules[here.field].asks == "finest":
                assert claim(here) == claim(there)

    check()


def test_a_prefix_is_what_a_smaller_budget_gives(make_problems, policies):
    @EXAMPLES
    @given(make_problems(), st.data())
    def check(problem, data):
        question, codes, plausibility = problem
        for policy, trace in traces(policies, question, codes, plausibility):
            k = data.draw(st.integers(0, len(codes)))
            same(
                trace.at(k), run(TableJudge(codes), question, policy, k, proposals=Proposals(plausibility=plausibility))
            )

    check()


def test_verdicts_told_at_once_leave_what_they_leave_one_by_one(make_problems):
    @EXAMPLES
    @given(make_problems(), st.data())
    def check(problem, data):
        question, codes, _ = problem
        queries = np.array(data.draw(st.permutations(range(len(codes)))))[: data.draw(st.integers(0, len(codes)))]
        at_once, alone, brackets = question.begin(), question.begin(), Brackets(len(codes))
        at_once.inform(queries, codes[queries])
        for e in queries.tolist():
            brackets.record(e, int(codes[e]))
            if codes[e] < 2:
                (alone.reject if codes[e] else alone.witness)(e)
        assert (at_once.answers(), at_once.is_certified) == (alone.answers(), alone.is_certified)
        assert at_once.open_fields() == unsettled(at_once.answers(), at_once.is_certified)
        after = Brackets.after(len(codes), queries, codes[queries])
        assert after.column().tolist() == brackets.column().tolist()
        assert (after.n_possible, after.n_witnessed, after.n_queried) == (
            brackets.n_possible,
            brackets.n_witnessed,
            brackets.n_queried,
        )

    check()


@pytest.mark.parametrize(("queries", "codes"), [([0, 3], [0, 0]), ([-1], [0]), ([1, 1], [0, 1]), ([1], [3])])
def test_brackets_refuse_what_cannot_have_been_asked(queries, codes):
    with pytest.raises(MisuseError, match=r"must be (an unqueried explanation|one of the codes)"):
        Brackets.after(3, np.array(queries), np.array(codes, dtype=np.uint8))


def test_a_run_that_was_stopped_and_continued_is_the_uninterrupted_one(make_problems, policies):
    @EXAMPLES
    @given(make_problems(), st.data())
    def check(problem, data):
        question, codes, plausibility = problem
        judge, given_ = TableJudge(codes), Proposals(plausibility=plausibility)
        for policy, whole in traces(policies, question, codes, plausibility):
            k = data.draw(st.integers(0, len(codes)))
            stopped = run(judge, question, policy, 1.0, proposals=given_, callback=lambda tick, k=k: tick.used < k)
            assert len(stopped) == min(max(k, 1), len(whole))
            same(continue_run(stopped, judge, policy, 1.0, proposals=given_), whole)
            part = run(judge, question, policy, k, proposals=given_)
            same(continue_run(part, judge, policy, 1.0, proposals=given_), whole)

    check()


def test_the_verdict_of_an_unqueried_explanation_cannot_change_the_trace(make_problems, policies):
    @EXAMPLES
    @given(make_problems(), st.data())
    def check(problem, data):
        question, codes, plausibility = problem
        budget = data.draw(st.integers(0, len(codes)))
        for policy, trace in traces(policies, question, codes, plausibility, budget):
            other = codes.copy()
            unqueried = np.setdiff1d(np.arange(len(codes)), trace.queries)
            other[unqueried] = (other[unqueried] + data.draw(st.integers(1, 2))) % 3
            same(
                run(TableJudge(other), question, policy, budget, proposals=Proposals(plausibility=plausibility)), trace
            )

    check()
