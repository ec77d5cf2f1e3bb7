"""All that decides about a map before a signal is read, and what one block of signals comes to."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast, final

import numpy as np
from numpy.typing import NDArray

from .._checks import check_open
from .._errors import MisuseError
from .._hashes import content_hash, pieces_hash
from .._typing import Array, IntArray
from ..analysis import AnalysisProtocol
from ..judges.rotation import Rotation
from ..questions import Label, RegionalMap
from ._engine import BlockJudge, BlockVerdicts, block_judge, in_order
from ._fission import Fission
from ._labels import LABELS, STATEMENTS, Labeller
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
    leaves it out.  keys: (M,) the explanation of the table that each explanation of the question is; the same unless
    given.  whitener: (p, q) by which signals are multiplied; None leaves them as they are.
    """

    spec: Rotation | Fission
    question: RegionalMap
    level: float
    rate: float | None = None
    keys: IntArray | None = None
    whitener: Array | None = None

    @classmethod
    def of(cls, protocol: AnalysisProtocol, rate: float | None = None) -> "MapProtocol":
        """What a protocol asks of the rows of its only stream, asked of every signal by itself; no row is read."""
        bank, question = protocol.bank, cast(RegionalMap, protocol.question)
        rotations = getattr(protocol.judge, "rotations", None)
        if bank is None or len(protocol.streams) != 1 or rotations is None or not hasattr(question, "asked"):
            rule = "have one stream of rows, judged by rotation, and a question of regions, to be asked of many signals"
            raise MisuseError("protocol", rule, f"the streams {tuple(protocol.streams)}")
        (plan,) = protocol.streams.values()
        law = plan.law.completed(bank)
        design = law.design(bank)
        if design is None or len(design.deviations) != 1 or law.is_complex:
            rule = "have real rows that are linear in free coefficients, and one setting of the noise, for a map"
            raise MisuseError("law", rule, law.name)
        described = {"bank": bank.digest, "law": law.encode(), "judge": protocol.judge.encode(), "seed": protocol.seed}
        seed = int(content_hash({"question": question.describe(), "level": protocol.level, **described}), 16)
        (spec,) = rotations(design, 1, law.width(bank), seed)
        keys = law.keys(bank)(np.arange(bank.size))
        return cls(spec, question, protocol.level, rate, keys, design.whitener)

    @property
    def channels(self) -> int:
        """Of a signal as it was measured."""
        return len(self.spec.table.atoms) if self.whitener is None else int(self.whitener.shape[1])

    def __post_init__(self) -> None:
        check_open("level", self.level, 0.0, 1.0)
        if self.rate is not None:
            check_open("rate", self.rate, 0.0, 1.0)
        keys = np.arange(self.spec.table.size) if self.keys is None else np.asarray(self.keys)
        if keys.shape != (self.question.n_explanations,) or keys.min() < 0 or keys.max() >= self.spec.table.size:
            rule = f"be about the {self.spec.table.size} explanations of the table"
            raise MisuseError("question", rule, f"{self.question.n_explanations} explanations")

    @cached_property
    def content(self) -> dict[str, object]:
        """What is hashed."""
        table, outsiders, own = self.spec.table, self.spec.outsiders, getattr(self.spec, "encode", None)
        columns = () if outsiders is None or outsiders.columns is None else (outsiders.columns,)
        return {
            **(own() if own is not None else _rotation_content(cast(Rotation, self.spec))),
            "atoms": pieces_hash(repr(table.atoms.shape), table.atoms, np.asarray(table.background)),
            "supports": pieces_hash(repr(table.supports)),
            "outsiders": None if outsiders is None else [outsiders.share, [*outsiders.lags], pieces_hash(*columns)],
            "question": self.question.describe(),
            "keys": None if self.keys is None else pieces_hash(np.asarray(self.keys)),
            "whitener": None if self.whitener is None else pieces_hash(self.whitener),
            "level": self.level,
            "rate": self.rate,
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return content_hash(self.content)

    def levels(self, count: int) -> Array:
        """(L,) falling, for so many signals: that of each, and candidates for the share of false statements."""
        return candidate_levels(self.level, self.rate, count, self.are_e_values)

    @property
    def are_e_values(self) -> bool:
        """Whether levels are those of evidence, for which no dependence between signals costs anything."""
        return bool(getattr(self.spec, "are_e_values", False))

    def work(self, count: int, threads: int) -> "BlockWork":
        """What does not depend on the signals, for so many of them."""
        levels = self.levels(count)
        own = getattr(self.spec, "block_judge", None)
        judge = own(levels) if own is not None else block_judge(cast(Rotation, self.spec), levels, threads)
        keys = None if self.keys is None else np.asarray(self.keys)
        return BlockWork(judge, Labeller.of(self.question), len(levels), keys, self.whitener)

    def fields(self, layer: str) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Types and further axes of the arrays of a layer."""
        regions, n_bytes = len(self.question.regions), -(-self.question.n_explanations // 8)
        sets = {"label": ("u1", (regions,)), "group": ("i2", (regions,)), "kept": ("u1", (n_bytes,))}
        if layer == "share":
            return {f"share_{name}": form for name, form in sets.items()}
        single = {"best": "i4", "amplitude": "f8", "noise": "f8", "outsider": "i4", "gate": "u1", "evidence": "u1"}
        return sets | {name: (form, ()) for name, form in single.items()}


def _rotation_content(spec: Rotation) -> dict[str, object]:
    return {
        "judge": "rotation",
        "assumes": "the noise of every signal is white and Gaussian, of unknown level unless given",
        "draws": [spec.seed, spec.draws, spec.gate_draws],
        "statistic": [spec.rows, spec.penalty, spec.sigma, repr(spec.companions)],
    }


@final
@dataclass(frozen=True, slots=True, eq=False)
class BlockWork:
    """From signals to the arrays of a map, without any that another signal decides."""

    judge: BlockJudge
    labeller: Labeller
    n_levels: int
    keys: IntArray | None
    whitener: Array | None

    def first(self, rows: Array) -> Pieces:
        """The layer at the level of each signal, and at how many levels its labels still state something."""
        found = self._judged(rows)
        kept = found.kept()
        is_empty = found.is_data & ~kept.any(axis=1)
        gate = np.select([~found.is_data, is_empty, found.is_best_rejected], [NO_DATA, EMPTY, WITHHELD], OPEN).astype(
            np.uint8
        )
        sets = self._sets(kept, gate)
        evidence, stands = np.zeros(len(rows), dtype=np.uint8), gate == OPEN
        for level in range(self.n_levels):
            labels = sets["label"] if level == 0 else self._sets(found.kept(level), gate)["label"]
            stands = stands & STATEMENTS[labels].any(axis=1)
            evidence += stands
        best = self._original(found.best)
        return sets | {
            "best": best.astype(np.int32),
            "amplitude": found.amplitude,
            "noise": found.noise,
            "outsider": found.outsider.astype(np.int32),
            "gate": gate,
            "evidence": evidence,
        }

    def second(self, rows: Array, level: int) -> Pieces:
        """The layer at a smaller level, of signals that state something there."""
        sets = self._sets(self._judged(rows).kept(level), np.zeros(len(rows), dtype=np.uint8))
        return {f"share_{name}": piece for name, piece in sets.items()}

    def _judged(self, rows: Array) -> BlockVerdicts:
        return self.judge.judge(rows if self.whitener is None else in_order(rows, self.whitener.T))

    def _sets(self, kept: NDArray[np.bool_], gate: NDArray[np.uint8]) -> Pieces:
        """Labels of open signals; the others abstain, or are empty."""
        asked = kept if self.keys is None else kept[:, self.keys]
        label, group = self.labeller.label(np.ascontiguousarray(asked))
        label[(gate == WITHHELD) | (gate == NO_DATA)] = LABELS.index(Label.ABSTAIN)
        return {"label": label, "group": group, "kept": np.packbits(asked, axis=1, bitorder="little")}

    def _original(self, best: IntArray) -> IntArray:
        """Explanations of the table as the first of the question that is the same."""
        if self.keys is None:
            return best
        first = np.array([int(np.argmax(self.keys == key)) for key in range(int(self.keys.max()) + 1)])
        return np.where(best < 0, -1, first[best])
