"""What the row loops need of many latent-code densities: their trees of active sets, and the errors of these."""

from dataclasses import dataclass
from functools import cache
from typing import Self, final

import numpy as np

from ..._exp import LN2, LOG_ERROR, U, log_mantissas
from ..._typing import Array, BoolArray, IntArray
from .._threads import in_pieces
from ._latent_errors import RANGE, Family
from ._latent_trees import mixed_trees, nested_trees


@cache
def nested_passes(n_atoms: int) -> IntArray:
    """(2^(n-3), 4) the way through the sets that hold the first three atoms, as the row loops take it.

    Level of the set that has one atom more, that atom, the set, its size less three; depth first, the smallest last.
    """
    passes: list[tuple[int, int, int, int]] = []
    stack = [(-1, n_atoms, (1 << n_atoms) - 1)]
    while stack:
        level, atom, mask = stack.pop()
        passes.append((level, atom, mask, mask.bit_count() - 3))
        stack.extend((level + 1, j, mask & ~(1 << j)) for j in reversed(range(3, atom)))
    return np.array(passes, dtype=np.int64)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """What the row loops need of F densities: the trees, and the errors that come with them."""

    atoms: Array  # (F, q, n)
    noises: Array  # (F,)
    directions: Array  # (F, sets, d), or of the sets that lack one atom (F, n, d)
    turns: Array  # (F, sets, 2) how the others follow from these; none where all are given
    multipliers: Array  # (F, sets)
    scalars: Array  # (F, 4): path, relative error of the multipliers, determinant and its error
    trusted: BoolArray  # (F,) whether the multipliers keep products normal

    @classmethod
    def prepare(cls, family: Family, atoms: Array, noises: Array, variances: Array) -> Self:
        """Grow the trees of every dictionary; variances: (F,), used where the family is nested."""
        n_factors, q, n = atoms.shape
        n_sets = max(1, len(family.used)) << n
        directions = np.empty((n_factors, n if family.is_nested else n_sets, min(q, n)))
        turns = np.zeros((n_factors, n_sets if family.is_nested else 0, 2))
        multipliers = np.empty((n_factors, n_sets))
        scalars = np.zeros((n_factors, 4))

        def grow(part: slice) -> None:
            filled = multipliers[part], scalars[part]
            if family.is_nested:
                nested_trees(atoms[part], noises[part], variances[part], directions[part], turns[part], *filled)
            else:
                mixed_trees(atoms[part], noises[part], family.trees, directions[part], *filled)

        in_pieces(n_factors, grow)
        # The row loops take coordinates four by four.
        directions = np.pad(directions, ((0, 0), (0, 0), (0, -min(q, n) % 4)))
        trusted = np.all((multipliers < RANGE) & (multipliers > 1.0 / RANGE), axis=1)
        return cls(atoms, noises, directions, turns, multipliers, scalars, trusted)

    def log_determinants(self) -> tuple[Array, Array]:
        """Logarithms (F,) of the determinants and their errors (F,)."""
        mantissa, exponent = np.frexp(self.scalars[:, 2])
        value = (exponent - 1.0) * LN2 + log_mantissas(2.0 * mantissa[:, None])[:, 0]
        with np.errstate(invalid="ignore", divide="ignore"):
            relative = self.scalars[:, 3] / self.scalars[:, 2]
            error = np.where(relative < 0.5, relative / (1.0 - relative), np.inf)
        return value, error * (1.0 + 8.0 * U) + LOG_ERROR + 4.0 * U * np.abs(value)
