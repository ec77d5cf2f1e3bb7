"""The report lists its inputs: every file by its name in the project, with shape and hash, and how to check."""

import hashlib
import json
import os
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.io import read_file
from physupport.project import load_project, run_project

RESPONSE = 'response = { kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }'
CODES = ('law = "latent"\nactivity = 0.3', 'law = "known codes"\ncodes = { file = "both.npz", member = "codes" }')


@pytest.fixture
def full(write, small, tmp_path):
    """A project with a file for everything, two arrays of it in one archive."""
    rng = np.random.default_rng(5)
    spare = np.ones((8, 1)) / np.sqrt(8.0)
    codes = rng.normal(size=(300, 3))
    rows = codes @ np.hstack([small.columns([0.2, 0.7]), spare]).T + 0.1 * rng.normal(size=(300, 8))
    np.savez(tmp_path / "both.npz", rows=rows.T, codes=codes)
    return write(
        CODES,
        ('file = "calibration.npy"\nchannels = 1', 'file = "both.npz"\nmember = "rows"\nchannels = 0\nunit = "V"'),
        (RESPONSE, 'responses = "responses.npy"\nshared = "spare.npy"'),
        more=small.calibration,
        responses=small.columns([0.2, 0.35, 0.7, 0.9]),
        spare=spare,
    )


def test_every_file_is_among_the_inputs(full, tmp_path):
    found = run_project(load_project(full))
    entries = {entry["stream"]: entry for entry in found.details.document["inputs"]}
    assert {key: (entry["path"], entry["member"], entry["shape"]) for key, entry in entries.items()} == {
        "calibration": ("both.npz with codes both.npz", "rows", [300, 11]),
        "deployment": ("deployment.npy", None, [400, 8]),
        "elements": ("elements.csv", None, [4, 3]),
        "elements.responses": ("responses.npy", None, [8, 4]),
        "elements.shared": ("spare.npy", None, [8, 1]),
        "data.calibration.codes": ("both.npz", "codes", [300, 3]),
    }
    for key in ("elements", "elements.responses", "elements.shared", "data.calibration.codes"):
        content = (tmp_path / entries[key]["path"]).read_bytes()
        assert entries[key]["sha256"] == hashlib.sha256(content).hexdigest()
    assert str(tmp_path) not in (found.folder / "details.json").read_text()
    page = (found.folder / "report.html").read_text()
    assert str(tmp_path) not in page
    assert "<code>responses.npy</code>" in page
    assert "None" not in page


def test_a_function_is_told_with_its_file(write):
    path = write((RESPONSE, 'response = { function = "mine:peaks" }'))
    source = (
        b"import numpy as np\ndef peaks(places):\n    return np.exp(-(np.linspace(0, 1, 8)[:, None] - places.T) ** 2)\n"
    )
    (path.parent / "mine.py").write_bytes(source)
    found = run_project(load_project(path, {"budget": 1}, trust=True)).details.document["inputs"]
    (entry,) = [each for each in found if each["stream"] == "elements.response.function"]
    assert (entry["path"], entry["sha256"]) == ("mine.py", hashlib.sha256(source).hexdigest())


def test_the_printed_command_checks_the_report_in_its_folder(full, monkeypatch):
    folder = run_project(load_project(full)).folder
    command = json.loads((folder / "details.json").read_text())["verify"]
    assert command == "physupport verify report.json --project ../project.toml"
    monkeypatch.chdir(folder)
    found = CliRunner().invoke(app, shlex.split(command)[1:])
    assert found.exit_code == 0, found.exception
    assert "every verdict from the rows" in found.output
    rows = np.load("../deployment.npy")
    rows[0] += 1.0
    np.save("../deployment.npy", rows)
    assert CliRunner().invoke(app, shlex.split(command)[1:]).exit_code == 3


def test_the_command_finds_the_project_from_an_output_folder_elsewhere(write, tmp_path, monkeypatch):
    folder = tmp_path / "far away" / "of it"
    found = run_project(load_project(write(), {"output.folder": str(folder)}))
    monkeypatch.chdir(folder)
    answer = CliRunner().invoke(app, shlex.split(found.details.document["verify"])[1:])
    assert answer.exit_code == 0, answer.exception


def test_rows_that_only_the_caller_knows_leave_no_command(write, small, tmp_path):
    np.save(tmp_path / "other.npy", small.make_rows(small.columns([0.2, 0.7]), 400, seed=9))
    found = run_project(load_project(write(), {"data.deployment.file": "other.npy"}))
    assert found.details.document["verify"] is None
    assert os.path.exists(found.folder / "report.html")


def test_a_file_that_changes_while_it_is_read_is_refused(full, monkeypatch):
    responses, read = full.parent / "responses.npy", read_file

    def meddled(path, member, **options):
        held = read(path, member)
        if path == responses:
            np.save(responses, 2.0 * np.array(held.values))
        return held

    monkeypatch.setattr("physupport.project._tables.read_file", meddled)
    with pytest.raises(MisuseError, match=r"elements\.responses.*stay as it is while it is read.*responses\.npy"):
        run_project(load_project(full))


def test_what_is_told_is_what_was_used_even_if_the_file_changes_afterwards(full):
    before, project = (full.parent / "responses.npy").read_bytes(), load_project(full)

    def meddle(tick):
        np.save(full.parent / "responses.npy", np.zeros((8, 4)))

    found = run_project(project, callback=meddle)
    entries = {entry["stream"]: entry for entry in found.details.document["inputs"]}
    assert entries["elements.responses"]["sha256"] == hashlib.sha256(before).hexdigest()
