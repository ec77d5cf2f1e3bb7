"""`physupport reproduce` compares, writes all or nothing, and tells by its exit code whether the paper is met."""

import csv
import json
import signal
from contextlib import nullcontext
from functools import partial
from threading import get_ident

import matplotlib
import pytest
from typer.testing import CliRunner

matplotlib.use("Agg")

import numba
import numpy as np
from matplotlib.figure import Figure

import physupport.cli._studies
import physupport.studies
from physupport import MisuseError
from physupport.cli import app
from physupport.cli._studies import drawn_aside
from physupport.studies import STUDIES, Outcome, _outcome as writing, load_study, write_outcome
from physupport.studies._figures import draw_affinities, draw_deployment, draw_scaling, draw_spreads, save_figure
from physupport.studies._outcome import (
    Line,
    finished,
    kernel_threads,
    number_line,
    range_line,
    read_columns,
    rounding_line,
    word_line,
)


def make_outcome(name="mechanism", here="10/11", value=0.5, known=()):
    lines = (word_line("A fine", "10/11", here), word_line("tolerance", "not met", "not met", "Missed in both."))
    return Outcome(name, lines + known, {"value": value}, {"cases": [{"seed": 1, "label": "FINE"}]}, ("only",))


class FakeStudy:
    """A study of two steps."""

    def __init__(self, name, here="10/11", known=()):
        self.name = name
        self.here = here
        self.known = known
        self.jobs = None
        self.threads = None

    def run(self, jobs, progress):
        self.jobs = jobs
        self.threads = numba.get_num_threads()
        for done in (1, 2) if progress else ():
            progress(done, 2)
        return make_outcome(self.name, self.here, known=self.known)

    def draw(self, folder):
        assert (folder / "cases.csv").exists()
        return save_figure(Figure(), folder, "only")


def run_tasks(tasks, jobs, progress=None):
    """The results in the order of the tasks."""
    return [result for _, result in sorted(finished(tasks, jobs, progress))]


@pytest.fixture(autouse=True)
def _threads_as_before():
    before = numba.get_num_threads()
    yield
    numba.set_num_threads(before)


@pytest.fixture
def reproduce(monkeypatch, tmp_path):
    """The command on fake studies; `wrong` names those that miss the paper, `known` those that miss it as known."""

    def call(study, *options, wrong=(), known=()):
        miss = (Line("captions", "absence 5", "absence 2", False, is_known=True),)
        fakes = {
            name: FakeStudy(name, "9/11" if name in wrong else "10/11", miss if name in known else ())
            for name in STUDIES
        }
        monkeypatch.setattr(
            physupport.studies, "load_study", lambda name: fakes[name] if name in fakes else load_study(name)
        )
        # What a test makes up is not known to another process.
        monkeypatch.setattr(physupport.cli._studies, "drawn_aside", lambda _: nullcontext(lambda draw: draw))
        return CliRunner().invoke(app, ["reproduce", study, "--out", str(tmp_path), *options]), fakes

    return call


def test_a_study_that_meets_the_paper_ends_with_code_zero(reproduce, tmp_path):
    answer, fakes = reproduce("four-region", "--jobs", "1")
    assert answer.exit_code == 0, answer.output
    assert (fakes["four-region"].jobs, fakes["four-region"].threads) == (1, 1)
    assert fakes["mechanism"].jobs is None
    rows = [line.split() for line in answer.stdout.splitlines()]
    assert ["four-region", "published", "here", "agrees"] in rows
    assert ["A", "fine", "10/11", "10/11", "yes"] in rows
    assert ["tolerance", "not", "met", "not", "met", "yes"] in rows
    assert "- tolerance: Missed in both." in answer.stdout
    made = {path.name for path in (tmp_path / "four-region").iterdir()}
    assert made == {"summary.json", "published.csv", "cases.csv", "only.png", "only.pdf"}
    assert {path.name for path in tmp_path.iterdir()} == {"four-region"}


def test_a_missed_count_ends_with_code_one_and_is_named(reproduce, tmp_path):
    answer, _ = reproduce("global", wrong=["global"])
    assert answer.exit_code == 1
    assert ["A", "fine", "10/11", "9/11", "NO"] in [line.split() for line in answer.stdout.splitlines()]
    assert "not as published: global: A fine" in answer.stderr
    assert (tmp_path / "global" / "summary.json").exists()


@pytest.mark.parametrize(("wrong", "code"), [((), 4), (("global",), 1), (("four-region",), 1)])
def test_a_difference_that_is_known_is_no_success_and_no_other_difference_hides_behind_it(reproduce, wrong, code):
    answer, _ = reproduce("all", wrong=wrong, known=["four-region"])
    assert answer.exit_code == code
    assert ["captions", "absence", "5", "absence", "2", "no,", "known"] in map(str.split, answer.stdout.splitlines())
    assert "not as published, as known: four-region: captions" in answer.stderr


def test_all_runs_every_study_also_after_one_that_misses(reproduce, tmp_path):
    answer, fakes = reproduce("all", wrong=["mechanism"])
    assert answer.exit_code == 1
    assert all(fake.jobs for fake in fakes.values())
    assert {path.name for path in tmp_path.iterdir()} == {"mechanism", "four-region", "global"}


def test_a_study_that_judges_nothing_runs_beside_the_others(reproduce, monkeypatch):
    ran = {}
    monkeypatch.setattr(FakeStudy, "draw", lambda *_: [])
    run = FakeStudy.run
    monkeypatch.setattr(FakeStudy, "run", lambda self, *a: ran.update({self.name: get_ident()}) or run(self, *a))
    assert reproduce("all")[0].exit_code == 0
    assert ran["four-region"] == ran["global"] == get_ident() != ran["mechanism"]
    assert reproduce("all", "--jobs", "1")[0].exit_code == 0
    assert {*ran.values()} == {get_ident()}


@pytest.fixture
def hears_ctrl_c():
    """Tests that were started in the background may not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_figures_are_drawn_by_another_process_that_does_not_hear_of_ctrl_c(hears_ctrl_c):
    mine = signal.getsignal(signal.SIGINT)
    with drawn_aside(2) as aside:
        assert aside(signal.getsignal)(signal.SIGINT) == signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) == mine != signal.SIG_IGN
        with pytest.raises(RuntimeError, match="the pen broke"):
            aside(broken_pen)(None)
    with drawn_aside(1) as here:
        assert here(broken_pen) is broken_pen


def broken_pen(_):
    raise RuntimeError("the pen broke")


def test_an_unknown_study_is_refused_before_anything_runs(reproduce, tmp_path):
    answer, _ = reproduce("nonsense")
    assert isinstance(answer.exception, MisuseError)
    assert "study must be one of mechanism, four-region, global" in str(answer.exception)
    assert list(tmp_path.iterdir()) == []


def test_a_number_of_jobs_below_one_is_refused(reproduce):
    answer, fakes = reproduce("mechanism", "--jobs", "0")
    assert "--jobs must be a whole number at least 1, not 0" in str(answer.exception)
    assert fakes["mechanism"].jobs is None


def test_a_folder_that_cannot_be_made_is_refused_before_anything_runs(reproduce, tmp_path):
    (tmp_path / "file").write_text("")
    answer, fakes = reproduce("mechanism", "--out", str(tmp_path / "file" / "inside"))
    assert "the folder for the output must be one that can be made and written to" in str(answer.exception)
    assert fakes["mechanism"].jobs is None


def test_a_folder_that_cannot_be_written_to_is_refused_before_anything_runs(reproduce, monkeypatch):
    """Permissions do not bind every user, so the system's answer is put in its place."""

    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(writing, "TemporaryDirectory", refuse)
    answer, fakes = reproduce("mechanism")
    assert isinstance(answer.exception, MisuseError)
    assert "Permission denied" in str(answer.exception)
    assert fakes["mechanism"].jobs is None


def test_a_file_in_the_way_of_the_last_study_is_refused_before_the_first_runs(reproduce, tmp_path):
    (tmp_path / "global").write_text("")
    answer, fakes = reproduce("all")
    assert f"but {tmp_path / 'global'}" in str(answer.exception)
    assert [fake.jobs for fake in fakes.values()] == [None] * 3
    assert [path.name for path in tmp_path.iterdir()] == ["global"]


def test_off_a_terminal_a_row_is_a_line_and_no_progress_is_shown(reproduce, monkeypatch):
    name = "a statement whose name is longer than the eighty columns that are taken where no terminal sets them"
    lines = (word_line(name, "10/11", "10/11"),)
    monkeypatch.setitem(FakeStudy.run.__globals__, "make_outcome", lambda *_, **__: Outcome("mechanism", lines, {}))
    monkeypatch.setattr(FakeStudy, "draw", lambda *_: [])
    answer, _ = reproduce("mechanism")
    assert [*name.split(), "10/11", "10/11", "yes"] in [line.split() for line in answer.stdout.splitlines()]
    assert answer.stderr == ""


def test_kernels_use_the_threads_of_a_study_and_then_those_before():
    most, before = numba.config.NUMBA_NUM_THREADS, numba.get_num_threads()
    with kernel_threads(1):
        assert numba.get_num_threads() == 1
        with kernel_threads(most + 5):
            assert numba.get_num_threads() == most
        assert numba.get_num_threads() == 1
    assert numba.get_num_threads() == before
    assert run_tasks([(numba.get_num_threads, 1)] * 3, 1) == [1] * 3


def test_tasks_side_by_side_have_a_thread_each_and_a_single_one_has_them_all():
    most, before = numba.config.NUMBA_NUM_THREADS, numba.get_num_threads()
    assert run_tasks([(numba.get_num_threads, 1)] * 3, 2) == [1] * 3
    assert run_tasks([(numba.get_num_threads, 1)], most) == [most]
    assert numba.get_num_threads() == before


@pytest.mark.parametrize("value", [5.9345, 5.9355])
def test_a_number_agrees_within_half_a_unit_of_its_last_digit(value):
    assert number_line("slope", "5.935", value).agrees


@pytest.mark.parametrize("value", [5.93449, 5.93551, float("nan")])
def test_a_number_farther_off_does_not_agree(value):
    assert not number_line("slope", "5.935", value).agrees


def test_trailing_zeros_of_a_printed_number_count():
    assert not number_line("share", "0.500", 0.501).agrees
    assert number_line("share", "0.5", 0.501).agrees


def test_a_range_agrees_only_with_both_ends():
    assert range_line("range", ("1.0", "2.0"), (1.01, 1.99)).agrees
    assert not range_line("range", ("1.0", "2.0"), (1.01, 2.06)).agrees


def test_any_residual_at_rounding_level_agrees_with_any_other():
    assert rounding_line("residual", "6.82e-16", 0.0).agrees
    assert rounding_line("residual", "6.82e-16", 9.0e-14).agrees
    assert not rounding_line("residual", "6.82e-16", 1.1e-13).agrees
    assert not rounding_line("residual", "6.82e-16", float("nan")).agrees


def test_an_outcome_agrees_when_all_its_lines_do():
    assert make_outcome().agrees
    assert not make_outcome(here="9/11").agrees
    assert not make_outcome(known=(Line("captions", "5", "2", False, is_known=True),)).agrees


def test_rows_with_other_columns_are_refused():
    with pytest.raises(MisuseError, match="table cases must have rows, all with the same columns"):
        Outcome("mechanism", (), {}, {"cases": [{"a": 1}, {"b": 1}]})


def test_what_is_written_can_be_read_back(tmp_path):
    write_outcome(make_outcome(value=0.1 + 0.2), tmp_path)
    folder = tmp_path / "mechanism"
    assert json.loads((folder / "summary.json").read_text()) == {"value": 0.1 + 0.2}
    with (folder / "published.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [tuple(row.values()) for row in rows] == [
        ("A fine", "10/11", "10/11", "True", "", "False"),
        ("tolerance", "not met", "not met", "True", "Missed in both.", "False"),
    ]
    columns = read_columns(folder, "cases")
    assert columns["seed"].tolist() == [1.0]
    assert columns["label"].tolist() == ["FINE"]


def broken_draw(folder):
    (folder / "half.png").write_text("half")
    raise RuntimeError("the pen broke")


@pytest.mark.parametrize(
    ("outcome", "draw", "error"),
    [(make_outcome(value=float("nan")), None, ValueError), (make_outcome(), broken_draw, RuntimeError)],
    ids=["a number that JSON lacks", "a fault while drawing"],
)
def test_a_fault_leaves_what_was_there_and_nothing_else(tmp_path, outcome, draw, error):
    write_outcome(make_outcome(value=7.0), tmp_path)
    mine = tmp_path / "mechanism" / "notes.txt"
    mine.write_text("kept")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(error):
        write_outcome(outcome, tmp_path, draw)
    assert sorted(tmp_path.rglob("*")) == before
    assert json.loads((tmp_path / "mechanism" / "summary.json").read_text()) == {"value": 7.0}
    write_outcome(make_outcome(value=8.0), tmp_path)
    assert json.loads((tmp_path / "mechanism" / "summary.json").read_text()) == {"value": 8.0}
    assert mine.read_text() == "kept"


def test_a_fault_in_one_task_is_the_fault_of_the_run():
    def wrong():
        raise RuntimeError("task broke")

    with pytest.raises(RuntimeError, match="task broke"):
        run_tasks([(lambda: 1, 1), (wrong, 1), (lambda: 3, 1)], 2)


def test_results_stand_in_the_order_of_the_tasks_whatever_their_size():
    heard = []
    tasks = [(lambda i=i: i, i + 1) for i in range(20)]
    assert run_tasks(tasks, 4, lambda done, total: heard.append((done, total))) == list(range(20))
    assert heard[-1] == (210, 210)


def test_the_same_figure_gives_the_same_files(tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        page = Figure()
        page.subplots().plot([1, 2, 3])
        save_figure(page, tmp_path / name, "line")
    for ending in ("png", "pdf"):
        assert (tmp_path / "first" / f"line.{ending}").read_bytes() == (
            tmp_path / "second" / f"line.{ending}"
        ).read_bytes()


S = np.array([0.05, 0.1])
SCALING = {"s": S, "jeffreys": S**6, "jeffreys_low": 0.9 * S**6, "jeffreys_high": 1.1 * S**6, "quadrature_14": S**6}
TURNS = {
    "s": np.full(4, 0.1),
    "contrast": np.array([0.0, 0.0, 0.5, 0.5]),
    "angle": np.array([0.0, 0.3, 0.0, 0.3]),
    "residual": np.array([0.0, 0.0, 0.0, 0.01]),
    "closed_form": np.array([0.0, 0.0, 0.0, 0.01]),
}
AFFINITIES = {
    "information": np.array([1.0, 4.0, 16.0] * 2),
    "s": np.repeat(S, 3),
    "affinity": np.array([0.9, 0.5, 0.1, 0.92, 0.53, 0.12]),
}
SPREADS = {
    "information": np.array([1.0, 4.0, 16.0]),
    "spread": np.array([0.02, 0.03, 0.02]),
    "in_band": np.array([0.0, 1.0, 1.0]),
}
PICTURES = {
    "scaling": partial(draw_scaling, table=SCALING, fit={"slope": 6.0, "low": 5.9, "high": 6.1, "r2": 1.0}),
    "deployment": partial(draw_deployment, table=TURNS, scale=0.1),
    "affinities": partial(draw_affinities, table=AFFINITIES, name="$I$"),
    "spreads": partial(draw_spreads, table=SPREADS, tolerance=0.015),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_keeps_to_its_page_and_its_axis(name):
    page = Figure(figsize=(3.4, 2.6), layout="constrained")
    ax = page.subplots()
    PICTURES[name](ax)
    page.draw_without_rendering()
    legend = ax.get_legend()
    boxes = [ax.get_tightbbox(), *([] if legend is None else [legend.get_window_extent()])]
    for box in boxes:
        assert page.bbox.x0 <= box.x0 < box.x1 <= page.bbox.x1
        assert page.bbox.y0 <= box.y0 < box.y1 <= page.bbox.y1


def test_pictures_show_the_numbers_they_are_given():
    ax, other = Figure().subplots(2)
    draw_scaling(ax, SCALING, {"slope": 5.9355, "low": 5.9249, "high": 5.9468, "r2": 0.99999})
    guide = ax.lines[0].get_ydata()
    # The guide has power 6 exactly.
    assert np.log(guide[1] / guide[0]) / np.log(2.0) == pytest.approx(6.0, rel=1e-12)
    assert any("[5.925, 5.947]" in text.get_text() for text in ax.get_legend().get_texts())
    draw_spreads(other, SPREADS, 0.015)
    named = {text.get_text() for text in other.get_legend().get_texts()}
    assert named >= {"tolerance 0.015", "median there 0.0250"}


def test_a_line_is_data():
    assert Line("a", "1", "1", True) == Line("a", "1", "1", True, "")
