"""Calibration with observed codes: rows are dictionary times code plus white noise."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from flint import arb
from numba import njit
from numpy.typing import ArrayLike

from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...banks import StateFamily
from ...io import RowSource
from ...io._complex import atom_table, doubled
from .._balls import sub
from .._base import Scores
from .._threads import in_pieces
from ._gaussian_exact import ExactMoments, exact_moments, exact_residual, rational, white_noise_enclosure
from ._residuals import (
    ResidualMoments,
    check_noises,
    check_width,
    code_products,
    residual_moments,
    residual_sums,
    white_noise_likelihood,
)
from ._statistics import check_checkpoints, check_keys


@final
@dataclass(frozen=True, eq=False)  # no slots: the exact moments are worked out when first asked for
class KnownCodeStream:
    r"""Rows :math:`y_i = Dc_i + \sqrt\nu\,\varepsilon_i` with observed codes c_i; a key is a state and a noise.

    :math:`\log L_t = -\tfrac{tq}2\log(2\pi\nu) - \tfrac1{2\nu}\sum_{i\le t}\|y_i - Dc_i\|^2`.
    """

    rows: RowSource
    codes: RowSource
    states: StateFamily
    noises: Array  # (m,)
    checkpoints: IntArray
    is_complex: bool
    table: Array  # (E, q) or, complex, (2 E, 2 q)
    moments: ResidualMoments

    @property
    def is_density(self) -> bool:
        """Every key is a density."""
        return True

    @property
    def n_keys(self) -> int:
        """States times noise variances."""
        return self.states.n_states * len(self.noises)

    def log_likelihood(self, keys: IntArray) -> Scores:
        """Prefix log likelihoods; the cost of a key does not depend on the number of rows."""
        state, nuisance = np.divmod(check_keys(keys, self.n_keys), len(self.noises))
        distinct, which = np.unique(state, return_inverse=True)
        sums, e_sums = np.empty((2, len(distinct), len(self.checkpoints)))
        m, atoms = self.moments, self._atoms(distinct)

        def fill(part: slice) -> None:
            known = (self.table, m.reference, m.energy, m.cross, m.gram)
            _dictionary_residuals(atoms[part], *known, sums[part], e_sums[part])

        in_pieces(len(atoms), fill, least=16)
        return white_noise_likelihood(sums, e_sums, which.ravel(), self.noises[nuisance], m.counts)

    def enclosure(self, key: int, bits: int) -> list[arb]:
        """Prefix log likelihoods of one key as balls."""
        state, nuisance = np.divmod(check_keys([key], self.n_keys), len(self.noises))
        dictionary = rational(self.table[self._atoms(state)[0]])
        noise = float(self.noises[nuisance[0]])
        residuals = [exact_residual(dictionary, *moments) for moments in self._exact]
        counts = (self.checkpoints * self.rows.width).tolist()
        return [white_noise_enclosure(x, noise, n, bits) for x, n in zip(residuals, counts, strict=True)]

    def _atoms(self, states: IntArray) -> IntArray:
        atoms = np.ascontiguousarray(self.states.element_index(states))
        return doubled(atoms) if self.is_complex else atoms

    @cached_property
    def _exact(self) -> ExactMoments:
        return exact_moments([self.rows, self.codes], self.checkpoints, code_products)


def known_code_stream(
    rows: RowSource,
    codes: RowSource,
    states: StateFamily,
    noises: ArrayLike,
    checkpoints: ArrayLike,
    *,
    is_complex: bool = False,
) -> KnownCodeStream:
    """The stream of rows with observed codes; key = state * number of noise variances + noise variance.

    rows: (N, q).  codes: (N, n).  If complex, rows, codes and elements hold pairs (Re, Im) and the noise is circular,
    of the given variance for each complex entry.  The data are read once here.
    """
    table = atom_table(states.elements, is_complex, has_phase=True)
    check_width(rows, table.shape[1])
    n_codes = states.n_atoms * (2 if is_complex else 1)
    if codes.width != n_codes or codes.n_rows != rows.n_rows:
        rule = f"have {n_codes} entries for each of {rows.n_rows} rows"
        raise MisuseError("codes", rule, f"{codes.width} entries and {codes.n_rows} rows")
    points = check_checkpoints(checkpoints, rows.n_rows)
    variances = check_noises(noises, is_complex)
    moments = residual_moments([rows, codes], points)
    return KnownCodeStream(rows, codes, states, variances, points, is_complex, table, moments)


@njit(cache=True, nogil=True)
def _dictionary_residuals(
    atoms: IntArray,
    table: Array,
    reference: Array,
    energy: tuple[Array, Array],
    cross: tuple[Array, Array],
    gram: tuple[Array, Array],
    sums: Array,
    e_sums: Array,
) -> None:
    """Residual sums of squares of dictionaries; atoms: (k, n) rows of the table (E, q).  Fills (k, c), (k, c)."""
    n, q = reference.shape
    for k in range(len(atoms)):
        delta, e_delta = np.empty((n, q)), np.empty((n, q))
        for j in range(n):
            for a in range(q):
                delta[j, a], e_delta[j, a] = sub(table[atoms[k, j], a], 0.0, reference[j, a], 0.0)
        residual_sums(delta, e_delta, energy, cross, gram, sums[k], e_sums[k])
