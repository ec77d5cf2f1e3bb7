"""The latent-code calibration stream: rows that are sparse random combinations of a state's atoms, in noise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count
from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...banks import StateFamily
from ...io import RowSource
from .._base import Scores
from ..codes._laws import CodeLaw
from ..gaussian._statistics import check_checkpoints, check_keys
from ._latent_batch import Batch
from ._latent_errors import Run, log_likelihood_balls
from ._latent_kernels import B, add_squares
from ._latent_laws import Family, law_families

# Rows that all factors work through before the next are read: small enough to stay in a processor's own memory.
SEGMENT_ROWS: Final = 2048
# Numbers in the tables of one batch of factors: 64 MiB.
_TABLE: Final = 2**23
_MOST_ATOMS: Final = 20


@final
@dataclass(frozen=True, slots=True, eq=False)
class LatentStream:
    r"""Rows :math:`Y_i = D c_i + \xi_i` with unseen codes: an exact mixture over all active sets (eq:training-model).

    Key = state * len(laws) + nuisance; nuisance u is the law laws[u] with the noise variance noises[u].  Nuisances
    that differ in the weights of the sizes only share every exponential.
    """

    rows: RowSource
    states: StateFamily
    laws: tuple[CodeLaw, ...]
    noises: Array  # (m,)
    checkpoints: IntArray  # (c,)
    families: tuple[Family, ...]

    @property
    def is_density(self) -> bool:
        """Every key is a density."""
        return True

    @property
    def n_keys(self) -> int:
        """States times nuisances."""
        return self.states.n_states * len(self.laws)

    def log_likelihood(self, keys: IntArray) -> Scores:
        """Prefix log likelihoods of the keys; the rows are read once for each batch of states that fits in memory."""
        keys = check_keys(keys, self.n_keys)
        state, nuisance = np.divmod(keys, len(self.laws))
        values = np.zeros((len(keys), len(self.checkpoints)))
        errors = np.zeros_like(values)
        for part in self._parts(state):
            batches = [
                self._batch(family, state[chosen], nuisance[chosen], chosen)
                for family in self.families
                if len(chosen := part[family.members[nuisance[part]]])
            ]
            run = _read(self.rows, self.checkpoints, batches)
            for batch in batches:
                values[batch.positions], errors[batch.positions] = batch.scores(run)
        return Scores(values, errors)

    def enclosure(self, key: int, bits: int) -> list[arb]:
        """The same of one key in ball arithmetic, recomputed from the stored numbers."""
        state, nuisance = divmod(int(check_keys([key], self.n_keys)[0]), len(self.laws))
        atoms = self.states.elements[:, self.states.element_index(np.array([state]))[0]]
        noise = float(self.noises[nuisance])
        bits = check_count("bits", bits, 2)
        return log_likelihood_balls(self.rows, atoms, self.laws[nuisance], noise, self.checkpoints, bits)

    def _batch(self, family: Family, state: IntArray, nuisance: IntArray, positions: IntArray) -> Batch:
        distinct, which = np.unique(state, return_inverse=True)
        index = self.states.element_index(distinct)  # (k, n)
        dictionaries = self.states.elements[:, index].transpose(1, 0, 2)  # (k, q, n)
        return Batch.prepare(family, dictionaries, which, nuisance, positions, len(self.checkpoints))

    def _parts(self, state: IntArray) -> Iterator[IntArray]:
        """Positions of keys, states together, in batches whose tables have a bounded size."""
        order = np.argsort(state, kind="stable")
        per_state = sum(family.table_size for family in self.families) * min(self.rows.width, self.states.n_atoms)
        _, start = np.unique(state[order], return_index=True)
        for first in range(0, len(start), max(1, _TABLE // per_state)):
            stop = first + max(1, _TABLE // per_state)
            yield order[start[first] : start[stop] if stop < len(start) else len(order)]


def latent_stream(
    rows: RowSource, states: StateFamily, laws: Sequence[CodeLaw], noises: ArrayLike, checkpoints: ArrayLike
) -> LatentStream:
    """Check and assemble a latent-code stream; laws and noises have one entry a nuisance."""
    noises = check_array("noises", noises, (len(laws),))
    if not len(noises) or noises.min() <= 0.0:
        raise MisuseError("noises", "be one positive number a law", noises)
    if rows.width != states.elements.shape[0]:
        raise MisuseError("rows", f"have {states.elements.shape[0]} entries each, as the atoms have", rows.width)
    check_count("the number of atoms", states.n_atoms, 1, _MOST_ATOMS)
    points = check_checkpoints(checkpoints, rows.n_rows)
    families = law_families(tuple(laws), noises, states.n_atoms)
    return LatentStream(rows, states, tuple(laws), noises, points, families)


def _read(rows: RowSource, checkpoints: IntArray, batches: list[Batch]) -> Run:
    """Carry all batches through one reading of the rows, noting their state at every checkpoint."""
    squares, noted, n_segments, done = np.zeros(2), [], 0, 0
    for segment in _segments(rows, checkpoints):
        add_squares(segment, squares)
        done, n_segments = done + segment.shape[1], n_segments + 1
        reached = np.flatnonzero(checkpoints == done)
        for batch in batches:
            batch.advance(segment)
        if reached.size:
            noted.append((n_segments, squares.sum()))
            for batch in batches:
                batch.note(int(reached[0]))
    counts, totals = zip(*noted, strict=True)
    blocks = -(-SEGMENT_ROWS // B)
    return Run(checkpoints, np.array(counts), np.array(totals), rows.width, B, blocks)


def _segments(rows: RowSource, checkpoints: IntArray) -> Iterator[Array]:
    """The rows as columns, (width, length), cut at checkpoints and every SEGMENT_ROWS rows however they are stored."""
    last = int(checkpoints[-1])
    ends = iter(sorted({*checkpoints.tolist(), *range(SEGMENT_ROWS, last, SEGMENT_ROWS)}))
    buffer, filled, done, end = np.empty((rows.width, SEGMENT_ROWS)), 0, 0, next(ends)
    for block in rows.blocks():
        start = 0
        while start < len(block) and done < last:
            take = min(end - done, len(block) - start)
            buffer[:, filled : filled + take] = block[start : start + take].T
            start, filled, done = start + take, filled + take, done + take
            if done == end:
                yield np.ascontiguousarray(buffer[:, :filled])
                filled, end = 0, next(ends, last)
        if done == last:
            return
