"""Page and tables beside a report say what it says, or it is refused."""

import csv
import json
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
    (folder / "report.html").write_text("words of before")
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
