"""Rows keep arriving: every look is valid, nothing is ever un-rejected."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom

from physupport import MisuseError, PhysicalSupport
from physupport.analysis import StreamPlan
from physupport.banks import Library, library_bank, product_grid
from physupport.judges import RunningEvidence, Verdict
from physupport.judges.simulation import BySimulation
from physupport.laws import Mean, ProfiledMean
from physupport.verify import verify

WAVES = np.exp(-0.5 * ((np.linspace(0.0, 1.0, 8)[:, None] - np.array([0.1, 0.4, 0.6, 0.9])) / 0.15) ** 2)
LIBRARY = Library(
    ["p1", "p2", "p3", "p4"], ["line"] * 4, np.arange(4.0)[:, None], WAVES / np.linalg.norm(WAVES, axis=0)
)
LEVEL, RUNS, LOOKS, STEP = 0.1, 200, 12, 5


def line_bank(noise, strength=0.5):
    return library_bank(LIBRARY, [["line"]], {"line": [strength]}, deployment=product_grid(noise=[noise]))


def rows_of(rng, n, truth=1):
    return 0.5 * LIBRARY.responses[:, truth] + rng.standard_normal((n, 8))


def test_the_evidence_is_that_of_all_rows_so_far():
    bank, rows = line_bank(1.0), rows_of(np.random.default_rng(1), 60)
    running = RunningEvidence.begin({"deployment": (bank, Mean())})
    peaks = np.zeros(4)
    for start in range(0, 60, 20):
        running = running.after(rows[start : start + 20])
        read = rows[: start + 20]
        logs = np.array([-0.5 * ((read - 0.5 * LIBRARY.responses[:, e]) ** 2).sum() for e in range(4)])
        peaks = np.maximum(peaks, logsumexp(logs) - np.log(4) - logs)
        assert (running.peaks.lower <= peaks + 1e-9).all()
        assert (running.peaks.upper >= peaks - 1e-9).all()
        assert (running.peaks.upper - running.peaks.lower < 1e-6).all()
    assert running.n_rows == 60


def ever_lost(noise, runs, seed=3):
    """Runs in which the truth is rejected at any of the looks."""
    bank, rng, lost = line_bank(noise), np.random.default_rng(seed), 0
    for _ in range(runs):
        running = RunningEvidence.begin({"deployment": (bank, Mean())})
        for _ in range(LOOKS):
            running = running.after(rows_of(rng, STEP))
        # What is rejected at a look stays rejected, so that the last look tells of all.
        lost += int(running.judge(LEVEL).codes[1] == Verdict.REJECTED)
    return lost


def test_the_truth_is_ever_lost_in_at_most_the_level_of_the_runs():
    assert binom.sf(ever_lost(1.0, RUNS) - 1, RUNS, LEVEL) > 1e-6


def test_negative_control_looking_again_and_again_exposes_too_little_noise():
    assert binom.sf(ever_lost(0.25, 50) - 1, 50, LEVEL) < 1e-6


def peaks_of_sums(sums, step, noise, strength):
    """(..., 4) the largest log evidence against each over all looks, from sums (..., looks, 8) of the rows of each.

    Densities of Gaussian rows with one noise depend on them through their sum, but for what all of them share.
    """
    means = strength * LIBRARY.responses.T  # (4, 8)
    counts = step * np.arange(1, sums.shape[-2] + 1)[:, None]
    logs = (np.cumsum(sums, axis=-2) @ means.T - 0.5 * counts * (means**2).sum(axis=1)) / noise  # (..., looks, 4)
    against = logsumexp(logs, axis=-1, keepdims=True) - np.log(4) - logs
    return np.maximum(against.max(axis=-2), 0.0)


@pytest.mark.parametrize(("strength", "noise"), [(0.5, 1.0), (0.02, 1.0), (0.1, 0.25)])
def test_sums_of_rows_tell_what_update_computes(strength, noise):
    rows = strength * LIBRARY.responses[:, 1] + np.random.default_rng(11).standard_normal((700, 8))
    bank = line_bank(noise, strength)
    model = PhysicalSupport(bank, {"line": 0.5}, calibration=None, deployment="mean", alpha=LEVEL).fit()
    for start in range(0, 700, 100):
        report = model.update(rows[start : start + 100])
    peaks = peaks_of_sums(rows.reshape(7, 100, 8).sum(axis=1), 100, noise, strength)
    np.testing.assert_allclose(model._running.peaks.lower, peaks, atol=1e-6)
    np.testing.assert_allclose(model._running.peaks.upper, peaks, atol=1e-6)
    assert set(report.fields[0].cell) == {f"p{e + 1}" for e in np.flatnonzero(peaks < -np.log(LEVEL))}


def ever_lost_in_long_streams(noise, runs=2000, looks=1000, step=100, strength=0.02):
    """Runs of 100,000 rows, looked at after every 100, that ever reject the truth: sums are drawn, not rows.

    So weak a source is told from others after some tens of thousands of rows: there is much to be wrong about before.
    """
    lost, mean = 0, strength * LIBRARY.responses[:, 1]
    for part in range(20):
        rng = np.random.default_rng([5, part])
        sums = step * mean + np.sqrt(step) * rng.standard_normal((runs // 20, looks, 8))
        lost += int((peaks_of_sums(sums, step, noise, strength)[:, 1] >= -np.log(LEVEL)).sum())
    return lost


def test_a_stream_of_a_hundred_thousand_rows_is_ever_wrong_in_at_most_the_level_of_the_runs():
    assert binom.sf(ever_lost_in_long_streams(1.0) - 1, 2000, LEVEL) > 1e-6


def test_negative_control_the_same_count_exposes_a_noise_that_is_too_small():
    assert binom.sf(ever_lost_in_long_streams(0.25) - 1, 2000, LEVEL) < 1e-6


def test_reports_tighten_and_never_take_anything_back():
    model = PhysicalSupport(line_bank(1.0), {"line": 0.5}, calibration=None, deployment="mean", alpha=LEVEL).fit()
    rng, cells = np.random.default_rng(2), []
    for _ in range(8):
        report = model.update(rows_of(rng, 40))
        cells.append(set(report.fields[0].cell))
    assert all(later <= earlier for earlier, later in pairwise(cells))
    assert cells[-1] == {"p2"}
    assert str(report.fields[0].label) == "FINE"
    assert report.document["protocol"]["judge"]["streams"][0]["rows"] == 320
    again = model.fit().update(rows_of(rng, 1))
    assert set(again.fields[0].cell) == {"p1", "p2", "p3", "p4"}


def test_both_streams_grow_and_the_order_of_their_rows_does_not_matter_at_the_end(instrument):
    """What is reached at the last look is the sum of both streams, whichever of them was read first."""
    calibration, deployment = instrument.calibration, instrument.deployment
    model = PhysicalSupport(instrument.bank, alpha=LEVEL).fit(calibration[:60])
    model.update(deployment[:10])
    model.update(calibration=calibration[60:90])
    report = model.update(deployment[10:20], calibration=calibration[90:100])
    laws = {name: stream.law for name, stream in model._running.streams.items()}
    ends = {}
    for name, rows in (("calibration", calibration[:100]), ("deployment", deployment[:20])):
        alone = RunningEvidence.begin({name: (instrument.bank, laws[name])}).after(rows, name)
        ends[name] = alone.streams[name].log_evidence.lower
        np.testing.assert_allclose(model._running.streams[name].log_evidence.lower, ends[name], atol=1e-6)
    assert np.abs(ends["calibration"]).max() > 1.0
    assert (model._running.peaks.upper >= ends["calibration"] + ends["deployment"] - 1e-6).all()
    looks = report.document["protocol"]["judge"]["looks"]
    assert looks == [
        ["calibration", 60, 1], ["deployment", 10, 1], ["calibration", 30, 1], ["calibration", 10, 1],
        ["deployment", 10, 1],
    ]  # fmt: skip
    rows = {"calibration": calibration, "deployment": deployment}
    assert verify(report.document, rows).findings == ()
    rows["calibration"] = calibration[::-1]
    assert not verify(report.document, rows).is_verified  # negative control
    with pytest.raises(MisuseError, match="come with rows of a stream"):
        model.update()


def test_laws_with_open_coefficients_and_updates_before_a_fit_are_refused():
    model = PhysicalSupport(line_bank(1.0), {"line": 0.5}, calibration=None, deployment="mean")
    with pytest.raises(MisuseError, match="be fitted before rows arrive"):
        model.update(np.zeros((1, 8)))
    plan = StreamPlan(ProfiledMean(box=([0.1], [1.0])), 0.5)
    boxed = PhysicalSupport(line_bank(1.0), {"line": 0.5}, calibration=None, deployment=plan).fit()
    with pytest.raises(MisuseError, match="density under every explanation"):
        boxed.update(np.zeros((1, 8)))


def test_the_example_on_the_page_runs(capsys):
    page = (Path(__file__).parents[2] / "docs/evidence.md").read_text()
    exec(
        compile(
            page.split("## Rows that keep arriving")[1].split("```python")[1].split("```")[0], "evidence.md", "exec"
        ),
        {},
    )
    assert capsys.readouterr().out.splitlines()[-1] == "FINE ('p2',)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deployment": StreamPlan("mean", 0.5, opponent="free")}, "opponent must be left out"),
        ({"judge": BySimulation()}, "judge must be 'evidence'"),
    ],
)
def test_what_rows_that_arrive_cannot_have_is_refused_and_not_left_out(options, message):
    given = {"calibration": None, "deployment": "mean", "alpha": LEVEL} | options
    model = PhysicalSupport(line_bank(1.0), {"line": 0.5}, **given).fit()
    with pytest.raises(MisuseError, match=message):
        model.update(rows_of(np.random.default_rng(2), 40))
