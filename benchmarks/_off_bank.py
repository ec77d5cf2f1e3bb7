"""How often a label of the truth is wrong where the bank is: `python -m benchmarks off_bank`.

One spectrum, of forty lines over a baseline; 20 epochs of one of thirty places; and 32 snapshots of two of nine
directions.  A statement is wrong if something is retained and what is there is not; withheld labels and EMPTY state
nothing.  Misfit is told in standard deviations of the noise: what of the signal no explanation accounts for, or, of
noise that is not white, the shift of a mean that is as far from white noise in the divergence of Kullback and Leibler.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.linalg import toeplitz

from physupport.judges import Verdict
from physupport.judges.rotation import Outsiders, Rotation, RotationTable, ordered_axis, scanned

LEVEL, RUNS = 0.1, 300
CHANNELS, TRUTH = 100, 15
EPOCHS, SNAPSHOTS, SENSORS = 20, 32, 8


@dataclass(frozen=True, eq=False)
class Way:
    """Rows that the table does not hold: signal(rng) and the factor of the noise's covariance, or white noise."""

    table: RotationTable
    signal: Callable[[np.random.Generator], np.ndarray]  # (T, q)
    truth: tuple[int, ...] | None  # the support that is there; None if the table lacks it
    outsiders: Outsiders
    kind: str = "same mean"
    factor: np.ndarray | None = None

    def rows(self, rng):
        signal = self.signal(rng)
        noise = rng.standard_normal(signal.shape)
        if self.table.is_complex:
            noise = (noise + 1j * rng.standard_normal(signal.shape)) / np.sqrt(2.0)
        return signal + (noise if self.factor is None else noise @ self.factor.T)

    def misfit(self):
        """Standard deviations."""
        signal = self.signal(np.random.default_rng(0))
        if self.factor is not None:
            covariance, q = self.factor @ self.factor.T, len(self.factor)
            excess = q * np.log(np.trace(covariance) / q) - np.linalg.slogdet(covariance)[1]
            return float(np.sqrt(len(signal) * excess))
        left = self.table.complement.conj().T @ signal.T  # (m, T)
        left = left if self.kind == "free" else left.mean(axis=1, keepdims=True) * np.sqrt(len(signal))
        fits = (np.abs(self.table.bases.conj() @ left) ** 2).sum(axis=(1, 2))
        return float(np.sqrt(max((np.abs(left) ** 2).sum() - fits.max(), 0.0)) * np.sqrt(1 + self.table.is_complex))


def line(centre):
    column = np.exp(-0.5 * ((np.arange(CHANNELS) - centre) / 3.0) ** 2)
    return column / np.linalg.norm(column)


def spectra(rho):
    """One row, in five ways."""
    centres, axis = np.arange(10.0, 90.0, 2.0), np.arange(CHANNELS)
    lines = np.stack([line(centre) for centre in centres], axis=1)
    baseline = np.polynomial.chebyshev.chebvander(2.0 * axis / CHANNELS - 1.0, 3)
    table = RotationTable(lines, [(), *((i,) for i in range(40))], baseline)
    short = RotationTable(np.delete(lines, TRUTH, axis=1), [(), *((i,) for i in range(39))], baseline)
    hump = np.exp(-0.5 * ((axis - centres[TRUTH] - 10.0) / 10.0) ** 2)
    own, below, looked = lines[:, TRUTH], baseline @ [40.0, 10.0, -5.0, 2.0], ordered_axis(CHANNELS)
    factor = np.linalg.cholesky(toeplitz(0.5**axis))

    def way(shape, table=table, truth=(TRUTH,), factor=None):
        return Way(table, lambda _: (rho * shape + below)[None], truth, looked, factor=factor)

    yield "another line six channels away", way(own + 0.7 * line(centres[TRUTH] + 6.0))
    yield "a baseline with a hump", way(own + hump / np.linalg.norm(hump))
    yield "noise of autocorrelation .5", way(own, factor=factor)
    yield "an offset of one channel", way(line(centres[TRUTH] + 1.0))
    yield "the line missing from the table", way(own, short, None)


def epochs(rho):
    """20 rows of 16 channels with a free reference: coloured noise, another place beside, the place missing."""
    smooth = np.cumsum(np.random.default_rng(1).standard_normal((16, 30)), axis=1)
    smooth = (smooth - smooth.mean(axis=0)) / np.linalg.norm(smooth - smooth.mean(axis=0), axis=0)
    reference, looked = np.ones((16, 1)), scanned(smooth)
    table = RotationTable(smooth, [(i,) for i in range(30)], reference)
    short = RotationTable(np.delete(smooth, TRUTH, axis=1), [(i,) for i in range(29)], reference)
    pattern = np.random.default_rng(2).standard_normal(16)
    factor = np.linalg.cholesky(0.7 * np.eye(16) + 0.3 * 16 * np.outer(pattern, pattern) / (pattern @ pattern))

    def way(shape, table=table, truth=(TRUTH,), factor=None):
        rows = np.tile(rho * shape / np.sqrt(EPOCHS), (EPOCHS, 1))
        return Way(table, lambda _: rows, truth, looked, factor=factor)

    yield "epochs: another place beside", way(smooth[:, TRUTH] + 0.7 * smooth[:, 3])
    yield "epochs: three tenths of the noise coloured", way(smooth[:, TRUTH], factor=factor)
    yield "epochs: the place missing", way(smooth[:, TRUTH], short, None)


def snapshots(rho):
    """Two sources correlated .9 with waveforms that nobody knows: a third one, and one between two directions."""

    def waves(degrees):
        return np.exp(1j * np.pi * np.outer(np.arange(SENSORS), np.sin(np.deg2rad(degrees)))) / np.sqrt(SENSORS)

    table = RotationTable(waves(np.linspace(-16.0, 16.0, 9)), list(combinations(range(9), 2)))
    looked, mixed = scanned(waves(np.arange(-60.0, 61.0, 2.0))), np.linalg.cholesky([[1.0, 0.9], [0.9, 1.0]])

    def way(degrees, truth):
        def signal(rng):
            drawn = rng.standard_normal((2, SNAPSHOTS, len(degrees))) / np.sqrt(2.0 * SNAPSHOTS)
            waveforms = rho * (drawn[0] + 1j * drawn[1])
            waveforms[:, :2] = waveforms[:, :2] @ mixed.T
            return waveforms @ waves(degrees).T

        return Way(table, signal, truth, looked, "free")

    yield "snapshots: a third source", way([-8.0, 8.0, 30.0], (2, 6))
    yield "snapshots: an offset of a degree", way([-7.0, 9.0], (2, 6))


def shares(way, runs):
    """The shares of wrong statements without and with the gate, and of none with it."""
    wrong, guarded, silent = 0, 0, 0
    truth = -1 if way.truth is None else way.table.supports.index(way.truth)
    for run in range(runs):
        rows = way.rows(np.random.default_rng([11, run]))
        retained = _retained(Rotation(way.table, way.kind, seed=run, draws=199).judge(rows, LEVEL))
        wrong += len(retained) > 0 and truth not in retained
        spec = Rotation(way.table, way.kind, seed=run, draws=199, gate_draws=499, outsiders=way.outsiders)
        judge = spec.judge(rows, LEVEL)
        retained = _retained(judge)
        facts = judge.facts(retained)
        is_silent = not len(retained) or facts["is_withheld"]
        silent += is_silent
        guarded += not is_silent and truth not in retained
    return wrong / runs, guarded / runs, silent / runs


def _retained(judge):
    return np.flatnonzero(judge.verdicts(np.arange(judge.size)).codes != Verdict.REJECTED)


def off_bank(add, runs=RUNS):
    """The table of the page on rotations."""
    for make in (spectra, epochs, snapshots):
        for weak, strong in zip(make(10.0), make(40.0), strict=True):
            for rho, (name, way) in ((10, weak), (40, strong)):
                wrong, guarded, silent = shares(way, runs)
                said = f"misfit {way.misfit():.1f} sigma; nothing said {silent:.2f}"
                add(f"{name}, rho {rho}", f"wrong {wrong:.3f} -> {guarded:.3f}", said)


CASES = {"off_bank": off_bank}
