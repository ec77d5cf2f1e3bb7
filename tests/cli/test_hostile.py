"""Numbers at the ends of double precision and documents with parts missing end in an answer or in one message."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport._codec import content_hash
from physupport.cli import app
from physupport.project import load_project, run_project

ROWS = np.random.default_rng(0).normal(size=(40, 8))
LARGEST = np.where(np.arange(320).reshape(40, 8) % 2, 1.7e308, -1.7e308)
SIMULATION = ("level = 0.1", 'level = 0.1\njudge = "simulation"')


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.mark.parametrize("strength", ["1e18", "1e150", "1e300"])
@pytest.mark.parametrize("command", [["run"], ["run", "--dry-run"]])
def test_strengths_too_large_to_be_simulated_are_refused_with_a_remedy(tmp_path, write_peaks, strength, command):
    path = write_peaks(tmp_path, SIMULATION, ("strength = 2.0", f"strength = {strength}"), deployment=ROWS)
    error = run(*command, path).exception
    assert isinstance(error, MisuseError)
    assert "strength must be at most 1e+10 times the noise in all" in str(error)
    path.write_text(path.read_text().replace('judge = "simulation"', 'judge = "evidence"'))  # as the message says
    assert run("run", path).exit_code == 0


def test_strengths_that_can_be_simulated_are(tmp_path, write_peaks):
    path = write_peaks(tmp_path, SIMULATION, ("strength = 2.0", "strength = 1e9"), deployment=ROWS)
    assert run("run", path).exit_code == 0


@pytest.mark.parametrize("law", ["mean", "covariance"])
def test_rows_whose_differences_overflow_are_answered_without_a_picture_of_them(tmp_path, write_peaks, law):
    path = write_peaks(tmp_path, ('law = "covariance"', f'law = "{law}"'), deployment=LARGEST)
    assert run("run", path).exit_code == 0
    assert json.loads((tmp_path / "report" / "details.json").read_text())["rows"] is None
    assert run("verify", tmp_path / "report", "--project", path).exit_code == 0


@pytest.fixture(scope="module")
def written(tmp_path_factory, write_peaks):
    return run_project(load_project(write_peaks(tmp_path_factory.mktemp("written"), deployment=ROWS))).folder


UNSOUND = "hold facts that fit together"
MISSING = [
    (("inputs", 0, "shape"), UNSOUND),
    (("inputs",), "details must hold 'inputs', not none"),
    (("misfit", 0, "z"), UNSOUND),
    (("library", "responses"), UNSOUND),
]


@pytest.mark.parametrize(("path", "words"), MISSING)
def test_a_page_of_details_with_a_part_missing_is_one_message(written, tmp_path, path, words):
    details = json.loads((written / "details.json").read_text())
    del details["sha256"]
    part = details
    for step in path[:-1]:
        part = part[step]
    del part[path[-1]]
    (tmp_path / "report.json").write_bytes((written / "report.json").read_bytes())
    (tmp_path / "details.json").write_text(json.dumps(details | {"sha256": content_hash(details)}))
    shown = run("show", tmp_path / "report.json", "--html", tmp_path / "page.html")
    assert isinstance(shown.exception, MisuseError)
    assert words in str(shown.exception)
    checked = run("verify", tmp_path)
    assert checked.exit_code == 3
    assert "refused: details.json is none of the report" in checked.stderr
