"""Counts at full length: `python -m benchmarks._counts`. Validity in 3000 data sets a kind, power, and time."""

import importlib.util
import itertools
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.progress import track
from scipy.stats import binom

from physupport.judges import Verdict
from physupport.judges.counts import ByCounts, CountTable
from physupport.judges.counts._halves import Opponents

RUNS, LEVEL = 3000, 0.1
TEST = Path(__file__).parents[1] / "tests" / "judges" / "counts" / "test_validity.py"


def scenarios():
    """Those of the test, which takes fewer data sets."""
    spec = importlib.util.spec_from_file_location("counts_validity", TEST)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def validity(test):
    for make in (test.on_the_grid, test.between_the_grid, test.within_a_cone):
        lost = early = 0
        for run in track(range(RUNS), make.__name__, transient=True):
            judge, truths = test.judged(make, run)
            lost += bool((judge.verdicts(np.array(truths)).codes == Verdict.REJECTED).all())
            early += all(test.early_evidence(judge, truth) > np.log(1 / LEVEL) for truth in truths)
        chances = [binom.sf(count - 1, RUNS, LEVEL) for count in (lost, early)]
        print(f"{make.__name__}: lost {lost} of {RUNS} ({chances[0]:.2g}); early stop {early} ({chances[1]:.2g})")


def lines_at(shift):
    """Arsenic and lead in a window of 100 channels, on an axis that is off by so many eV."""
    channels = np.linspace(10000.0, 11000.0, 100) - shift
    lines = [np.exp(-0.5 * ((channels - place) / 68.0) ** 2) for place in (10543.7, 10508.0, 10551.5, 10449.5)]
    atoms = np.stack([lines[0] + 0.51 * lines[1], lines[2] + 0.11 * lines[3]], axis=1)
    return atoms / atoms.sum(axis=0)


def power(net, shifts, runs=160):
    """Two lines with coherence .99 over a background of four times the net counts, one of them active.

    Known scales reject the wrong one at least as often as .11 and .93 (net 2000 and 8000), and never the true one.
    """
    atoms, ramp = lines_at(0.0), np.linspace(0.0, 1.0, 100)
    background = np.stack([ramp, 1.0 - ramp], axis=1)
    table = CountTable.with_variants([lines_at(shift) for shift in shifts], [(0,), (1,)], background)
    rejected = np.zeros(2)
    for run in track(range(runs), f"net {net}", transient=True):
        counts = np.random.default_rng(run).poisson(net * atoms[:, run % 2] + 4.0 * net / 100)
        codes = ByCounts().judge(table, counts, LEVEL, seed=run).verdicts(np.arange(table.size)).codes
        rejected += (codes == Verdict.REJECTED).reshape(-1, 2).all(axis=0)[[run % 2, 1 - run % 2]]
    unit = atoms / np.linalg.norm(atoms, axis=0)
    about = f"net {net}, coherence {unit[:, 0] @ unit[:, 1]:.3f}, {len(shifts)} offsets"
    print(f"{about}: true line rejected in {int(rejected[0])} of {runs}, wrong one {rejected[1] / runs:.2f}")


def false_at_twice_the_smallest_error(breadth, kind, runs=12):
    """Of a line over a flat background that the bank lacks, how often a broad element at its place is certain.

    kind: which opponents judge.  In the mean over data sets none has more evidence than the true means.
    """
    axis = np.arange(80.0)
    columns = np.stack([np.exp(-0.5 * ((axis - 40.0) / width) ** 2) for width in (3.0, 3.0 * breadth)], axis=1)
    means = 300.0 * columns[:, 0] + 5.0
    table = CountTable(columns, [(0,), (1,), (0, 1)], None, (columns, columns))
    errors = np.geomspace(5e-4, 0.5, 60)
    false = 0
    for run in range(runs):
        judge = ByCounts().judge(table, np.random.default_rng(run).poisson(means), 0.05, seed=1)
        if kind != "all":
            judge = with_opponents(judge, 0.5 * means if kind == "the true means" else None)
        first = [next((e for e in errors if is_kept(judge, columns, e, support)), 1.0) for support in range(3)]
        false += first[0] > 2.0 * min(first)  # the line alone does not fit where the staircase is read
    print(f"broader by {breadth}, opponents {kind}: certain in {false} of {runs}")


def with_opponents(judge, means):
    """The judge with means (q,) as the only opponent, or without its smoothed counts."""
    trials = []
    for trial in judge.trials:
        own = trial.opponents
        count = len(own.weights) - len(judge.widths)
        weights, of = (own.weights[:count], own.means[:count]) if means is None else (np.ones(1), means[None])
        against = Opponents((1.0 - 2.0**-40) * weights / weights.sum(), of)
        trials.append(replace(trial, opponents=against, log_mixture=against.log_bounds(trial.counts)))
    object.__setattr__(judge, "trials", tuple(trials))
    return judge


def is_kept(judge, columns, error, support):
    """True if a support is kept with responses right to within a share of their largest value."""
    half = error * columns.max(axis=0)
    band = np.maximum(columns - half, 0.0), columns + half
    return judge.log_evidence_within(band, np.array([support])).lower[0] <= np.log(20.0)


def seconds(table, counts):
    """Shortest of three, verdicts on everything."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        ByCounts().judge(table, counts, LEVEL, seed=1).verdicts(np.arange(table.size))
        times.append(time.perf_counter() - start)
    return min(times)


def cost():
    rng = np.random.default_rng(0)
    channels = np.arange(400)
    places = np.array([120.0, 150.0, 155.0])
    variants = [np.exp(-0.5 * ((channels[:, None] - places - shift) / 6.0) ** 2) for shift in np.linspace(-4, 4, 9)]
    supports = [chosen for size in range(4) for chosen in itertools.combinations(range(3), size)]
    background = np.stack([channels / 400, 1 - channels / 400, np.ones(400)], axis=1)
    counts = rng.poisson(variants[5] @ [80.0, 50.0, 0.0] + background @ [5.0, 10.0, 3.0])
    states = CountTable.with_variants(variants, supports, background)
    print(f"400 channels, {states.size} explanations: {seconds(states, counts):.3f} s")
    channels = np.arange(1000)
    lines = np.exp(-0.5 * ((channels[:, None] - np.linspace(50, 900, 20)) / 10.0) ** 2)
    background = np.stack([channels / 1000, 1 - channels / 1000, np.ones(1000)], axis=1)
    counts = rng.poisson(lines[:, [2, 3, 8, 15]] @ [30.0, 60.0, 20.0, 100.0] + background @ [10.0, 20.0, 5.0])
    print(f"presence of 20 elements, 1000 channels: {seconds(CountTable.presence(lines, background), counts):.3f} s")


if __name__ == "__main__":
    cost()
    for shifts in ((0.0,), np.linspace(-16.0, 16.0, 9)):
        for net in (2000, 8000):
            power(net, shifts)
    for breadth, kind in itertools.product((2.7, 7.0), ("all", "all but smoothed counts", "the true means")):
        false_at_twice_the_smallest_error(breadth, kind)
    validity(scenarios())
