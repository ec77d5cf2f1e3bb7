"""The latent-code calibration stream, and its factors that run together: tables prepared once, sums carried on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Self, final

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike

from ..._arrays import check_indices
from ..._checks import check_array, check_count
from ..._errors import MisuseError
from ..._exp import LN2, LOG_ERROR, U, log_mantissas
from ..._typing import Array, BoolArray, IntArray
from ...banks import StateFamily
from ...io import RowSource
from .._base import Scores
from .._threads import in_pieces
from ..codes._laws import CodeLaw
from ..gaussian._statistics import check_checkpoints
from ._latent_errors import (
    RANGE,
    Family,
    Run,
    final_errors,
    law_families,
    log_likelihood_balls,
    total_errors,
)
from ._latent_factors import mixed_trees, nested_passes, nested_trees
from ._latent_kernels import B, add_squares, score_segment

_GUARD_BITS: Final = 128


@final
@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """What the row loops need of F densities: the trees, and the errors that come with them."""

    atoms: Array  # (F, q, n)
    noises: Array  # (F,)
    directions: Array  # (F, sets, d)
    multipliers: Array  # (F, sets)
    scalars: Array  # (F, 4): path, relative error of the multipliers, determinant and its error
    trusted: BoolArray  # (F,) whether the multipliers keep products normal

    @classmethod
    def prepare(cls, family: Family, atoms: Array, noises: Array, variances: Array) -> Self:
        """Grow the trees of every dictionary; variances: (F,), used where the family is nested."""
        n_factors, q, n = atoms.shape
        n_sets = max(1, len(family.used)) << n
        directions, multipliers = np.empty((n_factors, n_sets, min(q, n))), np.empty((n_factors, n_sets))
        scalars = np.zeros((n_factors, 4))

        def grow(part: slice) -> None:
            filled = directions[part], multipliers[part], scalars[part]
            if family.is_nested:
                nested_trees(atoms[part], noises[part], variances[part], *filled)
            else:
                mixed_trees(atoms[part], noises[part], family.trees, *filled)

        in_pieces(n_factors, grow)
        # The row loops take coordinates two by two.
        directions = np.pad(directions, ((0, 0), (0, 0), (0, min(q, n) % 2)))
        trusted = np.all((multipliers < RANGE) & (multipliers > 1.0 / RANGE), axis=1)
        return cls(atoms, noises, directions, multipliers, scalars, trusted)

    def log_determinants(self) -> tuple[Array, Array]:
        """Logarithms (F,) of the determinants and their errors (F,)."""
        mantissa, exponent = np.frexp(self.scalars[:, 2])
        value = (exponent - 1.0) * LN2 + log_mantissas(2.0 * mantissa)
        with np.errstate(invalid="ignore", divide="ignore"):
            relative = self.scalars[:, 3] / self.scalars[:, 2]
            error = np.where(relative < 0.5, relative / (1.0 - relative), np.inf)
        return value, error * (1.0 + 8.0 * U) + LOG_ERROR + 4.0 * U * np.abs(value)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Keys in the order of their factors, the sums so far, and what these were at each checkpoint."""

    family: Family
    factors: Factors
    positions: IntArray  # (k,) where the scores of each key belong
    factor: IntArray  # (k,) increasing
    first_key: IntArray  # (F + 1,)
    nuisance: IntArray  # (k,)
    weights: Array  # (k, sizes), filled up with zeros to a multiple of four
    reference: Array  # (F, 2) sums of reference exponents, compensated
    product: Array  # (k,) product of the densities without its power of two
    power: IntArray  # (k,)
    noted: tuple[Array, Array, IntArray]  # (F, c), (k, c), (k, c)

    @classmethod
    def prepare(
        cls, family: Family, dictionaries: Array, state: IntArray, nuisance: IntArray, positions: IntArray, n_notes: int
    ) -> Self:
        """Group keys by (dictionary, noise, variance).  dictionaries: (K, q, n); state, nuisance, positions: (k,)."""
        variance = family.variances[nuisance]
        columns = np.stack([state.astype(np.float64), family.noises[nuisance], variance], axis=1)
        distinct, factor = np.unique(columns, axis=0, return_inverse=True)
        factor = factor.reshape(-1)
        order = np.argsort(factor, kind="stable")
        factor = factor[order]
        atoms = np.ascontiguousarray(dictionaries[distinct[:, 0].astype(np.int64)])
        factors = Factors.prepare(family, atoms, distinct[:, 1].copy(), distinct[:, 2].copy())
        first_key = np.searchsorted(factor, np.arange(len(distinct) + 1))
        k, f = len(factor), len(distinct)
        notes = (np.zeros((f, n_notes)), np.ones((k, n_notes)), np.zeros((k, n_notes), dtype=np.int64))
        running = (np.zeros((f, 2)), np.ones(k), np.zeros(k, dtype=np.int64))
        nuisance = nuisance[order]
        weights = np.pad(family.weights[nuisance], ((0, 0), (0, -family.weights.shape[1] % 4)))
        return cls(family, factors, positions[order], factor, first_key, nuisance, weights, *running, notes)

    def advance(self, segment: Array) -> None:
        """Carry the sums over a stretch of rows, (q, length)."""
        f = self.factors
        passes = nested_passes(f.atoms.shape[2])

        def score(part: slice) -> None:
            keys = self.first_key[part.start : part.stop + 1]
            score_segment(
                segment, f.atoms[part], passes, self.family.used, f.directions[part], f.multipliers[part],
                keys, self.weights, self.reference[part], self.product, self.power,
            )  # fmt: skip

        in_pieces(len(f.atoms), score)

    def note(self, checkpoint: int) -> None:
        """Remember the sums as they are now."""
        reference, product, power = self.noted
        reference[:, checkpoint] = self.reference.sum(axis=1)
        product[:, checkpoint] = self.product
        power[:, checkpoint] = self.power

    def scores(self, run: Run) -> tuple[Array, Array]:
        r"""Log likelihoods and errors, (k, c).

        :math:`-V/(2\nu) - \tfrac t2(q\log 2\pi\nu + \log\det C_{full}/\nu^q) + R\log 2 + \log\prod_i Z_i`.  Where a
        bound is not finite the value says nothing, and is 0.
        """
        reference, product, power = self.noted
        noise = self.factors.noises[:, None]
        log_det, log_det_error = self.factors.log_determinants()
        with np.errstate(invalid="ignore", over="ignore"):
            by_factor = (
                -run.squares / (2.0 * noise),
                -run.n_rows * _log_two_pi_noise(self.factors.noises, run.width)[:, None],
                -0.5 * run.n_rows * log_det[:, None],
                LN2 * reference,
            )
            n = self.factors.atoms.shape[2]
            errors = total_errors(run, n, self.factors.noises, self.factors.scalars, log_det_error, reference)
            terms = np.stack([*(term[self.factor] for term in by_factor), LN2 * power, log_mantissas(product)])
            values = np.sum(terms, axis=0)
            errors = errors[self.factor] + final_errors(terms)
        trusted = self.factors.trusted[self.factor] & self.family.trusted[self.nuisance]
        certain = trusted[:, None] & np.isfinite(values) & np.isfinite(errors)
        return np.where(certain, values, 0.0), np.where(certain, errors, np.inf)


def _log_two_pi_noise(noises: Array, width: int) -> Array:
    r""":math:`\frac q2 \log 2\pi\nu`, rounded once from 128 bits; (F,)."""
    distinct, which = np.unique(noises, return_inverse=True)
    with ctx.workprec(_GUARD_BITS):
        logs = [float((2 * arb.pi() * arb(float(v))).log() * width / 2) for v in distinct]
    return np.array(logs)[which]


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

    is_density: ClassVar[bool] = True

    rows: RowSource
    states: StateFamily
    laws: tuple[CodeLaw, ...]
    noises: Array  # (m,)
    checkpoints: IntArray  # (c,)
    families: tuple[Family, ...]

    @property
    def n_keys(self) -> int:
        """States times nuisances."""
        return self.states.n_states * len(self.laws)

    def log_likelihood(self, keys: IntArray) -> Scores:
        """Prefix log likelihoods of the keys; the rows are read once for each batch of states that fits in memory."""
        keys = check_indices("keys", keys, self.n_keys)
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
        state, nuisance = divmod(int(check_indices("keys", [key], self.n_keys)[0]), len(self.laws))
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
