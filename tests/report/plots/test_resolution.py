"""The picture shows the map it is given."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from physupport.local.planning import ResolutionMap
from physupport.report.plots import plot_resolution


def make_map(constant=10.0):
    """An exact power law: relative diameter (K / N s^6)^(1/2)."""
    scales, rows = np.geomspace(0.05, 0.5, 9), np.geomspace(1e2, 1e10, 17)
    onset = constant / scales**6
    return ResolutionMap(scales, rows, np.sqrt(onset[:, None] / rows), onset, (1e6, 0.2))


@pytest.fixture
def axes():
    yield plot_resolution(make_map())
    plt.close("all")


def test_the_frontier_is_the_line_of_one_constant(axes):
    rows, scales = axes.lines[0].get_data()
    # Sixth roots and powers of numbers in float64.
    assert rows * scales**6 == pytest.approx(10.0, rel=1e-12)
    assert axes.get_legend_handles_labels()[1] == [r"resolved above $N s^6 \approx 10$", "planned"]


def test_the_plan_is_marked_where_it_is(axes):
    x, y = axes.lines[1].get_data()
    assert (*x, *y) == (1e6, 0.2)


def test_axes_show_the_whole_map_and_nothing_else(axes):
    assert axes.get_xlim() == pytest.approx((1e2, 1e10))
    assert axes.get_ylim() == pytest.approx((0.05, 0.5))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0.05", "0.10", "0.20", "0.50"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("calibration rows $N$", "separation scale $s$")


def test_nothing_is_cut_off_at_column_width(axes):
    figure = axes.figure
    figure.canvas.draw()
    page = figure.bbox
    for each in figure.axes:
        box = each.get_tightbbox()
        assert page.x0 <= box.x0 < box.x1 <= page.x1
        assert page.y0 <= box.y0 < box.y1 <= page.y1
    assert figure.get_size_inches()[0] * 25.4 == pytest.approx(85.0, abs=0.1)


@pytest.mark.parametrize("constant", [1e-3, 10.0, 1e5], ids=["low", "middle", "high"])
def test_the_legend_leaves_the_whole_map_free(constant):
    """The frontier may run through any corner of the map."""
    axes = plot_resolution(make_map(constant))
    axes.figure.canvas.draw()
    legend, page = axes.get_legend().get_window_extent(), axes.figure.bbox
    assert legend.y0 >= axes.get_window_extent().y1
    assert page.x0 <= legend.x0 < legend.x1 <= page.x1
    assert legend.y1 <= page.y1
    plt.close("all")


def test_given_axes_are_used_and_returned():
    figure, mine = plt.subplots()
    assert plot_resolution(make_map(), mine) is mine
    assert len(figure.axes) == 2  # the map and its bar
    plt.close(figure)


def test_without_a_frontier_none_is_drawn():
    axes = plot_resolution(make_map(constant=0.0))
    assert axes.get_legend_handles_labels()[1] == ["planned"]
    plt.close("all")
