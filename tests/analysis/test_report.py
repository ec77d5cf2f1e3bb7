"""A report says what the trace allows, why, and what would change it; and it can be saved and read again."""

import csv
import io
import json
import re
from dataclasses import replace
from html import escape

import numpy as np
import pytest

from physupport._codec import array_json, canonical, content_hash, real, whole
from physupport._errors import MisuseError
from physupport.aeb import FixedOrder, continue_run
from physupport.analysis import AnalysisProtocol, report
from physupport.banks import table_regions
from physupport.judges import TableJudge
from physupport.questions import Label, RegionalMap, RegionRule, Resolution
from physupport.report import Report
from physupport.verify import verify

ADMISSIBLE, REJECTED = 0, 1


def make_map(names=("B1", "B2", "B3")):
    """Region B with three elements, all with and without region C: explanation 2 i + (C is absent)."""
    columns = {"B": [name for name in names for _ in range(2)], "C": ["C1", None] * 3}
    places = {"B": dict(zip(names, (0.0, 1.0, 2.0), strict=True))}
    return RegionalMap(table_regions(columns, coordinates=places), {"B": RegionRule(0.5), "C": RegionRule()})


def written(codes, margins=None, budget=1.0, question=None, level=0.05):
    judge = TableJudge(np.array(codes), margins)
    seal = AnalysisProtocol(question or make_map(), FixedOrder(), level, budget).freeze(judge)
    return report(seal, seal.run())


MARGINS = np.array([[3.0, 3.1], [4.0, 4.1], [-0.7, -0.6], [2.0, 2.1], [-1.2, -1.1], [5.0, 5.1]])
TWO = [REJECTED, REJECTED, ADMISSIBLE, REJECTED, ADMISSIBLE, REJECTED]


def test_a_group_names_what_cannot_be_told_apart_and_what_it_takes_to_separate_it():
    b, c = written(TWO, MARGINS).fields
    assert b.label is Label.GROUP
    assert b.cell == ("B2", "B3")
    assert b.witnesses == (2, 4)
    assert b.sentence.startswith("Region B: one of B3, B2; the data cannot tell them apart. To separate them, ")
    # The witness nearest to rejection has a margin of at most -0.6.
    assert "must rise by more than 0.6" in b.sentence
    assert c.sentence.startswith("Region C: C1.")


def test_a_universal_label_names_the_nearest_excluded_explanation_that_would_change_it():
    b, c = written(TWO, MARGINS).fields
    # C is there in all survivors; of the rejected ones without it, 1, 3 and 5, number 3 has the smallest margin.
    assert (c.excluded, c.margin) == (3, (2.0, 2.1))
    # No rejected explanation lacks B or lies outside the region, so nothing would change the group.
    assert b.excluded is None


def test_a_rejected_explanation_that_would_change_nothing_is_not_the_nearest():
    """B1 lies in the tolerance of B2 here: only B3 would end FINE, though B1 has the smaller margin."""
    view = table_regions({"B": ["B1", "B2", "B3"]}, coordinates={"B": {"B1": 0.0, "B2": 0.4, "B3": 2.0}})
    margins = np.array([[1.0, 1.1], [-1.0, -0.9], [6.0, 6.1]])
    (b,) = written([1, 0, 1], margins, question=RegionalMap(view, {"B": RegionRule(0.5)})).fields
    assert (str(b.label), b.excluded, b.margin) == ("FINE", 2, (6.0, 6.1))


def test_the_three_ways_of_saying_nothing_fine_say_why_and_what_would_change_it():
    empty, ambiguous, cut = written([1] * 6), written([0] * 6), written([1, 1, 1, 1, 1, 1], budget=2)
    assert empty.status == "EMPTY"
    assert "probability at most 0.05" in empty.sentence
    assert "A wider bank" in empty.sentence
    assert ambiguous.fields[1].label is Label.SUPPORT_AMBIGUOUS
    assert "cannot tell whether anything is there. To decide" in ambiguous.fields[1].sentence
    assert cut.status == "ABSTAIN"
    assert "budget of 2 queries is spent. A larger budget may settle" in cut.sentence
    assert cut.fields[1].sentence.startswith("Region C: open; possible is C1 (not tested) or nothing (not tested).")


def test_truth_level_labels_without_a_witness_abstain_as_a_whole_and_say_so():
    found = written([1, 2, 1, 2, 1, 1], budget=1.0, question=make_map())
    assert found.status == "ABSTAIN"
    question = RegionalMap(make_map().view, {"C": RegionRule()})
    unwitnessed = written([1, 2, 1, 2, 1, 1], question=question)
    assert unwitnessed.fields[0].label is Label.ABSENT
    assert "no explanation could be confirmed" in unwitnessed.sentence


def test_saved_and_loaded_it_is_the_same(tmp_path):
    found = written(TWO, MARGINS)
    found.save(tmp_path / "report.json")
    again = Report.load(tmp_path / "report.json")
    assert again.document == found.document
    assert again.fields == found.fields
    assert again.text() == found.text()
    assert again.digests == found.digests


def test_infinite_margins_are_texts_and_the_json_is_strict():
    text = written(TWO).json()

    def refuse(name):
        raise AssertionError(name)

    trace = json.loads(text, parse_constant=refuse)["trace"]
    assert {*trace["lower"], *trace["upper"]} == {"-inf", "inf", 0.0}
    with pytest.raises(MisuseError, match="report must be strict JSON"):
        Report.from_json(text.replace("0.05", "NaN", 1))


def test_the_table_has_a_row_for_each_field_and_reads_back_from_csv():
    found = written(TWO, MARGINS)
    rows = [*csv.DictReader(io.StringIO(found.csv()))]
    assert rows == found.rows()
    assert [(row["field"], row["label"], row["cell"]) for row in rows] == [
        ("B", "GROUP", "B2; B3"),
        ("C", "FINE", "C1"),
    ]


def test_the_page_of_a_notebook_escapes_every_name():
    html = written(TWO, MARGINS, question=make_map(('<b>"1"</b>', "<script>2", "&3")))._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;2, &amp;3" in html


def test_a_notebook_shows_what_is_said_and_a_line_names_the_labels():
    found = written(TWO, MARGINS)
    assert repr(found) == "Report(REPORT, level 0.05: B GROUP, C FINE)"
    html = found._repr_html_()
    assert [html.index(escape(each.answer)) for each in found.fields] < [html.index("<table>")] * 2
    assert re.search("<td>B</td><td [^>]*>GROUP</td><td>present: one of a group</td><td>B2, B3</td>", html)


def test_a_frame_has_a_row_for_each_element_that_is_possible():
    found = written(TWO, MARGINS)
    frame = found.to_frame()
    assert frame["field"].tolist() == ["B", "B", "C"]
    assert frame["label"].tolist() == ["GROUP", "GROUP", "FINE"]
    assert frame["element"].tolist() == [*found.fields[0].kept, "C1"]
    assert frame["is_certain"].tolist() == [False, False, True]
    assert (frame["margin"] <= 0.0).all()


def test_the_text_ends_with_level_queries_seed_and_hash():
    found = written(TWO, MARGINS)
    last = found.text().splitlines()[-1]
    assert last.startswith(
        "Level alpha = 0.05; 6 of 6 explanations (candidates) tested (budget 6), 2 not rejected, 0 not tested; seed 0;"
    )
    assert found.digests["document"][:16] in last
    assert set(found.versions) == {"physupport", "numpy", "python"}


def test_every_prefix_of_a_run_has_a_report_of_its_own_and_all_are_verified():
    judge = TableJudge(np.array(TWO), MARGINS)
    seal = AnalysisProtocol(make_map(), FixedOrder(), 0.05, 1.0).freeze(judge)
    trace = seal.run()
    for k in range(len(trace) + 1):
        assert verify(report(seal, trace.at(k)).json()).findings == ()


def test_a_trace_of_another_protocol_is_refused():
    judge = TableJudge(np.array(TWO))
    one, other = (AnalysisProtocol(make_map(), FixedOrder(), level, 1.0).freeze(judge) for level in (0.05, 0.1))
    with pytest.raises(MisuseError, match="trace must come from a run of the protocol"):
        report(other, one.run())


def test_a_trace_with_the_verdicts_of_another_judge_is_refused():
    seal = AnalysisProtocol(make_map(), FixedOrder(), 0.05, 3).freeze(TableJudge(np.array(TWO), MARGINS))
    other = TableJudge(np.array([ADMISSIBLE] * 6))
    trace = seal.run()
    forged = continue_run(trace, other, seal.policy, 6)
    with pytest.raises(MisuseError, match="trace must hold the verdicts of the judge, not another on explanation 3"):
        report(seal, forged)
    with pytest.raises(MisuseError, match="another on explanation 3"):
        seal.resume(forged, 6)
    moved = replace(trace.verdicts, lower=trace.verdicts.lower + 0.3, upper=trace.verdicts.upper + 0.3)
    shifted = replace(trace, verdicts=moved)
    with pytest.raises(MisuseError, match="another on explanation 0"):
        report(seal, shifted)


def test_a_resumed_run_is_the_uninterrupted_one():
    judge = TableJudge(np.array(TWO), MARGINS)
    short, whole_ = (AnalysisProtocol(make_map(), FixedOrder(), 0.05, budget).freeze(judge) for budget in (3, 1.0))
    longer, straight = short.resume(short.run(), 1.0), whole_.run()
    assert longer.queries.tolist() == straight.queries.tolist()
    assert longer.answers == straight.answers
    assert len(whole_.resume(whole_.run(callback=lambda tick: tick.used < 2))) == len(straight)
    with pytest.raises(MisuseError, match="come from a run of the protocol"):
        short.resume(straight)


@pytest.mark.parametrize(
    ("level", "words"), [(0.05, "at least 0.95."), (1e-7, "at least 1 - 1e-07."), (0.00012345678, "0.99987654322.")]
)
def test_no_level_is_rounded_to_certainty(level, words):
    assert written(TWO, MARGINS, level=level).sentence.endswith(words)


def test_bounds_are_rounded_to_the_side_on_which_they_hold():
    margins = MARGINS.copy()
    margins[3], margins[2] = (2.00019, 2.1), (-0.7, -0.60009)
    b, c = written(TWO, margins).fields
    assert "by a margin of at least 2." in c.sentence
    assert "must rise by more than 0.6:" in b.sentence
    places = Resolution(np.arange(2), np.array([[0.0, 0.20001], [0.20001, 0.0]]), np.array([0.1, 0.10001]), 0.3, 0.4)
    (found,) = written([0, 0], question=places).fields
    assert "lies within 0.2001." in found.sentence


def test_one_survivor_spreads_together_with_the_proposal():
    places = Resolution(np.arange(2), np.array([[0.0, 0.1], [0.1, 0.0]]), np.array([0.7, 0.7]), 0.1, 0.2)
    (found,) = written([0, 1], question=places).fields
    assert found.sentence.startswith(
        "Resolution: ambiguous; the set of the remaining explanations and the proposal spreads at least 0.7"
    )


def test_where_only_indeterminate_verdicts_are_left_more_queries_are_not_offered():
    question = RegionalMap(make_map().view, {"B": RegionRule(0.5)})
    found = written([2, 2, 1, 1, 1, 1], question=question)
    assert found.status == "ABSTAIN"
    assert "more queries would not" in found.sentence
    assert "would find a witness" not in found.text()
    assert verify(found.json()).findings == ()


def test_something_else_is_no_report():
    with pytest.raises(MisuseError, match="document must be a 'physupport report', version 4, not"):
        Report.from_json("{}")
    with pytest.raises(MisuseError, match="report must be a JSON object, not list"):
        Report.from_json("[]")


def test_long_arrays_are_packed_and_come_back_bit_by_bit():
    values = np.random.default_rng(0).standard_normal((70, 71))
    packed, numbers = array_json(values), np.arange(6000) - 3
    assert "packed" in packed
    assert real(json.loads(json.dumps(packed)), 70, 71).tobytes() == values.tobytes()
    np.testing.assert_array_equal(whole(array_json(numbers), None), numbers)
    with pytest.raises(MisuseError, match="array must be finite"):
        array_json(np.array([np.inf]))


def test_the_canonical_form_does_not_depend_on_the_order_of_names():
    assert canonical({"b": 1, "a": 0.1}) == canonical({"a": 0.1, "b": 1}) == b'{"a":0.1,"b":1}'
    assert content_hash({"a": 1}) != content_hash({"a": 1.0})


def test_a_large_run_has_a_compact_report_that_is_verified():
    """Trace and table of 20000 explanations are packed."""
    rng = np.random.default_rng(3)
    columns = {
        "B": rng.choice([f"b{i}" for i in range(40)], 20000).tolist(),
        "C": rng.choice(["c", None], 20000).tolist(),
    }
    codes = np.ones(20000, dtype=np.int64)
    codes[[15000, 15001]] = 0
    found = written(
        codes,
        np.where(codes[:, None] == 1, 1.0, -1.0) + np.array([-0.1, 0.1]),
        question=RegionalMap(table_regions(columns)),
    )
    assert len(found.json()) < 600_000
    assert verify(found.json()).findings == ()
