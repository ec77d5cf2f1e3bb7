"""How many exponentials a second this machine can do at best: a loop of nothing but 2^-x and one fused product."""

import time
from dataclasses import dataclass

import numba
import numpy as np
from numba import njit, prange

from physupport._compiled import exp2_minus

# One block of arguments, weights and sums stays in the first-level cache.
_LENGTH = 256
# A tenth of a second: a processor changes its pace within milliseconds.
_REPEATS = 800_000


@dataclass(frozen=True)
class Rates:
    """Exponentials a second on all threads, the best of several rounds."""

    ours: float
    peak: float


@njit(fastmath={"contract"})
def _loop(x, weights, sums, repeats):
    for _ in range(repeats):
        for i in range(_LENGTH):
            sums[i] += weights[i] * exp2_minus(x[i])


@njit(parallel=True)
def _loops(x, weights, sums, repeats):
    for thread in prange(len(sums)):
        _loop(x[thread], weights[thread], sums[thread], repeats)


def rates(work, exponentials, rounds=10):
    """Work that takes so many exponentials, in turns with the pure loop, so that both meet the same machine."""
    rng, threads = np.random.default_rng(0), numba.get_num_threads()
    x, weights = rng.uniform(0.0, 10.0, (threads, _LENGTH)), rng.uniform(0.0, 1.0, (threads, _LENGTH))
    sums = np.zeros_like(x)
    work()
    _loops(x, weights, sums, 1)
    ours, peak = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        between = time.perf_counter()
        _loops(x, weights, sums, _REPEATS)
        ours.append(between - start)
        peak.append(time.perf_counter() - between)
    return Rates(exponentials / min(ours), threads * _LENGTH * _REPEATS / min(peak))
