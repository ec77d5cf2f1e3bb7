"""Project files with a learnt dictionary: the calibration makes regions and elements."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.project import load_project, run_project, write_example
from physupport.report.plots import plot_learnt


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("learnt")
    write_example(path, "learnt")
    return path


def test_the_example_finds_its_places(folder):
    finished = run_project(load_project(folder / "project.toml"))
    report = finished.result.report
    said = {str(field.label): field.cell for field in report.fields if str(field.label) in ("FINE", "GROUP")}
    low, high = map(float, said["FINE"][0].removesuffix(" m").split(" to "))
    assert low <= 0.507 <= high
    assert float(said["GROUP"][0].split(" to ")[0]) <= 0.263 <= float(said["GROUP"][-1].split()[-2])
    inputs = {entry["stream"] for entry in finished.details.document["inputs"]}
    assert {"data.calibration.file", "data.calibration.dictionary"} <= inputs
    assert "all calibration rows" in str(report)
    assert "never its absence." in report.sentence + "".join(field.sentence for field in report.fields)
    assert "absence_threshold" not in "".join(field.sentence for field in report.fields)  # it has no place for one
    lanes = [tick.get_text() for tick in plot_learnt(report, Figure().subplots()).get_yticklabels()]
    assert lanes == ["learnt", "calibration", "signal"]


def test_a_library_that_ends_too_early_is_empty(folder):
    project = load_project(folder / "project.toml", {"data.calibration.places": {"x": [0.02, 0.6]}})
    report = run_project(project).result.report
    assert report.status == "EMPTY"
    assert "atoms are not responses of this library" in report.fields[0].answer + str(report)


def test_rows_in_a_text_file_with_channels_down_the_columns(folder):
    rows = np.load(folder / "calibration.npy")
    np.savetxt(
        folder / "rows.csv", rows[:, ::1], delimiter=",", header=",".join(f"c{i}" for i in range(16)), comments=""
    )
    project = load_project(folder / "project.toml", {"data.calibration.file": "rows.csv"})
    assert project.learnt is not None
    again = load_project(folder / "project.toml")
    assert again.learnt is not None
    assert project.learnt.library.ids == again.learnt.library.ids


def test_atoms_that_the_package_learns_give_the_same_places(folder):
    pytest.importorskip("sklearn")
    np.save(folder / "few.npy", np.load(folder / "calibration.npy")[:300])
    text = (folder / "project.toml").read_text().replace("calibration.npy", "few.npy")
    (folder / "given.toml").write_text(text)
    dictionary = next(line for line in text.splitlines() if line.startswith("dictionary"))
    (folder / "learns.toml").write_text(text.replace(dictionary, 'learner = "dictionary"\natoms = 6'))
    given, learnt = (run_project(load_project(folder / name)).result.report for name in ("given.toml", "learns.toml"))
    assert [(each.cell, each.label) for each in learnt.fields] == [(each.cell, each.label) for each in given.fields]
    (one, two) = (report.document["gate"]["calibration"] for report in (given, learnt))
    assert one["left"] == two["left"]
    assert one["read_as"] != two["read_as"]


@pytest.fixture(scope="module")
def listed(folder):
    """The project with a table of places in the place of the formula, the true ones among them."""
    places = np.sort(np.append(np.arange(0.03, 0.98, 0.05), [0.104, 0.263, 0.305, 0.507, 0.702, 0.861]))
    axis = (np.arange(16) + 0.5) / 16
    away = axis[:, None] - places
    np.save(folder / "responses.npy", 7.0 * (np.exp(-(away**2) / (2 * 0.085**2)) + 0.12 * np.cos(2 * np.pi * away)))
    lines = [f"x{k},line,{x:.3f}" for k, x in enumerate(places)]
    (folder / "places.csv").write_text("\n".join(["id,region,x", *lines]))
    text = (folder / "project.toml").read_text()
    response = next(line for line in text.splitlines() if line.startswith("response"))
    box = next(line for line in text.splitlines() if line.startswith("places"))
    text = text.replace(response, 'file = "places.csv"\nresponses = "responses.npy"')
    (folder / "boxed.toml").write_text(text)
    (folder / "listed.toml").write_text(text.replace(box, ""))
    return folder


def test_a_table_of_places_gives_meaning_to_atoms(listed):
    finished = run_project(load_project(listed / "listed.toml"))
    report = finished.result.report
    said = {field.cell for field in report.fields if str(field.label) == "FINE"}
    named = dict(line.split(",line,") for line in (listed / "places.csv").read_text().splitlines()[1:])
    assert {named[cell[0]] for cell in said} <= {"0.263", "0.507"}
    assert said
    assert {"elements", "elements.responses"} <= {entry["stream"] for entry in finished.details.document["inputs"]}


def test_a_table_beside_a_box_is_refused(listed):
    with pytest.raises(MisuseError, match="places must be left out beside listed elements"):
        load_project(listed / "boxed.toml")


def test_complex_rows_and_a_complex_formula_find_directions(folder):
    rng = np.random.default_rng(3)
    sensors = 0.5 * (np.arange(10) - 4.5)
    steering = np.exp(2j * np.pi * np.outer(sensors, np.sin(np.deg2rad([-21.3, 4.2, 38.6])))) / np.sqrt(10)

    def circular(*shape):
        return rng.standard_normal((*shape, 2)) @ [1.0, 1.0j] / np.sqrt(2)

    np.save(folder / "snapshots.npy", circular(1000, 3) @ steering.T + 0.1 * circular(1000, 10))
    np.save(folder / "later.npy", circular(50, 1) @ steering[:, [1]].T + 0.1 * circular(50, 10))
    np.save(folder / "steering.npy", steering.T * np.exp(2j * np.pi * rng.random((3, 1))))
    text = (folder / "project.toml").read_text()
    response = next(line for line in text.splitlines() if line.startswith("response"))
    phase = "2 * pi * t * sin(x * pi / 180)"
    axis = "axis = { from = -2.25, to = 2.25, count = 10 }"
    wave = f'response = {{ kind = "formula", {axis}, formula = "cos({phase})", imaginary = "sin({phase})" }}'
    text = text.replace(response, wave).replace("[0.02, 0.98]", "[-60, 60]").replace('unit = "m"', 'unit = "deg"')
    text = text.replace("calibration.npy", "snapshots.npy").replace("signal.npy", "later.npy")
    (folder / "array.toml").write_text(text.replace("learnt.npy", "steering.npy").replace("= 0.01", "= 2.0"))
    report = run_project(load_project(folder / "array.toml")).result.report
    assert [str(each.label) for each in report.fields] == ["SUPPORT_AMBIGUOUS", "FINE", "SUPPORT_AMBIGUOUS"]
    low, high = map(float, report.fields[1].cell[0].removesuffix(" deg").split(" to "))
    assert low < 4.2 < high


@pytest.mark.parametrize(("overrides", "message"), [
    ({"data.calibration.learner": "dictionary"}, "data.calibration.learner must be left out beside a dictionary"),
    ({"data.calibration.places": {"y": [0.0, 1.0]}}, "places must be of the coordinates x"),
    ({"data.calibration.places": {}}, "places must be given beside a response by formula"),
    ({"judge": "rotation"}, "judge must be left out with a learnt dictionary"),
    ({"regions": {"a": {}}}, "learnt dictionary makes the regions"),
    ({"data.calibration.noise": 1.0}, "have no other keys than file, .* not noise"),
])  # fmt: skip
def test_what_does_not_go_together_is_refused(folder, overrides, message):
    with pytest.raises(MisuseError, match=message):
        load_project(folder / "project.toml", overrides)


def test_verify_with_the_project_finds_the_places_of_the_calibration_again(tmp_path):
    write_example(tmp_path, "learnt")
    said = CliRunner().invoke
    assert said(app, ["run", str(tmp_path), "--quiet"]).exit_code == 0
    report = str(tmp_path / "report" / "report.json")
    with_project = ["verify", report, "--project", str(tmp_path / "project.toml")]
    assert said(app, with_project).exit_code == 0
    alone = said(app, ["verify", report, "--data", f"deployment={tmp_path / 'signal.npy'}"])
    assert alone.exit_code == 0
    assert "places that calibration rows leave are taken as they stand" in " ".join(alone.output.split())
    rows = np.load(tmp_path / "calibration.npy")
    rows[0] *= 1.0001
    np.save(tmp_path / "calibration.npy", rows)
    refused = said(app, with_project)
    assert refused.exit_code == 3
    assert "other judge" in " ".join(refused.output.split())
