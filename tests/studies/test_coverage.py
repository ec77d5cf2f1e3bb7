"""A study on fresh seeds: the counts, their intervals, the pictures and the command."""

import json

import matplotlib
import pytest
from matplotlib.figure import Figure
from scipy.optimize import brentq
from scipy.stats import binom
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.plots import plot_coverage, plot_label_rates
from physupport.studies import _coverage as coverage
from physupport.studies._coverage import Reported, exact_interval, fresh_seeds, repeat_study
from physupport.studies.four_region import _coverage as four_region

matplotlib.use("Agg")


def make_reports(count, n_false, label="FINE"):
    return [Reported("scene", i, i, "balanced", 0.077, "A", label, i < n_false, i < n_false) for i in range(count)]


# One worker makes the six data sets once, for all tests of them.
pytestmark = pytest.mark.xdist_group("coverage")


@pytest.fixture(scope="module")
def outcome():
    return repeat_study("four-region", 6, seed=3)


@pytest.mark.parametrize(("count", "trials"), [(0, 20), (3, 40), (77, 1000), (20, 20)])
def test_the_interval_inverts_the_two_exact_tests(count, trials):
    low, high = exact_interval(count, trials)
    if count:
        assert low == pytest.approx(brentq(lambda p: binom.sf(count - 1, trials, p) - 0.025, 0.0, 1.0), abs=1e-9)
    else:
        assert low == 0.0
    if count < trials:
        assert high == pytest.approx(brentq(lambda p: binom.cdf(count, trials, p) - 0.025, 0.0, 1.0), abs=1e-9)
    else:
        assert high == 1.0


def test_more_data_sets_begin_with_the_same():
    assert fresh_seeds(7, 5)[:3] == fresh_seeds(3, 5)
    assert fresh_seeds(3, 5) != fresh_seeds(3, 6)


def test_a_false_label_in_one_field_makes_one_false_report():
    twice = [*make_reports(10, 2), *make_reports(10, 1)]
    false, rejected = coverage._coverage_rows(twice)
    assert (false["event"], false["count"], false["datasets"]) == ("false report", 2, 10)
    assert (rejected["event"], rejected["count"]) == ("true explanation rejected", 2)


def test_negative_control_too_many_false_reports_do_not_agree():
    """At 60 of 200 the whole interval lies above 0.077; at 15 of 200 it does not."""
    for count, agrees in ((60, False), (15, True)):
        rows = list(coverage._coverage_rows(make_reports(200, count)))
        assert [coverage._line(row).agrees for row in rows] == [agrees, agrees]


def test_both_ambiguities_of_a_region_are_one_rate():
    mixed = [*make_reports(2, 0, "SUPPORT_AMBIGUOUS"), *make_reports(1, 0, "LOCAL_AMBIGUOUS"), *make_reports(1, 0)]
    (row,) = coverage._rate_rows(mixed)
    assert (row["AMBIGUOUS"], row["FINE"], row["ABSTAIN"]) == (0.75, 0.25, 0.0)


def test_scenes_take_turns_and_every_region_is_reported(outcome):
    reports = outcome.tables["reports"]
    assert [row["scene"] for row in reports[::4]] == ["persistent-only", "weak-C", "D-present"] * 2
    assert "".join(row["field"] for row in reports[:4]) == "ABCD"
    assert [row["data_seed"] for row in reports[::4]] == [data for data, _ in fresh_seeds(6, 3)]
    for row in outcome.tables["labels"]:
        assert sum(row[label] for label in coverage.LABELS) == pytest.approx(1.0)
    json.dumps(outcome.summary, allow_nan=False)


def test_a_false_report_needs_the_truth_rejected(outcome):
    assert all(row["is_truth_rejected"] for row in outcome.tables["reports"] if row["is_false"])


def test_the_global_study_reports_once_a_profile():
    found = repeat_study("global", 1)
    levels = [("risk-conservative", 0.025), ("balanced", 0.077), ("resolution-favoring", 0.15)]
    assert [(row["profile"], row["level"]) for row in found.tables["reports"]] == levels
    assert [line.published for line in found.lines[::2]] == ["at most 0.025", "at most 0.077", "at most 0.15"]


def test_pictures_show_rates_levels_and_labels():
    figure = Figure(figsize=(3.4, 2.0), layout="constrained")
    rows = [{name: str(value) for name, value in row.items()} for row in coverage._coverage_rows(make_reports(50, 2))]
    axes = plot_coverage(rows, figure.subplots())
    assert axes.get_legend_handles_labels()[1] == ["level"]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "false report\nbalanced",
        "truth rejected\nbalanced",
    ]
    shares = [{name: str(value) for name, value in row.items()} for row in coverage._rate_rows(make_reports(50, 2))]
    bars = plot_label_rates(shares, Figure().subplots())
    assert [patch.get_width() for patch in bars.patches] == [1.0]
    assert bars.get_legend_handles_labels()[1] == ["fine"]


def test_a_study_without_a_level_is_refused():
    with pytest.raises(MisuseError, match="study must be one of four-region, global, got mechanism"):
        repeat_study("mechanism", 3)
    with pytest.raises(MisuseError, match="datasets"):
        repeat_study("four-region", 0)


def test_the_command_writes_everything(tmp_path):
    command = ["coverage", "--study", "four-region", "--datasets", "3", "--out", str(tmp_path)]
    answer = CliRunner().invoke(app, command)
    assert answer.exit_code == 0, answer.output
    assert "at most 0.077" in answer.stdout
    made = {path.name for path in (tmp_path / "coverage-four-region").iterdir()}
    assert {"reports.csv", "coverage.csv", "labels.csv", "summary.json"} <= made
    assert {f"{name}.{kind}" for name in ("coverage", "labels") for kind in ("png", "pdf")} <= made
    refused = CliRunner().invoke(app, ["coverage", "--study", "no", "--datasets", "3"])
    assert isinstance(refused.exception, MisuseError)
    assert "study must be one of" in str(refused.exception)


def test_the_command_ends_with_code_one_above_the_level(tmp_path, monkeypatch):
    """Reports of which every third is false, at a level of 0.077."""
    monkeypatch.setattr(four_region, "reports", lambda seeds, jobs, progress: make_reports(len(seeds), len(seeds) // 3))
    command = ["coverage", "--study", "four-region", "--datasets", "60", "--out", str(tmp_path)]
    answer = CliRunner().invoke(app, command)
    assert answer.exit_code == 1, answer.output
    assert answer.stdout.count(" NO") == 2
