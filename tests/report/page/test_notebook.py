"""Reports, results and details in notebooks: words, pictures, colours, and numbers that were rounded."""

import base64
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from physupport.project import load_project, run_project
from physupport.report.page import pictures_html
from physupport.report.page._page import report_fields

PROJECT = """\
title = "Notebook"
level = 0.05

[data.deployment]
file = "row.csv"
channels = "columns"
law = "gaussian"

[elements]
file = "elements.csv"
coordinates = ["x", "y"]
unit = "mm"
responses = "responses.csv"

[regions.plate]
tolerance = 0.5
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Four places of a plate, two of which answer nearly alike; a hostile name among them."""
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "project.toml").write_text(PROJECT)
    (folder / "elements.csv").write_text(
        "id,region,x,y\n<b>near</b>,plate,0,0\nnext,plate,1.23456,0\nfar,plate,9,9\nfarther,plate,9,0\n"
    )
    k = np.arange(24)
    columns = np.stack([1.0 - 0.03 * k, 1.0 - 0.029 * k, 0.1 * k, (-1.0) ** k], axis=1)
    row = 20.0 * columns[:, 0] + np.random.default_rng(2).standard_normal(24)
    np.savetxt(folder / "responses.csv", columns, delimiter=",", header="<b>near</b>,next,far,farther", comments="")
    np.savetxt(folder / "row.csv", row[None], delimiter=",", header=",".join(f"c{i}" for i in k), comments="")
    return run_project(load_project(folder / "project.toml"))


def images(html):
    """The pictures within, read as the XML that a browser would."""
    found = re.findall(r'<img [^>]*src="data:image/svg\+xml;base64,([^"]+)"', html)
    return [ET.fromstring(base64.b64decode(content)) for content in found]


def test_a_report_shows_its_answers_a_picture_and_coloured_labels(finished):
    report = finished.result.report
    html = report._repr_html_()
    (field,) = report.fields
    assert len(images(html)) == 1
    assert re.search(rf'<td style="color:#[0-9a-f]{{6}};font-weight:600">{field.label}</td>', html)
    assert "&lt;b&gt;near&lt;/b&gt;" in html
    assert "<b>near" not in html
    assert field.cell == ("<b>near</b>", "next")
    assert "<td>1.24 mm</td>" in html  # rounded, never downwards


def test_a_result_adds_the_measured_row_and_details_show_both(finished):
    titles = [[image.findtext("{*}title") for image in images(shown._repr_html_())]
              for shown in (finished.result, finished.details)]  # fmt: skip
    assert all("Measured row and fits" in each for each in titles)
    assert all(len(each) == 2 for each in titles)


def test_states_of_a_report_alone_are_those_of_its_details(finished):
    (found,) = report_fields(finished.result.report.document)["fields"]
    (told,) = finished.details.document["fields"]
    assert [(e["id"], e["coordinates"], e["state"]) for e in found["elements"]] == [
        (e["id"], e["coordinates"], e["state"]) for e in told["elements"]
    ]
    assert found["coordinate_names"] == told["coordinate_names"] == ["x (mm)", "y (mm)"]


def test_a_question_without_elements_has_no_picture(kit):
    report, details = kit.make_resolution()
    assert report_fields(report.document) == {}
    assert images(report._repr_html_()) == images(details._repr_html_()) == []
    assert pictures_html({}) == ""


def test_reprs_say_what_there_is(finished):
    assert repr(finished.result.report) == f"Report(REPORT, level 0.05: plate {finished.result.report.fields[0].label})"
    assert repr(finished.result) == f"Result(report={finished.result.report!r})"
    assert repr(finished.details).startswith("Details(Notebook, of report ")


def test_a_frame_has_a_row_for_each_element_that_is_possible(finished):
    frame = pytest.importorskip("pandas") and finished.result.report.to_frame()
    (field,) = finished.result.report.fields
    assert frame["element"].tolist() == [*field.kept, *field.not_asked]
    assert frame["margin"].dtype == float


def test_what_is_looked_at_in_passing_fits_on_a_line(finished):
    result = finished.result
    assert repr(result.bank) == "Bank(4 explanations: 4 dictionary states, 1 supports, 1 nuisances)"
    assert repr(result.bank.states.library) == "Library(4 elements in plate, 24 channels, places in mm)"
    assert repr(result.trace) == "Trace(REPORT: 4 of 4 explanations tested, 2 admissible, 2 possible)"
    for shown in (result, result.report, result.seal, finished.details):
        assert len(repr(shown)) < 120
