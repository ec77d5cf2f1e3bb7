"""Calibration with observed codes: rows are dictionary times code plus white noise."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Array, IntArray
from ..banks import Bank
from ..io import RowSource, as_complex, as_pairs
from . import streams
from ._law import Energy, Law, Part, Sampler, register
from ._noisy import NoisyLaw, chi_square
from ._opponents import Point, Proposal, dictionary_point
from ._stream import Stream


@register
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class KnownCodes(NoisyLaw):
    r"""Rows :math:`y_i = Dc_i + \sqrt\nu\,\varepsilon_i` followed by their codes c_i; a key is a state and a noise."""

    name: ClassVar[str] = "known codes"
    part: ClassVar[Part] = "calibration"
    file_keys: ClassVar[Mapping[str, bool]] = {**Law.file_keys, "codes": False}
    mixed: ClassVar[tuple[str, ...]] = ("key", "dictionary_point")
    takes_sets: ClassVar[bool] = False
    has_codes: ClassVar[bool] = True

    def sample(self, bank: Bank, explanation: int, rng: np.random.Generator, n_rows: int) -> Array:
        """(n_rows, width) rows with standard normal codes, which the law leaves open."""
        atoms = bank.explanation(explanation).atoms
        nuisance = bank.split(explanation).calibration
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
        root = vectors[:, seen] * np.sqrt(values[seen])
        freedom = (rows.n_rows - int(seen.sum())) * q

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

    def stream(self, bank: Bank, rows: RowSource, checkpoints: ArrayLike) -> Stream:
        """The rows, scored under every state and noise."""
        parts = streams.measured_and_codes(rows, len(bank.states.elements))
        return streams.known_code_stream(*parts, bank.states, self.variances, checkpoints, is_complex=self.is_complex)

    def free_opponent(self, bank: Bank, proposal: Proposal, key: int) -> Point:  # noqa: ARG002
        """The dictionary of least squares, and the noise that it leaves; of too few rows the largest of the law."""
        table = np.concatenate([*proposal.rows.blocks()]).T
        q = len(bank.states.elements)
        measured, codes = (as_complex(part) if self.is_complex else part for part in (table[:q], table[q:]))
        atoms = np.linalg.lstsq(codes.T, measured.T, rcond=None)[0].T
        freedom = (proposal.rows.n_rows - int(np.linalg.matrix_rank(codes))) * len(measured)
        noise = float((np.abs(measured - atoms @ codes) ** 2).sum()) / freedom if freedom else 0.0
        return dictionary_point(atoms, noise if noise > 0.0 else float(self.variances.max()))

    def energy(self, bank: Bank, explanation: int, rows: RowSource) -> Energy:
        r""":math:`\sum_i\|y_i - Dc_i\|^2/\nu`, chi-square."""
        atoms = bank.explanation(explanation).atoms
        q = len(bank.states.elements)
        scale = sqrt(self.entry_noises(bank.split(explanation).calibration)[0])
        blocks = ((block[:, :q] - self._signal(atoms, block[:, q:])) / scale for block in rows.blocks())
        return chi_square(float(sum(np.sum(block**2) for block in blocks)), rows.n_rows * q)

    def _signal(self, atoms: Array, codes: Array) -> Array:
        """(n, q) dictionary times codes; atoms: (q, n), codes: (n, atoms), all as pairs if complex."""
        if not self.is_complex:
            return codes @ atoms.T
        return as_pairs((as_complex(atoms) @ as_complex(codes.T)).T)
