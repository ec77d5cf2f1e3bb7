"""Directions that close a circle are as far apart as the shorter way around, and have no end."""

import numpy as np

from physupport.banks import Library, along_arc, bank_regions, closes_circle, grid_edges, library_bank, region_distances


def bank(angles, unit="degrees"):
    responses = np.exp(1j * np.deg2rad(angles)[None] * np.arange(1, 4)[:, None]).real + 0.1
    library = Library(
        [f"{angle:g}" for angle in angles],
        ["sky"] * len(angles),
        np.array(angles)[:, None],
        responses / np.linalg.norm(responses, axis=0),
        unit,
    )
    return library_bank(library, [["sky"]], {"sky": [1.0]})


def test_a_full_turn_in_equal_steps_has_circular_distances_and_no_ends():
    circle = bank(np.arange(0.0, 360.0, 30.0))
    view = bank_regions(circle)
    apart = region_distances(view, "sky")
    assert apart[0].tolist() == [0.0, 30.0, 60.0, 90.0, 120.0, 150.0, 180.0, 150.0, 120.0, 90.0, 60.0, 30.0]
    assert view.sets["sky"].spread(np.array([0, 1, 11])) == 60.0
    assert grid_edges(circle, np.array([0, 1, 11])) == []


def test_what_leaves_a_gap_or_is_in_another_unit_stays_a_line():
    for angles, unit in ((np.arange(0.0, 330.0, 30.0), "degrees"), (np.arange(0.0, 360.0, 30.0), "m")):
        line = bank(angles, unit)
        assert region_distances(bank_regions(line), "sky")[0, -1] == angles[-1]
        assert {edge["end"] for edge in grid_edges(line, np.array([0, 1, len(angles) - 1]))} == {"lowest", "highest"}
    assert not closes_circle([[0.0], [90.0], [180.0], [270.0]], "degrees")  # four may be a list


def test_the_shortest_arc_goes_over_the_seam():
    assert along_arc([0.0, 5.0, 355.0]).tolist() == [360.0, 365.0, 355.0]
    assert along_arc([10.0, 20.0]).tolist() == [10.0, 20.0]
