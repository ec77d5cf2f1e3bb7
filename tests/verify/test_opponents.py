"""A project says what its explanations are measured against, and a report that has something else is refused."""

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, report
from physupport.banks import bank_regions
from physupport.cli import app
from physupport.laws import latent_point
from physupport.project import load_project, run_project
from physupport.questions import RegionalMap
from physupport.report import rebuilt_bank
from physupport.verify import verify

OFF_THE_BANK = "the numerator of calibration is a law off the bank: that it comes from the proposal rows alone"


@pytest.fixture(scope="module")
def folders(tmp_path_factory, write_peaks):
    """One project with either opponent, and the report of each."""
    rows = np.random.default_rng(0).normal(size=(200, 8))
    made = {}
    for name in ("bank", "free"):
        folder = tmp_path_factory.mktemp(name)
        written = write_peaks(folder, ("proposal = 0.4", f'proposal = 0.4\nopponent = "{name}"'), deployment=rows)
        made[name] = run_project(load_project(written)).folder
    return made


def checked(report, project):
    return CliRunner().invoke(app, ["verify", str(report), "--project", str(project.parent)])


@pytest.mark.parametrize("planned", ["bank", "free"])
def test_a_report_is_measured_against_what_its_project_plans_and_nothing_else(folders, planned):
    for name, folder in folders.items():
        found = checked(folder, folders[planned])
        assert found.exit_code == (0 if name == planned else 3), found.output
        what = f"refused: the numerator of deployment is not what the opponent {planned!r} is on the proposal rows"
        assert (what in found.stderr) == (name != planned)


def test_bank_is_what_a_project_plans_that_says_nothing(folders, tmp_path, write_peaks):
    rows = np.random.default_rng(0).normal(size=(200, 8))
    silent = write_peaks(tmp_path, deployment=rows).parent / "report"
    assert [checked(folders[name], silent).exit_code for name in ("bank", "free")] == [0, 3]


@pytest.fixture(scope="module")
def fitted(four_regions):
    """A numerator with the noise that fits the held-out rows best: no project can plan it, and all hashes fit."""
    bank, rows = rebuilt_bank(four_regions.report.document["bank"]), four_regions.rows
    atoms = bank.states.elements[:, bank.states.element_index(np.array([0]))[0]]

    def propose(_):
        return latent_point(atoms, 0.2, 0.984)

    plans = {"calibration": StreamPlan("latent", 0.45, propose=propose), "deployment": StreamPlan("covariance", 0.40)}
    question = RegionalMap(bank_regions(bank))
    seal = AnalysisProtocol(question, RegionalPolicy(), 0.077, 0.75, bank, plans, seed=9).read(**rows)
    return report(seal, seal.run()), rows


def test_a_numerator_that_no_project_can_describe_is_noted_without_a_plan_and_refused_with_one(fitted):
    made, rows = fitted
    alone = verify(made.json(), rows)
    assert alone.is_verified
    assert any(note.startswith(OFF_THE_BANK) for note in alone.notes)
    planned = verify(made.json(), rows, opponents={"calibration": "bank", "deployment": "bank"})
    assert planned.findings[0] == "the numerator of calibration is not what the opponent 'bank' is on the proposal rows"
