"""Names in sentences: on one line, as they are, and not too many."""

import numpy as np
import pytest

from physupport._errors import MisuseError
from physupport.aeb import FixedOrder
from physupport.analysis import AnalysisProtocol, report
from physupport.banks import table_regions
from physupport.judges import TableJudge
from physupport.questions import RegionalMap, RegionRule, Resolution
from physupport.verify import verify


def written(question, codes):
    seal = AnalysisProtocol(question, FixedOrder(), 0.05, 1.0).freeze(TableJudge(np.array(codes)))
    found = report(seal, seal.run())
    assert verify(found.json()).findings == ()
    return found


def test_of_many_regions_a_sentence_names_the_one_in_question_and_the_first_that_are_there():
    columns = {f"R{j:02}": ["x", None if j % 2 else "x"] for j in range(20)}
    found = written(RegionalMap(table_regions(columns)), [0, 0])
    sentence = next(field.sentence for field in found.fields if field.field == "R19")
    assert (
        "explanation 0 (R19: x, R00: x, R01: x, R02: x, R03: x, R04: x and more) or "
        "explanation 1 (R19: nothing, R00: x, R02: x, R04: x, R06: x, R08: x and more)"
    ) in sentence


def test_six_regions_are_all_named_in_the_order_of_the_question():
    columns = {name: ["x", None] for name in "FEDCBA"}
    found = written(RegionalMap(table_regions(columns)), [0, 0])
    assert "(F: x, E: x, D: x, C: x, B: x, A: x)" in found.fields[2].sentence
    assert "(F: nothing, E: nothing, D: nothing, C: nothing, B: nothing, A: nothing)" in found.fields[2].sentence


def test_a_name_cannot_start_a_line_of_its_own():
    forged = "b\nRegion C: nothing there.\x1b[2K\u2028"
    view = table_regions({"B\t": ["a", forged, forged], "C": ["c", "c", None]})
    found = written(RegionalMap(view, {"B\t": RegionRule(groups={"g\n": ["a", forged]}), "C": RegionRule()}), [0, 0, 0])
    assert len(found.text().splitlines()) == 7  # two answers, an empty line, two fields, the outcome, the footing
    assert r"Region B\t: one of a, b\nRegion C: nothing there.\x1b[2K\u2028 (group g\n)" in found.fields[0].sentence
    assert found.fields[0].cell == ("a", forged)
    places = Resolution(np.arange(2), 1.0 - np.eye(2), np.ones(2), 0.1, 0.2, names=("here", "there\r\nand back"))
    assert "\n" not in written(places, [0, 0]).fields[0].sentence


def test_a_name_that_says_nothing_is_not_nothing():
    """Empty names are refused, so that what stands in a sentence is a name, or the word for absence."""
    with pytest.raises(MisuseError, match="elements must be nonempty texts in a region with a name"):
        table_regions({"R": ["", "a"]})
    with pytest.raises(MisuseError, match="elements must be nonempty texts in a region with a name"):
        table_regions({"": ["a"]})
    with pytest.raises(MisuseError, match="names must be 2 distinct texts, none empty"):
        Resolution(np.arange(2), 1.0 - np.eye(2), np.ones(2), 0.1, 0.2, names=("here", ""))


def test_groups_may_overlap_and_the_smallest_that_holds_everything_is_named():
    groups = {"ab": ["a", "b"], "bc": ["b", "c"], "abc": ["a", "b", "c"]}
    view = table_regions({"R": ["a", "b", "c", "d"]})
    question = RegionalMap(view, {"R": RegionRule(groups=groups)})
    for codes, group in (([0, 0, 1, 1], "ab"), ([1, 0, 0, 1], "bc"), ([0, 1, 0, 1], "abc"), ([0, 1, 1, 0], "R")):
        assert written(question, codes).fields[0].group == group


class _Two:
    """A policy that asks about the first two explanations and no more."""

    def begin(self, run):
        yield from (0, 1)

    def describe(self):
        return {"policy": "two"}


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (
            FixedOrder(),
            "the remaining ones allow no requested label. More rows or a question that asks for less may",
        ),
        (
            _Two(),
            "another policy may settle what is open; if not, only more rows or a question that asks for less would.",
        ),
    ],
    ids=["everything was asked", "the policy ended"],
)
def test_where_the_data_do_not_allow_the_label_asked_for_no_policy_is_promised_to_settle_it(policy, words):
    """Two admissible elements apart, and only FINE was asked for."""
    question = RegionalMap(table_regions({"A": ["a", "b", "c"]}), {"A": RegionRule(asks=("fine",))})
    seal = AnalysisProtocol(question, policy, 0.05, 1.0).freeze(TableJudge(np.array([0, 0, 0], dtype=np.uint8)))
    found = report(seal, seal.run())
    assert (found.fields[0].label, found.status) == ("ABSTAIN", "ABSTAIN")
    assert words in found.sentence
    assert words in found.fields[0].sentence
    assert verify(found.json()).findings == ()
