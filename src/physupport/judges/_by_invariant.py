"""The judge of invariant evidence: all rows judge, nothing is split or drawn, and the noise level may be unknown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from .._checks import check_indices
from .._typing import Field, IntArray
from ..laws import Design, Law
from ._decide import compared
from ._evidence import Bounds, Evidence, final_bounds, sum_down, sum_up
from ._invariant import InvariantEvidence, Rivals, SharedEvidence, contrasted, left_of, rival_blocks
from ._judge import Verdicts
from ._noise import NoiseTestingSpec, noise_facts
from ._specs import Sealed, SealedJudge, SealedStream, register
from .rotation._by_rotation import ByRotation
from .rotation._free import FreeRows
from .rotation._judge import Rotation
from .rotation._mean import MeanRows
from .rotation._table import Scan


@register
@final
@dataclass(frozen=True, slots=True)
class ByInvariant(NoiseTestingSpec):
    """Have rows of a linear law judged by evidence that no coefficient and no noise level changes.

    All rows judge, nothing is drawn, and margins are logs of e-values.  Every explanation has rivals of its own, so
    that rejecting one says nothing of those within it.  Other streams enter by their evidence at their end.

    outsiders: bumps along the axis of a single row are rivals, too, with this share of the weight; None leaves them
    out.
    """

    kind: ClassVar[str] = "invariant"
    fact_names: ClassVar[tuple[str, ...]] = ("is_best_rejected", "level", "findings")
    rule: ClassVar[str] = "be 'invariant' only where one stream has rows that are linear in free coefficients"
    remedy: ClassVar[str] = ", or the judge 'evidence'"

    outsiders: Scan | None = field(default_factory=lambda: Scan("none"))

    @property
    def are_e_values(self) -> bool:
        """Always."""
        return True

    def encode(self) -> dict[str, object]:
        """The options that are fixed before held-out rows are read."""
        scan = self.outsiders
        return {
            "judge": self.kind,
            "assumes": "the noise of the rows is white and Gaussian, after whitening where a covariance is given",
            "outsiders": None if scan is None else {"elements": scan.elements, "share": scan.share},
            **({} if self.noise is None else {"noise": float(self.noise)}),
        }

    @classmethod
    def decode(cls, content: Mapping[str, Any]) -> "ByInvariant":
        """The specification that `encode` wrote."""
        scan = content["outsiders"]
        return cls(None if scan is None else Scan(**scan), noise=content.get("noise"))

    def splits(self, law: Law) -> bool:
        """Rows of a linear law are not divided."""
        return law.is_counted or not law.is_linear

    def check_rows(self, law: Law, n_rows: int) -> None:
        """Accept any number of rows; raise unless responses are columns."""
        ByRotation().check_rows(law, n_rows)

    def open(self, sealed: Sealed) -> "InvariantJudge":
        """The evidence of every explanation when it is asked about, and that of other streams; reads the rows."""
        stream, design, beside = sealed.divided(self)
        rows = design.whitened_rows(stream.rows, stream.law.is_complex)
        n_channels = stream.rows.width // (2 if stream.law.is_complex else 1)
        return InvariantJudge(sealed, stream, self.evidence(design, rows, n_channels), beside, self)

    def evidence(self, design: Design, rows: Field, n_channels: int) -> tuple[InvariantEvidence, ...]:
        """The evidence of rows (T, p) of a design, one for each noise setting."""
        found = []
        for spec in ByRotation(outsiders=None).rotations(design, len(rows), n_channels, seed=0):
            judged = (FreeRows if spec.rows == "free" else MeanRows)(spec, rows)
            is_signed = judged.parts == 1 and judged.has_common_mean
            groups = self.rivals(design, spec, len(rows), n_channels, is_signed=is_signed)
            found.append(InvariantEvidence(judged, groups))
        return tuple(found)

    def shared(self, design: Design, spec: Rotation, n_rows: int, n_channels: int) -> SharedEvidence:
        """The evidence of many data sets of so many real rows of one mean, where explanations have one atom at most."""
        rivals = self.rivals(design, spec, n_rows, n_channels, is_signed=True)
        return SharedEvidence(spec, tuple(contrasted(spec.table.bases, rivals)))

    def rivals(
        self, design: Design, spec: Rotation, n_rows: int, n_channels: int, *, is_signed: bool
    ) -> tuple[tuple[float, Rivals], ...]:
        """Rivals with their shares of the evidence; is_signed: whether the coefficients may have signs."""
        signs = None if spec.companions is None or not is_signed else spec.companions.signs(design.columns.shape[1])
        listed = Rivals.of(spec.table, design.columns, rival_blocks(design), signs)
        scan = self.outsiders
        scanned = None if scan is None else scan.outsiders(design, n_rows, n_channels)
        bumps = None if scanned is None or scanned.columns is None else left_of(scanned.columns, design.background)
        if scan is None or bumps is None:
            return ((1.0, listed),)
        unlisted = Rivals.of(spec.table, bumps, [(i,) for i in range(bumps.shape[1])])
        return ((1.0 - scan.share, listed), (scan.share, unlisted))


@final
@dataclass(frozen=True, slots=True, eq=False)
class InvariantJudge(SealedJudge):
    """Rejects where the e-value of all rows, times that of other streams at their end, exceeds 1 over the level."""

    judges_blocks: ClassVar[bool] = True

    stream: SealedStream
    settings: tuple[InvariantEvidence, ...]
    beside: Evidence | None  # of the other streams
    spec: ByInvariant

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """The margin is the log of the e-value times the level; explanations of one key are judged once."""
        chosen = check_indices("explanations", explanations, self.size)
        keys, where = np.unique(self.stream.keys_of(chosen), return_inverse=True)
        bounds = np.empty((2, len(keys)))
        for number, setting in enumerate(self.settings):
            own = np.flatnonzero(keys % len(self.settings) == number)
            bounds[:, own] = setting.log_evidence(keys[own] // len(self.settings))
        other = final_bounds(self.beside, chosen)
        total = Bounds(sum_down(bounds[0, where], other.lower), sum_up(bounds[1, where], other.upper))
        return compared(total, self.level)

    def facts(self, possible: IntArray) -> dict[str, object] | None:
        """The test of the noise, where there is one."""
        return noise_facts(self.spec.noise, self.sealed, possible)
