"""Fits of responses within bands: proven bounds against an independent optimiser, and the laws that widths obey."""

from fractions import Fraction
from itertools import pairwise
from math import fsum

import numpy as np
import pytest
from flint import arb, ctx
from scipy.optimize import minimize

from physupport.judges.counts._bands import fit_bands
from physupport.judges.counts._fit import MOST_STEPS, fit_all
from physupport.laws._design import response_band

CHANNELS = np.arange(200)
ALL = (-np.inf, np.inf)  # no supremum decides anything


def lines(rng, count):
    """(count + 1, q) columns of one to four lines each, and a flat one."""
    columns = np.full((count + 1, len(CHANNELS)), 0.02)
    for column in columns[:-1]:
        column[:] = 0.0
        for centre in rng.uniform(5, 195, rng.integers(1, 5)):
            column += rng.uniform(0.2, 1.0) * np.exp(-0.5 * ((CHANNELS - centre) / 4.0) ** 2)
    return columns


def banded(columns, error, is_relative):
    """Bands of the lines, relative to each value or to the largest; the flat column is exact."""
    size = columns if is_relative else columns.max(axis=1, keepdims=True)
    half = np.where(np.arange(len(columns))[:, None] < len(columns) - 1, error * size, 0.0)
    return np.maximum(columns - half, 0.0), columns + half


def counted(rng, columns, total):
    amounts = rng.exponential(size=len(columns)) * (rng.random(len(columns)) < 0.7)
    amounts[-1] = 0.5
    wrong = columns * np.exp(0.03 * rng.standard_normal(columns.shape))
    means = amounts @ wrong
    return rng.poisson(total * means / means.sum()).astype(float)


def bounds_of(lower, upper, counts, steps=MOST_STEPS, decided=ALL):
    seen = counts > 0.0
    members = np.arange(len(lower))[None]
    found = np.empty((1, 2))
    narrow = [np.ascontiguousarray(band[:, seen]) for band in (lower, upper)]
    unseen = np.array([fsum(row) for row in lower[:, ~seen]]) * (1.0 - 2.0**-41)
    rests = np.zeros((1, len(lower), 2)), unseen[None]
    fit_bands(*narrow, *rests, upper.sum(axis=1), counts[seen], members, steps, decided, found)
    return found[0]


def largest(lower, upper, counts):
    """The supremum by a quasi-Newton search from equal amounts."""

    def negative(amounts):
        least, most = amounts @ lower, amounts @ upper
        means = np.clip(counts, least, most)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(counts > 0.0, counts / means, 0.0)
            value = np.where(counts > 0.0, counts * np.log(means), 0.0) - means
        slope = lower @ np.where(counts < least, ratio - 1.0, 0.0) + upper @ np.where(counts > most, ratio - 1.0, 0.0)
        return -value.sum(), -slope

    ends = [(1e-12 * counts.sum(), None)] * len(lower)
    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-10}
    start = counts.sum() / len(upper) / upper.sum(axis=1)
    return -minimize(negative, start, jac=True, method="L-BFGS-B", bounds=ends, options=options).fun


@pytest.mark.parametrize("seed", range(60))
def test_bounds_hold_what_another_optimiser_finds_and_nearly_meet(seed):
    rng = np.random.default_rng(seed)
    columns = lines(rng, int(rng.integers(1, 8)))
    counts = counted(rng, columns, 10 ** rng.uniform(1.0, 6.5))
    lower, upper = banded(columns, rng.choice([0.0, 0.001, 0.01, 0.05, 0.2, 0.6]), rng.random() < 0.5)
    low, high = bounds_of(lower, upper, counts)
    assert largest(lower, upper, counts) <= high + 1e-9 * counts.sum() + 1e-6  # of the search: its sums
    assert high - low < 0.01  # in units of log likelihood, of which a verdict at .05 takes 3


@pytest.mark.parametrize("seed", range(10))
def test_bands_without_width_have_the_bounds_of_exact_columns(seed):
    rng = np.random.default_rng(seed)
    columns = lines(rng, 3)
    counts = counted(rng, columns, 1e4)
    seen = counts > 0.0
    exact = np.empty((1, 2))
    members = np.arange(len(columns))[None]
    narrow = np.ascontiguousarray(columns[:, seen])
    amounts = np.empty(members.shape)
    fit_all(narrow, columns.sum(axis=1), counts[seen], members, MOST_STEPS, -np.inf, amounts, exact)
    low, high = bounds_of(columns, columns, counts)
    assert low <= exact[0, 1]
    assert exact[0, 0] <= high
    assert abs(high - exact[0, 1]) < 1e-5


@pytest.mark.parametrize("is_relative", [True, False])
def test_a_wider_band_never_fits_worse(is_relative):
    rng = np.random.default_rng(5)
    columns = lines(rng, 4)
    counts = counted(rng, columns, 1e5)
    bounds = [bounds_of(*banded(columns, error, is_relative), counts) for error in (0.0, 0.01, 0.03, 0.1, 0.3)]
    for (low, _), (_, high) in pairwise(bounds):
        assert low <= high
    saturated = (counts[counts > 0] * np.log(counts[counts > 0])).sum() - counts.sum()
    assert bounds[-1][0] <= saturated + 1e-6


@pytest.mark.parametrize("seed", range(20))
def test_fits_that_are_broken_off_bound_the_same_supremum_less_closely(seed):
    rng = np.random.default_rng(seed)
    columns = lines(rng, 5)
    counts = counted(rng, columns, 3e4)
    lower, upper = banded(columns, 0.05, False)
    best, _ = bounds_of(lower, upper, counts)
    for steps in range(12):
        low, high = bounds_of(lower, upper, counts, steps)
        assert low <= best + 1e-9
        assert best <= high


@pytest.mark.parametrize("seed", range(6))
def test_fits_that_are_broken_off_once_decided_are_on_the_right_side(seed):
    rng = np.random.default_rng(seed)
    columns = lines(rng, 5)
    counts = counted(rng, columns, 3e4)
    lower, upper = banded(columns, 0.05, False)
    best, _ = bounds_of(lower, upper, counts)
    for away in (-30.0, -1.0, -0.1, 0.1, 1.0, 30.0):
        below, above = (best + away, np.inf), (-np.inf, best + away)
        low, high = bounds_of(lower, upper, counts, decided=below)
        assert low <= best + 1e-6 <= high + 2e-6
        assert (high < best + away) == (away > 0.0)
        low, high = bounds_of(lower, upper, counts, decided=above)
        assert low <= best + 1e-6 <= high + 2e-6
        assert (low > best + away) == (away < 0.0)


def test_an_explanation_without_columns_explains_no_counts():
    counts = np.array([3.0, 2.0])
    found = np.empty((2, 2))
    bands = np.ones((1, 2)), np.ones((1, 2)), np.zeros((2, 1, 2)), np.zeros((2, 1)), np.full(1, 2.0)
    fit_bands(*bands, counts, np.array([[-1], [0]]), MOST_STEPS, ALL, found)
    assert found[0].tolist() == [-np.inf, -np.inf]
    assert np.isfinite(found[1]).all()


def test_amounts_without_a_bound_give_no_upper_bound_and_no_error():
    """A response that may be 0 in every channel that is seen, and elsewhere is made likelier by more of it."""
    found = np.empty((1, 2))
    bands = np.zeros((1, 3)), np.ones((1, 3)), np.zeros((1, 1, 2)), np.full((1, 1), -1e-3), np.full(1, 3.0)
    fit_bands(*bands, np.array([5.0, 3.0, 4.0]), np.array([[0]]), MOST_STEPS, ALL, found)
    assert found[0, 1] == np.inf


def test_counts_that_no_column_reaches_are_impossible():
    columns = np.array([[1.0, 1.0, 0.0]])
    bounds = bounds_of(columns, 1.1 * columns, np.array([3.0, 2.0, 1.0]))
    assert bounds.tolist() == [-np.inf, -np.inf]


def test_a_column_that_is_tiny_in_a_channel_reaches_it():
    """An entry over the sum of its column underflows, and is not taken for nothing."""
    _, high = bounds_of(np.array([[1e20, 0.0]]), np.array([[1e20, 1e-310]]), np.array([3.0, 1.0]))
    assert high > -760.0  # 3 log m_1 - m_1 + log m_2 at an amount of 4e-20


@pytest.mark.parametrize("channels", [10**3, 10**5])
def test_the_bound_of_one_count_in_many_channels_is_above_the_supremum(channels):
    """With one count in a channel of value a and sums S of the column, the best amount is 1 / S: log(a / S) - 1."""
    column = np.random.default_rng(1).uniform(0.1, 1.0, (1, channels))
    counts = np.zeros(channels)
    counts[7] = 1.0
    low, high = bounds_of(column, column, counts)
    with ctx.workprec(200):
        exact = float(arb(column[0, 7]).log() - sum(map(arb, column[0].tolist()), arb(0)).log() - 1)
    assert low <= exact <= high
    assert high - low < 1e-9


def test_a_band_holds_what_it_should_in_exact_arithmetic():
    rng = np.random.default_rng(2)
    columns = rng.uniform(0.0, 1.0, (50, 4))
    size = columns.max(axis=0)
    for error in rng.uniform(0.0, 1.0, 40):
        low, high = response_band(columns, error * size)
        for (i, j), value in np.ndenumerate(columns):
            half = Fraction(error) * Fraction(size[j])
            assert Fraction(low[i, j]) <= max(Fraction(value) - half, 0)
            assert Fraction(value) + half <= Fraction(high[i, j])
