"""Intervals of amounts hold together with the labels, and end where evidence crosses its threshold."""

import numpy as np
import pytest
from benchmarks import amounts
from scipy.optimize import minimize
from scipy.stats import binom

from physupport.judges._amounts import Asked, gathered, sublevel, union
from physupport.judges.counts import ByCounts, CountTable

COUNT = 40
UNLUCKY = 1e-6  # fewer than one seed in a million may fail


@pytest.mark.parametrize("name", ["counts", "along-rows", "rotation-bounds"])
def test_label_and_amounts_are_lost_together_in_at_most_a_share_alpha(name):
    protocol = amounts.protocol_of(name)
    rng = np.random.default_rng(5)
    lost = sum(each[0] for each in amounts.of_reports(protocol, name, rng, COUNT))
    assert binom.sf(lost - 1, COUNT, amounts.LEVEL) > UNLUCKY


def test_the_same_count_exposes_intervals_that_hold_one_by_one():
    rng = np.random.default_rng(6)
    lost = 0
    for _ in range(400):
        estimate, deviation = amounts.usual(amounts.drawn_rows(rng), is_counted=False)
        lost += amounts.misses(
            zip(estimate - 1.645 * deviation, estimate + 1.645 * deviation, strict=True), amounts.OF_ROWS
        )
    assert binom.sf(lost - 1, 400, amounts.LEVEL) < UNLUCKY


def test_an_interval_of_counts_ends_where_the_evidence_crosses_its_threshold():
    shapes = amounts.SHAPES / amounts.SHAPES.sum(axis=0)
    table = CountTable(shapes, ((0, 1),), amounts.BASE)
    counts = np.random.default_rng(1).poisson(shapes[:, :2] @ [900.0, 300.0] + 20.0)
    judge = ByCounts(n_splits=1).judge(table, counts, 0.05)
    threshold = np.log(20.0)
    low, high = judge.interval(0, (1,), threshold)
    columns = np.hstack([shapes[:, :2], amounts.BASE / len(shapes)])

    def log_evidence(amount):
        """By another optimiser, with the amount of the second element held."""
        logs = []
        for trial in judge.trials:

            def loss(free, trial=trial):
                means = columns @ np.array([free[0], trial.share * amount, free[1]])
                return means.sum() - trial.counts @ np.log(means)

            fit = minimize(loss, [400.0, 400.0], bounds=[(1e-9, None)] * 2, method="L-BFGS-B")
            logs.append(trial.log_mixture[0] + fit.fun)
        return np.logaddexp.reduce(logs) - np.log(len(logs))

    # The interval holds all that is not rejected, and is at most a hundredth longer.
    inside = 0.01 * (high - low)
    for end, side in ((low, 1.0), (high, -1.0)):
        assert log_evidence(end - 1e-3 * side) > threshold - 1e-3
        assert log_evidence(end + side * inside) < threshold


def test_closed_forms_of_rows_agree_with_the_judge_on_shifted_rows():
    protocol = amounts.protocol_of("along-rows")
    rows = amounts.drawn_rows(np.random.default_rng(3))
    judge = protocol.read(deployment=rows).judge
    found = judge.amounts(amounts.TRUTH).intervals["strong"]
    (factor,) = judge.evidence.factors
    profile = factor.stream.profile(amounts.TRUTH[0], 0)
    columns = np.hstack([amounts.SHAPES, amounts.BASE])
    held = factor.stream._table
    for value in found:
        residual = held - value * columns[:, 0]
        others = columns[:, 1:]
        mean = residual.mean(axis=0)
        left = mean - others @ np.linalg.lstsq(others, mean, rcond=None)[0]
        energy = ((residual - mean) ** 2).sum() + len(held) * left @ left
        full = held.mean(axis=0) - columns @ np.linalg.lstsq(columns, held.mean(axis=0), rcond=None)[0]
        least = ((held - held.mean(axis=0)) ** 2).sum() + len(held) * full @ full
        assert profile.falls(value)[-1] == pytest.approx(0.5 * (energy - least), rel=1e-9)


def test_a_sublevel_set_is_taken_outwards_and_may_be_empty_or_endless():
    low, high = sublevel(lambda v: (v - 3.0) ** 2, 4.0, 0.0, 1.0, -np.inf)
    assert 0.999 < low <= 1.0
    assert 5.0 <= high < 5.001
    assert sublevel(lambda v: (v - 3.0) ** 2, 4.0, 40.0, 1.0, 2.0)[0] == 2.0
    assert sublevel(lambda v: 1.0 + (v - 3.0) ** 2, 0.5, 0.0, 1.0, -np.inf) is None
    assert sublevel(lambda _: 0.0, 1.0, 0.0, 1.0, 0.0) == (0.0, np.inf)
    far = sublevel(lambda v: 1e3 * abs(v - 1e9), 1.0, 0.0, 1e-12, -np.inf)  # narrow, and far beyond the scale
    assert far is not None
    assert far[0] < 1e9 < far[1]


def test_a_search_that_meets_no_numbers_leaves_every_amount():
    assert sublevel(lambda _: np.nan, 1.0, 0.0, 1.0, -np.inf) == (-np.inf, np.inf)
    assert sublevel(lambda v: -1.0 if 3.3 < v < 3.4 else np.inf, 0.0, 0.0, 1.0, 0.0) == (0.0, np.inf)


def test_intervals_are_joined_over_explanations_and_those_within_another_are_left_out():
    asked = [
        Asked(0, {"a": (0,)}, 0.0, frozenset({0})),
        Asked(1, {"a": (0,), "b": (1,)}, 0.0, frozenset({0, 1})),
        Asked(1, {"a": (0,), "b": (1,)}, -1.0, frozenset({0, 1})),
    ]
    seen = []

    def interval(key, columns, beside):
        seen.append((key, columns, beside))
        return float(key), key + 2.0

    assert gathered("counts", asked, interval, nests=True).intervals == {"a": (1.0, 3.0), "b": (1.0, 3.0)}
    assert [entry[0] for entry in seen] == [1, 1]
    assert all(beside == -1.0 for _, _, beside in seen)
    assert gathered("counts", asked, interval, nests=False).intervals["a"] == (0.0, 3.0)
    unlisted = Asked(2, {"a": (0,)}, 0.0, frozenset({0, 7}))  # with something unlisted it is within no other one
    assert gathered("counts", [*asked, unlisted], interval, nests=True).intervals["a"] == (1.0, 4.0)
    assert union(None, (1.0, 2.0)) == (1.0, 2.0)
