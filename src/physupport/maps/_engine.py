"""Signals in blocks against one table: which explanations each of them keeps, and how well the best one fits."""

from dataclasses import dataclass
from typing import ClassVar, Protocol, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_open
from .._errors import MisuseError
from .._typing import Array, BoolArray, IntArray
from ..judges import Verdict
from ..judges.rotation import EPS, SCREEN_SHARE, Rotation
from ._kernels import Found, judge_signals, products
from ._nulls import Nulls, is_tabulated, tabulate

_LARGEST = 1e80  # squares stay far from overflow


@final
@dataclass(frozen=True, slots=True, eq=False)
class BlockVerdicts:
    """What a judge says of S signals."""

    codes: NDArray[np.uint8]  # (S, M) at how many levels, from the largest, an explanation is rejected
    best: IntArray  # (S,) the explanation that fits best; -1 of no data
    is_best_rejected: BoolArray  # (S,) at the first level, by the gate
    amplitude: Array  # (S,) of the best fit's unit column beside the background
    noise: Array  # (S,) standard deviation that the best fit leaves
    outsider: IntArray  # (S,) the outsider most along the best fit's residual; -1 where the gate keeps it
    is_data: BoolArray  # (S,) all numbers are finite and of a size that squares can have

    def kept(self, level: int = 0) -> BoolArray:
        """(S, M) what is not rejected at a level, by its number; nothing of what is no data."""
        return np.asarray((self.codes <= level) & self.is_data[:, None])


class BlockJudge(Protocol):
    """Judges many signals, each as if it were alone: no entry depends on others of its block."""

    are_e_values: ClassVar[bool]  # whether levels are those of evidence, for which no dependence costs anything

    def judge(self, rows: Array) -> BlockVerdicts:
        """Of signals (S, q)."""


def block_judge(spec: Rotation, levels: ArrayLike, threads: int = 1) -> BlockJudge:
    """The tabulated judge where one table serves all signals, else the rotation judge signal by signal.

    levels: (L,) falling; a single number is one level.
    """
    asked = np.atleast_1d(np.asarray(levels, dtype=np.float64))
    for level in asked.tolist():
        check_open("level", level, 0.0, 1.0)
    if not (np.diff(asked) < 0.0).all():
        raise MisuseError("levels", "fall", asked.tolist())
    return Tabulated.of(spec, asked, threads) if is_tabulated(spec) else OneByOne(spec, asked)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tabulated:
    r"""The rotation test with critical values from a table: the same statistics, draws and level.

    Rejects e if :math:`D` is beyond the critical value at the last point of the grid below a, which is at least the one
    at a: what it rejects is rejected by the rotation judge with these draws, and what it keeps in addition lies
    between two points of the grid.
    """

    are_e_values: ClassVar[bool] = False

    spec: Rotation
    nulls: Nulls

    @classmethod
    def of(cls, spec: Rotation, levels: Array, threads: int) -> "Tabulated":
        """Draws and tables, for all signals."""
        return cls(spec, tabulate(spec, levels, threads))

    def judge(self, rows: Array) -> BlockVerdicts:
        """Of signals (S, q)."""
        table, nulls = self.spec.table, self.nulls
        is_data = are_data(rows)
        clean = np.where(is_data[:, None], rows, 0.0)
        vectors = in_order(clean, table.complement)  # (S, m)
        along, parts = in_order(vectors, nulls.rivals.bases), in_order(vectors, nulls.gate.columns)
        channels = in_order(vectors, np.ascontiguousarray(table.complement.T))
        found = _empty(len(rows), nulls.size)
        has_gate = self.spec.outsiders is not None
        units = self._units(clean, vectors)
        judge_signals(vectors, along, parts, channels, units, nulls.rivals, nulls.gate, has_gate, found)
        freedom = table.complement.shape[1] - table.ranks[found.best]
        return BlockVerdicts(
            codes=found.codes,
            best=np.where(is_data, found.best, -1),
            is_best_rejected=(found.misfit > 0) & is_data,
            amplitude=np.where(is_data, found.amplitude, np.nan),
            noise=np.where(is_data, found.residual / np.sqrt(freedom), np.nan),
            outsider=np.where(is_data, found.outsider, -1),
            is_data=is_data,
        )

    def _units(self, rows: Array, vectors: Array) -> Array:
        """(S,) what a product u.w may be off by, over |w|: sums, the background taken off before, and turned spans."""
        q, m = self.spec.table.complement.shape
        whole, beside = (np.sqrt((values**2).sum(axis=1)) + 1e-300 for values in (rows, vectors))
        return np.asarray(EPS * (16.0 * (m + 8) + 8.0 * (q + 1) * whole / beside) + 8.0 * self.spec.table.errors.max())


@final
@dataclass(frozen=True, slots=True, eq=False)
class OneByOne:
    """The rotation judge of each signal in turn: for pairs, complex rows, known noise and companions."""

    are_e_values: ClassVar[bool] = False

    spec: Rotation
    levels: Array

    def judge(self, rows: Array) -> BlockVerdicts:
        """Of signals (S, q)."""
        is_data, n = are_data(rows), len(rows)
        codes, best = np.zeros((n, self.spec.table.size), dtype=np.uint8), np.full(n, -1)
        amplitude, noise, rejected = np.full(n, np.nan), np.full(n, np.nan), np.zeros(n, dtype=np.bool_)
        every = np.arange(self.spec.table.size)
        for s in np.flatnonzero(is_data).tolist():
            judges = [self.spec.judge(rows[s : s + 1], level) for level in self._usable()]
            for number, judge in enumerate(judges):
                is_rejected = judge.verdicts(every).codes == Verdict.REJECTED
                codes[s] += is_rejected & (codes[s] == number)  # what is kept at a level is kept at all smaller ones
            facts = judges[0].facts(np.flatnonzero(codes[s] == 0))
            energy, freedom = judges[0].rows.residuals(facts.best)
            best[s], rejected[s] = facts.best, facts.is_best_rejected
            noise[s] = np.sqrt(energy / freedom)
            whole = float(np.linalg.norm(self.spec.table.complement.T @ rows[s]) ** 2)
            amplitude[s] = np.sqrt(max(whole - energy, 0.0))
        return BlockVerdicts(codes, best, rejected, amplitude, noise, np.full(n, -1), is_data)

    def _usable(self) -> list[float]:
        """The first level, and those at which so many draws can reject."""
        outsiders, share = self.spec.outsiders, 0.5 * (1.0 - SCREEN_SHARE)  # companions leave more than half
        most = share * (self.spec.draws + 1)
        if outsiders is not None:
            part = 0.5 * outsiders.share / len(outsiders.parts)
            most = min((1.0 - outsiders.share) * most, part * (self.spec.gate_draws + 1))
        return [level for i, level in enumerate(self.levels.tolist()) if i == 0 or level * most >= 1.0]


def are_data(rows: Array) -> BoolArray:
    """(S,) signals of numbers that are finite and whose squares double precision holds."""
    return np.asarray((np.abs(rows) <= _LARGEST).all(axis=1))


def in_order(rows: Array, matrix: Array) -> Array:
    """(S, k) rows (S, n) times a matrix (n, k), every entry summed in the same order whatever the block."""
    out = np.empty((len(rows), matrix.shape[1]))
    products(np.ascontiguousarray(rows), np.ascontiguousarray(matrix), out)
    return out


def _empty(n: int, size: int) -> Found:
    best, misfit, outsider = np.empty((3, n), dtype=np.int64)
    return Found(np.empty((n, size), dtype=np.uint8), best, misfit, np.empty(n), np.empty(n), outsider)
