"""Responses of several lines whose width grows with energy; `width` scales all of them and moves none."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.project import assemble, load_project
from physupport.responses import Lines, Parameter, settings_grid

AXIS = np.linspace(0.0, 20.0, 401)
# Atomic number, energy in keV and intensity.
TABLE = [[26.0, 6.40, 1.0], [26.0, 7.06, 0.13], [82.0, 10.55, 1.0], [82.0, 12.61, 0.9], [29.0, 8.05, 1.0]]
RESOLUTION = [0.003, 0.0004]


def written_out(place, width=1.0):
    """The definition, line by line."""
    total = np.zeros(len(AXIS))
    for key, energy, intensity in TABLE:
        deviation = width * np.sqrt(0.003 + 0.0004 * energy)
        if key == place:
            total += intensity * np.exp(-((AXIS - energy) ** 2) / (2.0 * deviation**2)) / deviation
    return total


def test_answers_are_sums_of_lines_as_wide_as_the_detector_resolves():
    found = Lines(AXIS, TABLE, RESOLUTION)([[82.0], [26.0], [47.0]])
    np.testing.assert_allclose(found[:, 0], written_out(82.0), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(found[:, 1], written_out(26.0), rtol=1e-12, atol=1e-300)
    assert not found[:, 2].any()


def test_width_widens_every_line_about_its_own_energy():
    response = Lines(AXIS, TABLE, RESOLUTION)
    found = settings_grid(response, [[82.0]], [Parameter("width", [0.9, 1.0, 1.1])], AXIS).responses
    for column, width in zip(found[:, :, 0], (0.9, 1.0, 1.1), strict=True):
        expected = written_out(82.0, width)
        np.testing.assert_allclose(column, expected / np.linalg.norm(expected), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize(
    ("lines", "resolution", "words"),
    [
        ([[1.0, 2.0]], RESOLUTION, "lines must have the place, the energy and the intensity"),
        ([[1.0, 2.0, -1.0]], RESOLUTION, "none of them negative"),
        (TABLE, [0.003, -0.1], r"resolution must be \[a, b\] with a \+ b E above 0"),
    ],
)
def test_lines_that_cannot_be_are_refused(lines, resolution, words):
    with pytest.raises(MisuseError, match=words):
        Lines(AXIS, lines, resolution)


PROJECT = """
level = 0.05
[data.deployment]
file = "rows.npy"
channels = 1
law = "poisson"
window = [10.0, 13.0]
[background]
polynomial = 0
[elements]
file = "elements.csv"
coordinates = ["Z"]
response = { kind = "lines", axis = "axis.npy", lines = "lines.csv", resolution = [0.003, 0.0004] }
[parameters.width]
values = [0.95, 1.0, 1.05]
[regions.any]
count = 2
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "elements.csv").write_text("id,region,Z\nPb,any,82\nFe,any,26\nCu,any,29\nBi,any,83\n")
    names = {26.0: "Fe", 82.0: "Pb", 29.0: "Cu"}
    lines = [f"{names[z]},{energy},{intensity}\n" for z, energy, intensity in TABLE]
    (tmp_path / "lines.csv").write_text("element,energy,intensity\n" + "".join(lines) + "Bi,10.84,1\nAu,9.7,1\n")
    np.save(tmp_path / "axis.npy", AXIS)
    np.save(tmp_path / "rows.npy", np.random.default_rng(1).poisson(20.0 * written_out(82.0) + 3.0)[None])
    (tmp_path / "project.toml").write_text(PROJECT)
    return tmp_path


def test_a_project_reads_lines_by_the_names_of_elements_in_a_window_of_their_axis(folder):
    assembled = assemble(load_project(folder / "project.toml"))
    assert assembled.bank.states.library.ids == ("Pb", "Bi")
    assert assembled.protocol.window["without_lines"] == ["Fe", "Cu"]
    inside = (AXIS >= 10.0) & (AXIS <= 13.0)
    expected = written_out(82.0)[inside]
    np.testing.assert_allclose(
        assembled.bank.states.library.responses[:, 0], expected / np.linalg.norm(expected), rtol=1e-9
    )


def test_a_table_of_lines_without_its_columns_is_refused(folder):
    (folder / "lines.csv").write_text("name,energy,intensity\nPb,10.55,1\n")
    with pytest.raises(MisuseError, match=r"elements.response.lines must be a table with the columns element, energy"):
        assemble(load_project(folder / "project.toml"))
