"""Project files name the simulation judge; all rows judge, and verify asks it again."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.io import read_table
from physupport.project import load_project, run_project
from physupport.verify import verify


def tables(path):
    names = ("calibration", "deployment")
    return {
        name: read_table(path.parent / f"{name}.npy", channels=1, label=name).values
        for name in names
        if (path.parent / f"{name}.npy").exists()
    }


@pytest.mark.parametrize("has_calibration", [False, True])
def test_a_project_judged_by_simulation_is_written_and_verified(write, small, has_calibration):
    path = write(("seed = 3", 'seed = 3\njudge = "simulation"'), more=small.calibration if has_calibration else "")
    run = run_project(load_project(path))
    document = run.result.report.document
    assert document["protocol"]["judge"]["statistic"] == "ratio"
    assert [stream["fraction"] for stream in document["protocol"]["streams"]] == [0.0] * (1 + has_calibration)
    assert [(field.label, field.cell) for field in run.result.report.fields] == [("FINE", ("a1",)), ("FINE", ("b1",))]
    # The codes of these calibration rows are not those of the law, which shows.
    unlike = "the rows are improbable under every remaining explanation (p = "
    alike = "The likelihood of all rows together is not unusual for a remaining explanation (p = "
    assert [unlike in run.result.report.sentence, alike in run.result.report.sentence] == [
        has_calibration,
        not has_calibration,
    ]
    assert verify(run.result.report.json(), tables(path)).is_verified
    forged = json.loads(run.result.report.json())
    forged["gate"]["findings"][0]["p"] = 0.5 * forged["gate"]["findings"][0]["p"]
    assert not verify(forged, tables(path)).is_verified


def test_rows_that_none_of_the_explanations_would_make_are_told(write):
    rows = np.random.default_rng(0).standard_t(3, (400, 8)) * np.sqrt(0.5)
    path = write(("seed = 3", 'seed = 3\njudge = "simulation"'), deployment=rows)
    report = run_project(load_project(path)).result.report
    assert report.document["gate"]["is_best_rejected"]
    assert report.document["outcome"]["status"] == "EMPTY" or "the rows are improbable under every" in report.sentence


def test_a_resolution_is_asked_without_a_proposal(write):
    changes = [("tolerance = 0.01\n", ""), ("tolerance = 0.01\n", "")]
    asked = '\n[resolution]\nregion = "A"\nfine = 0.1\ngroup = 0.2\n'
    path = write(("seed = 3", 'seed = 3\njudge = "simulation"'), *changes, more=asked)
    report = run_project(load_project(path)).result.report
    assert (report.fields[0].label, report.fields[0].cell) == ("FINE", ("a1",))
    assert verify(report.json(), tables(path)).is_verified


@pytest.mark.parametrize("proposal", ["proposal = 0.4\n", ""])
def test_one_row_is_enough_and_none_has_to_propose(write, small, proposal):
    """With a share of rows that propose, of one row none would be left to do so; nobody needs it here."""
    noise = 0.1 * np.random.default_rng(2).standard_normal((1, 8))
    rows = 2.0 * small.columns([0.2, 0.7]).sum(axis=1) + noise
    changes = [("proposal = 0.4\n", proposal), ("noise = 0.5\n", "noise = 0.01\n"), ('"covariance"', '"mean"')]
    path = write(("seed = 3", 'seed = 3\njudge = "simulation"'), *changes, deployment=rows)
    report = run_project(load_project(path)).result.report
    assert [(field.label, field.cell) for field in report.fields] == [("FINE", ("a1",)), ("FINE", ("b1",))]
    assert verify(report.json(), {"deployment": rows}).is_verified
    refused = "proposal must leave at least one of the 1 rows" if proposal else "data.deployment.proposal is required"
    with pytest.raises(MisuseError, match=refused):
        run_project(load_project(write(*changes, deployment=rows)))


def test_an_unknown_judge_is_answered_with_the_known_ones(write):
    with pytest.raises(MisuseError, match="'simulation'"):
        load_project(write(("seed = 3", 'seed = 3\njudge = "simulations"')))


def test_draws_and_statistic_are_those_of_the_file(write):
    changes = [("tolerance = 0.01\n", ""), ("tolerance = 0.01\n", "")]
    path = write(("seed = 3", 'seed = 3\njudge = "simulation"\ndraws = 599'), *changes)
    assert run_project(load_project(path)).result.report.document["protocol"]["judge"]["draws"] == 599
    low = ("level = 0.1", "level = 0.001")
    with pytest.raises(MisuseError, match="draws must be at least 1010 to reject at level"):
        run_project(load_project(write(("seed = 3", 'seed = 3\njudge = "simulation"'), low)))
    run_project(load_project(write(("seed = 3", 'seed = 3\njudge = "simulation"\ndraws = 1999'), low)))
    with pytest.raises(MisuseError, match="be 'ratio' for a bank of several supports"):
        run_project(load_project(write(("seed = 3", 'seed = 3\njudge = "simulation"\nstatistic = "score"'))))
    with pytest.raises(MisuseError, match=r"draws must be left out with the judge evidence"):
        run_project(load_project(write(("seed = 3", 'seed = 3\njudge = "evidence"\ndraws = 99'))))


ORBIT = """\
level = 0.1
judge = "simulation"
draws = 39
budget = 9

[data.calibration]
file = "calibration.npy"
channels = 1
law = "latent"
activity = [0.3]
noise = 0.05
proposal = 0.5

[data.deployment]
file = "deployment.npy"
channels = 1
law = "mean"
noise = 0.5
proposal = 0.5

[elements]
file = "elements.csv"
coordinates = ["angle"]
responses = "columns.npy"

[regions.turn]
strength = 1.0

[resolution]
fine = 0.1
group = 0.3
"""


@pytest.mark.parametrize(("named", "expected"), [("", "score"), ('statistic = "ratio"\n', "ratio")])
def test_the_command_line_takes_the_score_for_orientations_and_the_report_says_so(tmp_path, named, expected):
    angles, rng = np.linspace(-0.2, 0.2, 9), np.random.default_rng(1)
    columns = np.stack([np.cos(angles), np.sin(angles), np.zeros(9)])
    codes = np.where(rng.random((60, 1)) < 0.3, rng.standard_normal((60, 1)), 0.0)
    np.save(tmp_path / "calibration.npy", codes * columns[:, 4] + np.sqrt(0.05) * rng.standard_normal((60, 3)))
    np.save(tmp_path / "deployment.npy", columns[:, 4] + np.sqrt(0.5) * rng.standard_normal((10, 3)))
    np.save(tmp_path / "columns.npy", columns)
    lines = [f"t{i},turn,{angle!r}" for i, angle in enumerate(angles.tolist())]
    (tmp_path / "elements.csv").write_text("\n".join(["id,region,angle", *lines]))
    (tmp_path / "project.toml").write_text(named + ORBIT)
    found = CliRunner().invoke(app, ["run", str(tmp_path / "project.toml")])
    assert found.exit_code == 0, found.output
    document = json.loads((tmp_path / "report" / "report.json").read_text())
    assert document["protocol"]["judge"]["statistic"] == expected
    page = (tmp_path / "report" / "report.html").read_text()
    assert f"simulation (statistic {expected}, draws 39, copies 32, rivals 16" in page
    answer = CliRunner().invoke(
        app, ["verify", str(tmp_path / "report" / "report.json"), "--project", str(tmp_path / "project.toml")]
    )
    assert answer.exit_code == 0, answer.output
