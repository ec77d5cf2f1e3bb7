"""The best fit to counts is bracketed whatever the solver did, and the solver brings the ends together."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

from physupport.judges.counts import CountTable
from physupport.judges.counts._fit import GAP, MOST_STEPS, fit_all, log_supremum
from physupport.judges.counts._suprema import fitted


def problem(seed, channels=40, size=4, mean=20.0, width=3.0):
    """Lines over a constant, and counts that some of them made."""
    rng = np.random.default_rng(seed)
    lines = np.exp(-0.5 * ((np.arange(channels) - rng.uniform(0, channels, (size, 1))) / width) ** 2)
    columns = np.concatenate([lines, np.ones((1, channels))]) * rng.uniform(0.1, 10.0, (size + 1, 1))
    amounts = rng.exponential(size=size + 1) * (rng.random(size + 1) < 0.6)
    means = amounts @ columns
    return columns, rng.poisson(mean * channels * means / max(means.sum(), 1e-9)).astype(float)


def bounds(columns, counts, steps=MOST_STEPS, floor=-np.inf):
    seen, sums = counts > 0, columns.sum(axis=1)
    amounts, found = np.empty((1, len(columns))), np.empty((1, 2))
    members = np.arange(len(columns))[None]
    fit_all(np.ascontiguousarray(columns[:, seen]), sums, counts[seen], members, steps, floor, amounts, found)
    return amounts[0], *found[0]


def best(columns, counts):
    """Another way to the same maximum: a quasi-Newton method in logarithms of the amounts, from several starts."""

    def loss(logs):
        means = np.exp(logs) @ columns
        gradient = columns @ (1.0 - counts / means)
        return means.sum() - counts @ np.log(means), np.exp(logs) * gradient

    start = np.log(max(counts.sum(), 1.0) / columns.sum(axis=1) / len(columns))
    options = {"maxiter": 3000, "ftol": 1e-15, "gtol": 1e-10}
    return max(-minimize(loss, start + shift, jac=True, options=options, method="L-BFGS-B").fun for shift in (0, -3))


@pytest.mark.parametrize("seed", range(8))
def test_the_bounds_enclose_the_maximum_that_another_method_finds(seed):
    columns, counts = problem(seed, mean=[0.2, 3.0, 50.0, 1e4][seed % 4])
    _, lower, upper = bounds(columns, counts)
    assert lower <= upper
    found = best(columns, counts)
    # The other method gets within a few millionths of the maximum, from below.
    assert lower - 1e-4 <= found <= upper + 1e-9 * abs(upper)
    assert upper - lower <= GAP + 1e-12 * counts.size * np.abs(counts * 20).sum()


@given(st.integers(0, 10**6), st.sampled_from([0, 1, 2, 4]))
@settings(max_examples=60, deadline=None)
def test_a_fit_that_stops_early_has_wider_bounds_that_still_hold(seed, steps):
    columns, counts = problem(seed)
    _, lower, upper = bounds(columns, counts)
    _, early, above = bounds(columns, counts, steps)
    assert early <= upper
    assert lower <= above


@pytest.mark.parametrize("seed", range(4))
def test_a_fit_stops_only_once_it_is_known_to_stay_below_the_floor(seed):
    columns, counts = problem(seed)
    _, lower, upper = bounds(columns, counts)
    _, early, above = bounds(columns, counts, floor=upper + 50.0)
    assert early <= upper
    assert lower <= above < upper + 50.0
    assert bounds(columns, counts, floor=lower - 50.0)[1:] == (lower, upper)


@pytest.mark.parametrize("part", [1.2e-16, 1.0e-16])
def test_bounds_hold_for_columns_whose_small_parts_a_running_sum_rounds_alike(part):
    """Added one by one, all of them round up, or all of them away; far more channels than have counts."""
    column = np.full((300_000, 2), part)
    column[0] = 1.0
    counts = np.zeros(len(column))
    counts[0] = 1e6
    table = CountTable(column, [(0,)])
    _, ((lower, upper),) = fitted(table, counts, table.members)
    # One column has one best amount: all counts are its own.
    exact = 1e6 * (np.log(1e6) - np.log1p(299_999 * part)) - 1e6
    assert lower - 1e-8 <= exact <= upper + 1e-8  # of the reference itself
    assert upper - lower < 1e-6


def test_dependent_and_useless_columns_do_no_harm():
    columns, counts = problem(3)
    _, lower, _ = bounds(columns, counts)
    twice = np.concatenate([columns, columns, columns[:1] + columns[1:2]])
    _, other, upper = bounds(twice, counts)
    assert upper - other < 1e-6
    assert other == pytest.approx(lower, abs=1e-6)


def test_no_counts_are_best_explained_by_no_amounts():
    columns, counts = problem(0)
    assert bounds(columns, np.zeros_like(counts))[1:] == (0.0, 0.0)


def test_counts_that_no_column_reaches_are_impossible():
    columns = np.array([[1.0, 1.0, 0.0]])
    assert bounds(columns, np.array([1.0, 2.0, 1.0]))[1:] == (-np.inf, -np.inf)


@pytest.mark.parametrize("seed", range(4))
def test_balls_lie_within_the_bounds_and_close_in_on_the_maximum(seed):
    columns, counts = problem(seed, mean=5.0)
    amounts, lower, upper = bounds(columns, counts)
    radii = []
    for bits in (64, 128, 256):
        ball = log_supremum(columns, counts, amounts, bits)
        assert lower <= float(ball.lower())
        assert float(ball.upper()) <= upper
        radii.append(float(ball.rad()))
    assert radii[-1] < 1e-30 < radii[0]
