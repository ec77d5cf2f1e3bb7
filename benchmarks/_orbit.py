"""The bracket of the orbit's diameter on the data sets of the global study: `python -m benchmarks._orbit [SHARE]`.

SHARE of the rows proposes, 0.45 unless given. Numbers are means over the six data sets of a condition; diameters are
shares of that before any data. `python -m benchmarks._orbit rows` has the bracket of the first rows of the high
condition.
"""

import sys
import time

import numpy as np

from physupport.laws import BernoulliGaussian, make_calibration
from physupport.local.orbit import Orbit, orbit_bracket
from physupport.studies._global_bank import GENERATOR, study_rows
from physupport.studies._outcome import ACTIVE, balanced
from physupport.studies.global_bank import CONDITIONS

LEVEL, LOWER, UPPER = 0.077, np.array([-0.4, 0.8, 0.15]), np.array([0.4, 1.2, 0.3])


def measured(condition, seed, share, n_rows=None):
    """Inner and outer number, laws asked about, CPU seconds, and whether the truth is left, of one data set."""
    atoms = balanced(condition.scale).atoms
    orbit = Orbit(atoms[:, :4], atoms[:, 4:], GENERATOR[None], LOWER, UPPER)
    if n_rows is None:
        rows = np.random.default_rng(1).permutation(study_rows(condition, seed))
    else:
        rows = make_calibration(BernoulliGaussian(0.2), atoms, condition.noise, np.random.default_rng(seed), n_rows)
    n = int(share * len(rows))
    start = time.process_time()
    found = orbit_bracket(rows[:n], rows[n:], orbit, ACTIVE, LEVEL)
    seconds = time.process_time() - start
    is_left = found.holds([0.0, condition.noise, 0.2])
    return found.inner / found.whole, found.outer / found.whole, found.n_laws, seconds, is_left


def by_rows():
    """The bracket as a function of the number of rows, N, and the outer number times the root of N."""
    condition = CONDITIONS[-1]
    for n_rows in 2 ** np.arange(13, 20, 2):
        table = np.array([measured(condition, seed, 0.45, int(n_rows)) for seed in (1, 2)])
        inner, outer, laws, seconds, left = table.mean(axis=0)
        told = f"{inner:.3f} to {outer:.3f}, times the root {outer * n_rows**0.5:.0f}, {laws:.0f} laws, {seconds:.1f} s"
        print(f"{n_rows}: {told}, truth left {left:.0%}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["rows"]:
        sys.exit(by_rows())
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 0.45
    for condition in CONDITIONS:
        table = np.array([measured(condition, seed, share) for seed in condition.seeds])
        inner, outer, laws, seconds, left = table.mean(axis=0)
        print(f"{condition.name}: {inner:.2f} to {outer:.2f}, {laws:.0f} laws, {seconds:.1f} s, truth left {left:.0%}")
