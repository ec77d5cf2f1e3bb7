"""Pictures of the studies say every number they show, and no text runs into another."""

import re

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from matplotlib.figure import Figure

from physupport.report.page._svg import svg
from physupport.report.plots._draw import draw, fixed
from physupport.studies._figures import (
    affinities_picture,
    library_coherence_picture,
    plugin_picture,
    recovery_picture,
    regional_map_picture,
    responses_picture,
    status_picture,
)

PLACES = {"A": (0.1, 0.2), "B": (0.405, 0.495), "C": (0.64, 0.76), "D": (0.86, 0.96)}
LIBRARY = [
    {"region": region, "place": str(place), "sensor": str(t), "response": "0.5"}
    for region, places in PLACES.items()
    for place in places
    for t in range(4)
]
MAP = [
    {"method": method, "region": "C", "label": "SUPPORT_AMBIGUOUS", "places": "0.64"}
    for method in ("AEB", "exhaustive")
]


@pytest.fixture
def ax():
    """One column wide, at the resolution of the files."""
    return Figure(figsize=(3.4, 2.5), dpi=200, layout="constrained").subplots()


def test_every_count_but_zero_is_printed(ax):
    row = {"budget": "0.75", "match": "50", "safe_coarsening": "2", "abstention": "1", "unsafe": "0"}
    draw(status_picture([row, row]), ax)
    assert sorted(text.get_text() for text in ax.texts) == ["1", "1", "2", "2", "50", "50"]


def test_small_counts_stand_beside_their_bars_and_within_the_axis(ax):
    row = {"budget": "0.75", "match": "52", "safe_coarsening": "2", "abstention": "0", "unsafe": "0"}
    draw(status_picture([row] * 6), ax)
    ax.figure.draw_without_rendering()
    bars = [bar.get_window_extent() for bar in ax.patches]
    for text in (text for text in ax.texts if text.get_text() == "2"):
        box = text.get_window_extent()
        assert not any(box.x0 < bar.x1 and bar.x0 < box.x1 for bar in bars)
        assert box.y1 <= ax.get_window_extent().y1


def test_labels_of_a_map_keep_to_their_bands_and_circles_are_explained(ax):
    draw(regional_map_picture(MAP, LIBRARY), ax)
    ax.figure.draw_without_rendering()
    # From their corners: the oldest matplotlib does not know how far a filled band reaches.
    bands = [band.get_transform().transform(band.get_paths()[0].vertices)[:, 0] for band in ax.collections]
    assert len(bands) == len(PLACES)
    for text in (text for text in ax.texts if text.get_text() == "ambiguous"):
        box = text.get_window_extent()
        assert any(band.min() <= box.x0 and box.x1 <= band.max() for band in bands)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["possible place", "other place"]
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1


def test_places_have_the_same_number_of_decimals(ax):
    draw(library_coherence_picture(LIBRARY), ax)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["0.100", "0.200", "0.405", "0.495", "0.640", "0.760", "0.860", "0.960"]
    assert [text.get_text() for text in ax.texts][-4:] == [*PLACES]  # above their frames


@pytest.mark.parametrize(
    ("values", "names"),
    [([0.1, 0.122], ["0.100", "0.122"]), ([1, 20], ["1", "20"]), ([1e-5, 0.5], ["0.00001", "0.50000"]), ([], [])],
)
def test_numbers_of_an_axis_have_the_decimals_of_the_longest(values, names):
    assert fixed(values) == names


@pytest.mark.parametrize(
    ("gap", "words"), [(0.0243, "2 curves,\nup to 0.0243 apart"), (1e-6, "2 curves,\nless than 0.0001 apart")]
)
def test_curves_that_collapse_say_how_far_apart_they_are(ax, gap, words):
    table = {
        "information": np.array([1.0, 4.0] * 2),
        "s": np.array([0.1, 0.1, 0.2, 0.2]),
        "affinity": np.array([0.9, 0.5, 0.9, 0.5 + gap]),
    }
    draw(affinities_picture(table, "$I$"), ax)
    assert [text.get_text() for text in ax.texts] == [words]


PLUGIN = [
    {"region": "C", "label": label, "datasets": "5", "method": method, "count": count}
    for method, counts in (("plug-in", "23"), ("AEB", "00"))
    for label, count in zip(("ABSENT", "FINE"), counts, strict=True)
]


def test_parts_of_a_bar_stand_one_behind_the_other_and_their_sum_beside_it(ax):
    draw(plugin_picture(PLUGIN), ax)
    assert [(bar.get_x(), bar.get_width()) for bar in ax.patches] == [(0, 2), (2, 3)]
    assert [text.get_text() for text in ax.texts] == ["5/5", "0/5"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["said to be absent", "said to be at one place"]


RECOVERY = [
    {"budget": budget, "reference": reference, "recovered": "3", "traces": "4"}
    for budget in ("0.5", "0.75")
    for reference in ("AMBIGUOUS", "FINE")
]
STATUS = [{"budget": "0.75", "match": "50", "safe_coarsening": "2", "abstention": "1", "unsafe": "0"}]
PICTURES = {
    "status": lambda: status_picture(STATUS),
    "recovery": lambda: recovery_picture(RECOVERY),
    "plug-in": lambda: plugin_picture(PLUGIN),
    "map": lambda: regional_map_picture(MAP, LIBRARY),
    "responses": lambda: responses_picture(LIBRARY),
    "coherence": lambda: library_coherence_picture(LIBRARY),
}


@pytest.mark.parametrize("name", PICTURES)
def test_the_page_draws_the_same_texts_and_as_many_bars(ax, name):
    picture = PICTURES[name]()
    draw(picture, ax)
    drawn = svg(picture, name)
    written = re.findall(r">([^<>]+)</text>", drawn)
    assert {text.get_text() for text in ax.texts} <= {*written}
    assert drawn.count("<rect") - (name == "coherence") == len(ax.patches)  # cells have a frame of their own there
    assert picture.title in drawn
    assert picture.description in drawn


def test_upright_bars_reach_as_far_on_the_page_as_on_paper():
    picture = status_picture(STATUS)
    heights = [float(height) for height in re.findall(r'<rect [^>]*height="([\d.]+)"', svg(picture, "status"))]
    # Pixels are written to a hundredth.
    assert heights[1:3] == pytest.approx([heights[0] * 2 / 50, heights[0] / 50], abs=0.01)
