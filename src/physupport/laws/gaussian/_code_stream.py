"""Rows with observed codes in white noise, under dictionaries of a bank or under a single one off it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from flint import fmpq
from numpy.typing import ArrayLike

from ..._compiled import kept
from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...banks import StateFamily
from ...io import RowSource
from ...io._rows import atom_table, doubled
from .._balls import sub
from ._gaussian_exact import ExactMoments, exact_residual, rational
from ._white_noise import (
    Known,
    ResidualMoments,
    Sums,
    WhiteNoiseStream,
    check_noises,
    filled,
    residual_sums,
    white_noise_stream,
)


@final
@dataclass(frozen=True, slots=True, eq=False)
class CodeColumns:
    """Some columns of rows, each multiplied by a number where these are given."""

    rows: RowSource
    columns: slice
    width: int
    factors: Array | None = None  # (width,)

    @property
    def n_rows(self) -> int:
        """As many as there are."""
        return self.rows.n_rows

    def blocks(self) -> Iterator[Array]:
        """As `RowSource` has them."""
        factors = 1.0 if self.factors is None else self.factors
        return (np.ascontiguousarray(block[:, self.columns] * factors) for block in self.rows.blocks())


@final
@dataclass(frozen=True, slots=True, eq=False)
class DictionaryResiduals:
    r""":math:`y_i - Dc_i`; key = state * number of noise variances + noise variance."""

    is_density: ClassVar[bool] = True

    states: StateFamily
    noises: Array  # (m,)
    is_complex: bool
    table: Array  # (E, q) or, complex, (2 E, 2 q)

    @property
    def n_keys(self) -> int:
        """States times noise variances."""
        return self.states.n_states * len(self.noises)

    def sums(self, keys: IntArray, moments: ResidualMoments) -> Sums:
        """One for each distinct state."""
        state, nuisance = np.divmod(keys, len(self.noises))
        distinct, which = np.unique(state, return_inverse=True)
        atoms = self._atoms(distinct)

        def fill(part: slice, sums: Array, e_sums: Array) -> None:
            _dictionary_residuals(atoms[part], self.table, moments.known, sums, e_sums)

        return Sums(*filled(len(atoms), moments, 16, fill), which.ravel(), self.noises[nuisance])

    def exact(self, key: int, moments: ResidualMoments, exact: ExactMoments) -> tuple[list[fmpq], float]:  # noqa: ARG002
        """The residual sums of squares as rational numbers."""
        state, nuisance = divmod(key, len(self.noises))
        dictionary = rational(self.table[self._atoms(np.array([state]))[0]])
        return [exact_residual(dictionary, *sums) for sums in exact], float(self.noises[nuisance])

    def _atoms(self, states: IntArray) -> IntArray:
        atoms = np.ascontiguousarray(self.states.element_index(states))
        return doubled(atoms) if self.is_complex else atoms


def known_code_stream(
    rows: RowSource,
    codes: RowSource,
    states: StateFamily,
    noises: ArrayLike,
    checkpoints: ArrayLike,
    *,
    is_complex: bool = False,
) -> WhiteNoiseStream[DictionaryResiduals]:
    """The stream of rows with observed codes; key = state * number of noise variances + noise variance.

    rows: (N, q).  codes: (N, n).  If complex, rows, codes and elements hold pairs (Re, Im) and the noise is circular,
    of the given variance for each complex entry.  The data are read once here.
    """
    table = atom_table(states.elements, is_complex, has_phase=True)
    n_codes = states.n_atoms * (2 if is_complex else 1)
    if codes.width != n_codes or codes.n_rows != rows.n_rows:
        rule = f"have {n_codes} entries for each of {rows.n_rows} rows"
        raise MisuseError("codes", rule, f"{codes.width} entries and {codes.n_rows} rows")
    residuals = DictionaryResiduals(states, check_noises(noises, is_complex), is_complex, table)
    return white_noise_stream((rows, codes), residuals, table.shape[1], checkpoints)


@kept(nogil=True)
def _dictionary_residuals(atoms: IntArray, table: Array, known: Known, sums: Array, e_sums: Array) -> None:
    """Residual sums of squares of dictionaries; atoms: (k, n) rows of the table (E, q).  Fills (k, c), (k, c)."""
    reference = known[0]
    n, q = reference.shape
    for k in range(len(atoms)):
        delta, e_delta = np.empty((n, q)), np.empty((n, q))
        for j in range(n):
            for a in range(q):
                delta[j, a], e_delta[j, a] = sub(table[atoms[k, j], a], 0.0, reference[j, a], 0.0)
        residual_sums(delta, e_delta, known, sums[k], e_sums[k])
