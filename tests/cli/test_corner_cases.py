"""Options that are rarely used, and what each of them says where it cannot be followed."""

import io
import json
import os
import sys

import numba
import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.cli._app import use_threads
from physupport.cli._arriving import blocks
from physupport.project import load_project, run_project


def run(*arguments, text=None):
    return CliRunner().invoke(app, [*map(str, arguments)], input=text)


def refusal(*arguments, text=None):
    error = run(*arguments, text=text).exception
    assert isinstance(error, MisuseError), error
    assert "\n" not in str(error)
    return str(error)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, write_peaks):
    """A project that was run."""
    folder = tmp_path_factory.mktemp("project")
    rows, changes = np.random.default_rng(4).normal(size=(40, 6)), [("level = 0.1", "level = 0.2"), ("= 8", "= 6")]
    run_project(load_project(write_peaks(folder, *changes, deployment=rows)))
    return folder


@pytest.mark.parametrize("kind", ["device", "FIFO"])
@pytest.mark.parametrize("command", [["verify"], ["show"], ["plan", "--dictionary"]])
def test_what_may_never_end_is_refused_unread(tmp_path, command, kind):
    path = tmp_path / "pipe" if kind == "FIFO" else "/dev/zero"
    if kind == "FIFO":
        os.mkfifo(path)
    assert "must be a file, not a device or a pipe" in refusal(*command, path)


def test_standard_input_that_does_not_end_is_refused(monkeypatch):
    monkeypatch.setattr("physupport.cli._text._MOST_TEXT", 2**21)
    assert run("verify", "-", text="{" * 2**21).exit_code == 3  # read, and no report
    message = refusal("verify", "-", text="{" * (2**21 + 1))
    assert (
        message
        == "report must have at most 2,097,152 characters on standard input, but it has more. Name the file instead."
    )


def test_a_report_comes_from_standard_input(finished):
    text = (finished / "report" / "report.json").read_text()
    answer = run("verify", "-", text=text)
    assert answer.exit_code == 0
    told = run("verify", "-", "--json", text=text)
    assert json.loads(told.stdout)["findings"] == []
    assert "come with details.json beside the report" in refusal("show", "-", "--html", finished / "x.html", text=text)


@pytest.mark.parametrize("wrong", ["nowhere/page.html", "."])
def test_a_page_needs_a_folder_that_exists(finished, wrong):
    told = refusal("show", finished / "report", "--html", finished / wrong)
    assert "--html must name a file in a folder that exists" in told


def test_rows_are_given_by_the_streams_of_the_report_each_once(finished):
    report, rows = finished / "report" / "report.json", finished / "deployment.npy"
    assert run("verify", report, "--data", f"deployment={rows}").exit_code == 0
    assert "must name streams of the report, deployment, not 'signal'" in refusal(
        "verify", report, "--data", f"signal={rows}"
    )
    twice = ["--data", f"deployment={rows}", "--data", f"deployment={rows}"]
    assert "deployment" in refusal("verify", report, *twice)
    assert "--project must come without --data" in refusal(
        "verify", report, "--data", f"deployment={rows}", "--project", finished
    )


def test_rows_of_another_number_of_axes_and_files_of_another_kind_are_refused(finished, tmp_path):
    report = finished / "report" / "report.json"
    np.save(tmp_path / "cube.npy", np.zeros((2, 3, 4)))
    told = refusal("verify", report, "--data", f"deployment={tmp_path / 'cube.npy'}")
    assert "have two axes, rows and channels, not shape (2, 3, 4)" in told
    (tmp_path / "rows.txt").write_text("1,2\n")
    told = refusal("verify", report, "--data", tmp_path / "rows.txt")
    assert "be an .npz file of tables, not '.txt'. Other files are given by stream, as calibration=FILE." in told
    np.savez(tmp_path / "rows.npz", deployment=np.array(["a", "b"]))
    told = refusal("verify", report, "--data", tmp_path / "rows.npz")
    assert "hold a table of numbers for each stream, not 'deployment'" in told


def test_rows_that_are_not_those_of_the_report_end_with_code_three(finished, tmp_path):
    np.save(tmp_path / "other.npy", np.random.default_rng(5).normal(size=(40, 6)))
    answer = run("verify", finished / "report", "--data", f"deployment={tmp_path / 'other.npy'}")
    assert answer.exit_code == 3
    assert "held-out rows of deployment do not match" in " ".join(answer.output.split())


def test_a_report_that_says_nothing_of_its_streams_is_refused_and_not_a_fault(tmp_path, finished):
    (tmp_path / "report.json").write_text('{"protocol": 3}')
    for more in ([], ["--data", f"deployment={finished / 'deployment.npy'}"]):
        answer = run("verify", tmp_path / "report.json", *more)
        assert answer.exit_code == 3 or isinstance(answer.exception, MisuseError)


@pytest.mark.parametrize("count", [0, -3])
def test_workers_are_at_least_one(finished, count):
    assert f"be a whole number at least 1, not {count}" in refusal("run", finished / "project.toml", "--workers", count)


def test_workers_are_no_more_than_the_threads_of_a_process_that_runs_already(monkeypatch):
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 2)
    before = numba.get_num_threads()
    with pytest.raises(MisuseError, match="--workers must be at most the 2 threads that this process has, not 3"):
        use_threads(3, "--workers")
    use_threads(1, "--workers")
    assert numba.get_num_threads() == 1
    numba.set_num_threads(before)


def test_workers_of_a_process_that_has_not_begun_are_said_beforehand(monkeypatch):
    monkeypatch.delitem(sys.modules, "numba")
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    use_threads(2, "--workers")
    assert os.environ["NUMBA_NUM_THREADS"] == "2"
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)


# --------------------------------------------------------------------------------------------------- rows that arrive


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_rows_come_in_blocks_and_the_last_one_is_shorter(tmp_path, size):
    path = tmp_path / "rows.csv"
    path.write_text("first,second\n1,2\n\n3, 4\n5 6\n7,8\n   \n9,10\n")
    found = [*blocks(str(path), size, follow=False)]
    assert [row for block in found for row in block] == [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]
    assert all(len(block) == size for block in found[:-1])


def test_rows_come_from_standard_input_too(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1,2\n\n3,4\n")))
    assert [*blocks("-", 5, follow=False)] == [[[1.0, 2.0], [3.0, 4.0]]]


def test_a_file_that_is_not_there_is_one_message(tmp_path):
    with pytest.raises(MisuseError, match="must be a readable file, not No such file or directory"):
        [*blocks(str(tmp_path / "none.csv"), 2, follow=False)]
