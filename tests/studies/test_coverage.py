"""A study on fresh seeds: the counts, their intervals, the pictures and the command."""

import json

import matplotlib
import pytest
from matplotlib.figure import Figure
from scipy.optimize import brentq
from scipy.stats import binom
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import _studies as study_tools, app
from physupport.studies import _case as coverage, four_region, repeat_study
from physupport.studies._case import exact_interval, fresh_seeds
from physupport.studies._figures import draw_label_rates, draw_rates

matplotlib.use("Agg")


def make_reports(count, n_false, label="FINE", scene="scene", first=0, n_unwitnessed=0):
    """Reports of which the first n_false are false and the last n_unwitnessed without a witness."""
    return [
        {
            "scene": scene,
            "data_seed": first + i,
            "split_seed": first + i,
            "profile": "balanced",
            "level": 0.077,
            "field": "A",
            "label": label,
            "is_false": i < n_false,
            "is_truth_rejected": i < n_false,
            "has_no_witness": i >= count - n_unwitnessed,
        }
        for i in range(count)
    ]


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
    false, rejected, *_ = coverage._coverage_rows(twice)
    assert (false["event"], false["count"], false["datasets"]) == ("false report", 2, 10)
    assert (rejected["event"], rejected["count"]) == ("true explanation rejected", 2)


def test_negative_control_too_many_false_reports_do_not_agree():
    """At 60 of 200 the whole interval lies above 0.077; at 15 of 200 it does not."""
    for count, agrees in ((60, False), (15, True)):
        rows = list(coverage._coverage_rows(make_reports(200, count)))[:2]
        assert [coverage._line(row).agrees for row in rows] == [agrees, agrees]


def test_every_scene_has_its_own_rates_beside_the_pooled_ones():
    rows = list(
        coverage._coverage_rows([*make_reports(10, 2, scene="one"), *make_reports(5, 1, scene="two", first=10)])
    )
    found = [(row["scene"], row["event"], row["count"], row["datasets"]) for row in rows]
    counts = {"all": (3, 15), "one": (2, 10), "two": (1, 5)}
    assert found == [(scene, event, *counts[scene]) for scene in counts for event in coverage.EVENTS]
    assert rows[2]["upper"] == exact_interval(2, 10)[1]


def test_reports_without_a_witness_are_a_share_of_their_own():
    (row,) = coverage._rate_rows(make_reports(8, 0, n_unwitnessed=2))
    assert (row["FINE"], row["no_witness"]) == (1.0, 0.25)


def test_a_run_without_a_witness_is_marked_in_all_its_fields():
    """The data set of the paper whose profile is empty, and one in which a witness is found."""
    first, second = (2026091012, 9026091012), (2026091015, 9026091015)
    rows = four_region.reports([first, second])
    assert [row["has_no_witness"] for row in rows] == [False] * 4 + [True] * 4


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
    pooled = list(coverage._coverage_rows(make_reports(50, 2)))[:2]
    rows = [{name: str(value) for name, value in row.items()} for row in pooled]
    axes = figure.subplots()
    draw_rates(axes, rows)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["level"]
    for y, row in enumerate(rows):
        level, interval, rate = (line.get_xdata().tolist() for line in axes.lines[3 * y : 3 * y + 3])
        assert level == [float(row["level"])] * 2
        assert interval == [float(row["lower"]), float(row["upper"])]
        assert rate == [float(row["rate"])]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "false report\nbalanced",
        "truth rejected\nbalanced",
    ]
    shares = [{name: str(value) for name, value in row.items()} for row in coverage._rate_rows(make_reports(50, 2))]
    bars = Figure().subplots()
    draw_label_rates(bars, shares)
    assert [patch.get_width() for patch in bars.patches] == [1.0]
    assert [text.get_text() for text in bars.get_legend().get_texts()] == ["fine"]


def test_a_diamond_marks_the_share_without_a_witness():
    mixed = [*make_reports(4, 0, n_unwitnessed=1), *make_reports(4, 0, scene="other")]
    rows = [{name: str(value) for name, value in row.items()} for row in coverage._rate_rows(mixed)]
    axes = Figure().subplots()
    draw_label_rates(axes, rows)
    (line,) = axes.lines
    assert line.get_xydata().tolist() == [[0.25, 0.0]]
    assert "no witness" in [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize(("count", "words"), [(1, "over 1 data set,"), (2, "over 2 data sets,")])
def test_the_axis_counts_in_the_singular_and_the_plural(count, words):
    pooled = list(coverage._coverage_rows(make_reports(count, 0)))[:2]
    rows = [{name: str(value) for name, value in row.items()} for row in pooled]
    axes = Figure().subplots()
    draw_rates(axes, rows)
    assert words in axes.get_xlabel()


def test_a_study_without_a_level_is_refused():
    with pytest.raises(MisuseError, match="study must be one of four-region, global, not mechanism"):
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


@pytest.mark.parametrize(
    ("study", "datasets", "seed", "message"),
    [
        ("no", "3", "0", "study must be one of"),
        ("global", "0", "0", "datasets must be a whole number at least 1, not 0"),
        ("global", "3", "-1", "seed must be a whole number at least 0, not -1"),
    ],
)
def test_misuse_leaves_no_folder(tmp_path, study, datasets, seed, message):
    out = tmp_path / "out"
    command = ["coverage", "--study", study, "--datasets", datasets, "--seed", seed, "--out", str(out)]
    refused = CliRunner().invoke(app, command)
    assert isinstance(refused.exception, MisuseError)
    assert message in str(refused.exception)
    assert not out.exists()


def test_a_file_in_the_way_is_refused_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(four_region, "reports", lambda *_: pytest.fail("data sets were made"))
    (tmp_path / "coverage-four-region").write_text("")
    refused = CliRunner().invoke(app, ["coverage", "--study", "four-region", "--datasets", "3", "--out", str(tmp_path)])
    assert "the folder for the output must be one that can be made and written to" in str(refused.exception)


def test_the_command_says_that_there_are_no_figures(tmp_path, monkeypatch):
    monkeypatch.setattr(study_tools, "find_spec", lambda name: None)
    monkeypatch.setattr(four_region, "reports", lambda seeds, jobs, progress: make_reports(len(seeds), 0))
    answer = CliRunner().invoke(app, ["coverage", "--study", "four-region", "--datasets", "3", "--out", str(tmp_path)])
    assert answer.exit_code == 0, answer.output
    assert "No figures: matplotlib is not installed" in answer.stderr
    assert not list(tmp_path.rglob("*.png"))


def test_the_command_ends_with_code_one_above_the_level(tmp_path, monkeypatch):
    """Reports of which every third is false, at a level of 0.077."""
    monkeypatch.setattr(four_region, "reports", lambda seeds, jobs, progress: make_reports(len(seeds), len(seeds) // 3))
    command = ["coverage", "--study", "four-region", "--datasets", "60", "--out", str(tmp_path)]
    answer = CliRunner().invoke(app, command)
    assert answer.exit_code == 1, answer.output
    assert answer.stdout.count(" NO") == 2
