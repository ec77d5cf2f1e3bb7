"""Where nothing fits at the stated error, every output opens with the answers at the error that is read."""

import re

import numpy as np

from physupport import PhysicalSupport
from physupport.analysis import StreamPlan
from physupport.banks import Library, library_bank

AXIS = np.arange(60)
LINES = np.exp(-0.5 * ((AXIS[:, None] - [15.0, 22.0, 40.0]) / 3.0) ** 2)
LINES /= np.linalg.norm(LINES, axis=0)
BANK = library_bank(Library(["a", "b", "c"], ["line"] * 3, np.arange(3.0)[:, None], LINES), [["line"]], {"line": [1.0]})


def report(error, off):
    means = np.maximum(4e4 * (LINES[:, 1] + off * LINES.max() * np.cos(AXIS)), 0.0) + 50.0
    plan = StreamPlan("poisson", background=np.ones((60, 1)), error=error)
    model = PhysicalSupport(BANK, {"line": 0.5}, calibration=None, deployment=plan)
    return model.fit().report(np.random.default_rng(1).poisson(means)[None])


def test_answers_at_a_larger_error_come_before_the_doubt():
    found = report(None, 0.02)
    assert found.status == "EMPTY"
    lead = "Nothing fits if responses are exact, nor if responses are right to within "
    assert found.opening()[0].startswith(lead)
    assert re.search(r"; something fits from about [0-9.]+ % on. At twice that error, [0-9.]+ %:$", found.opening()[0])
    assert found.opening()[1] == "Line: b is there."
    assert found.doubt.startswith("No explanation considered fits if responses are exact.")
    assert found.opening()[-1] == found.doubt
    assert not any("no answer" in said for said in found.opening())
    assert found.text().startswith(lead)
    html = found._repr_html_()
    assert html.index(lead) < html.index("Line: b is there.") < html.index("No explanation considered fits")


def test_answers_at_the_stated_error_open_as_they_are():
    found = report(0.05, 0.02)
    assert found.opening()[0] == found.answers[0] == "Line: b is there."


def test_a_doubt_of_what_is_behind_the_report_comes_first_where_the_report_has_none():
    found = report(0.05, 0.02)
    assert found.opening(["The rows lack energy."])[0] == "The rows lack energy."


def test_many_regions_open_with_one_sentence_that_gathers_them():
    axis = np.arange(80)
    shapes = np.exp(-0.5 * ((axis[:, None] - np.arange(10.0, 80.0, 10.0)) / 2.0) ** 2)
    names = [f"m{i}" for i in range(7)]
    library = Library(names, names, np.zeros((7, 0)), shapes / np.linalg.norm(shapes, axis=0))
    supports = [[one, other] for number, one in enumerate(names) for other in names[number + 1 :]]
    bank = library_bank(library, supports, dict.fromkeys(names, 1.0))
    rows = shapes[:, [2, 5]].sum(axis=1) + 0.02 * np.random.default_rng(4).standard_normal((1, 80))
    found = PhysicalSupport(bank, calibration=None, deployment="gaussian").fit().report(rows)
    said = "There: m2 and m5. Nothing there: the 5 others."
    assert found.opening()[0] == said
    assert found.opening()[1] == found.answers[0]
    assert said in found._repr_html_()
    assert report(0.05, 0.02).opening()[0] == "Line: b is there."
