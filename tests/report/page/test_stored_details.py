"""Details saved by earlier programs: their sentences are shown where today facts are put into words."""

import json
import re
from html import unescape
from pathlib import Path

import pytest

from physupport import MisuseError
from physupport._hashes import content_hash
from physupport.report import Details, Report
from physupport.report._diagnosis import misfit_sentence
from physupport.report.page import page_html

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def stored():
    """A report and its details as version 2 had them."""
    return Report.load(DATA / "report.json"), Details.load(DATA / "details-2.json")


def test_every_sentence_of_version_2_is_on_the_page(stored):
    report, details = stored
    document, page = details.document, re.sub("<[^>]+>", "", unescape(page_html(report, details)))
    assert document["version"] == 2
    sentences = [text for field in document["fields"] for text in (*field["refine"], *field["notes"])]
    sentences += [*document["outcome"], *(entry["sentence"] for entry in document["misfit"])]
    assert len(sentences) == 6
    assert all(sentence in page for sentence in sentences)
    assert page.count(document["outcome"][0]) == 1  # the report says it, and the details said it again


def test_its_facts_make_the_same_sentences_today(stored):
    """What was told beside the sentences of a misfit is all that they need."""
    for entry in stored[1].document["misfit"]:
        facts = {name: value for name, value in entry.items() if name != "sentence"}
        assert misfit_sentence(facts | {"is_beyond_range": False}) == entry["sentence"]


def test_a_notebook_shows_them(stored):
    html = stored[1]._repr_html_()
    assert [f"<li>{sentence}</li>" in html for sentence in stored[1].document["outcome"]] == [False, True]


@pytest.mark.parametrize("version", [1, 4, "2", None])
def test_other_versions_are_refused(version):
    document = json.loads((DATA / "details-2.json").read_text())
    del document["sha256"]
    changed = document | {"version": version}
    with pytest.raises(MisuseError, match=r"version 2 or 3, got 'physupport details', version"):
        Details.from_json(json.dumps(changed | {"sha256": content_hash(changed)}))
