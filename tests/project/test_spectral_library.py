"""Spectra in files of their own, on an axis of their own: one file an element, brought to the axis of the signal."""

import csv
import tomllib

import numpy as np
import pytest

from physupport import MisuseError
from physupport.project import load_project, run_project, write_spectral_project
from physupport.spectra import identify

LINES = {"calcite": (282.0, 712.0, 1086.0), "quartz": (206.0, 464.0, 795.0), "gypsum": (414.0, 493.0, 1008.0)}
FILE = """
level = 0.05

[data.deployment]
file = "spectrum.txt"
law = "gaussian"

[background]
polynomial = 3

[elements]
responses = "library"

[regions."*"]
coefficient = ">= 0"
presence = "optional"
"""


def spectrum(name, axis):
    return sum(np.exp(-0.5 * ((axis - line) / 8.0) ** 2) / (1 + i) for i, line in enumerate(LINES[name]))


@pytest.fixture
def folder(tmp_path):
    """Files as csv and numpy.savetxt write them; no two of them on one axis, and nothing on the axis of the signal."""
    rng = np.random.default_rng(4)
    axis = np.linspace(180.0, 1150.0, 240)
    signal = 3.0 * spectrum("calcite", axis) + 1.5 * spectrum("gypsum", axis) + 2.0 + 0.001 * axis
    noisy = signal + 0.02 * rng.standard_normal(len(axis))
    np.savetxt(
        tmp_path / "spectrum.txt", np.column_stack([axis, noisy]), header="Raman shift (cm-1) counts", fmt="%.4f"
    )
    (tmp_path / "library").mkdir()
    for i, name in enumerate(LINES):
        own = np.arange(150.0 + i, 1200.0, 2.0 + 0.1 * i)
        with (tmp_path / "library" / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file, delimiter=";").writerows(zip(own, spectrum(name, own), strict=True))
    (tmp_path / "project.toml").write_text(FILE)
    return tmp_path


def run(folder, *changes):
    text = FILE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "project.toml").write_text(text)
    return run_project(load_project(folder / "project.toml"))


def labels(finished):
    return {field.field: str(field.label) for field in finished.result.report.fields}


def test_every_file_is_an_element_and_a_mixture_is_found(folder):
    finished = run(folder)
    assert labels(finished) == {"calcite": "FINE", "gypsum": "FINE", "quartz": "SUPPORT_AMBIGUOUS"}
    assert "Spectra of the library were brought to the axis" in " ".join(finished.assembled.notes)


@pytest.mark.parametrize("responses", ['["library/*.csv"]', '{ spectra = "library/*.csv" }'])
def test_patterns_name_the_same_files(folder, responses):
    finished = run(folder, ('responses = "library"', f"responses = {responses}"), ("polynomial = 3", "polynomial = 2"))
    assert labels(finished) == {"calcite": "FINE", "gypsum": "FINE", "quartz": "SUPPORT_AMBIGUOUS"}


def test_one_region_holds_all_and_groups_come_from_a_column(folder):
    (folder / "list.csv").write_text(
        "id,region,class\ncalcite,mineral,carbonate\nquartz,mineral,silicate\ngypsum,mineral,sulphate\n"
    )
    changes = (
        ('responses = "library"', 'file = "list.csv"\nresponses = "library"'),
        ('[regions."*"]', '[regions.mineral]\ncount = 2\ngroups = { column = "class" }'),
    )
    finished = run(folder, *changes)
    (field,) = finished.result.report.fields
    assert str(field.label) == "FINE"
    assert {*field.cell} == {"calcite", "gypsum"} or "calcite" in str(field.cell)
    with pytest.raises(MisuseError, match=r"groups\.column must be a column of the element list \(id, region, class\)"):
        run(folder, *changes[:1], (changes[1][0], changes[1][1].replace('"class"', '"klass"')))


def test_axes_that_do_not_overlap_are_refused_with_the_window_to_paste(folder):
    short = np.arange(300.0, 1000.0, 2.0)
    np.savetxt(folder / "library" / "gypsum.txt", np.column_stack([short, spectrum("gypsum", short)]))
    (folder / "library" / "gypsum.csv").unlink()
    with pytest.raises(
        MisuseError, match=r"'gypsum' must reach from 180 to 1150.* Set window = \[300, 998\]"
    ) as caught:
        run(folder)
    key = tomllib.loads(str(caught.value).split("Set ")[1].rstrip("."))
    finished = run(folder, ('law = "gaussian"', f'law = "gaussian"\nwindow = {key["window"]}'))
    assert labels(finished)["gypsum"] == "FINE"


def test_counts_take_the_coefficient_that_holds_anyway_and_the_width_as_a_cone(folder):
    rng = np.random.default_rng(5)
    axis = np.linspace(180.0, 1150.0, 240)
    counts = rng.poisson(300.0 * spectrum("quartz", axis) + 50.0)
    np.savetxt(folder / "spectrum.txt", np.column_stack([axis, counts]), header="cm-1 counts")
    finished = run(folder, ('law = "gaussian"', 'law = "poisson"'), ("polynomial = 3", "polynomial = 0"))
    assert labels(finished)["quartz"] == "FINE"


def test_the_truth_is_kept_between_the_places_of_a_coarse_library(folder):
    """Lines of a width of two steps, strong enough that linear interpolation alone would be refused."""
    rng = np.random.default_rng(6)
    axis = np.linspace(180.0, 1150.0, 240)
    for name in LINES:
        own = np.arange(150.0, 1200.0, 6.0)
        np.savetxt(folder / "library" / f"{name}.csv", np.column_stack([own, spectrum(name, own)]), delimiter=",")
    kept = 0
    for _ in range(10):
        noisy = 1.0 * spectrum("calcite", axis) + 0.02 * rng.standard_normal(len(axis))
        np.savetxt(folder / "spectrum.txt", np.column_stack([axis, noisy]))
        kept += labels(run(folder))["calcite"] == "FINE"
    assert kept >= 9


def test_init_writes_the_project_file_of_a_spectrum_and_a_library(folder):
    (folder / "project.toml").unlink()
    write_spectral_project(folder, folder / "spectrum.txt", folder / "library")
    assert labels(run_project(load_project(folder / "project.toml")))["calcite"] == "FINE"
    with pytest.raises(MisuseError, match=r"must have no project\.toml yet"):
        write_spectral_project(folder, folder / "spectrum.txt", folder / "library")
    with pytest.raises(MisuseError, match="--spectrum must lie in the folder of the project"):
        write_spectral_project(folder / "library" / "inner", folder / "spectrum.txt", folder / "library")


def test_folders_of_replicates_judge_by_themselves(folder):
    """Every element from 20 instruments, each with another response; the signal is from one more."""
    rng = np.random.default_rng(8)
    axis = np.linspace(180.0, 1150.0, 240)

    def from_another_instrument(name, places):
        return spectrum(name, places * (1.0 + 0.002 * rng.standard_normal())) * np.exp(0.001 * rng.normal() * places)

    for name in LINES:
        (folder / "library" / f"{name}.csv").unlink()
        (folder / "library" / name).mkdir()
        for i in range(20):
            rows = np.column_stack([axis, from_another_instrument(name, axis)])
            np.savetxt(folder / "library" / name / f"instrument {i}.txt", rows)
    np.savetxt(folder / "spectrum.txt", np.column_stack([axis, 5.0 * from_another_instrument("quartz", axis)]))
    (folder / "project.toml").unlink()
    write_spectral_project(folder, folder / "spectrum.txt", folder / "library")
    finished = run_project(load_project(folder / "project.toml"))
    (field,) = finished.result.report.fields
    assert field.cell == ("quartz",)
    found = identify(folder / "spectrum.txt", folder / "library")
    assert found.fields[0].cell == ("quartz",)


def test_one_call_in_python_says_the_same_as_the_file(folder):
    report = identify(folder / "spectrum.txt", folder / "library", max_active=3)
    assert {f.field: str(f.label) for f in report.fields} == labels(run(folder))
    data = np.loadtxt(folder / "spectrum.txt")
    own = [{"data": data[:, 1], "axes": [{"size": len(data), "axis": data[:, 0], "units": "cm-1", "navigate": False}]}]
    again = identify(own, folder / "library", max_active=3)
    assert {f.field: f.cell for f in again.fields} == {f.field: f.cell for f in report.fields}
    with pytest.raises(MisuseError, match=r"Set max_active = 1"):
        identify((data[:, 0], data[:, 1]), {f"e{i}": (data[:, 0], data[:, 1]) for i in range(400)})
