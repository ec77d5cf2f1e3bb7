"""Standard streams that are full, closed or broken: one message where there is room for it, and an exit code."""

import os
import subprocess
import sys

import numpy as np
import pytest

from physupport.project import load_project, run_project

CLOSED_OUTPUT = "standard output must take what is written to it, not Bad file descriptor."
FULL_OUTPUT = "standard output must take what is written to it, not No space left on device."


@pytest.fixture(scope="module")
def project(tmp_path_factory, write_peaks):
    folder = tmp_path_factory.mktemp("project")
    rows, changes = np.random.default_rng(4).normal(size=(40, 6)), [("level = 0.1", "level = 0.2"), ("= 8", "= 6")]
    run_project(load_project(write_peaks(folder, *changes, deployment=rows)))
    return folder


def ran(project, command, redirected=""):
    """The exit code, and what came to standard output and to standard error, of a command of a shell."""
    text = f"{sys.executable} -m physupport {command} {redirected}"
    done = subprocess.run(["bash", "-c", text], cwd=project, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


# A full device fails when what was written is flushed, a closed output when it is written. Every command meets one of
# them, text and JSON meet both.
FULL = ["verify report --json", "--help", "run --out again"]
CLOSED = ["show report --json", "verify report", "--version"]
REFUSED = [
    *((command, ">/dev/full", FULL_OUTPUT) for command in FULL),
    *((command, ">&-", CLOSED_OUTPUT) for command in CLOSED),
]


@pytest.mark.parametrize(("command", "redirected", "message"), REFUSED)
def test_an_output_that_takes_nothing_is_told_and_ends_with_code_2(project, command, redirected, message):
    code, output, errors = ran(project, command, redirected)
    assert (code, output) == (2, "")
    assert errors.splitlines()[-1] == f"physupport: {message}"
    assert "Traceback" not in errors
    assert "Exception" not in errors  # of what Python does when it ends
    assert errors.count("physupport:") == 1
    if command.startswith("run"):
        assert (project / "again/report.json").read_text()  # it was written before


@pytest.mark.parametrize("command", ["verify -", "show -", "watch - --project ."])
def test_an_input_that_is_closed_is_one_message(project, command):
    code, output, errors = ran(project, command, "<&-")
    assert (code, output) == (2, "")
    assert errors.startswith("physupport: ")
    assert errors.endswith("Bad file descriptor.\n")
    assert errors.count("\n") == 1


@pytest.fixture(scope="module")
def verified(project):
    return ran(project, "verify report")


@pytest.mark.parametrize("redirected", ["2>/dev/full", "2>&-"])
def test_messages_that_are_lost_leave_the_exit_code(project, verified, redirected):
    assert ran(project, "verify report", redirected)[:2] == (0, verified[1])


def test_messages_that_are_lost_leave_the_code_of_a_missing_and_of_a_changed_report(project):
    assert ran(project, "show nowhere", "2>/dev/full")[0] == 2
    changed = (project / "report/report.json").read_text().replace('"level": 0.2', '"level": 0.3')
    (project / "changed.json").write_text(changed)
    assert ran(project, "verify changed.json", "2>&-")[0] == 3


def test_all_streams_may_be_closed(project):
    assert ran(project, "show report", ">&- 2>&- <&-") == (2, "", "")
    # Who writes nothing needs no output.
    assert ran(project, "run --quiet --out again", ">&- 2>&- <&-") == (0, "", "")


def test_a_reader_that_went_away_is_no_fault(project):
    """Written to a pipe whose other end is closed before the program begins."""
    reading, writing = os.pipe()
    os.close(reading)
    arguments = [sys.executable, "-m", "physupport", "show", "report"]
    done = subprocess.run(arguments, cwd=project, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert done.returncode == 1
    assert not [line for line in done.stderr.splitlines() if not line.startswith("note: ")]


def test_output_is_the_same_as_through_a_pipe(project, verified):
    with (project / "file.txt").open("w") as file:
        subprocess.run([sys.executable, "-m", "physupport", "verify", "report"], cwd=project, stdout=file, check=True)
    assert (project / "file.txt").read_text() == verified[1] != ""


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs a file that opens and cannot be read")
def test_rows_that_cannot_be_read_any_more_are_one_message(project):
    code, output, errors = ran(project, "watch /proc/self/mem --project .")
    assert (code, output) == (2, "")
    assert errors == "physupport: rows /proc/self/mem must be a readable file, not Input/output error.\n"
