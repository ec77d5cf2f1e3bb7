"""The truth is lost in at most the level of the data sets; a fit that stops early, taken at its word, is exposed."""

import numpy as np
import pytest
from scipy.stats import binom

from physupport.judges import Verdict
from physupport.judges.counts import ByCounts, CountTable
from physupport.judges.counts._fit import fit_all
from physupport.laws._design import response_band

LEVEL, RUNS = 0.1, 100
# Fewer than one in a million seeds would fail a valid judge, or save a broken one.
UNLUCKY = 1e-6
CHANNELS, OFFSETS = np.arange(60), np.arange(-2.0, 3.0)
SUPPORTS, BACKGROUND = [(0,), (1,), (0, 1)], np.stack([np.linspace(1, 0, 60), np.linspace(0, 1, 60)], axis=1)
pytestmark = pytest.mark.slow


def responses(offset):
    """Two lines of five channels' width, three channels apart, the second with a small companion."""
    lines = np.exp(-0.5 * ((CHANNELS[:, None] - offset - np.array([25.0, 28.0, 45.0])) / 5.0) ** 2)
    return np.stack([lines[:, 0], lines[:, 1] + 0.1 * lines[:, 2]], axis=1)


VARIANTS = np.array([responses(offset) for offset in OFFSETS])
STATES = CountTable.with_variants(VARIANTS, SUPPORTS, BACKGROUND)


def band(width=1.0):
    """Each response is right to within .02 of its largest value and .05 of its value there, times a width."""
    columns = responses(0.0)
    return response_band(columns, width * (0.02 * columns.max(axis=0) + 0.05 * columns))


BANDS = CountTable(responses(0.0), SUPPORTS, BACKGROUND, band())
CONES = CountTable.with_variants(VARIANTS[1:4], SUPPORTS, BACKGROUND, how="cone")


def amounts(rng, size):
    """Between nothing and a few hundred counts a line; often nothing at all, the edge of an explanation."""
    return 10 ** rng.uniform(-0.5, 1.5, size) * (rng.random(size) < 0.7)


def on_the_grid(rng):
    state, support = int(rng.integers(len(OFFSETS))), int(rng.integers(3))
    lines = VARIANTS[state][:, list(SUPPORTS[support])]
    means = lines @ amounts(rng, lines.shape[1]) + BACKGROUND @ rng.uniform(0.0, 4.0, 2)
    return STATES, means, [3 * state + support]


def between_the_grid(rng):
    """The offset lies between two of the table: as long as one of these is retained nothing wrong follows."""
    offset, support = rng.uniform(OFFSETS[0], OFFSETS[-1]), int(rng.integers(3))
    lines, below = responses(offset)[:, list(SUPPORTS[support])], int(offset - OFFSETS[0])
    means = lines @ amounts(rng, lines.shape[1]) + BACKGROUND @ rng.uniform(0.0, 4.0, 2)
    return STATES, means, [3 * below + support, 3 * (below + 1) + support]


def within_a_cone(rng):
    support = int(rng.integers(3))
    lines = CONES.columns[CONES.members[support][CONES.members[support] >= 0]]
    return CONES, amounts(rng, len(lines)) @ lines, [support]


def on_the_edge_of_a_band(rng, width=1.0):
    """In every channel a response is as small or as large as its band allows; width: of the stated errors."""
    low, high = band(width)
    support = int(rng.integers(3))
    lines = np.where(rng.random(low.shape) < 0.5, low, high)[:, list(SUPPORTS[support])]
    means = lines @ (30.0 * amounts(rng, lines.shape[1])) + BACKGROUND @ rng.uniform(0.0, 4.0, 2)
    return BANDS, means, [support]


def within_a_band(rng):
    return on_the_edge_of_a_band(rng, width=rng.random())


def beyond_a_band(rng):
    table, means, _ = on_the_edge_of_a_band(rng, width=8.0)
    return table, 10.0 * means, [2]


def judged(make, run):
    rng = np.random.default_rng(run)
    table, means, truths = make(rng)
    return ByCounts(n_splits=2).judge(table, rng.poisson(means), LEVEL, seed=run), truths


def early_evidence(judge, e, steps=1):
    """As if a fit of one step were the best: no proof, just its likelihood."""
    table, logs = judge.table, []
    for trial in judge.trials:
        seen, found, bounds = trial.counts > 0, np.empty((1, table.members.shape[1])), np.empty((1, 2))
        columns = np.ascontiguousarray(table.columns[:, seen])
        fit_all(columns, table.sums, trial.counts[seen], table.members[e : e + 1], steps, -np.inf, found, bounds)
        logs.append(trial.log_mixture[0] - bounds[0, 0])
    return np.logaddexp.reduce(logs) - np.log(len(logs))


TRUE = [on_the_grid, between_the_grid, within_a_cone, on_the_edge_of_a_band, within_a_band]


@pytest.mark.parametrize("make", TRUE)
def test_the_truth_is_lost_in_at_most_the_level_of_the_data_sets(make):
    lost = 0
    for run in range(RUNS):
        judge, truths = judged(make, run)
        lost += bool((judge.verdicts(np.array(truths)).codes == Verdict.REJECTED).all())
    assert binom.sf(lost - 1, RUNS, LEVEL) > UNLUCKY


def test_negative_control_responses_beyond_their_band_are_rejected_with_all_that_holds_them():
    lost = 0
    for run in range(RUNS):
        judge, truths = judged(beyond_a_band, run)
        lost += bool((judge.verdicts(np.array(truths)).codes == Verdict.REJECTED).all())
    assert binom.sf(lost - 1, RUNS, LEVEL) < UNLUCKY


def test_negative_control_the_same_count_exposes_a_fit_that_stops_early():
    lost = 0
    for run in range(RUNS):
        judge, (truth,) = judged(on_the_grid, run)
        lost += early_evidence(judge, truth) > np.log(1 / LEVEL)
    assert binom.sf(lost - 1, RUNS, LEVEL) < UNLUCKY
