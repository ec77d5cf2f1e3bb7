"""Sums that are rounded to the safe side, and scores that are remembered without being changed by it."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings, strategies as st

from physupport import MisuseError
from physupport.judges import Bounds
from physupport.judges._evidence import (
    ScoredKeys,
    ball_bounds,
    log_mean,
    score_bounds,
    sum_down,
    sum_up,
    threshold_ball,
    threshold_bounds,
)
from physupport.laws import Scores

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
LARGEST = float(np.finfo(np.float64).max)


@settings(max_examples=300)
@given(FLOATS, FLOATS)
def test_sums_are_rounded_down_and_up_and_no_further_than_needed(a, b):
    exact = Fraction(a) + Fraction(b)
    below, above = float(sum_down(np.array(a), np.array(b))), float(sum_up(np.array(a), np.array(b)))
    if np.isfinite(below):
        assert Fraction(below) <= exact
        assert Fraction(np.nextafter(np.nextafter(below, np.inf), np.inf)) > exact if below < LARGEST / 2 else True
    else:
        assert exact < -LARGEST
    if np.isfinite(above):
        assert Fraction(above) >= exact
    else:
        assert exact > LARGEST
    if Fraction(a + b) == exact if np.isfinite(a + b) else False:
        assert below == above == a + b  # what is exact stays so


def test_infinite_terms_leave_the_side_that_they_say_nothing_about_open():
    a, b = np.array([np.inf, -np.inf, np.inf, 1.0]), np.array([1.0, 1.0, -np.inf, np.inf])
    assert sum_down(a, b).tolist() == [LARGEST, -np.inf, -np.inf, LARGEST]
    assert sum_up(a, b).tolist() == [np.inf, -LARGEST, np.inf, np.inf]


@settings(max_examples=100)
@given(st.lists(st.tuples(st.floats(-600.0, 600.0), st.floats(0.0, 3.0)), min_size=1, max_size=6))
def test_the_log_of_a_mean_is_held_by_its_bounds(entries):
    lower = np.array([[value] for value, _ in entries])
    upper = np.array([[value + more] for value, more in entries])
    found = log_mean(Bounds(lower, upper))
    with ctx.workprec(200):
        for side, (end,) in ((lower, found.lower), (upper, found.upper)):
            exact = (sum((arb(float(value)).exp() for value in side[:, 0]), arb(0)) / len(side)).log()
            assert (arb(float(end)) <= exact) if side is lower else (arb(float(end)) >= exact)
            assert abs(float(exact) - end) <= 1e-8 * (1.0 + abs(end))


@given(FLOATS, st.floats(0.0, 1e300))
def test_the_numbers_around_a_ball_hold_it(centre, radius):
    with ctx.workprec(120):
        ball = arb(centre, radius) / 3
    below, above = ball_bounds(ball)
    assert below <= above
    assert (arb(below) <= ball) if np.isfinite(below) else True
    assert (arb(above) >= ball) if np.isfinite(above) else True


def test_a_ball_without_bounds_is_held_by_the_whole_line():
    assert ball_bounds(arb("nan")) == (-np.inf, np.inf)
    assert ball_bounds(arb(0.0, np.inf)) == (-np.inf, np.inf)


@given(st.floats(1e-300, 1.0, exclude_max=True))
def test_thresholds_are_bounded_by_equal_or_neighbouring_numbers(level):
    below, above = threshold_bounds(level)
    exact = threshold_ball(level, 300)
    assert arb(float(below)) <= exact
    assert arb(float(above)) >= exact
    assert above <= np.nextafter(below, np.inf)


def test_scores_without_sense_are_refused_and_those_that_overflowed_bound_nothing():
    values, errors = np.array([[1.0, np.inf, -np.inf]]), np.array([[0.5, 0.0, 1.0]])
    found = score_bounds("x", Scores(values, errors))
    assert found.lower.tolist() == [[0.5, -np.inf, -np.inf]]
    assert found.upper.tolist() == [[1.5, np.inf, np.inf]]
    with pytest.raises(MisuseError, match="scores of x must not be NaN"):
        score_bounds("x", Scores(np.array([[np.nan]]), np.array([[0.0]])))
    with pytest.raises(MisuseError, match=r"errors of x must be nonnegative, not -1"):
        score_bounds("x", Scores(np.array([[1.0]]), np.array([[-1.0]])))


class Counted:
    """Twenty keys at two checkpoints; counts what it scores, and fails for some."""

    checkpoints, n_keys = np.array([1, 2]), 20

    def __init__(self, failing=()):
        self.scored, self.failing = [], {*failing}

    def log_likelihood(self, keys):
        if self.failing & {*keys.tolist()}:
            raise ArithmeticError
        self.scored += keys.tolist()
        values = np.stack([keys + 0.25, 2.0 * keys], axis=1)
        return Scores(values, np.full(values.shape, 0.125))


BATCHES = st.lists(st.lists(st.integers(0, 19), min_size=1, max_size=8, unique=True), max_size=12)


@settings(max_examples=100)
@given(BATCHES, st.integers(1, 60))
def test_what_is_remembered_changes_no_score_whatever_the_room(batches, room):
    stream = Counted()
    keys = ScoredKeys("x", stream, room)
    for batch in batches:
        asked = np.array(batch)
        found = keys.bounds(asked)
        assert found.lower.tolist() == [[key + 0.125, 2.0 * key - 0.125] for key in batch]
        assert found.upper.tolist() == [[key + 0.375, 2.0 * key + 0.125] for key in batch]
        assert keys._n_kept <= room // 2
        if len(batch) <= room // 2:
            assert keys.has(asked).all()
    if room >= 2 * 20:  # room for all: nothing is scored twice
        assert len(stream.scored) == len({*stream.scored})


def test_neighbours_are_scored_along_and_do_no_harm_where_they_fail():
    stream = Counted()
    keys = ScoredKeys("x", stream, 40)
    keys.bounds(np.array([3]), near=np.array([3, 4, 5]))
    assert stream.scored == [3, 4, 5]
    assert keys.has(np.array([3, 4, 5, 6])).tolist() == [True, True, True, False]
    broken = Counted(failing=[7])
    keys = ScoredKeys("x", broken, 40)
    assert keys.bounds(np.array([6]), near=np.array([7])).lower[0, 0] == 6.125  # nobody asked about 7
    with pytest.raises(ArithmeticError):
        keys.bounds(np.array([7]))


def test_scores_of_another_shape_are_refused():
    class Short(Counted):
        def log_likelihood(self, keys):
            return Scores(np.zeros((len(keys), 1)), np.zeros((len(keys), 1)))

    with pytest.raises(MisuseError, match=r"scores of x must have shape \(1, 2\), keys and checkpoints"):
        ScoredKeys("x", Short(), 2).bounds(np.array([0]))
