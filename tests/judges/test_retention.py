"""The truth is rejected in at most alpha of the records, and the count can tell when it is not."""

import numpy as np
import pytest
from scipy.stats import binom

from physupport.io import split_rows, split_streams
from physupport.judges import Evidence, Factor, Verdict, best_keys, doubling_checkpoints, verdicts

RUNS, FEW_RUNS, ALPHA, TRUTH, D = 2000, 500, 0.1, 4, 4
# Fewer than one in a million seeds would fail a valid test, or save a broken one.
UNLUCKY = 1e-6
MEANS = np.concatenate([0.35 * np.eye(D), np.zeros((1, D)), -0.35 * np.eye(D)])


def one_stream_rejects(means_stream, run, *, noise=1.0, peek=False):
    """True if the truth is rejected in one record of 60 rows of unit noise."""
    rows = np.random.default_rng([17, run]).normal(size=(60, D)) + MEANS[TRUTH]
    parts = split_rows(len(rows), 0.5, run)
    proposal = means_stream(rows[parts.proposal], MEANS, [len(parts.proposal)], noise)
    held_out, checkpoints = rows[parts.held_out], doubling_checkpoints(len(parts.held_out), first=4)
    stream = means_stream(held_out, MEANS, checkpoints, noise)
    numerator = (stream, int(best_keys(proposal)[0]))
    if peek:
        numerator = (means_stream(held_out, held_out.mean(axis=0, keepdims=True), checkpoints, noise), 0)
    evidence = Evidence(len(MEANS), [Factor("rows", stream, lambda i: i, numerator)])
    return verdicts(evidence, [TRUTH], ALPHA).codes[0] == Verdict.REJECTED


def two_stream_rejects(means_stream, run):
    """True if the truth, key 4 of 9 in the first stream and key 1 of 2 in the second, is rejected."""
    rng = np.random.default_rng([18, run])
    records = rng.normal(size=(80, D)) + MEANS[TRUTH], rng.normal(size=(16, 1))
    banks = MEANS, np.array([[0.8], [0.0]])
    parts = split_streams((80, 16), (0.45, 0.5), run)
    factors = []
    for i, (rows, means, part) in enumerate(zip(records, banks, parts, strict=True)):
        best = int(best_keys(means_stream(rows[part.proposal], means, [len(part.proposal)]))[0])
        stream = means_stream(rows[part.held_out], means, doubling_checkpoints(len(part.held_out), first=16))
        factors.append(Factor(f"stream {i}", stream, lambda e, i=i: (e // 2, e % 2)[i], (stream, best)))
    evidence = Evidence(18, factors)
    assert evidence.prefixes.tolist() == [[16, 0], [32, 0], [44, 8]]
    return verdicts(evidence, [2 * TRUTH + 1], ALPHA).codes[0] == Verdict.REJECTED


def test_one_stream_loses_the_truth_in_at_most_alpha_of_the_records(means_stream):
    losses = sum(one_stream_rejects(means_stream, run) for run in range(RUNS))
    assert binom.sf(losses - 1, RUNS, ALPHA) > UNLUCKY
    assert losses > 0  # the process does move


def test_two_streams_lose_the_truth_in_at_most_alpha_of_the_records(means_stream):
    losses = sum(two_stream_rejects(means_stream, run) for run in range(RUNS))
    assert binom.sf(losses - 1, RUNS, ALPHA) > UNLUCKY
    assert losses > 0


@pytest.mark.parametrize(
    "fault", [{"peek": True}, {"noise": 0.25}], ids=["a numerator that saw the held-out rows", "a quarter of the noise"]
)
def test_negative_control_the_same_count_exposes_a_broken_protocol(means_stream, fault):
    losses = sum(one_stream_rejects(means_stream, run, **fault) for run in range(FEW_RUNS))
    assert binom.sf(losses - 1, FEW_RUNS, ALPHA) < UNLUCKY
