"""Signals in blocks against one table: which explanations each of them keeps, and how well the best one fits."""

from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_open
from .._errors import MisuseError
from .._typing import Array, BoolArray, Field, IntArray
from ..judges.rotation import EPS, Rotation, leading_share
from ._kernels import Found, judge_signals, products, summaries, sums_over_runs
from ._nulls import Nulls, tabulate

_LARGEST = 1e80  # squares stay far from overflow
PIECE = 128  # signals whose products stay in the nearest cache


@final
@dataclass(frozen=True, slots=True, eq=False)
class BlockVerdicts:
    """Verdicts of a judge on S signals."""

    codes: NDArray[np.uint8]  # (S, M) at how many levels, from the largest, an explanation is rejected
    best: IntArray  # (S,) the explanation that fits best; -1 of no data
    is_best_rejected: BoolArray  # (S,) at the first level, by the gate
    amplitude: Array  # (S,) of the best fit's unit column beside the background
    noise: Array  # (S,) standard deviation that the best fit leaves
    outsider: IntArray  # (S,) the outsider most along the best fit's residual; -1 where the gate keeps it
    is_data: BoolArray  # (S,) all numbers are finite and of a size that squares can have
    misfit: Array  # (S,) p-value of the gate for the best fit, which is at most this; nan without a gate
    is_complete: BoolArray | None = None  # (S,) False where something else is possible, so that nothing is FINE

    def kept(self, level: int = 0) -> BoolArray:
        """(S, M) what is not rejected at a level, by its number; nothing of what is no data."""
        return np.asarray((self.codes <= level) & self.is_data[:, None])


class BlockJudge(Protocol):
    """Judges many signals, each as if it were alone: no entry depends on others of its block."""

    def judge(self, rows: Field) -> BlockVerdicts:
        """Judge signals (S, T, q) as they are measured."""


class SignalJudge(Protocol):
    """The judge of the signals of a map, before any is read: all that decides."""

    @property
    def are_e_values(self) -> bool:
        """True if levels are those of evidence at its end, for which no dependence between signals costs anything."""

    @property
    def n_explanations(self) -> int:
        """How many there are."""

    @property
    def channels(self) -> int:
        """Numbers of a row as it is measured."""

    @property
    def is_complex(self) -> bool:
        """True if these may be complex."""

    @property
    def places(self) -> tuple[str, ...]:
        """Names of the outsiders that the gate looks for."""

    def encode(self) -> dict[str, object]:
        """All that decides, as JSON can hold it."""

    def block_judge(self, levels: Array, threads: int, repeats: int) -> "BlockJudge":
        """The judge of signals of so many rows, at levels (L,) that fall; what they share is computed here, once."""

    def fitted(self, rows: Field, explanation: int) -> Field | None:
        """(q,) the row that an explanation fits best to rows (T, q); None where there is no such thing."""


def check_levels(levels: ArrayLike) -> Array:
    """(L,) falling, within (0, 1); a single number is one level."""
    values = np.atleast_1d(np.asarray(levels, dtype=np.float64))
    for level in values.tolist():
        check_open("level", level, 0.0, 1.0)
    if not (np.diff(values) < 0.0).all():
        raise MisuseError("levels", "fall", values.tolist())
    return values


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tabulated:
    r"""The rotation test with critical values from a table: the same statistics, a level that holds given the table.

    Rejects e if :math:`D` is beyond the critical value at the last point of the grid below a, which is at least the one
    at a: what it rejects is rejected by the rotation judge with these draws.  What it keeps in addition lies near the
    critical value, which is that of a somewhat smaller level (`certified`), or between two points of the grid, or at a
    smaller level was left to rivals alone, which rejected it at the largest.
    """

    spec: Rotation
    nulls: Nulls
    background: Array  # (q, b) orthonormal
    columns: Array  # (q, M) unit columns over the channels
    whitener: Field | None = None  # see `RotatedSignals`

    @classmethod
    def of(
        cls, spec: Rotation, levels: Array, threads: int, repeats: int, whitener: Field | None = None
    ) -> "Tabulated":
        """Draws and tables, for all signals."""
        complement = spec.table.complement
        left, sizes, _ = np.linalg.svd(np.eye(len(complement)) - complement @ complement.T)
        nulls = tabulate(spec, levels, threads, repeats)
        background = np.ascontiguousarray(left[:, sizes > 0.5])
        return cls(spec, nulls, background, np.ascontiguousarray(nulls.rivals.shapes.T), whitener)

    def judge(self, rows: Field) -> BlockVerdicts:
        """Judge signals (S, T, q); pieces of a block stay in the nearest cache."""
        filled = _empty(len(rows), self.nulls.size)
        white = whitened(rows, self.whitener)
        is_data = are_data(white)
        spectrum = np.zeros((2, len(rows)), dtype=np.uint8)
        for start in range(0, len(rows), PIECE):
            part = slice(start, start + PIECE)
            clean = np.where(is_data[part, None, None], white[part].real, 0.0)
            self._fill(clean, filled.part(part))
            spectrum[:, part] = self._spectrum(clean)
        np.maximum(filled.codes, spectrum[0, :, None], out=filled.codes)
        ranks = self.spec.table.ranks
        freedom = self.background.shape[0] * rows.shape[1] - self.background.shape[1] - ranks[filled.best]
        return BlockVerdicts(
            codes=filled.codes,
            best=np.where(is_data, filled.best, -1),
            is_best_rejected=((filled.beyond > 0) | (spectrum[0] > 0)) & is_data,
            amplitude=np.where(is_data, filled.amplitude, np.nan) / np.sqrt(rows.shape[1]),
            noise=np.where(is_data, filled.residual / np.sqrt(freedom), np.nan),
            outsider=np.where(is_data, filled.outsider, -1),
            is_data=is_data,
            misfit=np.where(is_data, self.nulls.misfits[np.maximum(filled.misfit, spectrum[1])], np.nan),
        )

    def _fill(self, rows: Array, filled: Found) -> None:
        (n, n_rows, q) = rows.shape
        gate = self.nulls.gate
        whole = np.empty((n, q))
        scatter = np.empty(n)
        squares = np.empty(n)
        summaries(rows, whole, scatter, squares)
        channels = whole - in_order(in_order(whole, self.background), self.background.T)
        runs = np.empty((n, len(gate.runs)))
        sums_over_runs(channels, gate.runs, gate.scales, runs)
        parts = np.concatenate([runs, in_order(channels, gate.columns)], axis=1)
        # What a product u.c may be off by, over |c|: sums, the background taken off before, and turned spans.
        beside = np.sqrt(in_order(channels**2, np.ones((q, 1)))[:, 0])
        terms = 16.0 * (q + 8) + 8.0 * (q + n_rows) * (np.sqrt(squares) + 1e-300) / (beside + 1e-300)
        units = EPS * terms + 8.0 * self.spec.table.errors.max()
        along = in_order(channels, self.columns)
        has_gate = self.spec.outsiders is not None
        judge_signals(channels, scatter, along, parts, units, self.nulls.rivals, gate, has_gate, filled)

    def _spectrum(self, rows: Array) -> NDArray[np.uint8]:
        """(2, S) at how many levels the leading eigenvalue of repeated rows rejects all, and at how many p-values."""
        limits = self.nulls.spectrum_limits, self.nulls.spectrum_misfits
        if np.isinf(limits[1]).all():
            return np.zeros((2, len(rows)), dtype=np.uint8)
        left = rows - rows.mean(axis=1, keepdims=True)
        off = 8.0 * EPS * (rows.shape[1] + 8) * np.sqrt((rows**2).sum(axis=(1, 2)))
        shares = [leading_share(each.T, float(rounding)) for each, rounding in zip(left, off, strict=True)]
        beyond = [(np.array(shares)[:, None] > each).sum(axis=1) for each in limits]
        return np.array(beyond, dtype=np.uint8)


def are_data(rows: Field) -> BoolArray:
    """(S,) signals (S, T, q) of numbers that are finite and whose squares double precision holds."""
    return np.asarray((np.abs(rows) <= _LARGEST).all(axis=(1, 2)))


def whitened(rows: Field, whitener: Field | None) -> Field:
    """(S, T, p) signals (S, T, q) multiplied by the whitener (p, q), where there is one."""
    if whitener is None:
        return rows
    n, n_rows = rows.shape[:2]
    return in_order(rows.reshape(n * n_rows, -1), whitener.T).reshape(n, n_rows, -1)


def in_order(rows: Array, matrix: Array) -> Array:
    """(S, k) rows (S, n) times a matrix (n, k), every entry summed in the same order whatever the block."""
    out = np.empty((len(rows), matrix.shape[1]))
    products(np.ascontiguousarray(rows), np.ascontiguousarray(matrix), out)
    return out


def _empty(n: int, size: int) -> Found:
    best, beyond, misfit, outsider = np.empty((4, n), dtype=np.int64)
    return Found(np.empty((n, size), dtype=np.uint8), best, beyond, misfit, np.empty(n), np.empty(n), outsider)
