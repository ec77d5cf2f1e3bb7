"""`physupport watch` on files that other programs write: half lines, cuts and replacements, and the saved report."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import _arriving, app
from physupport.cli._arriving import lines_of
from physupport.verify import verify

ROWS = np.random.default_rng(0).normal(size=(40, 8))


def text_of(rows):
    return "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist())


@pytest.fixture
def folder(tmp_path, write_peaks):
    write_peaks(tmp_path, deployment=ROWS)
    return tmp_path


def watched(folder, *options):
    arguments = ["watch", folder / "arriving.csv", "--project", folder, "--look", "10", *options]
    return CliRunner().invoke(app, [*map(str, arguments)])


class Meanwhile:
    """Acts of another program, one in each pause; after the last, Ctrl-C."""

    def __init__(self, *steps):
        self.steps = [*steps]

    def __call__(self, seconds):
        if not self.steps:
            raise KeyboardInterrupt
        self.steps.pop(0)()


def appended(path, text):
    def step():
        with path.open("a") as file:
            file.write(text)

    return step


def followed(path, monkeypatch, *steps):
    """Each line as it comes, with how the lines end."""
    monkeypatch.setattr(_arriving.time, "sleep", Meanwhile(*steps))
    found = []
    try:
        found.extend(lines_of(str(path), follow=True))
    except KeyboardInterrupt:
        return found, "stopped"
    return found, "ended"


def test_a_line_that_is_still_being_written_waits_for_its_end(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    path.write_text("1,")
    steps = appended(path, "2\n"), appended(path, "3,"), appended(path, "4\r"), appended(path, "\n5")
    assert followed(path, monkeypatch, *steps) == (["1,2\n", "3,4\n"], "stopped")


@pytest.mark.parametrize("follow", [False, True])
def test_half_a_line_at_the_end_is_no_row_and_this_is_said(folder, monkeypatch, follow):
    """Its last number lacks digits, and nothing in it tells."""
    monkeypatch.setattr(_arriving.time, "sleep", Meanwhile(lambda: (folder / "arriving.csv").unlink()))
    (folder / "arriving.csv").write_text(text_of(ROWS[:21])[:-4])
    answer = watched(folder, *(["--follow"] if follow else []))
    assert answer.exit_code == 0
    assert [line.split()[0] for line in answer.stdout.splitlines()[:2]] == ["10", "20"]
    assert "21 rows" not in answer.stdout
    assert "the last line has no end and may be half written, so it was left out" in answer.stderr


def cut(path):
    return lambda: path.write_text("")


def cut_and_grown(path):
    """Longer than before by the next look, with other rows."""
    return lambda: path.write_text(text_of(ROWS[20:]) * 2)


def cut_in_the_middle(path):
    return lambda: path.write_text(path.read_text()[:100])


def replaced(path):
    def step():
        path.rename(path.with_suffix(".1"))
        path.write_text(text_of(ROWS[30:]))

    return step


def removed(path):
    return path.unlink


CHANGES = {
    "cut": (cut, "was cut or written anew"),
    "cut and grown": (cut_and_grown, "was cut or written anew"),
    "cut in the middle": (cut_in_the_middle, "was cut or written anew"),
    "replaced": (replaced, "was replaced, moved or removed"),
    "removed": (removed, "was replaced, moved or removed"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_that_is_cut_or_replaced_ends_the_watch_which_is_said(folder, monkeypatch, name):
    path, (change, words) = folder / "arriving.csv", CHANGES[name]
    path.write_text(text_of(ROWS[:20]))
    monkeypatch.setattr(_arriving.time, "sleep", Meanwhile(change(path)))
    answer = watched(folder, "--follow")
    assert answer.exit_code == 0
    assert "Stopped." not in answer.stderr  # nobody pressed Ctrl-C
    assert words in answer.stderr
    assert f"tail -n +1 -F {path} | physupport watch -" in answer.stderr
    assert [line.split()[0] for line in answer.stdout.splitlines()[:2]] == ["10", "20"]
    assert "30 rows" not in answer.stdout


def test_rows_that_come_before_a_file_is_replaced_are_read_to_the_end(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    path.write_text("1\n")

    def step():
        appended(path, "2\n3")()
        replaced(path)()

    assert followed(path, monkeypatch, step) == (["1\n", "2\n"], "ended")


def test_a_file_that_only_grows_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    path.write_text("x" * 1000 + "\n")
    lines, end = followed(path, monkeypatch, *(appended(path, f"{i}\n") for i in range(5)))
    assert (lines[1:], end) == ([f"{i}\n" for i in range(5)], "stopped")


def test_the_report_of_the_last_look_is_saved_and_verified(folder):
    (folder / "arriving.csv").write_text(text_of(ROWS[:25]))
    answer = watched(folder)
    path = folder / "watch" / "report.json"
    assert f"Written to {path}." in answer.stdout
    document = json.loads(path.read_text())
    assert verify(document).findings == ()
    assert document["protocol"]["judge"]["streams"][0]["rows"] == 25
    assert CliRunner().invoke(app, ["verify", str(path.parent)]).exit_code == 0
    assert CliRunner().invoke(app, ["show", str(path.parent)]).exit_code == 0
    document["fields"][0]["label"] = "FINE" if document["fields"][0]["label"] != "FINE" else "GROUP"
    assert not verify(document).is_verified  # negative control


def test_a_line_that_is_no_row_leaves_the_report_of_the_look_before(folder):
    (folder / "arriving.csv").write_text(text_of(ROWS[:12]) + "no row\n")
    answer = watched(folder, "--out", folder / "elsewhere")
    assert isinstance(answer.exception, MisuseError)
    document = json.loads((folder / "elsewhere" / "report.json").read_text())
    assert document["protocol"]["judge"]["streams"][0]["rows"] == 10


def test_a_folder_that_cannot_be_written_is_one_message(folder):
    (folder / "arriving.csv").write_text(text_of(ROWS[:12]))
    (folder / "taken").write_text("")
    assert "--out must be a folder that can be written" in str(watched(folder, "--out", folder / "taken").exception)


def last_looks(folder, name="watch"):
    return json.loads((folder / name / "report.json").read_text())["protocol"]["judge"]["looks"]


def killed_after(folder, rows):
    """The process that watches is killed by the system, waiting for more than so many rows."""
    command = [sys.executable, "-m", "physupport", "watch", "arriving.csv", "--look", "10", "--follow"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as watching:
        assert any(line.startswith(f"{rows} rows") for line in watching.stdout)
        watching.kill()
    assert watching.returncode == -signal.SIGKILL


def test_a_stream_that_was_killed_goes_on_and_says_the_same(folder):
    (folder / "arriving.csv").write_text(text_of(ROWS[:24]))
    killed_after(folder, 20)
    assert last_looks(folder) == [["deployment", 10, 2]]
    with (folder / "arriving.csv").open("a") as file:
        file.write(text_of(ROWS[24:]))
    answer = watched(folder, "--resume")
    assert [line.split()[0] for line in answer.stdout.splitlines()[:3]] == ["20", "30", "40"]
    assert last_looks(folder) == [["deployment", 10, 4]]
    assert watched(folder, "--out", folder / "whole").exit_code == 0
    saved, whole = ((folder / name / "report.json").read_bytes() for name in ("watch", "whole"))
    assert saved == whole
    (folder / "arriving.csv").write_text(text_of(ROWS[::-1]))
    assert "find the rows that the saved report was made from" in str(watched(folder, "--resume").exception)
    assert "without --counts events" in str(watched(folder, "--resume", "--counts", "events").exception)


def test_the_rows_of_a_watched_file_prove_every_verdict(folder):
    (folder / "arriving.csv").write_text(text_of(ROWS[:25]))
    watched(folder)
    command = ["verify", str(folder / "watch"), "--data", f"deployment={folder / 'arriving.csv'}", "--json"]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 0
    assert json.loads(found.stdout)["rows_scored"]
    (folder / "arriving.csv").write_text(text_of(ROWS[1:26]))
    assert CliRunner().invoke(app, command).exit_code == 3  # negative control


def test_it_stops_once_the_answer_is_certain_and_says_why(folder):
    rows = np.random.default_rng(1).standard_normal((40, 1)) * np.exp(-0.5 * ((np.linspace(0, 1, 8) - 0.2) / 0.15) ** 2)
    rows = 2.0 * rows + 0.5 * ROWS
    (folder / "arriving.csv").write_text(text_of(rows))
    answer = watched(folder, "--look", "1", "--until", "fine")
    assert "\nEnded: the answer is certain: A FINE a1.\n" in answer.stdout
    assert sum(times for _, _, times in last_looks(folder)) < 20
    page = (folder / "watch" / "live.html").read_text()
    assert "Ended: the answer is certain" in page
    assert "http-equiv" not in page
    assert "<del>a2</del>, excluded at" in page
    assert "--until must name regions" in str(watched(folder, "--until", "fine=B").exception)
    assert "--until must be fine" in str(watched(folder, "--until", "certain").exception)


COUNTS = """\
level = 0.1

[data.deployment]
file = "none.npy"
channels = 1
law = "poisson"

[elements]
file = "elements.csv"
coordinates = ["x"]
response = { kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }

[regions.A]
presence = "optional"
tolerance = 0.01
"""


@pytest.mark.parametrize("form", ["increments", "snapshots"])
def test_counts_are_watched_as_they_accumulate(folder, form):
    peaks = np.exp(-0.5 * ((np.linspace(0, 1, 8)[:, None] - [0.2, 0.8]) / 0.15) ** 2)
    steps = np.random.default_rng(4).poisson(30.0 * peaks[:, 0] + 1e-9, (6, 8))
    np.save(folder / "none.npy", steps[:1])
    (folder / "project.toml").write_text(COUNTS)
    rows = np.concatenate([np.ones((6, 1)), steps], axis=1)
    (folder / "arriving.csv").write_text(text_of(rows if form == "increments" else np.cumsum(rows, axis=0)))
    answer = watched(folder, "--look", "1", "--counts", form, "--until", "fine")
    assert "Ended: the answer is certain: A FINE a1." in answer.stdout
    found = verify(folder / "watch" / "report.json", {"deployment": np.loadtxt(folder / "arriving.csv", delimiter=",")})
    assert found.findings == ()


def test_two_files_grow_and_both_are_looked_at(folder, monkeypatch):
    """Rows of a calibration file that grows are looked at, too, in whichever order both are written."""
    sources = {name: iter([[number] for number in range(3)]) for name in ("calibration", "deployment")}
    assert [name for name, _ in _arriving.in_turn(sources)] == ["calibration", "deployment"] * 3
    sources = {"calibration": iter([1, 2]), "deployment": iter([3])}
    assert sorted(_arriving.as_they_come(sources)) == [("calibration", 1), ("calibration", 2), ("deployment", 3)]

    def broken():
        yield 1
        raise MisuseError("rows", "be numbers", "'x'")

    with pytest.raises(MisuseError, match="rows must be numbers"):
        [*_arriving.as_they_come({"calibration": broken(), "deployment": iter([])})]
