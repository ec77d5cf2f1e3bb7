"""Rivals of supports of one or two atoms, from products with single atoms: all pairs of hundreds of places."""

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np
from scipy.special import betainc, chdtrc

from ..._typing import Array, IntArray
from ...laws import in_pieces
from ._kernels import PAIR_BLOCK, count_pairs, screen_pairs, tail
from ._rows import SCREEN_SHARE, Counts, most_rejected
from ._table import near_together

if TYPE_CHECKING:
    from ._mean import MeanRows

# Of the level: for rejecting what none of the first draws exceeds.
GLANCE_SHARE = 0.1
_BATCH = 256
# Of the screen's limit, what pairs that are bounded together may take.
_TOGETHER = 0.1
_STEPS = 4096
# Squared sines of pairs below this are for spans found by singular values.
_LEAST_BESIDE = 1e-6


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


@final
class Pairs:
    r"""The rival statistic of `Contest` over supports of at most two atoms.

    With unit atoms and :math:`x = A^Tz` the fit of a pair is :math:`(x_i^2 + x_k^2 - 2gx_ix_k)/(1 - g^2)`, g = a_i.a_k.
    Of the level a share rejects what none of the first n draws exceeds, which has probability 1/(n + 1) under e.
    """

    def __init__(self, rows: "MeanRows") -> None:
        self.rows = rows
        table = rows.table
        used = np.unique([index for support in table.supports for index in support]).astype(np.int64)
        left = rows.beside(table.atoms[:, used])
        unit = left / np.linalg.norm(left, axis=1)[:, None]
        # The atoms used, near ones next to each other, so that blocks of them rise together.
        order = used[near_together(unit[:, None], PAIR_BLOCK)]
        left = rows.beside(table.atoms[:, order])
        # (E, m) of norm 1 beside the background, zeros to fill the last block.
        missing = ((0, -len(left) % PAIR_BLOCK), (0, 0))
        self.atoms: Array = np.pad(left / np.linalg.norm(left, axis=1)[:, None], missing)
        place = np.zeros(table.atoms.shape[1], dtype=np.int64)
        place[order] = np.arange(len(order))
        pairs = np.array([support for support in table.supports if len(support) == 2])
        alone = np.array([support for support in table.supports if len(support) == 1], dtype=np.int64)
        first, second = np.sort(place[pairs], axis=1).T
        self.tables = Tables.of(self.atoms, first, second, place[alone.reshape(-1)])
        self._steepest = float(self.tables.inverse.max())
        # Rounding error of an energy over that of a draw, spans included, and of an energy of the data.
        self._unit = float(rows.unit + 32.0 * table.errors.max())
        self._slack = self._unit * (float(rows.vector @ rows.vector) + rows.scatter)
        # (3,) energies at which supports of 0, 1 and 2 atoms reach the statistic of the data; inf where none is.
        needed = rows.contest.least(np.full(table.size, self._slack))
        self._least = np.array([needed[rows.ranks == size].min(initial=np.inf) for size in range(3)])

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

    def counts(self, explanations: IntArray, level: float, *, is_full: bool = False) -> Counts:
        """Count in batches; is_full: nothing is rejected before all draws are made."""
        draws = self.rows.spec.draws
        limit = SCREEN_SHARE * level
        number = most_rejected(level * (1.0 - SCREEN_SHARE - GLANCE_SHARE), draws)
        glance = int(1.0 / (GLANCE_SHARE * level))
        stops = (draws + 1, 0, -1) if is_full else (number, number, draws - glance if glance <= draws else -1)
        tails = {} if is_full else self._tails(limit)
        parts = [explanations[start : start + _BATCH] for start in range(0, len(explanations), _BATCH)]
        counted = [np.empty((3, 0)), *(self._counted(part, limit, tails, stops) for part in parts)]
        least, most, bound = np.concatenate(counted, axis=1)
        is_seen = (least == 0) & (bound > limit) & (most <= stops[2])
        glanced = np.where(is_seen, np.log(GLANCE_SHARE * level * (glance + 1)), -np.inf)
        return Counts(least.astype(np.int64), most.astype(np.int64), bound, number, glanced)

    def _counted(
        self,
        explanations: IntArray,
        limit: float,
        tails: dict[int, tuple[float, Array]],
        stops: tuple[int, int, int],
    ) -> Array:
        """(3, k) fewest and most exceedances, and bounds of the exact p-values, on threads.

        For the best fit all draws exceed.  No draw is made where the screen rejects; without tails there is no screen.
        """
        rows = self.rows
        bases = rows.bases[explanations]
        ranks = rows.ranks[explanations]
        along = bases @ rows.vector  # (k, l)
        across = bases @ self.atoms.T  # (k, l, E)
        energy = ((rows.vector - np.einsum("kr,krm->km", along, bases)) ** 2).sum(axis=1) + rows.scatter
        is_best = ~((along**2).sum(axis=1) + self._slack < self._least[ranks])
        draws = rows.spec.draws
        found = np.array([[0.0], [draws], [np.inf]]) * np.ones(len(ranks))
        found[0, is_best] = draws
        normals, squares, scatter = rows.normals
        products = self.products
        is_known = rows.own_sigma > 0.0
        lowered = self._least - 4.0 * self._slack

        def work(part: slice) -> None:
            for i in np.flatnonzero(~is_best[part]) + part.start:
                rank = int(ranks[i])
                radius = float(np.sqrt(energy[i]))
                if tails:
                    cut, steps = tails[rank]
                    length = rows.own_sigma if is_known else radius
                    freedom = rows.freedom - rank
                    problem = (along[i], across[i], *self.tables, lowered, length, freedom)
                    found[2, i] = screen_pairs(*problem, is_known=is_known, limit=limit, cut=cut, tails=steps)
                if not found[2, i] <= limit:
                    drawn = (products, squares, scatter, bases[i] @ normals.T, across[i], along[i])
                    sizes = (radius, rows.own_sigma, self._unit, self._least)
                    counted, remaining = count_pairs(*drawn, *sizes, *self.tables, self._steepest, *stops)
                    found[:2, i] = counted, counted + remaining

        in_pieces(len(ranks), work)
        return found
