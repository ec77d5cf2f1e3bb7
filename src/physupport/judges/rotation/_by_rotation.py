"""The rotation judge of a frozen protocol: composite explanations of its bank, beside the evidence of other streams."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Self, final

import numpy as np

from ..._checks import check_count, check_indices
from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...banks import Bank
from ...laws import Design, Law, agreement
from .._evidence import Evidence
from .._judge import Judge, Verdict, Verdicts
from .._specs import FIXED, JudgeSpec, Sealed, SealedStream, register
from ._judge import Companions, Rotation, RotationJudge
from ._table import Outsiders, RotationTable, Scan

# Logs of evidence beyond this are evidence enough; the relative error of exp and a product is far below the other.
_MOST_LOG = 700.0
_EXP_ERROR = 1e-12


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

    def __post_init__(self) -> None:
        check_count("draws", self.draws)
        check_count("gate_draws", self.gate_draws)

    def encode(self) -> dict[str, object]:
        """All that is fixed beforehand."""
        return {
            "judge": self.kind,
            "assumes": "the noise of the rows is white and Gaussian, after whitening where a covariance is given",
            "draws": self.draws,
            "gate_draws": self.gate_draws,
            "outsiders": None if self.outsiders is None else asdict(self.outsiders),
            **({"noise": True} if self.noise else {}),
        }

    @classmethod
    def decode(cls, content: Mapping[str, Any]) -> "ByRotation":
        """The specification that `encode` wrote."""
        outsiders = None if content["outsiders"] is None else Scan(**content["outsiders"])
        return cls(content["draws"], content["gate_draws"], outsiders, content.get("noise", False))

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
        _check_spans(design.radii is None and not design.is_cone)
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
        """Any number of them, of responses that are columns."""
        _check_spans(law.has_spans)

    def splits(self, law: Law) -> bool:
        """Rows of a linear law are not divided."""
        return law.is_counted or not law.is_linear

    def open(self, sealed: Sealed) -> "BankRotation":
        """The tables of the bank, and the evidence of the other streams; reads the rows."""
        stream, design, evidence = sealed.divided(self)
        rows = design.whitened_rows(stream.rows, stream.law.is_complex)
        n_channels = stream.rows.width // (2 if stream.law.is_complex else 1)
        rotations = self.rotations(design, len(rows), n_channels, sealed.draws_seed)
        judges = tuple(RotationJudge(rotation, rows, sealed.level) for rotation in rotations)
        return BankRotation(sealed.size, sealed.level, stream, judges, evidence, self)


def _check_spans(has_spans: bool) -> None:
    """Refuse balls and cones of responses, which are no linear spaces."""
    if not has_spans:
        remedy = 'Write judge = "evidence", or give responses their width by a span of variants or tangents.'
        rule = "be 'evidence' where responses are known up to an error, or mix without negative parts"
        raise MisuseError("judge", rule, "rotation", remedy)


@final
@dataclass(frozen=True, slots=True, eq=False)
class BankRotation(Judge):
    """Rotations of one stream, a judge for each noise setting, each at a level that other streams may have moved."""

    judges_blocks: ClassVar[bool] = True

    size: int
    level: float
    stream: SealedStream
    judges: tuple[RotationJudge, ...]
    evidence: Evidence | None
    spec: ByRotation

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

    def facts(self, possible: IntArray) -> dict[str, object]:
        """Return the findings of the gate, where these explanations are possible at the end of a run."""
        facts = [judge.facts(possible) for judge in self.judges]
        # The first noise setting that is not rejected, or the one that the rows agree with most.
        most = max(range(len(facts)), key=lambda setting: _agreed(facts[setting]))
        setting = next((i for i, each in enumerate(facts) if not each["is_best_rejected"]), most)
        key = facts[setting]["best"] * len(facts) + setting
        return facts[setting] | {"best": int(np.argmax(self.stream.keys_of(np.arange(self.size)) == key))}


def _agreed(facts: Mapping[str, Any]) -> tuple[float, float]:
    """The worst agreement of the rows with the noise of a setting, to be compared; (1, 0) if no noise is stated."""
    seen = [agreement(each["p"], each["ratio"]) for each in facts["findings"] if "ratio" in each]
    return min(seen, default=(1.0, 0.0))


def _companions(design: Design) -> Companions | None:
    """The bounds of the coefficients, where something is said of any."""
    low, high = (bound if np.isfinite(bound).any() else None for bound in (design.low, design.high))
    least = design.least if design.least.any() else None
    if low is None and high is None and least is None and design.cells is None:
        return None
    return Companions(low, high, least, together=design.together, cells=design.cells)
