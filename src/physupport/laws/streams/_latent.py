"""The latent-code calibration stream, and its factors that run together: tables prepared once, sums carried on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar, Final, Self, final

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_indices
from ..._compiled import LN2, LOG_ERROR, U, log_mantissas
from ..._errors import MisuseError
from ..._typing import Array, BoolArray, IntArray
from ...banks import States
from ...io import RowSource
from .._codes import CodeLaw
from .._stream import Scores, check_checkpoints
from ._latent_errors import RANGE, Family, Run, final_errors, law_families, log_likelihood_balls, total_errors
from ._latent_kernels import B, Work, add_squares, inner_products, make_work, score_mixed, score_nested
from ._latent_trees import mixed_trees, nested_trees
from ._threads import in_pieces

_GUARD_BITS: Final = 128


# What the row loops need of many latent-code densities: their trees of active sets, and the errors of these.


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
    """The trees of F densities as the row loops take them, and their errors."""

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


@final
@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Keys in the order of their factors, the sums so far, and what these were at each checkpoint."""

    family: Family
    factors: Factors
    elements: Array  # (E, q) whose inner products with the rows are looked at, if there are fewer atoms than entries
    index: IntArray  # (F, d) which of them, or of the entries of a row, each factor looks at
    positions: IntArray  # (k,) where the scores of each key belong
    factor: IntArray  # (k,) increasing
    first_key: IntArray  # (F + 1,)
    nuisance: IntArray  # (k,)
    weights: Array  # (k, sizes), filled up with zeros to a multiple of three, six at least
    reference: Array  # (F, 2) sums of reference exponents, compensated
    product: Array  # (k,) product of the densities without its power of two
    power: IntArray  # (k,)
    noted: tuple[Array, Array, IntArray]  # (F, c), (k, c), (k, c); at checkpoints
    spare: list[Work] = field(default_factory=list)  # of pieces that are done: loops leave it as they need it

    @classmethod
    def prepare(
        cls, family: Family, states: States, state: IntArray, nuisance: IntArray, positions: IntArray, n_notes: int
    ) -> Self:
        """Group keys by (state, noise, variance).  state, nuisance, positions: (k,)."""
        variance = family.variances[nuisance]
        defining = np.stack([state.astype(np.float64), family.noises[nuisance], variance], axis=1)
        distinct, factor = np.unique(defining, axis=0, return_inverse=True)
        factor = factor.reshape(-1)
        order = np.argsort(factor, kind="stable")
        factor = factor[order]
        columns = states.element_index(distinct[:, 0].astype(np.int64))  # (F, n)
        atoms = np.ascontiguousarray(states.elements[:, columns].transpose(1, 0, 2))
        elements, index = _looked_at(states.elements, columns)
        factors = Factors.prepare(family, atoms, distinct[:, 1].copy(), distinct[:, 2].copy())
        first_key = np.searchsorted(factor, np.arange(len(distinct) + 1))
        k = len(factor)
        f = len(distinct)
        notes = (np.zeros((f, n_notes)), np.ones((k, n_notes)), np.zeros((k, n_notes), dtype=np.int64))
        running = (np.zeros((f, 2)), np.ones(k), np.zeros(k, dtype=np.int64))
        nuisance = nuisance[order]
        sizes = family.weights.shape[1]
        weights = np.pad(family.weights[nuisance], ((0, 0), (0, max(6, sizes + -sizes % 3) - sizes)))
        return cls(
            family, factors, elements, index, positions[order], factor, first_key, nuisance, weights, *running, notes
        )

    def advance(self, segment: Array, ends: IntArray, notes: IntArray) -> None:
        """Carry the sums over rows, (q, length), and note what they are at the ends that have a number."""
        f = self.factors
        table = self._coordinates(segment)
        n = self.factors.atoms.shape[2]
        is_nested = self.family.is_nested
        kernel, paths = (score_nested, nested_passes(n)) if is_nested else (score_mixed, self.family.used)

        def score(part: slice) -> None:
            sums = self.reference[part], self.product, self.power
            noted = self.noted[0][part], self.noted[1], self.noted[2]
            work = self._work()
            kernel(
                table, self.index[part], paths, f.directions[part], f.turns[part], f.multipliers[part],
                ends, notes, self.first_key[part.start : part.stop + 1], self.weights, sums, noted, work,
            )  # fmt: skip
            self.spare.append(work)

        in_pieces(len(f.atoms), score)

    def _work(self) -> Work:
        """Work arrays of a piece that is done, or new ones."""
        try:
            return self.spare.pop()
        except IndexError:
            n = self.factors.atoms.shape[2]
            n_lines = (n - 2) * (n + 1) + 1 if self.family.is_nested else 1
            most_keys = int(np.diff(self.first_key).max())
            return make_work(self.factors.directions.shape[2], self.weights.shape[1], n_lines, most_keys)

    def _coordinates(self, segment: Array) -> Array:
        """(C, length) what the densities see of the rows: their entries, or their inner products with fewer atoms."""
        if not len(self.elements):
            return segment
        table = np.empty((len(self.elements), segment.shape[1]))
        in_pieces(len(table), lambda part: inner_products(self.elements[part], segment, table[part]), _LEAST_PRODUCTS)
        return table

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


def _looked_at(elements: Array, columns: IntArray) -> tuple[Array, IntArray]:
    """Elements (E, q) and which of them (F, n) every factor needs; none, and all entries (F, q), if q <= n."""
    q = len(elements)
    (n_factors, n) = columns.shape
    if n >= q:
        return np.empty((0, q)), np.tile(np.arange(q), (n_factors, 1))
    used, index = np.unique(columns, return_inverse=True)
    return np.ascontiguousarray(elements[:, used].T), index.reshape(columns.shape)


def _log_two_pi_noise(noises: Array, width: int) -> Array:
    r""":math:`\frac q2 \log 2\pi\nu`, rounded once from 128 bits; (F,)."""
    distinct, which = np.unique(noises, return_inverse=True)
    with ctx.workprec(_GUARD_BITS):
        logs = [float((2 * arb.pi() * arb(float(v))).log() * width / 2) for v in distinct]
    return np.array(logs)[which]


# Rows that all factors work through before the next are read: small enough to stay in a processor's own memory.
SEGMENT_ROWS: Final = 4096
# Inner products of a segment that are worth a thread: some hundred microseconds.
_LEAST_PRODUCTS: Final = 64
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
    states: States
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
                Batch.prepare(family, self.states, state[chosen], nuisance[chosen], chosen, len(self.checkpoints))
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

    def _parts(self, state: IntArray) -> Iterator[IntArray]:
        """Positions of keys, states together, in batches whose tables have a bounded size."""
        order = np.argsort(state, kind="stable")
        per_state = sum(family.table_size for family in self.families) * min(self.rows.width, self.states.n_atoms)
        # Inner products with the rows of a segment, unless they are few because states share their elements.
        if self.states.n_atoms < self.rows.width and self.states.elements.shape[1] * SEGMENT_ROWS > _TABLE:
            per_state += self.states.n_atoms * SEGMENT_ROWS
        _, start = np.unique(state[order], return_index=True)
        for first in range(0, len(start), max(1, _TABLE // per_state)):
            stop = first + max(1, _TABLE // per_state)
            yield order[start[first] : start[stop] if stop < len(start) else len(order)]


def latent_stream(
    rows: RowSource, states: States, laws: Sequence[CodeLaw], noises: ArrayLike, checkpoints: ArrayLike
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
    """Carry all batches through one reading of the rows, noting their sums at every checkpoint."""
    squares = np.zeros((1, 2))
    noted = []
    n_stretches = 0
    for segment, ends, notes in _segments(rows, checkpoints):
        for batch in batches:
            batch.advance(segment, ends, notes)
        for start, end, note in zip([0, *ends.tolist()], ends.tolist(), notes.tolist(), strict=False):
            add_squares(segment, start, end, squares)
            n_stretches += 1
            if note >= 0:
                noted.append((n_stretches, squares.sum()))
    counts, totals = zip(*noted, strict=True)
    blocks = -(-SEGMENT_ROWS // B)
    return Run(checkpoints, np.array(counts), np.array(totals), rows.width, B, blocks)


def _segments(rows: RowSource, checkpoints: IntArray) -> Iterator[tuple[Array, IntArray, IntArray]]:
    """The rows as columns, (width, length), in equal lengths however they are stored; in each of them the ends of its
    stretches, the last with it, and their numbers among the checkpoints or -1.
    """
    last = int(checkpoints[-1])
    numbers = {end: i for i, end in enumerate(checkpoints.tolist())}
    buffer = np.empty((rows.width, min(last, SEGMENT_ROWS)))
    filled = 0
    done = 0
    for block in rows.blocks():
        start = 0
        while start < len(block) and done < last:
            take = min(buffer.shape[1] - filled, last - done, len(block) - start)
            buffer[:, filled : filled + take] = block[start : start + take].T
            start = start + take
            filled = filled + take
            done = done + take
            if filled == buffer.shape[1] or done == last:
                ends = sorted({end for end in numbers if done - filled < end <= done} | {done})
                notes = np.array([numbers.get(end, -1) for end in ends])
                yield np.ascontiguousarray(buffer[:, :filled]), np.array(ends) - (done - filled), notes
                filled = 0
        if done == last:
            return
