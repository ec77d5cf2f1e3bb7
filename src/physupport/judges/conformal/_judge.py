"""The conformal judge: how far spectra of an element lie from other units of it says how far a new one may lie."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import log
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_indices, check_open, read_only
from ..._codec import array_json, real
from ..._errors import Clause, MisuseError
from ..._typing import Array, BoolArray, IntArray
from ...banks import Bank
from ...laws import Law
from .._judge import Judge, Verdict, Verdicts
from .._specs import FIXED, JudgeSpec, Sealed, register
from ..rotation._table import Draws
from ._margin import Margins, pooled_p_values, reference_counts
from ._pairs import PairRanks, PairUnits
from ._replicates import MeasuredNoise, Replicates

# Scores that differ by less count as exceedances: rounding can keep, never lose.
_TIE = 1e-7
_NOISE = 4
_PICKS = 5  # purposes of the draws: no other judge shares these bits
# What holds for what is ranked by its own label, and together with others.
_ASSUMES = {
    None: "the unit (specimen) of the signal is exchangeable with the units of its group, whichever group that is",
    "ratio": "the element of the signal is exchangeable with all elements that have at least as many units; the level "
    "holds on average over these",
}
# What the gate needs besides where a group has several members.
_MEMBERS = (
    "; the signal may be any spectrum of its unit; the level holds on average over the members of a group, not for each"
)
_LEAST = float(np.finfo(np.float64).tiny)


_PAIRS = (
    "; of two elements at once the new units are exchangeable with those of each, independently where they have none "
    "in common"
)


@register
@final
@dataclass(frozen=True, eq=False)  # no slots: what all signals share is computed once, when first asked for
class ByConformal(JudgeSpec):
    """Have one row of a linear law judged by replicates of the elements; the replicates are part of the protocol.

    The row judges as it is, and nothing is proposed.  Explanations have one or two active elements, and coefficients,
    the noise and the background of the law do not matter: replicates have a background of their own.

    share: of the level, for the margin test; the rest is for the gate.  Unless given it is 1 where every element is a
    group by itself and has units of its own, and 0 elsewhere.
    pool: None, each element by its own units; or "ratio", by all elements with as many units or more, at the whole
    level (`pooled_p_values`), which holds on average over these elements and not for each.
    noise: standard deviations of the noise that a signal has and replicates have not; the largest p-value counts.  None
    measures it (`MeasuredNoise`), and ranks without noise and with it.
    """

    kind: ClassVar[str] = "conformal"
    has_facts: ClassVar[bool] = True
    fact_names: ClassVar[tuple[str, ...]] = (
        "best",
        "assumes",
        "lacks",
        "units",
        "smallest_p",
        "p",
        "cannot_exclude",
        "unlisted",
        "is_complete",
        "replicate_noise",
    )

    rule: ClassVar[str] = "be 'conformal' only where one stream has real rows that are linear in free coefficients"

    replicates: Replicates = field(repr=False)
    share: float | None = None
    pool: str | None = None
    noise: tuple[float, ...] | None = None
    seed: int = field(default=0, metadata=FIXED)

    def __post_init__(self) -> None:
        if self.pool not in _ASSUMES:
            raise MisuseError("pool", f"be one of {tuple(_ASSUMES)}", repr(self.pool))
        if self.share is not None and not 0.0 <= self.share <= 1.0:
            raise MisuseError("share", "lie from 0 to 1", self.share)
        if self.pool is not None and self.share not in (None, 1.0):
            raise MisuseError("share", "be left out where elements are pooled", self.share)
        if self.noise is not None:
            noise = check_array("noise", self.noise, (None,))
            if not len(noise) or (noise < 0.0).any():
                raise MisuseError("noise", "hold one or more standard deviations, none negative", noise.tolist())
            object.__setattr__(self, "noise", tuple(noise.tolist()))
        check_count("seed", self.seed, 0)

    @property
    def assumes(self) -> str:
        """The assumption in one line."""
        return _ASSUMES[self.pool] + (_MEMBERS if self.has_members else "")

    @cached_property
    def margins(self) -> Margins:
        """The statistics that the margins of all signals share."""
        return Margins.of(self.replicates)

    def pair_units(self, pair: tuple[int, int]) -> PairUnits:
        """The units that two elements are ranked among."""
        if pair not in self._pair_units:
            self._pair_units[pair] = PairUnits.of(self.replicates, pair)
        return self._pair_units[pair]

    def pair_ranks(self, pair: tuple[int, int]) -> PairRanks:
        """The tables that all signals share under two elements."""
        if pair not in self._pair_ranks:
            self._pair_ranks[pair] = PairRanks.of(self.replicates, pair, self.pair_units(pair))
        return self._pair_ranks[pair]

    @cached_property
    def _pair_units(self) -> dict[tuple[int, int], PairUnits]:
        return {}

    @cached_property
    def _pair_ranks(self) -> dict[tuple[int, int], PairRanks]:
        return {}

    @property
    def has_members(self) -> bool:
        """True if a group has several elements."""
        return len(np.unique(self.replicates.group_of)) < len(self.replicates.names)

    @cached_property
    def own_share(self) -> float:
        """The share of the level that the margin test has."""
        if self.share is not None:
            return float(self.share)
        data = self.replicates
        shares_units = len(np.unique(data.unit_of)) < data.n_units(np.arange(len(data.names))).sum()
        return 0.0 if self.pool is None and (self.has_members or shares_units) else 1.0

    def levels(self, level: float) -> tuple[Fraction, Fraction]:
        """The levels of gate and margin, which add up to the level."""
        whole = Fraction(level)
        share = Fraction(self.own_share)
        return whole * (1 - share), whole * share

    @cached_property
    def n_units(self) -> IntArray:
        """(2, E) K: units among which gate and margin rank a signal under each element, or elements if pooled."""
        data = self.replicates
        own = data.n_units(np.arange(len(data.names)))
        if self.pool is not None:
            wanted = reference_counts(own)
            return np.tile((own[:, None] > wanted).sum(axis=0) - (own > wanted), (2, 1))
        return np.array([data.n_units(data.group_of)[data.group_of], own])

    def cannot_exclude(self, level: float, pairs: Sequence[tuple[int, int]] = ()) -> BoolArray:
        """(E + pairs,) elements, and then pairs, that no signal excludes at this level: they have too few units."""
        tests = zip(self.n_units.tolist(), self.levels(level), strict=True)
        least = [[Fraction(1, 1 + count) > part for count in row] for row, part in tests]
        together = [self.pair_units(pair).smallest > Fraction(level) for pair in pairs]
        return np.append(np.all(least, axis=0), np.array(together, dtype=np.bool_))

    def judge(self, signal: ArrayLike, level: float, pairs: Sequence[tuple[int, int]] = ()) -> "ConformalJudge":
        """The judge of one signal (q,), from a unit that is none of the replicates'.

        pairs: of elements that may be there together, which are asked about after the single ones.
        """
        size = len(self.replicates.names) + len(pairs)
        return ConformalJudge(self, np.asarray(signal), level, tuple(pairs), np.arange(size), self.seed)

    def encode(self) -> dict[str, object]:
        """The options and spectra that are fixed before held-out rows are read."""
        data = self.replicates
        return {
            "judge": self.kind,
            "assumes": self.assumes,
            "share": self.own_share,
            "pool": self.pool,
            "noise": None if self.noise is None else list(self.noise),
            "seed": self.seed,
            "spectra": array_json(data.spectra),
            "elements": [data.names[e] for e in data.element_of.tolist()],
            "units": list(map(str, data.units)),
            "groups": [str(data.group_of[e]) for e in data.element_of.tolist()],
            "background": array_json(np.asarray(data.background)),
        }

    @classmethod
    def decode(cls, content: Mapping[str, Any]) -> "ByConformal":
        """The specification that `encode` wrote."""
        elements = tuple(content["elements"])
        spectra = real(content["spectra"], len(elements), None)
        groups = dict(zip(elements, content["groups"], strict=True))
        data = Replicates(spectra, elements, tuple(content["units"]), groups, real(content["background"], None, None))
        noise = None if content["noise"] is None else tuple(content["noise"])
        return cls(data, content["share"], content["pool"], noise, content["seed"])

    def unrejectable(self, bank: Bank, level: float) -> BoolArray | None:
        """(M,) explanations whose elements have too few units to be excluded at this level, whatever the signal."""
        element_of, pairs = _active(bank, self.replicates)
        found = self.cannot_exclude(level, pairs)[element_of]
        return np.asarray(found) if found.any() else None

    def splits(self, law: Law) -> bool:
        """The row of a linear law is not divided."""
        return not law.is_linear

    def rehearsed(
        self, bank: Bank, explanation: int, rng: np.random.Generator
    ) -> tuple["ByConformal", Array, Fraction]:
        """A measured spectrum, (1, q), of an element of an explanation as if it were new, and this without its unit.

        Of two elements the sum of a spectrum each.  With a unit fewer the smallest p-value of K units is 1 / K and no
        longer 1 / (K + 1): by their ratio, the last, the level has to grow for what can be excluded to stay the same.
        """
        data = self.replicates
        element_of, pairs = _active(bank, self.replicates)
        number = int(element_of[explanation])
        members = (number,) if number < len(data.names) else pairs[number - len(data.names)]
        chosen = [int(rng.choice(np.flatnonzero(data.element_of == e))) for e in members]
        left = np.flatnonzero(~np.isin(data.unit_of, data.unit_of[chosen]))
        elements, units = ([names[i] for i in left] for names in (data.elements, data.units))
        groups = {name: str(data.group_of[e]) for e, name in enumerate(data.names) if name in {*elements}}
        remaining = Replicates(data.spectra[left], tuple(elements), tuple(units), groups, data.background)
        units_of = min(len(np.unique(data.unit_of[data.element_of == e])) for e in members)
        rehearsal = replace(self, replicates=remaining)
        return rehearsal, data.spectra[chosen].sum(axis=0)[None], Fraction(units_of + 1, units_of)

    def completed(self, bank: Bank, laws: Sequence[Law]) -> "ByConformal":  # noqa: ARG002
        """Return the judge with channels in the order of the bank, if both name channels."""
        data = self.replicates.in_order(bank.channels)
        return self if data is self.replicates else replace(self, replicates=data)

    def check_laws(self, laws: Sequence[Law]) -> None:
        """One stream alone, of real rows that are linear."""
        self.own_stream(laws)
        if len(laws) > 1 or laws[0].is_complex:
            names = ", ".join(law.name for law in laws)
            raise MisuseError("judge", self.rule, names, "Leave other rows out, and complex ones.")

    def check_rows(self, law: Law, n_rows: int) -> None:  # noqa: ARG002
        """One: it is one unit more."""
        if n_rows != 1:
            rule = "judge one row"
            remedy = "Average the rows: they come from one unit."
            raise MisuseError("judge conformal", rule, f"{n_rows} rows", remedy)

    def open(self, sealed: Sealed) -> "ConformalJudge":
        """The judge of the one row, with the element of each explanation."""
        self.check_laws([stream.law for stream in sealed.streams])
        rows = np.concatenate([*sealed.streams[0].rows.blocks()])
        self.check_rows(sealed.streams[0].law, len(rows))
        twins = np.flatnonzero((self.replicates.spectra == rows[0]).all(axis=1))
        if twins.size:
            remedy = "Take it out: what is judged is one unit more, and none of those it is compared with."
            raise MisuseError(
                "replicates",
                "hold other spectra than the one that is judged",
                Clause(f"it is among them ({twins[0]})"),
                remedy,
            )
        element_of, pairs = _active(sealed.bank, self.replicates)
        return ConformalJudge(self, rows[0], sealed.level, tuple(pairs), element_of, sealed.draws_seed)


def _active(bank: Bank, replicates: Replicates) -> tuple[IntArray, list[tuple[int, int]]]:
    """(M,) the element that each explanation has, or the pair, which are numbered after the elements."""
    states = bank.states
    if states.library is None:
        raise MisuseError("judge conformal", "have elements that a library names", "a bank of arrays")
    missing = [name for name in states.library.ids if name not in replicates.names]
    if missing:
        raise MisuseError("replicates", "have spectra of every element", Clause(f"{missing[0]!r} has none"))
    number = np.array([*map(replicates.names.index, states.library.ids), -1])
    active = bank.deployment_parts(bank.deployment_keys(np.arange(bank.size))).elements  # (M, r)
    elements = np.where(active < 0, -1, number[np.asarray(states.library_index)[active]])
    counts = (elements >= 0).sum(axis=1)
    if not np.isin(counts, (1, 2)).all():
        count = int(counts[~np.isin(counts, (1, 2))][0])
        remedy = "Make the region always present, and max_active at most 2."
        raise MisuseError(
            "judge conformal", "have explanations of one or two elements", Clause(f"one has {count}"), remedy
        )
    both = np.sort(elements, axis=1)[:, ::-1][:, :2]  # the larger first, -1 at last
    pairs, where = np.unique(both[counts == 2], axis=0, return_inverse=True)
    element_of = both[:, 0].astype(np.int64)
    element_of[counts == 2] = len(replicates.names) + where.ravel()
    return element_of, [(int(b), int(a)) for a, b in pairs]


@final
@dataclass(frozen=True, slots=True, eq=False)
class ConformalJudge(Judge):
    r"""Rejects the group of a signal with probability at most its level, whatever the noise is like.

    So it does an element that is a group by itself; of several members one with wider spectra is lost more often than
    the others, and the level holds on average over them.

    The unit of the signal is exchangeable with those of its group, and the signal with the spectra in it.  With A the
    angle to the nearest reference of the group, own unit left out, and :math:`n_k` spectra of the group from unit k,
    :math:`p = (1 + \sum_k n_k^{-1}\#\{s: A_{ks} \ge A\}) / (K + 1)` is the gate.  Had the new unit been among the
    references, every :math:`A_{ks}` could only be smaller, so p is no smaller than the p-value of K + 1 exchangeable
    units.  The margin test ranks the signal among the units of the element alone (`Margins`); it is exact if
    other elements come from other units.  Pairs of elements have a test of their own at the whole level (`PairRanks`).

    Something that is not in the library is one more explanation, `p_unlisted`.
    """

    judges_blocks: ClassVar[bool] = True

    spec: ByConformal
    signal: Array  # (q,)
    level: float
    pairs: tuple[tuple[int, int], ...]
    element_of: IntArray  # (M,) the element of each explanation; pairs are numbered after the elements
    seed: int  # of all draws
    measured: MeasuredNoise = field(init=False)  # of the signal and of the replicates
    p_gate: tuple[Fraction, ...] = field(init=False)  # (E,) 1 where the gate has no share of the level
    p_margin: tuple[Fraction, ...] = field(init=False)  # (E,) of the margin test or the pooled one
    p_pairs: tuple[Fraction, ...] = field(init=False)

    def __post_init__(self) -> None:
        check_open("level", self.level, 0.0, 1.0)
        signal = check_array("signal", self.signal, (self.spec.replicates.spectra.shape[1],))
        object.__setattr__(self, "signal", read_only(signal))
        object.__setattr__(self, "measured", MeasuredNoise.of(self.spec.replicates, signal))
        p_values = [self._p_values(index, added) for index, added in enumerate(self._added())]
        for name, column in (("p_gate", 0), ("p_margin", 1)):
            object.__setattr__(self, name, tuple(map(max, zip(*(tests[column] for tests in p_values), strict=True))))
        object.__setattr__(self, "p_pairs", self._p_pairs())

    def _added(self) -> list[Array]:
        """Deviations (S,) of the noise that is added to every replicate before it is ranked, one list after another."""
        n_spectra = len(self.spec.replicates.spectra)
        if self.spec.noise is not None:
            return [np.full(n_spectra, sigma) for sigma in self.spec.noise]
        added = self.measured.added
        return [np.zeros(n_spectra), *([added] if added.any() else [])]

    def _p_pairs(self) -> tuple[Fraction, ...]:
        spec = self.spec
        if not self.pairs:
            return ()
        if spec.pool is not None or any(spec.noise or ()):
            remedy = "Leave pool and noise out, or have one element in every explanation."
            raise MisuseError(
                "judge conformal", "rank pairs of elements as they are", Clause("pool or noise is given"), remedy
            )
        tie = _TIE + (self.measured.turn if spec.noise is None else 0.0)
        cosines = spec.replicates.references @ spec.replicates.unit(self.signal[None])[0]
        return tuple(spec.pair_ranks(pair).p_value(cosines, tie) for pair in self.pairs)

    @property
    def p_unlisted(self) -> Fraction:
        r"""The p-value of a group that is not in the library, and is exchangeable with those that are.

        Of every group one spectrum is drawn, from a unit that is drawn.  With the signal they are E + 1 exchangeable
        spectra of different groups, and A is the angle of each to the nearest of the others:
        :math:`p = (1 + \#\{A_g \le A\}) / (E + 1)`.  The spectrum that is nearest to the signal has no larger an angle
        than the signal, so that p is at least 2 / (E + 1).  1 where pairs may be there, whose mixtures are no group.
        """
        data = self.spec.replicates
        if self.pairs:
            return Fraction(1)
        drawn = Draws(self.seed, _PICKS).uniform((len(data.listed), 2)).tolist()
        picked = [_picked(group.units, *pick) for group, pick in zip(data.listed, drawn, strict=True)]
        spectra = np.concatenate([data.references[picked], data.unit(self.signal[None])])
        angles = np.arccos(np.clip(spectra @ spectra.T, -1.0, 1.0))
        np.fill_diagonal(angles, np.inf)
        nearest = angles.min(axis=1)
        return Fraction(1 + int((nearest[:-1] <= nearest[-1] + _TIE).sum()), len(nearest))

    @property
    def smallest_unlisted(self) -> Fraction:
        """The smallest p-value of that with so many groups."""
        n_groups = len(self.spec.replicates.listed)
        return Fraction(1) if self.pairs else min(Fraction(1), Fraction(2, n_groups + 1))

    @property
    def size(self) -> int:
        """The number of explanations."""
        return len(self.element_of)

    @property
    def n_elements(self) -> int:
        """The number of elements with replicates."""
        return len(self.spec.replicates.names)

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """Rejected by either test, p <= its level; the margin is the larger log(level / p)."""
        chosen = self.element_of[check_indices("explanations", explanations, self.size)]
        distinct, where = np.unique(chosen, return_inverse=True)
        over = [max(part / p for part, p in self._tests(e)) for e in distinct.tolist()]
        is_rejected = np.array([ratio >= 1 for ratio in over], dtype=np.bool_)
        margins = np.array([log(ratio) for ratio in over])
        # The comparison of fractions is exact; its logarithm may round to the other side of 0.
        lower = np.where(is_rejected, np.maximum(margins, 0.0), np.minimum(margins, 0.0))
        codes = np.where(is_rejected, Verdict.REJECTED, Verdict.ADMISSIBLE).astype(np.uint8)
        return Verdicts(codes, lower, np.where(is_rejected, np.maximum(lower, _LEAST), lower)).rows(where)

    def facts(self, possible: IntArray) -> dict[str, object]:
        """Units that each element or pair is ranked among, its p-value, and what cannot be excluded.

        Labels are withheld where nothing is possible but what no signal could exclude.  `is_complete` is False where
        something besides the explanations that could be excluded is possible: such elements, or an unlisted one.
        """
        elements = self.spec.replicates.names
        names = [*elements, *(f"{elements[a]} and {elements[b]}" for a, b in self.pairs)]
        among = [self.spec.pair_units(pair) for pair in self.pairs]
        # The gate speaks for groups of several elements, the margin for others.
        speaks = int(self.spec.own_share == 1.0)
        p_values = [float(p) for p in (*(self.p_gate, self.p_margin)[speaks], *self.p_pairs)]
        ranked = self.spec.n_units[speaks]
        units = [*ranked.tolist(), *(list(each.counts) for each in among)]
        smallest = [*(1.0 / (ranked + 1.0)).tolist(), *(float(each.smallest) for each in among)]
        is_asked = np.isin(np.arange(len(names)), self.element_of)
        best = int(np.where(is_asked, p_values, -1.0).argmax())
        stuck = self.spec.cannot_exclude(self.level, self.pairs)
        unlisted = self.p_unlisted
        measured = self.measured
        is_excluded = bool(unlisted <= Fraction(self.level))
        return {
            "best": int(np.argmax(self.element_of == best)),
            "is_withheld": bool(len(possible) and stuck[self.element_of[possible]].all()),
            "assumes": self.spec.assumes + (_PAIRS if among else ""),
            "lacks": "units" if self.spec.own_share else "units and share",
            "units": dict(zip(names, units, strict=True)),
            "smallest_p": dict(zip(names, smallest, strict=True)),
            "p": dict(zip(names, p_values, strict=True)),
            "cannot_exclude": [names[e] for e in np.flatnonzero(stuck & is_asked).tolist()],
            "unlisted": {
                "p": float(unlisted),
                "smallest_p": float(self.smallest_unlisted),
                "is_excluded": is_excluded,
            },
            "is_complete": is_excluded and not bool((stuck & is_asked).any()),
            "replicate_noise": {
                "signal": measured.signal,
                "replicates": measured.replicates,
                "stated": None if self.spec.noise is None else list(self.spec.noise),
            },
        }

    def _tests(self, e: int) -> list[tuple[Fraction, Fraction]]:
        """Levels above 0 and p-values of an element, or a pair."""
        if e >= self.n_elements:
            return [(Fraction(self.level), self.p_pairs[e - self.n_elements])]
        parts = zip(self.spec.levels(self.level), (self.p_gate[e], self.p_margin[e]), strict=True)
        return [(part, p) for part, p in parts if part]

    def _p_values(self, index: int, added: Array) -> tuple[list[Fraction], list[Fraction]]:
        """The p-values of gate and margin for every element; what is ranked gets noise of these deviations (S,)."""
        data = self.spec.replicates
        gate, margin = (part > 0 for part in self.spec.levels(self.level))
        # Only what is ranked has noise: a reference that lacks it is as near to all of them.
        ranked = data.references
        if added.any():
            drawn = Draws(self.seed, _NOISE + 16 * index).normal(data.spectra.shape)
            ranked = data.unit(data.spectra + added[:, None] * drawn)
        own = data.unit(self.signal[None])
        nothing = [Fraction(1)] * self.n_elements
        if self.spec.pool is not None:
            angles = np.arccos(np.clip(np.concatenate([ranked, own]) @ data.references.T, -1.0, 1.0))  # (S + 1, S)
            angles[:-1][data.unit_of[:, None] == data.unit_of] = np.inf
            return nothing, pooled_p_values(data, angles, self.seed)
        return (
            self._gate(ranked, own[0]) if gate else nothing,
            self.spec.margins.p_values(np.concatenate([ranked, own]), self.seed) if margin else nothing,
        )

    def _gate(self, ranked: Array, own: Array) -> list[Fraction]:
        """(1 + units' shares of spectra at least as far from their group as the signal) / (K + 1), of every element."""
        data = self.spec.replicates
        nearest = data.nearest if ranked is data.references else data.nearest_of(ranked)
        scores = np.arccos(np.clip(nearest, -1.0, 1.0))
        to_signal = np.arccos(np.clip(data.references @ own, -1.0, 1.0))
        p_values = []
        for group in data.listed:
            exceeds = scores[group.members] >= to_signal[group.members].min() - _TIE
            counts = np.bincount(group.sizes, weights=exceeds)
            shares = sum((Fraction(int(counts[n]), n) for n in np.flatnonzero(counts).tolist()), Fraction(0))
            p_values.append((1 + shares) / (1 + len(group.units)))
        return [p_values[int(group)] for group in data.group_of]


def _picked(units: Sequence[IntArray], first: float, second: float) -> int:
    """One of the spectra of these units: first and second within (0, 1) choose a unit, and a spectrum of it."""
    within = units[int(first * len(units))]
    return int(within[int(second * len(within))])
