"""Words are made from the facts of a report whenever it is shown: they are no part of what is proven."""

import copy
import json

import pytest

from physupport.report import Report, _report
from physupport.verify import verify

NAMES = ["group and ambiguity", "resolution wide", "four regions"]


@pytest.mark.parametrize("name", NAMES)
def test_a_rewording_changes_what_is_shown_and_nothing_that_is_proven(reports, name, monkeypatch):
    stored = reports[name].report.document
    monkeypatch.setattr(_report, "outcome_sentence", lambda _: "Reworded.")
    monkeypatch.setattr(_report, "sentence", lambda _: "Reworded too.")
    assert Report(stored).sentence == "Reworded."
    assert {field.sentence for field in Report(stored).fields} == {"Reworded too."}
    assert verify(stored).findings == ()
    assert Report(stored).is_unchanged


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", ["outcome", "fields"])
def test_a_document_has_no_room_for_sentences(reports, name, place, resealed):
    forged = copy.deepcopy(reports[name].report.document)
    part = forged["outcome"] if place == "outcome" else forged["fields"][0]
    part["sentence"] = "The data say what I like."
    assert "have no other names than" in " ".join(verify(resealed(forged)).findings)


@pytest.mark.parametrize("name", NAMES)
def test_sentences_do_not_hang_on_the_order_of_names(reports, name):
    report = reports[name].report
    shuffled = json.loads(json.dumps(report.document, sort_keys=True))
    assert Report(shuffled).text() == report.text()
