"""Sentences about restricted questions promise nothing that the witnesses rule out."""

import numpy as np
import pytest

from physupport._errors import MisuseError
from physupport.aeb import FixedOrder
from physupport.analysis import AnalysisProtocol, report
from physupport.banks import table_regions
from physupport.judges import TableJudge
from physupport.questions import RegionalMap, RegionRule, Resolution
from physupport.verify import verify

ADMISSIBLE, REJECTED = 0, 1
SPLIT = "Some admissible explanations contain it and others do not, so no query can show presence or absence"
APART = "elements that lie farther apart than the tolerance, so no query can make it FINE."


def field(columns, rule, codes, budget=1.0, strengths=None):
    """The report and its field A, once `verify` accepts the report."""
    question = RegionalMap(table_regions(columns, strengths=strengths), {"A": rule})
    seal = AnalysisProtocol(question, FixedOrder(), 0.05, budget).freeze(TableJudge(np.array(codes, dtype=np.uint8)))
    found = report(seal, seal.run())
    assert verify(found.json()).findings == ()
    return found, found.fields[0]


@pytest.mark.parametrize("budget", [2, 1.0], ids=["budget", "all asked"])
@pytest.mark.parametrize("asks", [("fine",), ("presence", "absence"), ("group",)])
def test_witnesses_with_and_without_it_rule_out_every_label_but_ambiguity(asks, budget):
    _, said = field({"A": ["a", None, "b"]}, RegionRule(asks=asks), [ADMISSIBLE] * 3, budget)
    assert said.label == "ABSTAIN"
    assert SPLIT in said.sentence
    assert "may settle" not in said.sentence


@pytest.mark.parametrize("budget", [2, 1.0], ids=["budget", "all asked"])
def test_witnesses_apart_rule_out_fine(budget):
    found, said = field({"A": ["a", "b", "c"]}, RegionRule(asks=("fine",)), [ADMISSIBLE] * 3, budget)
    assert said.label == "ABSTAIN"
    assert APART in said.sentence
    assert ("A larger budget may settle what is open, if the data allow a label" in found.sentence) == (budget == 2)


def test_where_nothing_contradicts_the_budget_is_the_reason():
    found, said = field({"A": ["a", "b", "c"]}, RegionRule(asks=("fine",)), [ADMISSIBLE, REJECTED, REJECTED], 1)
    assert said.label == "ABSTAIN"
    assert APART not in said.sentence
    assert "the budget of 1 query is spent." in found.sentence


def test_a_weak_witness_leaves_absence_under_a_threshold_open():
    """Explanation 0 lacks it, 1 has it below the threshold, 2 above: rejecting 2 makes it ABSENT."""
    rule = RegionRule(asks=("presence", "absence"), absence_threshold=0.5)
    columns, strengths = {"A": [None, "a", "b"]}, {"A": [0.0, 0.1, 1.0]}
    _, early = field(columns, rule, [ADMISSIBLE, ADMISSIBLE, REJECTED], 2, strengths)
    assert early.label == "ABSTAIN"
    assert SPLIT not in early.sentence
    _, late = field(columns, rule, [ADMISSIBLE, ADMISSIBLE, REJECTED], 1.0, strengths)
    assert late.label == "ABSENT"
    assert "Region A: nothing there of strength 0.5 or more." in late.sentence
    _, gone = field(columns, rule, [ADMISSIBLE, REJECTED, REJECTED], 1.0, strengths)
    assert "Region A: nothing there. " in gone.sentence + " "


def test_a_known_spread_is_one_number():
    places = Resolution(np.arange(2), 1.0 - np.eye(2), np.zeros(2), 0.1, 2.0)
    seal = AnalysisProtocol(places, FixedOrder(), 0.05, 1.0).freeze(TableJudge(np.zeros(2, dtype=np.uint8)))
    assert "the remaining explanations and the proposal spreads 1." in report(seal, seal.run()).fields[0].sentence


def test_rules_that_the_bank_alone_decides_are_found():
    view = table_regions({"A": ["a", "b"], "B": ["c", None]}, strengths={"A": [1.0, 2.0], "B": [1.0, 0.0]})
    alone, high = RegionRule(asks=("absence",)), RegionRule(absence_threshold=1.5)
    assert [fault[:2] for fault in RegionalMap(view, {"A": alone, "B": high}).unanswerable()] == [
        ("A", "asks"),
        ("B", "absence_threshold"),
    ]
    assert [*RegionalMap(view, {"A": high, "B": alone}).unanswerable()] == []
    weak = RegionRule(asks=("absence",), absence_threshold=1.5)  # of A only b is as strong as that
    assert [*RegionalMap(view, {"A": weak}).unanswerable()] == []
    assert isinstance(MisuseError("A", "b", "c."), ValueError)
    assert str(MisuseError("a", "be b", "what it said.")) == "a must be b, not what it said."
