"""How often a stream of 100,000 rows, looked at after every 100, ever rejects what makes it: `python -m
benchmarks.stream_level [RUNS]`.

Every row is drawn, and every look is taken by the evidence that `update` and `watch` go on with. The same rows are also
judged through their sums, as the test of 2000 such streams does: what both say of every explanation is compared.
"""

import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from scipy.special import logsumexp
from scipy.stats import binom

from physupport.banks import Library, library_bank, product_grid
from physupport.judges import RunningEvidence, Verdict
from physupport.laws import Mean

LEVEL, LOOKS, STEP, STRENGTH = 0.1, 1000, 100, 0.02
WAVES = np.exp(-0.5 * ((np.linspace(0.0, 1.0, 8)[:, None] - np.array([0.1, 0.4, 0.6, 0.9])) / 0.15) ** 2)
ATOMS = WAVES / np.linalg.norm(WAVES, axis=0)
LIBRARY = Library(["p1", "p2", "p3", "p4"], ["line"] * 4, np.arange(4.0)[:, None], ATOMS)


def looked_at(run, noise):
    """Whether the second element, which makes the rows, is ever rejected; and how far sums are from what is stated."""
    bank = library_bank(LIBRARY, [["line"]], {"line": [STRENGTH]}, deployment=product_grid(noise=[noise]))
    running = RunningEvidence.begin({"deployment": (bank, Mean())})
    rng, means = np.random.default_rng([17, run]), STRENGTH * ATOMS.T
    logs, peaks = np.zeros(4), np.zeros(4)
    for _ in range(LOOKS):
        rows = means[1] + rng.standard_normal((STEP, 8))
        running = running.after(rows)
        logs += (rows.sum(axis=0) @ means.T - 0.5 * STEP * (means**2).sum(axis=1)) / noise
        peaks = np.maximum(peaks, logsumexp(logs) - np.log(4) - logs)
    off = np.maximum(running.peaks.lower - peaks, peaks - running.peaks.upper).max()
    return running.judge(LEVEL).codes[1] == Verdict.REJECTED, off


def main(runs):
    for noise, told in ((1.0, "noise as stated"), (0.25, "control: a quarter of its variance")):
        count = runs if noise == 1.0 else min(runs, 50)
        with ProcessPoolExecutor(2) as pool:
            lost, off = zip(*pool.map(looked_at, range(count), [noise] * count), strict=True)
        rare = binom.sf(sum(lost) - 1, count, LEVEL)
        print(f"{told}: ever lost in {sum(lost)} of {count} at level {LEVEL}, P of as many {rare:.2g}", flush=True)
        print(f"  sums differ from the bounds of the evidence by at most {max(off):.1e}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
