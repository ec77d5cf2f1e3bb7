"""Calibration with observed codes: rows are dictionary times code plus white noise."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, final

import numpy as np
from flint import fmpq
from numba import njit
from numpy.typing import ArrayLike

from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...banks import Bank, StateFamily
from ...io import RowSource
from ...io._rows import as_complex, as_pairs, atom_table, doubled
from .._balls import sub
from .._law import Energy, Law, Part, Sampler, register
from .._noisy import NoisyLaw, chi_square
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


@register
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class KnownCodes(NoisyLaw):
    r"""Rows :math:`y_i = Dc_i + \sqrt\nu\,\varepsilon_i` followed by their codes c_i; a key is a state and a noise."""

    name: ClassVar[str] = "known codes"
    part: ClassVar[Part] = "calibration"
    file_keys: ClassVar[Mapping[str, bool]] = {**Law.file_keys, "codes": False}

    def n_codes(self, n_atoms: int) -> int:
        """One for each atom."""
        return n_atoms

    def sample(self, bank: Bank, explanation: int, rng: np.random.Generator, n_rows: int) -> Array:
        """(n_rows, width) rows with standard normal codes, which the law leaves open."""
        atoms, nuisance = bank.explanation(explanation).atoms, bank.split(explanation).calibration
        codes = rng.standard_normal((n_rows, self.width(bank) - len(atoms)))
        noise = np.sqrt(self.entry_noises(nuisance)) * rng.standard_normal((n_rows, len(atoms)))
        return np.hstack([self._signal(atoms, codes) + noise, codes])

    def sampler(self, bank: Bank, rows: RowSource) -> Sampler:
        r"""Given the codes C: with :math:`CC^\top = HH^\top` of rank r, noise enters by a normal (q, r) matrix G.

        :math:`|\sqrt\nu E - \Delta C|^2 = |\sqrt\nu G - \Delta H|^2 + \nu\chi^2_{(n-r)q}`, as the rest of E is
        orthogonal to the codes.
        """
        q = len(bank.states.elements)
        gram = sum((block[:, q:].T @ block[:, q:] for block in rows.blocks()), np.zeros((1, 1)))
        values, vectors = np.linalg.eigh(gram)
        seen = values > len(values) * np.finfo(np.float64).eps * values[-1]
        root, freedom = vectors[:, seen] * np.sqrt(values[seen]), (rows.n_rows - int(seen.sum())) * q

        def draw(key: int, keys: IntArray, rng: np.random.Generator, count: int) -> Array:
            (own,), (noise,) = self._maps(bank, np.array([key]))
            maps, noises = self._maps(bank, keys)  # (r, q, codes), (r,)
            normal = rng.standard_normal((count, q, root.shape[1]))
            rest = rng.chisquare(freedom, count) if freedom else np.zeros(count)
            gaps = (maps - own) @ root
            squares = noise * (np.sum(normal**2, axis=(1, 2)) + rest)[:, None] + np.sum(gaps**2, axis=(1, 2))
            squares -= 2.0 * np.sqrt(noise) * np.einsum("rqc,bqc->br", gaps, normal)
            return np.asarray(-0.5 * (rows.n_rows * q * np.log(2.0 * np.pi * noises) + squares / noises))

        return draw

    def _maps(self, bank: Bank, keys: IntArray) -> tuple[Array, Array]:
        """(k, q, codes) real matrices from codes to rows, and (k,) the variance of each real entry."""
        parts = bank.calibration_parts(keys)
        index = bank.states.element_index(parts.state)
        codes = np.eye(self.width(bank) - len(bank.states.elements))
        maps = [self._signal(bank.states.elements[:, chosen], codes).T for chosen in index]
        return np.array(maps), self.entry_noises(parts.nuisance)

    def stream(self, bank: Bank, rows: RowSource, checkpoints: ArrayLike) -> "WhiteNoiseStream[DictionaryResiduals]":
        """The rows, scored under every state and noise."""
        q = len(bank.states.elements)
        measured, codes = _Columns(rows, slice(0, q), q), _Columns(rows, slice(q, rows.width), rows.width - q)
        return known_code_stream(measured, codes, bank.states, self.variances, checkpoints, is_complex=self.is_complex)

    def energy(self, bank: Bank, explanation: int, rows: RowSource) -> Energy:
        r""":math:`\sum_i\|y_i - Dc_i\|^2/\nu`, chi-square."""
        atoms, q = bank.explanation(explanation).atoms, len(bank.states.elements)
        scale = sqrt(self.entry_noises(bank.split(explanation).calibration)[0])
        blocks = ((block[:, :q] - self._signal(atoms, block[:, q:])) / scale for block in rows.blocks())
        return chi_square(float(sum(np.sum(block**2) for block in blocks)), rows.n_rows * q)

    def _signal(self, atoms: Array, codes: Array) -> Array:
        """(n, q) dictionary times codes; atoms: (q, n), codes: (n, atoms), all as pairs if complex."""
        if not self.is_complex:
            return codes @ atoms.T
        return as_pairs((as_complex(atoms) @ as_complex(codes.T)).T)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """Some columns of rows."""

    rows: RowSource
    columns: slice
    width: int

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    def blocks(self) -> Iterator[Array]:
        return (np.ascontiguousarray(block[:, self.columns]) for block in self.rows.blocks())


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


@njit(cache=True, nogil=True)
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
