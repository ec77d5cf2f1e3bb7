"""Page and tables beside a report say what it says, or it is refused."""

import csv
import json
import re
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport._hashes import content_hash
from physupport.cli import app
from physupport.project import load_project, run_project
from physupport.verify import verify, verify_beside

MAP = '\n[regions."=B"]\nstrength = 2.0\npresence = "optional"\n'
RESOLUTION = "\n[resolution]\nfine = 0.1\ngroup = 0.5\n"


@pytest.fixture(scope="module", params=["map", "resolution"])
def honest(request, tmp_path_factory, write_peaks):
    folder = tmp_path_factory.mktemp(request.param)
    is_map = request.param == "map"
    second, more = ("=B", MAP) if is_map else ("A", RESOLUTION)
    elements = f'id,region,x\na1,A,0.2\n+a2,A,0.35\nb1,{second},0.7\n"b,2",{second},0.9\n'
    rows = np.random.default_rng(0).normal(size=(200, 8))
    written = write_peaks(folder, ("tolerance = 0.01\n", ""), more=more, elements=elements, deployment=rows)
    return run_project(load_project(written)).folder


@pytest.fixture
def folder(honest, tmp_path):
    return shutil.copytree(honest, tmp_path / "report")


def beside(folder):
    text = (folder / "report.json").read_text()
    assert verify(text).is_verified
    return verify_beside(text, folder)


def test_what_a_run_wrote_is_verified_and_so_is_the_report_alone(folder):
    assert beside(folder).findings == beside(folder).notes == ()
    for name in ("report.html", "details.json", "fields.csv", "queries.csv"):
        (folder / name).unlink()
        assert beside(folder).is_verified


CHANGES = {
    "report.html": [("<h1", "<h1 hidden"), ("</body>", "<p>nothing there</p></body>"), ("level", "leveL")],
    "fields.csv": [("label", "labels"), (",", ";"), ("\n", "\r\n"), ("witnesses", "universal")],
    "queries.csv": [("REJECTED", "ADMISSIBLE"), ("\n0,", "\n9,"), (",a1", ",a2"), ("query", "=query")],
    "details.json": [('"format": "physupport', '"format": "Physupport'), ('"title": "', '"title": "x'), ("{", "[")],
}


@pytest.mark.parametrize(("name", "old", "new"), [(name, *pair) for name in CHANGES for pair in CHANGES[name]])
def test_any_change_is_refused_with_the_name_of_the_file(folder, name, old, new):
    text = (folder / name).read_text()
    (folder / name).write_bytes(text.replace(old, new, 1).encode())
    (finding,) = beside(folder).findings
    assert finding.startswith(name)
    answer = CliRunner().invoke(app, ["verify", str(folder)])
    assert answer.exit_code == 3
    assert f"refused: {name}" in answer.stderr


def test_details_whose_hash_was_made_to_fit_no_longer_give_the_page(folder):
    document = json.loads((folder / "details.json").read_text())
    del document["sha256"]
    for forged in (document | {"title": "Another"}, document | {"fields": "none"}):
        (folder / "details.json").write_text(json.dumps(forged | {"sha256": content_hash(forged)}))
        assert len(beside(folder).findings) == 1


def test_words_of_another_version_are_not_compared_but_facts_are(folder, monkeypatch):
    monkeypatch.setattr("physupport.verify._beside.__version__", "99")
    page = (folder / "report.html").read_text()
    (folder / "report.html").write_text(page.replace("What the data allow", "Words of before"))
    lines = [*csv.reader((folder / "fields.csv").read_text().splitlines())]

    def write(lines):
        with (folder / "fields.csv").open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)

    assert lines[0][-2:] == ["sentence", "remarks"]
    write([lines[0], *([*line[:-2], "other words", "others again"] for line in lines[1:])])
    found = beside(folder)
    assert found.findings == ()
    assert "not compared" in found.notes[0]
    write([lines[0], *(["other", *line[1:]] for line in lines[1:])])
    assert beside(folder).findings == ("fields.csv does not say what the report says",)


def test_one_column_is_not_hidden_behind_another_of_its_name(folder, monkeypatch):
    """A spreadsheet shows the first, and who reads by name takes the last."""
    monkeypatch.setattr("physupport.verify._beside.__version__", "99")
    lines = [*csv.reader((folder / "fields.csv").read_text().splitlines())]
    with (folder / "fields.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["label", *lines[0]], *(["FINE", *line] for line in lines[1:])])
    assert beside(folder).findings == ("fields.csv does not say what the report says",)


@pytest.mark.parametrize("version", [None, "99"])
def test_a_page_without_the_details_that_it_was_made_from_is_refused(folder, monkeypatch, version):
    if version is not None:
        monkeypatch.setattr("physupport.verify._beside.__version__", version)
    (folder / "details.json").unlink()
    (finding,) = beside(folder).findings
    assert finding.startswith("report.html cannot be compared: details.json")
    assert CliRunner().invoke(app, ["verify", str(folder)]).exit_code == 3
    (folder / "report.html").unlink()
    assert beside(folder).findings == ()


def label_of(folder):
    """The first label, and another one."""
    label = json.loads((folder / "report.json").read_text())["fields"][0]["label"]
    return label, "GROUP" if label == "FINE" else "FINE"


FORGED = {
    "everywhere": lambda page, old, new: page.replace(old, new),
    "as a word": lambda page, old, new: page.replace(f'<span class="word">{old}<', f'<span class="word">{new}<'),
    "as a colour": lambda page, old, new: page.replace(f'data-label="{old}"', f'data-label="{new}"'),
    "in the data": lambda page, old, new: page.replace(f'"label":"{old}"', f'"label":"{new}"'),
    "the status": lambda page, old, new: page.replace('"status":"', '"status":"no '),
    "the hash": lambda page, old, new: page.replace('"digests":{"', '"digests":{"other":"","'),
    "a name": lambda page, old, new: re.sub('(?<=<span class="name">)[^<]*', "x", page, count=1),
    "another field": lambda page, old, new: page.replace("</article>", f'</article><p data-label="{new}"></p>', 1),
    "no data": lambda page, old, new: page.replace('id="data"', 'id="date"'),
    "nothing of ours": lambda page, old, new: "words of before",
}


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED)
def test_a_page_of_another_version_shows_the_labels_of_the_report_or_is_refused(folder, resealed, change):
    """Who sets another version and makes all hashes fit does not get a page by."""
    document = json.loads((folder / "report.json").read_text())
    details = json.loads((folder / "details.json").read_text())
    page, (old, new) = (folder / "report.html").read_text(), label_of(folder)
    document["program"]["physupport"] = "0.0.9"
    forged = resealed(document)
    (folder / "report.json").write_text(json.dumps(forged))
    del details["sha256"]
    details["report"] = forged["digests"]["document"]
    (folder / "details.json").write_text(json.dumps(details | {"sha256": content_hash(details)}))
    page = page.replace(document["digests"]["document"], forged["digests"]["document"])
    (folder / "report.html").write_text(page)
    honest = beside(folder)
    assert honest.findings == ()
    assert "not compared" in honest.notes[0]
    other = change(page, old, new)
    assert other != page
    (folder / "report.html").write_text(other)
    assert beside(folder).findings == ("report.html does not show the labels of the report",)
    answer = CliRunner().invoke(app, ["verify", str(folder)])
    assert answer.exit_code == 3
    details["report"] = "0" * 64
    (folder / "details.json").write_text(json.dumps(details | {"sha256": content_hash(details)}))
    (finding,) = beside(folder).findings
    assert finding.startswith("details.json is none of the report")
