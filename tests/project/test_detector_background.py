"""Pile-up, escape peaks and tails as declared background: columns on the whole axis, cut to the window."""

import numpy as np
import pytest
from scipy.stats import binom

from physupport import MisuseError
from physupport.judges import Verdict
from physupport.judges.counts import ByCounts, CountTable
from physupport.project import assemble, load_project, report_differences, run_project
from physupport.responses import escape_columns, in_window, pile_up_column, tail_columns

AXIS = np.linspace(0.0, 16.0, 161)
PROJECT = """
level = 0.05
[data.deployment]
file = "rows.csv"
channels = 1
law = "poisson"
window = [9.8, 12.2]
[background]
polynomial = 0
pile_up = true
[elements]
file = "elements.csv"
coordinates = ["energy"]
responses = "responses.npy"
axis = "axis.npy"
[regions.window]
presence = "optional"
[regions.matrix]
presence = "optional"
"""


def line(place):
    return np.exp(-0.5 * ((AXIS - place) / 0.15) ** 2)


LINES = np.stack([line(10.5), line(11.7), line(5.4)], axis=1)  # arsenic, selenium and, outside, chromium


def means(amount):
    """A strong line at 5.4 outside of the window, whose pairs lie at 10.8, and no element inside."""
    single = 3000.0 * line(5.4) + 5.0
    return single + amount * pile_up_column(AXIS, single)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "elements.csv").write_text("id,region,energy\nAs,window,10.5\nSe,window,11.7\nCr,matrix,5.4\n")
    np.savetxt(tmp_path / "rows.csv", np.random.default_rng(3).poisson(means(200.0))[None], fmt="%d", delimiter=",")
    np.save(tmp_path / "responses.npy", LINES)
    np.save(tmp_path / "axis.npy", AXIS)
    (tmp_path / "project.toml").write_text(PROJECT)
    return tmp_path


def background(folder, **keys):
    project = load_project(folder / "project.toml", {"background": {"polynomial": 0} | keys})
    return np.asarray(assemble(project).protocol.streams["deployment"].law.background)


def test_pile_up_of_the_counts_outside_is_explained_and_verified(folder):
    project = load_project(folder / "project.toml")
    finished = run_project(project)
    report = finished.result.report
    assert report.fields[0].label != "EMPTY"
    assert report.document["protocol"]["window"]["without_lines"] == ["Cr"]
    assert report_differences(project, report, finished.details).is_verified
    # Without the column an element soaks up the pairs, or nothing fits.
    plain = run_project(
        load_project(folder / "project.toml", {"background": {"polynomial": 0}, "output.folder": str(folder / "b")})
    )
    assert plain.result.report.fields[0].label in ("EMPTY", "FINE")


def test_counts_inside_the_window_do_not_reach_the_column(folder):
    before = background(folder, pile_up=True)
    rows = np.loadtxt(folder / "rows.csv", delimiter=",", dtype=int)
    rows[in_window(AXIS, [9.8, 12.2])] *= 7
    np.savetxt(folder / "rows.csv", rows[None], fmt="%d", delimiter=",")
    np.testing.assert_array_equal(background(folder, pile_up=True), before)
    rows[54] *= 2
    np.savetxt(folder / "rows.csv", rows[None], fmt="%d", delimiter=",")
    assert not np.array_equal(background(folder, pile_up=True), before)


def test_columns_are_those_of_their_definitions(folder):
    inside = in_window(AXIS, [9.8, 12.2])
    np.save(folder / "empty.npy", line(5.4))
    found = background(folder, pile_up="empty.npy")[:, 1]
    expected = np.exp(-0.5 * ((AXIS - 10.8) / (0.15 * np.sqrt(2.0))) ** 2)[inside]
    np.testing.assert_allclose(found, expected / expected.max(), atol=1e-6)
    # Arsenic at 10.5 moves down out of the window, selenium to 9.96; chromium is nowhere near.
    found = background(folder, escape=1.74)[:, 1:]
    expected = np.exp(-0.5 * ((AXIS[inside] - (11.7 - 1.74)) / 0.15) ** 2)
    near = found[:, np.abs(found.T @ expected - expected @ expected).argmin()]
    np.testing.assert_allclose(near, expected / expected.max(), atol=0.02)  # a width has 1.5 channels
    # A tail is the convolution with an exponential, here by numerical integration.
    tails = tail_columns(AXIS, LINES, 0.5)
    fine = np.linspace(0.0, 16.0, 16001)
    peak = np.exp(-0.5 * ((fine - 10.5) / 0.15) ** 2)
    exact = [np.trapezoid(peak * np.where(fine >= e, np.exp(-(fine - e) / 0.5), 0.0), fine) for e in AXIS]
    np.testing.assert_allclose(tails[:, 0], np.array(exact) / max(exact), atol=0.03)
    assert background(folder, tail=[0.5, 1.0]).shape == (inside.sum(), 1 + 4)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"escape": 9.0}, r"background.escape must reach into the window.*Leave it out"),
        ({"escape": -1.0}, "background.escape must be above 0"),
        ({"pile_up": False}, "background.pile_up must be true, for the counts outside"),
        ({"tail": 0.0}, "background.tail must be above 0"),
    ],
)
def test_what_cannot_be_is_refused(folder, keys, words):
    with pytest.raises(MisuseError, match=words):
        background(folder, **keys)


def test_pile_up_of_the_rows_needs_a_window(folder):
    text = PROJECT.replace("window = [9.8, 12.2]\n", "")
    (folder / "project.toml").write_text(text)
    with pytest.raises(MisuseError, match=r"background.pile_up must be a file unless.*Give a window"):
        load_project(folder / "project.toml")


RUNS = 150


def lost(seed, has_column):
    """How often everything together is rejected, although background and pile-up made the counts."""
    inside = in_window(AXIS, [9.8, 12.2])
    rng = np.random.default_rng(seed)
    count = 0
    for _ in range(RUNS):
        counts = rng.poisson(means(200.0))
        column = pile_up_column(AXIS, np.where(inside, 0, counts))[inside, None]
        columns = np.hstack([np.ones((inside.sum(), 1)), column]) if has_column else np.ones((inside.sum(), 1))
        table = CountTable(LINES[inside][:, :2], [()], columns)
        judge = ByCounts().judge(table, counts[inside], 0.1, seed=1)
        count += judge.verdicts(np.arange(1)).codes[0] == Verdict.REJECTED
    return count


def test_the_truth_is_lost_at_most_at_the_level_and_without_the_column_nearly_always():
    assert binom.sf(lost(5, has_column=True) - 1, RUNS, 0.1) > 1e-6
    assert lost(5, has_column=False) > 0.9 * RUNS


def test_an_escape_peak_stays_on_the_axis_or_is_nothing():
    assert not escape_columns(AXIS, LINES, 20.0).any()
