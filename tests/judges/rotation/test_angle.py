"""Responses that are right up to an angle, and rivals that are thinned out: the truth is lost at the level at most."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from physupport import MisuseError
from physupport.judges import Verdict
from physupport.judges.rotation import Companions, Rotation, RotationTable

RUNS, LEVEL, CHANNELS, PLACES = 200, 0.1, 40, 80
AXIS = np.linspace(0.0, 1.0, CHANNELS)


def spans(places):
    """Two columns for each place, as of a dipole in a plane."""
    apart = (AXIS[:, None] - places) / 0.12
    return np.stack([np.exp(-0.5 * apart**2), apart * np.exp(-0.5 * apart**2)], axis=2).reshape(CHANNELS, -1)


TABLE = RotationTable(
    spans(np.linspace(0.05, 0.95, PLACES)),
    [(2 * i, 2 * i + 1) for i in range(PLACES)],
    names=tuple(str(i // 2) for i in range(2 * PLACES)),
)


def losses(spec, rho, sine=0.0, noise=1.0):
    """How often a truth is rejected that lies off its span by an angle, towards a neighbour's rival direction."""
    rng = np.random.default_rng(8)
    lost = 0
    for _ in range(RUNS):
        place = int(rng.integers(5, PLACES - 5))
        basis = spec.table.bases[place]
        mean = rng.standard_normal(2) @ basis
        mean *= rho * np.sqrt(1.0 - sine**2) / np.linalg.norm(mean)
        beside = spec.table.bases[place + 3][0] - spec.table.bases[place + 3][0] @ basis.T @ basis
        mean = mean + rho * sine * beside / np.linalg.norm(beside)
        row = mean + noise * rng.standard_normal(CHANNELS)
        lost += spec.judge(row, LEVEL).verdicts(np.array([place])).codes[0] == Verdict.REJECTED
    return lost


@pytest.mark.parametrize("sigma", [None, 1.0])
def test_a_truth_within_the_angle_is_kept_and_exact_spans_lose_it(sigma):
    """Off by 2.25 standard deviations, sine .15 at a strength of 15."""
    exact = Rotation(TABLE, seed=1, draws=199, sigma=sigma)
    wide = replace(exact, errors=np.full(PLACES, 0.15))
    assert binom.sf(losses(wide, 15.0, 0.15) - 1, RUNS, LEVEL) > 1e-6
    assert binom.sf(losses(exact, 15.0, 0.15) - 1, RUNS, LEVEL) < 1e-6  # the control
    assert losses(wide, 15.0, 0.95) > RUNS / 2  # what lies far beyond is still rejected


@pytest.mark.parametrize("rho", [0.0, 6.0, 15.0])
def test_thinned_rivals_keep_the_truth(rho):
    spec = Rotation(TABLE, seed=1, draws=199, rivals=50)
    assert binom.sf(losses(spec, rho) - 1, RUNS, LEVEL) > 1e-6


def test_thinned_rivals_lose_the_truth_of_coloured_noise_and_reject_what_others_do():
    """The control, by noise that the table is strong in; and the power of fifty rivals beside that of all."""
    spec = Rotation(TABLE, seed=1, draws=199, rivals=50)
    rng = np.random.default_rng(9)
    smooth = spans(np.linspace(0.0, 1.0, 12))
    lost, kept = 0, {"all": 0, "few": 0}
    for _ in range(60):
        place = int(rng.integers(5, PLACES - 5))
        signal = 20.0 * TABLE.bases[place][0]
        row = signal + 3.0 * smooth @ rng.standard_normal(24) + rng.standard_normal(CHANNELS)
        lost += spec.judge(row, LEVEL).verdicts(np.array([place])).codes[0] == Verdict.REJECTED
        row = signal + rng.standard_normal(CHANNELS)
        for name, each in (("few", spec), ("all", replace(spec, rivals=None))):
            kept[name] += (each.judge(row, LEVEL).verdicts(np.arange(PLACES)).codes != Verdict.REJECTED).sum()
    assert binom.sf(lost - 1, 60, LEVEL) < 1e-6
    assert kept["all"] / 2 < kept["few"] < 2 * kept["all"]


def test_no_error_judges_as_before_and_larger_ones_keep_more():
    row = 12.0 * TABLE.bases[30][0] + np.random.default_rng(2).standard_normal(CHANNELS)
    kept = []
    for error in (0.0, 0.05, 0.2, 0.9):
        spec = Rotation(TABLE, seed=1, draws=999, errors=np.full(PLACES, error))
        kept.append((spec.judge(row, LEVEL).verdicts(np.arange(PLACES)).codes != Verdict.REJECTED).sum())
    assert kept == sorted(kept)
    assert kept[0] < kept[2]
    assert kept[-1] == PLACES  # nothing is known of the strength


def test_pairs_of_elements_that_cancel_have_a_larger_error_together():
    columns = spans(np.array([0.3, 0.33, 0.8]))
    table = RotationTable(columns, [(0, 1), (0, 1, 2, 3), (0, 1, 4, 5)], names=tuple("aabbcc"))
    rows = Rotation(table, seed=1, errors=np.full(3, 0.1)).judge(columns[:, 0], LEVEL).rows
    alone, near, far = rows.stretches(np.arange(3))
    assert alone == 1.0
    assert 1.4 < far < 1.6  # at right angles, root of two
    # The largest of |A x| + |B y| over |A x + B y|, found by looking.
    rng = np.random.default_rng(0)
    drawn = rng.standard_normal((20000, 4)) * np.array([1.0, 0.3, 1.0, 0.3]) * np.array([1, 1, -1, -1])
    one, other = drawn[:, :2] @ columns[:, :2].T, drawn[:, 2:] @ columns[:, 2:4].T
    parts = np.linalg.norm(one, axis=1) + np.linalg.norm(other, axis=1)
    seen = (parts / np.linalg.norm(drawn @ columns[:, :4].T, axis=1)).max()
    assert seen <= near
    assert near > 2.0


def test_angles_need_rows_of_one_mean_and_sines():
    with pytest.raises(MisuseError, match="errors must be sines from 0 to below 1"):
        Rotation(TABLE, errors=np.full(PLACES, 1.5))
    with pytest.raises(MisuseError, match="errors must go with rows of one mean"):
        Rotation(TABLE, rows="free", errors=np.full(PLACES, 0.1))
    with pytest.raises(MisuseError, match="errors must go without bounds"):
        Rotation(TABLE, errors=np.full(PLACES, 0.1), companions=Companions(least=1.0))
    with pytest.raises(MisuseError, match="rivals must be a whole number at least 50"):
        Rotation(TABLE, rivals=3)
