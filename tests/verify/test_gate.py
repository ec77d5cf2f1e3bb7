"""Labels are withheld where the best fit is itself rejected, in every output, and nobody can take that back."""

import copy

import numpy as np
import pytest

from physupport._codec import content_hash, dumped, loaded
from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.banks import Library
from physupport.report import Report, document_hash, fields_json
from physupport.verify import verify

PLACES = np.linspace(4.0, 36.0, 17)
LINES = np.exp(-0.5 * ((np.arange(40)[:, None] - PLACES) / 4.0) ** 2)
LIBRARY = Library([f"L{i}" for i in range(17)], ["axis"] * 17, PLACES[:, None], LINES / np.linalg.norm(LINES, axis=0))


@pytest.fixture(scope="module")
def withheld():
    """Rows with a spike that no line has, and the first report on such rows that withholds its labels."""
    plan = StreamPlan("gaussian", background=np.ones((40, 1)))
    model = PhysicalSupport(LIBRARY, calibration=None, deployment=plan, alpha=0.2).fit()
    for seed in range(100):
        row = 3.0 * LINES[:, 6] + np.random.default_rng(seed).standard_normal(40)
        row[20] += 4.0
        report = model.report(row[None])
        if report.status == "WITHHELD":
            return model.result_, row[None]
    raise AssertionError("none of 100 rows has its best fit rejected and another kept")


def changed(report, change):
    """A document after a change, with all hashes made to fit again."""
    document = copy.deepcopy(report.document)
    change(document)
    document["digests"]["data"] = content_hash(document["data"])
    document["digests"]["document"] = document_hash(document)
    return document


def test_no_output_shows_a_label_that_is_withheld(withheld):
    result, _ = withheld
    report, details = result.report, result.details().document
    assert {field.label for field in report.fields} == {"ABSTAIN"}
    assert {field.certificate for field in report.fields} == {"withheld"}
    assert {entry["label"] for entry in details["fields"]} == {"ABSTAIN"}
    text = report.text()
    assert "FINE" not in text
    assert "No label is given" in text
    assert "channel 20" in text or "channels" in text
    assert result.trace.answers[0].label != "ABSTAIN"  # what the verdicts alone would have said


def test_a_report_that_withholds_verifies(withheld):
    result, rows = withheld
    assert verify(result.report.json()).is_verified
    assert verify(result.report.json(), {"deployment": rows}).is_verified
    assert Report.from_json(result.report.json()).status == "WITHHELD"


def unwithheld(document):
    document["gate"]["is_withheld"] = False
    document["outcome"]["status"] = "REPORT"


def without_facts(document):
    document["gate"] = None


def another_place(document):
    document["gate"]["findings"][0]["place"] = "channel 3"


def another_p(document):
    document["gate"]["findings"][0]["p"] = 0.9


def labelled(document):
    document["fields"][0]["label"] = "FINE"


def another_level(document):
    document["gate"]["level"] *= 0.99


def without_edges(document):
    del document["edges"]


@pytest.mark.parametrize("change", [unwithheld, without_facts, labelled, without_edges])
def test_taking_it_back_is_refused_without_rows(withheld, change):
    assert not verify(changed(withheld[0].report, change)).is_verified


@pytest.mark.parametrize(
    "facts",
    [
        {"best": 10**6}, {"best": -1}, {"level": -0.5}, {"level": 1.5}, {"findings": []}, {"whiteness": {"p": 0.5}},
        {"findings": [{"part": "columns", "place": "channel 3", "p": 1.7}]}, {"zero_rows": 0.5},
        {"findings": [{"part": "columns", "p": 0.001}]}, {"units": {"a": 1}, "smallest_p": {"b": 0.5}},
    ],
)  # fmt: skip
def test_facts_that_no_judge_gives_are_refused_without_rows(withheld, facts):
    """Words could not be made of some of them."""
    assert not verify(changed(withheld[0].report, lambda document: document["gate"].update(facts))).is_verified


def test_without_rows_the_facts_of_a_judge_are_said_to_be_taken_as_they_stand(withheld):
    (note, *_) = verify(withheld[0].report.json()).notes
    assert note.startswith("verdicts, and what the judge says of the answer as a whole, are taken as they stand")


def test_labels_that_follow_from_the_trace_are_refused_where_the_gate_says_that_the_best_fit_is_rejected(withheld):
    """Here all of the document fits but the facts of the gate, which contradict each other."""
    trace = withheld[0].trace
    for facts, text in (
        ({"is_withheld": False}, "labels are not withheld, which the judge does otherwise"),
        ({"is_withheld": False, "is_best_rejected": False}, "said to be not rejected, but its p-values say otherwise"),
    ):

        def labelled_throughout(document, facts=facts):
            document["gate"].update(facts)
            made = {
                "fields": fields_json(trace, trace.answers),
                "outcome": document["outcome"] | {"status": trace.status.name},
            }
            document.update(loaded(dumped(made)))

        (finding,) = verify(changed(withheld[0].report, labelled_throughout)).findings
        assert text in finding


@pytest.mark.parametrize("change", [unwithheld, without_facts, another_place, another_p, another_level])
def test_other_facts_than_those_of_the_rows_are_refused(withheld, change):
    result, rows = withheld
    assert not verify(changed(result.report, change), {"deployment": rows}).is_verified


@pytest.mark.parametrize("factor", [0.999, 1.001, 1 - 1e-4])
def test_no_p_value_may_be_moved_by_more_than_rounding(withheld, factor):
    """What another machine may round otherwise is left: some 1e-10 of a p-value, and 1e-6 is what a margin has."""
    result, rows = withheld

    def moved(by):
        def change(document):
            findings = document["gate"]["findings"]
            findings[-1]["p"] *= by
            if document["gate"]["whiteness"]["part"] == findings[-1]["part"]:
                document["gate"]["whiteness"]["p"] *= by

        return verify(changed(result.report, change), {"deployment": rows}).findings

    assert moved(1.0) == moved(1.0 - 1e-9) == ()
    assert moved(factor)
    assert all(finding.startswith("gate.") and finding.endswith(tuple("0123456789")) for finding in moved(factor))


@pytest.mark.parametrize("facts", [{"extra": []}, {"extra": {}}, {"extra": None}, {"extra": {"a": [[]]}}])
def test_an_entry_of_which_the_rows_say_nothing_is_refused_though_it_is_empty(withheld, facts):
    result, rows = withheld
    forged = changed(result.report, lambda document: document["gate"].update(facts))
    assert any(text.endswith("but the rows give nothing") for text in verify(forged, {"deployment": rows}).findings)


def test_the_end_of_a_grid_is_named_and_checked():
    plan = StreamPlan("gaussian", background=np.ones((40, 1)))
    model = PhysicalSupport(LIBRARY, calibration=None, deployment=plan).fit()
    row = 9.0 * LINES[:, 0] + np.random.default_rng(1).standard_normal(40)
    report = model.report(row[None])
    assert report.document["edges"] == [{"of": "region axis", "value": 4.0, "end": "lowest"}]
    assert "touches the end of the grid of region axis (4)" in report.sentence
    inner = model.report((9.0 * LINES[:, 8] + np.random.default_rng(2).standard_normal(40))[None])
    assert inner.document["edges"] == []
    assert not verify(changed(report, lambda document: document["edges"].clear())).is_verified


def test_where_nothing_was_asked_the_gate_is_still_that_of_the_rows(resealed):
    """A trace that is emptied leaves no verdict to score; what is said of the answer as a whole is told by the rows."""
    row = 3.0 * LINES[:, 6] + np.random.default_rng(0).standard_normal(40)
    plan = StreamPlan("gaussian", background=np.ones((40, 1)))
    model = PhysicalSupport(LIBRARY, calibration=None, deployment=plan, alpha=0.2, budget=0).fit()
    honest = model.report(row[None])
    assert not len(model.result_.trace)
    assert verify(honest.json(), {"deployment": row[None]}).is_verified
    forged = copy.deepcopy(honest.document)
    other = 3 if forged["gate"]["best"] != 3 else 4
    forged["gate"] |= {"best": other, "level": 0.9, "findings": [], "is_best_rejected": False}
    forged = resealed(forged)
    assert verify(forged).is_verified  # the report alone cannot tell
    assert any("gate.best" in finding for finding in verify(forged, {"deployment": row[None]}).findings)
