"""The rotation judge: rivals, outsiders and companions of composite explanations, at one level together."""

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from ..._arrays import check_indices
from ..._checks import check_count, check_nonnegative, check_open, check_positive
from ..._errors import MisuseError
from ..._typing import Array, Field, IntArray
from .._judge import Verdicts
from ._companions import Companions
from ._contest import SCREEN_SHARE, Rotations, check_draws, count_margins
from ._free import FreeRows
from ._free_gate import FreeOutsiders
from ._mean import MeanRows
from ._mean_gate import MeanOutsiders
from ._outsiders import Finding, Gate, Outsiders
from ._table import RotationTable, check_sizes

# What rows of each kind are rotated and looked through by.
_KINDS: dict[str, tuple[type[Any], type[Any]]] = {
    "same mean": (MeanRows, MeanOutsiders),
    "free": (FreeRows, FreeOutsiders),
}
# Of a log p-value in closed form; far more than its rounding.
_CLOSED_ERROR = 1e-9


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rotation:
    r"""Have composite explanations judged by rotations: all that is fixed before a row is read.

    It is asked directly, `judge(rows, level)`, for verdicts and facts; `ByRotation` makes one from the bank of a
    protocol, for reports.

    A seed may serve several data sets if draws is at least 999.  penalty: lambda of the rival statistic for every real
    coordinate of a rank; half the log of the number of coordinates unless given.  sigma: standard deviation of the
    noise if it is known, of complex noise with :math:`E|\varepsilon|^2 = \sigma^2`.  whiteness: what to look for in the
    residual of the best fit, of the noise alone, for a remark that takes no part of the level.
    """

    table: RotationTable
    rows: str = "same mean"  # or "free": every row has coefficients of its own
    seed: int = 0
    draws: int = 999
    gate_draws: int = 1999
    penalty: float | None = None
    sigma: float | None = None
    outsiders: Outsiders | None = None
    companions: Companions | None = None
    whiteness: Outsiders | None = None

    def __post_init__(self) -> None:
        if self.rows not in _KINDS:
            raise MisuseError("rows", f"be one of {sorted(_KINDS)}", repr(self.rows))
        check_count("seed", self.seed, 0)
        check_count("draws", self.draws)
        check_count("gate_draws", self.gate_draws)
        if self.sigma is not None:
            check_sizes("sigma", np.array([check_positive("sigma", self.sigma)]))
        coordinates = self.table.complement.shape[1] * (2 if self.table.is_complex else 1)
        penalty = 0.5 * float(np.log(coordinates)) if self.penalty is None else self.penalty
        object.__setattr__(self, "penalty", check_nonnegative("penalty", penalty))

    def judge(self, rows: Field, level: float) -> "RotationJudge":
        """The judge of rows (T, q), real or complex."""
        return RotationJudge(self, rows, level)


@final
@dataclass(frozen=True, slots=True)
class GateFacts:
    """What the gate says of the answer as a whole."""

    best: int  # the explanation that fits best, of those that the companions retain
    findings: tuple[Finding, ...]  # of the gate about it; () without a gate
    is_best_rejected: bool  # by the gate
    is_empty: bool  # nothing is retained
    whiteness: Finding | None = None  # about the noise that the best fit leaves; None if it was not looked at
    zero_rows: int = 0  # rows that are 0 in all channels

    @property
    def are_labels_withheld(self) -> bool:
        """The best fit is rejected by the gate and worse ones are not: what is left may be left by accident."""
        return self.is_best_rejected and not self.is_empty

    @property
    def outsider(self) -> Finding | None:
        """What would explain the rest, where the gate rejects the best fit."""
        return min(self.findings, key=lambda finding: finding.p) if self.is_best_rejected else None


@final
@dataclass(frozen=True, slots=True)
class Levels:
    """How a level is shared: companions by the product rule, then rivals and the parts of the gate by their sum."""

    companions: float
    rivals: float
    gate: float  # of each part

    @classmethod
    def of(cls, level: float, companions: Companions | None, outsiders: Outsiders | None) -> "Levels":
        """At most the level together."""
        beside = 0.0 if companions is None else companions.share * level
        rotations = level if companions is None else 1.0 - (1.0 - level) / (1.0 - beside)
        share = 0.0 if outsiders is None else outsiders.share
        parts = 1 if outsiders is None else len(outsiders.parts)
        return cls(beside, rotations * (1.0 - share), rotations * share / parts)


@final
@dataclass(frozen=True, slots=True, eq=False)
class RotationJudge:
    r"""Rejects an explanation that made the rows with probability at most its level, whatever its coefficients.

    Noise is white and Gaussian, its level unknown unless given.  Rivals take 1 - share of the level and outsiders
    their share (their sum: both look at the direction of one residual); companions by the product rule.  Each test
    rejects if :math:`p = (1 + \#\{s(z^*) \ge s(z)\}) / (1 + B)` is at most its level.  A draw is counted whenever
    rounding does not exclude that it exceeds: rounding can keep, never lose.

    Labels of what is retained must be withheld where `facts` says so (`GateFacts.are_labels_withheld`).
    """

    spec: Rotation
    data: Field  # (T, q)
    level: float
    rows: Rotations = field(init=False)
    gate: Gate | None = field(init=False)

    def __post_init__(self) -> None:
        check_open("level", self.level, 0.0, 1.0)
        spec, levels = self.spec, self.levels(self.level)
        rotations, outsider_tests = _KINDS[spec.rows]
        signed = {}
        if spec.companions is not None and rotations.has_common_mean:
            signed = {"signs": spec.companions.signs(spec.table.atoms.shape[1])}
        rows = rotations(spec.table, self.data, spec.draws, spec.seed, spec.penalty, spec.sigma, **signed)
        check_draws(levels.rivals * (1.0 - SCREEN_SHARE), spec.draws)
        if spec.companions is not None:
            spec.companions.check(rows)
        gate = None
        if spec.outsiders is not None:
            columns = spec.outsiders.columns
            if rows.parts == 1 and columns is not None and np.iscomplexobj(columns):
                raise MisuseError("outsiders", "be real, as rows and table are", "complex columns")
            if spec.outsiders.drawn:
                check_draws(levels.gate, spec.gate_draws)
            gate = Gate(spec.outsiders, outsider_tests(spec.outsiders, rows, spec.gate_draws), spec.gate_draws)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "gate", gate)

    @property
    def size(self) -> int:
        """The explanations of the table."""
        return self.spec.table.size

    def levels(self, level: float) -> Levels:
        """Of the tests, all together at this level."""
        return Levels.of(level, self.spec.companions, self.spec.outsiders)

    @np.errstate(divide="ignore", invalid="ignore")  # of residuals of 0; what is no number is kept
    def verdicts(self, explanations: IntArray, level: float | None = None) -> Verdicts:
        """The margin is the largest of all tests: one that rejects suffices.

        level: another one than its own, known before these rows were read.
        """
        levels = self.levels(self.level if level is None else level)
        chosen = check_indices("explanations", explanations, self.size)
        lower, upper = count_margins(self.rows.rivals(chosen, levels.rivals), levels.rivals, self.spec.draws)
        if self.spec.companions is not None:
            margins = self._companion_margins(self.spec.companions, chosen, levels.companions)
            lower, upper = np.maximum(lower, margins - _CLOSED_ERROR), np.maximum(upper, margins + _CLOSED_ERROR)
        kept = np.flatnonzero(lower <= 0.0)
        if self.gate is not None and kept.size:
            below, above = self._gate_margins(self.gate, chosen[kept], levels.gate)
            lower[kept], upper[kept] = np.maximum(lower[kept], below), np.maximum(upper[kept], above)
        return Verdicts.measured(lower, upper)

    def _companion_margins(self, companions: Companions, explanations: IntArray, level: float) -> Array:
        p_values = np.array([companions.p_value(self.rows, int(e)) for e in explanations])
        return np.asarray(np.log(level) - np.log(p_values))

    def _gate_margins(self, gate: Gate, explanations: IntArray, level: float) -> tuple[Array, Array]:
        counts = gate.counts(explanations.tolist(), level)
        below, above = count_margins(counts, level, gate.draws, is_screened=False)
        if not gate.outsiders.noise:
            return below, above
        margins = np.log(level) - np.log(gate.closed(explanations.tolist()))
        return np.maximum(below, margins - _CLOSED_ERROR), np.maximum(above, margins + _CLOSED_ERROR)

    def facts(self, retained: IntArray) -> GateFacts:
        """Of the explanations that a run retained: nothing left, or what is left is not what fits best."""
        best = self._best()
        beside = (self._whiteness(best), int((~self.rows.rows.any(axis=1)).sum()))
        if self.gate is None:
            return GateFacts(best, (), False, len(retained) == 0, *beside)
        with np.errstate(divide="ignore"):  # of a p-value of 0
            margins = self._gate_margins(self.gate, np.array([best]), self.levels(self.level).gate)
        return GateFacts(best, self.gate.findings(best), bool(margins[0][0] > 0.0), len(retained) == 0, *beside)

    def _whiteness(self, best: int) -> Finding | None:
        looked, tests = self.spec.whiteness, _KINDS[self.spec.rows][1]
        if looked is None:
            return None
        return Gate(looked, tests(looked, self.rows, self.spec.gate_draws), self.spec.gate_draws).findings(best)[0]

    @np.errstate(divide="ignore", invalid="ignore")
    def _best(self) -> int:
        """The best fit that its coefficients do not exclude, if there is one.

        One that they exclude is no answer, whether or not its residual is white: looked at instead of the best answer
        it would let labels pass that rest on worse ones, or withhold those of a good one.
        """
        order = np.argsort(-self.rows.scores, kind="stable")
        companions, level = self.spec.companions, self.levels(self.level).companions
        if companions is None:
            return int(order[0])
        return int(next((e for e in order if not companions.p_value(self.rows, int(e)) <= level), order[0]))
