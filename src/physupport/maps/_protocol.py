"""All that decides about a map before a signal is read, and what one block of signals comes to."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast, final

import numpy as np
from numpy.typing import NDArray

from .._checks import check_open
from .._errors import MisuseError
from .._hashes import content_hash
from .._typing import Array, BoolArray, Field
from ..analysis import AnalysisProtocol
from ..io import as_pairs
from ..judges.rotation import ByRotation
from ..questions import Label, RegionalMap
from ._alone import ProtocolSignals
from ._engine import BlockJudge, BlockVerdicts, SignalJudge
from ._fission import Fission
from ._labels import LABELS, STATEMENTS, Labeller
from ._nulls import is_tabulated
from ._rotated import RotatedSignals
from ._share import candidate_levels

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

    @classmethod
    def of(
        cls,
        protocol: AnalysisProtocol,
        rate: float | None = None,
        *,
        calibration: NDArray[np.generic] | None = None,
        repeats: int = 1,
    ) -> "MapProtocol":
        """What a protocol asks of its deployment rows, asked of every signal by itself; of these none is read.

        calibration: rows of that stream, where the protocol has one; they are judged once.  repeats: rows of a signal.
        """
        question = cast(RegionalMap, protocol.question)
        if not hasattr(question, "asked_regions"):
            raise MisuseError("protocol", "have a question of regions, to be asked of many signals", "another")
        if protocol.cover is not None:
            remedy = "List the elements, or ask about signals one by one."
            raise MisuseError("cover", "be left out where many signals are asked about", "one", remedy)
        judge: SignalJudge | None = None
        if calibration is None and "calibration" not in protocol.streams:
            judge = _shared(protocol, repeats)
        if judge is None:
            part = None if calibration is None else protocol.propose("calibration", _real(calibration))
            judge = ProtocolSignals(protocol, part)
        return cls(judge, question, protocol.level, rate)

    def __post_init__(self) -> None:
        check_open("level", self.level, 0.0, 1.0)
        if self.rate is not None:
            check_open("rate", self.rate, 0.0, 1.0)
        if self.question.n_explanations != self.judge.n_explanations:
            rule = f"be about the {self.judge.n_explanations} explanations of the judge"
            raise MisuseError("question", rule, f"{self.question.n_explanations} explanations")

    @cached_property
    def content(self) -> dict[str, object]:
        """What is hashed."""
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
        """What does not depend on the signals, for so many of them, of so many rows."""
        levels = self.levels(count)
        return BlockWork(self.judge.block_judge(levels, threads, repeats), Labeller.of(self.question), len(levels))

    def fields(self, layer: str) -> dict[str, tuple[str, dict[str, int]]]:
        """Types and further axes of the arrays of a layer."""
        regions, n_bytes = {"region": len(self.question.regions)}, {"byte": -(-self.question.n_explanations // 8)}
        sets = {"label": ("<u1", regions), "group": ("<i2", regions), "kept": ("<u1", n_bytes)}
        if layer == "share":
            return {f"share_{name}": form for name, form in sets.items()}
        numbers = {"best": "<i4", "amplitude": "<f8", "noise": "<f8", "outsider": "<i4", "gate": "<u1", "misfit": "<f8"}
        return sets | {name: (form, {}) for name, form in numbers.items()} | {"evidence": ("<u1", regions)}


def _real(rows: NDArray[np.generic]) -> NDArray[np.generic]:
    return as_pairs(rows) if rows.dtype.kind == "c" else rows


def _shared(protocol: AnalysisProtocol, repeats: int) -> SignalJudge | None:
    """A judge of which all but a few products is computed once for all signals; None where there is no such way.

    That is so of rotations whose critical values one table holds, and of evidence of fissioned rows of known noise,
    of explanations of at most one atom with any coefficient.
    """
    bank, judge = protocol.bank, protocol.judge
    if bank is None or [*protocol.streams] != ["deployment"]:
        return None
    law = protocol.streams["deployment"].law.completed(bank)
    design = law.design(bank)
    if design is None or len(design.deviations) != 1 or law.is_complex or law.is_counted or not law.has_spans:
        return None
    described = {"bank": bank.digest, "law": law.encode(), "judge": judge.encode(), "seed": protocol.seed}
    question = cast(RegionalMap, protocol.question).describe()
    seed = int(content_hash({"question": question, "level": protocol.level, **described}), 16)
    (spec,) = getattr(judge, "rotations", ByRotation().rotations)(design, repeats, law.width(bank), seed)
    keys, fissions = law.keys(bank)(np.arange(bank.size)), int(getattr(judge, "fissions", 0))
    if hasattr(judge, "rotations"):
        return RotatedSignals(spec, keys, design.whitener) if is_tabulated(spec) else None
    if fissions and spec.sigma is not None and not design.is_bounded and int(spec.table.ranks.max()) <= 1:
        tested = getattr(judge, "noise", None)
        fission = Fission(spec.table, spec.sigma, seed, fissions, keys=keys, whitener=design.whitener)
        return replace(fission, noise=tested, design=design)
    return None


@final
@dataclass(frozen=True, slots=True, eq=False)
class BlockWork:
    """From signals to the arrays of a map, without any that another signal decides."""

    judge: BlockJudge
    labeller: Labeller
    n_levels: int

    def first(self, rows: Field) -> Pieces:
        """The layer at the level of each signal, and at how many levels its labels still state something."""
        verdicts = self.judge.judge(rows)
        kept = verdicts.kept()
        is_empty = verdicts.is_data & ~kept.any(axis=1)
        gate = np.select(
            [~verdicts.is_data, is_empty, verdicts.is_best_rejected], [NO_DATA, EMPTY, WITHHELD], OPEN
        ).astype(np.uint8)
        sets = self._sets(kept, gate)
        return sets | {
            "best": verdicts.best.astype(np.int32),
            "amplitude": verdicts.amplitude,
            "noise": verdicts.noise,
            "outsider": verdicts.outsider.astype(np.int32),
            "gate": gate,
            "misfit": verdicts.misfit,
            "evidence": self._evidence(verdicts, (gate == OPEN)[:, None] & STATEMENTS[sets["label"]]),
        }

    def _evidence(self, verdicts: BlockVerdicts, stands: BoolArray) -> NDArray[np.uint8]:
        """(S, R) at how many levels a label states something, of regions (S, R) where it does so at the first.

        What is kept grows as levels fall, so that a label which states nothing at one of them states nothing beyond.
        """
        evidence, standing = stands.astype(np.uint8), np.flatnonzero(stands.any(axis=1))
        for level in range(1, self.n_levels):
            labels, _ = self.labeller.label(verdicts.codes[standing] <= level)
            still = STATEMENTS[labels] & (evidence[standing] == level)
            evidence[standing] += still
            standing = standing[still.any(axis=1)]
        return evidence

    def second(self, rows: Field, level: int) -> Pieces:
        """The layer at a smaller level, of signals that state something there."""
        sets = self._sets(self.judge.judge(rows).kept(level), np.zeros(len(rows), dtype=np.uint8))
        return {f"share_{name}": piece for name, piece in sets.items()}

    def _sets(self, kept: BoolArray, gate: NDArray[np.uint8]) -> Pieces:
        """Labels of open signals; the others abstain, or are empty."""
        label, group = self.labeller.label(kept)
        label[(gate == WITHHELD) | (gate == NO_DATA)] = LABELS.index(Label.ABSTAIN)
        return {"label": label, "group": group, "kept": np.packbits(kept, axis=1, bitorder="little")}
