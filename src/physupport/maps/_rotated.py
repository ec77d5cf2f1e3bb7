"""Signals judged by rotations: from one table where that serves all of them, else one by one."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from .._hashes import pieces_hash
from .._typing import Array, Field, IntArray
from ..judges.rotation import Rotation
from ._alone import OneByOne, RotationAsker
from ._engine import BlockJudge, BlockVerdicts, Tabulated, check_levels, in_order
from ._nulls import check_shared_draws, is_tabulated


@final
@dataclass(frozen=True, slots=True, eq=False)
class RotatedSignals:
    """Have every signal judged by rotations of its residuals; nothing is known of them but that their noise is white.

    keys: (M,) the explanation of the table that each explanation of the question is; the same unless given.
    whitener: (p, q) by which signals are multiplied; None leaves them as they are.
    """

    are_e_values: ClassVar[bool] = False

    spec: Rotation
    keys: IntArray | None = None
    whitener: Field | None = None

    @property
    def n_explanations(self) -> int:
        """Of the question."""
        return self.spec.table.size if self.keys is None else len(self.keys)

    @property
    def channels(self) -> int:
        """Of a signal as it was measured."""
        return len(self.spec.table.atoms) if self.whitener is None else int(self.whitener.shape[1])

    @property
    def is_complex(self) -> bool:
        """As the table is."""
        return self.spec.table.is_complex

    @property
    def places(self) -> tuple[str, ...]:
        """Of the outsiders."""
        return () if self.spec.outsiders is None else self.spec.outsiders.places

    def encode(self) -> dict[str, object]:
        """All that decides."""
        spec, table, outsiders = self.spec, self.spec.table, self.spec.outsiders
        columns = () if outsiders is None or outsiders.columns is None else (outsiders.columns,)
        looked_for = None if outsiders is None else [outsiders.share, [*outsiders.lags], pieces_hash(*columns)]
        return {
            "judge": "rotation",
            "assumes": "the noise of every signal is white and Gaussian, of unknown level unless given",
            "draws": [spec.seed, spec.draws, spec.gate_draws],
            "statistic": [spec.rows, spec.penalty, spec.sigma, repr(spec.companions)],
            "atoms": pieces_hash(repr(table.atoms.shape), table.atoms, np.asarray(table.background)),
            "supports": pieces_hash(repr(table.supports)),
            "outsiders": looked_for,
            "keys": None if self.keys is None else pieces_hash(np.asarray(self.keys)),
            "whitener": None if self.whitener is None else pieces_hash(self.whitener),
        }

    def block_judge(self, levels: Array, threads: int, repeats: int) -> BlockJudge:
        """The table of critical values, if there is one; either way, enough draws to serve all signals."""
        spec, falling = self.spec, check_levels(levels)
        if is_tabulated(spec):
            judge: BlockJudge = Tabulated.of(spec, falling, threads, repeats)
        else:
            check_shared_draws(spec, float(falling[0]))
            judge = OneByOne(RotationAsker(spec), falling)
        return numbered(judge, self.keys, self.whitener)

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


def numbered(judge: BlockJudge, keys: IntArray | None, whitener: Field | None) -> BlockJudge:
    """A judge of signals as they are measured, about the explanations of the question."""
    return judge if keys is None and whitener is None else _Keyed(judge, keys, whitener)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Keyed:
    """A judge of whitened signals, whose explanations have other numbers than those of the question."""

    judge_: BlockJudge
    keys: IntArray | None
    whitener: Field | None

    def judge(self, rows: Field) -> BlockVerdicts:
        """Of signals (S, T, q) as they are measured."""
        n, n_rows = rows.shape[:2]
        whitened = rows
        if self.whitener is not None:
            whitened = in_order(rows.reshape(n * n_rows, -1), self.whitener.T).reshape(n, n_rows, -1)
        verdicts = self.judge_.judge(whitened)
        if self.keys is None:
            return verdicts
        first = np.array([int(np.argmax(self.keys == key)) for key in range(verdicts.codes.shape[1])])
        return replace(
            verdicts, codes=verdicts.codes[:, self.keys], best=np.where(verdicts.best < 0, -1, first[verdicts.best])
        )
