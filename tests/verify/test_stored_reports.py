"""Reports saved by earlier programs still verify: what they say is made from their facts, in the words of today."""

import json
from pathlib import Path

import numpy as np
import pytest

from physupport.report import Report, _report
from physupport.verify import verify
from physupport.verify._data import PLAUSIBILITY

DATA = Path(__file__).parent / "data"
STORED = sorted(path.name for path in DATA.glob("*.json"))


@pytest.fixture(scope="module")
def rows():
    """Written in hundredths."""
    with np.load(DATA / "rows.npz") as archive:
        return {name: archive[name] / 100.0 for name in archive.files}


def document(name):
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def test_there_is_one_of_every_version_that_was_ever_written():
    assert {document(name)["version"] for name in STORED} == {1, 2, 3}


@pytest.mark.parametrize("name", STORED)
def test_a_stored_report_is_verified_and_shown(name):
    report = Report.load(DATA / name)
    assert verify(DATA / name).findings == ()
    assert report.is_unchanged
    today = Report.load(DATA / name.replace("-1", "-2"))
    assert (report.fields, report.sentence) == (today.fields, today.sentence)


@pytest.mark.parametrize("version", [1, 2])
def test_a_stored_report_is_verified_with_its_rows_and_the_hash_of_its_protocol(rows, version):
    stored = document(f"four-regions-{version}.json")
    found = verify(stored, rows, protocol=stored["digests"]["protocol"])
    assert found.findings == ()
    assert {*found.notes} <= {PLAUSIBILITY}  # another machine may round its scores otherwise
    other = rows | {"deployment": rows["deployment"] + 0.01}
    assert "rows of deployment do not match their hash" in " ".join(verify(stored, other).findings)


@pytest.mark.parametrize("version", [2, 3])
def test_a_report_by_simulation_is_verified_with_draws_of_today(version):
    """Its rivals, symmetries and draws are derived again, also of a statistic that had to be named then."""
    stored, table = document(f"simulation-{version}.json"), np.load(DATA / "simulation.npy")
    assert verify(stored, {"deployment": table}, protocol=stored["digests"]["protocol"]).findings == ()
    assert verify(stored, {"deployment": table + 1e-9}).findings


@pytest.mark.parametrize("name", [name for name in STORED if name.endswith("-1.json")])
def test_a_report_with_sentences_in_other_words_is_verified_and_shown_in_those_of_today(name, resealed):
    """As if its program had put things otherwise: all hashes are its own."""
    other = document(name)
    for part in (other["outcome"], *other["fields"]):
        part["sentence"] = "Put otherwise."
    other = resealed(other)
    assert other["digests"]["document"] != document(name)["digests"]["document"]
    assert verify(other).findings == ()
    shown, today = Report(other), Report(document(name))
    assert [field.sentence for field in shown.fields] == [field.sentence for field in today.fields]
    assert "Put otherwise." not in shown.text() + shown.csv() + shown._repr_html_()


@pytest.mark.parametrize("name", STORED)
def test_a_rewording_changes_what_is_shown_and_nothing_that_is_proven(name, monkeypatch):
    stored = document(name)
    monkeypatch.setattr(_report, "outcome_sentence", lambda _: "Reworded.")
    monkeypatch.setattr(_report, "field_sentences", lambda document: ["Reworded too."] * len(document["fields"]))
    assert Report(stored).sentence == "Reworded."
    assert {field.sentence for field in Report(stored).fields} == {"Reworded too."}
    assert verify(stored).findings == ()
    assert Report(stored).is_unchanged


@pytest.mark.parametrize("name", [name for name in STORED if not name.endswith("-1.json")])
def test_a_document_of_today_has_no_room_for_sentences(name, resealed):
    for place in ("outcome", "fields"):
        forged = document(name)
        part = forged["outcome"] if place == "outcome" else forged["fields"][0]
        part["sentence"] = "The data say what I like."
        assert "have no other names than" in " ".join(verify(resealed(forged)).findings)


@pytest.mark.parametrize("name", [name for name in STORED if name.endswith("-1.json")])
def test_what_a_stored_report_claims_is_checked_all_the_same(name, resealed):
    forged = document(name)
    forged["fields"][0]["cell"].append("another")
    assert "the cell is not what the trace gives" in " ".join(verify(resealed(forged)).findings)
    forged = document(name)
    forged["outcome"]["witnessed"] += 1
    assert "the outcome says witnessed" in " ".join(verify(resealed(forged)).findings)
    forged = document(name)
    forged["fields"][0]["sentence"] = 3
    assert "sentence must be a text" in " ".join(verify(resealed(forged)).findings)


def test_sentences_do_not_hang_on_the_order_of_names():
    for name in STORED:
        shuffled = json.loads(json.dumps(document(name), sort_keys=True))
        assert Report(shuffled).text() == Report.load(DATA / name).text()
