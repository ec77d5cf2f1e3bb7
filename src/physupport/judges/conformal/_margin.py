r"""Ranks of a signal by what tells its element from the nearest other one.

**Margin.**  Let one spectrum of every unit of element e, and the signal as one more, be :math:`x_0, \dots, x_K`.  With
:math:`m` their mean, :math:`m_j` the means of other elements, and A the shrunk scatter about the means of their
elements, of these spectra and of all from units without e, let :math:`d_i = (x_i - m)^\top A^{-1}(x_i - m)`.  Let
:math:`D_i` be the smallest such distance to any :math:`m_j`.  The score is
:math:`s_i = d_i - \min(D_i, c\operatorname{median}(d))`: near another element the margin counts, and far from all
others the distance to the own mean.  A permutation of the K + 1 units changes neither m nor A nor the median and
permutes the scores.  So :math:`p = \#\{s_i \ge s\} / (K + 1)` is exact if elements have no unit in common.

**Pooled.**  The angle to the nearest of some units of the element, over that to the nearest of any other one, ranked
among elements with more units, of which as many are drawn.  The element of the signal has to be exchangeable with
these.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, final

import numpy as np

from ..._typing import Array, IntArray
from ..rotation._table import Draws
from ._replicates import Replicates

# Share of the mean variance of a channel that is added to the scatter.
_SHRINKAGE = 0.01
# Distances to other elements count up to this many times the median distance to the own mean.
_CAP = 3.0
# Scores that differ by less, relative to the largest, count as exceedances: rounding can keep, never lose.
_TIE = 1e-9
_LEAST_RIDGE = 1e-14  # of spectra of norm 1
_TOGETHER = 3  # elements whose arrays stay in the cache
_PICKED = 6  # the purpose of the draws of spectra, and of those of units


class Alike(NamedTuple):
    """Elements (g,) with equally many units, for which equally many spectra leave or enter the scatter."""

    elements: IntArray
    rows: IntArray  # (g, K + 1) numbers of their ranked spectra, and of the signal
    moved: Array  # (g, n, r) spectra that leave, or enter
    signs: Array  # (K + 1 + n,) of the ranked ones and of these
    is_whole: bool  # False where spectra enter in place of the scatter of all
    traces: Array  # (g,) of the scatter without the ranked spectra
    others: Array  # (g, E - 1, r) means of other elements less the own one


@final
@dataclass(frozen=True, slots=True, eq=False)
class Margins:
    r"""The statistics that the margins of all signals share.

    Let W be the scatter of all spectra, with eigenvectors U and eigenvalues :math:`\lambda`.  The scatter A of an
    element has :math:`A = R^{-1} + V^\top S V` with :math:`R = U(\lambda + \rho)^{-1}U^\top`, the ridge
    :math:`\rho`, rows V of a few spectra and signs S, because the spectra of its own units leave W and the K + 1 ranked
    ones enter.  With :math:`F = V R V^\top` and :math:`H = V R O^\top` for other means O, :math:`X = (S + F)^{-1}`
    gives :math:`V A^{-1} V^\top = S X F` and :math:`V A^{-1} O^\top = S X H`.  Where more spectra leave than remain,
    those that remain enter in place of W.
    """

    basis: Array  # (q, r) eigenvectors
    scatter: Array  # (r,) eigenvalues
    means: Array  # (E, r)
    pairs: IntArray  # (S,) the pair of element and unit of each spectrum
    parts: tuple[Alike, ...]

    @classmethod
    def of(cls, data: Replicates) -> "Margins":
        """Diagonalise the scatter of all spectra."""
        references = data.references
        elements = np.arange(len(data.names))
        wide = references.shape[1] > len(references)
        span = np.linalg.qr(references.T)[0] if wide else np.eye(references.shape[1])
        inside = references @ span
        means = np.array([inside[data.element_of == e].mean(axis=0) for e in elements])
        left = inside - means[data.element_of]
        scatter, turn = np.linalg.eigh(left.T @ left)
        left = left @ turn
        means = means @ turn
        units = data.unit_of
        # Other spectra of a unit have its colour, which would be near to nothing for all units but the new one.
        is_shared = np.array([np.isin(units, units[data.element_of == e]) for e in elements])  # (E, S)
        is_whole = 2 * is_shared.sum(axis=1) <= len(references)
        is_moved = is_shared == is_whole[:, None]
        distinct, pairs = np.unique(np.stack([data.element_of, units], axis=1), axis=0, return_inverse=True)
        counts = np.bincount(distinct[:, 0])
        ends = np.cumsum([0, *counts])
        kinds = np.stack([counts, is_moved.sum(axis=1), is_whole], axis=1)
        parts = []
        order = np.lexsort(kinds.T)
        steps = np.flatnonzero((np.diff(kinds[order], axis=0) != 0).any(axis=1)) + 1
        runs = [run[i : i + _TOGETHER] for run in np.split(order, steps) for i in range(0, len(run), _TOGETHER)]
        for alike in runs:
            kind = kinds[alike[0]].tolist()
            rows = ends[alike][:, None] + np.arange(kind[0])
            others = np.array([np.delete(elements, e) for e in alike], dtype=np.int64)
            parts.append(
                Alike(
                    elements=alike,
                    rows=np.append(rows, np.full((len(alike), 1), -1), axis=1),
                    moved=left[np.array([np.flatnonzero(is_moved[e]) for e in alike], dtype=np.int64)],
                    signs=np.repeat([1.0, -1.0 if kind[2] else 1.0], [kind[0] + 1, kind[1]]),
                    is_whole=bool(kind[2]),
                    traces=np.array([(left[~is_shared[e]] ** 2).sum() for e in alike]),
                    others=means[others] - means[alike][:, None],
                )
            )
        return cls(span @ turn, np.maximum(scatter, 0.0), means, pairs.ravel(), tuple(parts))

    def p_values(self, ranked: Array, seed: int) -> list[Fraction]:
        """The p-value of the signal under every element.

        ranked: (S + 1, q) spectra of norm 1 with the noise that they lack, and at last the signal.
        """
        order = Draws(seed, _PICKED).uniform((len(self.pairs),))
        drawn = np.lexsort((order, self.pairs))
        chosen = drawn[np.append(True, np.diff(self.pairs[drawn]) > 0)]  # one spectrum of every unit of an element
        own = ranked[np.append(chosen, len(ranked) - 1)]
        inside = own @ self.basis
        n_channels, rank = self.basis.shape
        outside = own - inside @ self.basis.T if rank < n_channels else np.zeros((len(own), 1))
        found = [Fraction(1)] * len(self.means)
        for part in self.parts:
            scores = self._scores(part, inside[part.rows], outside[part.rows], n_channels)
            slack = _TIE * np.abs(scores).max(axis=1, keepdims=True)
            counts = (scores >= scores[:, -1:] - slack).sum(axis=1)
            for e, count in zip(part.elements.tolist(), counts.tolist(), strict=True):
                found[e] = Fraction(count, scores.shape[1])
        return found

    def _scores(self, part: Alike, inside: Array, outside: Array, n_channels: int) -> Array:
        """(g, K + 1) the distance to the own mean, less that to the nearest other one or its cap.

        inside, outside: (g, K + 1, r) and (g, K + 1, c) of the ranked spectra, in the basis and beside it.
        """
        inside = inside - self.means[part.elements][:, None]
        centre = inside.mean(axis=1, keepdims=True)
        centre_beside = outside.mean(axis=1, keepdims=True)
        away = inside - centre
        beside = outside - centre_beside
        size = away.shape[1]
        traces = part.traces + (away**2).sum(axis=(1, 2)) + (beside**2).sum(axis=(1, 2))
        ridge = np.maximum(_SHRINKAGE * traces / n_channels, _LEAST_RIDGE)[:, None, None]
        weights = 1.0 / ((self.scatter if part.is_whole else np.zeros_like(self.scatter)) + ridge)  # (g, 1, r)
        others = part.others - centre
        rows = np.concatenate([away, part.moved], axis=1)
        targets = np.concatenate([rows, others], axis=1)
        both = (rows * weights) @ targets.swapaxes(1, 2)  # F and H
        n_rows = rows.shape[1]
        both[:, :size, :size] += beside @ beside.swapaxes(1, 2) / ridge
        both[:, :size, n_rows:] -= beside @ centre_beside.swapaxes(1, 2) / ridge
        small = both[:, :, :n_rows] + np.diag(part.signs)
        asked = np.concatenate([both[:, :, :size], both[:, :, n_rows:]], axis=2)
        solved = np.linalg.solve(small, asked)
        own = np.diagonal(solved, axis1=1, axis2=2)[:, :size]
        distances = (weights * others * others).sum(axis=2) + (centre_beside**2).sum(axis=2) / ridge[:, 0]
        distances = distances - (asked[:, :, size:] * solved[:, :, size:]).sum(axis=1)
        near = own[:, :, None] + distances[:, None] - 2.0 * solved[:, :size, size:]
        cap = _CAP * np.median(own, axis=1, keepdims=True)
        return np.asarray(own - np.minimum(near.min(axis=2, initial=np.inf), cap))


def reference_counts(counts: IntArray) -> IntArray:
    """(E,) units that are references of each element: one less than it has, so that others with as many take part."""
    return np.maximum(counts - 1, 1)


def pooled_p_values(data: Replicates, angles: Array, seed: int) -> list[Fraction]:
    """The p-value of the signal under every element, pooled over the others with more units than are references.

    angles: (S + 1, S) of every spectrum, and at last of the signal, to references; infinite within a unit.
    """
    counts = data.n_units(np.arange(len(data.names)))
    order = Draws(seed, _PICKED).uniform((len(angles), 1 + int(data.unit_of.max())))
    wanted = reference_counts(counts)
    p_values = {}
    for count in np.unique(wanted).tolist():
        known = {int(c): _ratios(data, angles, int(c), count, order) for c in np.flatnonzero(counts > count)}
        for e in np.flatnonzero(wanted == count).tolist():
            ratio = _ratio(data, angles, len(angles) - 1, e, count, order)
            others = [each for c, each in known.items() if c != e]
            shares = [Fraction(int((each >= ratio * (1.0 - _TIE)).sum()), len(each)) for each in others]
            p_values[e] = (1 + sum(shares, Fraction(0))) / (1 + len(shares))
    return [p_values[e] for e in range(len(counts))]


def _ratios(data: Replicates, angles: Array, element: int, count: int, order: Array) -> Array:
    """The ratios of all spectra of an element."""
    own = np.flatnonzero(data.element_of == element).tolist()
    return np.array([_ratio(data, angles, spectrum, element, count, order) for spectrum in own])


def _ratio(data: Replicates, angles: Array, spectrum: int, element: int, count: int, order: Array) -> float:
    """The nearest angle to so many drawn units of an element over that to others, which is at most a right angle."""
    is_own = data.element_of == element
    units = np.unique(data.unit_of[is_own & np.isfinite(angles[spectrum])])
    drawn = units[np.argsort(order[spectrum, units], kind="stable")[:count]]
    near = float(angles[spectrum, is_own & np.isin(data.unit_of, drawn)].min())
    return near / max(min(float(angles[spectrum, ~is_own].min(initial=np.inf)), 0.5 * np.pi), 1e-7)
