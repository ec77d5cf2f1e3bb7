"""The conformal judge: how far spectra of an element lie from other units of it says how far a new one may lie."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import log
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._arrays import check_indices, read_only
from ..._checks import check_array, check_count, check_open
from ..._errors import MisuseError
from ..._typing import Array, BoolArray, IntArray
from .._judge import Verdict, Verdicts
from ..rotation._draws import Draws
from ._pairs import PairRank, rank_pair
from ._replicates import Replicates

# Scores that differ by less count as exceedances: rounding can keep, never lose.
_TIE = 1e-7
_PURPOSE = 4  # of the draws: no other judge shares these bits
# What holds for what is ranked by its own label, and together with others.
_ASSUMES = {
    None: "the unit of the signal is exchangeable with those of its group, whichever that is",
    "size": "units of all groups with as many are exchangeable with each other: it holds on average over these groups",
}
# What the gate needs besides where a group has several members.
_MEMBERS = "; and the signal is any spectrum of its unit: it holds on average over the members of a group, not for each"
_LEAST = float(np.finfo(np.float64).tiny)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ByConformal:
    """Have elements with replicates judged by conformal p-values: all that is fixed before a signal is read.

    share: of the level, for the ratio test; the rest is for the gate.  pool: None, each element by its own units; or
    "size", by all elements with as many units, which holds on average over these elements and not for each.
    noise: standard deviations of the noise that a signal has and replicates have not; the largest p-value counts.
    """

    replicates: Replicates
    share: float = 0.0
    pool: str | None = None
    noise: tuple[float, ...] = (0.0,)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.pool not in _ASSUMES:
            raise MisuseError("pool", f"be one of {tuple(_ASSUMES)}", repr(self.pool))
        if not 0.0 <= self.share < 1.0:
            raise MisuseError("share", "lie from 0 to below 1", self.share)
        noise = check_array("noise", self.noise, (None,))
        if not len(noise) or (noise < 0.0).any():
            raise MisuseError("noise", "hold one or more standard deviations, none negative", noise.tolist())
        object.__setattr__(self, "noise", tuple(noise.tolist()))
        check_count("seed", self.seed, 0)

    @property
    def assumes(self) -> str:
        """The assumption in one line."""
        has_members = len(np.unique(self.replicates.group_of)) < len(self.replicates.names)
        return _ASSUMES[self.pool] + (_MEMBERS if has_members else "")

    def judge(self, signal: ArrayLike, level: float, pairs: Sequence[tuple[int, int]] = ()) -> "ConformalJudge":
        """The judge of one signal (q,), from a unit that is none of the replicates'.

        pairs: of elements that may be there together, which are asked about after the single ones.
        """
        checked = check_array("signal", signal, (self.replicates.spectra.shape[1],))
        return ConformalJudge(self, checked, level, tuple(pairs))


@final
@dataclass(frozen=True, slots=True, eq=False)
class ConformalJudge:
    r"""Rejects the group of a signal with probability at most its level, whatever the noise is like.

    So it does an element that is a group by itself; of several members one with wider spectra is lost more often than
    the others, and the level holds on average over them.

    The unit of the signal is exchangeable with those of its group, and the signal with the spectra in it.  With A the
    angle to the nearest reference of the group, own unit left out, and :math:`n_k` spectra of the group from unit k,
    :math:`p = (1 + \sum_k n_k^{-1}\#\{s: A_{ks} \ge A\}) / (K + 1)` is the gate.  Had the new unit been among the
    references, every :math:`A_{ks}` could only be smaller, so p is no smaller than the p-value of K + 1 exchangeable
    units.  The ratio test ranks A among the spectra of the element alone, over the angle to the nearest other element
    in its group, or anywhere for an element alone in its group.  It is exact if other elements come from other units;
    of a unit that holds several, none is a reference for it, and for the signal the unit that would speak most for it.
    Pairs of elements have a test of their own at the whole level (`rank_pair`).
    """

    spec: ByConformal
    signal: Array  # (q,)
    level: float
    pairs: tuple[tuple[int, int], ...] = ()
    p_gate: tuple[Fraction, ...] = field(init=False)  # (E,)
    p_ratio: tuple[Fraction, ...] = field(init=False)  # (E,) 1 without a ratio test
    ranks: tuple[PairRank, ...] = field(init=False)  # of the pairs

    def __post_init__(self) -> None:
        check_open("level", self.level, 0.0, 1.0)
        object.__setattr__(self, "signal", read_only(self.signal))
        p_values = [self._p_values(index, sigma) for index, sigma in enumerate(self.spec.noise)]
        for name, column in (("p_gate", 0), ("p_ratio", 1)):
            object.__setattr__(self, name, tuple(map(max, zip(*(tests[column] for tests in p_values), strict=True))))
        object.__setattr__(self, "ranks", self._ranks())

    def _ranks(self) -> tuple[PairRank, ...]:
        data, spec = self.spec.replicates, self.spec
        if self.pairs and (spec.pool is not None or any(spec.noise)):
            remedy = "Leave pool and noise out, or have one element in every explanation."
            raise MisuseError("judge conformal", "rank pairs of elements as they are", "pool or noise", remedy)
        return tuple(rank_pair(data, pair, self.signal, _TIE) for pair in self.pairs)

    @property
    def size(self) -> int:
        """The elements, and then the pairs."""
        return self.n_elements + len(self.pairs)

    @property
    def n_elements(self) -> int:
        """Those with replicates."""
        return len(self.spec.replicates.names)

    @property
    def levels(self) -> tuple[Fraction, Fraction]:
        """Of gate and ratio; they add up to the level."""
        level, share = Fraction(self.level), Fraction(self.spec.share)
        return level * (1 - share), level * share

    @property
    def n_units(self) -> IntArray:
        """(2, E) K: units among which gate and ratio rank the signal under each element."""
        return np.array([self._ranked_units(labels) for labels in self._labels])

    @property
    def smallest(self) -> Array:
        """(2, E) the smallest p-values that there are with so many units."""
        return np.asarray(1.0 / (self.n_units + 1.0))

    @property
    def cannot_exclude(self) -> BoolArray:
        """(size,) elements and pairs with too few replicates to be excluded by any test at this level."""
        parts = zip(self.n_units.tolist(), self.levels, strict=True)
        least = [[Fraction(1, 1 + count) > part for count in row] for row, part in parts]
        pairs = [rank.smallest > Fraction(self.level) for rank in self.ranks]
        return np.append(np.all(least, axis=0), np.array(pairs, dtype=np.bool_))

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """Rejected by either test, p <= its level; the margin is the larger log(level / p)."""
        chosen = check_indices("explanations", explanations, self.size).tolist()
        over = [max(part / p for part, p in self._tests(e)) for e in chosen]
        is_rejected = np.array([ratio >= 1 for ratio in over], dtype=np.bool_)
        margins = np.array([log(ratio) for ratio in over])
        # The comparison of fractions is exact; its logarithm may round to the other side of 0.
        lower = np.where(is_rejected, np.maximum(margins, 0.0), np.minimum(margins, 0.0))
        codes = np.where(is_rejected, Verdict.REJECTED, Verdict.ADMISSIBLE).astype(np.uint8)
        return Verdicts(codes, lower, np.where(is_rejected, np.maximum(lower, _LEAST), lower))

    def _tests(self, e: int) -> list[tuple[Fraction, Fraction]]:
        """Levels above 0 and p-values of an element, or a pair."""
        if e >= self.n_elements:
            return [(Fraction(self.level), self.ranks[e - self.n_elements].p)]
        parts = zip(self.levels, (self.p_gate[e], self.p_ratio[e]), strict=True)
        return [(part, p) for part, p in parts if part]

    @property
    def _labels(self) -> tuple[IntArray, IntArray]:
        """(E,) which elements gate and ratio rank together."""
        return self.spec.replicates.group_of, np.arange(self.n_elements)

    def _ranked_units(self, labels: IntArray) -> IntArray:
        counts = self.spec.replicates.n_units(labels)
        ranked = counts if self.spec.pool is None else np.array([int(counts[counts == size].sum()) for size in counts])
        return np.asarray(ranked[labels])

    def _p_values(self, index: int, sigma: float) -> tuple[list[Fraction], list[Fraction]]:
        """Of gate and ratio for every element, at one noise level."""
        data = self.spec.replicates
        references = data.unit(data.spectra)
        drawn = Draws(self.spec.seed, _PURPOSE + 16 * index).normal(data.spectra.shape)
        # Only what is ranked has noise: a reference that lacks it is as near to all of them.
        ranked = data.unit(np.concatenate([data.spectra + sigma * drawn, self.signal[None]]))
        angles = np.arccos(np.clip(ranked @ references.T, -1.0, 1.0))  # (S + 1, S)
        angles[:-1][data.unit_of[:, None] == data.unit_of] = np.inf
        gate, ratio = (self._ranked(*test) for test in zip(self._scores(angles), self._labels, strict=True))
        return gate, ratio if self.spec.share else [Fraction(1)] * self.n_elements

    def _scores(self, angles: Array) -> tuple[Array, Array]:
        """(S + 1, E) of every spectrum, and at last the signal, under every element: to its group, and as a ratio."""
        data = self.spec.replicates
        gate, ratio = np.empty((2, len(angles), self.n_elements))
        for e in range(self.n_elements):
            is_own = data.element_of == e
            is_group = (data.group_of == data.group_of[e])[data.element_of]
            is_other = ~is_own & (is_group if (is_group & ~is_own).any() else True)
            gate[:, e] = angles[:, is_group].min(axis=1)
            nearest_other = angles[:, is_other].min(axis=1, initial=np.pi)
            nearest_other[-1] = _nearest_but_one_unit(angles[-1, is_other], data.unit_of[is_other])
            ratio[:, e] = angles[:, is_own].min(axis=1) / np.maximum(nearest_other, _TIE)
        return gate, ratio

    def _ranked(self, scores: Array, labels: IntArray) -> list[Fraction]:
        """(1 + units' shares of spectra with at least the signal's score) / (K + 1), for every element."""
        data = self.spec.replicates
        own_scores = scores[np.arange(len(data.element_of)), data.element_of]  # (S,) under the element that it is
        label = labels[data.element_of]
        unit = label * (1 + data.unit_of.max()) + data.unit_of
        sizes, p_values = data.n_units(labels), []
        for e in range(self.n_elements):
            is_in = label == labels[e] if self.spec.pool is None else sizes[label] == sizes[labels[e]]
            exceeds, units = own_scores[is_in] >= scores[-1, e] - _TIE, unit[is_in]
            shares = [Fraction(int(exceeds[units == u].sum()), int((units == u).sum())) for u in np.unique(units)]
            p_values.append((1 + sum(shares, Fraction(0))) / (1 + len(shares)))
        return p_values


def _nearest_but_one_unit(angles: Array, units: IntArray) -> float:
    """The largest of the nearest angles that are left when one unit is left out, as it is for replicates."""
    return max((float(angles[units != unit].min(initial=np.pi)) for unit in np.unique(units)), default=np.pi)
