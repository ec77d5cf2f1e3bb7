"""The truth is rejected in at most the level of the data sets, and the same count exposes what breaks the rules."""

import os

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom

from physupport.judges import Verdict
from physupport.judges.rotation import Companions, Rotation, RotationTable, ordered_axis, scanned
from physupport.laws import whitening

LEVEL, RUNS = 0.1, 100
# `PHYSUPPORT_RUNS=3000 pytest tests/judges/rotation` counts over so many data sets of each kind.
ALL_RUNS = int(os.environ.get("PHYSUPPORT_RUNS", "0"))
# Fewer than one in a million seeds would fail a valid judge, or save a broken one.
UNLUCKY = 1e-6
pytestmark = pytest.mark.slow


def spectrum(tools, n=20):
    """One spectrum of 64 channels: a line out of twenty over a cubic baseline, or one of ten pairs."""
    supports = [(i,) for i in range(n)] + [(i, i + 5) for i in range(10)]
    return RotationTable(tools.make_lines(64, n, 3.0), supports, tools.polynomial(64, 3))


def epochs(tools):
    """20 epochs of 16 channels with a free reference, one of thirty places."""
    rng = np.random.default_rng(1)
    smooth = np.cumsum(rng.standard_normal((16, 30)), axis=1)
    return RotationTable(smooth, [(i,) for i in range(30)], np.ones((16, 1)))


def snapshots(tools):
    """An array of 8 sensors, pairs out of nine directions 4 degrees apart."""
    angles = np.sin(np.deg2rad(np.linspace(-16, 16, 9)))
    steering = np.exp(1j * np.pi * np.outer(np.arange(8), angles))
    return RotationTable(steering, [(i, j) for i in range(9) for j in range(i)])


def normal(rng, shape, is_complex):
    real = rng.standard_normal(shape)
    return (real + 1j * rng.standard_normal(shape)) / np.sqrt(2) if is_complex else real


def mean_rows(table, rng, truth, n_rows, noise=lambda rng, shape: rng.standard_normal(shape)):
    columns = np.concatenate([table.atoms[:, list(table.supports[truth])], table.background], axis=1)
    signal = columns / np.linalg.norm(columns, axis=0) @ rng.uniform(1.0, 5.0, columns.shape[1])
    return signal / np.sqrt(n_rows) + noise(rng, (n_rows, len(columns)))


def snapshot_rows(table, rng, truth, correlation=0.9, n_rows=32):
    """Two sources whose waveforms are correlated."""
    first, other = normal(rng, n_rows, True), normal(rng, n_rows, True)
    waveforms = np.stack([first, correlation * first + np.sqrt(1 - correlation**2) * other])
    signal = rng.uniform(0.2, 0.8) * waveforms.T @ table.atoms[:, list(table.supports[truth])].T
    return signal + normal(rng, (n_rows, len(table.atoms)), True)


def losses(judge_of, runs=RUNS):
    """How often the truth is rejected: judge_of(run) gives a judge and the truth."""
    lost = 0
    for run in range(runs):
        judge, truth = judge_of(run)
        lost += int(judge.verdicts(np.array([truth])).codes[0] == Verdict.REJECTED)
    return lost


def is_allowed(lost, runs=RUNS):
    return binom.sf(lost - 1, runs, LEVEL) > UNLUCKY


@pytest.mark.parametrize("kind", ["spectrum", "spectrum, noise known", "epochs", "snapshots"])
def test_the_truth_is_lost_in_at_most_the_level_of_the_data_sets(kind, tools):
    table = {"spectrum": spectrum, "epochs": epochs, "snapshots": snapshots}[kind.split(",")[0]](tools)
    outsiders = {
        "spectrum": lambda: ordered_axis(64),
        "epochs": lambda: scanned(np.random.default_rng(2).standard_normal((16, 40))),
        "snapshots": lambda: scanned(np.exp(1j * np.pi * np.outer(np.arange(8), np.linspace(-0.9, 0.9, 37)))),
    }[kind.split(",")[0]]()
    runs = ALL_RUNS or RUNS
    sigma = 1.0 if "known" in kind else None

    def judge_of(run):
        rng = np.random.default_rng([5, run])
        truth = int(rng.integers(table.size))
        rows = (
            snapshot_rows(table, rng, truth)
            if kind == "snapshots"
            else mean_rows(table, rng, truth, 20 if kind == "epochs" else 1)
        )
        way = "free" if kind == "snapshots" else "same mean"
        return Rotation(table, way, run, 199, 499, sigma=sigma, outsiders=outsiders).judge(rows, LEVEL), truth

    lost = losses(judge_of, runs)
    assert is_allowed(lost, runs)
    assert binom.cdf(lost, runs, LEVEL / 4) > UNLUCKY  # the level is used, not merely kept


def test_a_whitened_row_of_coloured_noise_is_judged_at_its_level(tools):
    table = spectrum(tools)
    covariance = 0.5 ** np.abs(np.subtract.outer(np.arange(64), np.arange(64)))
    whitener = whitening(covariance)
    whitened, factor = table.whitened(whitener), np.linalg.cholesky(covariance)

    def judge_of(run):
        rng = np.random.default_rng([6, run])
        truth = int(rng.integers(table.size))
        rows = mean_rows(table, rng, truth, 1, lambda rng, shape: (factor @ rng.standard_normal(shape).T).T)
        return Rotation(whitened, seed=run, draws=199).judge(rows @ whitener.T, LEVEL), truth

    assert is_allowed(losses(judge_of))


def correlated(rng, shape):
    return lfilter([1.0], [1.0, -0.8], rng.standard_normal((shape[0], shape[1] + 50)), axis=1)[:, 50:]


def test_negative_control_the_same_count_exposes_correlated_noise_without_a_gate(tools):
    table = spectrum(tools)

    def judge_of(run):
        rng = np.random.default_rng([7, run])
        truth = int(rng.integers(table.size))
        return Rotation(table, seed=run, draws=199).judge(mean_rows(table, rng, truth, 1, correlated), LEVEL), truth

    assert not is_allowed(losses(judge_of))


def test_negative_control_the_same_count_exposes_too_small_a_noise_level(tools):
    table = spectrum(tools)

    def judge_of(run):
        rng = np.random.default_rng([8, run])
        truth = int(rng.integers(table.size))
        return Rotation(table, seed=run, draws=199, sigma=0.5).judge(mean_rows(table, rng, truth, 1), LEVEL), truth

    assert not is_allowed(losses(judge_of))


@pytest.mark.parametrize(("noise", "is_valid"), [(1.0, True), (1.5, False)], ids=["within", "beyond: a control"])
def test_companions_keep_the_level_together_with_the_rotations(noise, is_valid, tools):
    """Coefficients at the end of their box and the noise at its largest, where the tests are least conservative."""
    table = RotationTable(tools.make_lines(64, 20, 3.0), [(i,) for i in range(20)], tools.polynomial(64, 3))
    companions = Companions(low=0.0, high=2.0, least=2.0, largest_noise=1.0, share=0.6)

    def judge_of(run):
        rng = np.random.default_rng([9, run])
        truth = int(rng.integers(table.size))
        rows = 2.0 * table.atoms[:, truth] + noise * rng.standard_normal(64)
        return Rotation(table, seed=run, draws=199, companions=companions).judge(rows, LEVEL), truth

    lost = losses(judge_of)
    assert is_allowed(lost) == is_valid
    assert lost > 0
