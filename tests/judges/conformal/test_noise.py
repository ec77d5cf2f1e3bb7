"""Noise that a signal has and replicates have not is measured and added: what is there is not lost for its noise."""

import numpy as np
import pytest
from scipy.stats import binom

from physupport.judges import Verdict
from physupport.judges.conformal import ByConformal, Replicates
from physupport.judges.conformal._replicates import MeasuredNoise

LEVEL, RUNS, AXIS = 0.1, 200, np.arange(60.0)
# Fewer than one in a million seeds would fail a valid judge, or save a broken one.
UNLUCKY = 1e-6


def shape(place, unit):
    """A line over a slope, which instruments widen and tilt."""
    rng = np.random.default_rng([int(place), unit])
    width, tilt = 4.0 + 0.3 * rng.standard_normal(), 0.1 * rng.standard_normal()
    return np.exp(-0.5 * ((AXIS - place) / width) ** 2) * (1.0 + tilt * AXIS / 60.0)


def replicates(rng, noise=0.002, first=0):
    listed = [(name, place, k) for name, place in (("a", 20), ("b", 24), ("c", 40)) for k in range(12)]
    spectra = [shape(place, first + k) + noise * rng.standard_normal(60) for _, place, k in listed]
    return Replicates(np.array(spectra), tuple(n for n, *_ in listed), tuple(f"{n} {k}" for n, _, k in listed))


def lost(run, noise, scale=1.0, added=None):
    rng = np.random.default_rng(run)
    data, signal = replicates(rng, first=1000 * run), shape(20, 1000 * run + 99) + noise * rng.standard_normal(60)
    judge = ByConformal(data, noise=added, seed=run).judge(scale * signal, LEVEL)
    return judge.verdicts(np.array([0])).codes[0] == Verdict.REJECTED


@pytest.mark.parametrize(("noise", "scale"), [(0.002, 1.0), (0.03, 1.0), (0.1, 250.0)])
def test_what_is_there_is_lost_in_at_most_the_level_of_the_data_sets(noise, scale):
    count = sum(lost(run, noise, scale) for run in range(RUNS))
    assert binom.sf(count - 1, RUNS, LEVEL) > UNLUCKY


def test_negative_control_without_added_noise_it_is_lost_far_more_often():
    count = sum(lost(run, 0.1, added=(0.0,)) for run in range(RUNS))
    assert binom.sf(count - 1, RUNS, LEVEL) < UNLUCKY


def test_deviations_are_measured_whatever_the_scale_of_the_signal():
    rng = np.random.default_rng(5)
    data = replicates(rng)
    for scale in (1.0, 1e4):
        signal = scale * (shape(20, 99) + 0.05 * rng.standard_normal(60))
        found = MeasuredNoise.of(data, signal)
        assert found.signal == pytest.approx(0.05 * scale, rel=0.4)  # the median of 58 differences
        assert found.replicates == pytest.approx(0.003 * scale, rel=0.5)  # beside a reference that is as noisy
        assert (found.added > 0.05).all()  # replicates are of size 1; too little would lose what is there
        assert found.added.max() < 0.15
    quiet = MeasuredNoise.of(data, shape(20, 99) + 0.0005 * rng.standard_normal(60))
    assert quiet.added.max() < 0.005


def test_what_is_not_there_is_excluded_all_the_same():
    rng = np.random.default_rng(6)
    judge = ByConformal(replicates(rng)).judge(shape(20, 99) + 0.05 * rng.standard_normal(60), LEVEL)
    assert judge.verdicts(np.arange(3)).codes.tolist() == [0, 1, 1]
