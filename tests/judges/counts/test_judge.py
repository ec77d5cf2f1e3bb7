"""Splits, opponents and verdicts of the judge of counts."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from physupport import MisuseError
from physupport.judges import Verdict
from physupport.judges.counts import ByCounts, CountTable
from physupport.judges.counts._halves import halves
from physupport.laws._design import response_band

CHANNELS = np.arange(60)
LINES = np.exp(-0.5 * ((CHANNELS[:, None] - np.array([15.0, 30.0, 33.0])) / 4.0) ** 2)
FLAT = np.ones((60, 1))
TABLE = CountTable(LINES, [(), (0,), (1,), (2,), (0, 1)], FLAT)


def counts(means, seed=0):
    return np.random.default_rng(seed).poisson(means)


def retained(judge):
    return np.flatnonzero(judge.verdicts(np.arange(judge.size)).codes != Verdict.REJECTED).tolist()


def test_the_halves_add_up_and_are_fair_and_independent():
    rows = counts(np.full((1, 400), 150.0))
    pairs = halves(rows, np.ones(1), "thin", 50, seed=3)
    heads = np.array([first.counts for first, _ in pairs])
    for first, second in pairs:
        assert (first.counts + second.counts == rows[0]).all()
    # Pearson's statistic of Binomial(y, 1/2) in 50 x 400 cells, two-sided at one in a million.
    statistic = ((heads - rows / 2) ** 2 / (rows / 4)).sum()
    assert chi2.isf(1 - 5e-7, heads.size) < statistic < chi2.isf(5e-7, heads.size)


def test_a_thinning_is_the_number_of_ones_among_the_bits():
    rows = np.array([[0, 1, 64, 65, 200]])
    (first, _), *_ = halves(rows, np.ones(1), "thin", 1, seed=11)
    raw = np.random.PCG64(np.random.SeedSequence([11, 3])).random_raw(8).tolist()
    words = iter(raw)
    expected = []
    for y in rows[0].tolist():
        bits = sum(next(words) << (64 * k) for k in range(-(-y // 64)))
        expected.append((bits & ((1 << y) - 1)).bit_count())
    assert first.counts.tolist() == expected


def test_the_line_that_made_the_counts_is_found():
    judge = ByCounts().judge(TABLE, counts(300 * LINES[:, 1] + 5.0), 0.05)
    assert 2 in retained(judge)
    assert 0 not in retained(judge)
    assert 1 not in retained(judge)


def test_a_line_off_the_table_leaves_nothing_and_without_free_opponents_it_does_not():
    outside = np.exp(-0.5 * ((CHANNELS - 48.0) / 2.0) ** 2)
    rows = counts(100 * LINES[:, 1] + 60 * outside + 5.0)
    assert retained(ByCounts().judge(TABLE, rows, 0.05)) == []
    assert retained(ByCounts().judge(TABLE, rows, 0.05, widths=())) != []


def test_evidence_is_the_mixture_over_the_best_fit_averaged_over_halves():
    judge = ByCounts(n_splits=2).judge(TABLE, counts(20 * LINES[:, 0] + 2.0), 0.05, seed=5)
    for e in range(TABLE.size):
        columns = TABLE.columns[TABLE.members[e][TABLE.members[e] >= 0]]
        ratios = []
        for trial in judge.trials:
            mixture = np.logaddexp.reduce(
                np.log(trial.opponents.weights)
                + np.log(trial.opponents.means) @ trial.counts
                - trial.opponents.means.sum(axis=1)
            )
            amounts = np.full(len(columns), trial.counts.sum() / columns.sum() / len(columns))
            for _ in range(2000):  # expectation maximisation: slow, and each step better than the last
                amounts *= columns @ (trial.counts / (amounts @ columns)) / columns.sum(axis=1)
            ratios.append(mixture - trial.counts @ np.log(amounts @ columns) + (amounts @ columns).sum())
        mean = np.logaddexp.reduce(ratios) - np.log(len(ratios))
        # What is far from the best is not fitted to the end, and its evidence is at least what is said.
        assert judge.log_evidence.lower[e] <= mean + 1e-4
        assert mean > 40 or judge.log_evidence.lower[e] == pytest.approx(mean, abs=1e-4)
        ball = judge.ball(e, 128)
        assert judge.log_evidence.lower[e] <= float(ball.lower())
        assert float(ball.upper()) <= judge.log_evidence.upper[e]


def test_a_margin_that_float64_leaves_open_is_settled_by_balls():
    rows = counts(20 * LINES[:, 0] + 2.0)
    judge = ByCounts(n_splits=1).judge(TABLE, rows, 0.05)
    evidence = float(judge.ball(0, 256).mid().exp())
    for shift, code in ((1e-13, Verdict.REJECTED), (-1e-13, Verdict.ADMISSIBLE)):
        level = (1 + shift) / evidence
        found = ByCounts(n_splits=1).judge(TABLE, rows, level).verdicts(np.array([0]))
        assert found.bits[0] > 53
        assert found.codes[0] == code


def test_weights_of_the_opponents_add_up_to_at_most_one():
    judge = ByCounts().judge(TABLE, counts(20 * LINES[:, 0] + 2.0), 0.05)
    assert all(sum(map(Fraction, trial.opponents.weights.tolist())) <= 1 for trial in judge.trials)


def test_more_columns_never_have_more_evidence_against_them():
    judge = ByCounts().judge(CountTable.presence(LINES, FLAT), counts(40 * LINES[:, 0] + 9 * LINES[:, 2] + 2.0), 0.05)
    everything, *without = judge.log_evidence.lower
    assert all(everything <= each + 1e-6 for each in without)


def test_presence_of_an_element_is_certain_where_all_but_it_is_rejected():
    judge = ByCounts().judge(CountTable.presence(LINES[:, :2], FLAT), counts(60 * LINES[:, 0] + 4.0), 0.05)
    codes = judge.verdicts(np.arange(3)).codes
    assert codes.tolist() == [Verdict.ADMISSIBLE, Verdict.REJECTED, Verdict.ADMISSIBLE]


def test_rows_of_different_exposure_count_by_it():
    exposure = np.array([1.0, 10.0, 3.0, 6.0])
    rows = counts(exposure[:, None] * (30 * LINES[:, 1] + 2.0))
    for split in ("rows", "thin"):
        judge = ByCounts(split=split).judge(TABLE, rows, 0.05, exposure=exposure)
        assert 2 in retained(judge)
        assert 0 not in retained(judge)


def test_zeros_and_channels_that_nothing_reaches_are_fine_and_a_count_there_is_not():
    dark = LINES * (CHANNELS[:, None] < 50)
    table = CountTable(dark, [(0,), (1,)])
    assert retained(ByCounts().judge(table, np.zeros(60, dtype=int), 0.05)) == [0, 1]
    rows = counts(100 * dark[:, 0])
    assert retained(ByCounts().judge(table, rows, 0.05)) == [0]
    rows[55] = 1
    assert retained(ByCounts().judge(table, rows, 0.05)) == []


def test_an_opponent_follows_counts_where_the_best_fit_vanishes():
    """A flat background that no column has: fits, and corrections of these, expect nothing away from the line."""
    table = CountTable(LINES[:, :1], [(0,)])
    rows = counts(400.0 * LINES[:, 0] + 5.0)
    judge = ByCounts().judge(table, rows, 0.05)
    for trial in judge.trials:
        beside = trial.opponents.means[:, 40:].mean(axis=1)  # 2.5 counts are expected in each half
        assert (trial.opponents.means > 0.0).all()
        assert ((beside > 2.0) & (beside < 4.0)).any()
    half = 0.004 * LINES[:, :1].max(axis=0)
    assert judge.log_evidence_within(response_band(LINES[:, :1], half), np.array([0])).lower > np.log(20.0)


def test_variants_as_states_and_as_a_cone():
    variants = np.array([np.roll(LINES, s, axis=0) for s in (-2, 0, 2)])
    states = CountTable.with_variants(variants, [(0,), (1,)], FLAT)
    cone = CountTable.with_variants(variants, [(0,), (1,)], FLAT, how="cone")
    assert (states.size, cone.size) == (6, 2)
    assert (states.columns[states.members[4, 0]] == variants[2, :, 0]).all()
    between = counts(40 * (variants[0, :, 1] + variants[2, :, 1]) + 3.0)
    assert retained(ByCounts().judge(cone, between, 0.05)) == [1]


def test_the_answer_depends_on_the_seed_and_on_nothing_else():
    rows = counts(20 * LINES[:, 0] + 2.0)
    first, again, other = (ByCounts().judge(TABLE, rows, 0.05, seed=seed).log_evidence.lower for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CountTable(-LINES, [(0,)]), "atoms must not be negative"),
        (lambda: CountTable(0 * LINES, [(0,)]), "columns with sums between"),
        (lambda: CountTable(LINES, [(0, 0)]), "distinct atoms"),
        (lambda: CountTable(LINES, []), "at least one explanation"),
        (lambda: CountTable.with_variants(LINES[None], [(0,)], how="span"), "cone.*states.*not 'span'"),
        (lambda: ByCounts(split="half"), "'rows', 'thin'"),
        (lambda: ByCounts(n_splits=0), "splits must"),
        (lambda: ByCounts(n_splits=10**9), "splits must be a whole number between 1 and 1000"),
        (lambda: ByCounts().judge(TABLE, np.ones(60), 0.05, widths=(-1.0,)), "widths must"),
        (lambda: ByCounts().judge(TABLE, np.full(60, 0.5), 0.05), "rows must be counts"),
        (lambda: ByCounts().judge(TABLE, np.full(60, -1), 0.05), "rows must be counts"),
        (lambda: ByCounts().judge(TABLE, np.full(60, 10**8), 0.05), "6e\\+09 in all"),
        (lambda: ByCounts().judge(TABLE, np.ones((2, 60)), 0.05, exposure=[1.0, 0.0]), "exposure must be above 0"),
        (lambda: ByCounts(split="rows").judge(TABLE, np.ones(60), 0.05), "be 'thin' for a single row"),
        (lambda: ByCounts().judge(TABLE, np.ones(60), 1.0), "level must"),
    ],
)
def test_misuse_is_told_by_name(make, message):
    with pytest.raises(MisuseError, match=message):
        make()
