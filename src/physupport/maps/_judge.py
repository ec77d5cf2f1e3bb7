"""The judge of the signals of a map: the contract, its verdicts on a block of signals, and what judges share."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from .._typing import Array, BoolArray, Field, IntArray
from ._kernels import products

_LARGEST = 1e80  # squares stay far from overflow
PIECE = 128  # signals whose products stay in the nearest cache


@final
@dataclass(frozen=True, slots=True, eq=False)
class BlockVerdicts:
    """Verdicts of a judge on S signals, each as if it were alone: no entry depends on others of its block."""

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

    def numbered(self, keys: IntArray | None) -> "BlockVerdicts":
        """The same verdicts about explanations of which each is number keys (M,) here."""
        if keys is None:
            return self
        first = np.array([int(np.argmax(keys == key)) for key in range(self.codes.shape[1])])
        return replace(self, codes=self.codes[:, keys], best=np.where(self.best < 0, -1, first[self.best]))


# From signals (S, T, q) as they are measured to their verdicts; workers of other processes get a copy.
BlockJudge: TypeAlias = Callable[[Field], BlockVerdicts]


class SignalJudge(Protocol):
    """The judge of the signals of a map, before any is read: all that decides."""

    @property
    def are_e_values(self) -> bool:
        """True if levels are those of evidence at its end, for which no dependence between signals costs anything."""
        return False

    @property
    def n_explanations(self) -> int:
        """How many there are."""

    @property
    def channels(self) -> int:
        """Numbers of a row as it is measured."""

    @property
    def is_complex(self) -> bool:
        """True if these may be complex."""
        return False

    @property
    def places(self) -> tuple[str, ...]:
        """Names of the outsiders that the gate looks for."""
        return ()

    def encode(self) -> dict[str, object]:
        """All that decides, as JSON can hold it."""

    def block_judge(self, levels: Array, threads: int, repeats: int) -> BlockJudge:
        """The judge of signals of so many rows, at levels (L,) that fall; what they share is computed here, once."""

    def fitted(self, rows: Field, explanation: int) -> Field | None:
        """(q,) the row that an explanation fits best to rows (T, q); None where there is no such thing."""


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
