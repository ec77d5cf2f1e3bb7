"""The set is the answer: what is left has verdicts, and what has none is called not asked."""

import copy

import numpy as np
import pytest
from hypothesis import given, strategies as st

from physupport._errors import MisuseError
from physupport.aeb import Ending, FixedOrder, Proposals, RegionalPolicy, Status, continue_run, run
from physupport.analysis import AnalysisProtocol, report
from physupport.banks import table_regions
from physupport.judges import TableJudge
from physupport.questions import RegionalMap, RegionRule
from physupport.report import document_hash
from physupport.verify import verify

NAMES = ("p", "q", "r", "s", "t")
PLACES = dict(zip(NAMES, (0.0, 1.0, 2.0, 3.0, 7.0), strict=True))
VIEW = table_regions({"A": [*NAMES, None]}, coordinates={"A": PLACES})
QUESTION = RegionalMap(VIEW, {"A": RegionRule(0.5)})
CODES = np.array([0, 0, 0, 2, 1, 1], dtype=np.uint8)
MARGINS = np.array([[-1.0, -0.9], [-3.0, -2.9], [-2.0, -1.9], [-0.1, 0.1], [1.0, 1.1], [2.0, 2.1]])
JUDGE = TableJudge(CODES, MARGINS)
ORDER = FixedOrder([0, 1, 5, 2, 3, 4])


def written(stop, budget=1.0, question=QUESTION):
    seal = AnalysisProtocol(question, ORDER, 0.05, budget, stop=stop).freeze(JUDGE)
    return report(seal, seal.run())


def test_a_run_for_labels_leaves_elements_that_it_did_not_ask_about_and_says_so():
    found = written("label")
    (a,) = found.fields
    assert (str(a.label), found.queries, a.kept, a.not_asked) == ("GROUP", 3, ("q", "p"), ("r", "s", "t"))
    assert a.cell == NAMES
    assert "one of q, p (not rejected) or one of r, s, t (not tested)" in a.sentence
    assert "3 explanations were not tested, because the run was set to stop once all labels" in found.sentence
    assert (a.extent, found.rows()[0]["kept"], found.rows()[0]["not asked"]) == (1.0, "q; p", "r; s; t")


def test_a_run_for_the_set_goes_on_after_the_labels_and_sorts_by_evidence():
    found = written("set")
    (a,) = found.fields
    assert (str(a.label), found.queries, a.kept, a.not_asked) == ("GROUP", 6, ("q", "r", "p", "s"), ())
    assert (a.cell, a.extent) == (("p", "q", "r", "s"), 3.0)
    assert "one of q, r, p, s" in a.sentence
    assert a.sentence.endswith("Not rejected only because a verdict is INDETERMINATE: s.")
    assert found.sentence.endswith("1 verdict is INDETERMINATE, so its explanation cannot be excluded.")
    assert "4 not rejected, 0 not tested" in found.text()
    assert found.document["protocol"]["stop"] == "set"


def test_a_budget_that_ends_after_the_labels_is_said():
    found = written("set", budget=4)
    assert (found.status, found.document["outcome"]["ending"]) == ("REPORT", "BUDGET")
    assert "2 explanations were not tested, because the budget of 4 queries is spent." in found.sentence
    assert verify(found.json()).is_verified


def test_a_fine_cell_holds_what_is_possible_and_not_what_the_tolerance_allows():
    question = RegionalMap(VIEW, {"A": RegionRule(3.0)})
    judge = TableJudge(np.array([1, 0, 0, 1, 1, 1], dtype=np.uint8))
    seal = AnalysisProtocol(question, FixedOrder([1, 4, 5, 0, 2, 3]), 0.05, 1.0, stop="set").freeze(judge)
    (a,) = report(seal, seal.run()).fields
    assert (str(a.label), a.cell) == ("FINE", ("q", "r"))
    assert "one of q, r" in a.sentence


def test_what_is_left_is_asked_about_in_order_of_plausibility():
    proposals = Proposals((1,), np.array([0.0, 5.0, 1.0, 2.0, 4.0, 3.0]))
    trace = run(JUDGE, QUESTION, FixedOrder([0, 1, 5]), 1.0, proposals=proposals, stop="set")
    assert trace.queries.tolist() == [0, 1, 5, 4, 3, 2]
    assert (trace.status, trace.ending) == (Status.REPORT, Ending.CERTIFIED)
    cut = run(JUDGE, QUESTION, FixedOrder([0, 1, 5]), 4, proposals=proposals, stop="set")
    assert cut.ending is Ending.BUDGET
    whole = continue_run(cut, JUDGE, FixedOrder([0, 1, 5]), 1.0, proposals=proposals)
    assert whole.queries.tolist() == trace.queries.tolist()


def test_another_word_for_when_to_stop_is_refused():
    with pytest.raises(MisuseError, match="stop must be 'label' or 'set', not 'both'"):
        AnalysisProtocol(QUESTION, ORDER, 0.05, 1.0, stop="both")


def _swap(entry):
    entry["set"]["kept"][:2] = reversed(entry["set"]["kept"][:2])


FORGERIES = {
    "fields[0].set.kept[0].": _swap,
    "fields[0].set.not_asked[": lambda entry: entry["set"]["not_asked"].append("t"),
    "fields[0].set.extent: the report says 2.5": lambda entry: entry["set"].update(extent=2.5),
    "fields[0].set: the report says None": lambda entry: entry.update(set=None),
}


@pytest.mark.parametrize("words", FORGERIES)
def test_a_set_that_does_not_follow_from_the_trace_is_refused(words):
    forged = copy.deepcopy(written("set").document)
    FORGERIES[words](forged["fields"][0])
    forged["digests"]["document"] = document_hash(forged)
    assert any(words in finding for finding in verify(forged).findings)


def test_a_run_for_labels_that_went_on_is_refused_and_one_for_the_set_is_not():
    assert verify(written("set").json()).is_verified
    forged = copy.deepcopy(written("set").document)
    forged["protocol"]["stop"] = "label"
    assert "the last queries came after the run was over" in verify(forged).findings


@given(st.lists(st.sampled_from([0, 1, 2]), min_size=6, max_size=6), st.sampled_from([ORDER, RegionalPolicy()]))
def test_the_set_of_a_whole_run_is_what_the_verdicts_leave(codes, policy):
    judge = TableJudge(np.array(codes, dtype=np.uint8))
    seal = AnalysisProtocol(QUESTION, policy, 0.05, 1.0, stop="set").freeze(judge)
    (a,) = report(seal, seal.run()).fields
    left = {name for name, code in zip((*NAMES, None), codes, strict=True) if code != 1}
    assert ({*a.kept}, a.not_asked) == (left, ())
    assert {*a.cell} == left - {None}
