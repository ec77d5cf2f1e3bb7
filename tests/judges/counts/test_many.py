"""Tables with many columns: bounds that stop where they decide, beside full fits of the same columns."""

import numpy as np
import pytest

from physupport.judges import Verdict
from physupport.judges.counts import ByCounts, CountTable, _many
from physupport.judges.counts._suprema import suprema_of

N = 160
RNG = np.random.default_rng(3)
PLACES = np.linspace(4.0, 156.0, 45)
AXIS = np.arange(N)
LINES = np.exp(-0.5 * ((AXIS[:, None] - PLACES) / 1.7) ** 2) + 0.4 * np.exp(
    -0.5 * ((AXIS[:, None] - RNG.permutation(PLACES)) / 1.7) ** 2
)
LINES /= LINES.sum(axis=0)
PIECES = np.kron(np.eye(16), np.ones((10, 1)))
LOCAL = np.hstack([PIECES * (0.1 + AXIS[:, None] % 10), PIECES * (9.1 - AXIS[:, None] % 10)])
TRUTH = (4, 17, 30)


def counts(scale=400.0, seed=0):
    means = LINES[:, TRUTH] @ np.array([9.0, 6.0, 0.5]) * scale + LOCAL @ np.linspace(0.5, 2.0, 32) * scale / 400.0
    return np.random.default_rng(seed).poisson(means)


def table(error=None):
    band = None if error is None else (LINES * (1.0 - error), LINES * (1.0 + error))
    everything = range(LINES.shape[1])
    supports = (tuple(everything), *(tuple(k for k in everything if k != j) for j in everything))
    return CountTable(LINES, supports, LOCAL, band)


@pytest.mark.parametrize("error", [None, 0.05])
def test_bounds_that_decide_hold_what_full_fits_find(error):
    listed = table(error)
    assert _many.has_many_columns(listed)
    judge = ByCounts(n_splits=1).judge(listed, counts(), 0.05, seed=1)
    for trial in judge.trials:
        full = suprema_of(listed, listed.ends, trial.counts, None, listed.members)
        assert (trial.log_sup[:, 0] <= full[:, 1]).all()
        assert (full[:, 0] <= trial.log_sup[:, 1]).all()


@pytest.mark.parametrize("error", [None, 0.05])
def test_the_strong_lines_are_certain_and_no_absent_one_is(error):
    codes = ByCounts().judge(table(error), counts(), 0.05, seed=1).verdicts(np.arange(46)).codes
    certain = np.flatnonzero(codes[1:] == Verdict.REJECTED)
    assert codes[0] == Verdict.ADMISSIBLE
    assert not (codes == Verdict.INDETERMINATE).any()
    assert {4, 17} <= {*certain.tolist()} <= {*TRUTH}


def test_verdicts_agree_with_those_of_full_fits_of_every_explanation(monkeypatch):
    listed = table(0.05)
    found = ByCounts(n_splits=1).judge(listed, counts(60.0), 0.05, seed=1)
    monkeypatch.setattr(_many, "MANY_COLUMNS", 1000)
    full = ByCounts(n_splits=1).judge(listed, counts(60.0), 0.05, seed=1)
    everything = np.arange(46)
    assert (found.verdicts(everything).codes == full.verdicts(everything).codes).all()


def test_a_fit_to_the_end_closes_the_gap():
    listed = table(0.05)
    half = _many.Half.of(listed.ends, counts().astype(float))
    least, most = half.fit(listed.members[0], np.zeros(len(listed.columns)))
    assert 0.0 <= most - least < 1e-6  # what rounding adds to a gap of 1e-7
    assert most <= half.most


@pytest.mark.parametrize("error", [1e-15, 1e-11, 1e-7])
def test_bands_of_hardly_any_width_are_fitted_as_exact_columns_are(error):
    listed = table(error)
    half = _many.Half.of(listed.ends, counts(5.0).astype(float) + 20.0)
    least, most = half.fit(listed.members[0], np.zeros(len(listed.columns)))
    assert 0.0 <= most - least < 1e-3  # a millionth of each width is left out of the fit, and not of its bounds


def test_a_library_that_lacks_a_strong_source_is_rejected_as_a_whole():
    listed = table(0.02)
    rng = np.random.default_rng(5)
    odd = counts() + rng.poisson(3000.0 * np.exp(-0.5 * ((AXIS - 82.0) / 6.0) ** 2))
    codes = ByCounts().judge(listed, odd, 0.05, seed=1).verdicts(np.arange(46)).codes
    assert (codes == Verdict.REJECTED).all()
