"""Parameters between two values without a cover: counts are judged over the whole range, and the report proves it."""

import json

import numpy as np
import pytest

from physupport import MisuseError
from physupport.project import assemble, load_project, run_project
from physupport.responses import Cell, Family, Parameter, Peak, UniformLinearArray
from physupport.verify import verify

AXIS = np.linspace(0.0, 10.0, 40)
PLACES = [3.0, 4.0, 7.0]
FILE = """
level = 0.05

[data.deployment]
file = "counts.npy"
channels = 1
law = "poisson"

[elements]
file = "elements.csv"
coordinates = ["place"]
response = {{ kind = "peak", axis = {{ from = 0, to = 10, count = 40 }}, width = 0.5 }}

[background]
polynomial = 0

{parameters}
[regions.a]
presence = "optional"
[regions.b]
presence = "optional"
[regions.c]
presence = "optional"
"""
RANGES = "[parameters.shift]\nbetween = [-0.3, 0.3]\n[parameters.width]\nbetween = [0.8, 1.2]\n"


def written(folder, parameters, law="poisson"):
    lines = [f"{name},{name},{place}" for name, place in zip("abc", PLACES, strict=True)]
    (folder / "elements.csv").write_text("\n".join(["id,region,place", *lines]))
    ranges = [Parameter("shift", [-0.3, 0.3]), Parameter("width", [0.8, 1.2])]
    family = Family(Peak(AXIS, 0.5), np.array(PLACES)[:, None], ranges)
    means = family.ends(Cell.at([0.123, 1.07])).high @ [3000.0, 4000.0, 0.0] + 3.0
    np.save(folder / "counts.npy", np.random.default_rng(3).poisson(means)[None])
    (folder / "project.toml").write_text(FILE.format(parameters=parameters).replace("poisson", law))
    return load_project(folder / "project.toml")


def test_a_range_of_parameters_is_judged_as_a_whole_and_verified_from_the_rows(tmp_path):
    project = written(tmp_path, RANGES)
    finished = run_project(project)
    report = finished.result.report
    assert [field.label.value for field in report.fields][:2] == ["FINE", "FINE"]
    shift, width = report.document["gate"]["parameters"]
    assert shift["left"][0] <= 0.123 <= shift["left"][1]
    assert width["left"][0] <= 1.07 <= width["left"][1]
    assert shift["left"][1] - shift["left"][0] < 0.3
    text = report.text()
    assert "shift lies anywhere from -0.3 to 0.3" in text
    assert "The data allow shift from" in text
    rows = np.load(tmp_path / "counts.npy")
    assert verify(report.json(), {"deployment": rows}).is_verified
    forged = json.loads(report.json())
    forged["protocol"]["streams"][0]["law"]["family"]["parameters"][0]["values"] = [-0.01, 0.01]
    assert not verify(json.dumps(forged), {"deployment": rows}).is_verified


def test_the_middle_alone_finds_nothing_that_fits(tmp_path):
    fixed = "[parameters.shift]\nvalues = [0.0]\n[parameters.width]\nvalues = [1.0]\n"
    report = run_project(written(tmp_path, fixed)).result.report
    assert {field.label.value for field in report.fields} == {"EMPTY"}


@pytest.mark.parametrize(
    ("parameters", "law", "words"),
    [
        ("[parameters.shift]\nbetween = [-0.3, 0.3]\n[parameters.width]\nvalues = [1.0]\n", "poisson", "be a range"),
        ("[parameters.offset]\nbetween = [0.0, 0.3]\n", "poisson", "to lie anywhere in a range"),
        (RANGES, "gaussian", "proven slope"),
    ],
)
def test_ranges_that_nobody_can_judge_are_refused(tmp_path, parameters, law, words):
    with pytest.raises(MisuseError, match=words):
        run_project(written(tmp_path, parameters, law))


SKY = """
level = 0.05
{top}
[data.deployment]
file = "rows.npy"
channels = 1
law = "covariance"
noise = "unknown"
split = "rows"
splits = 1

[elements]
file = "elements.csv"
coordinates = ["angle"]
unit = "deg"
{exact}response = {{ kind = "uniform linear array", n_sensors = 8, spacing = 0.5 }}

[regions.sky]
strength = "unknown"
"""
ROOM = """
level = 0.05
judge = "evidence"

[data.deployment]
file = "rows.npy"
channels = 1
law = "gaussian"
noise = 1.0
split = "fission"
splits = 1

[elements]
coordinates = ["x", "y"]
unit = "m"

[elements.response]
kind = "formula"
formula = "y / (y**2 + (t - x)**2)"
axis = { from = 0, to = 5, count = 20 }
places = "x y"

[parameters.gain]
between = [-0.02, 0.02]

[regions.room]
box = { x = [0, 4], y = [1, 2] }
resolution = 0.5
"""


def sky(folder, top="", places=range(-8, 9, 2), exact=""):
    (folder / "elements.csv").write_text("id,region,angle\n" + "\n".join(f"{x},sky,{x}" for x in places))
    rng = np.random.default_rng(1)
    answers = UniformLinearArray(8, 0.5)([[2.5]])
    waves, noise = (rng.standard_normal((30, k, 2)) @ [1.0, 1.0j] for k in (1, 8))
    np.save(folder / "rows.npy", 12.0 * waves * answers[:, 0] + noise)
    (folder / "project.toml").write_text(SKY.format(top=top, exact=exact))
    return load_project(folder / "project.toml")


def test_a_source_between_the_places_of_a_grid_lies_in_its_cell(tmp_path):
    report = run_project(sky(tmp_path)).result.report
    assert (report.fields[0].label.value, report.fields[0].cell) == ("FINE", ("2",))
    assert "at most 1 from its place, and no two in one" in report.text()
    rows = np.load(tmp_path / "rows.npy")
    assert verify(report.json(), {"deployment": rows}).is_verified
    forged = json.loads(report.json())
    halves = forged["protocol"]["streams"][0]["law"]["ranges"]["halves"]
    halves["values"] = [[0.01]] * 9
    assert not verify(json.dumps(forged), {"deployment": rows}).is_verified


def test_exact_places_have_no_source_between_them(tmp_path):
    report = run_project(sky(tmp_path, exact="exact = true\n")).result.report
    assert report.fields[0].label.value == "EMPTY"


@pytest.mark.parametrize(
    ("old", "new", "is_told"),
    [
        ("level = 0.05", 'level = 0.05\njudge = "rotation"', True),  # which takes no cells
        ("[regions.sky]", "[parameters.gain]\nvalues = [0.0, 0.1]\n[regions.sky]", True),
        ("[regions.sky]", "[regions.sky]\ncount = [3, 3]", True),  # of which bounds are loose
        ("spacing = 0.5 }", "spacing = 0.5 }\nexact = true", False),
    ],
)
def test_places_that_nobody_can_judge_as_cells_are_exact_and_the_notes_say_so(tmp_path, old, new, is_told):
    path = sky(tmp_path).path
    text = path.read_text().replace(old, new)
    path.write_text(text.replace('split = "rows"\nsplits = 1\n', "") if "rotation" in new else text)
    assembled = assemble(load_project(path))
    assert "ranges" not in assembled.protocol.streams["deployment"].law.encode()
    assert (
        "Each element is taken at its place in the list, and not anywhere in a cell about it: exact = true."
        in assembled.notes
    ) == is_told


def test_rows_about_one_mean_are_judged_as_cells_and_a_note_names_the_judge(tmp_path):
    path = sky(tmp_path).path
    text = path.read_text().replace('law = "covariance"', 'law = "gaussian"').replace('strength = "unknown"\n', "")
    path.write_text(text)
    assembled = assemble(load_project(path))
    assert "ranges" in assembled.protocol.streams["deployment"].law.encode()
    assert any("the truth may lie anywhere in cells" in note for note in assembled.notes)


def test_few_or_irregular_places_are_no_grid_and_exact(tmp_path):
    for places in ((-8, 8), (-8, 0, 3)):
        assembled = assemble(sky(tmp_path, places=places))
        assert "ranges" not in assembled.protocol.streams["deployment"].law.encode()
        assert not any("in a cell about it" in note for note in assembled.notes)


def test_a_box_needs_no_list_of_places(tmp_path):
    axis = np.linspace(0.0, 5.0, 20)
    answer = 1.37 / (1.37**2 + (axis - 2.2) ** 2) * (1.0 + 0.013 * np.linspace(-1.0, 1.0, 20))
    row = 150.0 * answer / np.linalg.norm(answer) + np.random.default_rng(2).standard_normal(20)
    np.save(tmp_path / "rows.npy", row[None])
    (tmp_path / "project.toml").write_text(ROOM)
    report = run_project(load_project(tmp_path / "project.toml")).result.report
    assert "2 to 2.5 m x 1 to 1.5 m" in report.fields[0].cell
    assert len(report.fields[0].cell) <= 4
    assert report.document["gate"]["parameters"][0]["name"] == "gain"
    assert verify(report.json(), {"deployment": row[None]}).is_verified


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('split = "rows"\nsplits = 1', "", "span"),
        ("exact = false", 'exact = false\nresponses = "x.npy"', "one of the keys"),
        ('law = "covariance"\nnoise = "unknown"', 'law = "poisson"', "poisson"),
        ('strength = "unknown"', 'strength = "unknown"\nresolution = 0.1', "box"),
        ('strength = "unknown"', 'strength = "unknown"\nbox = { angle = [0, 1] }\nresolution = 0.1', "beside the box"),
    ],
)
def test_cells_that_nobody_can_judge_are_refused(tmp_path, old, new, words):
    sky(tmp_path, 'judge = "rotation"' if words == "span" else "", exact="exact = false\n")
    path = tmp_path / "project.toml"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(MisuseError, match=words):
        run_project(load_project(path))


def test_places_off_a_regular_grid_have_no_cells(tmp_path):
    with pytest.raises(MisuseError, match="regular grid along 'angle'"):
        run_project(sky(tmp_path, places=(-8, 0, 3), exact="exact = false\n"))
