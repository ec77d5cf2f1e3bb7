"""The folder of a report: replaced as a whole or left as it was, and nothing else is touched."""

import csv
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from physupport import MisuseError
from physupport.project import FILES, load_project, run_project
from physupport.project._run import reserved


@pytest.fixture
def folders(tmp_path):
    """The folders that a run leaves beside the project."""
    return lambda: {path.name for path in tmp_path.iterdir() if path.is_dir()}


def test_a_fault_while_writing_leaves_the_earlier_report_whole(write, small, folders, monkeypatch):
    path = write()
    run_project(load_project(path))
    before = small.contents(path.parent)

    def broken(*arguments):
        raise RuntimeError("disk on fire")

    monkeypatch.setattr("physupport.project._run.query_lines", broken)
    with pytest.raises(RuntimeError, match="disk on fire"):
        run_project(load_project(path, {"level": 0.2}))
    assert small.contents(path.parent) == before
    assert folders() == {"report"}


def test_nothing_is_left_beside_a_replaced_report(write, folders):
    path = write()
    for _ in range(2):
        run_project(load_project(path))
    assert folders() == {"report"}


# Writes a report in a process that is killed before its k-th file operation, for every k, and looks what is there.
KILLED = """
import os, signal, sys
from pathlib import Path
from physupport.project import _run

place, is_there, has_exchange = Path(sys.argv[1]), sys.argv[2] == "there", sys.argv[3] == "exchange"
WATCHED = ("open", "os.", "ctypes.dlsym")
if not has_exchange:
    _run._exchanged = lambda one, other: False

def write(text):
    with _run.reserved("folder", place) as held:
        held.make_room(10_000)
        held.write({name: lambda: [text] for name in _run.FILES})

def killed(k):
    count = 0
    def hook(event, arguments):
        nonlocal count
        count += event.startswith(WATCHED)
        if count == k:
            os.kill(os.getpid(), signal.SIGKILL)
    child = os.fork()
    if child == 0:
        sys.addaudithook(hook)
        write("new")
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

def found():
    return {path.read_text() for path in place.iterdir()} if place.exists() else {"nothing"}

seen, k = [], 0
while True:
    if is_there:
        write("old")
    k += 1
    if not killed(k):
        break
    assert not place.exists() or {path.name for path in place.iterdir()} == {*_run.FILES}
    seen.extend(found())
    try:
        with _run.reserved("folder", place):
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        seen.extend("after " + text for text in found())
    assert [path.name for path in place.parent.iterdir()] == [place.name] * place.exists()
    if place.exists() and not is_there:
        for name in _run.FILES:
            (place / name).unlink()
        place.rmdir()
print(k, *seen, sep=",")
"""


@pytest.mark.parametrize(
    ("is_there", "exchange", "seen"),
    [
        ("there", "exchange", {"old", "new", "after old", "after new"}),
        ("", "exchange", {"nothing", "new", "after nothing", "after new"}),
        ("there", "", {"old", "new", "nothing", "after old", "after new"}),
    ],
)
def test_a_kill_leaves_the_old_report_or_the_new_one_whole(tmp_path, is_there, exchange, seen):
    """Where the system cannot exchange two names, the old report may be aside until the next run, and is never lost."""
    command = [sys.executable, "-c", KILLED, str(tmp_path / "in" / "report"), is_there, exchange]
    (tmp_path / "in").mkdir()
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    count, *found = answer.stdout.strip().split(",")
    assert int(count) > 30  # operations at which it was killed
    assert {*found} == seen


def test_a_file_system_without_locks_holds_reports(tmp_path, monkeypatch):
    def refused(file, operation):
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr("fcntl.flock", refused)
    with reserved("folder", tmp_path / "report") as held:
        assert held.write({"report.json": lambda: ["{}"]}) == (tmp_path / "report/report.json",)


def test_one_run_at_a_time_writes_a_folder(tmp_path):
    with (
        reserved("folder", tmp_path / "report"),
        pytest.raises(MisuseError, match="must be written by one run at a time"),
        reserved("folder", tmp_path / "report"),
    ):
        pass
    with reserved("folder", tmp_path / "report"):
        pass


def test_a_file_that_comes_into_the_folder_during_a_run_stays(tmp_path):
    with reserved("folder", tmp_path / "report") as held:
        held.write({"report.json": lambda: ["old"]})
    with reserved("folder", tmp_path / "report") as held:
        (tmp_path / "report" / "notes.txt").write_text("mine")
        held.write({"report.json": lambda: ["new"]})
    found = {path.name: path.read_text() for path in (tmp_path / "report").iterdir()}
    assert found == {"report.json": "new", "notes.txt": "mine"}
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_full_disk_is_found_before_the_run(write, monkeypatch):
    """The room is really asked for: more than any disk has is refused, by the run itself."""
    path = write()
    monkeypatch.setattr("physupport.project._run._BYTES", 2**60)
    monkeypatch.setattr("physupport.project._run.analyse", unreachable)
    with pytest.raises(MisuseError, match=r"output.folder must be on a disk with room for a report, [\d,]+ bytes, not"):
        run_project(load_project(path))
    assert not (path.parent / "report").exists()


def unreachable(*arguments, **options):
    raise AssertionError("the run began")


@pytest.fixture
def no_run(monkeypatch):
    monkeypatch.setattr("physupport.project._run.assemble", unreachable)


@pytest.mark.usefixtures("no_run")
@pytest.mark.parametrize("is_there", [False, True])
def test_a_folder_that_cannot_be_written_is_refused_before_the_run(write, monkeypatch, is_there):
    path = write()
    if is_there:
        (path.parent / "report").mkdir()

    def refusing(self, *arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refusing)
    with pytest.raises(MisuseError, match=r"output.folder must be a folder that can be made, not .*Permission denied"):
        run_project(load_project(path))


@pytest.mark.usefixtures("no_run")
def test_the_folder_that_one_is_in_is_refused_before_the_run(write, tmp_path, monkeypatch):
    path = write()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(MisuseError, match=r"override output.folder must not be the folder that one is in"):
        run_project(load_project(path, {"output.folder": "."}))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MisuseError, match="must hold nothing but an earlier report"):
        run_project(load_project(path, {"output.folder": "."}))


@pytest.mark.parametrize("is_there", [False, True])
def test_a_link_stays_and_what_it_leads_to_is_replaced(write, tmp_path, is_there):
    path, target, link = write(), tmp_path / "elsewhere" / "target", tmp_path / "report"
    target.parent.mkdir()
    if is_there:
        target.mkdir()
    os.symlink(target, link)
    found = run_project(load_project(path))
    assert link.is_symlink()
    assert found.folder == link
    assert {entry.name for entry in target.iterdir()} == {*FILES}
    assert [entry.name for entry in target.parent.iterdir()] == ["target"]
    (target / "notes.txt").write_text("mine")
    with pytest.raises(MisuseError, match=r"must hold nothing but an earlier report, but .* also holds notes.txt"):
        run_project(load_project(path))


def test_many_long_names_fit_into_a_cell(write):
    """A reader of CSV takes cells of at most 131 072 characters unless told otherwise; a writer has no such end."""
    names = [f"{'a' * 100}{i}" for i in range(1400)]
    listed = "\n".join(f"{name},A,{i / 1400}" for i, name in enumerate(names))
    path = write(("budget = 1.0", "budget = 1"), elements=f"id,region,x\n{listed}\nb1,B,0.7\nb2,B,0.9\n")
    text = (run_project(load_project(path)).folder / "fields.csv").read_text()
    assert all(name in text for name in names)


def test_names_that_a_spreadsheet_would_compute_are_marked_as_text(write):
    elements = "id,region,x\n=1+1,A,0.2\n-0.5,A,0.35\n@b,B,0.7\n+b,B,0.9\n"
    folder = run_project(load_project(write(elements=elements))).folder
    cells = {}
    for name in ("queries.csv", "fields.csv"):
        with (folder / name).open(newline="") as file:
            cells[name] = {cell for line in csv.reader(file) for cell in line}
    assert {"'=1+1", "-0.5", "'@b", "'+b"} <= cells["queries.csv"]
    assert "'=1+1" in cells["fields.csv"]
    texts = {cell for cell in cells["queries.csv"] | cells["fields.csv"] if cell.startswith(("=", "+", "-", "@"))}
    assert all(isinstance(float(cell), float) for cell in texts)  # what is left are numbers


@pytest.mark.parametrize("name", ["", "new", "old"])
def test_links_beside_a_report_are_not_followed(write, tmp_path, name):
    """What a project brings along in the place of a folder that runs keep for themselves."""
    path = write()
    with reserved("report", tmp_path / "report") as held:
        hidden = held.hidden
    outside = tmp_path / "outside"
    outside.mkdir()
    for file in (*FILES, "room"):
        (outside / file).write_text("mine")
    if name:
        hidden.mkdir()
    os.symlink(outside, hidden / name if name else hidden)
    with pytest.raises(MisuseError, match=r"output.folder must (be free of what|have no link)"):
        run_project(load_project(path))
    assert {file.name: file.read_text() for file in outside.iterdir()} == dict.fromkeys((*FILES, "room"), "mine")
    assert not (tmp_path / "report").exists()
