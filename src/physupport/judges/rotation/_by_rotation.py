"""The rotation judge of a frozen protocol: composite explanations of its bank, beside the evidence of other streams."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Self, final

import numpy as np

from ..._checks import check_count, check_indices, check_number, check_open
from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...banks import Bank
from ...laws import Design, Law, agreement, autoregressive, filtered
from .._amounts import Amounts, Asked, Interval, active_of, amounts_reason, gathered, listed_columns
from .._evidence import Evidence
from .._judge import Judge, Verdict, Verdicts
from .._specs import FIXED, JudgeSpec, Sealed, SealedStream, register
from ._correlated import CorrelatedJudge, CorrelationCells
from ._judge import Companions, Rotation, RotationJudge
from ._table import Outsiders, RotationTable, Scan

# Logs of evidence beyond this are evidence enough; the relative error of exp and a product is far below the other.
_MOST_LOG = 700.0
_EXP_ERROR = 1e-12
_BELOW_ONE = 1.0 - 2.0**-40


@register
@final
@dataclass(frozen=True, slots=True)
class ByRotation(JudgeSpec):
    r"""Have the rows of a linear law judged by rotations, with coefficients, background and noise level unknown.

    All rows of that stream judge, as nothing has to be proposed.  Other streams enter by their evidence: with
    :math:`E(e)` that of e at their end, e is rejected if :math:`p \le \alpha E(e)`.  Given those streams this has
    probability at most :math:`\min(1, \alpha E(e))`, whose mean is at most :math:`\alpha` (no level is split).

    The draws come from `Sealed.draws_seed`.  outsiders: None leaves the gate out.  noise: whether the gate also
    asks if a noise that is stated is that of the rows; a protocol sets it where the law states one.
    rivals: the most that an explanation is compared with, for banks of thousands; all unless given.
    error: the sine of the largest angle between the true response of an element and its columns, after whitening and
    beside the background; one number, or one for each element of the library.  A truth within it is kept at the level.
    amounts: share of the level for intervals of the coefficients, which no report has without it.
    """

    kind: ClassVar[str] = "rotation"
    has_facts: ClassVar[bool] = True
    withholds: ClassVar[bool] = True
    fact_names: ClassVar[tuple[str, ...]] = (
        "best",
        "is_best_rejected",
        "level",
        "findings",
        "whiteness",
        "zero_rows",
    )

    rule: ClassVar[str] = "be 'rotation' only where one stream has rows that are linear in free coefficients"
    remedy: ClassVar[str] = ", or the judge 'evidence'"

    draws: int = 999
    gate_draws: int = 1999
    outsiders: Scan | None = field(default_factory=Scan)
    noise: bool = field(default=False, metadata=FIXED)
    rivals: int | None = None
    error: float | tuple[float, ...] | None = None
    amounts: float | None = None

    def __post_init__(self) -> None:
        if self.amounts is not None:
            check_open("amounts", check_number("amounts", self.amounts), 0.0, 1.0)
        if self.error is not None:
            error = np.asarray(self.error, dtype=np.float64)
            object.__setattr__(self, "error", float(error) if error.ndim == 0 else tuple(error.tolist()))
        check_count("draws", self.draws)
        check_count("gate_draws", self.gate_draws)

    def encode(self) -> dict[str, object]:
        """The options that are fixed before held-out rows are read."""
        return {
            "judge": self.kind,
            "assumes": "the noise of the rows is white and Gaussian, after whitening where a covariance is given",
            "draws": self.draws,
            "gate_draws": self.gate_draws,
            "outsiders": None if self.outsiders is None else asdict(self.outsiders),
            **({"noise": True} if self.noise else {}),
            **({} if self.rivals is None else {"rivals": self.rivals}),
            **({} if self.error is None else {"error": self.error}),
            **({} if self.amounts is None else {"amounts": float(self.amounts)}),
        }

    @classmethod
    def decode(cls, content: Mapping[str, Any]) -> "ByRotation":
        """The specification that `encode` wrote."""
        outsiders = None if content["outsiders"] is None else Scan(**content["outsiders"])
        noise = content.get("noise", False)
        further = {name: content[name] for name in ("rivals", "error", "amounts") if name in content}
        return cls(content["draws"], content["gate_draws"], outsiders, noise, **further)

    @property
    def trusts_noise(self) -> bool:
        """True if the gate does not test a stated noise."""
        return not self.noise

    def completed(self, bank: Bank, laws: Sequence[Law]) -> Self:
        """Add the test of the noise to the gate, if there is a gate and a law states a noise."""
        stated = any(law.noise_test(bank) is not None for law in laws if not self.splits(law))
        return replace(self, noise=stated and self.outsiders is not None)

    def rotations(self, design: Design, n_rows: int, n_channels: int, seed: int) -> tuple[Rotation, ...]:
        """The same for rows of a design, asked directly: one of each noise setting."""
        is_white = design.noise_shape is None and design.bands == 1
        _check_spans(design.radii is None and not design.is_cone and is_white)
        table = RotationTable(design.columns, design.active, design.background, names=design.names)
        outsiders = self._outsiders(design, n_rows, n_channels)
        # Beside the noise the other parts can reject at every level at which they could without; parts of a level are
        # rounded, so that one draw is to spare.
        parts = 0 if outsiders is None or not outsiders.noise else len(outsiders.parts)
        gate_draws = self.gate_draws if parts < 2 else -(-(self.gate_draws + 1) * parts // (parts - 1))
        shared: dict[str, Any] = {
            "rows": design.rows,
            "seed": seed,
            "draws": self.draws,
            "gate_draws": gate_draws,
            "outsiders": outsiders,
            "companions": _companions(design),
            "whiteness": True,
            "covariance_freedom": design.covariance_freedom,
            "rivals": self.rivals,
            "errors": None if self.error is None else _errors(design, self.error),
            "amounts": self.amounts or 0.0,
        }
        return tuple(Rotation(table, sigma=sigma, **shared) for sigma in design.deviations)

    def _outsiders(self, design: Design, n_rows: int, n_channels: int) -> Outsiders | None:
        if self.outsiders is None:
            return None
        scanned = self.outsiders.outsiders(design, n_rows, n_channels)
        if not self.noise:
            return scanned
        return Outsiders(noise=True, share=self.outsiders.share) if scanned is None else replace(scanned, noise=True)

    def check_rows(self, law: Law, n_rows: int) -> None:  # noqa: ARG002
        """Accept any number of rows; raise unless responses are columns."""
        _check_spans(law.has_spans or law.is_correlated)
        if law.is_correlated and self.error is not None:
            remedy = "Leave it out, or give the covariance of the noise."
            raise MisuseError("judge_options.error", "be left out where the noise has a kind", self.error, remedy)

    def splits(self, law: Law) -> bool:
        """Rows of a linear law are not divided."""
        return law.is_counted or not law.is_linear

    def open(self, sealed: Sealed) -> "BankRotation":
        """The tables of the bank, and the evidence of the other streams; reads the rows."""
        stream, design, evidence = sealed.divided(self)
        rows = design.whitened_rows(stream.rows, stream.law.is_complex)
        n_channels = stream.rows.width // (2 if stream.law.is_complex else 1)
        judges: tuple[RotationJudge | CorrelatedJudge, ...]
        if design.noise_shape is None:
            rotations = self.rotations(design, len(rows), n_channels, sealed.draws_seed)
            judges = tuple(RotationJudge(rotation, rows, sealed.level) for rotation in rotations)
        else:
            judges = (self._correlated(design, design.noise_shape.between, rows.real, sealed),)
        return BankRotation(sealed.size, sealed.level, stream, judges, evidence, self, design)

    def _correlated(self, design: Design, between: tuple[float, float], rows: Array, sealed: Sealed) -> CorrelatedJudge:
        """The judge of real rows whose noise has a correlation along the axis between two."""
        n_rows, n_channels = rows.shape

        def judge_at(correlation: float, level: float) -> RotationJudge:
            white = _as_white(design, correlation)
            (rotation,) = self.rotations(white, n_rows, n_channels, sealed.draws_seed)
            return RotationJudge(rotation, filtered(rows, correlation), level)

        def correlation(key: int) -> float:
            active = active_of(design.supports, key)
            columns = np.hstack([design.columns[:, active], design.background])
            return autoregressive(rows, columns, between).correlation

        cells = CorrelationCells.of(between, n_rows, n_channels, sealed.level)
        return CorrelatedJudge.of(cells, sealed.level, judge_at, correlation)


def _as_white(design: Design, correlation: float) -> Design:
    """The design whose rows are white if their noise has this correlation along the axis."""
    whitener = filtered(np.eye(len(design.columns)), correlation).T
    columns, background = whitener @ design.columns, whitener @ design.background
    return replace(design, columns=columns, background=background, whitener=whitener, noise_shape=None)


def _errors(design: Design, error: float | tuple[float, ...]) -> Array:
    """(M,) the largest sine of the elements of each explanation; further columns of an element have its own."""
    names = tuple(dict.fromkeys(design.names))
    if np.ndim(error) and np.shape(error) != (len(names),):
        rule = f"be one number, or one for each of the {len(names)} elements"
        raise MisuseError("error", rule, f"{np.size(error)} numbers", "Leave it out where responses are exact.")
    by_name = dict(zip(names, np.broadcast_to(error, len(names)).tolist(), strict=True))
    sines = np.array([*(by_name[name] for name in design.names), 0.0])
    return np.asarray(sines[design.supports].max(axis=1, initial=0.0))


def _check_spans(has_spans: bool) -> None:
    """Refuse balls and cones of responses, which are no linear spaces, noise of other kinds, and several bands."""
    if not has_spans:
        remedy = (
            'Write judge = "evidence", or give responses their width by a span of variants or tangents, and noise by '
            "its covariance."
        )
        rule = (
            "be 'evidence' where responses have an error or mix without negative parts, where noise has a kind other "
            "than 'ar', and for several frequencies"
        )
        raise MisuseError("judge", rule, "rotation", remedy)


@final
@dataclass(frozen=True, slots=True, eq=False)
class BankRotation(Judge):
    """Rotations of one stream, a judge for each noise setting, each at a level that other streams may have moved."""

    judges_blocks: ClassVar[bool] = True

    size: int
    level: float
    stream: SealedStream
    judges: tuple[RotationJudge | CorrelatedJudge, ...]
    evidence: Evidence | None
    spec: ByRotation
    design: Design

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """Explanations of one key and level are judged once."""
        chosen = check_indices("explanations", explanations, self.size)
        keys, settings = np.divmod(self.stream.keys_of(chosen), len(self.judges))
        levels = self._levels(chosen)
        codes = np.empty(len(chosen), dtype=np.uint8)
        bounds = np.empty((2, len(chosen)))
        for setting, level in np.unique(np.stack([settings, levels]), axis=1).T.tolist():
            alike = np.flatnonzero((settings == setting) & (levels == level))
            distinct, where = np.unique(keys[alike], return_inverse=True)
            if 0.0 < level < 1.0:
                judged = self.judges[int(setting)].verdicts(distinct, level).rows(where)
            else:  # at a level of 0 everything is kept and at 1 nothing, whatever these rows say
                code = Verdict.ADMISSIBLE if level == 0.0 else Verdict.REJECTED
                judged = Verdicts.unmeasured(np.full(len(alike), code, dtype=np.uint8))
            codes[alike] = judged.codes
            bounds[:, alike] = [judged.lower, judged.upper]
        return Verdicts(codes, *bounds)

    def _levels(self, explanations: IntArray) -> Array:
        """(k,) at most the level times the evidence of the other streams at their end.

        Only whole numbers of draws count, so levels are rounded down to these: few of them, and in doubt kept.
        """
        if self.evidence is None:
            return np.full(len(explanations), self.level)
        final = self.evidence.along_path(explanations).lower[:, -1]
        steps = self.spec.draws + 1
        allowed = self.level * np.exp(np.minimum(final, _MOST_LOG)) * (1.0 - _EXP_ERROR)
        return np.asarray(np.floor(np.minimum(allowed, 1.0) * steps) / steps)

    def amounts(self, possible: IntArray) -> Amounts:
        """Student's intervals, where the options set a share of the level aside for them."""
        design = self.design
        count = len(self.judges)
        levels = dict(zip(possible.tolist(), self._levels(possible).tolist(), strict=True))
        asked = []
        for e, key in zip(possible.tolist(), self.stream.keys_of(possible).tolist(), strict=True):
            active = active_of(design.supports, key // count)
            reason = "error" if self.spec.error else amounts_reason(design, [design.names[i] for i in active])
            if reason:
                return Amounts(reason=reason)
            asked.append(Asked(key, listed_columns(design, active), levels[e]))
        if not self.spec.amounts:
            return Amounts(reason="share")

        def interval(key: int, columns: tuple[int, ...], level: float) -> Interval | None:
            place = active_of(design.supports, key // count).index(columns[0])
            if level == 0.0:
                return float(design.low[columns[0]]), float(design.high[columns[0]])
            judge = self.judges[key % count]
            assert isinstance(judge, RotationJudge)  # amounts have been refused otherwise
            low, high = judge.interval(key // count, place, min(level, _BELOW_ONE))
            low = max(low, float(design.low[columns[0]]))
            high = min(high, float(design.high[columns[0]]))
            return (low, high) if low <= high else None

        return gathered("coefficients", asked, interval, nests=False)

    def facts(self, possible: IntArray) -> dict[str, object]:
        """Return the findings of the gate, where these explanations are possible at the end of a run."""
        facts = [judge.facts(possible) for judge in self.judges]
        # The first noise setting that is not rejected, or the one that the rows agree with most: its worst agreement is
        # compared, (1, 0) if no noise is stated.
        agreed = []
        for each in facts:
            ratios = [agreement(found["p"], found["ratio"]) for found in each["findings"] if "ratio" in found]
            agreed.append(min(ratios, default=(1.0, 0.0)))
        most = agreed.index(max(agreed))
        setting = next((i for i, each in enumerate(facts) if not each["is_best_rejected"]), most)
        key = facts[setting]["best"] * len(facts) + setting
        return facts[setting] | {"best": int(np.argmax(self.stream.keys_of(np.arange(self.size)) == key))}


def _companions(design: Design) -> Companions | None:
    """The bounds of the coefficients, where something is said of any."""
    low, high = (bound if np.isfinite(bound).any() else None for bound in (design.low, design.high))
    least = design.least if design.least.any() else None
    if low is None and high is None and least is None and design.cells is None:
        return None
    return Companions(low, high, least, together=design.together, cells=design.cells)
