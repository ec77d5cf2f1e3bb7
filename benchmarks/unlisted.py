"""How often statements are false while a source is there that the library lacks.

A source of the declared family, at a random place and from faint to strong, lies beside a random set of listed
elements; 100 to 100 000 counts in all.  False is a listed element that is certain and not there, something unlisted
that is certain and not there, or an interval without the line.  The control is the same library, judged as if it were
complete.  `python -m benchmarks.unlisted [RUNS]`
"""

import sys
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from physupport.judges import Verdict
from physupport.judges.counts import ByCounts, CountTable
from physupport.responses import generic_peaks

AXIS = np.arange(0.0, 1000.0, 12.5)
WIDTH = 25.0
LEVEL = 0.05
SUPPORTS = [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]


def spectrum(energy):
    """A line with its Compton continuum."""
    edge = energy / (1.0 + 511.0 / (2.0 * energy))
    return np.exp(-0.5 * ((AXIS - energy) / WIDTH) ** 2) + 0.25 / (1.0 + np.exp((AXIS - edge) / 20.0))


LISTED = np.stack([spectrum(250.0), spectrum(662.0), 0.5 * spectrum(480.0) + 0.5 * spectrum(850.0)], axis=1)


class Counted(NamedTuple):
    """Shares of data sets."""

    false: int
    control: int
    listed: float  # of listed elements that are there, those that are certain
    listed_if_complete: float
    found: float  # of sources that the library lacks, those that are certain to be there
    width: float  # median of the intervals


def count(columns, places, draw, few, runs, seed):
    """Count over data sets.

    draw: a response of the family and its place.  few: 100 to 1000 counts, most of them of that response.
    """
    rng = np.random.default_rng(seed)
    background = np.ones((len(AXIS), 1))
    generic = np.arange(3, 3 + columns.shape[1])
    supports = [*SUPPORTS, *((*support, *generic) for support in SUPPORTS)]
    table = CountTable(np.hstack([LISTED, columns]), supports, background)
    alone = CountTable(LISTED, SUPPORTS, background)
    false = control = there = certain = certain_alone = unlisted = found = 0
    widths = []
    for run in range(runs):
        is_there = rng.random(3) < (0.2 if few else 0.4)
        is_unlisted = few or rng.random() < 0.8
        response, place = draw(rng)
        means = 0.02 + LISTED @ (is_there * rng.uniform(0.1, 1.0, 3))
        means = means + (is_unlisted * 10.0 ** rng.uniform(*((0.0, 1.0) if few else (-1.5, 0.5)))) * response
        counts = rng.poisson(means * (10.0 ** rng.uniform(2.0, 3.0 if few else 5.0) / means.sum()))
        judge = ByCounts().judge(table, counts, LEVEL, seed=run)
        kept = judge.verdicts(np.arange(16)).codes != Verdict.REJECTED
        named = needed(kept)
        reading = needed(kept[:8])
        has_found = not kept[:8].any() and kept.any()
        runs_found = judge.unlisted_runs(generic) if has_found else []
        intervals = [(places[0, a : b + 1].min(), places[1, a : b + 1].max()) for a, b in runs_found]
        is_false = (named & ~is_there).any() or (has_found and not is_unlisted)
        is_false |= not is_unlisted and (reading & ~is_there).any()
        is_false |= any(not low <= place <= high for low, high in intervals)
        false += bool(is_false)
        plain = ByCounts().judge(alone, counts, LEVEL, seed=run)
        said = needed(plain.verdicts(np.arange(8)).codes != Verdict.REJECTED)
        control += bool((said & ~is_there).any())
        there += int(is_there.sum())
        certain += int((named & is_there).sum())
        certain_alone += int((reading & is_there).sum())
        unlisted += bool(is_unlisted)
        found += bool(has_found and is_unlisted)
        widths += [high - low for low, high in intervals]
    median = float(np.median(widths)) if widths else np.nan
    return Counted(false, control, certain / there, certain_alone / there, found / unlisted, median)


def needed(kept):
    """(3,) listed elements that every kept explanation has, if one is kept."""
    has = np.array([[j in support for j in range(3)] for support in SUPPORTS] * (len(kept) // 8))
    return has[kept].all(axis=0) & kept.any()


def families():
    """Lines anywhere with the resolution, and spectra of other nuclides."""
    peaks = generic_peaks(AXIS, WIDTH)

    def line(rng):
        place = rng.uniform(50.0, 950.0)
        return np.exp(-0.5 * ((AXIS - place) / WIDTH) ** 2), place

    def nuclides(*energies):
        others = np.stack([spectrum(energy) for energy in energies], axis=1)
        numbers = np.stack([np.arange(len(energies), dtype=float)] * 2)

        def other(rng):
            k = int(rng.integers(len(energies)))
            return others[:, k], float(k)

        return others, numbers, other

    return {
        "peaks": (*peaks, line, False),
        "atoms": (*nuclides(140.0, 310.0, 390.0, 590.0, 740.0, 930.0), False),
        "atoms near listed lines, few counts": (*nuclides(235.0, 270.0, 630.0, 690.0), True),
    }


def main(runs=3000):
    """Print a line for each family."""
    for name, (columns, places, draw, few) in families().items():
        seen = count(columns, places, draw, few, runs, seed=11)
        beyond = binom.sf(seen.false - 1, runs, LEVEL)
        print(name, runs, seen, f"P(as many false or more at the level) = {beyond:.3g}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
