"""Pictures of the studies say every number they show, and no text runs into another."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from matplotlib.figure import Figure

from physupport.report.plots import fixed
from physupport.studies._figures import (
    draw_affinities,
    draw_coherence,
    draw_plugin,
    draw_recovery,
    draw_regional_map,
    draw_responses,
    draw_status,
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
    draw_status(ax, [row, row])
    assert sorted(text.get_text() for text in ax.texts) == ["1", "1", "2", "2", "50", "50"]


def test_small_counts_stand_beside_their_bars_and_within_the_axis(ax):
    row = {"budget": "0.75", "match": "52", "safe_coarsening": "2", "abstention": "0", "unsafe": "0"}
    draw_status(ax, [row] * 6)
    ax.figure.draw_without_rendering()
    bars = [bar.get_window_extent() for bar in ax.patches]
    for text in (text for text in ax.texts if text.get_text() == "2"):
        box = text.get_window_extent()
        assert not any(box.x0 < bar.x1 and bar.x0 < box.x1 for bar in bars)
        assert box.y1 <= ax.get_window_extent().y1


def test_labels_of_a_map_keep_to_their_bands_and_circles_are_explained(ax):
    draw_regional_map(ax, MAP, LIBRARY)
    ax.figure.draw_without_rendering()
    bands = [band.get_window_extent() for band in ax.patches]
    assert len(bands) == len(PLACES)
    for text in (text for text in ax.texts if text.get_text() == "ambiguous"):
        box = text.get_window_extent()
        assert any(band.x0 <= box.x0 and box.x1 <= band.x1 for band in bands)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["possible place", "other place"]
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1


def test_places_have_the_same_number_of_decimals(ax):
    draw_coherence(ax, LIBRARY)
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
    draw_affinities(ax, table, "$I$")
    assert [text.get_text() for text in ax.texts] == [words]


PLUGIN = [
    {"region": "C", "label": label, "datasets": "5", "method": method, "count": count}
    for method, counts in (("plug-in", "23"), ("AEB", "00"))
    for label, count in zip(("ABSENT", "FINE"), counts, strict=True)
]


def test_parts_of_a_bar_stand_one_behind_the_other_and_their_sum_beside_it(ax):
    draw_plugin(ax, PLUGIN)
    assert [(bar.get_x(), bar.get_width()) for bar in ax.patches] == [(0, 2), (2, 3)]
    assert [text.get_text() for text in ax.texts] == ["5/5", "0/5"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["said to be absent", "said to be at one place"]


RECOVERY = [
    {"budget": budget, "reference": reference, "recovered": "3", "traces": "4"}
    for budget in ("0.5", "0.75")
    for reference in ("AMBIGUOUS", "FINE")
]


def test_shares_of_the_labels_that_are_found_stand_above_their_bars(ax):
    draw_recovery(ax, RECOVERY)
    assert [bar.get_height() for bar in ax.patches] == [0.75] * 4
    assert [text.get_text() for text in ax.texts] == ["3/4"] * 4


def test_a_response_has_the_colour_of_its_region_and_the_dashes_of_its_place(ax):
    draw_responses(ax, LIBRARY)
    assert len(ax.lines) == 8
    assert len({line.get_color() for line in ax.lines}) == len(PLACES)
    assert ax.get_legend().get_texts()[0].get_text() == "A: 0.100, 0.200"
