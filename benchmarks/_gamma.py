"""Mixtures of two nuclides with a library that was itself counted for 300 s: `python -m benchmarks._gamma [REPEATS]`.

A scintillator of 7 % at 662 keV is simulated from line tables: photopeaks, Compton continua, and a flat background.
Rows of the table are ways to know the library, columns live times of the signal.  A cell has the mixtures of which both
nuclides are certain, those with nothing certain that is false, and those for which nothing fits.
"""

import itertools
import sys

import numpy as np

from physupport.judges import Verdict
from physupport.judges.counts import ByCounts, CountTable

AXIS = np.arange(30.0, 1530.0, 6.0)  # keV
LEVEL = 0.05
LIVE_TIME = 300.0  # s
TIMES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
# Energies (keV) and photons in 100 decays.
LINES = {
    "Am-241": [(59.5, 36)],
    "Ba-133": [(81.0, 33), (276.4, 7), (302.9, 18), (356.0, 62), (383.8, 9)],
    "Co-57": [(122.1, 86), (136.5, 11)],
    "Co-60": [(1173.2, 100), (1332.5, 100)],
    "Cs-137": [(661.7, 85)],
    "Eu-152": [(121.8, 28), (244.7, 8), (344.3, 27), (778.9, 13), (964.1, 15), (1112.1, 14), (1408.0, 21)],
    "I-131": [(80.2, 3), (284.3, 6), (364.5, 82), (637.0, 7)],
    "K-40": [(1460.8, 11)],
    "Mn-54": [(834.8, 100)],
    "Na-22": [(511.0, 180), (1274.5, 100)],
}
NAMES = tuple(LINES)
BACKGROUND = np.ones((len(AXIS), 1))
RATE, SCATTERED = 500.0, 60.0  # counts a second of one nuclide, and of the background


def response(lines):
    """Photopeaks and Compton continua, (q,) with the sum 1."""
    spectrum = np.zeros(len(AXIS))
    for energy, share in lines:
        width = 0.07 * 661.7 * np.sqrt(energy / 661.7) / 2.3548
        peak = np.exp(-0.5 * ((AXIS - energy) / width) ** 2) / width
        edge = energy / (1.0 + 511.0 / (2.0 * energy))
        compton = 1.0 / (1.0 + np.exp((AXIS - edge) / (0.5 * width))) / max(edge - AXIS[0], 3.0 * width)
        kept = min(1.0, (energy / 150.0) ** -0.8)  # of the photons, those that leave all their energy
        spectrum += share * (kept * peak / np.sqrt(2.0 * np.pi) + (1.0 - kept) * compton)
    return spectrum / spectrum.sum()


TRUE = np.stack([response(lines) for lines in LINES.values()], axis=1)
MIXTURES = [*itertools.combinations(range(len(NAMES)), 2)]


def table_of(way, library, supports, columns):
    """The explanations with responses of the chosen columns, known in one of the ways."""
    listed = library[:, columns]
    if way == "counted":
        return CountTable.from_recorded(listed, supports, BACKGROUND)
    rates = TRUE[:, columns] if way == "true" else listed / listed.sum(axis=0)
    error = way if isinstance(way, float) else 0.0
    band = (rates * (1.0 - error), rates * (1.0 + error)) if error else None
    return CountTable(rates, supports, BACKGROUND, band)


def certain(judge, supports):
    """The numbers of elements that all kept explanations have; None if nothing fits."""
    kept = np.flatnonzero(judge.verdicts(np.arange(judge.size)).codes != Verdict.REJECTED)
    return set.intersection(*[{*supports[e]} for e in kept]) if len(kept) else None


def cell(way, seconds, repeats, *, is_missing):
    """Counts of both certain, false, and EMPTY; if one is missing from the library, the other is all that is true."""
    both = false = empty = 0
    for run in range(repeats):
        rng = np.random.default_rng([run, int(10 * seconds)])
        pair = MIXTURES[rng.integers(len(MIXTURES))]
        library = rng.poisson(LIVE_TIME * (RATE * TRUE))
        means = seconds * (RATE * TRUE[:, pair] @ rng.uniform(0.5, 1.5, 2) + SCATTERED / len(AXIS))
        counts = rng.poisson(means)
        columns = [j for j in range(len(NAMES)) if not (is_missing and j == pair[1])]
        supports = [s for size in range(3) for s in itertools.combinations(range(len(columns)), size)]
        judge = ByCounts().judge(table_of(way, library, supports, columns), counts, LEVEL, seed=run)
        found = certain(judge, supports)
        named = {columns[j] for j in found or ()}
        both += named >= {*pair}
        false += bool(named - {*pair})
        empty += found is None
    return both, false, empty


def main(repeats=8):
    """Print both tables."""
    for is_missing in (False, True):
        print("one nuclide missing from the library" if is_missing else "complete library")
        print(f"both certain / false / EMPTY of {repeats}", *(f"{each:g} s" for each in TIMES), sep=" | ", flush=True)
        for way in ("true", "exact", 0.03, 0.10, "counted"):
            cells = (cell(way, seconds, repeats, is_missing=is_missing) for seconds in TIMES)
            print(way, *("{}/{}/{}".format(*each) for each in cells), sep=" | ", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
