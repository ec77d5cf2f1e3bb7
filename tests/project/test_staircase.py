"""Projects whose responses are not quite right: the error of each answer, in words, tables and verified documents."""

import copy
import csv
import io
import json
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

from physupport import MisuseError
from physupport.project import load_project, run_project
from physupport.report import Report, document_hash
from physupport.report._width import read_error, width_sentences
from physupport.report.pictures import WIDE, staircase_picture
from physupport.report.pictures._model import style_of
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
    lead, first = report.width[:2]
    assert lead.startswith("Nothing fits if responses are exact, nor if responses are right to within ")
    assert re.search(r"; something fits from about [0-9.]+ % on. At twice that error, [0-9.]+ %:$", lead)
    assert first.startswith("Line: L4 is there")
    assert first in report.text()
    assert report.tolerances() == {"line": report.fields[0].certain_to}
    row = next(csv.DictReader(io.StringIO(report.csv())))
    fits = report.staircase()[1]["least"]
    assert float(row["error from"]) == 0.0
    assert 0.0 < float(row["error to"]) < fits < 0.05
    assert float(row["certain to"]) >= 2.0 * fits


@pytest.mark.parametrize(
    ("error", "stated", "scale"),
    [("0.05", 0.05, "largest value"), ("{ relative = 0.3 }", 0.3, "value in every channel")],
)
def test_an_error_says_where_a_staircase_from_exact_responses_on_is_read(project, error, stated, scale):
    report = project(with_error(error))
    assert [(str(field.label), field.cell) for field in report.fields] == [("FINE", ("L4",))]
    assert statements(report)[0] == ("EMPTY", [])
    assert report.staircase()[0]["least"] == 0.0
    least, most = report.fields[0].errors
    assert 0.0 < least <= stated <= most == report.fields[0].certain_to
    assert report.width[-1].endswith(f"; this answer assumes an error of {100 * stated:g} %, the stated error.")
    assert scale in report.width[-1]
    assert f"of its {scale.replace('every', 'any')}" in report.sentence
    assert verify(report.json(), {"deployment": ROW}).is_verified
    assert verify(report.json()).is_verified
    other = copy.deepcopy(report.document)
    other["staircase"]["error"] = 0.0
    other["digests"]["document"] = document_hash(other)
    assert not verify(other).is_verified


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("1.5", r"elements\.error must be below 1"),
        ("{ relative = 0 }", r"elements\.error\.relative must be above 0"),
        ("{ relativ = 0.1 }", r"elements\.error must have no other keys than relative"),
        ('"much"', r"elements\.error must be a number"),
        ('"3 %"', r"elements\.error must be a number between 0 and 1, not '3 %'\. Write 0\.03\."),
    ],
)
def test_an_error_that_is_none_is_refused_by_its_key(project, error, message):
    with pytest.raises(MisuseError, match=message):
        project(with_error(error))


ONE_EACH = [0.01, 0.01, 0.01, 0.01, 0.02, 0.01, 0.01, 0.01, 0.01]


@pytest.mark.parametrize(
    ("errors", "text"),
    [
        (None, f"{ONE_EACH}"),
        (np.full((80, 1), 0.3), '{ relative = { file = "errors.npy" } }'),
        (np.tile(ONE_EACH, (80, 1)), '{ file = "errors.npy" }'),
    ],
)
def test_errors_of_elements_and_channels_have_a_staircase_of_their_multiples(project, tmp_path, errors, text):
    if errors is not None:
        np.save(tmp_path / "errors.npy", errors)
    report = project(with_error(text))
    assert report.document["staircase"]["scale"] == "stated"
    assert statements(report)[:2] == [("EMPTY", []), ("FINE", ["L4"])]
    assert report.width[-1].endswith(" times the stated error; this answer assumes the stated error.")
    assert "an error of its own" in report.sentence
    assert verify(report.json(), {"deployment": ROW}).is_verified


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[0.1, 0.1]", "elements.error must be one number, or have one for each of 9 elements, not 2"),
        ('{ file = "elements.csv" }', r"elements\.error"),
        ("[0.1, 1.0]", r"elements\.error"),
    ],
)
def test_errors_of_other_numbers_of_elements_are_refused(project, text, message):
    with pytest.raises(MisuseError, match=message):
        project(with_error(text))


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
    assert axes.get_xlabel() == "error as a share of the response's largest value"
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [*first]
    plt.close(axes.figure)


def test_a_measured_error_that_is_smaller_than_what_is_read_is_marked_beside_it(project):
    picture = staircase_picture(project(with_error("0.001")).document["staircase"], WIDE)
    marks = {mark.role: mark.xs[0] for mark in picture.panel.marks if mark.role in ("stated", "threshold")}
    assert marks["stated"] == 0.001 < marks["threshold"]
    assert all("stroke" in style_of("curve", role) for role in marks)
    assert [key.text for key in picture.keys] == [
        "possible",
        "becomes possible somewhere along this line",
        "twice the smallest error at which something fits",
        "the stated error",
    ]


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
    assert width_sentences(document) == (
        "Nothing fits if responses are exact, nor if responses are right to within 3.16 % of their largest value; "
        "something fits from about 3.16 % on. At twice that error, 6.33 %:",
        "Line: L3 or L4; one of them is there.",
    )


def test_a_certain_answer_has_the_largest_error_at_which_it_holds_and_one_that_does_not_reach_far_is_named(project):
    document = copy.deepcopy(project().document)
    empty, fine = document["staircase"]["steps"][:2]
    vague = copy.deepcopy(fine)
    vague["fields"][0].update(label="LOCAL_AMBIGUOUS", cell=["L3", "L4"], certificate="witnesses", witnesses=[3, 4])
    for most, words in ((0.119, "as long as"), (0.0519, "but only if")):
        spans = ((empty, 0.0, 0.03), (fine, 0.03, most), (vague, 0.12, 0.5))
        document["staircase"]["steps"] = [step | {"least": least, "most": end} for step, least, end in spans]
        size = f"{100 * most:.3g} %"
        said = f"Line: L4 is there, {words} responses are right to within {size} of their largest value."
        assert said in width_sentences(document)
        assert Report(document).tolerances() == {"line": most}


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


def test_a_staircase_of_the_noise_is_read_at_twice_the_least_ratio_that_fits():
    """Though something fits at the first step, or at the stated one."""

    def read(stated, *labels):
        ends = ((0.0005, 0.004), (0.006, 0.02), (0.05, 10.0))
        steps = [{"least": a, "most": b, "fields": [{"label": x}]} for (a, b), x in zip(ends, labels, strict=True)]
        return read_error({"steps": steps, "error": stated, "scale": "noise"})[0]

    assert read(0.0005, "FINE", "FINE", "GROUP") == 0.001
    assert read(0.01, "EMPTY", "FINE", "GROUP") == 0.012
    assert read(0.02, "EMPTY", "FINE", "GROUP") == 0.02
    assert read(0.01, "EMPTY", "EMPTY", "GROUP") == 0.1
