r"""Measured examples of elements with their units and their noise, and the ranks of two elements at once.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lcm
from typing import final

import numpy as np

from ..._checks import check_array, read_only
from ..._compiled import cached_njit
from ..._errors import Clause, MisuseError
from ..._typing import Array, BoolArray, IntArray
from ...io import Axis, as_reader_output, order_of


@final
@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """Spectra (S, q), each of an element and from a unit: an instrument, a sample, a site.

    The unit is what a new signal comes from another one of; spectra of one unit are not independent, and counting them
    as if they were makes an answer far too sure.  groups: the group of each element; each is one of its own unless
    given.  background: columns (q, b) that may be in any spectrum with any coefficient, taken off before angles.
    """

    spectra: Array  # names of its columns, where it has some, are matched to those of the bank's channels
    elements: tuple[str, ...]  # (S,)
    units: tuple[str, ...]  # (S,)
    groups: Mapping[str, str] | None = None
    background: Array | None = None
    names: tuple[str, ...] = field(init=False)  # (E,) elements in their order
    element_of: IntArray = field(init=False)  # (S,)
    unit_of: IntArray = field(init=False)  # (S,)
    group_of: IntArray = field(init=False)  # (E,)
    baseline: Array = field(init=False)  # (q, c) orthonormal basis of the background
    channels: tuple[str, ...] | None = field(init=False)  # (q,) names, where they have some

    def __post_init__(self) -> None:
        held = as_reader_output("spectra", self.spectra)
        spectra = check_array("spectra", held.values, (None, None))
        object.__setattr__(self, "channels", held.headings[1])
        names, element_of = _numbered("elements", self.elements, len(spectra))
        _, unit_of = _numbered("units", self.units, len(spectra))
        groups = {name: name for name in names} if self.groups is None else dict(self.groups)
        if set(groups) != set(names):
            raise MisuseError("groups", "name the group of every element", sorted(set(names) ^ set(groups)))
        _, group_of = _numbered("groups", [groups[name] for name in names], len(names))
        columns = np.zeros((spectra.shape[1], 0)) if self.background is None else self.background
        background = check_array("background", columns, (spectra.shape[1], None))
        left, values, _ = np.linalg.svd(background, full_matrices=False)
        baseline = left[:, values > 1e-10 * values.max(initial=0.0)]
        object.__setattr__(self, "names", names)
        for name, value in zip(
            ("spectra", "element_of", "unit_of", "group_of", "background", "baseline"),
            (spectra, element_of, unit_of, group_of, background, baseline),
            strict=True,
        ):
            object.__setattr__(self, name, read_only(value))
        self.unit(spectra)

    def in_order(self, channels: tuple[str, ...] | None) -> "Replicates":
        """The same spectra with their channels in the order that is wanted, where both have names."""
        order = order_of("replicates", Axis("channels", channels, "the library"), self.channels)
        if order is None or np.array_equal(order, np.arange(len(order))):
            return self
        background = None if self.background is None else self.background[order]
        return replace(self, spectra=self.spectra[:, order], background=background)

    def n_units(self, labels: IntArray) -> IntArray:
        """(L,) K of each label, where elements (E,) have labels 0 .. L - 1."""
        pairs = np.unique(np.stack([labels[self.element_of], self.unit_of], axis=1), axis=0)
        return np.bincount(pairs[:, 0]).astype(np.int64)

    def unit(self, spectra: Array) -> Array:
        """Spectra (S, q) beside the background, of norm 1."""
        left = spectra - (spectra @ self.baseline) @ self.baseline.T
        norms = np.linalg.norm(left, axis=1)
        sizes = np.linalg.norm(spectra, axis=1)
        if not (norms > 1e-8 * sizes).all():
            worst = int(np.argmin(norms > 1e-8 * sizes))
            raise MisuseError(
                "spectra", "have something beside the background", Clause(f"spectrum {worst} has nothing")
            )
        return np.asarray(left / norms[:, None])


def _numbered(name: str, values: Sequence[str], count: int) -> tuple[tuple[str, ...], IntArray]:
    """Distinct names in the order in which they come, and the number of each entry."""
    if len(values) != count:
        raise MisuseError(name, f"be {count}, one for each", len(values), "The unit of every spectrum is needed.")
    distinct = tuple(dict.fromkeys(map(str, values)))
    number = {value: i for i, value in enumerate(distinct)}
    return distinct, np.array([number[str(value)] for value in values], dtype=np.int64)


# Median of |y - 2 y' + y''| of white noise of deviation 1.
_MEDIAN = 0.6744897501960817 * np.sqrt(6.0)
# Of the energy of a spectrum, at least this much is taken to be no noise.
_LEAST_CLEAN = 1e-2


@final
@dataclass(frozen=True, slots=True, eq=False)
class MeasuredNoise:
    """Noise over the size of what is no noise, so that signal and replicates need not have one scale."""

    signal: float  # standard deviation of a channel, in units of the signal
    replicates: float  # the same of the median replicate, at the scale of the signal
    added: Array  # (S,) deviations, in units of each replicate, that make it no less noisy than the signal
    turn: float  # angle by which noise that the median replicate lacks may have turned the signal

    @classmethod
    def of(cls, data: Replicates, signal: Array) -> "MeasuredNoise":
        """Measure the noise of one signal (q,); none is seen in fewer than three channels."""
        spectra = np.concatenate([data.spectra, signal[None]])
        left = spectra - (spectra @ data.baseline) @ data.baseline.T
        sizes = np.linalg.norm(left, axis=1)
        unit = data.unit(spectra)
        cosines = unit @ unit[:-1].T  # (S + 1, S)
        cosines[:-1][data.unit_of[:, None] == data.unit_of] = -1.0
        beside = left - (sizes * cosines.max(axis=1))[:, None] * unit[cosines.argmax(axis=1)]
        differences = np.diff(beside, 2, axis=1) if beside.shape[1] > 2 else np.zeros((len(beside), 1))
        sigma = np.median(np.abs(differences), axis=1) / _MEDIAN  # (S + 1,)
        energy = sizes**2
        freedom = spectra.shape[1] - data.baseline.shape[1]
        clean = np.maximum(energy - freedom * sigma**2, _LEAST_CLEAN * energy)
        ratios = sigma**2 / clean
        usual = float(np.median(ratios[:-1]))
        most = float(ratios[-1] * _upper(spectra.shape[1]) ** 2)
        is_less = ratios[:-1] < ratios[-1]
        added = np.where(is_less, np.sqrt(np.maximum(most * clean[:-1] - sigma[:-1] ** 2, 0.0)), 0.0)
        turn = float(np.arctan(np.sqrt(freedom * max(most - usual, 0.0)))) if usual < ratios[-1] else 0.0
        return cls(float(sigma[-1]), float(np.sqrt(usual * clean[-1])), added, turn)


def _upper(n_channels: int) -> float:
    """The deviation that is measured, times this, is too small in about one of forty spectra of white noise."""
    return 1.0 + 3.5 / float(np.sqrt(n_channels))


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


def rank_pair(data: Replicates, elements: tuple[int, int], signal: Array, tie: float) -> Fraction:
    """The p-value of one signal (q,) under two elements; tie: angles that differ by less count as exceedances."""
    first, second = (np.flatnonzero(data.element_of == e) for e in elements)
    units = (data.unit_of[first], data.unit_of[second])
    among = PairUnits.of(data, elements)
    spectra = data.unit(np.concatenate([data.spectra[first], data.spectra[second], signal[None]]))
    products = spectra @ spectra.T
    exceeds = _exceedances(products, *units, tie)  # (S1, S2, cells)
    sizes = [int((units[0] == k).sum() * (units[1] == m).sum()) for k, m in among.pairs]
    whole = lcm(*sizes)
    shares = sum(
        exceeds[np.ix_(units[0] == k, units[1] == m)].sum(axis=(0, 1)).astype(object) * (whole // size)
        for (k, m), size in zip(among.pairs, sizes, strict=True)
    )
    return (among.extra + Fraction(int(np.max(shares)), whole)) / among.total


def _exceedances(products: Array, first: IntArray, second: IntArray, tie: float) -> BoolArray:
    """(S1, S2, cells) whether a mixture may lie at least as far from other units as the signal.

    products: of all spectra of both elements and, at last, of the signal, all of norm 1.
    """
    n = len(first)
    xx = products[:n, :n]
    xy = products[:n, n:-1]
    yy = products[n:-1, n:-1]
    xx, xy, yy = (np.ascontiguousarray(part) for part in (xx, xy, yy))
    nothing = np.full(1, -1)
    to_first = products[-1, :n].copy()
    to_second = products[-1, n:-1].copy()
    cosine = _nearest(to_first, to_second, xy, first, second, nothing[0], nothing[0], 2.0)
    angle = float(np.arccos(np.clip(cosine, -1.0, 1.0))) - tie
    return np.asarray(_mixtures(xx, xy, yy, first, second, angle, _CELLS))


@cached_njit(nogil=True)
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
            c = to_first[a]
            d = to_second[b]
            g = between[a, b]
            near = max(c, d)
            if c >= g * d and d >= g * c and 1.0 - g * g > 1e-12:
                near = max(near, np.sqrt(max(c * c + d * d - 2.0 * g * c * d, 0.0) / (1.0 - g * g)))
            best = max(best, near)
            if best > enough:
                return float(best)
    return float(best)


@cached_njit(nogil=True)
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
                x = np.cos(phi)
                y = np.sin(phi)
                norm = np.sqrt(max(1.0 + 2.0 * g * x * y, 1e-24))
                if slack >= angle:
                    exceeds[s, t, cell] = True
                    continue
                to_first = (x * xx[s] + y * xy[:, t]) / norm
                to_second = (x * xy[s] + y * yy[t]) / norm
                enough = np.cos(angle - slack)
                cosine = _nearest(to_first, to_second, xy, first, second, first[s], second[t], enough)
                exceeds[s, t, cell] = cosine <= enough
    return exceeds
