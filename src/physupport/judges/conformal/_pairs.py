r"""Ranks of a signal among mixtures of two elements.

The signal is a spectrum of the first element plus one of the second, each from a new unit, in any proportion.  With
:math:`x_s` and :math:`y_t` of norm 1, a mixture at :math:`\varphi` is :math:`x_s\cos\varphi + y_t\sin\varphi`, and its
score the angle to the nearest mixture of references, spectra of the own units left out.

Units that hold both elements are exchangeable with the new one as a whole: their own mixtures are ranked,
:math:`p = (1 + \#) / (n + 1)`.  Elements without a unit in common have new units each of its own.  All
:math:`(n_1 + 1)(n_2 + 1)` pairs of units are then exchangeable, and :math:`n_1 + n_2` of them have one new unit, whose
spectrum is not seen by itself: counted as if they lay farther than the signal,
:math:`p = (n_1 + n_2 + 1 + \#) / ((n_1 + 1)(n_2 + 1))`.  References that are not seen would make scores smaller, never
larger, so both can only keep.  The proportion is not known: the largest p-value over all of them counts.

How far mixtures of replicates lie from references does not depend on the signal.  So the p-value is a step function of
the angle of the signal, and its steps are computed once for all signals (`PairRanks`).
"""

from dataclasses import dataclass
from fractions import Fraction
from math import acos, lcm
from typing import NamedTuple, final

import numpy as np

from ..._compiled import cached_njit
from ..._typing import Array, IntArray
from ._replicates import Replicates

# Proportions between which angles are bounded: a mixture turns by less than half a cell from the middle of its own.
_CELLS = 64


@final
@dataclass(frozen=True, slots=True)
class PairUnits:
    """Pairs of units that two elements are ranked among, and the smallest p-value that there is with these."""

    pairs: tuple[tuple[int, int], ...]
    counts: tuple[int, ...]  # of units of both, or of those that hold both
    extra: int  # pairs that count as exceedances whatever the signal
    total: int

    @classmethod
    def of(cls, data: Replicates, elements: tuple[int, int]) -> "PairUnits":
        """Units that hold both elements, or else all pairs of their units."""
        first, second = (np.unique(data.unit_of[data.element_of == e]) for e in elements)
        common = np.intersect1d(first, second).tolist()
        if common:
            return cls(tuple((unit, unit) for unit in common), (len(common),), 1, len(common) + 1)
        counts = (len(first), len(second))
        pairs = tuple((k, m) for k in first.tolist() for m in second.tolist())
        return cls(pairs, counts, sum(counts) + 1, (counts[0] + 1) * (counts[1] + 1))

    @property
    def smallest(self) -> Fraction:
        """The p-value of a signal that lies farther than all of them."""
        return Fraction(self.extra, self.total)


class PairRanks(NamedTuple):
    """The tables that all signals share under two elements."""

    first: IntArray  # numbers of the spectra of the first element
    second: IntArray
    between: Array  # (S1, S2) their cosines
    nearness: Array  # (n,) rising, less than 0: the angles up to which p-values are larger than the smallest
    p_values: tuple[Fraction, ...]  # (n + 1,) the smallest first

    @classmethod
    def of(cls, data: Replicates, elements: tuple[int, int], among: PairUnits) -> "PairRanks":
        """Rank the mixtures of all pairs of spectra from listed units, in every cell of proportions."""
        first, second = (np.flatnonzero(data.element_of == e) for e in elements)
        between = data.references[first] @ data.references[second].T
        chosen = [
            (s, t)
            for k, m in among.pairs
            for s in np.flatnonzero(data.unit_of[first] == k).tolist()
            for t in np.flatnonzero(data.unit_of[second] == m).tolist()
        ]
        units = (data.unit_of[first], data.unit_of[second])
        sizes = [int((units[0] == units[0][s]).sum() * (units[1] == units[1][t]).sum()) for s, t in chosen]
        angles = _mixture_angles(
            data.references[first] @ data.references[first].T,
            between,
            data.references[second] @ data.references[second].T,
            *units,
            np.array(chosen),
            _CELLS,
        )
        whole = lcm(*sizes)
        is_small = whole * len(sizes) < 2**62
        weights = np.array([whole // size for size in sizes], dtype=np.int64 if is_small else object)
        order = np.argsort(-angles, axis=0, kind="stable")
        farthest = np.take_along_axis(angles, order, axis=0).ravel()
        counts = weights[order].cumsum(axis=0).ravel()  # of the cell, at least as far
        falling = np.argsort(-farthest, kind="stable")
        largest = np.maximum.accumulate(counts[falling])
        steps = np.flatnonzero(np.append(True, largest[1:] > largest[:-1]))
        shares = [Fraction(0), *(Fraction(int(each), whole) for each in largest[steps])]
        p_values = tuple((among.extra + share) / among.total for share in shares)
        return cls(first, second, between, -farthest[falling][steps], p_values)

    def p_value(self, cosines: Array, tie: float) -> Fraction:
        """The p-value of a signal with these cosines (S,) to references; angles that differ by less than tie exceed."""
        cosine = _nearest(cosines[self.first], cosines[self.second], self.between)
        angle = acos(min(max(cosine, -1.0), 1.0)) - tie
        return self.p_values[int(self.nearness.searchsorted(-angle, side="right"))]


@cached_njit(nogil=True)
def _nearest(to_first: Array, to_second: Array, between: Array) -> float:
    """The largest cosine with a mixture of references in any proportion."""
    best = max(to_first.max(), to_second.max())
    square = 0.0
    for a in range(len(to_first)):
        c = to_first[a]
        for b in range(len(to_second)):
            d = to_second[b]
            g = between[a, b]
            if c >= g * d and d >= g * c and 1.0 - g * g > 1e-12:
                square = max(square, (c * c + d * d - 2.0 * g * c * d) / (1.0 - g * g))
    return float(max(best, np.sqrt(square)))


@cached_njit(nogil=True)
def _mixture_angles(
    xx: Array, xy: Array, yy: Array, first: IntArray, second: IntArray, chosen: IntArray, n_cells: int
) -> Array:
    """(n, cells) how far a mixture of x_s and y_t (n, 2) in a cell may lie from references outside their units."""
    angles = np.empty((len(chosen), n_cells))
    half = 0.25 * np.pi / n_cells
    for i in range(len(chosen)):
        s = chosen[i, 0]
        t = chosen[i, 1]
        in_first = np.flatnonzero((first != first[s]) & (first != second[t]))
        in_second = np.flatnonzero((second != first[s]) & (second != second[t]))
        between = np.empty((len(in_first), len(in_second)))
        for a in range(len(in_first)):
            for b in range(len(in_second)):
                between[a, b] = xy[in_first[a], in_second[b]]
        g = xy[s, t]
        # d(direction) / d(phi) = sqrt(1 - g^2) / |mixture|^2, and |mixture|^2 = 1 + g sin(2 phi).
        slack = half * np.sqrt(max(1.0 - g * g, 0.0)) / max(1.0 + min(g, 0.0), 1e-12)
        for cell in range(n_cells):
            phi = half * (2 * cell + 1)
            x = np.cos(phi)
            y = np.sin(phi)
            norm = np.sqrt(max(1.0 + 2.0 * g * x * y, 1e-24))
            cosine = -1.0
            if len(in_first) and len(in_second):
                to_first = (x * xx[s][in_first] + y * xy[:, t][in_first]) / norm
                to_second = (x * xy[s][in_second] + y * yy[t][in_second]) / norm
                cosine = _nearest(to_first, to_second, between)
            angles[i, cell] = np.arccos(min(max(cosine, -1.0), 1.0)) + slack
    return angles
