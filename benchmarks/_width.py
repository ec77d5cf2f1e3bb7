"""Balls and cones at full length: `python -m benchmarks._width`.  The truth inside, on the edge, and beyond."""

import importlib.util
from pathlib import Path

from scipy.stats import binom

from physupport.judges import BySplits

RUNS, LEVEL = 1000, 0.1
TESTS = Path(__file__).parents[1] / "tests" / "laws" / "gaussian"


def loaded(name):
    """A test with its data sets, of which it takes fewer."""
    spec = importlib.util.spec_from_file_location(name, TESTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def counted(about, lost, runs=RUNS):
    """lost: how many of so many data sets."""
    count = lost(runs)
    print(f"{about}: lost {count} of {runs} ({binom.sf(count - 1, runs, LEVEL):.2g})", flush=True)


if __name__ == "__main__":
    ball, cone, mixture = loaded("test_ball"), loaded("test_cone"), loaded("test_nonnegative")
    fission, rows = BySplits("fission", 2), BySplits("rows", 1)
    used = mixture.law(noises=[1.0])
    for place, share in (("inside", lambda rng: rng.uniform()), ("edge", lambda _: 1.0)):

        def sine(error, share=share):
            return lambda rng: error * share(rng)

        counted(f"means, {place}", lambda n, sine=sine: ball.lost(sine(ball.ERROR), fission, [1.0], 1, n))
        counted(f"random, {place}", lambda n, sine=sine: cone.lost(sine(cone.ERROR), rows, "random", True, n))
    counted("mixtures, inside", lambda n: mixture.lost(lambda rng: rng.uniform(), n, used))
    counted("mixtures, edge", lambda n: mixture.lost(lambda rng: float(rng.integers(2)), n, used))
    counted("means, beyond", lambda n: ball.lost(lambda _: 0.5, fission, [1.0], 1, n), 200)
    counted("random, beyond", lambda n: cone.lost(lambda _: 0.7, rows, "random", True, n), 200)
    counted("mixtures, beyond", lambda n: mixture.lost(lambda _: 1.8, n, used), 200)
