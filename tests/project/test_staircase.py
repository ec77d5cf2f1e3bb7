"""Projects whose responses are not quite right: the error of each answer, in words, tables and verified documents."""

import copy
import csv
import io
import json

import matplotlib.pyplot as plt
import numpy as np
import pytest

from physupport import MisuseError
from physupport.project import load_project, run_project
from physupport.report import Report, document_hash
from physupport.report._width import width_sentences
from physupport.report.pictures import WIDE, staircase_picture
from physupport.report.plots import plot_staircase
from physupport.verify import verify

PLACES = np.linspace(8.0, 72.0, 9)
AXIS = np.arange(80)
LINES = np.exp(-0.5 * ((AXIS[:, None] - PLACES) / 2.5) ** 2)
# The line of the row is a little wider than that of the library.
ROW = np.random.default_rng(1).poisson(3e4 * np.exp(-0.5 * ((AXIS - PLACES[4]) / 2.6) ** 2) + 5.0)[None].astype(float)


@pytest.fixture
def project(tmp_path, write_lines):
    """Run the project with some of its text replaced."""

    def run(*replaced):
        path = write_lines(tmp_path, PLACES, ("gaussian", "poisson"), *replaced, rows=ROW, lines=LINES)
        return run_project(load_project(path)).result.report

    return run


def with_error(text):
    return ("[elements]", f"[elements]\nerror = {text}")


def statements(report):
    return [(step["fields"][0]["label"], step["fields"][0]["cell"]) for step in report.staircase()]


def test_a_line_that_is_a_little_too_wide_fits_nothing_exactly_and_is_certain_from_an_error_on(project):
    report = project()
    assert report.status == "EMPTY"
    assert statements(report)[:2] == [("EMPTY", []), ("FINE", ["L4"])]
    assert verify(report.json(), {"deployment": ROW}).is_verified
    first, *said = report.width
    assert first.startswith("Every explanation is rejected if responses are right to within 0.0")
    assert said == ["Line: L4 is there."]
    assert said[0] in report.text()
    row = next(csv.DictReader(io.StringIO(report.csv())))
    fits = report.staircase()[1]["least"]
    assert float(row["error from"]) == 0.0
    assert 0.0 < float(row["error to"]) < fits < 0.05


@pytest.mark.parametrize(
    ("error", "least", "scale"),
    [("0.05", 0.05, "largest value"), ("{ relative = 0.3 }", 0.3, "value in every channel")],
)
def test_an_error_says_where_the_staircase_begins(project, error, least, scale):
    report = project(with_error(error))
    assert [(str(field.label), field.cell) for field in report.fields] == [("FINE", ("L4",))]
    assert report.staircase()[0]["least"] == least
    assert report.width[0].startswith("line: this holds as long as responses are right to within ")
    assert scale in report.width[0]
    assert f"of its {scale.replace('every', 'any')}" in report.sentence
    assert verify(report.json(), {"deployment": ROW}).is_verified


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("1.5", r"elements\.error must be below 1"),
        ("{ relative = 0 }", r"elements\.error\.relative must be above 0"),
        ("{ relativ = 0.1 }", r"elements\.error must have no other keys than relative"),
        ('"much"', r"elements\.error must be a number"),
    ],
)
def test_an_error_that_is_none_is_refused_by_its_key(project, error, message):
    with pytest.raises(MisuseError, match=message):
        project(with_error(error))


def test_a_relative_error_is_for_counts(tmp_path, write_lines):
    path = write_lines(tmp_path, PLACES, with_error("{ relative = 0.1 }"), rows=ROW, lines=LINES)
    with pytest.raises(MisuseError, match="relative_error must be given for 'poisson' only"):
        run_project(load_project(path))


def test_the_picture_has_a_lane_for_each_element_from_the_error_at_which_it_is_first_possible(project):
    report = project()
    picture = staircase_picture(report.document["staircase"], WIDE)
    lines = {mark.name: mark for mark in picture.panel.marks if mark.role == "fit"}
    steps = report.staircase()
    first = {}
    for step in steps:
        for name in step["fields"][0]["cell"]:
            first.setdefault(name, step["least"])
    assert {name: mark.xs for name, mark in lines.items()} == {
        name: (least, steps[-1]["most"]) for name, least in first.items()
    }
    assert [mark.ys[0] for mark in lines.values()] == [-lane for lane in range(len(lines))]
    (read,) = [mark for mark in picture.panel.marks if mark.role == "threshold"]
    assert read.xs[0] == 2.0 * steps[1]["least"]
    axes = plot_staircase(report)
    assert axes.get_xlabel() == "error of the responses, of the largest value"
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [*first]
    plt.close(axes.figure)


def test_a_report_without_a_staircase_has_no_picture_of_it(project):
    with pytest.raises(MisuseError, match="report must have a staircase"):
        plot_staircase(project(("level = ", "budget = 3\nlevel = ")))


def test_words_read_an_error_between_two_steps_at_the_coarser_one_and_round_to_the_safe_side(project):
    document = copy.deepcopy(project().document)
    empty, fine = document["staircase"]["steps"][:2]
    coarse = copy.deepcopy(fine)
    coarse["fields"][0].update(label="GROUP", cell=["L3", "L4"])
    spans = ((empty, 0.0, 0.031649), (fine, 0.031651, 0.0595), (coarse, 0.0707, 0.5))
    document["staircase"]["steps"] = [step | {"least": least, "most": most} for step, least, most in spans]
    first, said = width_sentences(document)
    assert first == (
        "Every explanation is rejected if responses are right to within 0.03164 of their largest value; from an error "
        "of 0.03166 on, some explanation is not. If they are right to within 0.0633 of their largest value (twice that "
        "error):"
    )
    assert said == "Line: L3 or L4; one of them is there."


def forged(report, change):
    document = copy.deepcopy(report.document)
    change(document["staircase"]["steps"])
    document["digests"]["document"] = document_hash(document)
    return document


@pytest.mark.parametrize(
    ("change", "needs_rows"),
    [
        (lambda steps: steps[0]["fields"][0].update(label="FINE", cell=["L4"]), False),
        (lambda steps: steps[1]["fields"][0].update(cell=[]), True),
        (lambda steps: steps[1].update(least=steps[0]["least"]), False),
        (lambda steps: steps[1]["fields"][0].update(cell=["L3"]), True),
        (lambda steps: steps.pop(), True),
        (lambda steps: steps[1].update(least=0.5 * (steps[0]["most"] + steps[1]["least"])), True),
    ],
)
def test_a_staircase_that_was_changed_is_refused(project, change, needs_rows):
    document = forged(project(), change)
    assert not verify(document, {"deployment": ROW}).is_verified
    assert needs_rows or not verify(document).is_verified


def test_a_staircase_that_was_left_out_or_invented_is_refused(project):
    document = copy.deepcopy(project().document)
    stairs = document.pop("staircase")
    document["digests"]["document"] = document_hash(document)
    assert any("staircase" in finding for finding in verify(document, {"deployment": ROW}).findings)
    again = Report.from_json(json.dumps(document))
    assert again.staircase() == []
    assert again.width == ()
    assert stairs["scale"] == "peak"


def test_a_run_that_did_not_ask_about_everything_has_no_staircase(project):
    report = project(("level = ", "budget = 3\nlevel = "))
    assert report.staircase() == []
    assert report.fields[0].errors is None
