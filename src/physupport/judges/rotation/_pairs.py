"""Rivals of supports of one or two atoms, from products with single atoms: all pairs of hundreds of places."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from ..._typing import Array, IntArray
from ...laws._threads import in_pieces
from ._contest import SCREEN_SHARE, Counts, most_rejected
from ._kernels import tail
from ._pair_kernels import Singles, count_pairs, live_ranges, screen_pairs
from ._table import RotationTable

if TYPE_CHECKING:
    from ._mean import MeanRows

# Of the level: for rejecting what none of the first draws exceeds, and for pairs that no draw is expected to lift.
GLANCE_SHARE, DROP_SHARE = 0.1, 0.005
_BATCH, _FEWEST = 256, 200
# Of the screen's limit, what pairs that are bounded together may take.
_TOGETHER, _STEPS = 0.1, 4096
# Squared sines of pairs below this are for spans found by singular values.
_LEAST_BESIDE = 1e-6


def has_pairs(table: RotationTable) -> bool:
    """Whether this way is open, and shorter: real supports of at most two atoms, most pairs of the atoms among them."""
    sizes = np.array([len(support) for support in table.supports])
    if table.is_complex or sizes.max() != 2 or table.size < _FEWEST or (table.ranks != sizes).any():
        return False
    return bool(8 * table.size >= table.atoms.shape[1] ** 2)


@final
@dataclass(frozen=True, eq=False)  # no slots: products are made when first asked for
class Pairs:
    r"""The rival statistic of `Contest` over supports of at most two atoms.

    With unit atoms and :math:`x = A^Tz` the fit of a pair is :math:`(x_i^2 + x_k^2 - 2gx_ix_k)/(1 - g^2)`, g = a_i.a_k.
    Of the level a share rejects what none of the first n draws exceeds, which has probability 1/(n + 1) under e; and
    pairs may be left out of the draws of e if the chance that any draw lifts one to the statistic is below another.
    """

    rows: "MeanRows"

    @cached_property
    def _order(self) -> IntArray:
        """The atoms used, near ones next to each other, so that blocks of them rise together."""
        used = np.unique([index for support in self.rows.table.supports for index in support]).astype(np.int64)
        left = self.rows.beside(self.rows.table.atoms[:, used])
        unit = left / np.linalg.norm(left, axis=1)[:, None]
        near, order = np.abs(unit @ unit.T), [0]
        is_left = np.ones(len(used), dtype=bool)
        for _ in range(len(used) - 1):
            is_left[order[-1]] = False
            order.append(int(np.where(is_left, near[order[-1]], -1.0).argmax()))
        return used[order]

    @cached_property
    def atoms(self) -> Array:
        """(E, m) of norm 1 beside the background."""
        left = self.rows.beside(self.rows.table.atoms[:, self._order])
        return np.ascontiguousarray(left / np.linalg.norm(left, axis=1)[:, None])

    @cached_property
    def tables(self) -> tuple[Array, Array, Array]:
        """(E, E) products, (E, E) 1 over what one atom leaves of another in pairs of the bank, (E,) 1 for singles."""
        place = np.zeros(self.rows.table.atoms.shape[1], dtype=np.int64)
        place[self._order] = np.arange(len(self._order))
        gram = self.atoms @ self.atoms.T
        inverse, singles = np.zeros_like(gram), np.zeros(len(gram))
        pairs = np.array([support for support in self.rows.table.supports if len(support) == 2])
        alone = np.array([support for support in self.rows.table.supports if len(support) == 1], dtype=np.int64)
        first, second = np.sort(place[pairs], axis=1).T
        inverse[first, second] = 1.0 / (1.0 - gram[first, second] ** 2)
        singles[place[alone.reshape(-1)]] = 1.0
        return gram, inverse, singles

    @cached_property
    def rough(self) -> tuple[Singles, Singles]:
        """The first two in single precision."""
        return self.tables[0].astype(np.float32), self.tables[1].astype(np.float32)

    @property
    def is_safe(self) -> bool:
        """Whether no pair is so nearly parallel that rounding decides."""
        return float(self.tables[1].max()) <= 1.0 / _LEAST_BESIDE

    @cached_property
    def products(self) -> Array:
        """(B, E) of draws and atoms."""
        return self.rows.normals[0] @ self.atoms.T

    def tails(self, cut: float, freedom: int, *, is_known: bool) -> Array:
        """(n + 1,) at least the tails of pairs, of single atoms more so, from 0 to cut in equal steps."""
        key = (cut, freedom)
        if key not in self._known_tails:
            grid = np.linspace(0.0, cut, _STEPS + 1)
            self._known_tails[key] = np.array([tail(u, 2, freedom, is_known) for u in grid.tolist()])
        return self._known_tails[key]

    @cached_property
    def _known_tails(self) -> dict[tuple[float, int], Array]:
        return {}

    @cached_property
    def _unit(self) -> float:
        """Rounding error of an energy over that of a draw, spans included."""
        return float(self.rows.unit + 32.0 * self.rows.table.errors.max())

    @cached_property
    def _whole(self) -> float:
        return float(self.rows.vector @ self.rows.vector) + self.rows.scatter

    @cached_property
    def _least(self) -> Array:
        """(3,) energies at which supports of 0, 1 and 2 atoms reach the statistic of the data; inf where none is."""
        contest, least = self.rows.contest, np.full(3, np.inf)
        needed = contest.least(np.full(len(contest.fits), self._unit * self._whole))
        for size in range(3):
            least[size] = needed[self.rows.ranks == size].min(initial=np.inf)
        return least

    def counts(self, explanations: IntArray, level: float, *, is_full: bool = False) -> Counts:
        """In batches, the explanations of one on threads."""
        number = most_rejected(level * (1.0 - SCREEN_SHARE - GLANCE_SHARE - DROP_SHARE), self.rows.draws)
        parts = [
            self._batch(explanations[i : i + _BATCH], level, number, is_full=is_full)
            for i in range(0, len(explanations), _BATCH)
        ]
        least, most, bound, glanced = np.concatenate([np.empty((4, 0)), *parts], axis=1)
        return Counts(least.astype(np.int64), most.astype(np.int64), bound, number, glanced)

    def _batch(self, explanations: IntArray, level: float, number: int, *, is_full: bool) -> Array:
        """(4, k) least, most, bound and margin of the glance."""
        rows, bases, slack = self.rows, self.rows.bases[explanations], self._unit * self._whole
        along = bases @ rows.vector  # (k, r)
        fits = (along**2).sum(axis=1)
        energy = ((rows.vector - np.einsum("kr,krm->km", along, bases)) ** 2).sum(axis=1) + rows.scatter
        least = self._least
        is_best = ~(fits + slack < least[rows.ranks[explanations]])
        glance = int(1.0 / (GLANCE_SHARE * level))
        glance = rows.draws + 1 if is_full or glance > rows.draws else glance
        found = np.empty((4, len(explanations)))

        def work(part: slice) -> None:
            for i in range(part.start, part.stop):
                found[:, i] = rows.draws, rows.draws, np.inf, -np.inf
                if is_best[i]:
                    continue
                test = _Test(self, bases[i], along[i], least, float(energy[i]), slack)
                bound = np.inf if is_full else test.bound(SCREEN_SHARE * level)
                found[:3, i] = 0, rows.draws, bound
                if bound <= SCREEN_SHARE * level:
                    continue
                stops = (rows.draws + 1, 0, -1) if is_full else (number, number, rows.draws - glance)
                counted, remaining = test.count(self._unit, DROP_SHARE * level / rows.draws, stops)
                found[:2, i] = counted, counted + remaining
                if counted == 0 and remaining <= rows.draws - glance:
                    found[3, i] = np.log(GLANCE_SHARE * level * (glance + 1))

        in_pieces(len(explanations), work)
        return found


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Test:
    """One explanation against all pairs."""

    pairs: Pairs
    basis: Array  # (l, m)
    along: Array  # (l,)
    least: Array  # (3,)
    energy: float
    slack: float

    @property
    def _limits(self) -> tuple[float, int, bool]:
        """The length that a draw is scaled by, its degrees of freedom, and whether the noise is known."""
        rows = self.pairs.rows
        is_known = rows.own_sigma > 0.0
        length = rows.own_sigma if is_known else float(np.sqrt(self.energy))
        return length, rows.freedom - int(self.basis.any(axis=1).sum()), is_known

    def _cut(self, chance: float) -> float:
        """The share of the squared length that one of all pairs needs with at most this chance."""
        _, freedom, is_known = self._limits
        one = chance / len(self.pairs.atoms) ** 2
        return float(-2.0 * np.log(one) if is_known else 1.0 - one ** (1.0 / max(0.5 * freedom - 1.0, 0.5)))

    def bound(self, limit: float) -> float:
        """Of the exact p-value, or inf if it is above limit: first from the fit alone, then from all pairs."""
        length, freedom, is_known = self._limits
        lowered = self.least - 4.0 * self.slack
        if not length > 0.0 or not lowered[0] > 0.0:  # the empty support, whose fit no rotation changes
            return np.inf
        gram, inverse, singles = self.pairs.tables
        fit, total = float(np.sqrt(self.along @ self.along)), 0.0
        for size, count in ((1, singles.sum()), (2, len(singles) ** 2 / 2)):
            need = max(float(np.sqrt(max(lowered[size], 0.0))) * (1.0 - 1e-12) - fit, 0.0)
            total += float(count) * tail((need / length) ** 2, size, freedom, is_known) if count else 0.0
        if total <= limit:
            return total
        across = self.basis @ self.pairs.atoms.T
        cut = self._cut(_TOGETHER * limit)
        tails = self.pairs.tails(cut, freedom, is_known=is_known)
        return float(
            screen_pairs(self.along @ across, across, gram, inverse, singles, lowered, length, limit, cut, tails)
        )

    def count(self, unit: float, chance: float, stops: tuple[int, int, int]) -> tuple[int, int]:
        """Exceedances, and draws still to come; chance: that pairs which are left out reach the statistic in a draw."""
        rows, (gram, inverse, singles) = self.pairs.rows, self.pairs.tables
        normals, squares, scatter = rows.normals
        across = self.basis @ self.pairs.atoms.T
        length = self._limits[0]
        root = float(np.sqrt(max(self.least[2] - 4.0 * self.slack, 0.0))) * (1.0 - 1e-5)
        reach = max(root - np.sqrt(self._cut(chance)) * length, 0.0) ** 2 if stops[2] >= 0 else 0.0
        ranges = live_ranges(self.along @ across, gram, inverse, reach)
        settings = (
            float(np.sqrt(self.energy)),
            rows.own_sigma,
            unit,
            gram,
            inverse,
            *self.pairs.rough,
            ranges,
            *stops,
        )
        own = np.ascontiguousarray(normals @ self.basis.T)
        return count_pairs(
            self.pairs.products, own, squares, scatter, across, self.along, self.least, singles, *settings
        )
