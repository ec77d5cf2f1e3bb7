r"""The protocol of a map, fixed before a signal is read, and the labels of one block of signals.

The second layer bounds the share of false statements over a map, beside the level of every signal.
A label at level a is false only if the explanation that made the signal is rejected at a.  With R statements of m
signals made at one common level :math:`a \le qR/(m h)`, the expected share of false ones among them is at most q:
h = 1 for e-values (e-BH) and :math:`h = \sum_{k \le m} 1/k` for p-values (Benjamini and Yekutieli), whatever the
dependence of the signals.  R may depend on the data: here the largest level of a list is taken that the statements
standing at it pay for.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from .._checks import check_open
from .._codec import content_hash
from .._compiled import cached_njit
from .._errors import Clause, MisuseError
from .._typing import Array, BoolArray, Field, IntArray
from ..analysis import AnalysisProtocol
from ..io import as_pairs
from ..judges import ByInvariant
from ..judges.rotation import ByRotation
from ..questions import LABELS as LABELS, AskedRegion, Label, RegionalMap, SetFacts, labels
from ._fission import Fission, RotatedSignals
from ._invariant import InvariantSignals, is_shared
from ._judge import ERRORS, BlockJudge, BlockVerdicts, ProtocolSignals, SignalJudge
from ._nulls import is_tabulated

# Shares R/m for which a level is kept ready, from all signals down to one of them, whose own is added.
_SHARES = 2.0 ** -np.append(np.arange(0.0, 8.0, 0.5), np.arange(8.0, 41.0))


def price(count: int, are_e_values: bool) -> float:
    """H: what dependence between m p-values may cost."""
    return 1.0 if are_e_values else float((1.0 / np.arange(1, count + 1)).sum())


def candidate_levels(level: float, rate: float | None, count: int, are_e_values: bool) -> Array:
    """(L,) falling: the level of each signal, and below it those at which the share of false statements may be held."""
    if rate is None:
        return np.array([level])
    shares = np.append(_SHARES[_SHARES * count > 1.0], 1.0 / count)
    levels = rate * shares / price(count, are_e_values)
    return np.append(level, levels[levels < level])


def chosen_level(levels: Array, statements: IntArray, rate: float, count: int, are_e_values: bool) -> int | None:
    """Number of the largest level that so many statements (L,) at each of them pay for; None if they pay for none."""
    is_paid = levels * count * price(count, are_e_values) <= rate * statements * (1.0 + 1e-12)
    return int(is_paid.argmax()) if is_paid.any() else None


STATEMENTS = np.array([label.is_truth_level for label in LABELS])
Words = NDArray[np.uint64]


class _Region(NamedTuple):
    """A region in the form that the kernel works with; sets of elements are bits of words, bit i is element i."""

    slots: IntArray  # (M,) the element of every explanation, -1 where the region is absent
    witnesses: BoolArray  # (M,) whether a lack is taken as witness of absence
    far: Words  # (m, w) of every element, those farther away than the tolerance
    groups: Words  # (g, w) smallest first, the last is the region itself


@final
@dataclass(frozen=True, slots=True, eq=False)
class Labeller:
    """Labels of signals whose kept explanations are all that is possible, and all of them witnessed.

    Amplitudes are open, so that thresholds of strength mean nothing and are refused.
    """

    regions: tuple[tuple[AskedRegion, _Region], ...]

    @classmethod
    def of(cls, question: RegionalMap) -> "Labeller":
        """The same regions and rules."""
        every = np.arange(question.n_explanations)
        slots = question.slots(every)
        parts = []
        for number, region in enumerate(question.asked_regions):
            if region.threshold is not None:
                rule = f"be left out of region {region.name!r}: amplitudes are open, and none is told from another"
                raise MisuseError("absence_threshold", rule, region.threshold)
            size = len(region.elements)
            needs_only = region.needs_persistent_only
            witnesses = question.view.persistent_only(every) if needs_only else np.ones(len(every), dtype=np.bool_)
            groups = np.stack([_words(members, size) for _, members in region.groups])
            far = np.stack([_words(region.far(i), size) for i in range(size)])
            parts.append((region, _Region(np.ascontiguousarray(slots[:, number]), witnesses, far, groups)))
        return cls(tuple(parts))

    def label(self, kept: BoolArray) -> tuple[NDArray[np.uint8], NDArray[np.int16]]:
        """Numbers of labels and of groups (S, R) of signals that keep (S, M); group -1 where presence is open."""
        numbers = np.empty((len(kept), len(self.regions)), dtype=np.uint8)
        sectors = np.empty((len(kept), len(self.regions)), dtype=np.int16)
        for column, (rule, region) in enumerate(self.regions):
            flags, sector = _summaries(kept, region)
            present, absent, accepted, is_close = flags.T
            possible = SetFacts(present, absent, present, is_close, sector)
            numbers[:, column] = labels(possible, possible._replace(is_absent=accepted), rule)
            sectors[:, column] = np.where(present & ~absent, sector, -1)
        return numbers, sectors


def _words(members: int, size: int) -> Words:
    count = -(-size // 64)
    return np.frombuffer(members.to_bytes(8 * count, "little"), dtype="<u8").astype(np.uint64)


@cached_njit(nogil=True)
def _meets(first: Words, second: Words) -> bool:
    for i in range(len(first)):  # noqa: SIM110  numba has no any of a generator
        if first[i] & second[i]:
            return True
    return False


@cached_njit(nogil=True)
def _sector(members: Words, groups: Words) -> int:
    """The smallest group that holds all members."""
    for g in range(len(groups)):
        is_within = True
        for i in range(len(members)):
            is_within = is_within and members[i] & ~groups[g, i] == 0
        if is_within:
            return g
    return len(groups) - 1


@cached_njit(nogil=True)
def _is_close(members: Words, far: Words) -> bool:
    for element in range(len(far)):
        if members[element >> 6] >> np.uint64(element & 63) & np.uint64(1) and _meets(far[element], members):
            return False
    return True


@cached_njit(nogil=True)
def _summaries(kept: BoolArray, region: _Region) -> tuple[BoolArray, IntArray]:
    """(S, 4) whether some has the region, lacks it, witnesses its absence, and no two lie apart; (S,) the group.

    Distances count only where all have the region; elsewhere they are not looked at.
    """
    flags = np.zeros((len(kept), 4), dtype=np.bool_)
    sectors = np.empty(len(kept), dtype=np.int64)
    members = np.empty(region.far.shape[1], dtype=np.uint64)
    for s in range(len(kept)):
        members[:] = 0
        for e in range(kept.shape[1]):
            if kept[s, e]:
                slot = region.slots[e]
                if slot < 0:
                    flags[s, 1] = True
                    flags[s, 2] |= region.witnesses[e]
                else:
                    flags[s, 0] = True
                    members[slot >> 6] |= np.uint64(1) << np.uint64(slot & 63)
        flags[s, 3] = flags[s, 1] or _is_close(members, region.far)
        sectors[s] = _sector(members, region.groups)
    return flags, sectors


# What stands between a signal and its label, by number.
GATES = ("open", "withheld", "empty", "no data")
OPEN, WITHHELD, EMPTY, NO_DATA = range(len(GATES))
Pieces = dict[str, NDArray[Any]]


@final
@dataclass(frozen=True, eq=False)  # no slots: the digest is taken when first asked for
class MapProtocol:
    """One bank, one question and one judge for all signals.

    level: of every signal by itself.  rate: the expected share of false statements among those of a second layer; None
    leaves it out.
    """

    judge: SignalJudge
    question: RegionalMap
    level: float
    rate: float | None = None
    channels: tuple[str, ...] | None = None  # names, to which those of signals are matched

    @classmethod
    def of(
        cls,
        protocol: AnalysisProtocol,
        rate: float | None = None,
        *,
        calibration: NDArray[np.generic] | None = None,
        repeats: int = 1,
    ) -> "MapProtocol":
        """Ask of every signal what a protocol asks of its deployment rows; no signal is read here.

        calibration: rows of that stream, where the protocol has one; they are judged once.  repeats: rows of a signal.
        """
        question = protocol.question
        if not isinstance(question, RegionalMap):
            raise MisuseError("protocol", "have a question of regions, to be asked of many signals", "another")
        if protocol.cover is not None:
            remedy = "List the elements, or ask about signals one by one."
            raise MisuseError(
                "cover", "be left out where many signals are asked about", Clause("there is none"), remedy
            )
        if (
            rate is not None
            and protocol.bank is not None
            and protocol.judge.unrejectable(protocol.bank, 0.0) is not None
        ):
            rule = "be left out with a judge that cannot reject at the small levels that it needs"
            raise MisuseError("rate", rule, rate, "Leave it out: every signal then has its own level.")
        judge: SignalJudge | None = None
        if calibration is None and "calibration" not in protocol.streams:
            judge = _shared(protocol, repeats)
        if judge is None:
            part = None
            if calibration is not None:
                rows = as_pairs(calibration) if calibration.dtype.kind == "c" else calibration
                part = protocol.propose("calibration", rows)
            judge = ProtocolSignals(protocol, part)
        names = None if protocol.bank is None else protocol.bank.channels
        return cls(judge, question, protocol.level, rate, names)

    def __post_init__(self) -> None:
        check_open("level", self.level, 0.0, 1.0)
        if self.rate is not None:
            check_open("rate", self.rate, 0.0, 1.0)
        if self.question.n_explanations != self.judge.n_explanations:
            rule = f"be about the {self.judge.n_explanations} explanations of the judge"
            raise MisuseError("question", rule, f"{self.question.n_explanations} explanations")

    @cached_property
    def content(self) -> dict[str, object]:
        """The content that is hashed."""
        about = {"question": self.question.describe(), "level": self.level, "rate": self.rate}
        return {**self.judge.encode(), **about}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return content_hash(self.content)

    def levels(self, count: int) -> Array:
        """(L,) falling, for so many signals: that of each, and candidates for the share of false statements."""
        return candidate_levels(self.level, self.rate, count, self.judge.are_e_values)

    def work(self, count: int, threads: int, repeats: int = 1) -> "BlockWork":
        """Compute all that does not depend on the signals, for so many of them, of so many rows."""
        levels = self.levels(count)
        return BlockWork(
            self.judge.block_judge(levels, threads, repeats),
            Labeller.of(self.question),
            len(levels),
            self.judge.stated_error,
        )


def _shared(protocol: AnalysisProtocol, repeats: int) -> SignalJudge | None:
    """A judge of which all but a few products is computed once for all signals; None where there is no such way.

    That is so of rotations whose critical values one table holds, of invariant evidence, and of evidence of fissioned
    rows of known noise, of explanations of at most one atom with any coefficient.
    """
    bank = protocol.bank
    judge = protocol.judge
    if bank is None or [*protocol.streams] != ["deployment"]:
        return None
    law = protocol.streams["deployment"].law.completed(bank)
    design = law.design(bank)
    if design is None or len(design.deviations) != 1 or law.is_complex or law.is_counted or not law.has_spans:
        return None
    own = judge.rotations(design, repeats, law.width(bank), protocol.seed)
    (spec,) = own or ByRotation().rotations(design, repeats, law.width(bank), protocol.seed)
    keys = law.keys(bank)(np.arange(bank.size))
    if own is not None:
        return RotatedSignals(spec, keys, design.whitener) if is_tabulated(spec) else None
    if isinstance(judge, ByInvariant):
        completed = judge.completed(bank, [law])
        return InvariantSignals(spec, design, completed, keys) if is_shared(spec) else None
    if judge.fissions and spec.sigma is not None and not design.is_bounded and int(spec.table.ranks.max()) <= 1:
        fission = Fission(spec.table, spec.sigma, protocol.seed, judge.fissions, keys=keys, whitener=design.whitener)
        return replace(fission, noise=judge.noise_share, design=design)
    return None


@final
@dataclass(frozen=True, slots=True, eq=False)
class BlockWork:
    """Compute the arrays of a map that depend on each signal alone."""

    judge: BlockJudge
    labeller: Labeller
    n_levels: int
    stated_error: float | None = None

    def first(self, rows: Field) -> Pieces:
        """The layer at the level of each signal, and at how many levels its labels still state something."""
        verdicts = self.judge(rows)
        kept = verdicts.kept()
        is_empty = verdicts.is_data & ~kept.any(axis=1)
        gate = np.select(
            [~verdicts.is_data, is_empty, verdicts.is_best_rejected], [NO_DATA, EMPTY, WITHHELD], OPEN
        ).astype(np.uint8)
        sets = self._sets(kept, verdicts)
        sets["label"][(gate == WITHHELD) | (gate == NO_DATA)] = LABELS.index(Label.ABSTAIN)
        return sets | {
            "best": verdicts.best.astype(np.int32),
            "amplitude": verdicts.amplitude,
            "noise": verdicts.noise,
            "outsider": verdicts.outsider.astype(np.int32),
            "gate": gate,
            **self._width(verdicts, gate),
            "misfit": verdicts.misfit,
            "evidence": self._evidence(verdicts, (gate == OPEN)[:, None] & STATEMENTS[sets["label"]]),
        }

    def _width(self, verdicts: BlockVerdicts, gate: NDArray[np.uint8]) -> Pieces:
        """The smallest error at which something fits, and the answer where the staircase is read, with its reach.

        That is the stated error or twice the smallest at which something fits, whichever is larger, or the next one of
        ERRORS: what is certain at an error is certain at every smaller one at which something fits.
        """
        if verdicts.kept_from is None or verdicts.fits_from is None or self.stated_error is None:
            return {}
        errors = np.array(ERRORS)
        fits_from = np.append(errors, np.nan)[np.where(gate == NO_DATA, len(errors), verdicts.fits_from)]
        read = np.searchsorted(errors, np.maximum(np.nan_to_num(2.0 * fits_from), self.stated_error) * (1.0 - 1e-12))
        read = np.minimum(read, len(errors) - 1)
        sets = self._sets(verdicts.kept_from <= read[:, None], verdicts)
        sets["label"][np.isnan(fits_from)] = LABELS.index(Label.ABSTAIN)
        is_standing = STATEMENTS[sets["label"]]
        stands_to = np.where(is_standing, errors[read][:, None], np.nan)
        for number in range(int(read.min(initial=0)) + 1, len(errors)):
            label, group = self.labeller.label(verdicts.kept_from <= number)
            is_same = (label == sets["label"]) & (group == sets["group"])
            is_later = (number > read)[:, None]
            is_standing &= is_same | ~is_later
            stands_to = np.where(is_standing & is_later, errors[number], stands_to)
        return {"fits_from": fits_from, "stands_to": stands_to} | {f"read_{name}": part for name, part in sets.items()}

    def _evidence(self, verdicts: BlockVerdicts, stands: BoolArray) -> NDArray[np.uint8]:
        """(S, R) at how many levels a label states something, of regions (S, R) where it does so at the first.

        What is kept grows as levels fall, so that a label which states nothing at one of them states nothing beyond.
        """
        evidence = stands.astype(np.uint8)
        standing = np.flatnonzero(stands.any(axis=1))
        for level in range(1, self.n_levels):
            labels, _ = self.labeller.label(verdicts.codes[standing] <= level)
            still = STATEMENTS[labels] & (evidence[standing] == level)
            evidence[standing] += still
            standing = standing[still.any(axis=1)]
        return evidence

    def second(self, rows: Field, level: int) -> Pieces:
        """The layer at a smaller level, of signals that state something there."""
        verdicts = self.judge(rows)
        sets = self._sets(verdicts.kept(level), verdicts)
        return {f"share_{name}": piece for name, piece in sets.items()}

    def _sets(self, kept: BoolArray, verdicts: BlockVerdicts) -> Pieces:
        """Labels and groups of the kept explanations; nothing is FINE if something outside the bank is possible."""
        label, group = self.labeller.label(kept)
        if verdicts.is_complete is not None:
            is_coarse = ~verdicts.is_complete[:, None] & (label == LABELS.index(Label.FINE))
            label[is_coarse] = LABELS.index(Label.GROUP)
        return {"label": label, "group": group, "kept": np.packbits(kept, axis=1, bitorder="little")}
