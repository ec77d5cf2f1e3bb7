"""Balls, cones, tangents at full length: `python -m benchmarks._width`.  The truth inside, on the edge, and beyond."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import binom

from physupport.judges import ByEvidence, Verdict
from physupport.judges.rotation import Companions, Rotation, RotationTable

RUNS, LEVEL = 3000, 0.1
TESTS = Path(__file__).parents[1] / "tests"


def loaded(name, folder="laws/gaussian"):
    """A test with its data sets, of which it takes fewer."""
    spec = importlib.util.spec_from_file_location(name, TESTS / folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def counted(about, lost, runs=RUNS):
    """lost: how many of so many data sets."""
    count = lost(runs)
    print(f"{about}: lost {count} of {runs} ({binom.sf(count - 1, runs, LEVEL):.2g})", flush=True)


def lost_cells(cells, place, runs, has_tangents=True):
    """How often the cell of a line is rejected that lies at a place in it, in half steps from its middle.

    The line is moved itself, not along its derivative, so that what a straight line leaves is in the rows.
    """
    held = Rotation(cells.table(), draws=199, companions=Companions(cells=cells.CELLS))
    plain = Rotation(RotationTable(cells.LINES, [(i,) for i in range(cells.N)]), draws=199)
    count, own = 0, np.arange(cells.N)
    for run in range(runs):
        rng = np.random.default_rng([7, run])
        truth = int(rng.integers(1, cells.N - 1))
        at = cells.CENTRES[truth] + cells.HALF * place(rng)
        line = np.exp(-0.5 * ((cells.AXIS[:, 0] - at) / 2.0) ** 2)
        row = rng.uniform(8.0, 20.0) * rng.choice([-1.0, 1.0]) * line + rng.standard_normal(cells.Q)
        spec = replace(held if has_tangents else plain, seed=run)
        count += spec.judge(row[None], LEVEL).verdicts(own).codes[truth] == Verdict.REJECTED
    return count


if __name__ == "__main__":
    cells = loaded("test_cells", "judges/rotation")
    counted("tangents, anywhere", lambda n: lost_cells(cells, lambda rng: rng.uniform(-1.0, 1.0), n))
    counted("tangents, edge", lambda n: lost_cells(cells, lambda rng: rng.choice([-1.0, 1.0]), n))
    counted("tangents, beyond", lambda n: lost_cells(cells, lambda _: 4.0, n), 200)
    counted("no tangents, edge", lambda n: lost_cells(cells, lambda rng: rng.choice([-1.0, 1.0]), n, False))
    ball, cone, mixture = loaded("test_ball"), loaded("test_cone"), loaded("test_nonnegative")
    fission, rows = ByEvidence("fission", 2), ByEvidence("rows", 1)
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
