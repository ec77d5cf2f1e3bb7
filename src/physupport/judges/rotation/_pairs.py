"""Rivals of supports of one or two atoms, from products with single atoms: all pairs of hundreds of places."""

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np
from scipy.special import betainc, chdtrc

from ..._typing import Array, IntArray
from ...laws import in_pieces
from ._block_kernels import count_blocks, screen_blocks
from ._kernels import PAIR_BLOCK, count_pairs, screen_pairs, tail
from ._rows import SCREEN_SHARE, Counts
from ._sequential import LOOK, Looks, looks, never
from ._table import near_together

if TYPE_CHECKING:
    from ._mean import MeanRows

_BATCH = 256
# Of the screen's limit, what pairs that are bounded together may take.
_TOGETHER = 0.1
_STEPS = 4096
# Squared sines of pairs below this are for spans found by singular values.
LEAST_BESIDE = 1e-6


# Products of draws and elements, squared norms, scatter, and of e: products with draws, elements and data.
Drawn = tuple[Array, Array, Array, Array, Array, Array]


class AtomTables(NamedTuple):
    """Products of single columns with each other, filled up to whole blocks (see `count_pairs`)."""

    singles: Array  # (E,)
    gram: Array  # (blocks, E, PAIR_BLOCK)
    inverse: Array  # (blocks, E, PAIR_BLOCK)
    edges: Array  # (blocks, 4, E)
    least: Array  # (3,) energies at which 0, 1 and 2 atoms reach the statistic of the data; inf where none is

    @classmethod
    def of(cls, atoms: Array, pairs: IntArray, alone: IntArray, least: Array) -> "AtomTables":
        """Tabulate unit atoms (E, m), pairs of which the first comes before the second, and single ones."""
        gram = atoms @ atoms.T
        first, second = pairs
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
        edges = np.hstack([ends, np.where(is_any, np.sqrt(1.0 - ends**2), np.inf)])
        return cls(singles, tiles, steep, edges, least)

    @property
    def coordinates(self) -> int:
        """Real coordinates of a pair, at most."""
        return 2

    @property
    def steepest(self) -> float:
        """The largest 1 / (1 - c^2) of a pair of cosine c."""
        return float(self.inverse.max())

    def tails(self, cut: float, freedom: int, *, is_known: bool) -> Array:
        """(2, n + 1) tails of one and of two coordinates of a uniform direction, squared, in equal steps up to cut."""
        grid = np.linspace(0.0, cut, _STEPS + 1)
        single = chdtrc(1, grid) if is_known else betainc(0.5 * (freedom - 1), 0.5, 1.0 - grid)
        return np.stack([single * (1.0 + 1e-9), [tail(u, 2, freedom, is_known) for u in grid.tolist()]])

    def screen(
        self, across: Array, along: Array, slack: float, settings: tuple[float, int, bool, float, float], tails: Array
    ) -> float:
        """A bound of the p-value, see `screen_pairs`."""
        length, freedom, is_known, limit, cut = settings
        least = self.least - 4.0 * slack
        return screen_pairs(along, across, *self[:4], least, length, freedom, is_known, limit, cut, tails)

    def counted(self, drawn: Drawn, sizes: tuple[float, float, float], stops: Looks) -> tuple[int, int]:
        """Exceedances and draws still to come, see `count_pairs`."""
        problem = (*drawn, *sizes, self.least, *self[:4], self.steepest, *stops)
        return count_pairs(*problem)


class ElementTables(NamedTuple):
    """Products of elements of several columns with each other (see `count_blocks`)."""

    shape: tuple[int, ...]  # zeros, one for each column of an element
    factors: Array  # (E, blocks, F, PAIR_BLOCK)
    steepest_of: Array  # (E, blocks)
    coherences: Array  # (E, blocks)
    lowest: Array  # (E, blocks)
    none: float
    single: Array  # (E,)

    @classmethod
    def of(cls, bases: Array, pairs: IntArray, needed: Array, none: float, single: Array) -> "ElementTables":
        """Tabulate orthonormal bases (E, width, m), zeros for further columns; needed: energies of pairs."""
        n_atoms, width, _ = bases.shape
        first, second = pairs
        flat = bases.reshape(n_atoms * width, -1)
        gram = (flat @ flat.T).reshape(n_atoms, width, n_atoms, width)[first, :, second]  # (P, width, width)
        steep = 1.0 / np.maximum(1.0 - np.linalg.norm(gram, 2, axis=(1, 2)) ** 2, 0.5 * LEAST_BESIDE)
        rest = np.eye(width) - gram.swapaxes(1, 2) @ gram
        # Pairs too near for this are not judged in this way, and need no root.
        lower = np.linalg.cholesky(rest + np.where(steep > 1.0 / LEAST_BESIDE, 1.0, 0.0)[:, None, None] * np.eye(width))
        root = np.linalg.inv(lower)
        turned = root @ gram.swapaxes(1, 2)
        rows, columns = np.tril_indices(width)
        table = np.zeros((n_atoms, n_atoms, width * (width + 1) // 2 + width * width + 2))
        table[..., -1] = np.inf
        parts = (root[:, rows, columns], turned.reshape(len(gram), -1), steep[:, None], needed[:, None])
        table[first, second] = np.concatenate(parts, axis=1)
        tiles = np.ascontiguousarray(table.reshape(n_atoms, -1, PAIR_BLOCK, table.shape[-1]).swapaxes(2, 3))
        steepest = np.maximum(tiles[:, :, -2].max(axis=2), 1.0)
        return cls(
            (0,) * width,
            tiles,
            steepest,
            np.sqrt(1.0 - 1.0 / steepest) * (1.0 + 1e-12),
            tiles[:, :, -1].min(axis=2),
            none,
            single,
        )

    @property
    def coordinates(self) -> int:
        """Real coordinates of a pair, at most."""
        return 2 * len(self.shape)

    @property
    def steepest(self) -> float:
        """The largest 1 / (1 - c^2) of a pair, c the cosine of the least angle between both."""
        return float(self.steepest_of.max())

    def tails(self, cut: float, freedom: int, *, is_known: bool) -> Array:
        """(n + 1,) tails of as many coordinates as a pair has, squared, in equal steps up to cut."""
        return np.array(
            [tail(u, self.coordinates, freedom, is_known) for u in np.linspace(0.0, cut, _STEPS + 1).tolist()]
        )

    @property
    def _energies(self) -> tuple[float, Array, Array, Array, Array, Array]:
        return self.none, self.single, *self[1:5]

    def screen(
        self, across: Array, along: Array, slack: float, settings: tuple[float, int, bool, float, float], tails: Array
    ) -> float:
        """A bound of the p-value, see `screen_blocks`."""
        parts = self._blocks(across)
        return float(screen_blocks(parts, along, *self._energies, slack, *settings, tails, self.shape))

    def counted(self, drawn: Drawn, sizes: tuple[float, float, float], stops: Looks) -> tuple[int, int]:
        """Exceedances and draws still to come, see `count_blocks`."""
        products, squares, scatter, inner, across, along = drawn
        sums = squares, scatter, inner
        problem = (self._blocks(products), *sums, self._blocks(across), along, *sizes, *self._energies)
        return count_blocks(*problem, *stops, self.shape)

    def _blocks(self, products: Array) -> Array:
        """(k, blocks, width, PAIR_BLOCK) of products (k, E width)."""
        return products.reshape(len(products), -1, len(self.shape), PAIR_BLOCK)


@final
class Pairs:
    r"""The rival statistic of `Contest` over supports of at most two elements.

    With unit atoms and :math:`x = A^Tz` the fit of a pair is :math:`(x_i^2 + x_k^2 - 2gx_ix_k)/(1 - g^2)`, g = a_i.a_k;
    of elements with several columns see `_block_kernels._fill`.  Draws end at the first of the `looks` that decides.
    """

    def __init__(self, rows: "MeanRows", bases: Array) -> None:
        self.rows = rows
        # Near elements next to each other, so that blocks of them rise together.
        self._order = near_together(bases, PAIR_BLOCK)
        # (E, r, m) beside the background, zeros to fill the last block.
        padded = np.pad(bases[self._order], ((0, -len(bases) % PAIR_BLOCK), (0, 0), (0, 0)))
        self.bases = padded
        # (E r, m) block by block, and in each column by column.
        blocks = padded.reshape(-1, PAIR_BLOCK, *bases.shape[1:]).swapaxes(1, 2)
        self.atoms: Array = np.ascontiguousarray(blocks).reshape(-1, bases.shape[2])
        # Rounding error of an energy over that of a draw, spans included, and of an energy of the data.
        self._unit = float(rows.unit + 32.0 * rows.table.errors.max())
        self._slack = self._unit * (float(rows.vector @ rows.vector) + rows.scatter)
        # (M,) energies at which supports reach the statistic of the data.
        self._needed = rows.contest.least(np.full(rows.table.size, self._slack))
        place = np.zeros(len(bases), dtype=np.int64)
        place[self._order] = np.arange(len(bases))
        members = rows.table.members
        self._sizes = np.array([len(support) for support in members])
        self._pairs = np.sort(place[[support for support in members if len(support) == 2]], axis=1).T
        self._alone = place[[support[0] for support in members if len(support) == 1]]
        self._none = float(self._needed[self._sizes == 0].min(initial=np.inf))
        self.tables = self._element_tables() if bases.shape[1] > 1 else self._atom_tables()

    def _atom_tables(self) -> AtomTables:
        least = np.array([self._needed[self._sizes == size].min(initial=np.inf) for size in range(3)])
        return AtomTables.of(self.atoms, self._pairs, self._alone, least)

    def _element_tables(self) -> ElementTables:
        single = np.full(len(self.bases), np.inf)
        single[self._alone] = self._needed[self._sizes == 1]
        return ElementTables.of(self.bases, self._pairs, self._needed[self._sizes == 2], self._none, single)

    @cached_property
    def products(self) -> Array:
        """(B, r E) of draws and atoms."""
        return self.rows.normals[0] @ self.atoms.T

    def _tails(self, limit: float) -> dict[int, tuple[float, Array]]:
        """By rank: a share of the squared length that few pairs need, and tails in equal steps up to it."""
        is_known = self.rows.own_sigma > 0.0
        tails = {}
        one = _TOGETHER * limit / len(self.bases) ** 2
        for rank in np.unique(self.rows.ranks).tolist():
            freedom = self.rows.freedom - rank
            cut = _share(one, self.tables.coordinates, freedom, is_known=is_known)
            tails[rank] = cut, self.tables.tails(cut, freedom, is_known=is_known)
        return tails

    def counts(self, explanations: IntArray, level: float, *, is_full: bool = False) -> Counts:
        """Count in batches; is_full: nothing is rejected before all draws are made."""
        draws = self.rows.spec.draws
        limit = SCREEN_SHARE * level
        stops = never(draws) if is_full else looks(level * (1.0 - SCREEN_SHARE), draws)
        tails = {} if is_full else self._tails(limit)
        parts = [explanations[start : start + _BATCH] for start in range(0, len(explanations), _BATCH)]
        counted = [np.empty((4, 0)), *(self._counted(part, limit, tails, stops) for part in parts)]
        least, most, bound, made = np.concatenate(counted, axis=1)
        if is_full:
            return Counts(least.astype(np.int64), most.astype(np.int64), bound)
        last = np.maximum(-(-made.astype(np.int64) // LOOK) - 1, 0)
        is_few = least <= stops.few[last]
        number = np.where(is_few, stops.few[last] + 1, stops.many[last])
        # A look decides as all draws would: what counts is how many exceeded until then.
        counts = np.where(made > 0, least, most).astype(np.int64)
        return Counts(counts, counts, bound, number)

    def _counted(
        self,
        explanations: IntArray,
        limit: float,
        tails: dict[int, tuple[float, Array]],
        stops: Looks,
    ) -> Array:
        """(4, k) fewest and most exceedances, bounds of the exact p-values, and the draws made, on threads.

        For the best fit all draws exceed.  No draw is made where the screen rejects; without tails there is no screen.
        """
        rows = self.rows
        bases = rows.bases[explanations]
        ranks = rows.ranks[explanations]
        along = bases @ rows.vector  # (k, l)
        across = bases @ self.atoms.T  # (k, l, E)
        energy = ((rows.vector - np.einsum("kr,krm->km", along, bases)) ** 2).sum(axis=1) + rows.scatter
        is_best = ~((along**2).sum(axis=1) + self._slack < self._needed[explanations])
        draws = rows.spec.draws
        found = np.array([[0.0], [draws], [np.inf], [0.0]]) * np.ones(len(ranks))
        found[0, is_best] = draws
        normals, squares, scatter = rows.normals
        inner = (bases.reshape(-1, bases.shape[2]) @ normals.T).reshape(*bases.shape[:2], -1)  # (k, l, B)
        products = self.products
        is_known = rows.own_sigma > 0.0

        def work(part: slice) -> None:
            for i in np.flatnonzero(~is_best[part]) + part.start:
                rank = int(ranks[i])
                radius = float(np.sqrt(energy[i]))
                if tails:
                    cut, steps = tails[rank]
                    length = rows.own_sigma if is_known else radius
                    settings = (length, rows.freedom - rank, is_known, limit, cut)
                    found[2, i] = self.tables.screen(across[i], along[i], self._slack, settings, steps)
                if not found[2, i] <= limit:
                    drawn = (products, squares, scatter, inner[i], across[i], along[i])
                    sizes = (radius, rows.own_sigma, self._unit)
                    counted, remaining = self.tables.counted(drawn, sizes, stops)
                    found[[0, 1, 3], i] = counted, counted + remaining, draws - remaining

        in_pieces(len(ranks), work)
        return found


def _share(one: float, coordinates: int, freedom: int, *, is_known: bool) -> float:
    """The squared length that so many coordinates of a uniform direction exceed with this probability, or less."""
    low = 0.0
    high = 2.0 * freedom - 4.0 * float(np.log(one)) if is_known else 1.0
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if tail(middle, coordinates, freedom, is_known) <= one else (middle, high)
    return high
