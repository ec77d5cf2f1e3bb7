"""Which statistic of the simulation judge says more, and what it costs: the table of the page on simulation.

python benchmarks/simulation_statistic.py [data sets]: a library of thirteen places, how many are kept in the mean by
either statistic at level 0.1.  The truth is any of the places, and both judge the same rows with the same draws.
"""

import sys
from time import process_time

import numpy as np

from physupport.banks import Library, library_bank, product_grid
from physupport.io import ArrayRows
from physupport.judges import Sealed, SealedStream, Verdict
from physupport.judges.simulation import BySimulation
from physupport.laws import Mean

LEVEL, N_PLACES, WIDTH, NOISE = 0.1, 13, 0.15, 0.5


def places_bank():
    places, axis = np.linspace(0.0, 1.0, N_PLACES), np.linspace(0.0, 1.0, 40)
    waves = np.exp(-0.5 * ((axis[:, None] - places) / WIDTH) ** 2)
    names = [f"p{i}" for i in range(N_PLACES)]
    library = Library(names, ["line"] * N_PLACES, places[:, None], waves / np.linalg.norm(waves, axis=0))
    return library_bank(library, [["line"]], {"line": [1.0]}, deployment=product_grid(noise=[NOISE]))


def kept(bank, law, rows, statistic, run):
    """How many explanations are left."""
    stream = SealedStream("deployment", ArrayRows(rows), law, law.keys(bank), lambda: None)
    sealed = Sealed(bank, LEVEL, (stream,), run)
    codes = BySimulation(statistic).open(sealed).verdicts(np.arange(bank.size)).codes
    return int(np.sum(codes != Verdict.REJECTED))


def main(runs):
    bank = places_bank()
    law = Mean().completed(bank)
    for n_rows in (4, 16, 64):
        counts, seconds = {"score": [], "ratio": []}, {"score": 0.0, "ratio": 0.0}
        for run in range(runs):
            rng = np.random.default_rng([2026, n_rows, run])
            rows = law.sample(bank, int(rng.integers(bank.size)), rng, n_rows)
            for statistic in counts:
                start = process_time()
                counts[statistic].append(kept(bank, law, rows, statistic, run))
                seconds[statistic] += process_time() - start
        for statistic, sizes in counts.items():
            empty = np.mean(np.equal(sizes, 0))
            print(
                f"{n_rows} rows, {statistic}: {np.mean(sizes):.2f} kept (+- {np.std(sizes) / runs**0.5:.2f}), "
                f"none in {empty:.3f}, {seconds[statistic] / runs:.3f} s each",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
