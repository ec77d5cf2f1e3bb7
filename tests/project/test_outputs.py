"""The folder of a report: replaced as a whole or left as it was, and nothing else is touched."""

import csv
import os
from pathlib import Path

import pytest

from physupport import MisuseError
from physupport.project import FILES, load_project, run_project


@pytest.fixture
def folders(tmp_path):
    """The folders that a run leaves beside the project."""
    return lambda: {path.name for path in tmp_path.iterdir() if path.is_dir()}


def test_a_fault_while_writing_leaves_the_earlier_report_whole(write, small, folders, monkeypatch):
    path = write()
    run_project(load_project(path))
    before = small.contents(path.parent)

    def broken(path, result):
        raise RuntimeError("disk on fire")

    monkeypatch.setattr("physupport.project._run.queries_csv", broken)
    with pytest.raises(RuntimeError, match="disk on fire"):
        run_project(load_project(path, {"level": 0.2}))
    assert small.contents(path.parent) == before
    assert folders() == {"report"}


def test_an_old_report_that_stepped_aside_comes_back_if_the_new_one_cannot_take_its_place(
    write, small, folders, monkeypatch
):
    path = write()
    run_project(load_project(path))
    before, rename = small.contents(path.parent), Path.rename

    def failing(self, target):
        if self.name == "new":
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(MisuseError, match=r"output.folder must be a folder that can be written, got .*Permission"):
        run_project(load_project(path, {"level": 0.2}))
    assert small.contents(path.parent) == before
    assert folders() == {"report"}


def test_nothing_is_left_beside_a_replaced_report(write, folders):
    path = write()
    for _ in range(2):
        run_project(load_project(path))
    assert folders() == {"report"}


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

    def refusing(prefix, dir):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("physupport.project._outputs.mkdtemp", refusing)
    with pytest.raises(MisuseError, match=r"output.folder must be a folder that can be made, got .*Permission denied"):
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
    with pytest.raises(MisuseError, match=r"must hold nothing but an earlier report, got notes.txt"):
        run_project(load_project(path))


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
