"""Rivals of supports of one or two atoms, from products with single atoms: all pairs of hundreds of places."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np
from scipy.special import betainc, chdtrc

from ..._typing import Array, BoolArray, IntArray
from ...laws import in_pieces
from ._kernels import PAIR_BLOCK, count_pairs, screen_pairs, tail
from ._rows import SCREEN_SHARE, Counts, most_rejected
from ._table import RotationTable, near_together

if TYPE_CHECKING:
    from ._mean import MeanRows

# Of the level: for rejecting what none of the first draws exceeds.
GLANCE_SHARE = 0.1
_BATCH = 256
_FEWEST = 200
# Of the screen's limit, what pairs that are bounded together may take.
_TOGETHER = 0.1
_STEPS = 4096
# Squared sines of pairs below this are for spans found by singular values.
_LEAST_BESIDE = 1e-6


def has_pairs(table: RotationTable) -> bool:
    """True if this way is open, and shorter: real supports of at most two atoms, most pairs of the atoms among them."""
    sizes = np.array([len(support) for support in table.supports])
    if table.is_complex or sizes.max() != 2 or table.size < _FEWEST or (table.ranks != sizes).any():
        return False
    return bool(8 * table.size >= table.atoms.shape[1] ** 2)


class Tables(NamedTuple):
    """Products of the atoms with each other, atoms filled up to whole blocks (see `count_pairs`)."""

    singles: Array  # (E,)
    gram: Array  # (blocks, E, PAIR_BLOCK)
    inverse: Array  # (blocks, E, PAIR_BLOCK)
    edges: Array  # (blocks, 4, E)

    @classmethod
    def of(cls, atoms: Array, first: IntArray, second: IntArray, alone: IntArray) -> "Tables":
        """Tabulate unit atoms (E, m), pairs of which the first comes before the second, and single ones."""
        gram = atoms @ atoms.T
        inverse = np.zeros((len(atoms), len(atoms)))
        inverse[first, second] = 1.0 / (1.0 - gram[first, second] ** 2)
        singles = np.zeros(len(atoms))
        singles[alone] = 1.0
        tiles, steep = (
            np.ascontiguousarray(table.reshape(len(atoms), -1, PAIR_BLOCK).swapaxes(0, 1)) for table in (gram, inverse)
        )
        lowest = np.where(steep > 0.0, tiles, np.inf).min(axis=2)  # (blocks, E)
        highest = np.where(steep > 0.0, tiles, -np.inf).max(axis=2)
        ends = np.stack([lowest, highest], axis=1)
        is_any = np.isfinite(ends)
        ends = np.where(is_any, ends, 0.0)
        return cls(singles, tiles, steep, np.hstack([ends, np.where(is_any, np.sqrt(1.0 - ends**2), np.inf)]))


class _Batch(NamedTuple):
    """Explanations at a time: their bases (k, l, m), and what the rows and the atoms have of them."""

    bases: Array
    ranks: IntArray
    along: Array  # (k, l)
    across: Array  # (k, l, E)
    energy: Array  # (k,)
    is_best: BoolArray  # (k,)


@final
@dataclass(frozen=True, eq=False)  # no slots: products are made when first asked for
class Pairs:
    r"""The rival statistic of `Contest` over supports of at most two atoms.

    With unit atoms and :math:`x = A^Tz` the fit of a pair is :math:`(x_i^2 + x_k^2 - 2gx_ix_k)/(1 - g^2)`, g = a_i.a_k.
    Of the level a share rejects what none of the first n draws exceeds, which has probability 1/(n + 1) under e.
    """

    rows: "MeanRows"

    @cached_property
    def _order(self) -> IntArray:
        """The atoms used, near ones next to each other, so that blocks of them rise together."""
        used = np.unique([index for support in self.rows.table.supports for index in support]).astype(np.int64)
        left = self.rows.beside(self.rows.table.atoms[:, used])
        unit = left / np.linalg.norm(left, axis=1)[:, None]
        return used[near_together(unit[:, None], PAIR_BLOCK)]

    @cached_property
    def atoms(self) -> Array:
        """(E, m) of norm 1 beside the background, zeros to fill the last block."""
        left = self.rows.beside(self.rows.table.atoms[:, self._order])
        return np.pad(left / np.linalg.norm(left, axis=1)[:, None], ((0, -len(left) % PAIR_BLOCK), (0, 0)))

    @cached_property
    def tables(self) -> Tables:
        """The products of the atoms of the supports."""
        place = np.zeros(self.rows.table.atoms.shape[1], dtype=np.int64)
        place[self._order] = np.arange(len(self._order))
        pairs = np.array([support for support in self.rows.table.supports if len(support) == 2])
        alone = np.array([support for support in self.rows.table.supports if len(support) == 1], dtype=np.int64)
        first, second = np.sort(place[pairs], axis=1).T
        return Tables.of(self.atoms, first, second, place[alone.reshape(-1)])

    @cached_property
    def _steepest(self) -> float:
        return float(self.tables.inverse.max())

    @property
    def is_safe(self) -> bool:
        """True if no pair is so nearly parallel that rounding decides."""
        return self._steepest <= 1.0 / _LEAST_BESIDE

    @cached_property
    def products(self) -> Array:
        """(B, E) of draws and atoms."""
        return self.rows.normals[0] @ self.atoms.T

    def _tails(self, limit: float) -> dict[int, tuple[float, Array]]:
        """By rank: a share of the squared length that few pairs need, and tails (2, n + 1) in equal steps up to it.

        These are of one and of two coordinates of a uniform direction, squared.
        """
        is_known = self.rows.own_sigma > 0.0
        tails = {}
        one = _TOGETHER * limit / len(self.atoms) ** 2
        for rank in np.unique(self.rows.ranks).tolist():
            freedom = self.rows.freedom - rank
            cut = float(-2.0 * np.log(one) if is_known else 1.0 - one ** (1.0 / max(0.5 * freedom - 1.0, 0.5)))
            grid = np.linspace(0.0, cut, _STEPS + 1)
            single = chdtrc(1, grid) if is_known else betainc(0.5 * (freedom - 1), 0.5, 1.0 - grid)
            double = [tail(u, 2, freedom, is_known) for u in grid.tolist()]
            tails[rank] = cut, np.stack([single * (1.0 + 1e-9), double])
        return tails

    @cached_property
    def _unit(self) -> float:
        """Rounding error of an energy over that of a draw, spans included."""
        return float(self.rows.unit + 32.0 * self.rows.table.errors.max())

    @cached_property
    def _slack(self) -> float:
        """Rounding error of an energy of the data."""
        return self._unit * (float(self.rows.vector @ self.rows.vector) + self.rows.scatter)

    @cached_property
    def _least(self) -> Array:
        """(3,) energies at which supports of 0, 1 and 2 atoms reach the statistic of the data; inf where none is."""
        contest = self.rows.contest
        least = np.full(3, np.inf)
        needed = contest.least(np.full(len(contest.fits), self._slack))
        for size in range(3):
            least[size] = needed[self.rows.ranks == size].min(initial=np.inf)
        return least

    def counts(self, explanations: IntArray, level: float, *, is_full: bool = False) -> Counts:
        """In batches, the explanations of one on threads; is_full: nothing is rejected before all draws are made."""
        draws = self.rows.spec.draws
        limit = SCREEN_SHARE * level
        number = most_rejected(level * (1.0 - SCREEN_SHARE - GLANCE_SHARE), draws)
        glance = int(1.0 / (GLANCE_SHARE * level))
        stops = (draws + 1, 0, -1) if is_full else (number, number, draws - glance if glance <= draws else -1)
        counted = np.empty((4, len(explanations)))
        tails = {} if is_full else self._tails(limit)
        for start in range(0, len(explanations), _BATCH):
            part = slice(start, start + _BATCH)
            batch = self._batch(explanations[part])
            bound = np.full(len(batch.energy), np.inf) if is_full else self._screened(batch, limit, tails)
            counted[0, part], counted[1, part] = self._counted(batch, ~batch.is_best & ~(bound <= limit), stops)
            counted[1, part] = np.where(bound <= limit, draws, counted[1, part])
            counted[2, part] = bound
        is_seen = (counted[0] == 0) & (counted[2] > limit) & (counted[1] <= stops[2])
        counted[3] = np.where(is_seen, np.log(GLANCE_SHARE * level * (glance + 1)), -np.inf)
        return Counts(counted[0].astype(np.int64), counted[1].astype(np.int64), counted[2], number, counted[3])

    def _batch(self, explanations: IntArray) -> _Batch:
        rows = self.rows
        bases = self.rows.bases[explanations]
        ranks = self.rows.ranks[explanations]
        along = bases @ rows.vector
        energy = ((rows.vector - np.einsum("kr,krm->km", along, bases)) ** 2).sum(axis=1) + rows.scatter
        is_best = ~((along**2).sum(axis=1) + self._slack < self._least[ranks])
        return _Batch(bases, ranks, along, bases @ self.atoms.T, energy, is_best)

    def _screened(self, batch: _Batch, limit: float, tails: dict[int, tuple[float, Array]]) -> Array:
        """(k,) bounds of the exact p-values; inf beyond the limit."""
        rows = self.rows
        bounds = np.full(len(batch.energy), np.inf)
        is_known = rows.own_sigma > 0.0
        lowered = self._least - 4.0 * self._slack

        def work(part: slice) -> None:
            for i in np.flatnonzero(~batch.is_best[part]) + part.start:
                rank = int(batch.ranks[i])
                radius = rows.own_sigma if is_known else float(np.sqrt(batch.energy[i]))
                basis = (batch.along[i], batch.across[i])
                freedom = rows.freedom - rank
                (cut, steps) = tails[rank]
                bounds[i] = screen_pairs(
                    *basis, *self.tables, lowered, radius, freedom, is_known=is_known, limit=limit, cut=cut, tails=steps
                )

        in_pieces(len(bounds), work)
        return bounds

    def _counted(self, batch: _Batch, is_open: BoolArray, stops: tuple[int, int, int]) -> Array:
        """(2, k) least and most exceedances: all draws of what fits best, and none that were not asked for."""
        rows = self.rows
        exceedances = np.zeros((2, len(is_open)))
        exceedances[:, batch.is_best] = rows.spec.draws
        chosen = np.flatnonzero(is_open)
        normals, squares, scatter = rows.normals
        inner = batch.bases[chosen] @ normals.T  # (k, l, B)

        def work(part: slice) -> None:
            for i in range(part.start, part.stop):
                e = chosen[i]
                drawn = (self.products, squares, scatter, inner[i], batch.across[e], batch.along[e])
                sizes = (float(np.sqrt(batch.energy[e])), rows.own_sigma, self._unit, self._least)
                counted, remaining = count_pairs(*drawn, *sizes, *self.tables, self._steepest, *stops)
                exceedances[:, e] = counted, counted + remaining

        in_pieces(len(chosen), work)
        return exceedances
