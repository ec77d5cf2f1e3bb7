"""A picture is decided once: both renderers draw the same ticks, names and values, and every kind of mark."""

import re

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest

from physupport.report.page._draw import svg
from physupport.report.pictures import COLUMN, WIDE, brackets_picture, elements_picture, evidence_picture, map_pictures
from physupport.report.pictures._model import Axis
from physupport.report.plots._draw import draw

ELEMENT = {"coordinates": [2.0], "state": "kept", "n_kept": 1, "n_not_asked": 2, "explanations": []}
FIELD = {
    "field": "north & south", "label": "GROUP", "coordinate_names": ["place"],
    "elements": [ELEMENT | {"id": "a"}, ELEMENT | {"id": "b", "coordinates": [3.0], "state": "not asked"}],
    "absent": ELEMENT | {"state": "excluded", "coordinates": []}, "plug_in": {"label": "FINE", "cell": ["a"]},
}  # fmt: skip
CURVE = {"explanation": 5, "role": "witness", "fields": ["A"], "lower": [0.0, None, 2.0], "upper": [0.0, None, 2.0]}
EVIDENCE = {"streams": ["rows"], "steps": [[8], [16], [32]], "threshold": 3.0, "curves": [CURVE]}
BRACKETS = {"queries": [0, 1, 2], "witnessed": [0, 0, 1], "possible": [9, 8, 8], "open": [2, 2, 1]}


@pytest.fixture(autouse=True)
def _no_figure_is_left():
    yield
    plt.close("all")


PICTURES = {
    "map": lambda: map_pictures([FIELD], COLUMN)[0][0],
    "elements": lambda: elements_picture(FIELD, COLUMN),
    "evidence": lambda: evidence_picture(EVIDENCE, COLUMN),
    "brackets": lambda: brackets_picture(BRACKETS, COLUMN),
}


@pytest.mark.parametrize("name", PICTURES)
def test_both_renderers_write_the_ticks_and_names_of_the_picture(name):
    picture = PICTURES[name]()
    axes, text = draw(picture, None), svg(picture, "one")
    written = [*re.findall(r">([^<>]+)</text>", text)]
    for axis, drawn in ((picture.panel.x, axes.get_xticklabels()), (picture.panel.y, axes.get_yticklabels())):
        wanted = [tick.text for tick in axis.ticks]
        assert [label.get_text() for label in drawn] == wanted
        # A tick beside the threshold gives way to its number.
        assert {tick.replace("&", "&amp;") for tick in wanted} <= {*written, "3"}
    assert picture.panel.x.name in written
    assert axes.get_xlabel().startswith(picture.panel.x.name)


def test_a_gap_in_a_curve_is_a_gap_in_both():
    picture = evidence_picture(EVIDENCE, WIDE)
    (path,) = re.findall(r'<path d="([^"]*)" class="curve witness"', svg(picture, "one"))
    assert path.count("M") == 2
    assert [*draw(picture, None).lines[1].get_ydata()][0::2] == [0.0, 2.0]


def test_signs_of_svg_stand_where_the_axis_puts_them():
    picture = map_pictures([FIELD], WIDE)[0][0]
    left, right = 384.0, 892.0
    (x,) = re.findall(r'<circle cx="([\d.]+)" cy="[\d.]+" r="5.5" class="kept"', svg(picture, "one"))
    # Written to a hundredth of a pixel.
    assert float(x) == pytest.approx(left + (right - left) * picture.panel.x.share(2.0), abs=0.006)


def test_an_axis_runs_from_low_to_high_also_where_it_falls_or_is_bent():
    for axis in (Axis(3.0, -1.0), Axis(-5.0, 900.0, bend=3.0)):
        assert [axis.share(axis.low), axis.share(axis.high)] == [0.0, 1.0]
    assert Axis(2.0, 2.0).share(2.0) == 0.5
