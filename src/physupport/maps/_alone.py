"""Signals one by one: each asked as a report on it would ask, by whatever judge there is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, Protocol, cast, final

import numpy as np
from numpy.typing import NDArray

from .._codec import described
from .._errors import MisuseError
from .._typing import Array, BoolArray, Field
from ..analysis import AnalysisProtocol, ProposedStream
from ..banks import Bank
from ..io import ArrayRows, as_complex, as_pairs
from ..judges import Judge, Verdict, Verdicts, check_rows, gives_e_values, judge_facts
from ..judges.rotation import Rotation
from ..laws import Law
from ._engine import BlockVerdicts, are_data
from ._nulls import LEAST_DRAWS

_SLACK = 1e-9  # of logs of evidence, far more than their rounding


class SignalVerdicts(NamedTuple):
    """What a judge says of one signal."""

    codes: NDArray[np.uint8]  # (M,) at how many levels, from the largest, an explanation is rejected
    best: int
    is_best_rejected: bool  # by the gate, so that labels are withheld
    amplitude: float  # length of the best fit beside the background
    noise: float  # standard deviation that it leaves
    misfit: float  # p-value of the gate for it; nan without one


class SignalAsker(Protocol):
    """Can be asked about one signal."""

    @property
    def n_explanations(self) -> int:
        """How many there are."""

    def ask(self, rows: Field, levels: Array) -> SignalVerdicts:
        """Of the rows (T, q) of a signal, at levels (L,) that fall."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class OneByOne:
    """The judge of a block that asks about every signal by itself."""

    asker: SignalAsker
    levels: Array

    def judge(self, rows: Field) -> BlockVerdicts:
        """Of signals (S, T, q)."""
        is_data, n = are_data(rows), len(rows)
        nothing = SignalVerdicts(np.zeros(self.asker.n_explanations, dtype=np.uint8), -1, False, np.nan, np.nan, np.nan)
        said = [self.asker.ask(rows[s], self.levels) if is_data[s] else nothing for s in range(n)]
        codes, best, is_rejected, amplitude, noise, misfit = (np.array(column) for column in zip(*said, strict=True))
        return BlockVerdicts(codes, best, is_rejected, amplitude, noise, np.full(n, -1), is_data, misfit)


def misfit_of(p_values: Sequence[float]) -> float:
    """Of a gate that rejects where one of its parts does; nan of one that has none."""
    return min(1.0, len(p_values) * min(p_values)) if p_values else np.nan


def rejected_at(rejected: Sequence[BoolArray]) -> NDArray[np.uint8]:
    """(M,) at how many levels, from the largest, all of (L, M) reject; what is kept at one is kept at smaller ones."""
    return np.asarray(np.logical_and.accumulate(np.stack(rejected), axis=0).sum(axis=0), dtype=np.uint8)


@final
@dataclass(frozen=True, slots=True, eq=False)
class RotationAsker:
    """The rotation judge of each signal: for pairs, complex rows, known noise and companions."""

    spec: Rotation

    @property
    def n_explanations(self) -> int:
        """Of the table."""
        return self.spec.table.size

    def ask(self, rows: Field, levels: Array) -> SignalVerdicts:
        """One judge, asked at every level."""
        every, table = np.arange(self.n_explanations), self.spec.table
        judge = self.spec.judge(rows, float(levels[0]))
        rejected = [judge.verdicts(every, level).codes == Verdict.REJECTED for level in levels.tolist()]
        facts = judge.facts(np.flatnonzero(~rejected[0]))
        energy, freedom = judge.rows.residuals(facts.best)
        asked = rows.mean(axis=0, keepdims=True) if judge.rows.has_common_mean else rows
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
        """That of the protocol."""
        assert self.protocol.bank is not None
        return self.protocol.bank

    @cached_property
    def law(self) -> Law:
        """Of the deployment rows, completed."""
        return self.protocol.streams["deployment"].law.completed(self.bank)

    @property
    def are_e_values(self) -> bool:
        """As the judge says."""
        return gives_e_values(self.protocol.judge)

    @property
    def n_explanations(self) -> int:
        """Of the bank."""
        return self.bank.size

    @property
    def is_complex(self) -> bool:
        """As the law says."""
        return self.law.is_complex

    @property
    def channels(self) -> int:
        """Of a row as it is measured."""
        return self.law.width(self.bank) // (2 if self.is_complex else 1)

    def encode(self) -> dict[str, object]:
        """What a report would say of its protocol, the question apart; calibration rows by their hash."""
        protocol, part = self.protocol, self.calibration
        return {
            **described("judge", protocol.judge.encode()),
            "bank": self.bank.digest,
            "law": self.law.encode(),
            "seed": protocol.seed,
            "proposal": protocol.streams["deployment"].fraction,
            "calibration": None if part is None else {**part.describe(), "held_out": part.held_out.digest()},
        }

    def block_judge(self, levels: Array, threads: int, repeats: int) -> OneByOne:  # noqa: ARG002
        """Refuses so many rows a signal as the judge cannot judge, and so few draws as should not serve them all."""
        check_rows(self.protocol.judge, self.law, repeats)
        draws = getattr(self.protocol.judge, "draws", LEAST_DRAWS)
        if draws < LEAST_DRAWS:
            raise MisuseError("draws", f"be at least {LEAST_DRAWS}, as they serve several signals", draws)
        return OneByOne(self, levels)

    def ask(self, rows: Field, levels: Array) -> SignalVerdicts:
        """What a report would say of these rows, at each of the levels."""
        judge, verdicts = self._opened(rows, self.protocol)
        rejected = [verdicts.codes == Verdict.REJECTED]
        if self.are_e_values:  # the margin is the log of the evidence times the level
            rejected += [verdicts.lower > np.log(levels[0] / level) + _SLACK for level in levels[1:].tolist()]
        else:
            rejected += self._reopened(rows, levels[1:])
        facts = judge_facts(judge, np.flatnonzero(~rejected[0])) or {}
        best = int(str(facts.get("best", verdicts.upper.argmin())))
        is_misfit = bool(facts.get("is_best_rejected")) and bool(getattr(self.protocol.judge, "withholds", False))
        findings = cast("Sequence[Mapping[str, float]]", facts.get("findings", ()))
        misfit = misfit_of([finding["p"] for finding in findings])
        return SignalVerdicts(rejected_at(rejected), best, is_misfit, *self._sizes(rows, best), misfit)

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
        fit, design = self.fitted(rows, best), self.law.design(self.bank)
        if fit is None or design is None:
            return np.nan, np.nan
        active, background = design.supports.shape[1], design.background
        left, own = design.whitened((rows - fit).T), design.whitened(fit[:, None])[:, 0]
        beside = own - background @ np.linalg.lstsq(background, own, rcond=None)[0] if background.size else own
        freedom = max(left.size - background.shape[1] - active, 1)
        return float(np.linalg.norm(beside)), float(np.linalg.norm(left) / np.sqrt(freedom))

    def fitted(self, rows: Field, explanation: int) -> Field | None:
        """(q,) of the law."""
        given = as_pairs(rows) if self.law.is_complex else rows
        fit = self.law.fitted(self.bank, explanation, ArrayRows(given))
        return as_complex(fit) if fit is not None and self.law.is_complex else fit
