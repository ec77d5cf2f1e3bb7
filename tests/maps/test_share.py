"""The share of false statements over a map stays below its rate, where single levels do not hold it."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import softmax

from physupport._codec import rows_seed
from physupport.judges.rotation import Draws
from physupport.maps import Fission, MapProtocol, map_signals
from physupport.maps._protocol import candidate_levels, chosen_level, price

PIXELS, RATE = 10_000, 0.1


def false_shares(found, truth, layer):
    """Statements, and how many of them are false: the kept elements do not hold the truth."""
    labels = found.labels("axis", share=layer)
    states = np.isin(labels, ["FINE", "GROUP", "ABSENT"]) & (found.array("gate") == 0)
    elements = found.elements("axis", share=layer)
    holds = np.where(truth > 0, elements[np.arange(len(truth)), np.maximum(truth - 1, 0)], labels == "ABSENT")
    return int(states.sum()), int((states & ~holds).sum())


def test_the_false_share_is_at_most_its_rate_where_single_levels_break_it(bank, tmp_path):
    # One pixel in forty has a line; all others say nothing but by mistake, one in ten of them.
    amplitudes = np.where(np.arange(PIXELS) % 40 == 0, 25.0, 0.0)
    rows, truth = bank.signals(amplitudes, seed=31)
    found = map_signals(rows, MapProtocol(bank.judge, bank.question, 0.1, RATE), tmp_path / "out")
    made, false = false_shares(found, truth, layer=True)
    assert made == found.about["share"]["statements"]
    assert made > 0.7 * PIXELS / 40
    # One map: its share is near its mean, which is at most the rate over the price of dependence.
    assert false <= RATE * made
    plainly_made, plainly_false = false_shares(found, truth, layer=False)
    assert plainly_false > 2.0 * RATE * plainly_made  # the negative control


def test_levels_fall_and_are_paid_for_by_statements():
    levels = candidate_levels(0.1, 0.1, 1000, are_e_values=False)
    assert levels[0] == 0.1
    assert all(a > b for a, b in pairwise(levels))
    assert price(1000, are_e_values=True) == 1.0
    np.testing.assert_allclose(price(1000, are_e_values=False), np.log(1000) + np.euler_gamma, atol=1e-3)
    statements = np.full(len(levels), 500)
    chosen = chosen_level(levels, statements, 0.1, 1000, are_e_values=False)
    bound = 0.1 * 500 / (1000 * price(1000, are_e_values=False))
    assert levels[chosen] <= bound * (1 + 1e-9) < levels[chosen - 1]
    assert chosen_level(levels, np.zeros(len(levels), dtype=int), 0.1, 1000, are_e_values=False) is None


@settings(max_examples=200)
@given(
    level=st.floats(0.01, 0.5), rate=st.floats(0.01, 0.5), count=st.integers(1, 5000), are_e_values=st.booleans(),
    data=st.data(),
)  # fmt: skip
def test_the_level_that_is_chosen_is_the_largest_that_its_statements_pay_for(level, rate, count, are_e_values, data):
    """As e-BH and Benjamini and Yekutieli define it: a m h <= q R, with R the statements that stand at a."""
    levels = candidate_levels(level, rate, count, are_e_values)
    assert levels[0] == level
    assert all(a > b for a, b in pairwise(levels))
    h = 1.0 if are_e_values else sum(1.0 / k for k in range(1, count + 1))
    assert price(count, are_e_values) == pytest.approx(h, rel=1e-9)
    # Fewer statements stand at smaller levels.
    drops = data.draw(st.lists(st.integers(0, count), min_size=len(levels), max_size=len(levels)))
    statements = np.array(sorted(drops, reverse=True))
    paid = [a * count * h <= rate * made * (1.0 + 1e-9) for a, made in zip(levels, statements, strict=True)]
    chosen = chosen_level(levels, statements, rate, count, are_e_values)
    if chosen is None:
        assert not any(a * count * h <= rate * made * (1.0 - 1e-9) for a, made in zip(levels, statements, strict=True))
    else:
        assert paid[chosen]
        assert not any(
            a * count * h <= rate * made * (1.0 - 1e-9)
            for a, made in zip(levels[:chosen], statements[:chosen], strict=True)
        )
    # With every signal saying something, the share is paid for at once where dependence costs nothing.
    everything = np.full(len(levels), count)
    best = chosen_level(levels, everything, rate, count, are_e_values)
    if level * h <= rate * (1.0 - 1e-9):
        assert best == 0


@pytest.mark.parametrize("are_e_values", [True, False])
@pytest.mark.parametrize("count", [1, 3, 10, 1000, 1024, 100_000])
def test_one_statement_among_any_number_of_signals_has_a_level_that_it_pays_for(count, are_e_values):
    levels = candidate_levels(0.5, 0.1, count, are_e_values)
    chosen = chosen_level(levels, np.ones(len(levels), dtype=int), 0.1, count, are_e_values)
    assert levels[chosen] == pytest.approx(0.1 / (count * price(count, are_e_values)))


def test_without_a_rate_there_is_one_level():
    assert candidate_levels(0.07, None, 500, are_e_values=False).tolist() == [0.07]


def by_evidence(bank, folder, sigma):
    amplitudes = np.where(np.arange(PIXELS) % 40 == 0, 25.0, 0.0)
    rows, truth = bank.signals(amplitudes, seed=37)
    found = map_signals(rows, MapProtocol(Fission(bank.table, sigma, seed=2), bank.question, 0.1, RATE), folder)
    return false_shares(found, truth, layer=True)


def test_the_false_share_of_evidence_is_at_most_its_rate(bank, tmp_path):
    made, false = by_evidence(bank, tmp_path / "out", sigma=1.0)
    assert made > 0.7 * PIXELS / 40
    assert false <= RATE * made


def test_negative_control_evidence_that_claims_too_little_noise_breaks_the_rate(bank, tmp_path):
    made, false = by_evidence(bank, tmp_path / "out", sigma=0.5)
    assert false > 2.0 * RATE * made


def test_the_evidence_of_a_signal_is_the_mean_over_splits_of_likelihood_ratios(bank):
    spec = Fission(bank.table, 1.3, seed=5, splits=3, ratio=0.8)
    rows, _ = bank.signals(np.array([0.0, 4.0, 7.0]), seed=8)
    levels = np.array([0.3, 0.1, 0.01, 1e-4])
    codes = spec.block_judge(levels, 1, 1)(rows[:, None]).codes
    table, t = bank.table, 0.8
    penalties = 0.5 * np.log(38) * table.ranks
    for signal, found in zip(rows, codes, strict=True):
        row, values = signal @ table.complement, np.zeros(table.size)
        for g in 1.3 * Draws(rows_seed(5, signal[None]), 3).normal((3, 38)):
            first, second = row + t * g, row - g / t
            fits = [u[0] * (u[0] @ first) for u in table.bases]
            weights = softmax([f @ f / (2 * 1.69 * (1 + t**2)) - p for f, p in zip(fits, penalties, strict=True)])
            var = 1.69 * (1 + t**-2)
            top = sum(w * np.exp(-((second - f) ** 2).sum() / (2 * var)) for w, f in zip(weights, fits, strict=True))
            left = [second - u[0] * (u[0] @ second) for u in table.bases]
            values += np.array([top / np.exp(-(r @ r) / (2 * var)) for r in left]) / 3
        np.testing.assert_array_equal(found, (values[:, None] >= 1.0 / levels).sum(axis=1))


def test_few_signals_among_many_are_stated_too(bank, tmp_path):
    # One pixel in two thousand has a line: what they state pays for a level far below one in a thousand.
    amplitudes = np.where(np.arange(20_000) % 2000 == 7, 60.0, 0.0)
    rows, truth = bank.signals(amplitudes, seed=41)
    found = map_signals(rows, MapProtocol(bank.judge, bank.question, 0.1, RATE), tmp_path / "out")
    made, false = false_shares(found, truth, layer=True)
    assert made >= 8
    assert false <= 1


def shares_of_dependent_maps(bank, judge, maps=200, pixels=60, patterns=12):
    """(maps, 2) shares of false statements at the rate and at single levels, where crowds of pixels share a noise."""
    protocol, found = MapProtocol(judge, bank.question, 0.1, 0.2), np.zeros((maps, 2))
    levels, work, rng = protocol.levels(pixels), protocol.work(pixels, 1), np.random.default_rng(51)
    for number in range(maps):
        truth = np.where(np.arange(pixels) % 20 == 0, rng.integers(1, 13, pixels), 0)
        lines = 25.0 * bank.lines[:, truth - 1].T * (truth > 0)[:, None]
        rows = (lines + rng.standard_normal((patterns, 40))[rng.integers(0, patterns, pixels)])[:, None]
        evidence = work.first(rows)["evidence"].max(axis=1)
        statements = (evidence[:, None] > np.arange(len(levels))).sum(axis=0)
        chosen = chosen_level(levels, statements, 0.2, pixels, judge.are_e_values)
        for layer, level in enumerate((chosen, 0)):
            if level is not None and (states := evidence > level).any():
                packed = work.second(rows[states], level)["share_kept"]
                kept = np.unpackbits(packed, axis=1, count=bank.table.size, bitorder="little")
                found[number, layer] = (kept[np.arange(len(kept)), truth[states]] == 0).mean()
    return found.mean(axis=0)


def test_the_rate_holds_in_the_mean_where_errors_come_in_crowds(bank):
    # Of 200 maps; the mean of shares, which are at most 1, has a standard deviation of at most .036.
    at_rate, at_level = shares_of_dependent_maps(bank, bank.judge)
    assert at_rate <= 0.2
    assert at_level > 0.3  # the negative control: each pixel at its own level
    by_evidence_at_rate, _ = shares_of_dependent_maps(bank, Fission(bank.table, 1.0, seed=2))
    assert by_evidence_at_rate <= 0.2
    too_little_noise, _ = shares_of_dependent_maps(bank, Fission(bank.table, 0.5, seed=2))
    assert too_little_noise > 0.3
