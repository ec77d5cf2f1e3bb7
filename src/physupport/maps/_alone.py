"""Judges of signals: rotations, from one table or signal by signal, and protocols asked as a report would."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, Protocol, cast, final

import numpy as np
from numpy.typing import NDArray

from .._codec import described
from .._errors import MisuseError
from .._hashes import pieces_hash, rows_seed
from .._typing import Array, BoolArray, Field, IntArray
from ..analysis import AnalysisProtocol, ProposedStream
from ..banks import Bank
from ..io import ArrayRows, as_complex, as_pairs
from ..judges import Judge, Verdict, Verdicts
from ..judges.rotation import Rotation, RotationJudge
from ..laws import Law
from ._engine import BlockJudge, BlockVerdicts, Tabulated, are_data, check_levels, whitened
from ._nulls import FAILURE, GOOD_DRAWS, WANTED_OUTSIDERS, WANTED_RIVALS, is_tabulated

_SLACK = 1e-9  # of logs of evidence, far more than their rounding


class SignalVerdicts(NamedTuple):
    """Verdicts of a judge on one signal."""

    codes: NDArray[np.uint8]  # (M,) at how many levels, from the largest, an explanation is rejected
    best: int
    is_withheld: bool  # by the facts of the judge
    amplitude: float  # length of the best fit beside the background
    noise: float  # standard deviation that it leaves
    misfit: float  # p-value of the gate for it; nan without one
    is_complete: bool = True  # False if something besides what could be rejected is possible: nothing is FINE


class SignalAsker(Protocol):
    """Can be asked about one signal."""

    @property
    def n_explanations(self) -> int:
        """How many there are."""

    def ask(self, rows: Field, levels: Array) -> SignalVerdicts:
        """Judge the rows (T, q) of a signal, at levels (L,) that fall."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class OneByOne:
    """The judge of a block that asks about every signal by itself."""

    asker: SignalAsker
    levels: Array

    def judge(self, rows: Field) -> BlockVerdicts:
        """Judge signals (S, T, q)."""
        is_data = are_data(rows)
        n = len(rows)
        nothing = SignalVerdicts(np.zeros(self.asker.n_explanations, dtype=np.uint8), -1, False, np.nan, np.nan, np.nan)
        said = [self.asker.ask(rows[s], self.levels) if is_data[s] else nothing for s in range(n)]
        columns = (np.array(column) for column in zip(*said, strict=True))
        codes, best, is_withheld, amplitude, noise, misfit, is_complete = columns
        none = np.full(n, -1)
        return BlockVerdicts(codes, best, is_withheld, amplitude, noise, none, is_data, misfit, is_complete)


def misfit_of(p_values: Sequence[float]) -> float:
    """The p-value of a gate that rejects where one of its parts does; nan without parts."""
    return min(1.0, len(p_values) * min(p_values)) if p_values else np.nan


def rejected_at(rejected: Sequence[BoolArray]) -> NDArray[np.uint8]:
    """(M,) at how many levels, from the largest, all of (L, M) reject; what is kept at one is kept at smaller ones."""
    return np.asarray(np.logical_and.accumulate(np.stack(rejected), axis=0).sum(axis=0), dtype=np.uint8)


@final
@dataclass(frozen=True, slots=True, eq=False)
class RotationAsker:
    """The rotation judge of each signal: for pairs, complex rows, known noise and companions.

    The draws come from the seed of the specification and from the signal as it is measured.
    """

    spec: Rotation
    whitener: Field | None = None

    @property
    def n_explanations(self) -> int:
        """Number of explanations in the table."""
        return self.spec.table.size

    def ask(self, rows: Field, levels: Array) -> SignalVerdicts:
        """One judge, asked at every level."""
        every = np.arange(self.n_explanations)
        table = self.spec.table
        own = replace(self.spec, seed=rows_seed(self.spec.seed, rows))
        white = whitened(rows[None], self.whitener)[0]
        judge = RotationJudge(own, white, float(levels[0]))
        rejected = [judge.verdicts(every, level).codes == Verdict.REJECTED for level in levels.tolist()]
        facts = judge.facts(np.flatnonzero(~rejected[0]))
        energy, freedom = judge.rows.residuals(facts.best)
        asked = white.mean(axis=0, keepdims=True) if judge.rows.has_common_mean else white
        along = table.bases[facts.best].conj() @ (table.complement.conj().T @ asked.T)  # (r, T)
        sizes = float(np.linalg.norm(along) / np.sqrt(len(asked))), float(np.sqrt(energy / freedom))
        misfit = misfit_of([finding.p for finding in facts.findings])
        return SignalVerdicts(rejected_at(rejected), facts.best, facts.is_best_rejected, *sizes, misfit)


@final
@dataclass(frozen=True, eq=False)  # no slots: the law is completed when first asked for
class ProtocolSignals:
    """Every signal takes the place of the deployment rows of a protocol, whoever judges these.

    calibration: proposed and scored once, for all signals; None of a protocol without these.
    """

    protocol: AnalysisProtocol
    calibration: ProposedStream | None = None
    places: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        wanted = {"deployment"} if self.calibration is None else {"calibration", "deployment"}
        if self.protocol.bank is None or {*self.protocol.streams} != wanted:
            raise MisuseError("protocol", f"have a bank and the streams {sorted(wanted)}", [*self.protocol.streams])

    @property
    def bank(self) -> Bank:
        """The bank of the protocol."""
        assert self.protocol.bank is not None
        return self.protocol.bank

    @cached_property
    def law(self) -> Law:
        """The law of the deployment rows, completed."""
        return self.protocol.streams["deployment"].law.completed(self.bank)

    @property
    def are_e_values(self) -> bool:
        """True if the judge of the protocol gives e-values."""
        return self.protocol.judge.are_e_values

    @property
    def n_explanations(self) -> int:
        """Number of explanations in the bank."""
        return self.bank.size

    @property
    def is_complex(self) -> bool:
        """True if the law is one of complex rows."""
        return self.law.is_complex

    @property
    def channels(self) -> int:
        """Numbers of a row as it is measured."""
        return self.law.width(self.bank) // (2 if self.is_complex else 1)

    def encode(self) -> dict[str, object]:
        """Return what a report records of its protocol, the question apart; calibration rows by their hash."""
        protocol = self.protocol
        part = self.calibration
        return {
            **described("judge", protocol.judge.encode()),
            "bank": self.bank.digest,
            "law": self.law.encode(),
            "seed": protocol.seed,
            "proposal": protocol.streams["deployment"].fraction,
            "calibration": None if part is None else {**part.describe(), "held_out": part.held_out.digest()},
        }

    def block_judge(self, levels: Array, threads: int, repeats: int) -> OneByOne:  # noqa: ARG002
        """Refuses so many rows a signal as the judge cannot judge."""
        self.protocol.judge.check_rows(self.law, repeats)
        return OneByOne(self, levels)

    def ask(self, rows: Field, levels: Array) -> SignalVerdicts:
        """Return the verdicts of a report on these rows, at each of the levels."""
        judge, verdicts = self._opened(rows, self.protocol)
        rejected = [verdicts.codes == Verdict.REJECTED]
        if self.are_e_values:  # the margin is the log of the evidence times the level
            rejected += [verdicts.lower > np.log(levels[0] / level) + _SLACK for level in levels[1:].tolist()]
        else:
            rejected += self._reopened(rows, levels[1:])
        facts = judge.facts(np.flatnonzero(~rejected[0])) or {}
        best = int(str(facts.get("best", verdicts.upper.argmin())))
        is_withheld = bool(facts.get("is_withheld"))
        is_complete = bool(facts.get("is_complete", True))
        findings = cast("Sequence[Mapping[str, float]]", facts.get("findings", ()))
        misfit = misfit_of([finding["p"] for finding in findings])
        sizes = self._sizes(rows, best)
        return SignalVerdicts(rejected_at(rejected), best, is_withheld, *sizes, misfit, is_complete)

    def _reopened(self, rows: Field, levels: Array) -> list[BoolArray]:
        """At each level, until one is too small for the judge to reject anything."""
        rejected = []
        for level in levels.tolist():
            try:
                rejected.append(self._opened(rows, replace(self.protocol, level=level))[1].codes == Verdict.REJECTED)
            except MisuseError:
                break
        return rejected

    def _opened(self, rows: Field, protocol: AnalysisProtocol) -> tuple[Judge, Verdicts]:
        given = {"deployment": as_pairs(rows) if self.law.is_complex else rows}
        seal = protocol.read(**({} if self.calibration is None else {"calibration": self.calibration}), **given)
        return seal.judge, seal.verdicts()

    def _sizes(self, rows: Field, best: int) -> tuple[float, float]:
        """Amplitude and noise, in units of whitened rows where the law has a design."""
        fit = self.fitted(rows, best)
        design = self.law.design(self.bank)
        if fit is None or design is None:
            return np.nan, np.nan
        active = design.supports.shape[1]
        background = design.background
        left = design.whitened((rows - fit).T)
        own = design.whitened(fit[:, None])[:, 0]
        beside = own - background @ np.linalg.lstsq(background, own, rcond=None)[0] if background.size else own
        freedom = max(left.size - background.shape[1] - active, 1)
        return float(np.linalg.norm(beside)), float(np.linalg.norm(left) / np.sqrt(freedom))

    def fitted(self, rows: Field, explanation: int) -> Field | None:
        """(q,) of the law."""
        given = as_pairs(rows) if self.law.is_complex else rows
        fit = self.law.fitted(self.bank, explanation, ArrayRows(given))
        return as_complex(fit) if fit is not None and self.law.is_complex else fit


@final
@dataclass(frozen=True, slots=True, eq=False)
class RotatedSignals:
    """Have every signal judged by rotations of its residuals; nothing is known of them but that their noise is white.

    keys: (M,) the explanation of the table that each explanation of the question is; the same unless given.
    whitener: (p, q) by which signals are multiplied; None leaves them as they are.
    """

    are_e_values: ClassVar[bool] = False

    spec: Rotation
    keys: IntArray | None = None
    whitener: Field | None = None

    @property
    def n_explanations(self) -> int:
        """Number of explanations in the question."""
        return self.spec.table.size if self.keys is None else len(self.keys)

    @property
    def channels(self) -> int:
        """Numbers of a row as it was measured."""
        return len(self.spec.table.atoms) if self.whitener is None else int(self.whitener.shape[1])

    @property
    def is_complex(self) -> bool:
        """True if the table is complex."""
        return self.spec.table.is_complex

    @property
    def places(self) -> tuple[str, ...]:
        """Names of the outsiders."""
        return () if self.spec.outsiders is None else self.spec.outsiders.places

    def encode(self) -> dict[str, object]:
        """All that decides."""
        spec = self.spec
        table = self.spec.table
        outsiders = self.spec.outsiders
        columns = () if outsiders is None or outsiders.columns is None else (outsiders.columns,)
        looked_for = None if outsiders is None else [outsiders.share, [*outsiders.lags], pieces_hash(*columns)]
        return {
            "judge": "rotation",
            "assumes": "the noise of every signal is white and Gaussian, of unknown level unless given",
            "draws": [spec.seed, spec.draws, spec.gate_draws],
            "table": [FAILURE, WANTED_RIVALS, WANTED_OUTSIDERS, GOOD_DRAWS] if is_tabulated(spec) else None,
            "statistic": [spec.rows, spec.penalty, spec.sigma, repr(spec.companions)],
            "atoms": pieces_hash(repr(table.atoms.shape), table.atoms, np.asarray(table.background)),
            "supports": pieces_hash(repr(table.supports)),
            "outsiders": looked_for,
            "keys": None if self.keys is None else pieces_hash(np.asarray(self.keys)),
            "whitener": None if self.whitener is None else pieces_hash(self.whitener),
        }

    def block_judge(self, levels: Array, threads: int, repeats: int) -> BlockJudge:
        """The table of critical values, if there is one; else every signal has draws of its own."""
        spec = self.spec
        falling = check_levels(levels)
        if is_tabulated(spec):
            judge: BlockJudge = Tabulated.of(spec, falling, threads, repeats, self.whitener)
        else:
            judge = OneByOne(RotationAsker(spec, self.whitener), falling)
        return numbered(judge, self.keys)

    def fitted(self, rows: Field, explanation: int) -> Field:
        """(q,) atoms and background with the coefficients of least squares, as they are measured."""
        table = self.spec.table
        support = table.supports[explanation if self.keys is None else int(self.keys[explanation])]
        columns = np.hstack([table.atoms[:, list(support)], np.asarray(table.background)])
        mean = rows.mean(axis=0)
        if self.whitener is None:
            return np.asarray(columns @ np.linalg.lstsq(columns, mean, rcond=None)[0])
        found = columns @ np.linalg.lstsq(columns, self.whitener @ mean, rcond=None)[0]
        return np.asarray(np.linalg.pinv(self.whitener) @ found)


def numbered(judge: BlockJudge, keys: IntArray | None) -> BlockJudge:
    """The judge, about the explanations of the question."""
    return judge if keys is None else _Keyed(judge, keys)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Keyed:
    """A judge whose explanations have other numbers than those of the question."""

    judge_: BlockJudge
    keys: IntArray

    def judge(self, rows: Field) -> BlockVerdicts:
        """Judge signals (S, T, q)."""
        verdicts = self.judge_.judge(rows)
        first = np.array([int(np.argmax(self.keys == key)) for key in range(verdicts.codes.shape[1])])
        return replace(
            verdicts, codes=verdicts.codes[:, self.keys], best=np.where(verdicts.best < 0, -1, first[verdicts.best])
        )
