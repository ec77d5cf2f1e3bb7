"""From signals and geometry to directions or places in one call."""

import wave

import numpy as np
import pytest
from tests.arrays.conftest import MICROPHONES, RATE, heard

from physupport import MisuseError
from physupport.arrays import locate
from physupport.responses import PlaneWaves, SphericalWaves

GRID = (40.0, 100.0, 10.0)
HOW = {"frequencies": [900.0, 1500.0], "sampling_rate": RATE, "directions": GRID, "gap": 0}
SQUARE = np.array([[0.0, 0.0], [0.3, 0.0], [0.3, 0.3], [0.0, 0.3], [0.15, 0.4]])


def test_a_file_and_an_array_give_the_same_answer_in_words_first(recording):
    by_name = locate(recording / "one.wav", recording / "mics.csv", **HOW | {"sampling_rate": None})
    by_array = locate(heard([71.0]), MICROPHONES, **HOW)
    assert by_name.sets[0] == by_array.sets[0] == ("70 deg",)
    assert by_name.extent <= 20.0
    assert abs(float(by_name.centre[0, 0]) - 71.0) < 8.0
    assert str(by_name).startswith("Source: ")
    assert "Assumed: noise and response errors" in str(by_name)
    assert by_name.report.level == 0.05


def test_a_source_between_the_directions_of_the_grid_is_not_empty_and_its_neighbours_are_left():
    for azimuth in (73.0, 75.0):
        found = locate(heard([azimuth], seed=int(azimuth)), MICROPHONES, **HOW)
        assert {("70 deg",), ("80 deg",)} & {*found.sets}, azimuth


def test_a_loud_source_between_the_directions_leaks_and_is_kept():
    """Given all beside it hardly anything is left of it: the share is no sum of noise and errors."""
    line = np.column_stack([0.05 * np.arange(6), np.zeros(6)])
    frequencies = [1000.0, 2000.0]
    wave = PlaneWaves(line, np.array(frequencies), 343.0)(np.array([[62.4]]))[:, 0]
    rng = np.random.default_rng(4)
    for noise in (0.2, 0.01):
        drawn = rng.standard_normal((2, 800, 7, 2)) @ [1.0, 1.0j]
        parts = [each[:, :1] * part + noise * each[:, 1:] for each, part in zip(drawn, np.split(wave, 2), strict=True)]
        found = locate(np.hstack(parts), line, frequencies=frequencies, directions=(0, 180, 5))
        assert {("60 deg",), ("65 deg",)} >= {*found.sets} > set(), noise


def test_a_snapshot_that_is_not_a_number_is_refused_by_its_place():
    line = np.column_stack([0.05 * np.arange(6), np.zeros(6)])
    rows = np.random.default_rng(0).standard_normal((200, 6)) * (1.0 + 1.0j)
    rows[7, 2] = np.nan
    with pytest.raises(MisuseError, match="row 7, column 2"):
        locate(rows, line, frequencies=1000.0, directions=(0, 180, 5))


def test_sound_of_three_bytes_a_sample_has_its_rate(recording):
    samples = heard([71.0])
    whole = (samples / np.abs(samples).max() * 8e6).astype("<i4")
    with wave.open(str(recording / "three.wav"), "wb") as file:
        file.setparams((4, 3, RATE, len(samples), "NONE", ""))
        file.writeframes(whole.view(np.uint8).reshape(*whole.shape, 4)[..., :3].tobytes())
    how = HOW | {"sampling_rate": None}
    assert locate(recording / "three.wav", MICROPHONES, **how).sets[0] == ("70 deg",)


def test_two_sources_are_pairs():
    found = locate(heard([50.0, 110.0], seed=3), MICROPHONES, **HOW | {"directions": (50.0, 130.0, 20.0)}, count=2)
    assert ("50 deg", "110 deg") in found.sets
    assert all(len(each) <= 2 for each in found.sets)
    assert found.centre.shape == (len(found.sets[0]), 1)
    told = f"{len(found.sets)} combinations remain; the best-fitting one is {' and '.join(found.sets[0])}."
    assert (told if len(found.sets) > 1 else "One combination is left") in str(found)


def test_places_in_a_box():
    rng = np.random.default_rng(5)
    truth = np.array([[1.0, 1.5]])
    wave = SphericalWaves(SQUARE, [600.0, 1000.0])(truth)[:, 0]
    parts = []
    for part in np.split(wave, 2):
        drawn = rng.standard_normal((120, 6, 2)) @ [1.0, 1.0j]
        parts.append(drawn[:, :1] * part + 0.02 * drawn[:, 1:])
    box = {"x": (0.5, 2.0), "y": (1.0, 2.0), "step": 0.5}
    found = locate(np.hstack(parts), SQUARE, frequencies=[600.0, 1000.0], places=box)
    assert ("(1, 1.5)",) in found.sets
    assert len(found.sets) < 12


def test_the_picture_has_the_curve_and_the_kept_directions(recording):
    pytest.importorskip("matplotlib")
    found = locate(recording / "one.wav", recording / "mics.csv", **HOW | {"sampling_rate": None})
    axes = found.plot()
    assert axes.get_ylabel() == "dB"
    assert axes.get_xlabel() == "degrees"
    spectrum = found.result.details().document["spectrum"]
    assert max(spectrum["beam"]) == 0.0
    assert abs(spectrum["places"][int(np.argmax(spectrum["music"]))] - 71.0) <= 10.0
    assert spectrum["sets"] == [[float(name.removesuffix(" deg"))] for (name,) in found.sets]


def test_a_source_at_the_seam_of_a_full_turn_has_neighbours_on_both_sides():
    ring = 0.1 * np.column_stack([np.cos(np.arange(5) * 0.4 * np.pi), np.sin(np.arange(5) * 0.4 * np.pi)])
    rows = heard([1.0], seed=2, microphones=ring)
    found = locate(rows, ring, **HOW | {"directions": (0.0, 350.0, 10.0)}, tolerance=40.0)
    assert ("0 deg",) in found.sets
    assert found.extent <= 20.0
    assert min(found.centre[0, 0], 360.0 - found.centre[0, 0]) <= 10.0
    (where,) = found.report.where()
    assert where.centre == pytest.approx(tuple(found.centre[0]))
    assert "end of the grid" not in found.report.text()
    assert str(found.report.fields[0].label) == "FINE"
    if len(found.sets) > 1:
        assert "on the arc from" in str(found)
