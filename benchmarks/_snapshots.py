"""Two correlated sources that stand close together, in complex snapshots: what each judge leaves of all pairs."""

import numpy as np

from physupport.banks import Library, library_bank
from physupport.io import ArrayRows, as_pairs
from physupport.judges import ByEvidence, Sealed, SealedStream, Verdict
from physupport.judges.rotation import ByRotation
from physupport.laws import Linear

LEVEL, N_SENSORS, N_ROWS = 0.1, 12, 32
ANGLES = np.linspace(-30.0, 30.0, 31)
WAVES = np.exp(1j * np.pi * np.arange(N_SENSORS)[:, None] * np.sin(np.deg2rad(ANGLES))) / np.sqrt(N_SENSORS)
LIBRARY = Library([f"{a:g}" for a in ANGLES], ["sky"] * 31, ANGLES[:, None], as_pairs(WAVES, axis=0))
BANK = library_bank(LIBRARY, [["sky"]], {"sky": [1.0]}, counts={"sky": (2, 2)})


def snapshots(rng, first, second, decibels, correlation):
    """(32, 24) pairs; each source has this ratio to the noise of a sensor."""
    normal = rng.standard_normal((N_ROWS, 2 + N_SENSORS, 2)) @ [1.0, 1.0j] / np.sqrt(2.0)
    root = np.linalg.cholesky([[1.0, correlation], [correlation, 1.0]])
    sources = 10 ** (decibels / 20.0) * np.sqrt(N_SENSORS) * normal[:, :2] @ root.T
    return as_pairs(sources @ WAVES[:, [first, second]].T + normal[:, 2:])


def kept(spec, law, rows, seed):
    """Explanations that are not rejected."""
    completed = law.completed(BANK)
    stream = SealedStream("deployment", ArrayRows(rows), completed, completed.keys(BANK), lambda: None)
    judge = spec.open(Sealed(BANK, LEVEL, (stream,), seed))
    return np.flatnonzero(judge.verdicts(np.arange(BANK.size)).codes != Verdict.REJECTED)


def power(add, runs=10):
    """Mean number of pairs kept, and how often the true one is not among them."""
    judges = {
        "random, one split": (ByEvidence("rows", 1), "random"),
        "random, 8 splits": (ByEvidence("rows", 8), "random"),
        "free, 8 splits": (ByEvidence("rows", 8), "free"),
        "rotation": (ByRotation(), "free"),
    }
    pairs = BANK.deployment_parts(BANK.deployment_keys(np.arange(BANK.size))).elements
    truth = int(np.flatnonzero((np.sort(pairs, axis=1)[:, -2:] == [14, 16]).all(axis=1))[0])
    for name, (spec, rows) in judges.items():
        law = Linear(rows=rows, is_complex=True)
        counts, lost = [], 0
        for run in range(runs):
            table = snapshots(np.random.default_rng([7, run]), 14, 16, 10.0, 0.0)
            left = kept(spec, law, table, run)
            counts.append(len(left))
            lost += truth not in left
        found = f"{np.mean(counts):.1f}"
        add(f"kept of 465 pairs, 4 degrees apart, 10 dB, by {name}", found, f"the true one lost in {lost} of {runs}")


CASES = {"snapshots": power}
