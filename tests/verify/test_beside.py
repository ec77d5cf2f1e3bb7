"""Page and tables beside a report say what it says, or it is refused."""

import json
import re
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport._codec import content_hash
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


def test_a_page_without_the_details_that_it_was_made_from_is_refused(folder):
    (folder / "details.json").unlink()
    (finding,) = beside(folder).findings
    assert finding.startswith("report.html cannot be compared: details.json")
    assert CliRunner().invoke(app, ["verify", str(folder)]).exit_code == 3
    (folder / "report.html").unlink()
    assert beside(folder).findings == ()


def as_of_version(folder, resealed, version):
    """The folder as if another version had written it, with all hashes made to fit, the page included."""
    document = json.loads((folder / "report.json").read_text())
    details = json.loads((folder / "details.json").read_text())
    before = document["digests"]["document"]
    document["program"]["physupport"] = version
    forged = resealed(document)
    (folder / "report.json").write_text(json.dumps(forged))
    del details["sha256"]
    details["report"] = forged["digests"]["document"]
    (folder / "details.json").write_text(json.dumps(details | {"sha256": content_hash(details)}))
    page = (folder / "report.html").read_text()
    return page.replace(before, forged["digests"]["document"])


SHOWN = {
    "a sentence": ("What the data allow", "Words of before"),
    "a picture": ("</svg>", "<circle/></svg>"),
    "a paragraph": ("</body>", "<p>Lead was found with certainty.</p></body>"),
    "a style that hides": ("</style>", "[data-label] { display: none }</style>"),
}


@pytest.mark.parametrize("change", SHOWN)
def test_a_page_of_another_version_is_refused_and_show_makes_it_anew(folder, resealed, change):
    page = as_of_version(folder, resealed, "0.0.9")
    old, new = SHOWN[change]
    assert old in page
    (folder / "report.html").write_text(page.replace(old, new, 1))
    answer = CliRunner().invoke(app, ["verify", str(folder)])
    assert answer.exit_code == 3
    assert "refused: report.html is not the page of the report" in answer.stderr
    assert "`physupport show --html` makes the page anew" in answer.stderr
    shown = CliRunner().invoke(app, ["show", str(folder), "--html", str(folder / "report.html")])
    assert shown.exit_code == 0
    assert CliRunner().invoke(app, ["verify", str(folder)]).exit_code == 0


def test_a_table_of_another_version_with_another_sentence_is_refused(folder, resealed):
    (folder / "report.html").write_text(as_of_version(folder, resealed, "0.0.9"))
    lines = (folder / "fields.csv").read_text()
    (folder / "fields.csv").write_text(re.sub("asked about|explanation", "of all", lines, count=1))
    assert lines != (folder / "fields.csv").read_text()
    assert "fields.csv does not say what the report says" in beside(folder).findings
