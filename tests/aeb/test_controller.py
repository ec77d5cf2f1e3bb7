"""Budgets, statuses, stopping and the judges."""

from fractions import Fraction

import numpy as np
import pytest

from physupport import MisuseError
from physupport.aeb import (
    Brackets,
    Ending,
    FixedOrder,
    Proposals,
    RandomOrder,
    RegionalPolicy,
    Status,
    budget_queries,
    continue_run,
    run,
)
from physupport.analysis import AnalysisProtocol
from physupport.banks import table_regions
from physupport.judges import TableJudge
from physupport.questions import Label, RegionalMap, RegionalProgress, RegionRule, Resolution


@pytest.fixture
def question():
    """Explanations 0, 1 at a, 2, 3 at b; the odd ones also have x."""
    return RegionalMap(table_regions({"place": ["a", "a", "b", "b"], "extra": [None, "x", None, "x"]}))


@pytest.fixture
def place(question):
    """The same without the second region."""
    return RegionalMap(question.view, {"place": RegionRule()})


def codes(*values):
    return TableJudge(np.array(values, dtype=np.uint8))


@pytest.mark.parametrize(
    ("budget", "size", "queries"),
    [
        (0.75, 216, 162),
        (0.5, 1025, 512),
        (0.001, 216, 1),
        (0.0, 216, 0),
        (1.0, 7, 7),
        (0.29, 100, 29),
        (5, 3, 3),
        (0, 9, 0),
    ],
)
def test_a_budget_is_a_number_of_queries_or_a_share_rounded_down(budget, size, queries):
    assert budget_queries(budget, size) == queries


def test_a_share_may_be_an_exact_fraction():
    assert budget_queries(Fraction(1, 3), 9) == 3


@pytest.mark.parametrize("budget", [-1, -0.1, 1.5, True, float("nan")])
def test_other_budgets_are_refused(budget):
    with pytest.raises(MisuseError, match="budget must"):
        budget_queries(budget, 10)


def test_a_report_needs_all_certificates_and_a_witness(question):
    trace = run(codes(0, 1, 1, 1), question, FixedOrder(), 1.0)
    assert trace.status is Status.REPORT
    assert [answer.label for answer in trace.answers] == [Label.FINE, Label.ABSENT]
    assert trace.queries.tolist() == [0, 1, 2, 3]


def test_asking_ends_with_the_first_certificate(question):
    trace = run(codes(0, 0, 0, 1), question, FixedOrder(), 1.0)
    assert (len(trace), trace.ending) == (3, Ending.CERTIFIED)
    assert [answer.label for answer in trace.answers] == [Label.GROUP, Label.SUPPORT_AMBIGUOUS]


def test_a_profile_is_empty_only_when_everything_is_rejected(question):
    trace = run(codes(1, 1, 1, 1), question, FixedOrder(), 1.0)
    assert (trace.status, trace.ending, trace.n_possible) == (Status.EMPTY, Ending.NO_SURVIVOR, 0)
    assert {answer.label for answer in trace.answers} == {Label.EMPTY}
    assert "outside the bank" in trace.sentence
    assert trace.at(3).status is Status.ABSTAIN


def test_an_indeterminate_explanation_is_no_witness_and_keeps_the_profile_from_being_empty(question):
    trace = run(codes(1, 2, 1, 1), question, FixedOrder(), 1.0)
    assert (trace.status, trace.ending) == (Status.ABSTAIN, Ending.NOTHING_LEFT)
    assert (trace.n_possible, trace.n_witnessed, trace.n_indeterminate) == (1, 0, 1)


def test_truth_level_labels_without_a_witness_are_no_report_and_that_is_said(place):
    trace = run(codes(1, 1, 1, 1), place, FixedOrder([2, 3, 0]), 1.0)
    assert trace.answers[0].label is Label.FINE
    assert (trace.status, trace.ending) == (Status.ABSTAIN, Ending.NOTHING_LEFT)
    assert trace.is_unwitnessed
    assert "no explanation has yet been confirmed" in trace.sentence


def test_asking_goes_on_until_something_is_witnessed_unless_told_otherwise(place):
    judge, policy = codes(1, 0, 1, 1), FixedOrder([2, 3, 0, 1])
    assert len(run(judge, place, policy, 1.0)) == 4
    early = run(judge, place, policy, 1.0, until_witnessed=False)
    assert (len(early), early.status, early.ending) == (2, Status.ABSTAIN, Ending.CERTIFIED)
    assert early.is_unwitnessed


def test_a_spent_budget_abstains_with_what_is_certified_so_far(question):
    trace = run(codes(0, 1, 1, 1), question, FixedOrder([0, 1, 3, 2]), 3)
    assert (trace.status, trace.ending) == (Status.ABSTAIN, Ending.BUDGET)
    assert [(answer.label, answer.certificate.kind) for answer in trace.answers] == [
        (Label.GROUP, "universal"),
        (Label.ABSENT, "universal"),
    ]
    assert "budget" in trace.sentence


def test_no_budget_asks_nothing(question):
    trace = run(codes(0, 0, 0, 0), question, RegionalPolicy(), 0)
    assert (len(trace), trace.status, trace.ending) == (0, Status.ABSTAIN, Ending.BUDGET)


def test_the_callback_hears_of_every_query_and_of_the_open_fields(question):
    heard = []
    run(
        codes(0, 1, 1, 1),
        question,
        FixedOrder(),
        1.0,
        callback=lambda t: heard.append((t.used, t.budget, t.open_fields())),
    )
    # A place is one of the region's from the start; which one is open until nothing at b is possible.
    both = ("place", "extra")
    assert heard == [(1, 4, both), (2, 4, both), (3, 4, both), (4, 4, ())]


def test_no_field_is_open_once_nothing_survives(place):
    heard = []
    run(codes(1, 1, 1, 1), place, FixedOrder(), 1.0, callback=lambda t: heard.append(t.open_fields()))
    assert (heard[0], heard[-1]) == (("place",), ())


def test_a_resolution_that_is_a_group_without_its_bounds_is_open():
    question = Resolution(np.arange(3), np.array([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]]), np.zeros(3), 0.5, 3.0)
    heard = []
    run(codes(0, 0, 0), question, FixedOrder(), 1.0, callback=lambda t: heard.append(t.open_fields()))
    assert heard == [("resolution",), ("resolution",), ()]


@pytest.mark.parametrize("size", [3, 5])
def test_a_question_about_another_number_of_explanations_is_refused(question, size):
    judge = codes(*[0] * size)
    with pytest.raises(MisuseError, match=f"question must be about the {size} explanations of the judge, not 4"):
        run(judge, question, FixedOrder(), 1.0)
    with pytest.raises(MisuseError, match="question must be about"):
        AnalysisProtocol(question, FixedOrder(), 0.1, 1.0).freeze(judge)
    places = Resolution(np.zeros(4, dtype=int), np.zeros((1, 1)), np.zeros(1), 0.1, 0.2)
    with pytest.raises(MisuseError, match="question must be about"):
        run(judge, places, FixedOrder(), 1.0)


def test_certified_without_a_witness_more_queries_are_offered_only_if_there_are_some(place):
    left = run(codes(2, 2, 1, 1), place, FixedOrder([2, 3, 0, 1]), 1.0)
    assert left.is_unwitnessed
    assert "more queries would not" in left.sentence
    assert "More queries would find" in left.at(3).sentence


@pytest.mark.parametrize(
    ("table", "order", "until_witnessed", "ending"),
    [
        ((0, 1, 1, 1), [0, 1, 2, 3], True, Ending.BUDGET),  # the policy has more to ask
        ((0, 1, 1, 1), [0, 1], True, Ending.NOTHING_LEFT),
        ((1, 0, 1, 1), [2, 3, 0, 1], False, Ending.CERTIFIED),  # without a witness, which was not asked for
        ((1, 1, 0, 0), [0, 2, 3], True, Ending.BUDGET),
    ],
)
def test_the_last_prefix_of_a_stopped_run_ends_as_a_run_with_that_budget_does(
    place, table, order, until_witnessed, ending
):
    judge, policy = codes(*table), FixedOrder(order)
    stopped = run(judge, place, policy, 1.0, callback=lambda tick: tick.used < 2, until_witnessed=until_witnessed)
    cut = run(judge, place, policy, 2, until_witnessed=until_witnessed)
    assert len(stopped) == len(cut) == 2
    assert (stopped.at(2).ending, stopped.at(2).status) == (cut.ending, cut.status) == (ending, Status.ABSTAIN)
    assert stopped.ending is (Ending.STOPPED if ending is Ending.BUDGET else ending)
    assert (stopped.at(1).ending, stopped.at(1).budget) == (Ending.BUDGET, 1)


def test_a_run_that_was_over_when_ctrl_c_came_ends_as_it_would_have(place):
    def interrupt(tick):
        if tick.used == 2:
            raise KeyboardInterrupt

    order, given = FixedOrder([2, 3, 0, 1]), {"callback": interrupt, "until_witnessed": False}
    assert run(codes(1, 0, 1, 1), place, order, 1.0, **given).ending is Ending.CERTIFIED
    assert run(codes(1, 0, 0, 1), place, order, 1.0, **given).ending is Ending.STOPPED


def test_an_interrupt_before_the_first_verdict_leaves_nothing_to_report(place):
    class AtOnce:
        size = 4

        def ahead(self, e, count):
            raise KeyboardInterrupt(15)

    with pytest.raises(KeyboardInterrupt, match="15"):
        run(AtOnce(), place, FixedOrder([2, 3, 0, 1]), 1.0)


class Interrupting:
    """A judge during whose third verdict Ctrl-C is pressed, once."""

    def __init__(self, judge):
        self.judge, self.size, self.asked = judge, judge.size, 0

    def ahead(self, e, count):
        self.asked += 1
        if self.asked == 3:
            raise KeyboardInterrupt
        return self.judge.ahead(e, 1)


def test_an_interrupt_leaves_a_whole_trace_that_can_be_continued(question):
    judge = Interrupting(codes(0, 1, 1, 1))
    trace = run(judge, question, RandomOrder(1), 1.0)
    assert (len(trace), trace.ending) == (2, Ending.STOPPED)
    assert trace.answers == trace.at(2).answers
    with pytest.raises(MisuseError, match="Continue the run"):
        trace.at(3)
    whole = run(judge.judge, question, RandomOrder(1), 1.0)
    assert continue_run(trace, judge, RandomOrder(1), 1.0).queries.tolist() == whole.queries.tolist()


def test_an_interrupt_between_two_updates_does_not_tear_the_state(question, monkeypatch):
    def interrupted(progress, e):
        raise KeyboardInterrupt  # the brackets have heard of the second verdict, the question has not

    monkeypatch.setattr(RegionalProgress, "reject", interrupted)
    trace = run(codes(0, 1, 1, 1), question, FixedOrder(), 1.0)
    assert trace.queries.tolist() == [0]
    assert (trace.n_possible, trace.n_witnessed) == (4, 1)


def test_another_policy_cannot_continue_a_trace(question):
    trace = run(codes(0, 1, 1, 1), question, FixedOrder(), 2)
    with pytest.raises(MisuseError, match="ask about 0 as the trace does"):
        continue_run(trace, codes(0, 1, 1, 1), FixedOrder([3, 2, 1, 0]), 1.0)


def test_a_trace_is_not_continued_with_less_or_with_another_bank(question):
    trace = run(codes(0, 1, 1, 1), question, FixedOrder(), 3)
    with pytest.raises(MisuseError, match="at least the 3 queries"):
        continue_run(trace, codes(0, 1, 1, 1), FixedOrder(), 2)
    with pytest.raises(MisuseError, match="the 4 explanations of the trace"):
        continue_run(trace, codes(0, 1, 1), FixedOrder(), 3)


def test_a_policy_that_repeats_itself_is_refused(question):
    class Stubborn:
        def begin(self, run_view):
            while True:
                yield 2

        def describe(self):
            return {}

    with pytest.raises(MisuseError, match="query must be an unqueried explanation"):
        run(codes(1, 1, 1, 1), question, Stubborn(), 1.0)


def test_brackets_count_and_list_what_they_hold():
    brackets = Brackets(5)
    for e, code in ((4, 0), (1, 1), (2, 2)):
        brackets.record(e, code)
    assert brackets.witnessed().tolist() == [4]
    assert brackets.possible().tolist() == [0, 2, 3, 4]
    assert brackets.unqueried().tolist() == [0, 3]
    assert (brackets.n_queried, brackets.n_possible, brackets.n_witnessed, brackets.n_indeterminate) == (3, 4, 1, 1)
    with pytest.raises(MisuseError, match="verdict must be one of the codes"):
        brackets.record(0, 3)
    with pytest.raises(MisuseError, match="unqueried"):
        brackets.record(-1, 0)


def test_the_hash_of_a_protocol_covers_what_the_proposals_find_plausible(question):
    protocol, judge = AnalysisProtocol(question, RegionalPolicy(), 0.1, 1.0), codes(0, 1, 1, 1)
    given = [None, Proposals((1,)), *(Proposals(plausibility=np.array(x)) for x in ([0.0, 1, 2, 3], [0.0, 1, 2, 4]))]
    digests = [protocol.freeze(judge, proposals).digest for proposals in given]
    assert len({*digests}) == 4
    assert protocol.freeze(judge, Proposals(plausibility=np.array([0.0, 1, 2, 4]))).digest == digests[-1]


def test_proposals_must_fit_the_bank(question):
    judge = codes(0, 1, 1, 1)
    with pytest.raises(MisuseError, match="explanations must lie between 0 and 3"):
        run(judge, question, RegionalPolicy(), 1.0, proposals=Proposals((4,)))
    with pytest.raises(MisuseError, match="plausibility must have shape"):
        run(judge, question, RegionalPolicy(), 1.0, proposals=Proposals(plausibility=np.zeros(3)))
