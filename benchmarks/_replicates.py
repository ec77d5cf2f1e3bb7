"""Replicates at full length: `python -m benchmarks._replicates`.

Validity in 3000 data sets a kind; elements kept beside a chi-square profile that knows means and covariance; and
libraries of 200 species of which most have one sample or two.
"""

import importlib.util
from pathlib import Path

import numpy as np
from rich.progress import track
from scipy.stats import binom, chi2

from physupport.judges import Verdict
from physupport.judges.conformal import ByConformal, Replicates

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


def drawn_library(rng, n_elements, n_units, n_channels, apart):
    """Means (E, q), a root of the covariance of units (r, q), and spectra (E, K, q): smooth, with white noise."""
    axis = np.linspace(0.0, 1.0, n_channels)
    bumps = np.exp(-0.5 * ((axis - np.linspace(0.1, 0.9, 20)[:, None]) / 0.06) ** 2)
    means = 1.0 + rng.random(20) @ bumps + apart * rng.standard_normal((n_elements, 20)) @ bumps
    root = np.vstack([0.15 * rng.standard_normal((3, 20)) @ bumps, 0.02 * np.eye(n_channels)])
    return means, root, means[:, None] + rng.standard_normal((n_elements, n_units, len(root))) @ root


def power(n_elements, n_units, n_channels, apart, runs=100):
    """Mean numbers kept by the angle, by the margin, by the profile; times the first two lost the truth."""
    found = []
    for run in range(runs):
        rng = np.random.default_rng([1, run])
        means, root, spectra = drawn_library(rng, n_elements + 1, n_units, n_channels, apart)
        signal = means[0] + rng.standard_normal(len(root)) @ root
        stranger = spectra[-1, 0]
        listed = spectra[:-1].reshape(-1, n_channels)
        names = tuple(str(e) for e in range(n_elements) for _ in range(n_units))
        data = Replicates(listed, names, tuple(map(str, range(len(names)))))
        row = []
        for share in (0.0, 1.0):
            spec = ByConformal(data, share=share, noise=(0.0,))
            codes, other = (
                spec.judge(each, LEVEL).verdicts(np.arange(n_elements)).codes != Verdict.REJECTED
                for each in (signal, stranger)
            )
            row += [codes.sum(), not codes[0], not other.any()]
        left = np.linalg.solve(root.T @ root, (signal - means[:-1]).T).T
        distances = ((signal - means[:-1]) * left).sum(axis=1)
        found.append([*row, (distances - distances.min() <= chi2.isf(LEVEL, 1)).sum()])
    told = np.array(found, dtype=float)
    kept, totals = told.mean(axis=0), told.sum(axis=0).astype(int)
    print(
        f"{n_elements} elements of {n_units} units, {n_channels} channels, apart {apart:g}: kept by angle "
        f"{kept[0]:.2f} (lost {totals[1]}, strangers EMPTY {totals[2]} of {runs}), by margin {kept[3]:.2f} "
        f"(lost {totals[4]}, EMPTY {totals[5]}), by profile {kept[6]:.2f}"
    )


def species(width, runs=300, n_species=200, n_channels=60):
    """Of 200 species two thirds have one sample, the others two to four; each signal is a new sample of any."""
    sizes, lost = [], 0
    for run in range(runs):
        rng = np.random.default_rng([2, run])
        shapes = rng.random((n_species, n_channels))
        counts = np.where(rng.random(n_species) < 0.67, 1, rng.integers(2, 5, n_species))
        which = np.repeat(np.arange(n_species), counts)
        spectra = shapes[which] + width * rng.standard_normal((len(which), n_channels))
        data = Replicates(spectra, tuple(map(str, which)), tuple(map(str, range(len(which)))))
        truth = int(rng.integers(n_species))
        signal = shapes[truth] + width * rng.standard_normal(n_channels)
        spec = ByConformal(data, pool="ratio", noise=(0.0,))
        kept = spec.judge(signal, LEVEL).verdicts(np.arange(n_species)).codes != Verdict.REJECTED
        sizes.append(int(kept.sum()))
        lost += not kept[truth]
    stuck = int(spec.cannot_exclude(LEVEL).sum())
    print(f"200 species, width {width:g}: pooled keeps {np.median(sizes):g} in the median (of which {stuck} cannot be "
          f"excluded), lost {lost} of {runs}")  # fmt: skip


if __name__ == "__main__":
    single, pairs = loaded("test_validity"), loaded("test_pairs")
    kinds = (
        {"share": 0.0}, {"share": 1.0}, {"are_apart": True}, {"share": 0.5, "n_units": 19}, {"are_spectra_units": True}
    )  # fmt: skip
    for kind in kinds:
        counted(str(kind), lambda run, kind=kind: single.lost(run, noise=(0.0,), **kind), RUNS)
    counted("pairs, units in common", lambda run: pairs.lost(run, True, 12), RUNS)
    for setting in ((12, 15, 60, 0.03), (12, 15, 60, 0.06), (12, 15, 60, 0.15), (3, 10, 150, 0.1)):
        power(*setting)
    for width in (0.1, 0.2):
        species(width)
    counted("pairs, units of their own", lambda run: pairs.lost(run, False, 19), 500)
