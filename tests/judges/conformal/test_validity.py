"""The truth is lost in at most the level of the data sets if units are units, and far more often if spectra are."""

import numpy as np
import pytest
from scipy.stats import binom

from physupport.judges import Verdict
from physupport.judges.conformal import ByConformal, Replicates

LEVEL, RUNS, CHANNELS = 0.1, 200, 20
# Fewer than one in a million seeds would fail a valid judge, or save a broken one.
UNLUCKY = 1e-6
pytestmark = pytest.mark.slow


def lost(run, *, are_spectra_units=False, are_apart=False, share=None, pool=None, n_units=9, noise=None):
    """True if the element that made the signal is rejected; units hold all elements and colour them alike, or one."""
    rng = np.random.default_rng(run)
    shapes = 1.0 + 0.5 * rng.random((2, CHANNELS))
    colours = 1.0 + 0.1 * rng.standard_normal((2 if are_apart else 1, n_units + 1, CHANNELS))
    colours = np.broadcast_to(colours, (2, n_units + 1, CHANNELS))  # of an element in a unit
    places = [(e, k) for e in range(2) for k in range(n_units) for _ in range(rng.integers(1, 5))]
    own = {place: 0.1 * rng.standard_normal(CHANNELS) for place in places}  # of an element in a unit
    spectra = [shapes[e] * colours[e, k] + own[e, k] + 0.02 * rng.standard_normal(CHANNELS) for e, k in places]
    signal = shapes[0] * colours[0, -1] + 0.1 * rng.standard_normal(CHANNELS) + 0.02 * rng.standard_normal(CHANNELS)
    units = tuple(str((e, k) if are_apart else i if are_spectra_units else k) for i, (e, k) in enumerate(places))
    data = Replicates(np.array(spectra), tuple("ab"[e] for e, _ in places), units)
    judge = ByConformal(data, share=share, pool=pool, noise=noise).judge(signal, LEVEL)
    return judge.verdicts(np.array([0])).codes[0] == Verdict.REJECTED


@pytest.mark.parametrize(
    "spec",
    [{}, {"noise": (0.0,)}, {"are_apart": True}, {"are_apart": True, "noise": (0.0,)}, {"share": 0.5, "n_units": 19}],
    ids=str,
)
def test_the_element_is_lost_in_at_most_the_level_of_the_data_sets(spec):
    count = sum(lost(run, **spec) for run in range(RUNS))
    assert binom.sf(count - 1, RUNS, LEVEL) > UNLUCKY


def test_negative_control_the_same_count_exposes_spectra_that_are_taken_for_units():
    count = sum(lost(run, are_spectra_units=True, noise=(0.0,)) for run in range(RUNS))
    assert binom.sf(count - 1, RUNS, LEVEL) < UNLUCKY
