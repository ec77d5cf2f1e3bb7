"""Counts that keep arriving: the evidence by increments, its level over all looks, and what rows may be."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom, poisson

from physupport import MisuseError
from physupport.banks import Library, library_bank
from physupport.judges import RunningEvidence, Verdict
from physupport.judges.counts import _running
from physupport.judges.counts._halves import Opponents
from physupport.laws import Poisson

AXIS = np.arange(24)
ATOMS = np.exp(-0.5 * ((AXIS[:, None] - np.array([6.0, 8.0, 17.0])) / 2.0) ** 2)
ATOMS /= np.linalg.norm(ATOMS, axis=0)
SETS = [list(chosen) for size in range(4) for chosen in combinations("abc", size)]
BANK = library_bank(Library(list("abc"), list("abc"), np.arange(3.0)[:, None], ATOMS), SETS, dict.fromkeys("abc", 1.0))
BACKGROUND = np.stack([np.ones(24), np.linspace(1.0, 0.0, 24)], axis=1)
LAW, TRUTH, LEVEL, LOOKS = Poisson(background=BACKGROUND), SETS.index(["a", "c"]), 0.1, 8
MEAN = 8.0 * ATOMS[:, 0] + 8.0 * ATOMS[:, 2] + 0.5 * BACKGROUND.sum(axis=1)


def begun(form="increments", **options):
    return RunningEvidence.begin({"deployment": (BANK, LAW)}, LEVEL, {"deployment": form}, **options)


def test_the_evidence_is_that_of_its_definition(monkeypatch):
    """One expert, and every increment with its factorials; the supremum by a search of another kind."""
    rows, times = np.random.default_rng(3).poisson(MEAN * [[1.0], [2.0], [0.5]]), np.array([1.0, 2.0, 0.5])
    experts = []

    def keep(self, exposure, own=_running.RunningCounts._experts):
        experts.append(own(self, exposure))
        return experts[-1]

    monkeypatch.setattr(_running.RunningCounts, "_experts", keep)
    evidence = begun()
    for row, time in zip(rows, times, strict=True):
        evidence = evidence.after(np.concatenate([[time], row])[None])
    logs = np.zeros(len(experts[0]))
    for row, fixed in zip(rows[1:], experts, strict=True):
        for j, expert in enumerate(fixed):
            logs[j] += np.logaddexp.reduce(np.log(expert.weights) + poisson.logpmf(row, expert.means).sum(axis=1))
    shares = np.array([0.25, 0.25] + [0.25 / 6] * 12)
    numerator = np.logaddexp.reduce(np.log(shares) + logs)
    columns = np.concatenate([ATOMS[:, [0, 2]], BACKGROUND], axis=1)

    def loss(amounts):
        return -poisson.logpmf(rows[1:], times[1:, None] * (columns @ amounts)).sum()

    least = minimize(loss, np.ones(4), bounds=[(1e-9, None)] * 4, method="L-BFGS-B", options={"ftol": 1e-15}).fun
    bounds = evidence.streams["deployment"].log_evidence
    assert bounds.lower[TRUTH] <= numerator + least + 1e-3  # the search ends within a thousandth
    assert bounds.upper[TRUTH] >= numerator + least - 1e-3
    assert bounds.upper[TRUTH] - bounds.lower[TRUTH] < 1e-5


def ever_lost(runs, law=LAW, noise=0.0):
    rng, lost = np.random.default_rng(5), 0
    for _ in range(runs):
        evidence = RunningEvidence.begin({"deployment": (BANK, law)}, LEVEL)
        mean = MEAN * np.exp(noise * rng.standard_normal(24))
        for _ in range(LOOKS):
            evidence = evidence.after(rng.poisson(4.0 * mean, (1, 24)))
        lost += int(evidence.judge(LEVEL).codes[TRUTH] == Verdict.REJECTED)
    return lost


def test_the_truth_is_ever_lost_in_at_most_the_level_of_the_runs():
    assert binom.sf(ever_lost(60) - 1, 60, LEVEL) > 1e-6


def test_negative_control_responses_that_are_off_are_found_out():
    assert binom.sf(ever_lost(20, noise=0.5) - 1, 20, LEVEL) < 1e-6


def test_what_is_seen_shrinks_and_becomes_certain():
    rng, evidence, left = np.random.default_rng(0), begun(), []
    for _ in range(LOOKS):
        evidence = evidence.after(rng.poisson(10.0 * MEAN, (2, 24)))
        left.append({e for e in range(BANK.size) if evidence.judge(LEVEL).codes[e] != Verdict.REJECTED})
    assert all(later <= earlier for earlier, later in pairwise(left))
    assert left[-1] == {e for e in range(BANK.size) if {"a", "c"} <= set(SETS[e])}


def test_snapshots_and_events_are_the_same_spectrum_as_increments():
    rng = np.random.default_rng(9)
    times = np.array([[2.0], [3.0], [1.0]])
    steps = rng.poisson(MEAN * times)
    rows = np.concatenate([times, steps], axis=1)
    found = {"increments": [rows[:1], rows[1:2], rows[2:]]}
    found["snapshots"] = [np.cumsum(rows, axis=0)[k : k + 1] for k in range(3)]
    blocks, start = [], 0.0
    for (duration,), step in zip(times, steps, strict=True):
        channels = rng.permutation(np.repeat(AXIS, step))
        # The last event of each look ends it; the first look begins with its first event.
        at = start + duration * np.sort(rng.uniform(size=len(channels)))
        at[-1] = start + duration
        at[0] = start if not blocks else at[0]
        blocks.append(np.stack([at, channels], axis=1))
        start += duration
    found["events"] = blocks
    ends = []
    for form, looks in found.items():
        evidence = begun(form)
        for look in looks:
            evidence = evidence.after(look)
        ends.append(evidence.streams["deployment"].log_evidence.lower)
    np.testing.assert_allclose(ends[1:], [ends[0]] * 2, atol=1e-9)


@pytest.mark.parametrize(
    ("form", "looks", "words"),
    [
        ("snapshots", [np.full((1, 24), 2.0), np.full((1, 24), 1.0)], "snapshots must never fall"),
        ("events", [[[1.0, 3.0], [2.0, 24.0]]], "channel from 0 to 23"),
        ("events", [[[2.0, 3.0], [1.0, 4.0]]], "order of their times"),
        ("events", [[[2.0, 3.0]]], "live time must grow"),
        ("increments", [np.full((1, 24), 0.5)], "be counts"),
        ("spectra", [], "form must be one of increments, snapshots, events"),
    ],
)
def test_rows_that_cannot_be_such_are_refused(form, looks, words):
    def read():
        evidence = begun(form)
        for look in looks:
            evidence = evidence.after(np.asarray(look))

    with pytest.raises(MisuseError, match=words):
        read()


def test_many_columns_stop_where_their_bounds_decide_and_say_the_same(monkeypatch):
    rng = np.random.default_rng(2)
    rows = [rng.poisson(6.0 * MEAN, (1, 24)) for _ in range(4)]
    codes = []
    for limit in (64, 1):
        monkeypatch.setattr("physupport.judges.counts._many.MANY_COLUMNS", limit)
        evidence = begun()
        for row in rows:
            evidence = evidence.after(row)
        codes.append(evidence.judge(LEVEL).codes)
    np.testing.assert_array_equal(*codes)


@pytest.mark.parametrize(("widths", "count"), [((), 2), ((0.0, 2.0), 6)])
def test_experts_are_densities_with_shares_of_one(widths, count):
    """Weights add up to no more than 1, so that the sum over all counts is no more than 1."""
    evidence = begun(widths=widths).after(np.ones((1, 24)))
    experts = evidence.streams["deployment"]._experts(1.0)
    assert len(experts) == count
    assert all(isinstance(expert, Opponents) and expert.weights.sum() <= 1.0 for expert in experts)
    # Of equal rows all experts predict something, and the best explanation is not rejected.
    later = evidence.after(np.ones((1, 24)))
    assert later.peaks.lower[TRUTH] < -np.log(LEVEL)
