"""The rotation judge: rivals, outsiders and companions of composite explanations, at one level together."""

from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from scipy.special import chdtrc, ndtr, ndtri, stdtr, stdtrit

from ..._checks import (
    check_array,
    check_count,
    check_indices,
    check_nonnegative,
    check_open,
    check_positive,
    read_only,
)
from ..._codec import rows_seed
from ..._errors import Clause, MisuseError
from ..._typing import Array, Field, IntArray
from .._judge import Verdict, Verdicts
from ._angle import lowered
from ._free import FreeRows
from ._mean import MeanRows
from ._pooled import PooledRows
from ._rows import SCREEN_SHARE, Rotations, check_draws, count_margins
from ._table import Finding, Outsiders, RotationTable, check_rows, check_sizes

SHARE = 0.1
LEAST_RIVALS = 50


@final
@dataclass(frozen=True, slots=True)
class Companions:
    r"""Tests of :math:`(Pz, |Qz|)` alone, so that the rotation tests are exact given them.

    The levels follow the product rule: at :math:`\alpha_c` = share of the level, the rotation tests keep
    :math:`1 - (1-\alpha)/(1-\alpha_c)`.

    low, high: every active coefficient lies between them (real rows).  least: every active coefficient has at least
    this absolute value.  Each is one number, or one for every atom of the table (E,), -inf, inf and 0 saying nothing.
    together: (E,) numbers of atoms; of active ones with the same number at least one has its least absolute value.
    largest_noise: the standard deviation of the noise is at most this.  cells: (owners, half steps) of every atom: an
    active one is a derivative of its owner, and its coefficient at most the half step times that of the owner in
    absolute value; inf says nothing.
    """

    low: float | Array | None = None
    high: float | Array | None = None
    least: float | Array | None = None
    largest_noise: float | None = None
    cells: tuple[IntArray, Array] | None = None
    share: float = SHARE
    together: IntArray | None = None

    def __post_init__(self) -> None:
        check_open("share", self.share, 0.0, 1.0)
        if all(bound is None for bound in (self.low, self.high, self.least, self.largest_noise, self.cells)):
            raise MisuseError("companions", "bound the coefficients or the noise", Clause("they bound neither"))
        if self.low is not None and self.high is not None and not np.all(np.asarray(self.low) <= self.high):
            raise MisuseError("companions", "have low at most high", (self.low, self.high))
        if self.least is not None and not (np.min(self.least) >= 0.0 and np.isfinite(self.least).all()):
            raise MisuseError("least", "be finite and at least 0", self.least)
        if self.largest_noise is not None:
            check_positive("largest_noise", self.largest_noise)

    @property
    def tests_coefficients(self) -> bool:
        """True if any bound is one of coefficients."""
        return any(bound is not None for bound in (self.low, self.high, self.least, self.cells))

    def signs(self, n_atoms: int) -> IntArray:
        """(E,) 1 of atoms whose coefficients are at least 0, -1 of those whose are at most 0, and 0 of others."""
        low = np.broadcast_to(-np.inf if self.low is None else self.low, n_atoms)
        high = np.broadcast_to(np.inf if self.high is None else self.high, n_atoms)
        return np.asarray((low >= 0.0).astype(np.int64) - (high <= 0.0))

    def check(self, rows: Rotations) -> None:
        """Refuse what these rows cannot tell."""
        if self.tests_coefficients and not rows.has_common_mean:
            raise MisuseError("companions", "leave the coefficients of free rows open", Clause("they bound them"))
        if self.largest_noise is not None and rows.own_sigma > 0.0:
            raise MisuseError("companions", "leave out the largest noise where sigma is known", self.largest_noise)
        if rows.parts == 2 and (self.low is not None or self.high is not None):
            raise MisuseError("companions", "bound complex coefficients by least alone", "low or high")

    def p_value(self, rows: Rotations, e: int) -> float:
        """Smallest p-value of e over all tests, times their number."""
        energy, freedom = rows.residuals(e)
        p_values = self._coefficients(rows, e, energy, freedom) if self.tests_coefficients else []
        if self.largest_noise is not None:
            radius = max(np.sqrt(energy) - rows.rounding(e), 0.0) * np.sqrt(rows.parts)
            p_values.append(float(chdtrc(freedom, (radius / self.largest_noise) ** 2)))
        return min(1.0, len(p_values) * float(np.nan_to_num(p_values, nan=1.0).min())) if p_values else 1.0

    def _coefficients(self, rows: Rotations, e: int, energy: float, freedom: int) -> list[float]:
        r"""T tests of :math:`\hat\theta`, two one-sided ones for two bounds.

        Where :math:`|\theta| \ge b`, also :math:`|\hat\theta|` is at least the coordinate of :math:`\hat\theta` along
        :math:`\theta`, which is at least b up to an error that is one coordinate of the noise.  That one of several
        coefficients has it is rejected if it is of each of them: the largest of their p-values counts.
        """

        def below(value: float) -> float:
            return float(ndtr(value) if rows.own_sigma > 0.0 else stdtr(freedom, value))

        fitted, spread = rows.coefficients(e)
        p_values = []
        reached = dict[float, float]()
        errors = spread * (rows.own_sigma or np.sqrt(energy / freedom))
        off = spread * rows.rounding(e)
        bounds = (self._of_atoms(bound, rows, e, len(fitted)) for bound in (self.low, self.high, self.least))
        alone = np.arange(rows.table.atoms.shape[1]) if self.together is None else self.together
        numbers = self._of_atoms(alone, rows, e, len(fitted))
        for value, error, slack, low, high, least, number in zip(fitted, errors, off, *bounds, numbers, strict=True):
            if np.isfinite(low):
                p_values.append(below((value + slack - low) / error))
            if np.isfinite(high):
                p_values.append(below((high - value + slack) / error))
            if least > 0.0:
                p = below((abs(value) + slack - least) / error)
                reached[number] = max(reached.get(number, 0.0), float(np.nan_to_num(p, nan=1.0)))
        return [*p_values, *reached.values(), *self._cells(rows, e, energy, freedom)]

    def _cells(self, rows: Rotations, e: int, energy: float, freedom: int) -> list[float]:
        """True if all of the cone is excluded, of each derivative that is active."""
        if self.cells is None:
            return []
        (owners, halves) = self.cells
        support = list(rows.table.supports[e])
        held = [column for column in support if np.isfinite(halves[column])]
        if not held or int(rows.table.ranks[e]) < len(support):
            return []
        weights = np.zeros((len(held), 2, len(support)))
        for pair, column in zip(weights, held, strict=True):
            place = support.index(column)
            owner = support.index(int(owners[column]))
            half = halves[column]
            pair[:, place], pair[:, owner] = ((1.0, 0.0), (0.0, half)) if rows.parts == 2 else (1.0, (-half, half))
        fitted, spread = rows.coefficients(e, weights.reshape(-1, len(support)))
        errors = spread * (rows.own_sigma or np.sqrt(energy / freedom))
        off = spread * rows.rounding(e)
        tails_of = _complex_tails if rows.parts == 2 else _real_tails
        known = rows.own_sigma > 0.0
        tails = tails_of(fitted.reshape(-1, 2), errors.reshape(-1, 2), off.reshape(-1, 2), None if known else freedom)
        return [float(tail) for tail in np.minimum(2.0 * tails, 1.0)]

    def _of_atoms(self, bound: float | Array | IntArray | None, rows: Rotations, e: int, count: int) -> list[float]:
        """The bound of each active atom of e, as many as have coefficients; NaN without a bound."""
        if bound is None or np.ndim(bound) == 0:
            return [np.nan if bound is None else float(bound)] * count
        return [float(value) for value in np.asarray(bound)[list(rows.table.supports[e])][:count]]


def _real_tails(values: Field, errors: Array, off: Array, freedom: int | None) -> Array:
    r"""(k,) half the p-values of cones :math:`|\tau| \le h|x|`; values: (k, 2) :math:`u = \tau - hx, v = \tau + hx`.

    In the cone u and v are nowhere both above or both below 0; it is rejected if both fitted ones are above c of their
    errors, or both below -c.  Where :math:`u \le 0 \le v` the first takes an error of u above c and the second one of v
    below -c, and likewise in the other half: together at most :math:`2P(t > c)`.  freedom: None for known noise.
    """
    beyond = np.where(np.sign(values).prod(axis=1) > 0.0, ((np.abs(values) - off) / errors).min(axis=1), 0.0)
    return np.asarray(ndtr(-beyond) if freedom is None else stdtr(freedom, -beyond))


def _complex_tails(values: Field, errors: Array, off: Array, freedom: int | None) -> Array:
    r"""(k,) the same of complex numbers; values: (k, 2) :math:`\tau, hx`.

    In the cone :math:`|\hat\tau| - h|\hat x|` is at most the size of both errors together, of which one is c of its
    standard deviations or more where the sum is: :math:`2P(|\varepsilon| \ge c)`, of two real coordinates.
    """
    beyond = (np.abs(values) @ [1.0, -1.0] - off.sum(axis=1)) / errors.sum(axis=1)
    square = np.maximum(beyond, 0.0) ** 2
    return np.asarray(np.exp(-0.5 * square) if freedom is None else (1.0 + square / freedom) ** (-0.5 * freedom))


_KINDS: dict[str, type[Rotations]] = {"free": FreeRows, "same mean": MeanRows}
# Of a log p-value in closed form; far more than its rounding.
_CLOSED_ERROR = 1e-9


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rotation:
    r"""The specification of a judge by rotations, fixed before a row is read.

    Call `judge(rows, level)` for verdicts and facts; `ByRotation` makes one from the bank of a protocol, for reports.

    seed: draws come from it and from the rows, so that it may serve any number of data sets.  penalty: lambda of the
    rival statistic for every real coordinate of a rank; half the log of the number of coordinates unless given.  sigma:
    standard deviation of the noise if it is known, of complex noise with :math:`E|\varepsilon|^2 = \sigma^2`.
    whiteness: True looks at the noise alone in the residual of the best fit, for a remark that takes no part of the
    level.  covariance_freedom: degrees of freedom of the covariance by which table and rows were whitened, if that
    was estimated from rows without a signal; None if it is known.
    amounts: share of the level for the intervals of the coefficients, by the product rule (`RotationJudge.interval`).
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
    whiteness: bool = False
    covariance_freedom: int | None = None
    rivals: int | None = None
    errors: Array | None = None
    amounts: float = 0.0

    def __post_init__(self) -> None:
        self._check_rivals()
        if self.amounts:
            check_open("amounts", self.amounts, 0.0, 1.0)
        if self.rows not in _KINDS:
            raise MisuseError("rows", f"be one of {[*_KINDS]}", repr(self.rows))
        check_count("seed", self.seed, 0)
        check_count("draws", self.draws)
        check_count("gate_draws", self.gate_draws)
        if self.covariance_freedom is not None:
            check_count("covariance_freedom", self.covariance_freedom)
            if self.sigma is not None or (self.companions is not None and self.companions.largest_noise is not None):
                raise MisuseError(
                    "sigma and largest_noise", "be left out where the covariance is estimated", Clause("one is given")
                )
        if self.sigma is not None:
            check_sizes("sigma", np.array([check_positive("sigma", self.sigma)]))
        check_nonnegative("penalty", self.own_penalty)

    def _check_rivals(self) -> None:
        """Refuse angles and thinned rivals where the judge has neither."""
        if self.rivals is not None:
            check_count("rivals", self.rivals, LEAST_RIVALS)
        if self.errors is None:
            return
        errors = check_array("errors", self.errors, (self.table.size,))
        if not (errors.min() >= 0.0 and errors.max() < 1.0):
            raise MisuseError("errors", "be sines from 0 to below 1", f"{errors.min():g} to {errors.max():g}")
        if self.rows != "same mean" or self.covariance_freedom is not None:
            rule = "go with rows of one mean, whose covariance is known up to its scale"
            remedy = "Leave the error out, or give the covariance without degrees of freedom."
            raise MisuseError("errors", rule, Clause("the rows are others"), remedy)
        if self.companions is not None and self.companions.tests_coefficients:
            remedy = "Leave the error out, or the bounds."
            raise MisuseError(
                "errors", "go without bounds of coefficients, which they move", Clause("both are given"), remedy
            )
        object.__setattr__(self, "errors", read_only(errors))

    @property
    def own_penalty(self) -> float:
        """The penalty, half the log of the number of coordinates unless given."""
        coordinates = self.table.complement.shape[1] * (2 if self.table.is_complex else 1)
        return 0.5 * float(np.log(coordinates)) if self.penalty is None else self.penalty

    def judge(self, rows: Field, level: float) -> "RotationJudge":
        """The judge of rows (T, q), real or complex."""
        checked = check_rows(self.table, rows)
        return RotationJudge(replace(self, seed=rows_seed(self.seed, checked)), checked, level)


@final
@dataclass(frozen=True, slots=True)
class Levels:
    """Divide a level: companions and intervals of amounts by the product rule, the rest by its sum."""

    companions: float
    rivals: float
    gate: float  # of each part
    amounts: float

    @classmethod
    def of(
        cls, level: float, companions: Companions | None, outsiders: Outsiders | None, amounts: float = 0.0
    ) -> "Levels":
        """Divide a level into shares that add up to at most the level."""
        tested = 0.0 if companions is None else companions.share * level
        beside = tested + amounts * level
        rotations = level if beside == 0.0 else 1.0 - (1.0 - level) / (1.0 - beside)
        share = 0.0 if outsiders is None else outsiders.share
        parts = 1 if outsiders is None else len(outsiders.parts)
        return cls(tested, rotations * (1.0 - share), rotations * share / parts, amounts * level)


@final
@dataclass(frozen=True, slots=True, eq=False)
class RotationJudge:
    r"""Rejects an explanation that made the rows with probability at most its level, whatever its coefficients.

    Noise is white and Gaussian, its level unknown unless given.  Rivals take 1 - share of the level and outsiders
    their share (their sum: both look at the direction of one residual); companions by the product rule.  Each test
    rejects if :math:`p = (1 + \#\{s(z^*) \ge s(z)\}) / (1 + B)` is at most its level.  Draws come from the seed
    of the specification, which must belong to these rows alone, as in `Rotation.judge`.  A draw that exceeds within
    rounding is counted, so rounding may keep an explanation but never rejects one.

    Labels must be withheld if `facts` says so (`is_withheld`).
    """

    spec: Rotation
    data: Field  # (T, q)
    level: float
    rows: Rotations = field(init=False)

    def __post_init__(self) -> None:
        check_open("level", self.level, 0.0, 1.0)
        spec = self.spec
        levels = self.levels(self.level)
        kind = PooledRows if spec.covariance_freedom is not None else _KINDS[spec.rows]
        object.__setattr__(self, "rows", kind(spec, self.data))
        check_draws(levels.rivals * (1.0 - SCREEN_SHARE), spec.draws)
        if spec.companions is not None:
            spec.companions.check(self.rows)
        if spec.outsiders is not None and spec.outsiders.drawn:
            check_draws(levels.gate, spec.gate_draws)

    @property
    def size(self) -> int:
        """The explanations of the table."""
        return self.spec.table.size

    def levels(self, level: float) -> Levels:
        """Share this level between the tests."""
        return Levels.of(level, self.spec.companions, self.spec.outsiders, self.spec.amounts)

    @np.errstate(divide="ignore", invalid="ignore")  # of residuals of 0; what is no number is kept
    def verdicts(self, explanations: IntArray, level: float | None = None) -> Verdicts:
        """The margin is the largest of all tests: one that rejects suffices.

        level: another one than its own, known before these rows were read.
        """
        chosen = check_indices("explanations", explanations, self.size)
        asked = self.level if level is None else level
        if self.spec.errors is None:
            return self._verdicts(chosen, asked)
        codes = np.full(len(chosen), Verdict.ADMISSIBLE, dtype=np.uint8)  # at a level of 0 everything is kept
        bounds = np.full((2, len(chosen)), -np.inf)
        levels = self._lowered(chosen, asked)
        for lower in np.unique(levels[levels > 0.0]).tolist():
            alike = np.flatnonzero(levels == lower)
            judged = self._verdicts(chosen[alike], lower)
            codes[alike] = judged.codes
            bounds[:, alike] = [judged.lower, judged.upper]
        return Verdicts(codes, *bounds)

    def _lowered(self, explanations: IntArray, level: float) -> Array:
        """(k,) levels at which explanations are judged whose responses are right up to an angle."""
        assert isinstance(self.rows, MeanRows)
        assert self.spec.errors is not None
        sines = np.minimum(self.spec.errors[explanations] * self.rows.stretches(explanations), 1.0)
        tangents = sines / np.sqrt(np.maximum(1.0 - sines**2, 1e-300))
        return lowered(self.rows, explanations, level, tangents)

    def _verdicts(self, chosen: IntArray, level: float) -> Verdicts:
        levels = self.levels(level)
        lower, upper = count_margins(self.rows.rivals(chosen, levels.rivals), levels.rivals, self.spec.draws)
        if self.spec.companions is not None:
            margins = self._companion_margins(self.spec.companions, chosen, levels.companions)
            lower = np.maximum(lower, margins - _CLOSED_ERROR)
            upper = np.maximum(upper, margins + _CLOSED_ERROR)
        kept = np.flatnonzero(lower <= 0.0)
        if self.spec.outsiders is not None and kept.size:
            below, above = self._gate_margins(self.spec.outsiders, chosen[kept], levels.gate)
            lower[kept] = np.maximum(lower[kept], below)
            upper[kept] = np.maximum(upper[kept], above)
        return Verdicts.measured(lower, upper)

    def _companion_margins(self, companions: Companions, explanations: IntArray, level: float) -> Array:
        p_values = np.array([companions.p_value(self.rows, int(e)) for e in explanations])
        return np.asarray(np.log(level) - np.log(p_values))

    def _gate_margins(self, outsiders: Outsiders, explanations: IntArray, level: float) -> tuple[Array, Array]:
        counts = self.rows.gate_counts(explanations, outsiders, level)
        below, above = count_margins(counts, level, self.spec.gate_draws, is_screened=False)
        if not outsiders.noise:
            return below, above
        p_values = np.array([self.rows.noise(int(e), self.spec.gate_draws).p for e in explanations])
        margins = np.log(level) - np.log(p_values)
        return np.maximum(below, margins - _CLOSED_ERROR), np.maximum(above, margins + _CLOSED_ERROR)

    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def interval(self, e: int, place: int, level: float) -> tuple[float, float]:
        r"""Student's interval of one coefficient of e, at an equal part of the share of this level for amounts.

        It uses :math:`(Pz, |Qz|)` alone, so that rotations are exact given it, as they are given the companions.  All
        coefficients of e lie in theirs with probability at least 1 minus the share, by the sum over them.
        place: of the column in the support.
        """
        fitted, spread = self.rows.coefficients(e)
        if len(fitted) <= place:
            return -np.inf, np.inf
        energy, freedom = self.rows.residuals(e)
        tail = 0.5 * self.levels(level).amounts / len(fitted)
        known = self.rows.own_sigma
        quantile = -float(ndtri(tail) if known > 0.0 else stdtrit(freedom, tail))
        scale = known or np.sqrt(energy / freedom)
        rounding = self.rows.rounding(e)
        half = float(spread[place] * (quantile * (scale + rounding) * (1.0 + _CLOSED_ERROR) + rounding))
        value = float(np.real(fitted[place]))
        return (value - half, value + half) if half < np.inf else (-np.inf, np.inf)  # no number has no ends, either

    def facts(self, possible: IntArray) -> dict[str, Any]:
        """Return the findings of the gate about the best fit, if these explanations are possible at the end of a run.

        Labels are withheld where the gate rejects the best fit and not all others, which may be left by accident.
        """
        best = self.best()
        own = self.level if self.spec.errors is None else float(self._lowered(np.array([best]), self.level)[0])
        levels = self.levels(own)
        level = levels.gate
        whiteness = self.rows.whiteness(best) if self.spec.whiteness else None
        findings: list[Finding] = []
        is_rejected = False
        if self.spec.outsiders is not None:
            with np.errstate(divide="ignore"):  # of a p-value of 0
                margins = self._gate_margins(self.spec.outsiders, np.array([best]), level)
            findings = [*self.rows.findings(best)]
            is_rejected = bool(margins[0][0] > 0.0)
            further = self.rows.further(best)
            if further is not None:
                # Its p-value is multiplied by the level of a part of the gate over its own: both are compared with one.
                share = levels.rivals * (1.0 - SCREEN_SHARE)
                rivals = replace(further, closed=min(1.0, further.p * level / share))
                findings.insert(0, rivals)
                is_rejected = is_rejected or rivals.p <= level
        return {
            "best": best,
            "is_best_rejected": is_rejected,
            "is_withheld": is_rejected and len(possible) > 0,
            "level": level,
            "findings": [finding.encode() for finding in findings],
            "whiteness": None if whiteness is None else whiteness.encode(),
            "zero_rows": int((~self.rows.rows.any(axis=1)).sum()),
        }

    @np.errstate(divide="ignore", invalid="ignore")
    def best(self) -> int:
        """The best fit that its coefficients do not exclude, if there is one.

        One that they exclude is no answer, whether or not its residual is white: looked at instead of the best answer
        it would let labels pass that rest on worse ones, or withhold those of a good one.
        """
        order = np.argsort(-self.rows.scores, kind="stable")
        companions = self.spec.companions
        level = self.levels(self.level).companions
        if companions is None:
            return int(order[0])
        return int(next((e for e in order if not companions.p_value(self.rows, int(e)) <= level), order[0]))
