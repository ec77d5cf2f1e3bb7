"""How often composite noise loses the truth, at level .1: `python -m benchmarks.noise_level [data sets]`.

Eight sensors, one source or two that are correlated .9, 200 rows, of which half propose, or 1000 for noise without a
ratio; noise on the edge of each family, and beyond it as a control.  Forty channels, twelve rows and a line on a
sloping background for `ar`, and by rotation one row of them, of eight lines and correlations from 0 to .5.  Two further
numbers: the first line of the table, and the one after the last.
"""

import sys

import numpy as np
from scipy.stats import binom

from physupport.banks import array_bank
from physupport.io import ArrayRows, as_pairs
from physupport.judges import ByEvidence, Sealed, SealedStream, Verdict
from physupport.judges.rotation import ByRotation
from physupport.laws import Linear

Q, LEVEL = 8, 0.1
ANGLES = np.deg2rad(np.linspace(-60.0, 60.0, 7))
WAVES = np.exp(1j * np.pi * np.arange(Q)[:, None] * np.sin(ANGLES)) / np.sqrt(Q)
CHANNELS = np.arange(40.0)[:, None]
LINE = np.exp(-0.5 * ((CHANNELS - 16.0) / 3.0) ** 2)
SLOPE = np.hstack([np.ones((40, 1)), CHANNELS / 40.0])


def normal(rng, *shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2.0)


def covariance(kind, n_sources, beyond, rng):
    """On the edge of a family, or beyond it."""
    atoms = WAVES[:, [2, 4][:n_sources]]
    mixed = atoms @ np.array([[1.0, 0.0], [0.9, 0.44]])[:n_sources, :n_sources]
    signal = 50.0 * mixed @ mixed.conj().T
    if kind == "low rank":
        further = 3.0 * normal(rng, Q, 5 if beyond else 2)
        return signal + further @ further.conj().T + np.eye(Q)
    if kind == "diagonal":
        noise = np.diag(np.append(1e-3, rng.uniform(0.2, 5.0, Q - 1)))  # one channel has hardly any
        return signal + noise + (20.0 * np.ones((Q, Q)) if beyond else 0.0)
    if kind == "diagonal, ratio 4":
        return signal + np.diag(np.where(np.arange(Q) % 2, 100.0 if beyond else 4.0, 1.0))
    basis = np.linalg.qr(np.hstack([atoms, normal(rng, Q, Q - n_sources)]))[0]
    beside = np.where(np.arange(Q - n_sources) < 3, 2.0 * (20.0 if beyond else 1.0), 0.1)
    whole = np.diag(np.concatenate([np.full(n_sources, 10.0), beside])).astype(complex)
    turned = np.eye(Q, dtype=complex)
    turned[:n_sources, n_sources:] = 0.5 * normal(rng, n_sources, Q - n_sources)  # what is beside is also along
    return basis @ turned @ whole @ turned.conj().T @ basis.conj().T


SHAPES = {
    "low rank": {"kind": "low rank", "rank": 2},
    "diagonal": {"kind": "diagonal"},
    "diagonal, ratio 4": {"kind": "diagonal", "ratio": 4.0},
    "any": {"kind": "any", "ratio": 0.2},
}


def lost(bank, law, rows, seed):
    completed = law.completed(bank)
    source = ArrayRows(as_pairs(rows) if law.is_complex else rows)
    stream = SealedStream("deployment", source, completed, completed.keys(bank), lambda: None)
    judge = ByEvidence("rows", 1).open(Sealed(bank, LEVEL, (stream,), seed))
    return judge.verdicts(np.arange(1)).codes[0] == Verdict.REJECTED


def of_array(kind, n_sources, beyond, runs):
    rng = np.random.default_rng([len(kind), n_sources, beyond])
    bank = array_bank(as_pairs(WAVES, axis=0)[None], [(2, 4)[:n_sources]])
    law = Linear(rows="random", is_complex=True, noise_shape=SHAPES[kind])
    count = 0
    for seed in range(runs):
        sigma = covariance(kind, n_sources, beyond, rng)
        n_rows = 1000 if kind == "diagonal" else 200
        count += lost(bank, law, normal(rng, n_rows, Q) @ np.linalg.cholesky(sigma).T, seed)
    return count


def of_spectrum(correlation, beyond, runs):
    rng = np.random.default_rng([int(100 * correlation), beyond])
    bank = array_bank((LINE / np.linalg.norm(LINE))[None], [(0,)])
    law = Linear(noise_shape={"kind": "ar"}, background=SLOPE)
    lags = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    root = np.linalg.cholesky(correlation**lags)
    extra = 3.0 * np.roll(LINE[:, 0], 10) * beyond
    count = 0
    for seed in range(runs):
        count += lost(bank, law, 5.0 * LINE[:, 0] + extra + rng.standard_normal((12, 40)) @ root.T, seed)
    return count


def by_rotation(correlation, beyond, runs):
    """One row; beyond the range the correlation is .9."""
    rng = np.random.default_rng([int(100 * correlation), beyond, 1])
    lines = np.exp(-0.5 * ((CHANNELS - np.linspace(4.0, 36.0, 8)) / 3.0) ** 2)
    bank = array_bank((lines / np.linalg.norm(lines, axis=0))[None], [(i,) for i in range(8)])
    law = Linear(noise_shape={"kind": "ar", "between": [0.0, 0.5]}, background=SLOPE).completed(bank)
    root = np.linalg.cholesky((0.9 if beyond else correlation) ** np.abs(np.subtract.outer(range(40), range(40))))
    count = 0
    for seed in range(runs):
        row = 5.0 * lines[:, 3] + root @ rng.standard_normal(40)
        stream = SealedStream("deployment", ArrayRows(row[None]), law, law.keys(bank), lambda: None)
        judge = ByRotation().open(Sealed(bank, LEVEL, (stream,), seed))
        count += judge.verdicts(np.array([3])).codes[0] == Verdict.REJECTED
    return count


def main(runs=3000, first=0, last=None):
    print("| noise | sources | truth lost | p of so many at 10 % | lost beyond it (200) |")
    print("|---|---|---|---|---|")
    cells = [(kind, n, lambda beyond, r, k=kind, n=n: of_array(k, n, beyond, r)) for kind in SHAPES for n in (1, 2)]
    cells += [(f"ar, correlation {c}", 1, lambda beyond, r, c=c: of_spectrum(c, beyond, r)) for c in (0.0, 0.6, 0.95)]
    turned = (0.0, 0.25, 0.5)
    cells += [(f"ar by rotation, {c}", 1, lambda beyond, r, c=c: by_rotation(c, beyond, r)) for c in turned]
    for kind, n_sources, count in cells[first:last]:
        inside, outside = count(False, runs), count(True, min(runs, 200))
        chance = binom.sf(inside - 1, runs, LEVEL)
        print(f"| {kind} | {n_sources} | {inside} of {runs} | {chance:.2g} | {outside} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
