"""What rotations cost."""

import time
from itertools import combinations

import numpy as np

from physupport.judges import Verdict
from physupport.judges.rotation import Rotation, RotationTable

LEVEL = 0.1


def places(n, q, seed=0):
    """(q, n) unit responses of sources within a sphere, turned outwards, at sensors on its upper half."""
    rng = np.random.default_rng(seed)
    where, sensors = (np.stack([unit(rng.standard_normal(3)) for _ in range(count)]) for count in (n, q))
    where[:, 2], sensors[:, 2] = np.abs(where[:, 2]), np.abs(sensors[:, 2])
    apart = sensors[:, None] - where * (0.6 + 0.25 * rng.random(n))[:, None]
    atoms = (apart * where).sum(axis=2) / np.linalg.norm(apart, axis=2) ** 3
    return atoms / np.linalg.norm(atoms, axis=0)


def unit(vector):
    return vector / np.linalg.norm(vector)


def retained(judge):
    """(k,) the explanations that are not rejected."""
    return np.flatnonzero(judge.verdicts(np.arange(judge.size)).codes != Verdict.REJECTED)


def cost(add):
    """CPU milliseconds a verdict, where the row decides little and where it decides much; 999 draws."""
    for n in (500, 10_000):
        atoms = places(n, 94)
        table, asked = RotationTable(atoms, [(i,) for i in range(n)]), np.arange(0, n, max(1, n // 500))
        for rho in (2.0, 10.0):
            row = rho * atoms[:, 7] + np.random.default_rng(1).standard_normal(94)
            judge = Rotation(table, seed=3).judge(row, LEVEL)
            judge.verdicts(asked[:2])
            start = time.process_time()
            judge.verdicts(asked)
            each = 1e3 * (time.process_time() - start) / len(asked)
            wanted = "0.2" if n == 500 else "12"
            add(f"a verdict by rotation, {n:,} explanations, rho {rho:g}", f"{each:.2f} ms", f"wanted: {wanted}")


def all_pairs(add, n=531):
    """All pairs of places with a free reference, settled by their rivals: 20 epochs, and one row."""
    atoms = places(n, 94)
    other = int(np.abs(np.abs(atoms.T @ atoms[:, 7]) - 0.5).argmin())
    for count in (20, 1):
        wall, cpu = time.perf_counter(), time.process_time()
        table = RotationTable(atoms, list(combinations(range(n), 2)), np.ones((94, 1)))
        noise = np.random.default_rng(1).standard_normal((count, 94))
        rows = 10.0 * (atoms[:, 7] + atoms[:, other]) / np.sqrt(count) + noise
        kept = retained(Rotation(table, seed=3).judge(rows, LEVEL))
        seconds = time.perf_counter() - wall, time.process_time() - cpu
        said = f"{seconds[1]:.0f} s of CPU; {len(kept)} kept; wanted: under 60 s"
        add(f"all {table.size:,} pairs of {n} places, rho 10, rows: {count}", f"{seconds[0]:.0f} s", said)


def free_pairs(add, n=250):
    """All pairs of places of free orientation, three columns each: 20 epochs."""
    rng = np.random.default_rng(0)
    where, sensors = (np.stack([unit(rng.standard_normal(3)) for _ in range(count)]) for count in (n, 94))
    where[:, 2], sensors[:, 2] = np.abs(where[:, 2]), np.abs(sensors[:, 2])
    apart = sensors[:, None] - where * (0.6 + 0.25 * rng.random(n))[:, None]
    atoms = (apart / np.linalg.norm(apart, axis=2, keepdims=True) ** 3).reshape(94, -1)
    atoms /= np.linalg.norm(atoms, axis=0)
    supports = [(*range(3 * i, 3 * i + 3), *range(3 * k, 3 * k + 3)) for i, k in combinations(range(n), 2)]
    for rho in (5.0, 10.0):
        noise = np.random.default_rng(1).standard_normal((20, 94))
        rows = rho * (atoms[:, 22] + atoms[:, 3 * (n // 2) + 2]) / np.sqrt(20) + noise
        wall, cpu = time.perf_counter(), time.process_time()
        kept = retained(Rotation(RotationTable(atoms, supports, np.ones((94, 1))), seed=3).judge(rows, LEVEL))
        seconds = time.perf_counter() - wall, time.process_time() - cpu
        said = f"{seconds[1]:.0f} s of CPU; {len(kept)} kept; wanted: under 60 s"
        add(f"all {len(supports):,} pairs of {n} places of free orientation, rho {rho:g}", f"{seconds[0]:.0f} s", said)


CASES = {"rotation": cost, "all_pairs": all_pairs, "free_pairs": free_pairs}
