"""The rows that a check takes, the answer as JSON, and what a terminal is spared."""

import hashlib
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.cli._text import visible
from physupport.project import load_project, run_project
from physupport.report import Report


@pytest.fixture
def square(tmp_path, write_peaks):
    """As many rows as channels."""
    changes = [("level = 0.1", "level = 0.2"), ("channels = 1", "channels = 0"), ("count = 8", "count = 24")]
    rows = np.random.default_rng(4).normal(size=(24, 24))
    run_project(load_project(write_peaks(tmp_path, *changes, deployment=rows.T)))
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_rows_that_cannot_be_told_from_channels_need_the_project(square):
    report = square / "report" / "report.json"
    error = run("verify", report, "--data", f"deployment={square}/deployment.npy").exception
    assert isinstance(error, MisuseError)
    assert "must tell its rows from its channels by their numbers, but its shape is (24, 24). Give --project" in str(
        error
    )
    assert run("verify", report, "--project", square).exit_code == 0
    np.savez(square / "rows.npz", deployment=np.load(square / "deployment.npy").T)
    assert run("verify", report, "--data", square / "rows.npz").exit_code == 0


@pytest.mark.parametrize("is_link", [False, True])
def test_the_name_of_a_folder_brings_in_no_rows_of_its_own(tmp_path, write_peaks, is_link):
    """Made-up rows and the report on them, named as a map names those of a signal: the project has others."""
    rng = np.random.default_rng(4)
    project = write_peaks(tmp_path, deployment=rng.normal(size=(200, 8)))
    made_up = tmp_path / "elsewhere.npy"
    np.save(made_up, rng.normal(size=(200, 8)))
    folder, rows = tmp_path / "evil" / "signal-1", tmp_path / "evil" / "signal-1.npy"
    folder.parent.mkdir()
    rows.symlink_to(made_up) if is_link else rows.write_bytes(made_up.read_bytes())
    run_project(load_project(project, {"data.deployment.file": str(made_up), "output.folder": str(folder)}))
    refused = run("verify", folder, "--project", project)
    assert refused.exit_code == 3, refused.output
    assert "the held-out rows of deployment do not match their hash" in refused.stderr
    assert "--deployment takes others, such as signal-1.npy beside" in refused.stderr
    asked = run("verify", folder, "--project", project, "--deployment", rows)
    assert asked.exit_code == 0, asked.output
    assert f"note: deployment rows are those of {rows}, not those that the project file names" in asked.stderr


def test_other_deployment_rows_need_a_project(square):
    error = run("verify", square / "report", "--deployment", square / "deployment.npy").exception
    assert "--deployment must come with --project" in str(error)


@pytest.mark.parametrize("damage", ["renamed", "cut off", "missing", "no archive"])
def test_a_damaged_archive_is_one_message(square, damage):
    path = square / ("rows.csv" if damage == "no archive" else "rows.npz")
    np.savez(path.with_suffix(".npz"), deployment=np.load(square / "deployment.npy"))
    match damage:
        case "renamed":
            path.write_bytes((square / "deployment.npy").read_bytes())
        case "cut off":
            path.write_bytes(path.read_bytes()[:-60])
        case "missing":
            path.unlink()
    error = run("verify", square / "report" / "report.json", "--data", path).exception
    assert isinstance(error, MisuseError)
    assert str(error).startswith(f"data {path} must be ")


def test_the_answer_comes_as_json(square):
    report = square / "report" / "report.json"
    answer = run("verify", report, "--json", "--project", square)
    assert (answer.exit_code, answer.stderr) == (0, "")
    found = json.loads(answer.stdout)
    assert (found["verified"], found["rows_scored"], found["findings"]) == (True, True, [])
    assert any("the protocol is taken as it stands" in note for note in found["notes"])
    report.write_text(report.read_text().replace('"level": 0.2', '"level": 0.3'))
    refused = run("verify", report, "--json")
    found = json.loads(refused.stdout)
    assert (refused.exit_code, found["verified"], found["rows_scored"]) == (3, False, False)
    assert found["findings"]
    assert any("verdicts are taken as they stand" in note for note in found["notes"])


def test_a_terminal_is_not_commanded_by_a_foreign_report(square):
    path = square / "report" / "report.json"
    document = Report.load(path).document
    evil = "A\x1b]0;owned\x07\u202e\ud800"
    document["fields"][0] |= {"field": evil, "cell": [evil]}
    document["protocol"]["streams"][0]["name"] = evil
    del document["digests"]["document"]
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    document["digests"]["document"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(Report(document).json())
    for arguments in (["show", path], ["verify", path], ["show", path, "--json"], ["verify", path, "--json"]):
        answer = run(*arguments)
        assert answer.exit_code in (0, 3), answer.exception
        assert answer.output
        assert not {*answer.output} & {*"\x1b\x07\u202e\ud800"}
    assert r"Region A\x1b]0;owned\x07\u202e\ud800: " in run("show", path).output


def test_letters_of_all_scripts_stay_as_they_are():
    assert visible("Größe µ 大小 é") == "Größe µ 大小 é"
    assert visible("a\nb\tc") == r"a\nb\tc"


def test_a_page_that_cannot_be_written_is_one_message(square):
    error = run("show", square / "report", "--html", "/dev/full").exception
    assert isinstance(error, MisuseError)
    assert "--html must name a file that can be written, but '/dev/full' cannot (No space left on device)" in str(error)
