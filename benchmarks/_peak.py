"""How many exponentials a second this machine can do at best: a loop of nothing but 2^-x and one fused product."""

import time
from dataclasses import dataclass

import numba
import numpy as np
from numba import njit, prange

from physupport._exp import exp2_minus

# One block of arguments, weights and sums stays in the first-level cache.
_LENGTH = 256


@dataclass(frozen=True)
class Peak:
    per_core: float  # exponentials a second
    total: float  # with all threads


@njit(fastmath={"contract"})
def _loop(x, weights, sums, repeats):
    for _ in range(repeats):
        for i in range(_LENGTH):
            sums[i] += weights[i] * exp2_minus(x[i])


@njit(parallel=True)
def _loops(x, weights, sums, repeats):
    for thread in prange(len(sums)):
        _loop(x[thread], weights[thread], sums[thread], repeats)


def exp_fma_peak(repeats=20000, trials=5):
    """Best of several trials, on one thread and on all."""
    rng = np.random.default_rng(0)
    rates = []
    for threads in (1, numba.get_num_threads()):
        x, weights = rng.uniform(0.0, 10.0, (threads, _LENGTH)), rng.uniform(0.0, 1.0, (threads, _LENGTH))
        sums = np.zeros_like(x)
        _loops(x, weights, sums, 1)
        times = []
        for _ in range(trials):
            start = time.perf_counter()
            _loops(x, weights, sums, repeats)
            times.append(time.perf_counter() - start)
        rates.append(threads * _LENGTH * repeats / min(times))
    return Peak(*rates)


if __name__ == "__main__":
    print(exp_fma_peak())
