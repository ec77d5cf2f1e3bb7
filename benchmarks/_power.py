"""How many explanations are kept: by evidence of half the data, invariant evidence, rotations, asymptotic profile.

Evidence knows the noise level, and has coefficients fitted on the other half as opponent; of means it is that of maps,
averaged over eight splits by fission.  The others know nothing.  The profile keeps what the likelihood ratio does not
exclude as if it were chi-square: it is not valid.  Times are those of the process, for one verdict.
"""

import time
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import chi2

from physupport.judges._invariant import InvariantEvidence, Rivals
from physupport.judges.rotation import Rotation, RotationTable
from physupport.maps import Fission
from physupport.project._examples import stored_spectra
from physupport.responses import SphericalHead

from ._rotation import LEVEL, retained, unit

EPOCHS, SNAPSHOTS, SENSORS = 20, 32, 8


def spread(n, bottom):
    """(n, 3) directions, evenly over a sphere from its top down to this height."""
    height = 1.0 - (1.0 - bottom) * (np.arange(n) + 0.5) / n
    turn = np.pi * (1.0 + np.sqrt(5.0)) * np.arange(n)
    return np.stack([np.sqrt(1 - height**2) * np.cos(turn), np.sqrt(1 - height**2) * np.sin(turn), height], axis=1)


def cortex():
    """531 places 4 mm below the surface of the brain, 94 electrodes with a free reference."""
    atoms = SphericalHead(spread(94, -0.3))(76.0 * spread(531, -0.2))
    return RotationTable(atoms, [(i,) for i in range(531)], np.ones((94, 1)))


def materials():
    """70 measured Raman spectra of 151 channels over a cubic."""
    spectra = stored_spectra("raman.npz")[0].T.astype(float)
    background = np.polynomial.chebyshev.chebvander(np.linspace(-1.0, 1.0, len(spectra)), 3)
    return RotationTable(spectra, [(i,) for i in range(spectra.shape[1])], background)


def directions():
    """All 465 pairs of 31 directions 2 degrees apart, at 8 sensors half a wavelength apart."""
    angles = np.sin(np.deg2rad(np.arange(-30, 31, 2)))
    return RotationTable(np.exp(1j * np.pi * np.outer(np.arange(SENSORS), angles)), list(combinations(range(31), 2)))


@dataclass(frozen=True, eq=False)
class Means:
    """Rows with a common mean of strength rho, after their average, beside the background."""

    table: RotationTable
    rho: float
    n_rows: int
    dimensions: int  # that an explanation moves in
    kind: str = "same mean"

    def rows(self, rng):
        left = self.table.complement.T @ self.table.atoms[:, int(rng.integers(self.table.size))]
        signal = self.table.complement @ (self.rho * unit(left)) / np.sqrt(self.n_rows)
        return signal + rng.standard_normal((self.n_rows, len(signal)))

    def n_kept(self, rows, rng):
        """By evidence of eight splits."""
        fission = Fission(self.table, 1.0, seed=int(rng.integers(2**31)))
        return int(fission.block_judge(np.array([LEVEL]), 1, self.n_rows)(rows[None]).kept().sum())


@dataclass(frozen=True, eq=False)
class Snapshots:
    """Two sources 4 degrees apart, of unknown waveforms that are correlated .9, 10 dB above the noise."""

    table: RotationTable
    dimensions: int = 2
    kind: str = "free"

    def rows(self, rng):
        first = int(rng.integers(29))
        waveforms = np.sqrt(10.0) * _circular(rng, (SNAPSHOTS, 2)) @ np.linalg.cholesky([[1.0, 0.9], [0.9, 1.0]]).T
        return waveforms @ self.table.atoms[:, [first, first + 2]].T + _circular(rng, (SNAPSHOTS, SENSORS))

    def n_kept(self, rows, rng):
        """By evidence of one split: the best pair's source covariance on half the rows, any of each on the others."""
        chosen = rng.permutation(SNAPSHOTS)
        first, second = (rows[part].T @ rows[part].conj() / len(part) for part in np.array_split(chosen, 2))
        best = int(np.argmin([_misfit(basis, first) for basis in self.table.bases]))
        inside = _inside(self.table.bases[best], first)
        values, turned = np.linalg.eigh(inside)
        basis = self.table.bases[best].T @ turned
        moved = np.real(np.einsum("mi,mn,ni->i", basis.conj(), second, basis))
        values = np.maximum(values, 1.0)  # a covariance of sources and noise
        opponent = np.log(values).sum() + (moved / values).sum() + np.trace(second).real - moved.sum()
        logs = 0.5 * SNAPSHOTS * (np.array([_misfit(basis, second) for basis in self.table.bases]) - opponent)
        return int((logs < np.log(1.0 / LEVEL)).sum())


def _circular(rng, shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2.0)


def _inside(basis, moments):
    return basis.conj() @ moments @ basis.T


def _misfit(basis, moments):
    """-log likelihood a row at the best source covariance, in noise of variance 1, but for a constant."""
    inside = _inside(basis, moments)
    return np.linalg.slogdet(inside)[1] + len(basis) + np.trace(moments).real - np.trace(inside).real


def kept(setting, run):
    """Of one data set: evidence, invariant evidence, rotations, profile."""
    rng = np.random.default_rng([5, run])
    rows = setting.rows(rng)
    start = time.process_time()
    judge = Rotation(setting.table, setting.kind, seed=run).judge(rows, LEVEL)
    by_rotation = len(retained(judge))
    rotated = time.process_time()
    contest, freedom = judge.rows.contest, judge.rows.freedom
    left = np.array([judge.rows.residuals(e)[0] for e in range(judge.size)])
    profile = freedom * np.log(left / left[contest.fits.argmax()]) <= chi2.isf(LEVEL, setting.dimensions)
    profiled = time.process_time()
    alone = [(i,) for i in range(setting.table.atoms.shape[1])]
    invariant = InvariantEvidence(judge.rows, ((1.0, Rivals.of(setting.table, setting.table.atoms, alone)),))
    logs = invariant.log_evidence(np.arange(judge.size)).lower
    is_kept = logs <= np.log(1.0 / LEVEL)
    weighed = time.process_time()
    by_evidence = setting.n_kept(rows, rng)
    times = np.array([time.process_time() - weighed, weighed - profiled, rotated - start]) / judge.size
    return by_evidence, int(is_kept.sum()), by_rotation, int(profile.sum()), *times


def power(add, runs=100):
    """The means over data sets."""
    brain = cortex()
    raman = materials()
    settings = {f"531 places, 20 epochs, rho {rho:g}": Means(brain, rho, EPOCHS, 2) for rho in (5.0, 10.0, 20.0)}
    settings |= {f"70 Raman spectra, one row, rho {rho:g}": Means(raman, rho, 1, 1) for rho in (5.0, 10.0, 20.0)}
    settings |= {"465 pairs of directions, 32 snapshots, 10 dB": Snapshots(directions())}
    for name, setting in settings.items():
        few = runs if setting.kind == "same mean" else runs // 10  # of second moments, which take longer
        found = np.array([kept(setting, run) for run in range(few)])
        told = " / ".join(f"{count:.1f}" for count in found[:, :4].mean(axis=0))
        add(f"kept of {name}", told, "evidence / invariant evidence / rotation / profile")
        # The first data set compiles.
        times = " / ".join(f"{1e3 * each:.3g} ms" for each in np.median(found[1:, 4:], axis=0))
        add(f"one verdict of {name}", times, "evidence / invariant evidence / rotation")


CASES = {"power": power}
