"""Responses that were counted themselves, and responses between variants: from a project file to a verified report."""

import numpy as np
import pytest
from scipy.stats import binom

from physupport import MisuseError
from physupport.banks import Library, library_bank
from physupport.judges import Verdict
from physupport.judges.counts import ByCounts, CountTable
from physupport.laws import Poisson
from physupport.project import load_project, run_project
from physupport.verify import verify

CHANNELS = np.arange(60)
PROJECT = """
level = 0.05
[data.deployment]
file = "rows.csv"
channels = 1
law = "poisson"
[background]
polynomial = 0
[elements]
file = "elements.csv"
coordinates = ["place"]
{responses}
[regions.line]
tolerance = 0.5
"""


def lines(width):
    return np.exp(-0.5 * ((CHANNELS[:, None] - [20.0, 25.0, 45.0]) / width) ** 2) + 0.02


RATES = lines(4.0)
BETWEEN = np.stack([lines(3.7), lines(4.4)])
BETWEEN /= np.linalg.norm(BETWEEN, axis=1, keepdims=True)
FLAT = np.ones((60, 1))


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(5)
    (tmp_path / "elements.csv").write_text("id,region,place\na,line,20\nb,line,25\nc,line,45\n")
    np.save(tmp_path / "recorded.npy", rng.poisson(5000.0 * RATES))
    np.save(tmp_path / "narrow.npy", BETWEEN[0])
    np.save(tmp_path / "broad.npy", BETWEEN[1])
    np.savetxt(tmp_path / "rows.csv", rng.poisson(1e4 * RATES[:, 1] + 30.0)[None], fmt="%d", delimiter=",")
    return tmp_path


def run(folder, responses):
    (folder / "project.toml").write_text(PROJECT.format(responses=responses))
    return run_project(load_project(folder / "project.toml"))


def test_a_library_that_was_counted_has_its_noise_in_a_project_file(folder):
    plain = run(folder, 'responses = "recorded.npy"').result.report
    assert plain.fields[0].cell == ()
    found = run(folder, 'responses = "recorded.npy"\ncounted = { live_time = 300.0 }').result.report
    assert found.fields[0].cell == ("b",)
    recorded = np.load(folder / "recorded.npy").sum(axis=0)
    law = found.document["protocol"]["streams"][0]["law"]
    assert law["counted"] == recorded.tolist()
    assert "whose noise is allowed for" in found.text()
    rows = np.loadtxt(folder / "rows.csv", delimiter=",")[None]
    assert verify(found.json(), {"deployment": rows}).is_verified


def test_counts_in_the_window_are_those_of_the_library(folder):
    np.save(folder / "axis.npy", CHANNELS.astype(float))
    window = {"data.deployment.window": [5.0, 54.0], "elements.axis": "axis.npy"}
    text = 'responses = "recorded.npy"\ncounted = { live_time = [300.0, 200.0, 100.0] }'
    (folder / "project.toml").write_text(PROJECT.format(responses=text))
    report = run_project(load_project(folder / "project.toml", window)).result.report
    inside = np.load(folder / "recorded.npy")[5:55].sum(axis=0)
    assert report.document["protocol"]["streams"][0]["law"]["counted"] == inside.tolist()
    assert report.fields[0].cell == ("b",)


def test_responses_between_two_that_were_measured_explain_what_neither_does(folder):
    states = run(folder, 'responses = ["narrow.npy", "broad.npy"]').result.report
    assert states.fields[0].cell == ()
    found = run(folder, 'responses = ["narrow.npy", "broad.npy"]\nvariants = "between"').result.report
    assert found.fields[0].cell == ("b",)
    assert "between the smallest and the largest of 2 variants" in found.text()
    rows = np.loadtxt(folder / "rows.csv", delimiter=",")[None]
    assert verify(found.json(), {"deployment": rows}).is_verified
    steps = found.staircase()
    assert steps[0]["least"] == 0.0
    assert steps[0]["fields"][0]["cell"] == ["b"]


@pytest.mark.parametrize(
    ("responses", "message"),
    [
        ('responses = "narrow.npy"\ncounted = { live_time = 300.0 }', "whole numbers"),
        ('responses = "recorded.npy"\ncounted = { live_time = [1.0, 2.0] }', "one for each of 3 elements"),
        ('responses = "recorded.npy"\ncounted = { live_time = 0.0 }', "be above 0"),
        ('responses = "recorded.npy"\ncounted = { live_time = 1.0 }\nerror = 0.1', "relative"),
        ('responses = ["recorded.npy", "recorded.npy"]\ncounted = { live_time = 1.0 }', "one file"),
        ('responses = "narrow.npy"\nvariants = "between"', "list of files"),
    ],
)
def test_what_does_not_go_together_is_refused(folder, responses, message):
    with pytest.raises(MisuseError, match=message):
        run(folder, responses)


@pytest.mark.slow
@pytest.mark.parametrize(("beyond", "is_valid"), [(0.0, True), (0.5, False)])
def test_a_truth_between_the_variants_is_lost_in_at_most_the_level_and_one_beyond_them_far_more_often(beyond, is_valid):
    level, runs, lost = 0.1, 60, 0
    library = Library(["a", "b", "c"], ["line"] * 3, np.arange(3.0)[:, None], BETWEEN[0])
    law = Poisson(background=FLAT, variants=BETWEEN[1:], is_between=True)
    design = law.design(library_bank(library, [["line"]], {"line": [1.0]}))
    table = CountTable(design.columns, [(0, 1)], FLAT, design.band)
    low, high = BETWEEN.min(axis=0), BETWEEN.max(axis=0)
    assert (design.band[0] == low).all()
    assert (design.band[1] == high).all()
    for each in range(runs):
        rng = np.random.default_rng(each)
        ends = np.where(rng.random(low.shape) < 0.5, low * (1.0 - beyond), high * (1.0 + beyond))[:, :2]
        counts = rng.poisson(ends @ (10 ** rng.uniform(1.0, 4.0) * np.array([1.0, 0.5])) + 3.0)
        judge = ByCounts(n_splits=1).judge(table, counts, level, seed=each)
        lost += judge.verdicts(np.array([0])).codes[0] == Verdict.REJECTED
    assert (binom.sf(lost - 1, runs, level) > 1e-6) == is_valid
