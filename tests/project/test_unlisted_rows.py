"""Sources that the library lacks, in Gaussian rows: bumps, directions of an array, responses of one's own."""

import numpy as np
import pytest
from benchmarks._unlisted_rows import LEVEL, count, settings
from scipy.stats import binom

from physupport import MisuseError
from physupport.banks import Library, library_bank, region_supports, with_unlisted
from physupport.laws import Linear
from physupport.project import load_project, run_project
from physupport.responses import CircularArray, UniformLinearArray, generic_bumps, generic_directions
from physupport.verify import verify

AXIS = np.linspace(400.0, 1000.0, 40)
ARRAY = UniformLinearArray(8, 0.5)
SPECTRA = """level = 0.05
judge = "{judge}"
[data.deployment]
file = "rows.npy"
channels = 1
law = "gaussian"
[background]
polynomial = 1
[elements]
file = "elements.csv"
responses = "library.npy"
axis = "axis.npy"
axis_unit = "nm"
[regions.quartz]
presence = "optional"
[regions.calcite]
presence = "optional"
[unlisted]
"""
SNAPSHOTS = """level = 0.05
[data.deployment]
file = "rows.npy"
channels = 1
law = "covariance"
noise = "unknown"
proposal = 0.4
[elements]
file = "elements.csv"
coordinates = ["angle"]
unit = "degrees"
response = { kind = "uniform linear array", n_sensors = 8, spacing = 0.5 }
[regions.sky]
strength = "unknown"
presence = "optional"
[unlisted]
"""


def bump(place, width=50.0):
    return np.exp(-0.5 * ((AXIS - place) / width) ** 2)


LIBRARY = np.stack([bump(500.0) + 0.6 * bump(700.0), bump(580.0) + 0.7 * bump(800.0)], axis=1)


@pytest.fixture
def answer(tmp_path):
    """Run a project with a table unlisted; return its report and its rows."""

    def run(file, unlisted, rows, listed):
        np.save(tmp_path / "rows.npy", rows)
        np.save(tmp_path / "library.npy", LIBRARY)
        np.save(tmp_path / "axis.npy", AXIS)
        np.save(tmp_path / "atoms.npy", bump(900.0, 80.0)[:, None])
        (tmp_path / "elements.csv").write_text(listed)
        (tmp_path / "project.toml").write_text(f"{file}{unlisted}\n")
        return run_project(load_project(tmp_path / "project.toml")).result.report

    return run


def spectra(mean):
    noise = 0.3 * np.random.default_rng(1).standard_normal((6, len(AXIS)))
    return mean + 0.002 * (AXIS - 700.0) + noise


ELEMENTS = "id,region\nquartz,quartz\ncalcite,calcite\n"


@pytest.mark.parametrize("judge", ["evidence", "rotation"])
def test_a_bump_that_the_library_lacks_is_certain_within_an_interval_and_listed_elements_stay_so(answer, judge):
    rows = spectra(5.0 * LIBRARY[:, 0] + 3.0 * bump(913.0))
    report = answer(SPECTRA.format(judge=judge), "bumps = { width = 50.0 }", rows, ELEMENTS)
    fields = {field.field: field for field in report.fields}
    assert fields["quartz"].label == "FINE"
    assert fields["unlisted"].label in ("FINE", "GROUP")
    ((low, high),) = report.document["unlisted"]["intervals"]
    assert low <= 913.0 <= high <= low + 250.0
    assert fields["unlisted"].answer.startswith("Unlisted: something is there that the library lacks, between ")
    assert fields["unlisted"].answer.endswith(" nm.")
    assert report.if_complete == ("If the library were complete, nothing would fit these data.",)
    assert verify(report.json(), {"deployment": rows}).is_verified


def test_an_element_that_one_bump_imitates_is_certain_only_if_the_library_is_complete(answer):
    rows = spectra(1.2 * LIBRARY[:, 0] - 0.72 * bump(700.0))
    report = answer(SPECTRA.format(judge="evidence"), "bumps = { width = 50.0 }", rows, ELEMENTS)
    assert report.fields[0].label == "SUPPORT_AMBIGUOUS"
    assert report.fields[-1].label in ("FINE", "GROUP")  # its second bump is missing: nothing listed fits
    report = answer(SPECTRA.format(judge="evidence"), 'atoms = "atoms.npy"', spectra(5.0 * LIBRARY[:, 0]), ELEMENTS)
    assert report.fields[0].label == "FINE"
    assert report.fields[-1].label == "SUPPORT_AMBIGUOUS"


def test_each_step_of_the_staircase_names_its_own_interval(answer):
    rows = spectra(5.0 * LIBRARY[:, 0] + 3.0 * bump(913.0))
    report = answer(SPECTRA.format(judge="evidence"), "bumps = { width = 50.0 }", rows, ELEMENTS)
    found = [step["fields"][-1] for step in report.staircase()]
    sizes = [len(entry["cell"]) for entry in found if entry["label"] in ("FINE", "GROUP")]
    assert len({*sizes}) > 1
    assert sizes == sorted(sizes)
    changed = {**report.document, "unlisted": report.document["unlisted"] | {"intervals": [[1.0, 2.0]]}}
    assert not verify(changed, {"deployment": rows}).is_verified


def test_a_direction_off_the_list_is_named_beside_one_that_is_listed(answer):
    rng = np.random.default_rng(2)
    drawn = rng.standard_normal((64, 10, 2)) @ [1.0, 1.0j] / np.sqrt(2.0)
    rows = drawn[:, :8] + 3.0 * drawn[:, 8:] @ ARRAY(np.array([[-20.0], [33.3]])).T
    listed = "id,region,angle\n" + "".join(f"{a},sky,{a}\n" for a in range(-60, 61, 20))
    report = answer(SNAPSHOTS, "directions = [10.0, 60.0]", rows, listed)
    sky, unlisted = report.fields
    assert (sky.label, sky.cell) == ("FINE", ("-20",))
    ((low, high),) = report.document["unlisted"]["intervals"]
    assert low <= 33.3 <= high
    assert unlisted.answer.endswith(" degrees.")
    assert verify(report.json(), {"deployment": rows}).is_verified


@pytest.mark.parametrize(
    ("unlisted", "message"),
    [
        ("peaks = { width = 50.0 }", "poisson"),
        ("bumps = { width = 1.0 }", "half of the largest step"),
        ("directions = true", "response by formula"),
        ("directions = [3.0, 1.0]", "low below high"),
    ],
)
def test_families_that_do_not_go_with_these_rows_are_refused(answer, unlisted, message):
    with pytest.raises(MisuseError, match=message):
        answer(SPECTRA.format(judge="evidence"), unlisted, spectra(LIBRARY[:, 0]), ELEMENTS)


def test_responses_anywhere_in_a_family_lie_within_the_sine_of_the_columns_of_their_cell():
    rng = np.random.default_rng(3)
    bumps = generic_bumps(AXIS, 50.0)
    waves = generic_directions(ARRAY, -90.0, 90.0)
    around = generic_directions(CircularArray(6, 0.5), 0.0, 360.0)
    assert max(bumps.sine, waves.sine, around.sine) <= 0.005
    for _ in range(50):
        place, angle = rng.uniform(420.0, 980.0), rng.uniform(-90.0, 90.0)
        own = bump(place, 50.0 * rng.uniform(0.97, 1.03))
        assert off(bumps, place, own) <= 1.05 * bumps.sine
        assert off(waves, angle, ARRAY([[angle]])[:, 0]) <= 1.05 * waves.sine


def off(family, place, response):
    """The sine of the angle between a response and the columns of the cell of its place."""
    (cell, *_) = np.flatnonzero((family.places[0] <= place) & (place <= family.places[1]))
    columns = np.column_stack([family.columns[:, cell], family.further[:, :, cell].T])
    if np.iscomplexobj(response):
        columns = columns[::2] + 1j * columns[1::2]
    left = response - columns @ np.linalg.lstsq(columns, response, rcond=None)[0]
    return np.linalg.norm(left) / np.linalg.norm(response)


def test_the_law_refuses_columns_of_another_bank():
    family = generic_bumps(AXIS, 50.0)
    library = Library(["a"], ["a"], np.zeros((1, 0)), LIBRARY[:, :1] / np.linalg.norm(LIBRARY[:, 0]))
    wider, supports = with_unlisted(library, region_supports([], "a"), family)
    bank = library_bank(wider, supports, dict.fromkeys(wider.region_names, 1.0))
    design = Linear(unlisted=family.further).completed(bank).design(bank)
    assert sorted({len(active) for active in design.active}) == [0, 1, 3, 4]
    plain = library_bank(library, region_supports([], "a"), {"a": 1.0})
    with pytest.raises(MisuseError, match="region 'unlisted'"):
        Linear(unlisted=family.further).completed(plain)
    assert Linear.decode(Linear(unlisted=family.further).encode()).has_unlisted


def test_false_statements_stay_within_the_level_and_without_the_unlisted_they_do_not():
    seen = count(settings()["atoms"], 100, 5)
    assert binom.sf(seen.false - 1, 100, LEVEL) > 1e-6
    assert binom.sf(seen.control - 1, 100, LEVEL) < 1e-3
