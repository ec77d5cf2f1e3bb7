"""What each judge would leave is said before looking: of simulated rows, whatever the data are."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.project import assemble, compare_judges, load_project

PROJECT = """\
level = 0.1
judge = "evidence"

[data.deployment]
file = "rows.npy"
channels = 1
law = "mean"
noise = 0.25
proposal = 0.5

[elements]
file = "elements.csv"
coordinates = ["x"]
response = { kind = "peak", axis = { from = 0, to = 1, count = 16 }, width = 0.15 }

[regions.line]
strength = 1.0
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project.toml").write_text(PROJECT)
    lines = [f"p{i},line,{x!r}" for i, x in enumerate(np.linspace(0.2, 0.8, 30).tolist())]
    (tmp_path / "elements.csv").write_text("\n".join(["id,region,x", *lines]))
    np.save(tmp_path / "rows.npy", np.zeros((20, 16)))
    return tmp_path / "project.toml"


def told(found):
    return [(each.judge, each.kept, each.elements, each.extent, each.truth_kept) for each in found]


def test_judges_that_fit_come_first_and_others_say_why(project):
    found = compare_judges(assemble(load_project(project)))
    assert [each.judge for each in found[:2]] == ["simulation", "evidence"]
    simulation, evidence, *others = found
    assert 0.0 < simulation.kept < evidence.kept < 1.0  # all rows against half of them
    assert simulation.extent < evidence.extent
    assert min(simulation.truth_kept, evidence.truth_kept) >= 6  # of 8 at level 0.1
    assert {each.judge for each in others} == {"rotation", "counts", "conformal"}
    assert all(each.kept is None and each.why and "cannot be asked here" in each.sentence() for each in others)


def test_no_number_of_the_data_is_used(project, tmp_path):
    before = told(compare_judges(assemble(load_project(project)), 3))
    np.save(tmp_path / "rows.npy", np.full((20, 16), 1e6))
    assert told(compare_judges(assemble(load_project(project)), 3)) == before
    np.save(tmp_path / "rows.npy", np.zeros((80, 16)))
    assert compare_judges(assemble(load_project(project)), 3)[0].kept < before[0][1]  # more rows tell more


def test_the_command_prints_a_line_for_every_judge(project):
    answer = CliRunner().invoke(app, ["plan", "--project", str(project)])
    assert answer.exit_code == 0
    assert "simulation: would leave" in answer.stdout
    assert "No row of the data was used" in " ".join(answer.stdout.split())
    answer = CliRunner().invoke(app, ["plan", "--project", str(project), "--json"])
    assert json.loads(answer.stdout)[0]["judge"] == "simulation"


def test_free_coefficients_are_as_large_as_is_told(project, tmp_path):
    text = PROJECT.replace('judge = "evidence"', 'judge = "rotation"').replace('"mean"', '"gaussian"')
    (tmp_path / "project.toml").write_text(text.replace("proposal = 0.5\n", "").replace("strength = 1.0\n", ""))
    assembled = assemble(load_project(project))
    weak, strong = (
        next(each for each in compare_judges(assembled, 4, strength=size) if each.judge == "rotation")
        for size in (0.2, 5.0)
    )
    assert strong.elements < 0.5 * weak.elements
    answer = CliRunner().invoke(app, ["plan", "--project", str(project), "--strength", "-1"])
    assert answer.exit_code != 0
    assert "--strength must" in str(answer.exception)


def test_a_judge_of_replicates_is_tried_on_measured_spectra_whose_unit_it_does_not_know(tmp_path):
    """By unit: spectra of one differ from the others of their element, so that rows of a law would fit none."""
    rng, names = np.random.default_rng(0), ("a", "b", "c")
    shapes, lines = rng.standard_normal((3, 12)), ["element,unit," + ",".join(f"c{i}" for i in range(12))]
    for unit in range(10):
        tilt = 0.05 * rng.standard_normal(12)
        lines += [
            f"{name},u{unit}," + ",".join(f"{v!r}" for v in (shape + tilt).tolist())
            for name, shape in zip(names, shapes, strict=True)
        ]
    (tmp_path / "replicates.csv").write_text("\n".join(lines))
    (tmp_path / "elements.csv").write_text("id,region,x\na,line,0\nb,line,1\nc,line,2\n")
    np.save(tmp_path / "columns.npy", shapes.T)
    np.save(tmp_path / "rows.npy", np.zeros((1, 12)))
    (tmp_path / "project.toml").write_text(
        'level = 0.1\njudge = "conformal"\n[data.deployment]\nfile = "rows.npy"\nchannels = 1\nlaw = "gaussian"\n'
        '[elements]\nfile = "elements.csv"\ncoordinates = ["x"]\nresponses = "columns.npy"\n'
        'replicates = "replicates.csv"\nreplicate_unit = "unit"\n[regions.line]\n'
    )
    found = compare_judges(assemble(load_project(tmp_path / "project.toml")), 6)
    conformal = next(each for each in found if each.judge == "conformal")
    assert conformal.truth_kept >= 4  # of 6 at level .1
    assert conformal.kept < 0.6  # ten units can exclude at this level, nine of them as well


def test_a_strength_beyond_all_counts_is_refused(project):
    with pytest.raises(MisuseError, match="strength must"):
        compare_judges(assemble(load_project(project)), 1, strength=1e30)
