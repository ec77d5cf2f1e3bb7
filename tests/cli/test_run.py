"""`init`, `run`, `show` and `verify` as a user meets them, from an empty folder to a checked report."""

import hashlib
import json
import shutil
import signal
from contextlib import contextmanager
from time import sleep
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.analysis import analyse
from physupport.cli import app
from physupport.cli._text import Status
from physupport.io import split_rows
from physupport.project import FILES
from physupport.report.page import page_html

READ = [
    ("calibration", "calibration.npy"),
    ("deployment", "deployment.csv"),
    ("elements", "elements.csv"),
    ("elements.responses", "responses.npy"),
    ("elements.shared", "spare.npy"),
]
LABELS = [("A", "FINE"), ("B", "GROUP"), ("C", "SUPPORT_AMBIGUOUS"), ("D", "ABSENT")]


def program(*arguments, **options):
    return CliRunner().invoke(app, [*map(str, arguments)], **options)


def said(answer):
    """Standard output with line breaks as blanks."""
    assert answer.exit_code == 0, answer.exception
    return " ".join(answer.stdout.split())


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The example, run once; tests that write work on a copy."""
    folder = tmp_path_factory.mktemp("example") / "new"
    wrote = program("init", folder)
    ran = program("run", folder / "project.toml")
    return folder, wrote, ran


@pytest.fixture
def copy(example, tmp_path):
    shutil.copytree(example[0], tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def quick(copy):
    """The example without its calibration, which takes most of the time."""
    text = (copy / "project.toml").read_text()
    start, stop = text.index("[data.calibration]"), text.index("[data.deployment]")
    (copy / "project.toml").write_text(text[:start] + text[stop:])
    return copy


def test_init_and_run_lead_to_a_map_a_page_and_the_next_step(example):
    folder, wrote, ran = example
    assert "project.toml" in said(wrote)
    assert f"Next: physupport run {folder}" in said(wrote)
    shown = ran.stdout.splitlines()
    assert shown[0] == "A: A 0.1 is there."
    assert shown[2] == "C: presence is undecided; if something is there, it is C 0.7."
    assert [tuple(line.split()[:2]) for line in shown[6:10]] == LABELS
    assert "C 0.7 or nothing" in shown[8]
    assert f"Open {folder / 'report' / 'report.html'} in a browser." in said(ran)
    assert "Region D: nothing there." in said(ran)
    assert {path.name for path in (folder / "report").iterdir()} == {*FILES}
    assert [line.split()[:3] for line in ran.stderr.splitlines()] == [
        ["read:", f"{key}:", f"{file},"] for key, file in READ
    ]


def test_what_was_read_is_told_with_shape_unit_and_hash(example):
    folder, _, ran = example
    digest = hashlib.sha256((folder / "responses.npy").read_bytes()).hexdigest()
    assert f"read: elements.responses: responses.npy, 16 x 12, float64, SHA-256 of the file {digest}\n" in ran.stderr
    assert "read: calibration: calibration.npy, 4096 x 16, float64, unit V, SHA-256 of the rows " in ran.stderr


def test_init_refuses_to_overwrite(example):
    error = program("init", example[0]).exception
    assert isinstance(error, MisuseError)
    assert "must have no project.toml yet" in str(error)
    assert str(program("init", "--example", "none").exception).startswith("--example must be one of four-region, array")


def test_show_prints_what_run_printed(example):
    folder, _, ran = example
    shown = said(program("show", folder / "report" / "report.json"))
    assert said(ran).startswith(shown)
    text = (folder / "report" / "report.json").read_text()
    assert program("show", "-", input=text).stdout == program("show", folder / "report" / "report.json").stdout
    assert program("show", "--json", folder / "report" / "report.json").stdout == text


def test_show_rebuilds_the_page(example, tmp_path):
    report = example[0] / "report"
    answer = program("show", report / "report.json", "--html", tmp_path / "again.html")
    assert answer.exit_code == 0, answer.exception
    assert (tmp_path / "again.html").read_bytes() == (report / "report.html").read_bytes()
    shutil.copy(report / "report.json", tmp_path / "alone.json")
    error = program("show", tmp_path / "alone.json", "--html", tmp_path / "other.html").exception
    assert "--html must come with details.json beside the report" in str(error)
    assert not (tmp_path / "other.html").exists()


def test_show_refuses_what_is_no_report(tmp_path):
    (tmp_path / "none.json").write_text("{}")
    assert isinstance(program("show", tmp_path / "none.json").exception, MisuseError)
    assert "must be a readable text file" in str(program("show", tmp_path / "missing.json").exception)


@pytest.mark.parametrize("how", ["project", "folder", "files", "archive"])
def test_verify_takes_the_rows_as_the_project_has_them(example, tmp_path, how):
    folder, report = example[0], example[0] / "report" / "report.json"
    deployment = np.loadtxt(folder / "deployment.csv", delimiter=",", skiprows=1)
    np.save(tmp_path / "turned.npy", deployment.T)
    np.savez(tmp_path / "rows.npz", calibration=np.load(folder / "calibration.npy"), deployment=deployment)
    given = {
        "project": ["--project", folder / "project.toml"],
        "folder": ["--project", folder],
        "files": ["--data", f"calibration={folder}/calibration.npy", "--data", f"deployment={tmp_path}/turned.npy"],
        "archive": ["--data", tmp_path / "rows.npz"],
    }[how]
    assert "every verdict from the rows" in said(program("verify", report, *given))


def test_verify_refuses_other_rows_and_names_misuse(example, copy):
    report = example[0] / "report" / "report.json"
    rows = np.load(copy / "calibration.npy")
    rows[0, 0] += 1e-9
    np.save(copy / "calibration.npy", rows)
    answer = program("verify", report, "--project", copy / "project.toml")
    assert answer.exit_code == 3
    assert "rows of calibration do not match their hash" in answer.stderr
    twice = ["--data", f"calibration={copy}/calibration.npy"] * 2
    assert "must name each stream once" in str(program("verify", report, *twice).exception)
    both = ["--data", "rows.npz", "--project", copy]
    assert "--project must come without --data" in str(program("verify", report, *both).exception)


def test_options_go_before_the_file(quick, tmp_path):
    answer = program(
        "run", quick, "--level", 0.2, "--budget", 5, "--seed", 8, "--policy", "random", "--out", tmp_path / "out",
        "--json", "--workers", 1,
    )  # fmt: skip
    assert answer.exit_code == 0, answer.exception
    found = json.loads((tmp_path / "out" / "report.json").read_text())
    assert json.loads(answer.stdout)["digest"] == found["digests"]["document"]
    protocol = found["protocol"]
    assert (protocol["level"], protocol["budget"], protocol["seed"]) == (0.2, 5, 8)
    assert protocol["policy"]["policy"] == "random order"


def test_quiet_says_nothing(quick):
    answer = program("run", quick, "--quiet", "--budget", 3)
    assert (answer.exit_code, answer.stdout, answer.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--level", "2"], "--level must be below 1, not 2.0."),
        (["--budget", "1.5"], "--budget must be a whole number of queries, or a share between 0.0 and 1.0, not 1.5."),
        (["--budget", "many"], "--budget must be a number, not 'many'."),
        (
            ["--policy", "guess"],
            "--policy must be 'regional', 'endpoints', 'fixed', 'random' or 'farthest', not 'guess'.",
        ),
        (["--workers", "0"], "--workers must be a whole number at least 1, not 0."),
        (["--out", ""], "--out must hold nothing but an earlier report"),
        (["--resume", "--dry-run"], "--resume must come without --dry-run"),
        (
            ["--resume", "--level", "0.2"],
            "project.toml: output.folder: report must be of the same protocol, not another: ",
        ),
    ],
)
def test_an_option_that_breaks_a_rule_is_named_and_nothing_is_written(quick, arguments, message):
    before = sorted(quick.rglob("*"))
    error = program("run", quick, *arguments).exception
    assert isinstance(error, MisuseError)
    assert str(error).startswith(message)
    assert sorted(quick.rglob("*")) == before


def test_a_dry_run_says_what_would_happen_and_writes_nothing(copy):
    shutil.rmtree(copy / "report")
    before = sorted(copy.rglob("*"))
    text = said(program("run", copy, "--dry-run"))
    assert "216 explanations: 72 dictionary states, times 3 supports" in text
    assert "at most 216 queries" in text
    found = json.loads(program("run", copy, "--dry-run", "--json").stdout)
    assert (found["explanations"], found["streams"][1]["n_laws"]) == (216, 56)
    assert sorted(copy.rglob("*")) == before
    assert found["protocol"] in text


def test_a_dry_run_gives_the_hash_of_the_protocol_whatever_the_held_out_rows_are(quick):
    def protocol():
        return json.loads(program("run", quick, "--dry-run", "--json").stdout)["protocol"]

    before = protocol()
    program("run", quick)
    report = json.loads((quick / "report" / "report.json").read_text())
    assert report["digests"]["protocol"] == before
    assert program("verify", quick / "report", "--project", quick, "--protocol", before).exit_code == 0
    lines = (quick / "deployment.csv").read_text().splitlines()
    header, rows = lines[0], np.array([line.split(",") for line in lines[1:]])
    fraction, seed = report["protocol"]["streams"][0]["fraction"], report["protocol"]["seed"]
    parts = split_rows(len(rows), fraction, seed)
    for part, is_same in ((parts.held_out, True), (parts.proposal, False)):
        changed = rows.copy()
        changed[part[0]] = "1e3"
        (quick / "deployment.csv").write_text("\n".join([header, *map(",".join, changed)]))
        assert (protocol() == before) == is_same


def stopping_progress(number):
    @contextmanager
    def progress(quiet):
        status, query = Status(), Status.query

        def told(tick):
            if tick.used == 5:
                signal.raise_signal(number)
            query(status, tick)

        status.query = told
        yield status

    return progress


def test_ctrl_c_ends_with_a_report_of_what_is_certified(quick, monkeypatch):
    monkeypatch.setattr("physupport.cli._project.run_progress", stopping_progress(signal.SIGINT))
    answer = program("run", quick)
    assert answer.exit_code == 0, answer.exception
    assert "Stopped: the report says what is certified so far." in answer.stderr
    assert json.loads((quick / "report" / "report.json").read_text())["outcome"]["ending"] == "STOPPED"


def test_a_batch_system_that_stops_a_run_gets_a_report_and_is_told(quick, monkeypatch):
    monkeypatch.setattr("physupport.cli._project.run_progress", stopping_progress(signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    answer = program("run", quick)
    assert answer.exit_code == 143
    assert "Stopped: the report says what is certified so far." in answer.stderr
    assert json.loads((quick / "report" / "report.json").read_text())["outcome"]["ending"] == "STOPPED"
    assert signal.getsignal(signal.SIGTERM) is before


def test_redirected_output_has_a_line_now_and_then(quick, monkeypatch):
    def slow(*arguments, **options):
        sleep(0.05)
        return analyse(*arguments, **options)

    monkeypatch.setattr("physupport.cli._text._SECONDS_BETWEEN_LINES", 0.005)
    monkeypatch.setattr("physupport.project._run.analyse", slow)
    answer = program("run", quick)
    assert "Looking at proposal rows\n" in answer.stderr
    assert "Looking at" not in program("run", quick, "--quiet").stderr


def test_the_time_left_follows_from_the_queries_so_far(monkeypatch):
    clock = iter([100.0, 100.01, 110.0])
    monkeypatch.setattr("physupport.cli._text.monotonic", lambda: next(clock))
    seen, status = [], Status(changed=lambda status: seen.append(status.line()))
    status.stage("Reading files")
    for used in (1, 2, 100):
        status.query(SimpleNamespace(used=used, budget=400, open_fields=lambda: tuple("ABCDE")))
    told = "at most {} left; open: A, B, C, D, ..."
    assert seen == [
        "Reading files",
        f"Queries: 1 of 400, {told.format('0:00:00')}",
        f"Queries: 100 of 400, {told.format('0:00:30')}",
    ]


def test_ctrl_c_while_the_report_is_written_loses_nothing(quick, monkeypatch):
    def interrupted(report, details):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        return page_html(report, details)

    monkeypatch.setattr("physupport.project._run.page.page_html", interrupted)
    before = signal.getsignal(signal.SIGINT)
    answer = program("run", quick, "--budget", 9)
    assert answer.exit_code == 0, answer.exception
    assert {path.name for path in (quick / "report").iterdir()} == {*FILES}
    assert json.loads((quick / "report" / "report.json").read_text())["outcome"]["queries"] == 9
    assert signal.getsignal(signal.SIGINT) is before


def test_a_stopped_run_goes_on_to_the_report_of_an_uninterrupted_one(quick, monkeypatch):
    assert program("run", quick).exit_code == 0
    whole = (quick / "report" / "report.json").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("physupport.cli._project.run_progress", stopping_progress(signal.SIGINT))
        assert program("run", quick).exit_code == 0
    assert (quick / "report" / "report.json").read_bytes() != whole
    answer = program("run", quick, "--resume")
    assert answer.exit_code == 0, answer.exception
    assert (quick / "report" / "report.json").read_bytes() == whole


def test_a_spent_budget_can_be_raised(quick):
    assert program("run", quick, "--budget", 3).exit_code == 0
    assert program("run", quick, "--budget", 20, "--resume").exit_code == 0
    found = json.loads((quick / "report" / "report.json").read_text())
    assert (found["protocol"]["budget"], found["outcome"]["budget"]) == (3, 20)
    checked = program("verify", quick / "report" / "report.json", "--project", quick)
    assert "the budget was raised from 3 to 20" in checked.stderr
    assert checked.exit_code == 0
    shutil.rmtree(quick / "report")
    assert "output.folder must hold the report to go on from, but there is none in" in str(
        program("run", quick, "--resume").exception
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_before_the_first_query_writes_nothing(quick, monkeypatch, number, code):
    shutil.rmtree(quick / "report", ignore_errors=True)

    def interrupted(*arguments, **options):
        signal.raise_signal(number)

    monkeypatch.setattr("physupport.project._run.analyse", interrupted)
    answer = program("run", quick)
    assert answer.exit_code == code
    assert "nothing was written" in answer.stderr
    assert not (quick / "report").exists()
