"""Whatever a run refuses, its message names the project file and the key that has to change."""

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport.cli import app
from physupport.project import load_project, run_project

OPEN = [('law = "covariance"', 'law = "gaussian"'), ("noise = 0.5\nproposal = 0.4\n", ""),
        ("strength = 2.0\ntolerance", "tolerance"), ("strength = 2.0\npresence", "presence")]  # fmt: skip
COUNTS = [("gaussian", "poisson")]
NOTHING = ("budget = 1.0", "budget = 0")
SHORT = ("count = 8 }", "count = 4 }")


def judged(text):
    return ("seed = 3", f"seed = 3\n{text}")


def rows(n=1, q=8, value=1.0):
    return np.full((n, q), value)


# Of each key, what is changed, and the rows.
FAULTS = {
    "judge": ([judged('judge = "rotation"')], {}),
    "judge: simulation": ([*OPEN, judged('judge = "simulation"')], {}),
    "judge: counts": ([*OPEN, judged('judge = "counts"')], {}),
    "judge: conformal": ([*OPEN, judged('judge = "conformal"')], {}),
    "draws": ([judged('judge = "simulation"'), ("level = 0.1", "level = 0.001")], {}),
    "statistic": ([judged('judge = "simulation"\nstatistic = "score"')], {}),
    "data.deployment.split": (
        [*OPEN, judged('judge = "evidence"'), ('law = "gaussian"', 'law = "gaussian"\nsplit = "fission"')],
        {"deployment": rows()},
    ),
    "budget: rotation": ([*OPEN, judged('judge = "rotation"'), NOTHING], {"deployment": rows()}),
    "budget: simulation": ([judged('judge = "simulation"'), NOTHING], {}),
    "data.deployment.exposure": (
        [*OPEN, *COUNTS, ('law = "poisson"', 'law = "poisson"\nexposure = [1, 2]')],
        {"deployment": rows()},
    ),
    "data.deployment.file": ([*OPEN, SHORT], {"deployment": rows(q=4)}),
    "data.deployment.file: counts": ([*OPEN, *COUNTS], {"deployment": rows(value=0.5)}),
    "data.deployment.file: finite": ([], {"deployment": rows(40, value=np.nan)}),
    "parameters": ([], {"more": "[parameters.shift]\nvalues = [0, 20]\n"}),
    "elements.file": ([], {"elements": "id,region,x\na1,A,0.2\na1,A,0.3\nb1,B,0.7\n"}),
}
KEYS = {"judge: conformal": "elements.replicates"}


@pytest.mark.parametrize("name", FAULTS)
def test_a_refusal_names_the_file_and_its_key(name, write, refused):
    changes, files = FAULTS[name]
    key = KEYS.get(name, name.partition(":")[0])
    message = refused(write(*changes, **files))
    assert message.startswith((f"project.toml: {key} ", f"project.toml: {key}: ")), message


def test_no_budget_is_refused_by_its_option_too_and_abstains_where_rows_propose(write, refused):
    path = write(judged('judge = "simulation"'))
    rule = "budget must allow at least one query with a judge that sets no rows aside to propose, not 0"
    assert refused(path, overrides={"budget": 0}).startswith(f"override {rule}")
    told = CliRunner().invoke(app, ["run", str(path), "--budget", "0"])
    assert str(told.exception).startswith(f"--{rule}")
    result = run_project(load_project(write(), {"budget": 0})).result
    *_, second = result.report.fields
    assert (len(result.trace), str(second.label)) == (0, "ABSTAIN")


def test_a_cover_that_the_strengths_of_the_bank_leave_is_told_by_its_key(write, refused, tmp_path):
    box = "[cover]\nsnr = 1.0\n[cover.box.A]\nx = [0.2, 0.4]\n[cover.box.B]\nx = [0.6, 0.9]\n"
    mean = [('law = "covariance"', 'law = "mean"'), ('file = "elements.csv"\n', "")]
    assert refused(write(judged('judge = "simulation"'), *mean, more=box)).startswith("project.toml: cover.snr must be")
