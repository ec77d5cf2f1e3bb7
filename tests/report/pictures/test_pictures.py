"""A picture is decided once: both renderers draw the same ticks, names and values, and every kind of mark."""

import re
from itertools import pairwise

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest

from physupport.report.page._svg import svg
from physupport.report.pictures import (
    COLUMN,
    WIDE,
    brackets_picture,
    elements_picture,
    evidence_picture,
    learnt_picture,
    map_pictures,
    rows_picture,
)
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
LEARNT = {
    "unit": "m",
    "left": [{"low": [low], "high": [low + 0.1], "cells": [
        {"name": f"{low} first", "low": [low], "high": [low + 0.04]},
        {"name": f"{low} second", "low": [low + 0.04], "high": [low + 0.1]},
    ]} for low in (0.2, 0.6)],
    "read_as": [{"atom": 1, "place": "0.22", "at": [0.22], "degrees": 2.0}],
}  # fmt: skip
SAID = [
    {"field": "A", "label": "FINE", "cell": ["0.2 second"]},
    {"field": "B", "label": "SUPPORT_AMBIGUOUS", "cell": ["0.6 first", "0.6 second"]},
]


@pytest.fixture(autouse=True)
def _no_figure_is_left():
    yield
    plt.close("all")


PICTURES = {
    "map": lambda: map_pictures([FIELD], COLUMN)[0][0],
    "elements": lambda: elements_picture(FIELD, COLUMN),
    "evidence": lambda: evidence_picture(EVIDENCE, COLUMN),
    "brackets": lambda: brackets_picture(BRACKETS, COLUMN),
    "learnt": lambda: learnt_picture(LEARNT, SAID, COLUMN),
}


@pytest.mark.parametrize("name", PICTURES)
def test_both_renderers_write_the_ticks_and_names_of_the_picture(name):
    picture = PICTURES[name]()
    axes, text = draw(picture, None), svg(picture, "one")
    written = [*re.findall(r">([^<>]+)</text>", text)]
    for axis, drawn in ((picture.panel.x, axes.get_xticklabels()), (picture.panel.y, axes.get_yticklabels())):
        wanted = [tick.text for tick in axis.ticks]
        assert [label.get_text() for label in drawn] == wanted
        assert {tick.replace("&", "&amp;") for tick in wanted} <= {*written}
    assert picture.panel.x.name in written
    assert axes.get_xlabel().startswith(picture.panel.x.name)


def test_the_places_of_learnt_atoms_have_the_ends_of_their_cells_and_certain_ones_another_role():
    marks = learnt_picture(LEARNT, SAID, WIDE).panel.marks
    bars = {
        (mark.role, *(round(x, 9) for x in mark.xs))
        for mark in marks
        if mark.kind == "line" and mark.ys[0] == -2.0 and not mark.shares
    }
    assert bars == {("run certain-run", 0.24, 0.3), ("run", 0.6, 0.64), ("run", 0.64, 0.7)}
    assert [mark.xs for mark in marks if mark.role == "plug-in"] == [[0.22]]


def test_a_gap_in_a_curve_is_a_gap_in_both():
    picture = evidence_picture(EVIDENCE, WIDE)
    (path,) = re.findall(r'<path d="([^"]*)" class="curve witness"', svg(picture, "one"))
    assert path.count("M") == 2
    assert [*draw(picture, None).lines[1].get_ydata()][0::2] == [0.0, 2.0]


def test_signs_of_svg_stand_where_the_axis_puts_them():
    picture = map_pictures([FIELD], WIDE)[0][0]
    left, right = 384.0, 892.0
    (x,) = re.findall(r'<path d="M([\d.]+) [^"]*" class="kept"', svg(picture, "one"))
    # Written to a tenth of a pixel.
    assert float(x) == pytest.approx(left + (right - left) * picture.panel.x.share(2.0), abs=0.06)


def test_an_axis_runs_from_low_to_high_also_where_it_falls_or_is_bent():
    for axis in (Axis(3.0, -1.0), Axis(-5.0, 900.0, bend=3.0)):
        assert [axis.share(axis.low), axis.share(axis.high)] == [0.0, 1.0]
    assert Axis(2.0, 2.0).share(2.0) == 0.5


def lane(kept, count=7, places=None):
    """One region of so many elements, some of them kept; places: of names alone none."""
    elements = [
        {"id": f"line {i}", "coordinates": [] if places is None else [places[i]], "n_kept": 1, "n_not_asked": 0,
         "state": "kept" if i in kept else "excluded"}
        for i in range(count)
    ]  # fmt: skip
    return {
        "field": "spectrum", "label": "GROUP", "coordinate_names": [] if places is None else ["nm"], "plug_in": None,
        "absent": None, "elements": elements,
    }  # fmt: skip


def names_below(entry):
    ((picture,),) = map_pictures([entry], WIDE)
    texts = [mark.texts[0] for mark in picture.panel.marks if mark.kind == "text"]
    return [text for text in texts if text.startswith("line")]


def test_what_is_left_is_named_below_its_sign_if_all_names_fit():
    places = [0.0, 10.0, 20.0, 30.0, 30.1, 40.0, 50.0]
    assert names_below(lane({1, 5}, places=places)) == ["line 1", "line 5"]
    assert names_below(lane({3, 4}, places=places)) == []  # the name of one would pass for that of both


def test_elements_that_are_names_alone_stand_beside_their_names_and_no_number():
    assert names_below(lane({2})) == ["line 2", *(f"line {i}" for i in range(7) if i != 2)]
    ((picture,),) = map_pictures([lane({2})], WIDE)
    assert not picture.panel.x.ticks
    ((paper,),) = map_pictures([lane({2})], COLUMN)
    assert [tick.text for tick in paper.panel.x.ticks] == [f"line {i}" for i in range(7)]


def test_of_thousands_of_elements_excluded_ones_are_as_dense_as_the_eye_can_tell():
    ((picture,),) = map_pictures([lane({2500}, 5000, [0.02 * i for i in range(5000)])], WIDE)
    (path,) = re.findall(r'<path d="([^"]*)" class="dots excluded-dots"', svg(picture, "one"))
    places = [float(x) for x in re.findall(r"M([\d.]+) ", path)]
    assert 350 <= len(places) <= 520
    assert max(b - a for a, b in pairwise(places)) < 3.0  # pixels, from end to end


def test_names_alone_have_no_band_between_them_and_places_none_across_what_is_excluded():
    def bands(entry):
        ((picture,),) = map_pictures([entry], WIDE)
        return [mark.xs for mark in picture.panel.marks if mark.role == "cell"]

    assert bands(lane({2, 4})) == []
    assert bands(lane({2, 3, 5, 6}, places=[10.0 * i for i in range(7)])) == [(20.0, 30.0), (50.0, 60.0)]
    assert bands(lane({2, 4}, places=[10.0 * i for i in range(7)])) == []


def row(channels):
    fits = [
        {"says": {"A": name}, "values": values} for name, values in (("a", [1.0, -3.0, 2.0]), ("b", [1.5, -2.0, 2.0]))
    ]
    return {"channels": channels, "measured": [2.0, -4.0, 1.0], "fits": fits, "unit": "uV", "rows": 1, "is_kept": True,
            "is_complex": False}  # fmt: skip


def test_over_an_axis_a_row_is_a_line():
    picture = rows_picture(row(["10 keV", "11 keV", "12 keV"]), WIDE)
    assert [mark.kind for mark in picture.panel.marks] == ["line", "line", "line"]
    assert picture.panel.x.name == "keV"


@pytest.mark.parametrize("room", [WIDE, COLUMN], ids=["page", "paper"])
def test_channels_that_are_names_have_bars_and_signs_sorted_by_the_first_fit(room):
    picture = rows_picture(row(["E1", "E2", "E3"]), room)
    bars, second, first = picture.panel.marks  # the first fit lies on top
    assert (bars.xs, bars.ys) == ([1.0, 0.0, 2.0], [2.0, -4.0, 1.0])
    assert (first.role, second.role) == ("series-0", "series-1")
    assert first.texts[1] == "E2: −3"
    assert [tick.text for tick in picture.panel.x.ticks] == ["E2", "E1", "E3"]
    assert [key.text for key in picture.keys] == ["measured", "a", "b"]
    axes, text = draw(picture, None), svg(picture, "row")
    assert [bar.get_height() for bar in axes.patches] == [2.0, -4.0, 1.0]
    found = re.findall(r'class="measured-bar" width="[\d.]+" height="([-\d.]+)"', text)
    heights = [*map(float, found)][-3:]
    # Below zero as well as above, in pixels to a hundredth.
    assert heights == pytest.approx([heights[0], 2 * heights[0], heights[0] / 2], abs=0.02)
    assert heights[0] > 0.0
