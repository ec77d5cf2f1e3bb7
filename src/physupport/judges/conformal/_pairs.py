r"""Two elements at once: mixtures of their replicates say how far a mixture of two new spectra may lie.

The signal is a spectrum of the first element plus one of the second, each from a new unit, in any proportion.  With
:math:`x_s` and :math:`y_t` of norm 1, a mixture at :math:`\varphi` is :math:`x_s\cos\varphi + y_t\sin\varphi`, and its
score the angle to the nearest mixture of references, spectra of the own units left out.

Units that hold both elements are exchangeable with the new one as a whole: their own mixtures are ranked,
:math:`p = (1 + \#) / (n + 1)`.  Elements without a unit in common have new units each of its own.  All
:math:`(n_1 + 1)(n_2 + 1)` pairs of units are then exchangeable, and :math:`n_1 + n_2` of them have one new unit, whose
spectrum is not seen by itself: counted as if they lay farther than the signal,
:math:`p = (n_1 + n_2 + 1 + \#) / ((n_1 + 1)(n_2 + 1))`.  References that are not seen would make scores smaller, never
larger, so both can only keep.  The proportion is not known: the largest p-value over all of them counts.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import final

import numpy as np

from ..._compiled import kept
from ..._typing import Array, BoolArray, IntArray
from ._replicates import Replicates

# Proportions between which angles are bounded: a mixture turns by less than half a cell from the middle of its own.
_CELLS = 64


@final
@dataclass(frozen=True, slots=True)
class PairRank:
    """The p-value of a pair, the smallest that so many units allow, and their numbers."""

    p: Fraction
    smallest: Fraction
    n_units: tuple[int, ...]  # of both, or of those that hold both


def rank_pair(data: Replicates, elements: tuple[int, int], signal: Array, tie: float) -> PairRank:
    """The p-value of one signal (q,) under two elements; tie: angles that differ by less count as exceedances."""
    first, second = (np.flatnonzero(data.element_of == e) for e in elements)
    units = data.unit_of[first], data.unit_of[second]
    spectra = data.unit(np.concatenate([data.spectra[first], data.spectra[second], signal[None]]))
    products = spectra @ spectra.T
    exceeds = _exceedances(products, *units, tie)  # (S1, S2, cells)
    common = np.intersect1d(*units)
    if len(common):
        pairs, total, extra = [(unit, unit) for unit in common.tolist()], len(common) + 1, 1
        counts: tuple[int, ...] = (len(common),)
    else:
        names = [np.unique(numbers).tolist() for numbers in units]
        pairs, counts = [(k, m) for k in names[0] for m in names[1]], (len(names[0]), len(names[1]))
        total, extra = (counts[0] + 1) * (counts[1] + 1), counts[0] + counts[1] + 1
    sizes = [int((units[0] == k).sum() * (units[1] == m).sum()) for k, m in pairs]
    whole = lcm(*sizes)
    shares = sum(
        exceeds[np.ix_(units[0] == k, units[1] == m)].sum(axis=(0, 1)).astype(object) * (whole // size)
        for (k, m), size in zip(pairs, sizes, strict=True)
    )
    most = Fraction(int(np.max(shares)), whole)
    return PairRank((extra + most) / total, Fraction(extra, total), counts)


def _exceedances(products: Array, first: IntArray, second: IntArray, tie: float) -> BoolArray:
    """(S1, S2, cells) whether a mixture may lie at least as far from other units as the signal.

    products: of all spectra of both elements and, at last, of the signal, all of norm 1.
    """
    n = len(first)
    xx, xy, yy = products[:n, :n], products[:n, n:-1], products[n:-1, n:-1]
    xx, xy, yy = (np.ascontiguousarray(part) for part in (xx, xy, yy))
    nothing = np.full(1, -1)
    to_first, to_second = products[-1, :n].copy(), products[-1, n:-1].copy()
    cosine = _nearest(to_first, to_second, xy, first, second, nothing[0], nothing[0], 2.0)
    angle = float(np.arccos(np.clip(cosine, -1.0, 1.0))) - tie
    return np.asarray(_mixtures(xx, xy, yy, first, second, angle, _CELLS))


@kept(nogil=True)
def _nearest(
    to_first: Array, to_second: Array, between: Array, first: IntArray, second: IntArray, k: int, m: int, enough: float
) -> float:
    """The largest cosine with a mixture of references outside units k and m, or the first that is above enough."""
    best = -1.0
    for a in range(len(to_first)):
        if first[a] == k or first[a] == m:
            continue
        for b in range(len(to_second)):
            if second[b] == k or second[b] == m:
                continue
            c, d, g = to_first[a], to_second[b], between[a, b]
            near = max(c, d)
            if c >= g * d and d >= g * c and 1.0 - g * g > 1e-12:
                near = max(near, np.sqrt(max(c * c + d * d - 2.0 * g * c * d, 0.0) / (1.0 - g * g)))
            best = max(best, near)
            if best > enough:
                return float(best)
    return float(best)


@kept(nogil=True)
def _mixtures(
    xx: Array, xy: Array, yy: Array, first: IntArray, second: IntArray, angle: float, n_cells: int
) -> BoolArray:
    """Mixtures of x_s and y_t in every cell of proportions, which may lie this angle away."""
    exceeds = np.zeros((len(first), len(second), n_cells), dtype=np.bool_)
    half = 0.25 * np.pi / n_cells
    for s in range(len(first)):
        for t in range(len(second)):
            g = xy[s, t]
            # d(direction) / d(phi) = sqrt(1 - g^2) / |mixture|^2, and |mixture|^2 = 1 + g sin(2 phi).
            slack = half * np.sqrt(max(1.0 - g * g, 0.0)) / max(1.0 + min(g, 0.0), 1e-12)
            for cell in range(n_cells):
                phi = half * (2 * cell + 1)
                x, y = np.cos(phi), np.sin(phi)
                norm = np.sqrt(max(1.0 + 2.0 * g * x * y, 1e-24))
                if slack >= angle:
                    exceeds[s, t, cell] = True
                    continue
                to_first, to_second = (x * xx[s] + y * xy[:, t]) / norm, (x * xy[s] + y * yy[t]) / norm
                enough = np.cos(angle - slack)
                cosine = _nearest(to_first, to_second, xy, first, second, first[s], second[t], enough)
                exceeds[s, t, cell] = cosine <= enough
    return exceeds
