r"""Residuals of a signal beside atoms whose places are known up to runs of pieces.

Rows are :math:`Z = A X + \sigma E`, one column a row, with atoms A at places in given runs, coefficients X that may be
anything, and white noise.  Q projects on what is beside A.  For a direction b that was fixed before Z was read,

.. math:: F(A) = \frac{|b^TQZ|^2/|Qb|^2/T}{(|QZ|^2 - |b^TQZ|^2/|Qb|^2)/T(q - r - 1)}

has the law of Fisher's F with :math:`\beta T` and :math:`\beta T(q - r - 1)` degrees of freedom, whatever X and
:math:`\sigma` are; :math:`\beta` is 1 of real rows, and 2 of complex ones in circular noise, where T is a conjugate
transpose.  It is large where Z has something along b that A does not explain.

Over a whole node of pieces F is bounded from below.  With :math:`A = A_0 + \Delta`, columns of :math:`\Delta` no longer
than :math:`\eta_c`, :math:`w = A_0^+b`, :math:`X_0 = A_0^+Z`, :math:`\omega = \sum\eta_c|w_c|`,
:math:`\lambda = \sum\eta_c|X_{0,c}|` and :math:`\epsilon = |\Delta|/(\sigma_{min}(A_0) - |\Delta|)`:
:math:`QZ = Q(Q_0Z - \Delta X_0)` and :math:`Qb = Q(Q_0b - \Delta w)`, so that :math:`|Qb| \le |Q_0b| + \omega`,
:math:`|QZ|_F \le |Q_0Z|_F + \lambda`, and :math:`|b^TQZ|` is at least
:math:`|b^TQ_0Z| - |Q_0b|\lambda - \omega(|Q_0Z| + \lambda) - \epsilon^2|Q_0b||Q_0Z|`.
A node that this does not reject is cut in halves, until a place of it is not rejected, or all are.

F depends on the span of A alone.  Two atoms of one run may be as near to each other as one likes, so that their columns
are the response u at one of their places and the chord :math:`c = \int_0^1u'(\theta_1 + t(\theta_2 - \theta_1))dt`,
which has a limit where the places meet, and of which the error is at most
:math:`\tfrac B2(|d\theta_1| + |d\theta_2|)`, with B a bound of :math:`|u''|`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import inf, prod, sqrt
from typing import Final, Self, TypeAlias, final

import numpy as np
from scipy.stats import f as f_law

from ..._typing import Array, Field, IntArray
from ._places import Component, Pieces

# Nodes that a search asks about; what is open then stays possible.
MOST_NODES: Final = 3000
# Ways to share atoms among components that are tried, and that are written out to find these.
_MOST_WAYS: Final = 100
_MOST_WRITTEN: Final = 20_000
# More than all rounding of projections and sums, as a part of the energy of the rows.
_ROUNDING: Final = 1e-12


@final
@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """Pieces in the order of their places, from one to another, in which one atom lies."""

    pieces: Pieces
    columns: Field  # (q, 1) of a piece near the middle
    radii: Array  # (1,) how far the response at any place of the node is from it at most

    @classmethod
    def of(cls, pieces: Pieces) -> Self:
        """The node of some pieces."""
        centre = 0.5 * (pieces.low.min(axis=0) + pieces.high.max(axis=0))
        middle = int(np.argmin(np.linalg.norm(pieces.middles - centre, axis=1)))
        return cls(pieces, pieces.columns[:, [middle]], np.array([_reach(pieces, middle)]))

    def halves(self) -> "tuple[Node, ...]":
        """Both halves along the longest side; none of a single piece."""
        count = len(self.pieces.radii)
        if count == 1:
            return ()
        k = int(np.argmax(np.ptp(self.pieces.middles, axis=0)))
        order = np.argsort(self.pieces.middles[:, k], kind="stable")
        return Node.of(self.pieces.chosen(order[: count // 2])), Node.of(self.pieces.chosen(order[count // 2 :]))


@final
@dataclass(frozen=True, slots=True, eq=False)
class PairNode:
    """Two atoms of one run on a line, the first in some of its pieces and the second in some others, or the same."""

    pieces: Pieces  # of the whole run, in the order of their places
    bend: float
    first: tuple[int, int]
    second: tuple[int, int]
    columns: Field  # (q, 2) the response at a place of the first, and a chord, both of norm 1
    radii: Array  # (2,)

    @classmethod
    def of(cls, pieces: Pieces, bend: float, first: tuple[int, int], second: tuple[int, int]) -> Self:
        """The node of pieces by their numbers, from the first on and before the second."""
        i = (first[0] + first[1] - 1) // 2
        j = (second[0] + second[1] - 1) // 2
        if i == j:
            j += 1 if j + 1 < len(pieces.radii) else -1
        places = pieces.middles[:, 0]
        moves = sum(
            max(float(places[k] - pieces.low[begin, 0]), float(pieces.high[end - 1, 0] - places[k]))
            for k, (begin, end) in ((i, first), (j, second))
        )
        chord = (pieces.columns[:, j] - pieces.columns[:, i]) / (places[j] - places[i])
        length = float(np.linalg.norm(chord))
        columns = np.column_stack([pieces.columns[:, i], chord / length])
        own = pieces.chosen(np.arange(*first))
        return cls(
            pieces, bend, first, second, columns, np.array([_reach(own, i - first[0]), 0.5 * bend * moves / length])
        )

    def halves(self) -> "tuple[PairNode, ...]":
        """Both halves of the longer range of pieces, without pairs that stand in another order elsewhere."""
        is_first = self.first[1] - self.first[0] >= self.second[1] - self.second[0]
        low, high = self.first if is_first else self.second
        if high - low == 1:
            return ()
        middle = (low + high) // 2
        parts = [(low, middle), (middle, high)]
        pairs = [(part, self.second) if is_first else (self.first, part) for part in parts]
        return tuple(PairNode.of(self.pieces, self.bend, *pair) for pair in pairs if pair[1][1] > pair[0][0])


AnyNode: TypeAlias = Node | PairNode


def _reach(pieces: Pieces, middle: int) -> float:
    """Bound the distance of responses in the pieces from the response of one of them."""
    moves = np.linalg.norm(pieces.columns - pieces.columns[:, [middle]], axis=0) + pieces.radii
    return float(moves.max())


def nodes_of(component: Component, count: int) -> tuple[AnyNode, ...]:
    """Some atoms of a component, wherever in it they lie."""
    pieces = component.pieces
    if count == 2 and component.bend > 0.0 and len(pieces.radii) > 1:
        whole = (0, len(pieces.radii))
        return (PairNode.of(pieces, component.bend, whole, whole),)
    return (Node.of(pieces),) * count


def allocations(capacities: Sequence[int], most: int) -> list[tuple[int, ...]]:
    """All ways to share atoms among components, as many as these hold and at most `most` together.

    Where they are too many, one that fills every component: more atoms leave no more of the rows.
    """
    filled = min(most, sum(capacities))
    if prod(1 + each for each in capacities) > _MOST_WRITTEN:
        return [tuple(capacities)]
    ways = [way for way in product(*(range(1 + each) for each in capacities)) if sum(way) == filled]
    return ways if len(ways) <= _MOST_WAYS else [tuple(capacities)]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """A signal as its second moment, and what its noise leaves of degrees of freedom."""

    moment: Field  # (q, q) Z Z^T
    n_columns: int  # T, or 1 of rows that share a mean
    scatter: float  # energy of the rows about their mean, if they share one
    scatter_freedom: int
    background: Field  # (q, b) columns that are always there

    @property
    def parts(self) -> int:
        """Real numbers in an entry of the rows."""
        return 2 if np.iscomplexobj(self.moment) else 1

    def is_rejected(self, nodes: tuple[AnyNode, ...], b: Field, quantile: "Quantile") -> bool:
        """True if, at all places of the nodes, the rows have more along b than F allows."""
        atoms = sum(len(node.radii) for node in nodes) + self.background.shape[1]
        freedom = self.n_columns * (len(self.moment) - atoms - 1)
        threshold = quantile(self.parts * self.n_columns, self.parts * (freedom + self.scatter_freedom))
        pending = [tuple(nodes)]
        asked = 0
        while pending:
            state = pending.pop()
            asked += 1
            lower, at_point, widest = self._bounds(state, b)
            if lower > threshold:
                continue
            if at_point <= threshold or asked >= MOST_NODES:
                return False
            for number in widest:
                if parts := state[number].halves():
                    break
            else:
                return False
            pending += [(*state[:number], part, *state[number + 1 :]) for part in parts]
        return True

    def _bounds(self, state: tuple[AnyNode, ...], b: Field) -> tuple[float, float, IntArray]:
        """A lower bound of F over the nodes, F at their middles, and the nodes in the order of what they lose."""
        atoms = np.column_stack([*(node.columns for node in state), self.background])
        radii = np.concatenate([*(node.radii for node in state), np.zeros(self.background.shape[1])])
        owners = np.repeat(np.arange(len(state)), [len(node.radii) for node in state])
        q = len(self.moment)
        freedom = self.n_columns * (q - atoms.shape[1] - 1) + self.scatter_freedom
        by_size = _in_order(owners, radii)
        if freedom <= 0 or atoms.shape[1] >= q - 1:
            return -inf, -inf, by_size
        left, sizes, right = np.linalg.svd(atoms, full_matrices=False)
        if atoms.shape[1] and sizes[-1] <= 1e-9 * sizes[0]:
            return -inf, inf, by_size
        inverse = (right.conj().T / sizes) @ left.conj().T if atoms.shape[1] else np.zeros((0, q))
        beside = np.eye(q) - left @ left.conj().T
        residual = beside @ self.moment @ beside
        beyond = beside @ b
        length = float(np.linalg.norm(beyond))
        total = float(np.trace(residual).real)
        rounding = _ROUNDING * float(np.trace(self.moment).real)
        along = sqrt(max(float((beyond.conj() @ residual @ beyond).real), 0.0))
        codes = np.sqrt(np.maximum(np.einsum("cq,qp,cp->c", inverse, self.moment, inverse.conj()).real, 0.0))
        point = self._ratio(along / length if length > 1e-9 else 0.0, sqrt(max(total, 0.0)), freedom)
        lost = radii * codes
        omega = float(radii @ np.abs(inverse @ b))
        lam = float(lost.sum())
        moved = sqrt(float(radii @ radii))
        order = _in_order(owners, lost)
        if atoms.shape[1] and moved >= sizes[-1]:
            return -inf, point, order
        epsilon = moved / (float(sizes[-1]) - moved) if atoms.shape[1] else 0.0
        norm = sqrt(max(float(np.linalg.eigvalsh(residual)[-1]), 0.0) + rounding)
        least = sqrt(max(along**2 - rounding, 0.0)) - length * (lam + epsilon**2 * norm) - omega * (norm + lam)
        if least <= 0.0:
            return -inf, point, order
        lower = self._ratio(least / (length + omega), sqrt(max(total, 0.0) + rounding) + lam, freedom)
        return lower, point, order

    def _ratio(self, along: float, size: float, freedom: int) -> float:
        rest = size**2 - along**2 + self.scatter
        return (along**2 / self.n_columns) / (rest / freedom) if rest > 0.0 else inf


@final
@dataclass(frozen=True, slots=True)
class Quantile:
    """Upper quantiles of Fisher's F at one level."""

    level: float

    def __call__(self, first: int, second: int) -> float:
        """The value that F with these degrees of freedom exceeds with probability at most the level."""
        return _quantile(self.level, first, second)


@lru_cache(maxsize=1024)
def _quantile(level: float, first: int, second: int) -> float:
    return float(f_law.isf(level, first, second)) * (1.0 + 1e-9) if second > 0 else inf


def _in_order(owners: IntArray, sizes: Array) -> IntArray:
    """Nodes, the one with the largest sum first."""
    return np.asarray(np.argsort(-np.bincount(owners, sizes[: len(owners)]), kind="stable"))
