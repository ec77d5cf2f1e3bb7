"""Project files name the simulation judge; all rows judge, and verify asks it again."""

import json

import numpy as np
import pytest

from physupport import MisuseError
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
    said = "do not look like those of anything that is left" if has_calibration else "look like those of what is left"
    assert f" rows {said} (p = " in run.result.report.sentence
    assert verify(run.result.report.json(), tables(path)).is_verified
    forged = json.loads(run.result.report.json())
    forged["gate"]["findings"][0]["p"] = 0.5 * forged["gate"]["findings"][0]["p"]
    assert not verify(forged, tables(path)).is_verified


def test_rows_that_none_of_the_explanations_would_make_are_told(write):
    rows = np.random.default_rng(0).standard_t(3, (400, 8)) * np.sqrt(0.5)
    path = write(("seed = 3", 'seed = 3\njudge = "simulation"'), deployment=rows)
    report = run_project(load_project(path)).result.report
    assert report.document["gate"]["is_best_rejected"]
    assert report.document["outcome"]["status"] == "EMPTY" or "the rows do not look like" in report.sentence


def test_a_resolution_is_asked_without_a_proposal(write):
    changes = [("tolerance = 0.01\n", ""), ("tolerance = 0.01\n", "")]
    asked = '\n[resolution]\nregion = "A"\nfine = 0.1\ngroup = 0.2\n'
    path = write(("seed = 3", 'seed = 3\njudge = "simulation"'), *changes, more=asked)
    report = run_project(load_project(path)).result.report
    assert (report.fields[0].label, report.fields[0].cell) == ("FINE", ("a1",))
    assert verify(report.json(), tables(path)).is_verified


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
