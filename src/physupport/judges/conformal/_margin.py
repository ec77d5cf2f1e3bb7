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

from fractions import Fraction

import numpy as np
from scipy.linalg import solve_triangular

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
_PICKED = 6  # the purpose of the draws of spectra, and of those of units


def margin_p_values(data: Replicates, references: Array, ranked: Array, seed: int) -> list[Fraction]:
    """The p-value of the signal under every element.

    references: (S, q) spectra, of which means and scatter of other elements are made.  ranked: (S + 1, q) the same with
    the noise that they lack, and at last the signal.
    """
    if references.shape[1] > len(references) + len(ranked):
        basis = np.linalg.qr(np.concatenate([references, ranked]).T)[0]
        n_channels = references.shape[1]
        return _margins(data, references @ basis, ranked @ basis, n_channels, seed)
    return _margins(data, references, ranked, references.shape[1], seed)


def _margins(data: Replicates, references: Array, ranked: Array, n_channels: int, seed: int) -> list[Fraction]:
    """The same in coordinates that span all spectra."""
    elements = range(len(data.names))
    listed = [np.flatnonzero(data.element_of == e) for e in elements]
    means = np.array([references[own].mean(axis=0) for own in listed])
    left = references - means[data.element_of]
    whole = left.T @ left
    order = Draws(seed, _PICKED).uniform((len(references),))
    p_values = []
    for e, own in enumerate(listed):
        chosen = np.append(_one_of_each_unit(own, data.unit_of, order), -1)
        mean = ranked[chosen].mean(axis=0)
        away = ranked[chosen] - mean
        # Other spectra of a unit have its colour, which would be near to nothing for all units but the new one.
        shared = left[np.isin(data.unit_of, data.unit_of[own])]
        scatter = whole - shared.T @ shared + away.T @ away
        ridge = max(_SHRINKAGE * float(np.trace(scatter)) / n_channels, _LEAST_RIDGE)
        scores = _scores(scatter + ridge * np.eye(len(scatter)), away, np.delete(means, e, axis=0) - mean)
        slack = _TIE * float(np.abs(scores).max())
        p_values.append(Fraction(int((scores >= scores[-1] - slack).sum()), len(scores)))
    return p_values


def _scores(scatter: Array, away: Array, others: Array) -> Array:
    """(K + 1,) scores of spectra that lie away from their mean; others: (J, r) means of other elements from there."""
    root = np.linalg.cholesky(scatter)
    both = solve_triangular(root, np.concatenate([away, others]).T, lower=True, check_finite=False).T
    here = both[: len(away)]
    own = (here**2).sum(axis=1)
    if not len(others):
        return np.asarray(own)
    nearest = ((here[:, None] - both[len(away) :]) ** 2).sum(axis=2).min(axis=1)
    return np.asarray(own - np.minimum(nearest, _CAP * np.median(own)))


def _one_of_each_unit(own: IntArray, unit_of: IntArray, order: Array) -> IntArray:
    """One of these spectra of every unit, the first in an order that was drawn."""
    drawn = own[np.argsort(order[own], kind="stable")]
    return np.asarray(drawn[np.unique(unit_of[drawn], return_index=True)[1]])


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
