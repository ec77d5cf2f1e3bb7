"""A window of the axis: rows, responses, background and noise are cut alike, and elements without a line are named."""

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.maps import SignalMap
from physupport.project import assemble, load_project, report_differences, run_project
from physupport.responses import Parameter, Peak, in_window, settings_grid
from physupport.verify import verify

AXIS = np.linspace(0.0, 20.0, 201)
PLACES = {"iron": 6.4, "cobalt": 6.93, "arsenic": 10.54, "lead": 10.6}
PROJECT = """
level = 0.05
[data.deployment]
file = "rows.csv"
channels = 1
law = "poisson"
window = [10.0, 11.2]
[background]
atoms = "background.npy"
[elements]
file = "elements.csv"
coordinates = ["energy"]
responses = "responses.npy"
axis = "axis.npy"
axis_unit = "keV"
[parameters.shift]
values = [-0.1, 0.0, 0.1]
[regions.light]
presence = "optional"
[regions.heavy]
groups = { both = ["arsenic", "lead"] }
"""


def columns():
    return np.stack([np.exp(-0.5 * ((AXIS - place) / 0.1) ** 2) for place in PLACES.values()], axis=1)


@pytest.fixture
def folder(tmp_path):
    lines = [f"{name},{'light' if place < 8.0 else 'heavy'},{place}\n" for name, place in PLACES.items()]
    (tmp_path / "elements.csv").write_text("id,region,energy\n" + "".join(lines))
    means = columns() @ [5000.0, 100.0, 0.0, 400.0] + 20.0
    rows = np.random.default_rng(1).poisson(means)
    (tmp_path / "rows.csv").write_text(",".join(f"{e:.6g} keV" for e in AXIS) + "\n" + ",".join(map(str, rows)) + "\n")
    np.save(tmp_path / "responses.npy", columns())
    np.save(tmp_path / "axis.npy", AXIS)
    np.save(tmp_path / "background.npy", np.ones((len(AXIS), 1)))
    (tmp_path / "project.toml").write_text(PROJECT)
    return tmp_path


def test_everything_is_cut_to_the_window_and_elements_without_a_line_are_named(folder):
    project = load_project(folder / "project.toml")
    assembled = assemble(project)
    inside = (AXIS >= 10.0) & (AXIS <= 11.2)
    assert assembled.tables["deployment"].values.shape == (1, inside.sum())
    assert len(assembled.bank.states.elements) == inside.sum()
    assert np.asarray(assembled.protocol.streams["deployment"].law.background).shape == (inside.sum(), 1)
    # At no shift the columns are those of the file in the window.
    expected = columns()[inside][:, 2:]
    expected /= np.linalg.norm(expected, axis=0)
    np.testing.assert_allclose(assembled.bank.states.library.responses, expected, rtol=1e-12)
    finished = run_project(project)
    report = finished.result.report
    assert report.fields[0].cell == ("lead",)
    assert "No line of iron or cobalt lies in the window: the report makes no statement about them." in report.text()
    rows = assembled.tables["deployment"].values
    assert verify(report.json(), {"deployment": rows}).is_verified
    assert report_differences(project, report, finished.details).is_verified


def test_a_region_that_is_partly_outside_may_be_empty_inside(folder):
    """It says that one of its elements is always there: that may be the one without a line in the window."""
    (folder / "project.toml").write_text(PROJECT.replace("[regions.heavy]", "[regions.heavy]\ncount = [2, 3]"))
    text = (folder / "elements.csv").read_text().replace("cobalt,light", "cobalt,heavy")
    (folder / "elements.csv").write_text(text)
    assembled = assemble(load_project(folder / "project.toml"))
    bank = assembled.bank
    supports = {
        tuple(sorted(bank.states.names(np.array([e]))[0] for e in row if e >= 0))
        for row in bank.deployment_parts(np.arange(bank.n_deployment_keys)).elements.tolist()
    }
    assert supports == {(), ("arsenic",), ("lead",), ("arsenic", "lead")}
    listed = {"supports": {"list": [["light", "heavy"], ["heavy"]]}}
    again = assemble(load_project(folder / "project.toml", listed))
    assert again.bank.size == bank.size


def test_several_windows_and_python_cut_alike(folder):
    several = load_project(folder / "project.toml", {"data.deployment.window": [[6.0, 7.0], [10.0, 11.2]]})
    grid = settings_grid(
        columns(), np.array([*PLACES.values()])[:, None], [Parameter("shift", [-0.1, 0.0, 0.1])], AXIS,
        window=[[6.0, 7.0], [10.0, 11.2]],
    )  # fmt: skip
    made = assemble(several).bank.states
    np.testing.assert_array_equal(made.elements[:, : len(PLACES)], grid.responses[0])
    assert grid.visible.all()


def test_lines_may_move_into_the_window_from_outside():
    peak = Peak(AXIS, 0.1)
    shifts = [Parameter("shift", [0.0, 1.0])]
    found = settings_grid(peak(np.array([[9.6], [3.0]])), [[9.6], [3.0]], shifts, AXIS, window=[10.0, 11.2])
    assert found.visible.tolist() == [True, False]
    inside = in_window(AXIS, [10.0, 11.2])
    expected = peak(np.array([[10.6]]))[inside, 0]
    np.testing.assert_allclose(found.of_visible().responses[1, :, 0], expected / np.linalg.norm(expected), atol=1e-9)
    assert found.of_visible().responses.shape == (2, inside.sum(), 1)


@pytest.mark.parametrize(
    ("window", "words"),
    [
        ([30.0, 40.0], "hold at least one channel of the axis, which goes from 0 to 20"),
        ([1.0, 2.0], "hold a line of at least one element"),
        ([2.0, 1.0], "low below high"),
        ("10 to 12", r"\[low, high\]"),
    ],
)
def test_a_window_that_cannot_be_is_refused(folder, window, words):
    with pytest.raises(MisuseError, match=words) as error:
        assemble(load_project(folder / "project.toml", {"data.deployment.window": window}))
    assert "data.deployment.window" in str(error.value)


def test_a_window_needs_an_axis(folder):
    text = PROJECT.replace('axis = "axis.npy"\naxis_unit = "keV"\n', "").replace("10.0, 11.2", "100, 112")
    rows = (folder / "rows.csv").read_text().splitlines()[1]
    (folder / "rows.csv").write_text(rows + "\n")
    (folder / "project.toml").write_text(text.replace("channels = 1", "channels = 1\nheader = false"))
    with pytest.raises(MisuseError, match=r"window must go with an axis.*axis = "):
        assemble(load_project(folder / "project.toml"))


def test_a_map_takes_signals_with_all_channels_and_cuts_them_alike(folder, monkeypatch):
    monkeypatch.chdir(folder)
    rows = np.loadtxt(folder / "rows.csv", delimiter=",", skiprows=1, dtype=int)
    np.save(folder / "signals.npy", np.stack([rows, rows]))
    arguments = ["map", "--signals", "signals.npy", "--out", "map", "--quiet"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    found = SignalMap.open(folder / "map")
    assert found.elements("heavy").tolist() == [[False, True], [False, True]]
    refused = CliRunner().invoke(app, [*arguments, "--signal", "1"])
    assert "--signal must be left out in a project with a window" in str(refused.exception)
