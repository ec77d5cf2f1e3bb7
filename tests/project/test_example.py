"""The examples are projects that run, and say what their stories promise."""

import re
import tomllib

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.analysis import analyse
from physupport.cli import app
from physupport.io import read_table
from physupport.project import EXAMPLES, _examples, assemble, load_project, run_project, write_example
from physupport.studies import _four_region as design
from physupport.studies._outcome import split_seed
from physupport.studies.four_region import study_rows
from physupport.verify import verify

SEED = 2026091011


@pytest.fixture(params=EXAMPLES)
def example(request, tmp_path):
    if request.param == "gamma":
        pytest.importorskip("actigamma")
    write_example(tmp_path / "new", request.param)
    return assemble(load_project(tmp_path / "new" / "project.toml"))


LABELS = {
    # As the paper's table: A is localised, B is a group, C cannot be decided, D is absent.
    "Four regions": {"A": "FINE", "B": "GROUP", "C": "SUPPORT_AMBIGUOUS", "D": "ABSENT"},
    # Both are localised; that nothing, however weak, is in the south, no data could say of unknown powers.
    "Directions of transmitters": {"west": "FINE", "east": "FINE", "south": "SUPPORT_AMBIGUOUS"},
    # One row, amplitude and noise unknown: a side of the head, not a place.
    "Source of an averaged topography": {"brain": "GROUP"},
    # Natural calcite on the tenth instrument, and a road: the group is named, the member is not.
    "Raman spectrum of a sample": {"sample": "GROUP"},
    "Reflectance of a piece of ground": {"ground": "GROUP"},
    # The steel is certified to hold 107 ppm of arsenic and 10 ppm of lead, on one line.
    "Arsenic or lead in a steel": {"10.5 keV line": "GROUP"},
    # A source of europium-152 in a room: potassium-40 is in every building, and of the others nothing can be said.
    "Nuclides in a gamma spectrum": {"Eu-152": "FINE", "K-40": "FINE"}
    | dict.fromkeys(
        ["Eu-154", "Ba-133", "Cs-134", "Cs-137", "Co-60", "Na-22", "Ir-192", "Ra-226", "Th-228", "Ac-228"],
        "SUPPORT_AMBIGUOUS",
    ),
    # One pixel of the image, near the middle of a grain of natural calcite.
    "Minerals and wafers in a Raman image": {"sample": "FINE"},
    # True are 0.263, which has a near neighbour at 0.305, and 0.507; an amplitude may be as small as it likes.
    "Sources of a learnt dictionary": {"0.2581 to 0.2695 m": "GROUP", "0.5053 to 0.5083 m": "FINE"}
    | dict.fromkeys(
        ["0.1023 to 0.1062 m", "0.2992 to 0.3087 m", "0.7010 to 0.7038 m", "0.8597 to 0.8621 m"], "SUPPORT_AMBIGUOUS"
    ),
}


def source_is_on_the_left(report):
    """The truth among the places, which the answer tells in millimetres; the source may have pointed anywhere."""
    (brain,) = report.fields
    assert (brain.group, "L40 P20 S40" in brain.cell) == ("left", True)
    signs = {"L": -1.0, "R": 1.0, "P": -1.0, "A": 1.0, "S": 1.0}
    places = np.array([[signs[part[0]] * float(part[1:]) for part in name.split()] for name in brain.cell])
    apart = np.linalg.norm(places[:, None] - places, axis=2).max()
    assert apart <= 40.0
    assert f"at most {apart:g} mm apart" in brain.answer


def one_of_both_is_there(report):
    """The truth, both, among what is left; and that nothing is there, is not."""
    (line,) = report.fields
    assert {*line.cell} == {"arsenic", "lead", "arsenic + lead"}
    assert not line.numbers.get("possible_absent")


def directions_are_those_of_the_transmitters(report):
    assert [field.cell for field in report.fields[:2]] == [("28 west",), ("22 east",)]


TRUTHS = {
    "Directions of transmitters": directions_are_those_of_the_transmitters,
    "Source of an averaged topography": source_is_on_the_left,
    "Raman spectrum of a sample": lambda report: report.fields[0].cell == ("nCAL", "sCAL") or pytest.fail("material"),
    "Reflectance of a piece of ground": lambda report: report.fields[0].group == "paved" or pytest.fail("ground"),
    "Arsenic or lead in a steel": one_of_both_is_there,
    "Minerals and wafers in a Raman image": lambda report: report.fields[0].cell == ("nCAL",) or pytest.fail("sample"),
}


def test_an_example_gives_the_map_of_its_story_is_verified_and_has_a_page_that_begins_with_the_answer(example, browser):
    finished = run_project(example.project)
    found = finished.result
    TRUTHS.get(example.project.title, lambda report: None)(found.report)
    assert {each.field: str(each.label) for each in found.report.fields} == LABELS[example.project.title]
    rows = {part.name: part.table for part in found.seal.parts}
    assert verify(found.report.json(), rows).findings == ()
    page = browser.open(finished.folder / "report.html")
    for width in (400, 1280):
        page.resize(width, 900)
        shown = [text for text in page.texts(".answers li") if not text.startswith(("Net counts", "There: "))]
        answers = [field.answer for field in found.report.fields]
        for number, text in enumerate(shown):  # some say how far they reach
            is_answer = any(text.startswith(answer[:-1]) for answer in answers)
            assert is_answer or text == f"and {len(answers) - number} more answers below"
        bottom = page.value("document.querySelector('.answers').getBoundingClientRect().bottom + scrollY")
        # A long list is cut; six answers of two or three lines each, on a narrow page, are not.
        assert bottom < (600 if len(answers) < 5 else 850 if len(answers) < 10 else 800)
        assert page.value("document.documentElement.scrollWidth") <= width
    assert page.complaints() == []
    assert page.requests() == [page.address]
    page.close()


def test_an_array_without_the_phases_of_its_calibration_fits_nothing(tmp_path):
    write_example(tmp_path, "array")
    path = tmp_path / "project.toml"
    path.write_text(re.sub(r"\[parameters.channels\](.|\n)*?\n\n", "", path.read_text()))
    assert "pattern" not in path.read_text()
    found = assemble(load_project(path))
    assert analyse(found.protocol, found.tables).report.status == "EMPTY"


def test_the_phases_of_an_array_are_found_from_transmitters_at_known_directions():
    """To a few hundredths: 0.5 / (2 x 2000) is the variance of the phase of one sensor and one transmitter."""
    errors = np.random.default_rng(4).normal(scale=0.4, size=10)
    found = _examples.array_phases(_examples.array_calibration(errors))
    np.testing.assert_allclose(found, errors - errors[0], atol=5.0 * np.sqrt(2.0 * 0.5 / 4000.0))


def test_a_steel_without_its_pile_up_fits_nothing_and_the_report_says_where(tmp_path):
    write_example(tmp_path, "xrf")
    path = tmp_path / "project.toml"
    path.write_text(re.sub(r"pile_up = .*\n", "", path.read_text()))
    found = assemble(load_project(path))
    report = analyse(found.protocol, found.tables).report
    assert [str(field.label) for field in report.fields] == ["EMPTY"]
    start, end = map(int, re.search(r"mostly at channels (\d+) to (\d+)", report.sentence).groups())
    energies = [float(name.split()[0]) for name in found.tables["deployment"].channels]
    assert energies[start] < 2 * 5.4147 < energies[end]  # two photons of chromium
    run_project(found.project)
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "report")]).stdout  # in the unit of the axis
    low, high = map(float, re.search(r"channels \d+ to \d+ \(([\d.]+) keV to ([\d.]+) keV\)", shown).groups())
    assert (low, high) == (energies[start], energies[end])


def test_elements_without_places_are_names_that_no_distance_or_end_of_a_grid_is_told_of(tmp_path):
    write_example(tmp_path, "raman")
    assert "coordinates" not in tomllib.loads((tmp_path / "project.toml").read_text())["elements"]
    finished = run_project(load_project(tmp_path / "project.toml"))
    (sample,) = finished.result.report.fields
    assert sample.extent is None
    assert "apart" not in sample.answer
    assert "; the data cannot tell them apart" in sample.sentence
    assert finished.result.report.document["edges"] == []
    page = (tmp_path / "report" / "report.html").read_text()
    assert ">nCAL</text>" in page  # beside its sign


@pytest.mark.parametrize("line", ["tolerance = 1.0", None])
def test_where_places_count_they_are_required(line, tmp_path):
    write_example(tmp_path, "raman")
    path = tmp_path / "project.toml"
    text = path.read_text()
    if line is not None:
        text = text.replace("[regions.sample]\n", f"[regions.sample]\n{line}\n")
    else:
        text = text.replace('responses = "responses.npy"', 'response = { kind = "peak", axis = [0, 1], width = 1.0 }')
    path.write_text(text)
    with pytest.raises(MisuseError, match=r"elements\.coordinates is required"):
        load_project(path)


def test_the_four_regions_are_those_of_the_study(tmp_path):
    write_example(tmp_path)
    project = load_project(tmp_path / "project.toml")
    calibration, deployment = study_rows(next(each for each in design.SCENES if each.name == "weak-C"), SEED)
    found = assemble(project)
    np.testing.assert_array_equal(found.tables["calibration"].values, calibration)
    np.testing.assert_array_equal(found.tables["deployment"].values, deployment)  # from text, to the last digit
    assert (project.settings.seed, project.settings.level) == (split_seed(SEED), design.LEVEL)
    study = design.study_bank()
    np.testing.assert_allclose(found.bank.states.elements, study.states.elements, rtol=0, atol=1e-15)
    np.testing.assert_allclose(found.bank.strengths, study.strengths, rtol=1e-12)
    assert found.bank.size == study.size == 216
    table = read_table(tmp_path / "deployment.csv", channels="columns", label="deployment")
    assert table.channels[0] == "sensor 1"


def test_every_key_of_the_first_example_is_explained_where_it_first_stands(tmp_path):
    write_example(tmp_path)
    seen = set()
    for line in (tmp_path / "project.toml").read_text().splitlines():
        match = re.match(r"(\w+) = ", line)
        if match and match[1] not in seen | {"title", "coordinates"}:
            assert re.search(r"# \S+ \S+", line), line
        if match:
            seen.add(match[1])
    content = tomllib.loads((tmp_path / "project.toml").read_text())
    assert {*content} == {
        "title",
        "level",
        "budget",
        "seed",
        "policy",
        "output",
        "data",
        "elements",
        "regions",
        "supports",
    }


def test_no_file_is_overwritten(tmp_path):
    (tmp_path / "elements.csv").write_text("mine")
    with pytest.raises(
        MisuseError, match=r"folder must have no elements.csv yet, but there is one in .* Nothing was written"
    ):
        write_example(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["elements.csv"]
    with pytest.raises(MisuseError, match=r"example must be one of four-region, array, .*, map, learnt, not 'other'"):
        write_example(tmp_path, "other")
