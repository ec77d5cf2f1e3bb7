"""Replicates at full length: `python -m benchmarks._replicates`.  Validity in 3000 data sets a kind."""

import importlib.util
from pathlib import Path

from rich.progress import track
from scipy.stats import binom

RUNS, LEVEL = 3000, 0.1
TESTS = Path(__file__).parents[1] / "tests" / "judges" / "conformal"


def loaded(name):
    """A test with its data sets, of which it takes fewer."""
    spec = importlib.util.spec_from_file_location(name, TESTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def counted(about, lost, runs):
    count = sum(bool(lost(run)) for run in track(range(runs), about, transient=True))
    print(f"{about}: lost {count} of {runs} ({binom.sf(count - 1, runs, LEVEL):.2g})")


if __name__ == "__main__":
    single, pairs = loaded("test_validity"), loaded("test_pairs")
    kinds = ({}, {"share": 0.5, "n_units": 19}, {"pool": "size", "n_units": 5}, {"are_spectra_units": True})
    for kind in kinds:
        counted(str(kind), lambda run, kind=kind: single.lost(run, noise=(0.0,), **kind), RUNS)
    counted("pairs, units in common", lambda run: pairs.lost(run, True, 12), RUNS)
    counted("pairs, units of their own", lambda run: pairs.lost(run, False, 19), 500)
