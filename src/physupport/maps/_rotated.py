"""Signals judged by rotations of their residuals, with critical values from one table for all of them."""

from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np
from numpy.typing import NDArray

from .._errors import MisuseError
from .._hashes import pieces_hash
from .._typing import Array, Field, IntArray
from ..judges.rotation import EPS, Rotation, leading_share
from ._judge import PIECE, BlockJudge, BlockVerdicts, SignalJudge, are_data, in_order, whitened
from ._kernels import Found, judge_signals, summaries, sums_over_runs
from ._nulls import FAILURE, GOOD_DRAWS, WANTED_OUTSIDERS, WANTED_RIVALS, Nulls, is_tabulated, tabulate


@final
@dataclass(frozen=True, slots=True, eq=False)
class RotatedSignals(SignalJudge):
    r"""Have every signal judged by rotations of its residuals; nothing is known of them but that their noise is white.

    The statistics are those of the rotation judge; the level holds given the table of critical values.  An explanation
    e is rejected if :math:`D` is beyond the critical value at the last point of the grid below a, which is at least the
    one at a: what is rejected is rejected by the rotation judge with these draws.  What is kept in addition lies near
    the critical value, which is that of a somewhat smaller level (`certified`), or between two points of the grid, or
    at a smaller level was left to rivals alone, which rejected it at the largest.

    keys: (M,) the explanation of the table that each explanation of the question is; the same unless given.
    whitener: (p, q) by which signals are multiplied; None leaves them as they are.
    """

    spec: Rotation
    keys: IntArray | None = None
    whitener: Field | None = None

    def __post_init__(self) -> None:
        if not is_tabulated(self.spec):
            rule = "be of real rows, at most one atom, unknown noise, and coefficients with no bound but a sign"
            remedy = "MapProtocol.of asks about such signals one by one, as a report does."
            raise MisuseError("spec", rule, "another", remedy)

    @property
    def n_explanations(self) -> int:
        """Number of explanations in the question."""
        return self.spec.table.size if self.keys is None else len(self.keys)

    @property
    def channels(self) -> int:
        """Numbers of a row as it was measured."""
        return len(self.spec.table.atoms) if self.whitener is None else int(self.whitener.shape[1])

    @property
    def places(self) -> tuple[str, ...]:
        """Names of the outsiders."""
        return () if self.spec.outsiders is None else self.spec.outsiders.places

    def encode(self) -> dict[str, object]:
        """All that decides."""
        spec = self.spec
        table = self.spec.table
        outsiders = self.spec.outsiders
        columns = () if outsiders is None or outsiders.columns is None else (outsiders.columns,)
        looked_for = None if outsiders is None else [outsiders.share, [*outsiders.lags], pieces_hash(*columns)]
        return {
            "judge": "rotation",
            "assumes": "the noise of every signal is white and Gaussian, of unknown level unless given",
            "draws": [spec.seed, spec.draws, spec.gate_draws],
            "table": [FAILURE, WANTED_RIVALS, WANTED_OUTSIDERS, GOOD_DRAWS],
            "statistic": [spec.rows, spec.own_penalty, spec.sigma, repr(spec.companions)],
            "atoms": pieces_hash(repr(table.atoms.shape), table.atoms, np.asarray(table.background)),
            "supports": pieces_hash(repr(table.supports)),
            "outsiders": looked_for,
            "keys": None if self.keys is None else pieces_hash(np.asarray(self.keys)),
            "whitener": None if self.whitener is None else pieces_hash(self.whitener),
        }

    def block_judge(self, levels: Array, threads: int, repeats: int) -> BlockJudge:
        """The judge with one table of critical values."""
        return partial(self._judge, tabulate(self.spec, levels, threads, repeats))

    def _judge(self, nulls: Nulls, rows: Field) -> BlockVerdicts:
        """Judge signals (S, T, q); pieces of a block stay in the nearest cache."""
        (n, n_rows, _) = rows.shape
        white = whitened(rows, self.whitener)
        is_data = are_data(white)
        columns = np.ascontiguousarray(nulls.rivals.shapes.T)
        spectrum = np.zeros((2, n), dtype=np.uint8)
        best, beyond, misfit, outsider = np.empty((4, n), dtype=np.int64)
        codes = np.empty((n, self.spec.table.size), dtype=np.uint8)
        filled = Found(codes, best, beyond, misfit, np.empty(n), np.empty(n), outsider)
        for start in range(0, n, PIECE):
            part = slice(start, start + PIECE)
            clean = np.where(is_data[part, None, None], white[part].real, 0.0)
            self._fill(nulls, columns, clean, Found._make(each[part] for each in filled))
            spectrum[:, part] = _beyond_spectrum(nulls, clean)
        np.maximum(codes, spectrum[0, :, None], out=codes)
        freedom = nulls.background.shape[0] * n_rows - nulls.background.shape[1] - self.spec.table.ranks[best]
        return BlockVerdicts(
            codes=codes,
            best=np.where(is_data, best, -1),
            is_best_rejected=((beyond > 0) | (spectrum[0] > 0)) & is_data,
            amplitude=np.where(is_data, filled.amplitude, np.nan) / np.sqrt(n_rows),
            noise=np.where(is_data, filled.residual / np.sqrt(freedom), np.nan),
            outsider=np.where(is_data, outsider, -1),
            is_data=is_data,
            misfit=np.where(is_data, nulls.misfits[np.maximum(misfit, spectrum[1])], np.nan),
        ).numbered(self.keys)

    def _fill(self, nulls: Nulls, columns: Array, rows: Array, filled: Found) -> None:
        (n, n_rows, q) = rows.shape
        gate = nulls.gate
        whole = np.empty((n, q))
        scatter = np.empty(n)
        squares = np.empty(n)
        summaries(rows, whole, scatter, squares)
        channels = whole - in_order(in_order(whole, nulls.background), nulls.background.T)
        runs = np.empty((n, len(gate.runs)))
        sums_over_runs(channels, gate.runs, gate.scales, runs)
        parts = np.concatenate([runs, in_order(channels, gate.columns)], axis=1)
        # What a product u.c may be off by, over |c|: sums, the background taken off before, and turned spans.
        beside = np.sqrt(in_order(channels**2, np.ones((q, 1)))[:, 0])
        terms = 16.0 * (q + 8) + 8.0 * (q + n_rows) * (np.sqrt(squares) + 1e-300) / (beside + 1e-300)
        units = EPS * terms + 8.0 * self.spec.table.errors.max()
        along = in_order(channels, columns)
        has_gate = self.spec.outsiders is not None
        judge_signals(channels, scatter, along, parts, units, nulls.rivals, gate, has_gate, filled)

    def fitted(self, rows: Field, explanation: int) -> Field:
        """(q,) atoms and background with the coefficients of least squares, as they are measured."""
        table = self.spec.table
        support = table.supports[explanation if self.keys is None else int(self.keys[explanation])]
        columns = np.hstack([table.atoms[:, list(support)], np.asarray(table.background)])
        mean = rows.mean(axis=0)
        if self.whitener is None:
            return np.asarray(columns @ np.linalg.lstsq(columns, mean, rcond=None)[0])
        found = columns @ np.linalg.lstsq(columns, self.whitener @ mean, rcond=None)[0]
        return np.asarray(np.linalg.pinv(self.whitener) @ found)


def _beyond_spectrum(nulls: Nulls, rows: Array) -> NDArray[np.uint8]:
    """(2, S) at how many levels the leading eigenvalue of repeated rows rejects all, and at how many p-values."""
    limits = nulls.spectrum_limits, nulls.spectrum_misfits
    if np.isinf(limits[1]).all():
        return np.zeros((2, len(rows)), dtype=np.uint8)
    left = rows - rows.mean(axis=1, keepdims=True)
    off = 8.0 * EPS * (rows.shape[1] + 8) * np.sqrt((rows**2).sum(axis=(1, 2)))
    shares = [leading_share(each.T, float(rounding)) for each, rounding in zip(left, off, strict=True)]
    beyond = [(np.array(shares)[:, None] > each).sum(axis=1) for each in limits]
    return np.array(beyond, dtype=np.uint8)
